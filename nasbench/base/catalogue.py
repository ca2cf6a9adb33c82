"""What the files of a package register by decorators, read from their text: nothing is imported."""

from __future__ import annotations

import importlib.util
import re
import tokenize
from collections.abc import Iterator
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import NamedTuple

_REGISTERED = re.compile(
    r'^@(?P<registry>\w+)\.register\("(?P<name>[^"]+)"\)(?:\n(?:@.*\n)*class \w+.*:\n\s+"""'
    r'(?P<summary>(?:(?!""")[^\n])*))?',
    re.M,
)


class Entry(NamedTuple):
    """A registered thing, in one line."""

    name: str
    summary: str
    """The first line of its docstring; of a plug-in, the package that brings it."""
    group: str
    """The folder below the package that its file is in; empty for the package itself, `plug-ins` for these."""


def registrations(folder: Path, registry: str) -> Iterator[tuple[Path, Entry]]:
    """Everything that the source files of a folder register, file by file, before those of the folders in it.

    Args:
        registry: name of the registry as decorators write it: `METHODS`.
    """
    for path in sorted(modules_in(folder), key=lambda path: (path.parent, path.name)):
        place = path.relative_to(folder).parts
        for found in _REGISTERED.finditer(_source(path)):
            if found["registry"] == registry:
                yield path, Entry(found["name"], found["summary"] or "", place[0] if len(place) > 1 else "")


def modules_in(folder: Path) -> Iterator[Path]:
    """The files of a folder and its folders that Python can import: none that are hidden, as Emacs and macOS leave."""
    return (path for path in folder.rglob("*.py") if "." not in path.stem)


def _source(path: Path) -> str:
    """The text of a module in the encoding that it declares; empty if it cannot be read: an import says why."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def points_of(group: str) -> tuple[list[EntryPoint], dict[str, str]]:
    """The entry points of a group, and a reason for each installed package whose entry points cannot be read."""
    try:
        return list(entry_points(group=group)), {}
    except UnicodeDecodeError:
        found, unread = list[EntryPoint](), dict[str, str]()
        for package in distributions():
            try:
                found += [point for point in package.entry_points if point.group == group]
            except UnicodeDecodeError:
                unread[str(package.metadata["Name"])] = "the entry_points.txt of this package is not UTF-8"
        return found, unread


def module_called(package: str, name: str) -> Path | None:
    """The source file of a package with a name; None if there is none."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((path for folder in folders if (path := Path(folder, f"{name}.py")).is_file()), None)


def catalogue(package: str, registry: str, points: str) -> list[Entry]:
    """Everything that the files of a package register (`registrations`), then the plug-ins.

    Args:
        points: the group of entry points of plug-ins.
    """
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None  # a package of ours
    ours = [entry for folder in spec.submodule_search_locations for _, entry in registrations(Path(folder), registry)]
    theirs = [Entry(p.name, f"of {p.dist.name if p.dist else p.module}", "plug-ins") for p in points_of(points)[0]]
    return [*ours, *theirs]

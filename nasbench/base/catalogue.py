"""What a package registers, read from its source: a list of names imports nothing."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

_REGISTERED = re.compile(
    r'^@(?P<registry>[A-Z]+)\.register\("(?P<name>[^"]+)"\)\n(?:@.*\n)*class \w+.*:\n\s+"""(?P<summary>[^\n"]*)', re.M
)


class Entry(NamedTuple):
    """A registered thing, in one line."""

    name: str
    summary: str
    """The first line of its docstring; of a plug-in, the package that brings it."""
    group: str
    """The folder below the package that its file is in; empty for the package itself, `plug-ins` for these."""


def catalogue(package: str, registry: str, points: str) -> list[Entry]:
    """Everything that the files of a package register, folder by folder, then the plug-ins.

    Args:
        package: the package whose files are read, with all below it.
        registry: name of the registry as its decorators write it: `METHODS`.
        points: the group of entry points of plug-ins.
    """
    spec = importlib.util.find_spec(package)
    (root,) = spec.submodule_search_locations if spec and spec.submodule_search_locations else [""]
    folder = Path(root)
    ours = [entry for path in _files(folder) for entry in _registered(path, path.relative_to(folder), registry)]
    theirs = [
        Entry(p.name, f"of {p.dist.name if p.dist else p.module}", "Plug-ins.") for p in entry_points(group=points)
    ]
    return [*ours, *theirs]


def _files(folder: Path) -> Iterator[Path]:
    """The source files of a folder, before those of the folders in it."""
    yield from sorted(folder.glob("*.py"))
    for below in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _files(below)


def _registered(path: Path, place: Path, registry: str) -> Iterator[Entry]:
    for found in _REGISTERED.finditer(path.read_text(encoding="utf-8")):
        if found["registry"] == registry:
            yield Entry(found["name"], found["summary"], place.parts[0] if len(place.parts) > 1 else "")

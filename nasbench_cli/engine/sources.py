"""Digests of the source files of methods and benchmarks, as they are now."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from nasbench.base.catalogue import modules_in
from nasbench.base.foreign import component, is_ours
from nasbench.benchmarks import BENCHMARKS, UsageError, open_benchmark
from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.spec import BenchmarkSpec
from nasbench.cli.engine.provenance import changed_files
from nasbench.methods import MethodSpec
from nasbench.results.sources import SourceDigest, Sources

Read: TypeAlias = Callable[[Path], bytes]
"""What reads a file."""
_IMPORT = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+(\w+)[\w.]*[ \t]+import\b|import[ \t]+((?:[\w., \t]|\\\r?\n)+))"
    rb"|(?:import_module|__import__)\(\s*[\"'](\w+)",
    re.MULTILINE,
)
"""A statement that imports; to read the lines of three hundred files takes 0.02 s, to parse their code 0.9 s."""
_MOST_FILES = 500
"""Largest number of files of a package that are read; of a larger package the file of the module counts alone."""


def current_sources() -> Sources:
    """The source files of any setup's method and benchmark as they are now; every file is read once.

    Where the class's module belongs to a package, they are all Python files of the package, for its modules work
    together; otherwise its file with the files beside it that it imports. In nasbench it is the package of the method
    or the benchmark alone, or its file with those of `methods/` or `benchmarks/` that it imports. What third parties
    import from elsewhere counts, too, unless it is installed as a library is.
    """

    read, changed = cache(Path.read_bytes), cache(changed_files)
    files_of = cache(lambda module: _files(module, read))
    imported = cache(lambda file: _imported(file, read))
    of_no_library = cache(lambda files: _of_no_library(files, imported))

    def source(of: Literal["method", "benchmark"], module: str) -> Iterator[SourceDigest]:
        name, folder, files = files_of(module)
        released = is_ours(module) and changed().isdisjoint(path.resolve() for path in files)
        named = [(os.path.relpath(path, folder), path) for path in files]
        if digest := _digest([*named, *([] if released else of_no_library(files))], read):
            yield SourceDigest(of, name, digest, released)

    @cache
    def of_method(label: str) -> list[SourceDigest]:
        return [found for module in _modules_of_method(label) for found in source("method", module)]

    @cache
    def of_benchmark(name: str) -> list[SourceDigest]:
        return [found for module in _modules_of_benchmark(name) for found in source("benchmark", module)]

    return lambda setup: [*of_method(setup.method), *of_benchmark(setup.bench)]


def _modules_of_method(label: str) -> list[str]:
    """The modules of a method and of the one by which it searches; none if it is not installed here."""
    try:
        return [method.__module__ for method in MethodSpec.parse(label).classes]
    except UsageError:
        return []


def _modules_of_benchmark(name: str) -> list[str]:
    """The modules of what makes a benchmark and of its class; none if it cannot be opened here."""
    try:
        spec = BenchmarkSpec.parse(name)
        maker: Any = (ON_FILES if spec.file else BENCHMARKS).get(spec.name)
        maker = getattr(maker, "func", maker)  # of functools.partial
        return list(dict.fromkeys([getattr(maker, "__module__", ""), type(open_benchmark(name)).__module__]))
    except UsageError:
        return []


def _files(module: str, read: Read) -> tuple[str, Path, tuple[Path, ...]]:
    """The source files that count for a module, with their name for messages and the folder that they are in."""
    package = component(module)
    folder = _folder(package)
    files = sorted(islice(modules_in(folder), _MOST_FILES + 1)) if folder else []
    if folder and 0 < len(files) <= _MOST_FILES:
        return package.rpartition(".")[2], folder, tuple(files)
    alone = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    room = package.rpartition(".")[0] if is_ours(module) else package if folder else ""
    return alone.name, alone.parent, (alone, *_helpers(alone, _Room(room, _folder(room) or alone.parent), read))


def _folder(package: str) -> Path | None:
    """The folder of a package; None of a single module."""
    return next(map(Path, getattr(sys.modules.get(package), "__path__", [])), None)


class _Room(NamedTuple):
    """Where the helpers of a single file lie: in its package and below it, or beside a file that is in none."""

    package: str
    """The name of the package; empty if it is none."""
    folder: Path

    def imported(self, file: Path, read: Read) -> list[Path]:
        """The files in it that one of them imports, anywhere in its code."""
        own = self.package.split(".") if self.package else []
        try:
            code, here = ast.parse(read(file)), [*own, *file.relative_to(self.folder).parts[:-1]]
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        names: list[list[str]] = []
        for node in ast.walk(code):
            if isinstance(node, ast.Import):
                names += [alias.name.split(".") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                before = here[: max(0, len(here) + 1 - node.level)] if node.level else []
                before += node.module.split(".") if node.module else []
                names += [[*before, alias.name] for alias in node.names]
        paths = [path for name in names if name[: len(own)] == own for path in self._run_by(name[len(own) :])]
        return [path for path in dict.fromkeys(paths) if path.is_file()]

    def _run_by(self, name: list[str]) -> Iterator[Path]:
        """The files that an import of a name would run: the packages on its way, and its module."""
        for end in range(1, len(name) + 1):
            place = self.folder.joinpath(*name[:end])
            yield place.with_name(f"{place.name}.py")
            if not self.package:
                return
            yield place / "__init__.py"


def _helpers(file: Path, room: _Room, read: Read) -> list[Path]:
    """The files that a single one imports, and those that they import, but for what the door of a package of ours has:
    `methods/contract.py` is everybody's. None if they are more than 500."""
    door = room.imported(room.folder / "__init__.py", read) if is_ours(room.package) else []
    found = [file]
    for one in found:
        found += [path for path in room.imported(one, read) if path not in door and path not in found]
        if len(found) > _MOST_FILES:
            return []
    return found[1:]


def _of_no_library(files: Sequence[Path], imported: Callable[[Path], frozenset[str]]) -> list[tuple[str, Path]]:
    """The files, by their names, of what files import from a folder on Python's path or a package in development."""
    found, tops = dict[str, Path](), set[str]()
    waiting = list(files)
    for file in waiting:
        for top in imported(file) - tops:
            tops.add(top)
            new = {name: path for name, path in _modules(top).items() if path not in files}
            found |= new
            waiting += new.values()
        if len(found) > _MOST_FILES:
            return []
    return sorted(found.items())


def _imported(file: Path, read: Read) -> frozenset[str]:
    """The first names of the modules that a file may import from outside its own package, by the text of its lines."""
    try:
        found = _IMPORT.findall(read(file))
    except OSError:
        return frozenset()
    names = [name for one, several, called in found for name in [one, called, *several.split(b",")]]
    firsts = [re.split(rb"[\s.]", name.strip(b" \t\r\n\\"))[0] for name in names]
    return frozenset(first.decode() for first in firsts if first)


def _modules(top: str) -> dict[str, Path]:
    """The files of a module or package by their names; none of a library's, of Python's and of ours."""
    if top in sys.stdlib_module_names or is_ours(top):
        return {}
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return {}
    places = [Path(place) for place in (spec.submodule_search_locations or [spec.origin or ""] if spec else [])]
    if not places or not places[0].exists() or {"site-packages", "dist-packages"} & set(places[0].parts):
        return {}
    if places[0].is_file():
        return {places[0].name: places[0]} if places[0].suffix == ".py" else {}
    paths = sorted(islice(modules_in(places[0]), _MOST_FILES + 1))
    return {f"{top}/{path.relative_to(places[0])}": path for path in paths} if len(paths) <= _MOST_FILES else {}


def _digest(files: Sequence[tuple[str, Path]], read: Read) -> str:
    """A digest of the names and contents of files; empty if there are none, as of a class from a notebook."""
    digest = hashlib.sha256()
    try:
        for name, path in files:
            code = read(path)
            digest.update(f"{name}\0{len(code)}\0".encode() + code)
    except OSError:
        return ""
    return digest.hexdigest()[:16]

"""Digests of the source files of methods and benchmarks, as they are now."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from nasbench.base.foreign import component, is_ours
from nasbench.benchmarks import BENCHMARKS, UsageError, open_benchmark
from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.spec import BenchmarkSpec
from nasbench.cli.engine.provenance import changed_files
from nasbench.methods import MethodSpec
from nasbench.results.sources import SourceDigest, Sources

_MOST_FILES = 500
"""Largest number of files of a package that are read; of a larger package the file of the module counts alone."""


def current_sources() -> Sources:
    """The source files of any setup's method and benchmark as they are now; every file is read once.

    They are the file of the class's module or, where that belongs to a package, all Python files of the package, for
    its modules work together. In nasbench it is the package of the method or the benchmark alone, or its file with
    the files beside it that it imports.
    """

    read, changed = cache(_digest), cache(changed_files)

    def source(of: Literal["method", "benchmark"], module: str) -> Iterator[SourceDigest]:
        name, folder, files = _files(module)
        if digest := read(folder, files):
            released = is_ours(module) and changed().isdisjoint(path.resolve() for path in files)
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


def _files(module: str) -> tuple[str, Path, tuple[Path, ...]]:
    """The source files that count for a module, with their name for messages and the folder that they are in."""
    package = component(module)
    folder = next(iter(getattr(sys.modules.get(package), "__path__", [])), "")
    files = sorted(islice(Path(folder).rglob("*.py"), _MOST_FILES + 1)) if folder else []
    if 0 < len(files) <= _MOST_FILES:
        return package.rpartition(".")[2], Path(folder), tuple(files)
    alone = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return alone.name, alone.parent, (alone, *_helpers(alone, package.rpartition(".")[0]))


def _helpers(file: Path, package: str) -> list[Path]:
    """The files beside a single one of ours that it imports, and those that they import, but for what the package's
    door has: `methods/contract.py` is everybody's."""
    door = set(_imported(file.parent / "__init__.py", package))
    found, left = dict[Path, None](), [file] if is_ours(package) else []
    while left:
        for path in _imported(left.pop(), package):
            if path not in door and path != file and path not in found:
                found[path] = None
                left.append(path)
    return list(found)


def _imported(file: Path, package: str) -> list[Path]:
    """The files beside a file that its text imports as modules of a package."""
    try:
        code = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    own = re.escape(package)
    names = re.findall(rf"^\s*(?:(?:from|import) {own}|from )\.(\w+)", code, re.MULTILINE)
    names += re.findall(rf"^\s*from (?:{own}|\.) import (\w+)", code, re.MULTILINE)
    paths = (file.parent / f"{name}.py" for name in dict.fromkeys(names))
    return [path for path in paths if path.is_file()]


def _digest(folder: Path, files: tuple[Path, ...]) -> str:
    """A digest of the names and contents of files; empty if there are none, as of a class from a notebook."""
    digest = hashlib.sha256()
    try:
        for path in files:
            code = path.read_bytes()
            digest.update(f"{path.relative_to(folder)}\0{len(code)}\0".encode() + code)
    except OSError:
        return ""
    return digest.hexdigest()[:16]

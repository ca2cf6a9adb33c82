"""Registries of names on the command line: built-in items by decorator, plug-ins by entry point, imported when used."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import FileFinder
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Generic, TypeVar

from nasbench.base.catalogue import module_called, points_of, registrations
from nasbench.base.errors import UsageError, unknown
from nasbench.base.foreign import Broken, component, foreign

T = TypeVar("T")

_NAME = re.compile(r"[a-z][a-z0-9+_-]*")


class NotHere(UsageError):
    """A thing is known, but its data are not on this machine."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command
        """The command that brings the data."""


class RegisteredTwice(UsageError):
    """A name that another item has already."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class Registry(Generic[T]):
    """A table of named things (methods, benchmarks, executors, data sets, spaces).

    Built-in items are registered when the modules of `package` are imported, plug-ins through the entry-point `group`.
    Names are unique: a plug-in never replaces a built-in item, and a name of two modules of `package` is nobody's.

    Args:
        kind: what an item is, in error messages, such as `method`.
        fits: whether an object is such an item.
        many: whether the error for an unknown name counts the items instead of listing them.
        decorator: the registry's name in decorators, if files of the package's folders register items by themselves;
            else only the modules of the package are imported, and what they import.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        group: str,
        fits: Callable[[object], bool] = callable,
        many: bool = False,
        decorator: str = "",
    ) -> None:
        self._decorator, self._others = decorator, dict[str, None]()
        self._kind, self._package, self._group, self._fits, self._many = kind, package, group, fits, many
        self._items: dict[str, T] = {}
        self._later: list[Callable[[], Mapping[str, T]]] = []
        self._last: Callable[[Collection[str]], Mapping[str, T]] = lambda taken: {}
        self._taken: frozenset[str] = frozenset()
        self._loaded = False
        self._points: list[EntryPoint] = []  # not yet loaded
        self._theirs: set[str] = set()  # names of all entry points
        self._homes: set[str] = set()  # their packages
        self.broken: dict[str, str] = {}
        """Modules and plug-ins that could not be imported: name → reason."""
        self.advice: dict[str, tuple[str, str]] = {}
        """Advice on missing names: how such names begin → what they are, and the command that brings them, if any."""

    def add(self, name: str, item: T) -> None:
        """Adds `item` under `name`. Raises UsageError if the name is malformed or taken, or the item does not fit."""
        if not self._fits(item):
            raise UsageError(f"{self._kind} {name!r} has the wrong type {type(item).__name__!r}")
        if not _NAME.fullmatch(name):
            raise UsageError(f"{self._kind} name {name!r} must match {_NAME.pattern}")
        if self._items.get(name) is item:
            return  # added by its decorator, and by the entry point of its module
        if name in self._items:
            raise RegisteredTwice(f"{self._kind} {name!r} is registered twice", name)
        self._items[name] = item

    def also(self, package: str) -> None:
        """Makes files of another package register items, too: those whose text has this registry's decorator."""
        self._others[package] = None

    def add_later(self, find: Callable[[], Mapping[str, T]]) -> None:
        """Adds the items that `find` returns when names are first needed: imports must not read the user's disk."""
        self._later.append(find)

    def add_last(self, find: Callable[[Collection[str]], Mapping[str, T]]) -> None:
        """Adds the items that `find` returns after all others. `find` is given the taken names, also of plug-ins."""
        self._last = find

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds the decorated class under `name`."""

        def decorate(item: T) -> T:
            self.add(name, item)
            return item

        return decorate

    @contextmanager
    def temporarily(self, name: str, item: T) -> Iterator[None]:
        """Registers an item within this block and process only, for tests and experiments."""
        self._load()
        before = {name: self._items[name]} if name in self._items else {}
        self._items[name] = item
        try:
            yield
        finally:
            del self._items[name]
            self._items |= before

    def names(self) -> list[str]:
        """All names, ours first, in order of registration."""
        self._load()
        return list(self._items)

    def is_foreign(self, name: str) -> bool:
        """Whether an item is a third party's, which every process finds through its entry point, or that of another
        item in its package."""
        self._load_ours()
        module = getattr(self._items.get(name), "__module__", "")
        is_theirs = name in self._theirs or component(module) in self._homes  # registered beside one
        return is_theirs and not f"{module}.".startswith(f"{self._package}.")

    def is_taken(self, name: str) -> bool:
        """Whether a plug-in, or any item but those of `add_last`, has this name."""
        self._load_ours()
        return name in self._taken

    def get(self, name: str) -> T:
        """The item called `name`. Raises UsageError (with the nearest name) if there is none.

        Only the plug-in with this name is imported; all are if there is none.
        """
        self._load_last()
        if name not in self._items:
            self._load_points([point for point in self._points if point.name == name])
        if name not in self._items and name not in self.broken:
            self._load()
        if name in self._items:
            return self._items[name]
        if name in self.broken:
            raise UsageError(f"{self._kind} {name!r} cannot be loaded: {self.broken[name]}")
        for beginning, (what, command) in self.advice.items():
            if name.startswith(beginning):
                raise NotHere(f"{self._kind} {name!r} is not here: {', '.join(filter(None, (what, command)))}", command)
        if (path := module_called(self._package, name)) is not None:
            raise UsageError(f"unknown {self._kind} {name!r}: {path} registers none of this name")
        raise with_reasons(unknown(self._kind, name, *([], self._items) if self._many else [self._items]), self)

    def _load(self) -> None:
        self._load_last()
        self._load_points(self._points)

    def _load_ours(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package, twice = importlib.import_module(self._package), dict[str, list[str]]()
        for module in (*self._modules(package.__path__), *self._modules_of_others()):
            try:  # a broken module must not affect the others
                with foreign():
                    importlib.import_module(module)
            except RegisteredTwice as error:
                twice.setdefault(error.name, []).append(module)
            except (Broken, UsageError) as error:
                self.broken[module.rpartition(".")[2]] = str(error)
        for name, modules in twice.items():  # the first one by its file's name may be anybody's
            first = getattr(self._items.pop(name), "__module__", self._package)
            self.broken[name] = f"{' and '.join([first, *modules])} register this name: rename all but one"
        for find in self._later:
            for name, item in find().items():
                self.add(name, item)
        self._points, unread = points_of(self._group)
        self.broken |= unread
        self._theirs = {point.name for point in self._points}
        self._homes = {component(point.module) for point in self._points}
        self._taken = frozenset([*self._items, *(point.name for point in self._points)])

    def _modules(self, folders: Iterable[str]) -> Iterator[str]:
        """The modules that may register items."""
        for found in pkgutil.iter_modules(folders, f"{self._package}."):
            yield found.name
            if found.ispkg and self._decorator and isinstance(found.module_finder, FileFinder):
                folder = Path(found.module_finder.path, found.name.rpartition(".")[2])
                for path in dict.fromkeys(path for path, _ in registrations(folder, self._decorator)):
                    yield ".".join([found.name, *path.relative_to(folder).with_suffix("").parts])

    def _modules_of_others(self) -> Iterator[str]:
        for package in self._others:
            spec = importlib.util.find_spec(package)
            for folder in map(Path, (spec.submodule_search_locations or []) if spec else []):
                for path in dict.fromkeys(path for path, _ in registrations(folder, self._decorator)):
                    yield ".".join([package, *path.relative_to(folder).with_suffix("").parts])

    def _load_last(self) -> None:
        self._load_ours()
        find, self._last = self._last, lambda taken: {}
        for name, item in find(self._taken).items():
            self.add(name, item)

    def _load_points(self, points: list[EntryPoint]) -> None:
        for point in points:
            self._points = [other for other in self._points if other is not point]
            try:
                with foreign():
                    item = point.load()
                self.add(point.name, item)
            except Broken as error:
                self.broken[point.name] = str(error)
            except UsageError as error:
                self.broken[point.name] = f"{error}{_place(error, point.module)}"


def _place(error: UsageError, module: str) -> str:
    """The line of a plug-in's own package at which an error was raised, in brackets; empty if there is none."""
    own, steps = module.partition(".")[0], traceback.walk_tb(error.__traceback__)
    lines = [
        f" ({Path(frame.f_code.co_filename).name}:{line})"
        for frame, line in steps
        if str(frame.f_globals.get("__name__")).partition(".")[0] == own
    ]
    return lines[-1] if lines else ""


def entry_names(group: str, built_in: Sequence[str]) -> tuple[str, ...]:
    """The names of all members of a group of entry points, built-in ones first; nothing is imported."""
    return (*built_in, *(point.name for point in points_of(group)[0] if point.name not in built_in))


def entry_point(group: str, kind: str, name: str, built_in: Sequence[str]) -> EntryPoint:
    """The entry point of a group with this name. Raises UsageError, with the nearest name, if there is none."""
    for point in points_of(group)[0]:
        if point.name == name:
            return point
    raise unknown(kind, name, entry_names(group, built_in))


def with_reasons(error: UsageError, *registries: Registry[Any]) -> UsageError:
    """The error for an unknown name, with the reasons why some items of these registries cannot be loaded, before the
    long list of what is allowed."""
    broken = [f"{name}: {reason}" for registry in registries for name, reason in registry.broken.items()]
    if not broken:
        return error
    begins, allowed, names = str(error).partition("; allowed: ")
    return UsageError(f"{begins} (these cannot be loaded: {'; '.join(broken)}){allowed}{names}")

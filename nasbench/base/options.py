"""A registered class with its options, as the user writes it: `evolution:population=50,tournament=5`, `ray:gpus=2`."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from nasbench.base.errors import UsageError, check_choice
from nasbench.base.registry import Registry

Value: TypeAlias = int | float | bool | str
"""The value of an option."""

_PARSERS: dict[type, Callable[[str], Value]] = {
    int: int,
    float: float,
    str: str,
    bool: lambda text: {"true": True, "false": False}[text.lower()],
}

KINDS = {int: "a whole number", float: "a number", bool: "true or false"}
"""Types as messages to the user call them."""


@dataclass(frozen=True)
class Spec:
    """The name of a registered class, with the options that differ from their defaults, sorted by name.

    A subclass states its registry. The options of a class are the keyword-only arguments of its constructor, annotated
    int, float, bool or str, each with a default; its docstring explains them under `Options:`.
    """

    registry: ClassVar[Registry[Any]]
    """The registry that has the class."""

    name: str
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `name` or `name:option=value,…`. Raises UsageError with the allowed names, options or types."""
        name, colon, tail = text.strip().partition(":")
        defaults = option_defaults(cls.registry.get(name))
        if colon and not tail.strip(" ,"):
            raise UsageError(f"no option follows the colon of {text.strip()!r}; write {name}, or {name}:option=value")
        options: dict[str, Value] = {}
        for item in filter(None, tail.split(",")):
            option, equals, value = (part.strip() for part in item.partition("="))
            if not equals:
                raise UsageError(f"option {item!r} of {name} is malformed; write {name}:option=value")
            check_choice(f"option of {name}", option, defaults)
            if option in options:
                raise UsageError(f"option {option} of {name} is given twice")
            kind, _ = defaults[option]
            try:
                options[option] = _PARSERS[kind](value)
                if options[option] != options[option]:
                    raise ValueError  # NaN equals nothing: its runs would not be found again
            except (ValueError, KeyError):
                raise UsageError(f"option {option} of {name} must be {KINDS[kind]}, not {value!r}") from None
        return cls(name, tuple(sorted((o, value) for o, value in options.items() if value != defaults[o][1])))

    @property
    def text(self) -> str:
        """The canonical text: defaults left out, options sorted. `parse` reads it back."""
        options = ",".join(f"{option}={option_text(value)}" for option, value in self.options)
        return f"{self.name}:{options}" if options else self.name


def option_text(value: Value) -> str:
    """The value of an option as the user writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def option_defaults(item: type) -> dict[str, tuple[type, Value]]:
    """The options of a class: name → (type, default), read from its constructor's keyword-only arguments.

    Raises UsageError if they are no options.
    """
    try:
        hints = typing.get_type_hints(item.__init__)  # type: ignore[misc]
        parameters = inspect.signature(item.__init__).parameters.values()  # type: ignore[misc]
    except Exception as error:  # a type that is imported for type checkers alone, for example
        raise UsageError(
            f"the annotations of the constructor of {_constructor(item)} cannot be evaluated "
            f"({type(error).__name__}: {error}): import their types at run time, too"
        ) from None
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    for p in keywords:
        kind = hints.get(p.name)
        fits = type(p.default) is kind or (kind is float and type(p.default) is int)
        if kind not in _PARSERS or not fits or p.default != p.default:
            raise UsageError(
                f"option {p.name!r} of {_constructor(item)} needs one of the types int, float, str, bool, and a "
                "default of this type that is not NaN"
            )
    return {p.name: (hints[p.name], p.default) for p in keywords}


def _constructor(item: type) -> str:
    """The name of a class, and where its constructor begins."""
    code = getattr(inspect.unwrap(item.__init__), "__code__", None)  # type: ignore[misc]
    return f"{item.__name__} ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else item.__name__


def description(item: type) -> str:
    """The docstring of a class without the section that explains its options; a base class's says nothing of it."""
    return _split(vars(item).get("__doc__"))[0] or "no description: its class has no docstring"


def option_meanings(item: type) -> dict[str, str]:
    """The meaning of each option, from the docstring of the class or of a base class; empty if neither states it."""
    sections = [_split(base.__doc__)[1] for base in reversed(item.__mro__) if base is not object]
    explained = {name: " ".join(text.split()) for section in sections for name, text in _OPTION.findall(section)}
    return {name: explained.get(name, "") for name in option_defaults(item)}


_OPTION = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def _split(docstring: str | None) -> tuple[str, str]:
    """A docstring before its section of options, and that section."""
    text, _, section = inspect.cleandoc(docstring or "").partition("\n\nOptions:\n")
    return text, section

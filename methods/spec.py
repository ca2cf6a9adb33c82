"""A method with its options, as the user writes it: `evolution:population=50,tournament=5`."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from numpy.random import Generator

from nasbench.benchmarks import Fidelity
from nasbench.benchmarks.spaces import Space
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.methods.base import METHODS, Method, Problem

_PARSERS: dict[type, Callable[[str], int | float | bool | str]] = {
    int: int,
    float: float,
    str: str,
    bool: lambda text: {"true": True, "false": False}[text.lower()],
}

KINDS = {int: "a whole number", float: "a number", bool: "true or false"}
"""How a user is told of types."""


@dataclass(frozen=True)
class MethodSpec:
    """The name of a method with the options that differ from their defaults, sorted by name."""

    name: str
    options: tuple[tuple[str, int | float | bool | str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        """Reads `name` or `name:option=value,…`. Raises UsageError with the allowed names, options or types."""
        name, colon, tail = text.strip().partition(":")
        defaults = option_defaults(METHODS.get(name))
        if colon and not tail.strip(" ,"):
            raise UsageError(f"no option follows the colon of {text.strip()!r}; write {name}, or {name}:option=value")
        options: dict[str, int | float | bool | str] = {}
        for item in filter(None, tail.split(",")):
            option, equals, value = (part.strip() for part in item.partition("="))
            if not equals:
                raise UsageError(f"option {item!r} of {name} is malformed; write {name}:option=value")
            if option not in defaults:
                raise unknown(f"option of {name}", option, defaults)
            if option in options:
                raise UsageError(f"option {option} of {name} is given twice")
            kind, _ = defaults[option]
            try:
                options[option] = _PARSERS[kind](value)
            except (ValueError, KeyError):
                raise UsageError(f"option {option} of {name} must be {KINDS[kind]}, not {value!r}") from None
        return cls(name, tuple(sorted((o, value) for o, value in options.items() if value != defaults[o][1])))

    @property
    def label(self) -> str:
        """The canonical text of this specification: defaults left out, options sorted. `parse` reads it back."""
        options = ",".join(f"{option}={option_text(value)}" for option, value in self.options)
        return f"{self.name}:{options}" if options else self.name

    def parameters(self) -> tuple[tuple[str, int | float | bool | str], ...]:
        """All options with their values, defaults included, sorted by name."""
        defaults = {option: default for option, (_, default) in option_defaults(self.method).items()}
        return tuple(sorted((defaults | dict(self.options)).items()))

    @property
    def initial(self) -> int:
        """Number of configurations drawn at random before the method uses what it is told; 0 if it has none."""
        return self.method.initial_phase(dict(self.parameters()))

    @property
    def method(self) -> type[Method]:
        """The class of the method. Raises UsageError if the name is unknown."""
        return METHODS.get(self.name)

    def build(self, problem: Problem, rng: Generator) -> Method:
        """An instance for one run. Raises UsageError if an option is out of its range, or the problem does not fit."""
        why = misfit(self.method, problem.space, problem.fidelity)
        if why:
            raise UsageError(f"{self.name} cannot search here: it {why}")
        return self.method(problem, rng, **dict(self.options))


def option_text(value: int | float | bool | str) -> str:
    """The value of an option as the user writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def misfit(method: type[Method], space: Space, fidelity: Fidelity | None) -> str:
    """The reason why a method cannot run on a benchmark, as the end of the sentence "it …"; empty if it can."""
    if method.needs_fidelity and fidelity is None:
        return "chooses how long to train, and that benchmark has one fidelity only"
    return method.misfit(space)


@cache
def option_defaults(method: type[Method]) -> dict[str, tuple[type, int | float | bool | str]]:
    """The options of a method: name → (type, default), read from its constructor's keyword-only arguments."""
    hints = typing.get_type_hints(method.__init__)
    keywords = [p for p in inspect.signature(method).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for p in keywords:
        if p.default is p.empty or hints.get(p.name) not in _PARSERS:
            raise UsageError(
                f"option {p.name} of {method.__name__} needs a default and one of the types int, float, str, bool"
            )
    return {p.name: (hints[p.name], p.default) for p in keywords}


def description(method: type[Method]) -> str:
    """The docstring of a method without the section that explains its options."""
    return _split(inspect.getdoc(method))[0]


def option_meanings(method: type[Method]) -> dict[str, str]:
    """What each option of a method means, as its docstring says or that of a base class; empty where none does."""
    sections = [_split(base.__doc__)[1] for base in reversed(method.__mro__) if issubclass(base, Method)]
    explained = {name: " ".join(text.split()) for section in sections for name, text in _OPTION.findall(section)}
    return {name: explained.get(name, "") for name in option_defaults(method)}


_OPTION = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def _split(docstring: str | None) -> tuple[str, str]:
    """The words of a docstring, and its section of options."""
    words, _, section = inspect.cleandoc(docstring or "").partition("\n\nOptions:\n")
    return words, section

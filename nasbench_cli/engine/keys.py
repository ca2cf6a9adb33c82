"""Keys that describe a grid of runs, declared once for suite files, the command line and Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from nasbench.base.options import KINDS
from nasbench.benchmarks import BenchmarkSpec, Constraint, UsageError, parse_constraints
from nasbench.cli.engine.plan import Grid, Protocol, parse_seeds
from nasbench.methods import MethodSpec


@dataclass(frozen=True)
class Key:
    """One property of a grid."""

    name: str
    """The key in suite files, and the argument of `asked_grid`."""
    option: str
    """The option on the command line."""
    types: tuple[type, ...]
    """Types that a suite file may have here; for a list, those of its items."""
    parse: Callable[[Any], Any]
    """Turns a value, or each item of a list, into what a grid holds. Raises UsageError."""
    meaning: str
    """Explanation on the command line, without the default."""
    metavar: str | None = None
    """Placeholder of the value on the command line; None for a switch."""
    default: Any = None
    """Value if nothing is given."""
    default_text: str = ""
    """The default in words, where the value does not say it."""
    several: bool = False
    """Whether the value is a list: the option is then repeatable."""
    nested: bool = False
    """Whether an item of the list may be a list itself."""

    @property
    def help(self) -> str:
        """Explanation on the command line."""
        default = self.default_text or ("" if self.several or not self.default else str(self.default))
        return f"{self.meaning}  [default: {default}]" if default else self.meaning

    def check(self, value: Any) -> None:
        """Raises UsageError for a value that is not of the key's types; NumPy's numbers are numbers."""
        items = value if self.several else [value]
        if self.nested:
            items = [text for item in value for text in ([item] if isinstance(item, str) else item)]
        for item in items:
            if not any(_is(item, kind) for kind in self.types):
                words = " or ".join(_WORDS[kind] for kind in self.types if kind is not int or float not in self.types)
                raise UsageError(f"{self.name.replace('_', '-')} must be {words}, not {item!r}")

    def read(self, value: Any) -> Any:
        """The value as a grid holds it. Raises UsageError."""
        return tuple(map(self.parse, value)) if self.several else self.parse(value)


_WORDS = {str: "text", **KINDS}


def _is(value: Any, kind: type) -> bool:
    """Whether a value of Python or NumPy is of this kind; a truth value is no number."""
    numbers = {int: Integral, float: Real}
    return isinstance(value, numbers.get(kind, kind)) and (kind is bool or not isinstance(value, bool))


def several(names: str | Iterable[str]) -> list[str]:
    """Names as a list; a single name may be given as a text. Raises UsageError for what is neither."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable):
        raise UsageError(f"a name, or a list of names, is expected, not {names!r}")
    return list(names)


def check_benchmark(name: str) -> str:
    """The canonical name of an existing benchmark. Raises UsageError, with the nearest name, if there is none."""
    return BenchmarkSpec.parse(name).label


def _setting(texts: str | Sequence[str]) -> tuple[Constraint, ...]:
    """Constraints that hold together: one text, or several."""
    return parse_constraints([texts] if isinstance(texts, str) else texts)


def _checked(field: str) -> Callable[[Any], Any]:
    """A function that checks one value of a protocol; None means that the value is not given."""

    def check(value: Any) -> Any:
        return value if value is None else getattr(Protocol(**{field: value}), field)

    return check


KEYS = (
    Key(
        "methods",
        "--method",
        (str,),
        MethodSpec.of,
        "A method; repeatable. With a suite: in place of all its own.",
        "NAME[:OPTION=VALUE,…]",
        several=True,
    ),
    Key(
        "benchmarks",
        "--bench",
        (str,),
        check_benchmark,
        "A benchmark; repeatable. With a suite: these of its benchmarks alone.",
        "NAME",
        several=True,
    ),
    Key(
        "constraints",
        "--constrain",
        (str,),
        _setting,
        "metric<=value, metric>=value, metric@q (the q-quantile), or metric@S, @M, @L (size classes: quantiles 0 to "
        "0.2, 0.4 to 0.6, 0.8 to 0.95); repeated constraints hold together.",
        "CONSTRAINT",
        default=("none",),
        several=True,
        nested=True,
    ),
    Key(
        "objectives",
        "--objective",
        (str,),
        str,
        "An objective; two or three, by repeating the option, are optimised at once. A single one must be the "
        "benchmark's own.",
        "METRIC",
        default=(),
        several=True,
    ),
    Key(
        "seeds",
        "--seeds",
        (int, str),
        parse_seeds,
        "Seeds 0 … N-1, or A … B-1. With a suite: its first N.",
        "N|A:B",
        default=10,
        default_text="10, or all of the suite",
    ),
    Key(
        "evals",
        "--evals",
        (int,),
        _checked("evals"),
        "Budget of a run, in evaluations: whole trainings' worth.",
        "N",
        default=200,
        default_text="200 unless --budget-seconds",
    ),
    Key(
        "budget_seconds",
        "--budget-seconds",
        (int, float),
        _checked("seconds"),
        "Budget: seconds per run, on the run's clock.",
        "S",
    ),
    Key("workers", "--workers", (int,), _checked("workers"), "Asynchronous workers per run.", "W", default=1),
    Key(
        "charge_thinking",
        "--charge-thinking",
        (bool,),
        _checked("charge_thinking"),
        "Add the method's measured thinking time to the clock.",
        default=False,
    ),
    Key(
        "train_infeasible",
        "--train-infeasible",
        (bool,),
        _checked("train_infeasible"),
        "Also train live networks that are known beforehand to violate a constraint (their size).",
        default=False,
        default_text="they are refused",
    ),
)
"""Every key of a grid, in the order of `nasbench run --help`."""


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by key, with defaults for what is not given (absent or None); either budget may stand alone."""
    given = {name: value for name, value in given.items() if value is not None}
    values = {key.name: key.default for key in KEYS} | given
    if "budget_seconds" in given and "evals" not in given:
        values["evals"] = None
    return values


def asked_grid(**given: Any) -> Grid:
    """The grid that a user describes on the command line or from Python.

    Args:
        given: values by key; None and absent keys mean the default. An item of `constraints` is one setting: a text, or
            several texts that hold together.

    Raises UsageError for a value of another type and, with the nearest name, for whatever is not there.
    """
    values = with_defaults(given)
    if not values["methods"] or not values["benchmarks"]:
        raise UsageError("give at least one method and one benchmark")
    check_values(values)
    return grid_of({key.name: key.read(values[key.name]) for key in KEYS})


def check_values(values: Mapping[str, Any]) -> None:
    """Raises UsageError for a value, by key, of another type than its key has; None is not given."""
    for key in KEYS:
        if values.get(key.name) is not None:
            key.check(values[key.name])


def grid_of(values: Mapping[str, Any], places: Mapping[str, str] | None = None) -> Grid:
    """The grid with these values, each as its key has read it."""
    protocol = Protocol(
        values["evals"],
        values["budget_seconds"],
        values["workers"],
        values["charge_thinking"],
        values["train_infeasible"],
    )
    return Grid(
        values["methods"],
        values["benchmarks"],
        values["constraints"],
        values["seeds"],
        protocol,
        values["objectives"],
        dict(places or {}),
    )

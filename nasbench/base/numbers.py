"""Formatted numbers; `-` for NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def number(value: float, digits: int = 4) -> str:
    """A number with `digits` significant digits."""
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def fixed(value: float, digits: int = 2) -> str:
    """A number with `digits` digits after the point, the same for values that differ in their last bits alone."""
    return "-" if math.isnan(value) else f"{round(value, 9):z.{digits}f}"


def p_value(value: float) -> str:
    """A p-value with three digits, or a power of ten if it is smaller."""
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value >= 1e-99 else "<1e-99"


def p_is(value: float) -> str:
    """`p = 0.032`, and `p < 1e-99` where `p_value` gives a bound."""
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def interval(ends: tuple[float, float], digits: int = 2) -> str:
    """Both ends of an interval: `0.49-0.55`, and with a negative end `−0.09 to −0.07`."""
    return between(fixed(ends[0], digits), fixed(ends[1], digits))


def intervals(low: Iterable[float], high: Iterable[float], digits: int = 2) -> list[str]:
    """Several intervals, by their ends, in one form: with `to` if an end of any of them is negative."""
    ends = [(fixed(a, digits), fixed(b, digits)) for a, b in zip(low, high, strict=True)]
    is_signed = any(len(end) > 1 and end.startswith("-") for pair in ends for end in pair)
    return [between(*pair, is_signed) for pair in ends]


def between(low: str, high: str, is_signed: bool = False) -> str:
    """Two numbers as the ends of an interval.

    Args:
        is_signed: write `to` between them although neither is negative.
    """
    if low == "-":
        return "-"
    if not is_signed and not low.startswith("-") and not high.startswith("-"):
        return f"{low}-{high}"
    return " to ".join(f"−{end[1:]}" if end.startswith("-") else end for end in (low, high))


def constraint_name(label: str) -> str:
    """The label of a constraint for people."""
    return "no constraint" if label == "none" else label


def point(value: float, unit: str) -> str:
    """A point of a budget: a whole number of evaluations, or seconds with their unit."""
    return f"{value:.0f}" if unit == "evaluations" else f"{value:.4g} s"


def count(amount: int | str, what: str) -> str:
    """An amount with its noun: `1 run`, `24,000 runs`, or from a text `10 to 30 runs`."""
    text = amount if isinstance(amount, str) else f"{amount:,}"
    return f"{text} {what if text == '1' else what + 's'}"


def with_unit(name: str, unit: str) -> str:
    """The name of a metric with its unit, if it has one: `valid-error [%]`."""
    return f"{name} [{unit}]" if unit else name


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words joined by commas, with `last` before the last word."""
    return ", ".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def some(names: Sequence[str], last: str = "and", most: int = 4) -> str:
    """Names as a list, which ends in a number where there are many."""
    more = len(names) - most
    return listed(names, last) if more <= 0 else f"{', '.join(names[:most])} {last} {more:,} more"

"""Pairs of methods as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nasbench.results.curves import Array, Curves
from nasbench.results.display.numbers import count, fixed, interval, p_value
from nasbench.results.statistics.classical import relative_differences
from nasbench.results.statistics.verdicts import Pair

BETTER = (
    "better: the probability that a run of the one is better than a run of the other, ties one half; families, their "
    "benchmarks, and the constraints of a benchmark weigh alike."
)
HERE = (
    "95 % here: interval for the listed benchmarks, in which only seeds are chance (t over seeds, each averaged over "
    "settings)."
)
ALIKE = (
    "95 % alike: interval for tasks like these, in which families are a sample of families (t over family means, never "
    "narrower than the other)."
)


def facts(pair: Pair, methods: Sequence[str]) -> dict[str, Any]:
    """A pair in full precision, for a file."""
    low, high = pair.here.interval()
    low_alike, high_alike = pair.alike.interval()
    return {
        "method": methods[pair.a],
        "other": methods[pair.b],
        "identical": pair.is_identical,
        "settings": len(pair.settings),
        "seeds": pair.seeds,
        "better": pair.here.value,
        "low": low,
        "high": high,
        "p": pair.here.p(),
        "p_holm": pair.p_here,
        "low_alike": low_alike,
        "high_alike": high_alike,
        "p_alike": pair.alike.p(),
        "p_alike_holm": pair.p_alike,
        "alike_over": pair.unit,
        "wins": pair.wins,
        "losses": pair.losses,
        "even": pair.even,
        "families": pair.families,
        "families_ahead": pair.ahead,
        "families_behind": pair.behind,
        "ties": pair.tied,
        "floor": pair.floor,
        "equivalent": pair.is_equivalent,
    }


def shown(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """The columns that people read: probability, both intervals, both p, and benchmarks won, lost and even."""
    return {
        "better": [_marked(pair) for pair in pairs],
        "95 % here": ["=" if pair.is_identical else interval(pair.here.interval()) for pair in pairs],
        "p": ["=" if pair.is_identical else p_value(pair.p_here) for pair in pairs],
        "95 % alike": ["=" if pair.is_identical else interval(pair.alike.interval()) for pair in pairs],
        "p alike": ["=" if pair.is_identical else p_value(pair.p_alike) for pair in pairs],
        "w/l/e": [f"{pair.wins}/{pair.losses}/{pair.even}" for pair in pairs],
    }


def _marked(pair: Pair) -> str:
    if pair.is_identical:
        return "="
    return fixed(pair.here.value) + "*" * (abs(pair.verdict) + abs(pair.verdict_alike))


def marks(pairs: Sequence[Pair], tested: Sequence[Pair], scope: str = "") -> str:
    """What the marks mean, and whether the seeds can ever earn one.

    Args:
        pairs: those that the table shows.
        tested: all that Holm's correction is over.
        scope: where these are, if that is not everywhere.
    """
    text = ["=: every run of the one is that of the other."] * any(pair.is_identical for pair in pairs)
    if not tested:
        text.append("There are too few seeds for intervals and p: five that all settings of a pair share at least.")
        return " ".join(text)
    number = count(len(tested), "pair")
    text.insert(
        0,
        "* told apart on these benchmarks, ** on tasks like these too (p < 0.05 after Holm's correction over "
        f"{number}{scope}).",
    )
    if min(pair.floor for pair in tested) * len(tested) > 0.05:
        text.append(f"So few seeds cannot give p < 0.05 among {number}, however clear the difference.")
    return " ".join(text)


def differences(curves: Curves, middle: Array, pair: Pair) -> pd.Series:
    """How much worse the other's medians are than ours, relatively, in each setting of a pair.

    Args:
        middle: medians, shape (settings, methods).
    """
    ours, theirs = middle[pair.settings, pair.a], middle[pair.settings, pair.b]
    return pd.Series(relative_differences(theirs, ours), index=pair.settings)

"""Pairs of methods as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nasbench.base.numbers import count, fixed, interval, p_value
from nasbench.results.statistics.estimates import cannot_differ
from nasbench.results.statistics.verdicts import EQUIVALENT, Pair

BETTER = (
    "better: the probability that a run of the one is better than a run of the other, ties one half. Search spaces, "
    "families, benchmarks and constraints weigh the same at each level."
)
THESE = (
    "CI (these): only seeds are chance (t, stratified by setting); all of a report hold together (Bonferroni). p: "
    "after Holm, and divided by these pairs' share of the 5 % in which a report may err."
)
NEW = (
    "CI (new): the search spaces here (families or benchmarks, where there is one space) are a sample of others, for "
    "each pair alone; p (new) by a moderated t."
)


def facts(pair: Pair, methods: Sequence[str]) -> dict[str, Any]:
    """A pair in full precision, for a file; `low` and `high` are its own 95 % CI, not simultaneous."""
    low, high = pair.these.interval()
    low_all, high_all = pair.interval
    low_new, high_new = pair.new.interval()
    return {
        "method": methods[pair.a],
        "other": methods[pair.b],
        "identical": pair.is_identical,
        "settings": len(pair.settings),
        "seeds": pair.seeds,
        "better": pair.these.value,
        "low": low,
        "high": high,
        "low_simultaneous": low_all,
        "high_simultaneous": high_all,
        "p": pair.these.p(),
        "p_holm": pair.p_these,
        "low_new": low_new,
        "high_new": high_new,
        "p_new": pair.shared.p(),
        "p_new_holm": pair.p_new,
        "new_over": pair.unit,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "units": pair.units,
        "units_ahead": pair.ahead,
        "units_behind": pair.behind,
        "runs_tied": pair.tied,
        "floor": pair.floor,
        "p_equivalent": pair.p_equivalent,
        "equivalent": pair.is_equivalent,
        "equal_on_average": pair.is_equivalent_on_average,
    }


def shown(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """The columns for display: probability, both intervals, both p, and benchmarks won, tied and lost."""
    return {
        "better": [marked(pair) for pair in pairs],
        "CI (these)": ["=" if pair.is_identical else interval(pair.interval) for pair in pairs],
        "p": ["=" if pair.is_identical else p_value(pair.p_these) for pair in pairs],
        "CI (new)": ["=" if pair.is_identical else interval(pair.new.interval()) for pair in pairs],
        "p (new)": ["=" if pair.is_identical else p_value(pair.p_new) for pair in pairs],
        "w/t/l": [f"{pair.wins}/{pair.ties}/{pair.losses}" for pair in pairs],
    }


def marked(pair: Pair) -> str:
    """The probability that the first method is better, with its marks."""
    if pair.is_identical:
        return "="
    return fixed(pair.these.value) + "*" * (abs(pair.verdict) + abs(pair.verdict_new)) + "≈" * bool(pair.is_equivalent)


def marks(pairs: Sequence[Pair], tested: Sequence[Pair], scope: str = "") -> str:
    """The meaning of marks and column heads, and a note if there are too few seeds for any mark.

    Args:
        pairs: the pairs in the table.
        tested: all pairs of Holm's correction.
        scope: the scope of these pairs, if it is not all settings.
    """
    text = ["=: the incumbents of the two are always the same."] * any(pair.is_identical for pair in pairs)
    if not tested:
        if not all(pair.is_identical for pair in pairs):
            text.append("Too few seeds for intervals and p: at least five in every setting of a pair.")
        return " ".join(text)
    number = count(len(tested), "pair")
    text.insert(
        0,
        f"* significant (5 %, Holm over {number}{scope}) on these benchmarks, ** on new tasks too. w/t/l: benchmarks "
        "won, tied, lost.",
    )
    if any(pair.is_equivalent and not pair.is_identical for pair in pairs):
        text.append(f"≈ equivalent: between {EQUIVALENT[0]} and {EQUIVALENT[1]} in every search space (5 %, Holm).")
    if cannot_differ([pair.floor for pair in tested]):
        text.append(f"As few seeds as these cannot give p < 0.05 among {number}, however clear the difference.")
    return " ".join(text)

"""Where the verdict holds: the leader under each constraint, in sample and out of it, and in each search space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from nasbench.base.numbers import constraint_name, fixed, interval, listed
from nasbench.results.display.diagrams import Dot, dots
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.statistics.comparison import CONSTRAINTS, Comparison
from nasbench.results.statistics.verdicts import Pair, Verdicts
from nasbench.results.verdict.leading import full_name, sharing


class Standing(NamedTuple):
    """The leader of all settings together in one part of them."""

    kind: str
    """`all`, `constraint`, `sample`, `space` or `family`."""
    name: str
    settings: int
    first: str
    """The method with the lowest expected rank here; several if they share it."""
    against: str
    """The other method with the lowest expected rank here."""
    pair: Pair
    """The leader against it."""

    @property
    def has_verdict(self) -> bool:
        """Whether its pair has a p: single search spaces, and samples, are estimated only."""
        return self.kind in ("all", "constraint")

    @property
    def ends(self) -> tuple[float, float]:
        """Its interval: where there is a verdict simultaneous, else for this row alone."""
        return self.pair.interval if self.has_verdict else self.pair.these.interval()


def standings(comparison: Comparison) -> list[Standing]:
    """All settings together, then their parts by kind, those first in which the leader is furthest ahead."""
    kinds: dict[str, dict[str, Verdicts]] = {"all": {"all together": comparison.overall}}
    if len(comparison.by_constraint) > 1:
        kinds["constraint"] = {constraint_name(name): v for name, v in comparison.by_constraint.items()}
    if set(comparison.by_scope) > {"out of sample"}:
        every = len(comparison.overall.complete)
        kinds["sample"] = {name: v for name, v in comparison.by_scope.items() if len(v.complete) < every}
    parts = {"space": comparison.by_space, "family": comparison.by_family}
    level = "space" if len(parts["space"]) > 1 else "family"
    if len(parts[level]) > 1:
        kinds[level] = parts[level]
    found = []
    for kind, named in kinds.items():
        own = [s for name, verdicts in named.items() if (s := _scope(comparison, kind, name, verdicts)) is not None]
        found += sorted(own, key=lambda scope: -scope.pair.these.value)
    return found


def _scope(comparison: Comparison, kind: str, name: str, verdicts: Verdicts) -> Standing | None:
    """The scope; None if it has no ranks of two methods."""
    leader = comparison.overall.ranks[0].method
    rivals = [rank.method for rank in verdicts.ranks if rank.method != verdicts.kind_of(leader)[0]]
    pair = verdicts.pair(leader, rivals[0]) if rivals else None
    if pair is None:
        return None
    first = listed([_named(comparison, verdicts, method) for method in sharing(verdicts)])
    return Standing(kind, name, len(verdicts.complete), first, _named(comparison, verdicts, rivals[0]), pair)


def _named(comparison: Comparison, verdicts: Verdicts, method: int) -> str:
    """The leader where a method is identical to it here, else the method; with `(=)` where others are identical to it
    here alone."""
    leader, kind = comparison.overall.ranks[0].method, verdicts.kind_of(method)
    named = leader if leader in kind else method
    return comparison.methods[named] + " (=)" * (len(kind) > len(comparison.overall.kind_of(named)))


def table(comparison: Comparison) -> Table | None:
    """The scopes as rows; None if there are no ranks, or nothing but all settings together."""
    found = standings(comparison) if len(comparison.overall.ranks) > 1 else []
    if len(found) < 2:
        return None
    leader = full_name(comparison, comparison.overall, comparison.overall.ranks[0].method)
    data = pd.DataFrame([_facts(scope) for scope in found])
    shown = pd.DataFrame(
        {
            "where": data["where"],
            "first": data["first"],
            "against": data["against"],
            "better": [fixed(scope.pair.these.value) + "*" * _differs(scope) for scope in found],
            "95 % CI": [interval(scope.ends) for scope in found],
        }
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, list(shown).index("better")] = [_differs(scope) for scope in found]
    note = (
        "first: the method with the lowest expected rank there. better: the probability that a run of the leader of "
        "all settings together is better than one of the other method with the lowest expected rank there. Single "
        "search spaces, families and samples have intervals of their own, and no verdict. In sample: spaces on which "
        "defaults of a method here were chosen; sealed: kept from such choices. Constraints together have "
        f"{5 * CONSTRAINTS:g} of the 5 % in which a report may err."
    )
    marks = f"better: {leader} against the best other method there; * significant (5 %, Holm)."
    if any(not scope.has_verdict for scope in found):
        marks += " Samples and single search spaces are not tested: their intervals stand alone."
    if any("(=)" in text for text in (*data["first"], *data["against"])):
        marks += " (=): another method is identical there."
    title = f"Where does that hold? {leader} against the best of the others"
    return Table("scopes", title, note, data, shown, bold, marks)


def _differs(scope: Standing) -> bool:
    return scope.has_verdict and scope.pair.verdict != 0


def _facts(scope: Standing) -> dict[str, object]:
    low, high = scope.ends
    return {
        "kind": scope.kind,
        "where": scope.name,
        "settings": scope.settings,
        "first": scope.first,
        "against": scope.against,
        "better": scope.pair.these.value,
        "low": low,
        "high": high,
        "p_holm": scope.pair.p_these if scope.has_verdict else np.nan,
    }


def figure(comparison: Comparison, width: float | None = None) -> Scene | None:
    """The scopes as dots with intervals; None where there is no table."""
    if len(comparison.overall.ranks) < 2 or len(found := standings(comparison)) < 2:
        return None
    leader = full_name(comparison, comparison.overall, comparison.overall.ranks[0].method)
    title = f"Probability that {leader} is better than the best of the others"
    return dots(list(_dots(found)), title, width)


def _dots(found: list[Standing]) -> Iterator[Dot]:
    for number, scope in enumerate(found):
        is_new_kind = number > 0 and scope.kind != found[number - 1].kind
        yield Dot(f"{scope.name}: {scope.against}", scope.pair.these.value, scope.ends, _differs(scope), is_new_kind)

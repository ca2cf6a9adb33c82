"""The leader, the methods tied with it, and the margin: over all settings, and under each constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from nasbench.base.numbers import constraint_name, fixed, interval, listed
from nasbench.results.display.table import Table
from nasbench.results.parts.rows import facts
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.ranks import Rank
from nasbench.results.statistics.verdicts import Pair, Verdicts

_MOST_LEADERS = 3
_MOST_TIES = 4  # names in a cell


class Lead(NamedTuple):
    """The method with the lowest expected rank, and its pairs with the others."""

    leader: Rank
    shared: list[int]
    """The methods with the lowest expected rank: the leader, and those that tie with it exactly."""
    better: list[Pair]
    """Pairs with methods that are significantly worse, the clearest first."""
    level: list[Pair]
    """Pairs with methods that do not differ significantly, or are identical where both have runs."""
    worse: list[Pair]
    """Pairs with methods that are significantly better; a rank is over all methods, and single pairs may disagree."""
    untested: list[Pair]
    """Pairs without a p: some setting has fewer than five seeds that both methods have."""

    @property
    def is_first(self) -> bool:
        """Whether the leader is significantly better than each other method."""
        return bool(self.better) and not (self.level or self.worse or self.untested) and len(self.shared) == 1


def pairs_of_leader(verdicts: Verdicts) -> list[Pair]:
    """The pairs of the method with the lowest expected rank, by the rank of the other method."""
    leader, *others = verdicts.ranks
    return [pair for r in others if (pair := verdicts.pair(leader.method, r.method)) is not None]


def leading(verdicts: Verdicts) -> Lead:
    """The leader, and its pairs with the other methods."""
    leader, pairs = verdicts.ranks[0], pairs_of_leader(verdicts)
    untested = [p for p in pairs if p.is_untested]
    better, level, worse = ([p for p in pairs if not p.is_untested and p.verdict == sign] for sign in (1, 0, -1))
    clearest = sorted(better, key=lambda pair: -pair.these.value)
    return Lead(leader, sharing(verdicts), clearest, level, worse, untested)


def leaders(comparison: Comparison) -> frozenset[int]:
    """The method with the lowest expected rank and up to two tied with it: those whose bands charts show."""
    overall = comparison.overall
    if not overall.ranks:
        return frozenset()
    shared = sharing(overall)
    if len(overall.ranks) > 1 and overall.ranks[0].these.known:
        lead = leading(overall)
        shared += [pair.b for pair in lead.level if lead.better and pair.b not in shared]
    return frozenset(shared[:_MOST_LEADERS])


def beaten_by(comparison: Comparison, verdicts: Verdicts, worse: list[Pair]) -> str:
    """The methods that beat the leader, as the end of a clause; one of them may even beat each other method."""
    names = [called(comparison, verdicts, p.b) for p in worse]
    if len(names) == 1 and beats_all(verdicts, worse[0].b):
        return f"{names[0]} is better than each other method"
    return f"{listed(names)} beat{'s' if len(names) == 1 else ''} it"


def beats_all(verdicts: Verdicts, method: int) -> bool:
    """Whether a method is significantly better than each other one; it need not have the lowest expected rank."""
    others = [verdicts.pair(method, rank.method) for rank in verdicts.ranks if rank.method != method]
    return all(pair is not None and pair.verdict == 1 for pair in others)


def not_tested(comparison: Comparison, verdicts: Verdicts, untested: list[Pair]) -> str:
    """The methods against which the leader has no p, as the end of a clause; empty if there are none."""
    names = listed([called(comparison, verdicts, p.b) for p in untested], "or")
    return f"not tested against {names} (fewer than {FEWEST} common seeds in some setting)" if untested else ""


def sharing(verdicts: Verdicts) -> list[int]:
    """The methods with the lowest expected rank."""
    lowest = verdicts.ranks[0].these.value
    return [rank.method for rank in verdicts.ranks if rank.these.value - lowest < 1e-9]


def tuned(comparison: Comparison, verdicts: Verdicts, method: int) -> tuple[int, int]:
    """The number of search spaces on which defaults of a method, or of one identical to it, were chosen, and of all
    that are behind the ranks."""
    spaces = comparison.curves.settings["space"].iloc[verdicts.complete]
    inside = comparison.curves.in_sample(verdicts.kind_of(method))[verdicts.complete]
    return spaces[inside].nunique(), spaces.nunique()


def called(comparison: Comparison, verdicts: Verdicts, method: int) -> str:
    """The name of a method, with the names of those that are identical to it."""
    return " = ".join(comparison.methods[m] for m in verdicts.kind_of(method))


def table(comparison: Comparison) -> Table:
    """The answer at a glance: one row for all settings together, and one per constraint."""
    scopes = [("all together", comparison.overall)]
    if len(comparison.by_constraint) > 1:
        by_constraint = comparison.by_constraint.items()
        scopes += [(constraint_name(name), verdicts) for name, verdicts in by_constraint]
    rows = [_row(comparison, verdicts) for _, verdicts in scopes]
    shown = pd.DataFrame([shown for shown, _ in rows], columns=["first", "tuned", "tied with", "margin", "ahead in"])
    shown.insert(0, "where", [name for name, _ in scopes])
    data = pd.DataFrame([facts_ for _, facts_ in rows])
    data.insert(0, "where", [name for name, _ in scopes])
    if not comparison.curves.in_sample(range(len(comparison.methods))).any():
        shown = shown.drop(columns="tuned")
    bold = np.zeros(shown.shape, bool)
    bold[:, 1] = list(data["is_first"])
    note = (
        "first: the method with the lowest expected rank, in bold, if it is significantly better than each other one "
        "(5 %, Holm); otherwise `no clear winner`, and the methods that are significantly better than it. tuned: "
        "on how many of the search spaces its defaults were chosen: verdicts there are in sample. tied with: "
        "those from which it does not differ significantly, which is not the same as equivalent. margin: the "
        "probability that its run is better than one of the method that is next by expected rank, with its 95 % "
        "confidence interval for these benchmarks, simultaneous for all pairs (seeds are chance). ahead in: search "
        "spaces (families, or benchmarks, where there is one space) in which this probability is above one half. "
        "Verdicts are given at the end of the budget; under single constraints they are stricter than for all "
        "together, for there are more of them."
    )
    return Table("answer", "Who is first", note, data, shown, bold, _marks(scopes, comparison, "tuned" in shown))


def _marks(scopes: Sequence[tuple[str, Verdicts]], comparison: Comparison, has_tuned: bool) -> str:
    """The meaning of the heads, and the methods that are identical under a constraint."""
    same: dict[str, list[str]] = {}
    for where, verdicts in scopes:
        for kind in verdicts.kinds:
            if len(kind) > 1:
                same.setdefault(listed([comparison.methods[m] for m in kind]), []).append(where)
    told = []
    for names, places in same.items():
        under = [f"under {name}" if name != "no constraint" else "without a constraint" for name in places]
        where = "everywhere" if "all together" in places else listed(under)
        told.append(f"{names} are identical {where}: their incumbents are always the same.")
    told += ["tuned: search spaces on which the defaults of that method were chosen."] * has_tuned
    told.append(
        "margin: probability that its run is better than one of the next method, with its 95 % confidence interval; "
        "0.50 is a tie. ahead in: where this probability is above 0.50."
    )
    return " ".join(told)


def _row(comparison: Comparison, verdicts: Verdicts) -> tuple[list[str], dict[str, object]]:
    """The cells for display, and the values in full precision."""
    if len(verdicts.ranks) < 2:
        return ["-"] * 5, {"is_first": False}
    lead = leading(verdicts)
    leaders = listed([called(comparison, verdicts, m) for m in lead.shared])
    first = leaders if lead.is_first else f"no clear winner; lowest rank: {leaders}"
    if lead.worse and len(lead.shared) == 1:
        first += f", but {beaten_by(comparison, verdicts, lead.worse)}"
    ties = [called(comparison, verdicts, p.b) for p in lead.level if p.b not in lead.shared]
    next_ = verdicts.pair(lead.leader.method, verdicts.ranks[1].method)
    assert next_ is not None  # ranks are of methods that share settings
    known = next_.these.known
    margin = f"{fixed(next_.these.value)}" + (f" ({interval(next_.interval)})" if known else "")
    margin += f" over {called(comparison, verdicts, next_.b)}"
    ahead = f"{next_.ahead} of {next_.units} {next_.unit}" if next_.unit else "-"
    named = ties if len(ties) <= _MOST_TIES else [*ties[: _MOST_TIES - 1], f"{len(ties) - _MOST_TIES + 1} more"]
    tied = "?" if not known else listed(named) or "-"
    data = {"is_first": lead.is_first, "first": leaders, "rank": lead.leader.these.value, "tied": "; ".join(ties)}
    inside, spaces = tuned(comparison, verdicts, lead.leader.method)
    data |= {"tuned_on_spaces": inside, "spaces": spaces}
    shown = f"{inside}/{spaces}" if inside else "-"
    return [first, shown, tied, margin, ahead], data | {
        name: value for name, value in facts(next_, comparison.methods).items() if name != "method"
    }

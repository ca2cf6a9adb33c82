"""The leader of some verdicts, and the methods that cannot be told from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nasbench.base.numbers import some
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.ranks import Rank
from nasbench.results.statistics.verdicts import Pair, Verdicts

_MOST_LEADERS = 3


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


def beaten_by(comparison: Comparison, verdicts: Verdicts, worse: Sequence[Pair]) -> str:
    """The methods that beat the leader, as the end of a clause; one of them may even beat each other method."""
    names = [full_name(comparison, verdicts, p.b) for p in worse]
    if len(names) == 1 and beats_all(verdicts, worse[0].b):
        return f"{names[0]} is better than each other method"
    return f"{some(names)} beat{'s' if len(names) == 1 else ''} it"


def beats_all(verdicts: Verdicts, method: int) -> bool:
    """Whether a method is significantly better than each other one; it need not have the lowest expected rank."""
    others = [verdicts.pair(method, rank.method) for rank in verdicts.ranks if rank.method != method]
    return all(pair is not None and pair.verdict == 1 for pair in others)


def not_tested(comparison: Comparison, verdicts: Verdicts, untested: Sequence[Pair]) -> str:
    """The methods against which the leader has no p, as the end of a clause."""
    names = some([full_name(comparison, verdicts, p.b) for p in untested], "or")
    return f"not tested against {names} (fewer than {FEWEST} common seeds in some setting)"


def sharing(verdicts: Verdicts) -> list[int]:
    """The methods with the lowest expected rank."""
    lowest = verdicts.ranks[0].these.value
    return [rank.method for rank in verdicts.ranks if rank.these.value - lowest < 1e-9]


def tuned_on(comparison: Comparison, method: int) -> list[str]:
    """The search spaces of this report on which defaults of a method, or of one identical to it, were chosen."""
    known = comparison.curves.tuned_on
    kind = comparison.overall.kind_of(method)
    return [space for space in comparison.spaces if known and any(space in known[m] for m in kind)]


def full_name(comparison: Comparison, verdicts: Verdicts, method: int) -> str:
    """The name of a method, with the names of those that are identical to it."""
    return " = ".join(comparison.methods[m] for m in verdicts.kind_of(method))

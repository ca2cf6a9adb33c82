"""Rungs and brackets: up to which levels of the fidelity trainings go, and how many of them."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from nasbench.benchmarks import Fidelity, Level
from nasbench.benchmarks.spaces.errors import UsageError


def rungs(fidelity: Fidelity, eta: int, lowest: int = 0) -> list[Level]:
    """Levels of the ladder at which trainings are compared, ascending: floor(R / η^k), rounded down to one that exists.

    Counted from the highest level R down, so that R itself is always a rung (Li et al., JMLR 2018, section 3.5, count
    s_max = floor(log_η(R / r)); here by exact comparisons of integers).

    Args:
        lowest: r, the first value of the ladder's axis that is worth a look; 0 for its first.

    Raises UsageError if η is below 2, or `lowest` is none of the levels.
    """
    levels = fidelity.axes[0].values
    if not 2 <= eta <= 1000:
        raise UsageError(f"eta must lie in [2, 1000], not {eta}")
    if lowest and lowest not in levels:
        raise UsageError(f"lowest must be a level of {fidelity}, or 0 for the first, not {lowest}")
    first, highest = lowest or levels[0], levels[-1]
    found, share = [highest], eta
    while first * share <= highest:
        place = bisect.bisect_right(levels, highest // share) - 1
        found.append(max(levels[max(place, 0)], first))
        share *= eta
    return [fidelity.ladder[levels.index(level)] for level in sorted(set(found))]


def sizes(brackets: int, bracket: int, eta: int) -> list[int]:
    """How many trainings reach each rung of a bracket, the lowest rung first (Li et al., JMLR 2018, algorithm 1).

    Args:
        brackets: s_max + 1, the number of rungs there are.
        bracket: s, from s_max (all rungs, most trainings) to 0 (the highest rung alone).
    """
    n = -(-brackets * eta**bracket // (bracket + 1))
    return [n // eta**i for i in range(bracket + 1)]


def sizes_of_authors(brackets: int, bracket: int, eta: int) -> list[int]:
    """The same by the formula of the code of BOHB's and DEHB's authors: n = floor((s_max + 1) / (s + 1)) η^s."""
    n = brackets // (bracket + 1) * eta**bracket
    return [n // eta**i for i in range(bracket + 1)]


def best(ranks: Sequence[tuple[float, float]], n: int) -> list[int]:
    """The positions of the n smallest ranks, the best first; of equal ones the earlier."""
    return sorted(range(len(ranks)), key=ranks.__getitem__)[:n]

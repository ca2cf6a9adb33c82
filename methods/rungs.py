"""Rungs and brackets: the levels at which trainings are compared, and the number of trainings at each."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from nasbench.base.errors import UsageError, check_range
from nasbench.benchmarks import Fidelity, Level


def rungs(fidelity: Fidelity, eta: int, lowest: int = 0) -> list[Level]:
    """The s_max + 1 levels at which trainings are compared, ascending: floor(R / η^k), rounded down to an existing one.

    They are counted down from the highest level R, so that R is always a rung. Li et al. (JMLR 2018, section 3.5)
    compute s_max = floor(log_η(R / r)); here integers are compared exactly. Where a ladder is sparse, several rungs
    fall on one level: of 12 and 200 epochs with η = 3, 12, 12 and 200 are the rungs (`merged`).

    Args:
        lowest: r, no lower value of the ladder's axis is used; 0 for its first.

    Raises UsageError if η is below 2, or `lowest` is not one of the levels or leaves no rung below R.
    """
    levels = fidelity.axes[0].values
    check_range("eta", eta, 2, 1000)
    if lowest and lowest not in levels:
        raise UsageError(f"lowest must be a level of {fidelity}, or 0 for the first, not {lowest}")
    first, highest = lowest or levels[0], levels[-1]
    if lowest > levels[0] and lowest * eta > highest:
        most = levels[max(bisect.bisect_right(levels, highest // eta) - 1, 0)]
        raise UsageError(f"lowest must be at most {most}, for higher levels have no rung below {highest}, not {lowest}")
    values, share = [highest], eta
    while first * share <= highest:
        values.append(levels[bisect.bisect_right(levels, highest // share) - 1])
        share *= eta
    return [fidelity.ladder[levels.index(level)] for level in reversed(values)]


def merged(rungs: Sequence[Level], sizes: Sequence[int]) -> tuple[list[Level], list[int]]:
    """The rungs of a bracket and their sizes without those at the level of the rung below, which train nothing."""
    kept = [i for i, level in enumerate(rungs) if not i or level != rungs[i - 1]]
    return [rungs[i] for i in kept], [sizes[i] for i in kept]


def sizes(brackets: int, bracket: int, eta: int) -> list[int]:
    """The number of trainings at each rung of a bracket, the lowest rung first (Li et al., JMLR 2018, algorithm 1).

    Args:
        brackets: s_max + 1, the number of all rungs.
        bracket: s, from s_max (all rungs, most trainings) to 0 (the highest rung only).
    """
    n = -(-brackets * eta**bracket // (bracket + 1))
    return [n // eta**i for i in range(bracket + 1)]


def sizes_of_authors(brackets: int, bracket: int, eta: int) -> list[int]:
    """As `sizes`, by the formula in the code of BOHB's and DEHB's authors: n = floor((s_max + 1) / (s + 1)) η^s."""
    n = brackets // (bracket + 1) * eta**bracket
    return [n // eta**i for i in range(bracket + 1)]


SIZES = {"jmlr": sizes, "hpbandster": sizes_of_authors}
"""Name of a rule → the function that gives the sizes of a bracket."""


def best(ranks: Sequence[tuple[float, float]], n: int) -> list[int]:
    """Indices of the n smallest ranks, the best first; in a tie the earlier one."""
    return sorted(range(len(ranks)), key=ranks.__getitem__)[:n]

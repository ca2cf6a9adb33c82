"""Dominance between evaluations with several objectives: nondominated ranks, crowding, hypervolume contributions.

All losses are minimised and finite, shape (n, objectives).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.methods.problem import Losses

Array: TypeAlias = NDArray[np.float64]
Place: TypeAlias = tuple[float, float, float]
"""(sum of the violations of all constraints, nondominated rank, - crowding distance); smaller is better."""

_MARGIN = 0.1  # of the extent of some losses, by which their reference point lies beyond the worst of them


def ranks(losses: Array) -> NDArray[np.intp]:
    """Nondominated rank of each point, from 0 (Deb et al., 2002); equal points have equal ranks."""
    from moocore import pareto_rank

    return np.asarray(pareto_rank(losses), np.intp) if len(losses) else np.zeros(0, np.intp)


def dominates(one: Losses, other: Losses) -> bool:
    """Whether a point is nowhere worse than another, and somewhere better."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def crowding(losses: Array) -> Array:
    """Crowding distance of each point of one nondominated rank (Deb et al., 2002, section III-B), shape (n,).

    Points at the end of an objective's range have an infinite distance. An objective in which all are equal does not
    count.
    """
    distances = np.zeros(len(losses))
    for values in losses.T:
        order = np.argsort(values, kind="stable")
        extent = values[order[-1]] - values[order[0]]
        if extent > 0:
            distances[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / extent
            distances[order[[0, -1]]] = np.inf
    return distances


def places(violations: Sequence[float], losses: Sequence[Losses]) -> list[Place]:
    """Place of each member of a population by constrained dominance (Deb et al., 2002, definition 1).

    Feasible members precede all others, and are ordered by their nondominated rank among themselves, then by crowding;
    the others are ordered by their violation.
    """
    feasible = [i for i, violation in enumerate(violations) if violation == 0]
    placed = [(violation, 0.0, 0.0) for violation in violations]
    if feasible:
        points = np.array([losses[i] for i in feasible])
        rank = ranks(points)
        for r in range(int(rank.max()) + 1):
            members = np.flatnonzero(rank == r)
            for member, distance in zip(members.tolist(), crowding(points[members]).tolist(), strict=True):
                placed[feasible[member]] = (0.0, float(r), -distance)
    return placed


def chosen_for_volume(losses: Array, counts: NDArray[np.bool_], needed: int) -> list[int]:
    """The points that a greedy choice for a large hypervolume takes, in its order (MOTPE, section 3.2).

    Args:
        counts: which points count towards `needed`, shape (n,).
        needed: number of counted points after which the choice ends; `counts` has at least as many.
    """
    from moocore import hypervolume

    points, reference = scaled(losses)
    chosen: list[int] = []
    left = list(range(len(losses)))
    while np.count_nonzero(counts[chosen]) < needed:
        volumes = [hypervolume(points[[*chosen, i]], ref=reference) for i in left]
        chosen.append(left.pop(int(np.argmax(volumes))))
    return chosen


def contributions(losses: Array) -> Array:
    """Hypervolume that only this one of the nondominated points dominates, as a share of the largest, shape (n,).

    Zero for a dominated point, and for all but the first of equal points.
    """
    from moocore import hv_contributions

    points, reference = scaled(losses)
    _, first = np.unique(points, axis=0, return_index=True)
    alone = np.zeros(len(losses))
    alone[first] = hv_contributions(points[first], ref=reference)
    shares: Array = alone / alone.max()
    return shares


def scaled(losses: Array) -> tuple[Array, Array]:
    """Losses between 0 and 1 in each objective, and the reference point."""
    low, extent = losses.min(axis=0), np.ptp(losses, axis=0)
    return (losses - low) / np.where(extent > 0, extent, 1.0), np.full(losses.shape[1], 1.0 + _MARGIN)

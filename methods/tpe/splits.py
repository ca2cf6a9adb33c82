"""Splits of the observations into good and bad ones, for the objective and each constraint (c-TPE, appendix B)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from nasbench.methods.tpe.compiled import Array

GOOD, BAD, OUT = 1, 0, -1


@njit(cache=True)
def split_objective(values: Array, feasible: Array, needed: int) -> Array:
    """Splits by the objective: good is every observation up to the needed-th best feasible one, feasible or not.

    While fewer are feasible, all are good: γ̂ = 1, and the objective does not count. Ties rank by age.

    Args:
        values: objective of every observation, shape (N,); an observation without a value (NaN) is out.
        feasible: whether each observation satisfies all constraints, shape (N,).
        needed: number of feasible observations that are good, at least 1.
    """
    groups = np.full(len(values), GOOD, np.int8)
    best = np.full(needed, math.inf)
    ranked = 0
    last = -1
    for j in range(len(values)):
        if math.isnan(values[j]):
            groups[j] = OUT
        elif feasible[j] and (ranked < needed or values[j] < best[needed - 1]):
            i = min(ranked, needed - 1)
            while i > 0 and best[i - 1] > values[j]:
                best[i] = best[i - 1]
                i -= 1
            best[i] = values[j]
            ranked += 1
    if ranked < needed:
        return groups
    # `last`: of the feasible observations that tie with the needed-th value, the youngest that is still good.
    quota = 0
    for i in range(needed):
        quota += best[i] == best[needed - 1]
    for j in range(len(values)):
        if feasible[j] and values[j] == best[needed - 1] and quota > 0:
            last = j
            quota -= 1
    for j in range(len(values)):
        if groups[j] == GOOD and (values[j] > best[needed - 1] or (values[j] == best[needed - 1] and j > last)):
            groups[j] = BAD
    return groups


@njit(cache=True)
def split_constraint(values: Array, limit: float, present: Array, oldest_only: bool) -> Array:
    """Splits by a constraint: good is every value <= limit or, if there is none, the smallest value.

    Args:
        values: values of the constraint's metric, shape (N,); NaN violates it.
        present: whether each is an observation of this constraint, shape (N,); others are out.
        oldest_only: whether only the oldest of tied smallest values is good (the authors' scripts), or all of them (the
            paper).
    """
    groups = np.full(len(values), OUT, np.int8)
    satisfied, smallest = 0, -1
    for j in range(len(values)):
        if not present[j]:
            continue
        groups[j] = GOOD if values[j] <= limit else BAD
        satisfied += groups[j]
        if not math.isnan(values[j]) and (smallest < 0 or values[j] < values[smallest]):
            smallest = j
    if satisfied == 0 and smallest >= 0:
        for j in range(len(values)):
            if present[j] and values[j] == values[smallest] and (j == smallest or not oldest_only):
                groups[j] = GOOD
    return groups

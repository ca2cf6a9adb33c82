"""Forbidden combinations of choices, and choices of subsets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import combinations

from nasbench.benchmarks.spaces.language.graph import (
    AnyHyperparameter,
    Clause,
    D,
    Dependent,
    ProgramError,
    Value,
    current_scope,
)

_MOST_SUBSETS = 10_000


def forbid(test: Callable[..., bool], **hyperparameters: AnyHyperparameter) -> None:
    """Removes all combinations of choices for which `test` is true from a space.

    For example: `forbid(lambda k, f: k == 7 and f > 32, k=kernel, f=filters)`. Forbidden architectures are never
    sampled, reached by mutation, listed or counted. The clause does not apply to an architecture that lacks one of the
    choices. Forbidden samples are drawn again, so a rule that forbids most of a space is better written as a choice.

    Args:
        test: called with the values by name.
        hyperparameters: the choices; at least one must be made by the function that calls `forbid`.
    """
    scope, clause = current_scope(), Clause(test, hyperparameters)
    if not any(root.scope is scope for root in clause.roots):
        raise ProgramError(
            "a forbidden combination must include a choice that is made in the same function: call forbid there"
        )
    scope.clauses.append(clause)
    for root in clause.roots:
        root.clauses.append(clause)


def subset(values: Iterable[Value], size: int, name: str | None = None) -> Dependent:
    """A choice among all subsets of a given size; its value is a tuple, in the order of `values`.

    Subsets are named by their elements, as in "conv+pool". Raises ProgramError if there are more than 10,000.
    """
    values = tuple(values)
    if not 1 <= size <= len(values):
        raise ProgramError(f"{size} of {len(values)} values cannot be chosen: 1 to {len(values)} can")
    number = math.comb(len(values), size)
    if number > _MOST_SUBSETS:
        raise ProgramError(f"{number:,} subsets are too many for one choice: split the values, or choose fewer")
    subsets = {"+".join(map(str, taken)): taken for taken in combinations(values, size)}
    if len(subsets) < number:
        raise ProgramError(f"the values of a subset must have different names: {', '.join(map(str, values))}")
    return Dependent(lambda chosen: subsets[chosen["subset"]], {"subset": D(subsets, name)})

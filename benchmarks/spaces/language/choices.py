"""What can be said of choices: combinations that are forbidden, and several of many values at once."""

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
    """Takes combinations of choices out of a space: those for which `test` is true.

    As in `forbid(lambda k, f: k == 7 and f > 32, k=kernel, f=filters)`. Nothing is sampled, changed to, listed or
    counted that is forbidden. Where an architecture lacks one of the choices the clause says nothing. Samples that are
    forbidden are drawn again, so a rule that leaves little of a space is better written as a choice.

    Args:
        test: takes the values by name.
        hyperparameters: one of them or more are made by the same function that calls this.
    """
    scope, clause = current_scope(), Clause(test, hyperparameters)
    if not any(root.scope is scope for root in clause.roots):
        raise ProgramError("what is forbidden must be about a choice that is made in the same function: say it there")
    scope.clauses.append(clause)
    for root in clause.roots:
        root.clauses.append(clause)


def subset(values: Iterable[Value], size: int, name: str | None = None) -> Dependent:
    """So many of some values, without an order; who depends on it sees a tuple, in the order of `values`.

    One choice among all subsets, named by what they hold, as in "conv+pool". Raises ProgramError where there are more
    than 10,000.
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

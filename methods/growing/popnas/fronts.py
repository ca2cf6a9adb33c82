"""The two fronts of POPNAS: the Pareto front, and the exploration front, which uses parts that the first neglects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Element: TypeAlias = tuple[str, Hashable]
"""(kind, name), where the kind is `operator` or `input`."""


def pareto_front(values: Array, most: int, take: Callable[[int], bool] = lambda _: True) -> list[int]:
    """At most `most` non-dominated candidates, best first by the first objective, then the second, ….

    Of equal candidates the first is taken. Candidates that `take` refuses dominate nothing. With one objective there is
    no dominance: the front is the best `most`, as in PNAS.

    Args:
        values: objectives to minimise, shape (candidates, objectives).
        most: size of the front; a larger front loses its end, which is worst by the first objective.
        take: whether a candidate may be taken; called in order for each candidate that would be taken.
    """
    front: list[int] = []
    kept = np.empty((0, values.shape[1]))
    for i in np.lexsort(values.T[::-1]).tolist():
        if len(front) >= most:
            break
        is_dominated = values.shape[1] > 1 and (kept <= values[i]).all(axis=1).any()
        if is_dominated or not take(i):
            continue
        front.append(i)
        kept = np.vstack([kept, values[i]])
    return front


def underused(front: Sequence[Sequence[Element]], known: Sequence[Element]) -> set[Element]:
    """The elements that a front uses less than a fifth as often as the mean of their kind (POPNAS, exploration step).

    Args:
        front: the elements of each member of the front.
        known: all elements.
    """
    seen = Counter(element for member in front for element in member)
    totals = Counter(kind for member in front for kind, _ in member)
    kinds = Counter(kind for kind, _ in known)
    return {element for element in known if seen[element] < totals[element[0]] / (5 * kinds[element[0]])}


def exploration_front(
    values: Array,
    elements: Callable[[int], Sequence[Element]],
    neglected: set[Element],
    most: int,
    take: Callable[[int], bool] = lambda _: True,
) -> list[int]:
    """At most `most` candidates with neglected elements that do not dominate each other.

    A neglected element counts 1, plus 2 while it has been used no more often than the mean of its kind, plus 1 while
    its kind has been used no more often than the other. A candidate needs 8 if both kinds have neglected elements, else
    4.

    Args:
        values: objectives to minimise, shape (candidates, objectives); scanned in the order of the first.
        elements: (candidate) → its elements.
        neglected: see `underused`.
        most: size of the front.
        take: see `pareto_front`.
    """
    if not neglected:
        return []
    kinds = Counter(kind for kind, _ in neglected)
    needed = 8 if len(kinds) > 1 else 4
    used: Counter[Element] = Counter()
    of_kind: Counter[str] = Counter()

    def worth(element: Element) -> int:
        if element not in neglected:
            return 0
        same_kind, other_kind = of_kind[element[0]], of_kind.total() - of_kind[element[0]]
        return 1 + 2 * (used[element] * kinds[element[0]] <= same_kind) + (same_kind <= other_kind)

    front: list[int] = []
    for i in np.lexsort(values.T[::-1]).tolist():
        if len(front) >= most:
            break
        parts = elements(i)
        if sum(map(worth, parts)) < needed:
            continue
        if values.shape[1] > 1 and (values[front] <= values[i]).all(axis=1).any():
            continue
        if take(i):
            front.append(i)
            used.update(element for element in parts if element in neglected)
            of_kind.update(element[0] for element in parts if element in neglected)
    return front

"""The two fronts of POPNAS: what is best in all objectives, and what brings back parts that it neglects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Element: TypeAlias = tuple[str, Hashable]
"""(its kind, `operator` or `input`, and which one it is)."""


def pareto_front(values: Array, most: int, take: Callable[[int], bool] = lambda _: True) -> list[int]:
    """Candidates that none dominates, best first by the first objective, then the second, …; `most` at the most.

    Of equals the first is taken. What `take` refuses dominates nothing. With one objective nothing dominates: the front
    is the best, as in PNAS.

    Args:
        values: objectives to minimise, shape (candidates, objectives).
        most: where to stop, which leaves out the end that is worst by the first objective.
        take: whether a candidate may be taken; asked of each that would be, in the order in which they are.
    """
    found: list[int] = []
    kept = np.empty((0, values.shape[1]))
    for i in np.lexsort(values.T[::-1]).tolist():
        if len(found) >= most:
            break
        is_dominated = values.shape[1] > 1 and (kept <= values[i]).all(axis=1).any()
        if is_dominated or not take(i):
            continue
        found.append(i)
        kept = np.vstack([kept, values[i]])
    return found


def underused(front: Sequence[Sequence[Element]], known: Sequence[Element]) -> set[Element]:
    """The elements of which a front has less than a fifth of the mean of their kind (POPNAS, exploration step).

    Args:
        front: the elements of each of its members.
        known: all that there could be.
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
    """Candidates that bring back neglected elements; of these none dominates another. `most` at the most.

    An element counts 1, and 2 more while it was brought back no more often than the mean of its kind, and 1 more while
    its kind was no more often than the other. A candidate needs 8 where both kinds have neglected elements, else 4.

    Args:
        values: objectives to minimise, shape (candidates, objectives); scanned in the order of the first.
        elements: those of a candidate.
        neglected: see `underused`.
        most: where to stop.
        take: see `pareto_front`.
    """
    if not neglected:
        return []
    kinds = Counter(kind for kind, _ in neglected)
    needed = 8 if len(kinds) > 1 else 4
    brought: Counter[Element] = Counter()
    of_kind: Counter[str] = Counter()

    def worth(element: Element) -> int:
        if element not in neglected:
            return 0
        own, others = of_kind[element[0]], of_kind.total() - of_kind[element[0]]
        return 1 + 2 * (brought[element] * kinds[element[0]] <= own) + (own <= others)

    found: list[int] = []
    for i in np.lexsort(values.T[::-1]).tolist():
        if len(found) >= most:
            break
        own = elements(i)
        if sum(map(worth, own)) < needed:
            continue
        if values.shape[1] > 1 and (values[found] <= values[i]).all(axis=1).any():
            continue
        if take(i):
            found.append(i)
            brought.update(element for element in own if element in neglected)
            of_kind.update(element[0] for element in own if element in neglected)
    return found

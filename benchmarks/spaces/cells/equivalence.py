"""Which NAS-Bench-201 cells are one: those of a class have the same parameters, and compute the same function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, LAST_NODE, ZERO
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS

_AVERAGE = "avg_pool_3x3"


def expression(operations: Sequence[str]) -> str:
    """What a cell computes of its input x, as a sum of terms; empty if no path leads through it.

    The value of a node is a multiset of terms: an identity passes the terms of its source on, `none` adds nothing, and
    any other operation on nothing is nothing. Average pooling is linear (its borders are not counted), so the pooling
    of a sum is the sum of poolings. Two operations of one kind on the same source stay two terms: each has parameters
    of its own.
    """
    nodes: list[list[str]] = [["x"], [], [], []]
    for (source, target), operation in zip(EDGES, operations, strict=True):  # by target: sources are complete
        nodes[target] += _brought(operation, sorted(nodes[source]))
    return "+".join(sorted(nodes[LAST_NODE]))


def canonical(operations: Sequence[str]) -> tuple[str, ...]:
    """The first cell of the same class, in the order of NAS-Bench-201: no other of its class has fewer operations.

    Networks of both, trained with parameters drawn alike, have scores that are equal in distribution. Their bits differ
    (sums are added up in another order), and so does their latency. It holds for networks that do not build dead
    operations, as ours: in the official table a convolution of a zero leaves the shift of its normalisation.
    """
    return _firsts()[expression(operations)]


@cache
def _firsts() -> dict[str, tuple[str, ...]]:
    """The first cell of each class: 4,659 classes that are alive, and the dead one."""
    found: dict[str, tuple[str, ...]] = {}
    for operations in itertools.product(OPERATIONS, repeat=len(EDGES)):
        found.setdefault(expression(operations), operations)
    return found


def _brought(operation: str, terms: list[str]) -> Iterator[str]:
    """The terms that an operation makes of the sum of some terms."""
    if operation == IDENTITY:
        yield from terms
    elif operation == _AVERAGE:
        yield from (f"{operation}({term})" for term in terms)
    elif operation != ZERO and terms:
        yield f"{operation}({'+'.join(terms)})"

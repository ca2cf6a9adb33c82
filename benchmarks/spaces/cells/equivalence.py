"""Which NAS-Bench-201 cells are one: those of a class have the same parameters, and compute the same function."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, LAST_NODE, ZERO
from nasbench.benchmarks.spaces.cells.stages import pruned
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS

_AVERAGE = "avg_pool_3x3"


def expression(operations: Sequence[str]) -> str:
    """What a cell computes of its input x, as a sum of terms; empty if no path leads through it.

    The value of a node is a multiset of terms: an identity passes the terms of its source on, `none` adds nothing, and
    any other operation on nothing is nothing. Average pooling is linear (its borders are not counted), so the pooling
    of a sum is the sum of poolings. A convolution has parameters of its own, so it has a number among those that are
    written alike: one that arrives twice (#0, #0) is not the sum of two (#0, #1). Of all numberings the first counts.
    """
    alive = pruned(operations)
    groups: dict[str, list[int]] = {}
    for edge, text in _terms(alive, {})[1].items():
        groups.setdefault(text, []).append(edge)
    numberings = itertools.product(*map(itertools.permutations, groups.values()))
    numbers = ({edge: f"#{i}" for group in numbering for i, edge in enumerate(group)} for numbering in numberings)
    return min(_terms(alive, numbered)[0] for numbered in numbers)


def canonical(operations: Sequence[str]) -> tuple[str, ...]:
    """The first cell of the same class, in the order of NAS-Bench-201: no other of its class has fewer operations.

    Networks of both, trained with parameters drawn alike, have scores that are equal in distribution. Their bits differ
    (sums are added up in another order), and so does their latency. It holds for networks that do not build dead
    operations, as ours: in the official table a convolution of a zero leaves the shift of its normalisation.
    """
    return _firsts()[expression(operations)]


@cache
def _firsts() -> dict[str, tuple[str, ...]]:
    """The first cell of each class: 5,043 classes that are alive, and the dead one."""
    firsts: dict[str, tuple[str, ...]] = {}
    for operations in itertools.product(OPERATIONS, repeat=len(EDGES)):
        firsts.setdefault(expression(operations), operations)
    return firsts


def _terms(operations: Sequence[str], numbers: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """The value of the last node, and by edge the terms that are made by operations with parameters.

    Args:
        numbers: what is written behind an operation's name, by edge.
    """
    nodes: list[list[str]] = [["x"], [], [], []]
    made: dict[int, str] = {}
    for edge, ((source, target), operation) in enumerate(zip(EDGES, operations, strict=True)):
        terms = sorted(nodes[source])  # complete, for edges are sorted by target
        if operation == IDENTITY:
            nodes[target] += terms
        elif operation == _AVERAGE:
            nodes[target] += [f"{operation}({term})" for term in terms]
        elif operation != ZERO and terms:
            made[edge] = f"{operation}{numbers.get(edge, '')}({'+'.join(terms)})"
            nodes[target].append(made[edge])
    return "+".join(sorted(nodes[LAST_NODE])), made

"""Equivalence of NAS-Bench-201 cells: equivalent cells have the same parameters and compute the same function."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache

from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, LAST_NODE, ZERO
from nasbench.benchmarks.spaces.cells.stages import pruned
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS

_AVERAGE = "avg_pool_3x3"


def expression(operations: Sequence[str]) -> str:
    """The function that a cell computes of its input x, as a sum of terms; empty if the cell has no path.

    The value of a node is a multiset of terms. An identity passes on the terms of its source, `none` adds nothing, and
    any operation on an empty node is empty. Average pooling is linear (padding is not counted), so the pooling of a sum
    is the sum of poolings. Each convolution has its own parameters, so convolutions with equal texts are numbered: one
    convolution that arrives twice (#0, #0) is not the sum of two (#0, #1). The first text over all numberings counts.
    """
    alive = pruned(operations)
    groups: dict[str, list[int]] = {}
    for edge, text in _terms(alive, {})[1].items():
        groups.setdefault(text, []).append(edge)
    numberings = itertools.product(*map(itertools.permutations, groups.values()))
    numbers = ({edge: f"#{i}" for group in numbering for i, edge in enumerate(group)} for numbering in numberings)
    return min(_terms(alive, numbered)[0] for numbered in numbers)


def canonical(operations: Sequence[str]) -> tuple[str, ...]:
    """The first equivalent cell in the order of NAS-Bench-201; no equivalent cell has fewer operations.

    The scores of both cells are equal in distribution when trained. Their bits differ (the order of sums differs), and
    so does their latency. This holds for networks without their dead operations, as ours; in the official table, a
    convolution of a zero still adds the shift of its normalisation.
    """
    return _firsts()[expression(operations)]


@cache
def _firsts() -> dict[str, tuple[str, ...]]:
    """The first cell of each equivalence class: 5,043 classes with a path, and one without."""
    firsts: dict[str, tuple[str, ...]] = {}
    for operations in itertools.product(OPERATIONS, repeat=len(EDGES)):
        firsts.setdefault(expression(operations), operations)
    return firsts


def _terms(operations: Sequence[str], numbers: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """The value of the last node, and the term of each operation with parameters, by edge.

    Args:
        numbers: suffixes of the operations' names, by edge.
    """
    nodes: list[list[str]] = [["x"], [], [], []]
    made: dict[int, str] = {}
    for edge, ((source, target), operation) in enumerate(zip(EDGES, operations, strict=True)):
        terms = sorted(nodes[source])  # complete, because edges are sorted by target
        if operation == IDENTITY:
            nodes[target] += terms
        elif operation == _AVERAGE:
            nodes[target] += [f"{operation}({term})" for term in terms]
        elif operation != ZERO and terms:
            made[edge] = f"{operation}{numbers.get(edge, '')}({'+'.join(terms)})"
            nodes[target].append(made[edge])
    return "+".join(sorted(nodes[LAST_NODE])), made

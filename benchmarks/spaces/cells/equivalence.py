"""Equivalence of NAS-Bench-201 cells: equivalent cells have the same parameters and compute the same function."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, LAST_NODE, ZERO
from nasbench.benchmarks.spaces.cells.stages import pruned
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS

_AVERAGE = "avg_pool_3x3"
_Place: TypeAlias = tuple[int, int]
"""An operation in a chain of cells: the number of its cell, and its edge."""


def expression(operations: Sequence[str], depth: int = 1) -> str:
    """The function that `depth` equal cells compute of their input x, as a sum of terms; empty if they have no path.

    The value of a node is a multiset of terms. An identity passes on the terms of its source, `none` adds nothing, and
    any operation on an empty node is empty. Average pooling is linear (padding is not counted), so the pooling of a sum
    is the sum of poolings. Each convolution has its own parameters, so convolutions with equal texts are numbered: one
    convolution that arrives twice (#0, #0) is not the sum of two (#0, #1). The first text over all numberings counts.
    """
    alive = pruned(operations)
    groups: dict[str, list[_Place]] = {}
    for place, text in _terms(alive, depth, {})[1].items():
        groups.setdefault(text, []).append(place)
    numberings = itertools.product(*map(itertools.permutations, groups.values()))
    numbers = ({place: f"#{i}" for group in numbering for i, place in enumerate(group)} for numbering in numberings)
    return min(_terms(alive, depth, numbered)[0] for numbered in numbers)


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


def _terms(operations: Sequence[str], depth: int, numbers: Mapping[_Place, str]) -> tuple[str, dict[_Place, str]]:
    """The value of the last node of the last cell, and the term of each operation with parameters, by its place.

    Args:
        numbers: suffixes of the operations' names, by place.
    """
    value, made = ["x"], dict[_Place, str]()
    for number in range(depth):
        nodes: list[list[str]] = [value, [], [], []]
        for edge, ((source, target), operation) in enumerate(zip(EDGES, operations, strict=True)):
            terms, place = sorted(nodes[source]), (number, edge)  # complete, because edges are sorted by target
            if operation == IDENTITY:
                nodes[target] += terms
            elif operation == _AVERAGE:
                nodes[target] += [f"{operation}({term})" for term in terms]
            elif operation != ZERO and terms:
                made[place] = f"{operation}{numbers.get(place, '')}({'+'.join(terms)})"
                nodes[target].append(made[place])
        value = nodes[LAST_NODE]
    return "+".join(sorted(value)), made

"""Cells of NAS-Bench-101, identified by the authors' hash."""

from __future__ import annotations

import hashlib
import random

import numpy as np

from nasbench.benchmarks.spaces.nasbench101 import EDGES, OPERATIONS, ListedCells, Point, compact, matrix_of, pruned
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES

# The first cell of the official file (its readme's hash, computed here with the authors' rule from this matrix).
MATRIX = "0100110001000000010010000010000001000000010000000"
NAMES = "input,conv3x3-bn-relu,maxpool3x3,conv3x3-bn-relu,conv3x3-bn-relu,conv1x1-bn-relu,output"
_NUMBERS = {"input": -1, "output": -2} | {name: k for k, name in enumerate(OPERATIONS)}


def hashed(matrix: str, operations: list[str]) -> str:
    """The authors' hash of a cell without dead vertices (nasbench/lib/graph_util.py), from its description."""
    n = len(operations)
    into = [[u for u in range(n) if matrix[u * n + v] == "1"] for v in range(n)]
    out = [[w for w in range(n) if matrix[v * n + w] == "1"] for v in range(n)]
    found = [md5(str((len(out[v]), len(into[v]), _NUMBERS[operations[v]]))) for v in range(n)]
    for _ in range(n):
        parts = [
            ["".join(sorted(found[u] for u in into[v])), "".join(sorted(found[w] for w in out[v])), found[v]]
            for v in range(n)
        ]
        found = [md5("|".join(part)) for part in parts]
    return md5(str(sorted(found)))


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def any_cell(rng: random.Random) -> Point:
    bits = [int(rng.random() < 0.4) for _ in EDGES]
    return (*bits, *(rng.randrange(3) for _ in range(5)))


def some_cells(count: int, seed: int = 0) -> list[Point]:
    """Cells of at most nine edges of which no two are the same, by the authors' hash."""
    rng = random.Random(seed)
    found: dict[str, Point] = {}
    while len(found) < count:
        cell = any_cell(rng)
        alive = pruned(cell)
        if alive is not None and sum(alive[: len(EDGES)]) <= MOST_EDGES:
            found.setdefault(hashed(*matrix_of(compact(cell))), compact(cell))
    return sorted(found.values())


SPACE = ListedCells(np.array(some_cells(300), np.int8))

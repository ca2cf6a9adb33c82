"""Cells of NAS-Bench-101, identified by the authors' hash."""

from __future__ import annotations

import random

import numpy as np

from nasbench.benchmarks.spaces.nasbench101 import EDGES, ListedCells, Point, compact, hashed, matrix_of, pruned
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES

# The first cell of the official file (its readme's hash, computed here with the authors' rule from this matrix).
MATRIX = "0100110001000000010010000010000001000000010000000"
NAMES = "input,conv3x3-bn-relu,maxpool3x3,conv3x3-bn-relu,conv3x3-bn-relu,conv1x1-bn-relu,output"


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

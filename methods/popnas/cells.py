"""Cells of blocks: the next ones, which are equal, and what a predictor sees of one (POPNAS)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, permutations
from math import fsum

from nasbench.benchmarks.spaces.blocks import Block, Cell


def blocks_of(number: int, lookbacks: int, operators: int) -> list[Block]:
    """All blocks that can be the `number`-th (from 1) of a cell, each without its mirror image.

    m(m + 1) / 2 of them, m = (lookbacks + number - 1) operators.
    """
    halves = [(source, operator) for source in range(-lookbacks, number - 1) for operator in range(operators)]
    return [(first, second) for k, first in enumerate(halves) for second in halves[k:]]


def canonical(cell: Cell) -> Cell:
    """The same for cells that are the same network: blocks in another order, or mirrored.

    The smallest of all orders in which each block comes after those that it reads. Two equal blocks of which one is
    read twice are not the same as both read once.
    """
    found = []
    for order in permutations(range(len(cell))):
        place = {old: new for new, old in enumerate(order)}
        if all(source < 0 or place[source] < place[old] for old in order for source, _ in cell[old]):
            moved = [[(place.get(source, source), operator) for source, operator in cell[old]] for old in order]
            found.append(tuple((min(halves), max(halves)) for halves in moved))
    return min(found)


def time_features(cell: Cell, weights: Sequence[float], cells: int) -> list[float]:
    """The nine numbers from which POPNASv3's code predicts the seconds of a training.

    Blocks; cells that are built; the weight of all operators; whether several lookbacks are read; the share of the
    weight on lookbacks; inputs that are blocks; depth in blocks; blocks that are put side by side (0 if one is left);
    the largest weight upstream of one operator of these, itself included, as a share.

    Args:
        cell: the cell.
        weights: seconds that a one-block cell of each operator takes beyond an empty one, the largest 1.
        cells: number of cells of a network in which each reads the one before it.
    """
    inputs = [source for block in cell for source, _ in block]
    lookbacks = {source for source in inputs if source < 0}
    own = [[weights[operator] for _, operator in block] for block in cell]
    total = fsum(chain(*own)) or 1.0
    depth: list[int] = []
    above: list[frozenset[int]] = []  # each block with all it reads
    for number, block in enumerate(cell):
        read = [source for source, _ in block if source >= 0]
        depth.append(1 + max((depth[source] for source in read), default=0))
        above.append(frozenset([number]).union(*(above[source] for source in read)))
    ends = [number for number in range(len(cell)) if number not in inputs]
    upstream = [
        weights[operator] + (fsum(chain(*(own[block] for block in above[source]))) if source >= 0 else 0.0)
        for number in ends
        for source, operator in cell[number]
    ]
    on_lookbacks = fsum(weights[operator] for block in cell for source, operator in block if source < 0)
    return [
        float(len(cell)),
        float(-(-cells // -max(lookbacks))),
        fsum(chain(*own)),
        float(len(lookbacks) > 1),
        on_lookbacks / total,
        float(sum(source >= 0 for source in inputs)),
        float(max(depth)),
        float(len(ends)) if len(ends) > 1 else 0.0,
        max(upstream) / total,
    ]


def counts(cell: Cell, lookbacks: int, operators: int) -> list[float]:
    """How often each operator stands on each lookback, and on blocks: (lookbacks + 1) x operators numbers."""
    found = [0.0] * ((lookbacks + 1) * operators)
    for block in cell:
        for source, operator in block:
            found[(-source if source < 0 else 0) * operators + operator] += 1
    return found

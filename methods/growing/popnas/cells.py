"""Cells of blocks (POPNAS): possible blocks, a canonical form, and features for predictors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, permutations
from math import fsum

from nasbench.benchmarks.spaces.blocks import Block, Cell


def blocks_of(number: int, lookbacks: int, operators: int) -> list[Block]:
    """All blocks that can be the `number`-th (from 1) of a cell, without mirror images.

    There are m(m + 1) / 2 blocks, where m = (lookbacks + number - 1) operators.
    """
    halves = [(source, operator) for source in range(-lookbacks, number - 1) for operator in range(operators)]
    return [(first, second) for k, first in enumerate(halves) for second in halves[k:]]


def canonical(cell: Cell) -> Cell:
    """The canonical form of a cell, equal for cells that are the same network up to order and mirroring of blocks.

    It is the smallest of all orders in which each block comes after the blocks that it reads. Cells that read one of
    two equal blocks twice, and cells that read each of them once, are different.
    """
    orders = []
    for order in permutations(range(len(cell))):
        place = {old: new for new, old in enumerate(order)}
        if all(source < 0 or place[source] < place[old] for old in order for source, _ in cell[old]):
            moved = [[(place.get(source, source), operator) for source, operator in cell[old]] for old in order]
            orders.append(tuple((min(halves), max(halves)) for halves in moved))
    return min(orders)


def time_features(cell: Cell, weights: Sequence[float], cells: int) -> list[float]:
    """The nine numbers from which POPNASv3's code predicts the training time in seconds.

    Number of blocks; cells that are built; the weight of all operators; whether several lookbacks are read; the share
    of the weight on lookbacks; inputs that are blocks; depth in blocks; blocks that are concatenated (0 if there is
    one); the largest share of the weight upstream of one of their operators, itself included.

    Args:
        cell: the cell.
        weights: seconds of a one-block cell of each operator beyond an empty cell, scaled so that the largest is 1.
        cells: number of cells of a network in which each cell reads the previous one.
    """
    inputs = [source for block in cell for source, _ in block]
    lookbacks = {source for source in inputs if source < 0}
    block_weights = [[weights[operator] for _, operator in block] for block in cell]
    total = fsum(chain(*block_weights)) or 1.0
    depth: list[int] = []
    above: list[frozenset[int]] = []  # each block with all blocks that it depends on
    for number, block in enumerate(cell):
        read = [source for source, _ in block if source >= 0]
        depth.append(1 + max((depth[source] for source in read), default=0))
        above.append(frozenset([number]).union(*(above[source] for source in read)))
    ends = [number for number in range(len(cell)) if number not in inputs]
    upstream = [
        weights[operator] + (fsum(chain(*(block_weights[block] for block in above[source]))) if source >= 0 else 0.0)
        for number in ends
        for source, operator in cell[number]
    ]
    on_lookbacks = fsum(weights[operator] for block in cell for source, operator in block if source < 0)
    return [
        float(len(cell)),
        float(-(-cells // -max(lookbacks))),
        fsum(chain(*block_weights)),
        float(len(lookbacks) > 1),
        on_lookbacks / total,
        float(sum(source >= 0 for source in inputs)),
        float(max(depth)),
        float(len(ends)) if len(ends) > 1 else 0.0,
        max(upstream) / total,
    ]


def counts(cell: Cell, lookbacks: int, operators: int) -> list[float]:
    """Number of uses of each operator on blocks and on each lookback: (lookbacks + 1) x operators numbers."""
    numbers = [0.0] * ((lookbacks + 1) * operators)
    for block in cell:
        for source, operator in block:
            numbers[(-source if source < 0 else 0) * operators + operator] += 1
    return numbers

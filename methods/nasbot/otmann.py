"""OTMANN: the distance of two networks as an optimal transport of their layers' masses (NASBOT, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.methods.nasbot.families import FAMILIES, NetworkFamily
from nasbench.methods.nasbot.paths import path_lengths
from nasbench.methods.nasbot.transport import basis_of, begin, improve, matched, reprice

NUS = (0.1, 0.25, 0.61, 1.5)
"""Weights of the structural penalty relative to the label penalty; the kernel uses all of them."""
_UNMATCHED = 1.0
"""The penalty of a unit of mass that is not matched."""
_MOST = 2 * _UNMATCHED
"""Matching a unit saves one penalty in each network, so layers are never matched at a higher cost than this."""

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Distance(NamedTuple):
    """The distance of two networks for several ν, each of shape (ν,)."""

    distance: Array
    normalised: Array
    """The distance divided by the mass of both networks, in [0, 1]."""


class Matching(NamedTuple):
    """The matching behind a distance, for one ν."""

    flow: Array
    """Matched mass of each pair of layers, shape (layers of the first network, layers of the second)."""
    labels: float
    """Sum of mass times label penalty."""
    structure: float
    """Sum of mass times structural penalty."""
    unmatched: float
    """Penalty of the unmatched mass."""


class Packed(NamedTuple):
    """Networks as arrays for compiled code, concatenated; layers that may be matched with each other form a block."""

    totals: Array
    """Mass of each network."""
    blocks: Numbers
    """First block of each network, and the end; a network whose input and output are not connected has no block."""
    kinds: Numbers
    """Kind of each block; blocks of the same kind may be matched."""
    starts: Numbers
    """First layer of each block, and the end."""
    numbers: Numbers
    """The label of each layer."""
    masses: Array
    """Mass of each layer."""
    paths: Array
    """Path lengths from the input and to the output, one column per group and type. The structural penalty of two
    layers is the mean absolute difference of their rows."""


@dataclass(frozen=True)
class Encoded:
    """A network prepared for OTMANN, so that it can be compared often. Layers that may be matched are adjacent."""

    graph: LayerGraph
    family: NetworkFamily

    @cached_property
    def order(self) -> Numbers:
        """The layers, ordered by kind."""
        return self.family.order(self.graph)

    @cached_property
    def layers(self) -> Packed:
        """All layers, in this order."""
        order = self.order
        lengths = np.hstack(path_lengths(self.graph, self.family.memberships(self.graph)))
        numbers, masses = self.family.numbers(self.graph)[order], self.family.masses(self.graph)[order]
        return self._packed(numbers, masses, lengths[order])

    @cached_property
    def merged(self) -> Packed:
        """As `layers`, but layers with equal penalties (same label, in parallel) are merged and their masses added."""
        layers = self.layers
        first: dict[tuple[int, bytes], int] = {}
        keys = [(number, row.tobytes()) for number, row in zip(layers.numbers.tolist(), layers.paths, strict=True)]
        which = [first.setdefault(key, len(first)) for key in keys]
        if len(first) == len(which):
            return layers
        kept = np.unique(which, return_index=True)[1]
        return self._packed(
            layers.numbers[kept], np.bincount(which, layers.masses).astype(np.float64), layers.paths[kept]
        )

    @property
    def mass(self) -> float:
        """Total mass of the layers."""
        return float(self.layers.totals[0])

    def _packed(self, numbers: Numbers, masses: Array, paths: Array) -> Packed:
        kinds = self.family.kinds(numbers)
        starts = np.flatnonzero(np.diff(kinds, prepend=-1)) if self.graph.edges else np.empty(0, np.int64)
        ends = np.append(starts, len(kinds))
        return Packed(
            np.array([masses.sum()]), np.array([0, len(starts)]), kinds[starts], ends, numbers, masses,
            np.ascontiguousarray(paths),
        )  # fmt: skip


def packed(networks: Sequence[Encoded]) -> Packed:
    """Several networks of one family, concatenated."""
    merged = [network.merged for network in networks]
    layers = np.cumsum([0, *(len(part.numbers) for part in merged)])
    return Packed(
        np.concatenate([part.totals for part in merged]),
        np.cumsum([0, *(len(part.kinds) for part in merged)]),
        np.concatenate([part.kinds for part in merged]),
        np.concatenate([*(part.starts[:-1] + first for part, first in zip(merged, layers, strict=False)), layers[-1:]]),
        np.concatenate([part.numbers for part in merged]),
        np.concatenate([part.masses for part in merged]),
        np.concatenate([part.paths for part in merged]),
    )


def distance(first: Encoded, second: Encoded, nus: Sequence[float] = NUS) -> Distance:
    """OTMANN's distance (equation 3) of two networks of one family, for several ν at once."""
    plain, normalised = to_all(first, second.merged, nus)
    return Distance(plain[:, 0], normalised[:, 0])


def to_all(network: Encoded, others: Packed, nus: Sequence[float] = NUS) -> Array:
    """Distances of a network to many others, shape (2, ν, others): distances, then normalised ones."""
    weights = np.array(nus)
    rising = np.argsort(-weights)  # fewest matches first: the basis of one ν is extended for the next
    plain = (
        network.merged.totals[0]
        + others.totals
        - _saved(network.merged, others, weights, rising, network.family.mismatch)
    )
    plain[plain < 0] = 0.0  # rounding errors
    if not network.graph.edges:
        plain[:, others.blocks[:-1] == others.blocks[1:]] = 0.0
    return np.stack([plain, plain / (network.merged.totals[0] + others.totals)])


def distances(networks: Sequence[Encoded], nus: Sequence[float] = NUS) -> Array:
    """Distances of all pairs, shape (2, ν, networks, networks): distances, then normalised ones."""
    matrices = np.zeros((2, len(nus), len(networks), len(networks)))
    for i, network in enumerate(networks[1:], 1):
        matrices[:, :, i, :i] = matrices[:, :, :i, i] = to_all(network, packed(networks[:i]), nus)
    return matrices


def matching(first: Encoded, second: Encoded, nu: float) -> Matching:
    """The matching behind a distance, and its three penalties."""
    flow, labels, structure = _matching(first.layers, second.layers, nu, first.family.mismatch)
    unmatched = _UNMATCHED * (first.mass + second.mass - 2 * flow.sum())
    both_empty = not first.graph.edges and not second.graph.edges
    ordered = np.zeros_like(flow)
    ordered[np.ix_(first.order, second.order)] = flow
    return Matching(ordered, labels, structure, 0.0 if both_empty else unmatched)


def compile_ahead() -> None:
    """Compiles the distance into numba's cache: some seconds, once per installation."""
    labels = ("ip", "conv3", "conv5", "op")
    units = (None, 8, 8, None)
    chain = LayerGraph(labels, units, frozenset({(0, 1), (1, 2), (2, 3)}))
    distance(Encoded(chain, FAMILIES["cnn"]), Encoded(chain, FAMILIES["cnn"]))


@njit(cache=True)
def _saved(network: Packed, others: Packed, nus: Array, rising: Numbers, mismatch: Array) -> Array:
    """The reduction of the penalty by matching, relative to no matching, shape (ν, others)."""
    most_rows, most_columns = _widest(network.starts), _widest(others.starts)
    labels, structure = np.empty((most_rows, most_columns)), np.empty((most_rows, most_columns))
    gains = np.empty((most_rows, most_columns))
    links, state = basis_of(most_rows + most_columns)
    saved = np.zeros((len(nus), len(others.totals)))
    for other in range(len(others.totals)):
        for block in range(len(network.kinds)):
            for candidate in range(others.blocks[other], others.blocks[other + 1]):
                if others.kinds[candidate] != network.kinds[block]:
                    continue
                a, b = network.starts[block], others.starts[candidate]
                n, m = network.starts[block + 1] - a, others.starts[candidate + 1] - b
                _penalties(network, a, n, others, b, m, mismatch, labels, structure)
                supply, demand = network.masses[a : a + n], others.masses[b : b + m]
                if n == 1 and m == 1:
                    mass = min(supply[0], demand[0])
                    for k in range(len(nus)):
                        saved[k, other] += mass * max(_MOST - labels[0, 0] - nus[k] * structure[0, 0], 0.0)
                    continue
                for turn, k in enumerate(rising):
                    for i in range(n):
                        for j in range(m):
                            gains[i, j] = _MOST - labels[i, j] - nus[k] * structure[i, j]
                    if turn == 0:
                        begin(gains, supply, demand, links, state)
                    else:
                        reprice(gains, n, m, links, state)
                    saved[k, other] += improve(gains, n, m, links, state)
    return saved


@njit(cache=True)
def _matching(first: Packed, second: Packed, nu: float, mismatch: Array) -> tuple[Array, float, float]:
    """The flow between two networks, and its label and structural penalties."""
    flow = np.zeros((len(first.numbers), len(second.numbers)))
    label_cost = structure_cost = 0.0
    for block in range(len(first.kinds)):
        for candidate in range(len(second.kinds)):
            if second.kinds[candidate] != first.kinds[block]:
                continue
            a, b = first.starts[block], second.starts[candidate]
            n, m = first.starts[block + 1] - a, second.starts[candidate + 1] - b
            labels, structure = np.empty((n, m)), np.empty((n, m))
            _penalties(first, a, n, second, b, m, mismatch, labels, structure)
            links, state = basis_of(n + m)
            gains = _MOST - labels - nu * structure
            begin(gains, first.masses[a : a + n], second.masses[b : b + m], links, state)
            improve(gains, n, m, links, state)
            plan = matched(n, m, links, state)
            for i in range(n):
                for j in range(m):
                    if plan[i, j] > 0:  # the penalty of labels that never match is infinite
                        label_cost += plan[i, j] * labels[i, j]
                        structure_cost += plan[i, j] * nu * structure[i, j]
            flow[a : a + n, b : b + m] = plan
    return flow, label_cost, structure_cost


@njit(cache=True)
def _widest(starts: Numbers) -> int:
    """Number of layers of the largest block."""
    widest = 1
    for block in range(len(starts) - 1):
        widest = max(widest, starts[block + 1] - starts[block])
    return widest


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})  # sums of absolute differences in any order
def _penalties(
    first: Packed,
    a: int,
    n: int,
    second: Packed,
    b: int,
    m: int,
    mismatch: Array,
    labels: Array,
    structure: Array,
) -> None:
    """Writes the label and structural penalties of each pair of layers of two blocks into `labels` and `structure`."""
    columns = first.paths.shape[1]
    for i in range(n):
        for j in range(m):
            label, second_label = first.numbers[a + i], second.numbers[b + j]
            labels[i, j] = 0.0 if label == second_label else mismatch[label, second_label]
            total = 0.0
            for c in range(columns):
                total += abs(first.paths[a + i, c] - second.paths[b + j, c])
            structure[i, j] = total / columns

"""OTMANN: how far two networks are apart, as an optimal transport of their layers' masses (NASBOT, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.methods.nasbot.families import FAMILIES, Family
from nasbench.methods.nasbot.paths import path_lengths
from nasbench.methods.nasbot.transport import basis_of, begin, improve, matched, reprice

NUS = (0.1, 0.25, 0.61, 1.5)
"""Weights of the structural part beside the labels': the kernel uses them all."""
_UNMATCHED = 1.0
"""The penalty of a unit of mass that is not matched."""
_MOST = 2 * _UNMATCHED
"""Matching a unit saves a penalty in each network: what costs more is never matched."""

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Distance(NamedTuple):
    """Between two networks, for several ν: shape (ν,) each."""

    distance: Array
    normalised: Array
    """The same in shares of both networks' mass, in [0, 1]."""


class Matching(NamedTuple):
    """How a distance comes about, for one ν: mass times penalty, added up."""

    flow: Array
    """Mass of a layer of the one that is matched with a layer of the other, shape (layers, layers of the other)."""
    labels: float
    structure: float
    unmatched: float


class Packed(NamedTuple):
    """Networks as compiled code reads them: one after the other, layers that may be matched in one block."""

    totals: Array
    """Mass of each network."""
    blocks: Numbers
    """First block of each network, and the end; a network whose input and output are not connected has none."""
    kinds: Numbers
    """Of each block: blocks of the same kind may be matched."""
    starts: Numbers
    """First layer of each block, and the end."""
    numbers: Numbers
    """The label of each layer."""
    masses: Array
    paths: Array
    """Lengths from the input and to the output, a column each group and type: the structural penalty of two layers is
    their mean absolute difference."""


@dataclass(frozen=True)
class Encoded:
    """A network as OTMANN sees it; made once, compared often. Layers are ordered by what they may be matched with."""

    graph: LayerGraph
    family: Family

    @cached_property
    def order(self) -> Numbers:
        """The layers, those of a kind together."""
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
        """As `layers`, but those that no penalty tells apart (one label, in parallel) are one, with all their mass."""
        own = self.layers
        first: dict[tuple[int, bytes], int] = {}
        keys = [(number, row.tobytes()) for number, row in zip(own.numbers.tolist(), own.paths, strict=True)]
        which = [first.setdefault(key, len(first)) for key in keys]
        if len(first) == len(which):
            return own
        kept = np.unique(which, return_index=True)[1]
        return self._packed(own.numbers[kept], np.bincount(which, own.masses).astype(np.float64), own.paths[kept])

    @property
    def mass(self) -> float:
        """Mass of all layers."""
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
    """Several networks of one family together."""
    own = [network.merged for network in networks]
    layers = np.cumsum([0, *(len(one.numbers) for one in own)])
    return Packed(
        np.concatenate([one.totals for one in own]),
        np.cumsum([0, *(len(one.kinds) for one in own)]),
        np.concatenate([one.kinds for one in own]),
        np.concatenate([*(one.starts[:-1] + first for one, first in zip(own, layers, strict=False)), layers[-1:]]),
        np.concatenate([one.numbers for one in own]),
        np.concatenate([one.masses for one in own]),
        np.concatenate([one.paths for one in own]),
    )


def distance(one: Encoded, other: Encoded, nus: Sequence[float] = NUS) -> Distance:
    """OTMANN's distance (equation 3) for several ν at once. Both networks are of one family."""
    plain, normalised = to_all(one, other.merged, nus)
    return Distance(plain[:, 0], normalised[:, 0])


def to_all(one: Encoded, others: Packed, nus: Sequence[float] = NUS) -> Array:
    """Distances of a network to many, shape (2, ν, others): distances, normalised ones."""
    weights = np.array(nus)
    rising = np.argsort(-weights)  # fewest matches first: the basis grows from one ν to the next
    plain = one.merged.totals[0] + others.totals - _saved(one.merged, others, weights, rising, one.family.mismatch)
    plain[plain < 0] = 0.0  # by rounding
    if not one.graph.edges:
        plain[:, others.blocks[:-1] == others.blocks[1:]] = 0.0
    return np.stack([plain, plain / (one.merged.totals[0] + others.totals)])


def distances(
    networks: Sequence[Encoded], others: Sequence[Encoded] | None = None, nus: Sequence[float] = NUS
) -> Array:
    """Whole matrices, shape (2, ν, networks, others): distances, normalised ones; `others` are the same by default."""
    if others is not None:
        columns = packed(others)
        return np.stack([to_all(one, columns, nus) for one in networks], axis=2)
    found = np.zeros((2, len(nus), len(networks), len(networks)))
    for i, one in enumerate(networks[1:], 1):
        found[:, :, i, :i] = found[:, :, :i, i] = to_all(one, packed(networks[:i]), nus)
    return found


def matching(one: Encoded, other: Encoded, nu: float) -> Matching:
    """Which layers a distance matches, and its three penalties."""
    flow, labels, structure = _matching(one.layers, other.layers, nu, one.family.mismatch)
    unmatched = _UNMATCHED * (one.mass + other.mass - 2 * flow.sum())
    both = not one.graph.edges and not other.graph.edges
    found = np.zeros_like(flow)
    found[np.ix_(one.order, other.order)] = flow
    return Matching(found, labels, structure, 0.0 if both else unmatched)


def compile_ahead() -> None:
    """Compiles what a distance calls, into numba's cache: some seconds, once on a machine."""
    labels = ("ip", "conv3", "conv5", "op")
    units = (None, 8, 8, None)
    chain = LayerGraph(labels, units, frozenset({(0, 1), (1, 2), (2, 3)}))
    distance(Encoded(chain, FAMILIES["cnn"]), Encoded(chain, FAMILIES["cnn"]))


@njit(cache=True)
def _saved(one: Packed, others: Packed, nus: Array, rising: Numbers, mismatch: Array) -> Array:
    """What matching saves of the penalty for matching nothing, shape (ν, others)."""
    most_rows, most_columns = _widest(one.starts), _widest(others.starts)
    labels, structure = np.empty((most_rows, most_columns)), np.empty((most_rows, most_columns))
    gains = np.empty((most_rows, most_columns))
    links, state = basis_of(most_rows + most_columns)
    found = np.zeros((len(nus), len(others.totals)))
    for other in range(len(others.totals)):
        for block in range(len(one.kinds)):
            for candidate in range(others.blocks[other], others.blocks[other + 1]):
                if others.kinds[candidate] != one.kinds[block]:
                    continue
                a, b = one.starts[block], others.starts[candidate]
                n, m = one.starts[block + 1] - a, others.starts[candidate + 1] - b
                _penalties(one, a, n, others, b, m, mismatch, labels, structure)
                supply, demand = one.masses[a : a + n], others.masses[b : b + m]
                if n == 1 and m == 1:
                    mass = min(supply[0], demand[0])
                    for k in range(len(nus)):
                        found[k, other] += mass * max(_MOST - labels[0, 0] - nus[k] * structure[0, 0], 0.0)
                    continue
                for turn, k in enumerate(rising):
                    for i in range(n):
                        for j in range(m):
                            gains[i, j] = _MOST - labels[i, j] - nus[k] * structure[i, j]
                    if turn == 0:
                        begin(gains, supply, demand, links, state)
                    else:
                        reprice(gains, n, m, links, state)
                    found[k, other] += improve(gains, n, m, links, state)
    return found


@njit(cache=True)
def _matching(one: Packed, other: Packed, nu: float, mismatch: Array) -> tuple[Array, float, float]:
    """The flow between two networks, and what its labels and its structure cost."""
    flow = np.zeros((len(one.numbers), len(other.numbers)))
    wrong = apart = 0.0
    for block in range(len(one.kinds)):
        for candidate in range(len(other.kinds)):
            if other.kinds[candidate] != one.kinds[block]:
                continue
            a, b = one.starts[block], other.starts[candidate]
            n, m = one.starts[block + 1] - a, other.starts[candidate + 1] - b
            labels, structure = np.empty((n, m)), np.empty((n, m))
            _penalties(one, a, n, other, b, m, mismatch, labels, structure)
            links, state = basis_of(n + m)
            gains = _MOST - labels - nu * structure
            begin(gains, one.masses[a : a + n], other.masses[b : b + m], links, state)
            improve(gains, n, m, links, state)
            plan = matched(n, m, links, state)
            for i in range(n):
                for j in range(m):
                    if plan[i, j] > 0:  # of labels that never match the penalty is infinite
                        wrong += plan[i, j] * labels[i, j]
                        apart += plan[i, j] * nu * structure[i, j]
            flow[a : a + n, b : b + m] = plan
    return flow, wrong, apart


@njit(cache=True)
def _widest(starts: Numbers) -> int:
    """Layers of the largest block."""
    found = 1
    for block in range(len(starts) - 1):
        found = max(found, starts[block + 1] - starts[block])
    return found


@njit(cache=True, fastmath={"reassoc", "nsz", "contract"})  # sums of absolute differences in any order
def _penalties(
    one: Packed, a: int, n: int, other: Packed, b: int, m: int, mismatch: Array, labels: Array, structure: Array
) -> None:
    """Of matching each layer of a block with each of another: for its label, and for where it stands."""
    columns = one.paths.shape[1]
    for i in range(n):
        for j in range(m):
            own, foreign = one.numbers[a + i], other.numbers[b + j]
            labels[i, j] = 0.0 if own == foreign else mismatch[own, foreign]
            total = 0.0
            for c in range(columns):
                total += abs(one.paths[a + i, c] - other.paths[b + j, c])
            structure[i, j] = total / columns

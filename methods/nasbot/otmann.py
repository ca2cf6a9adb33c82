"""OTMANN: how far two networks are apart, as an optimal transport of their layers' masses (NASBOT, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from ot.lp.emd_wrap import emd_c  # without the checks of `ot.emd`, which take longer than it

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.methods.nasbot.families import FAMILIES, Family
from nasbench.methods.nasbot.paths import path_lengths

NUS = (0.1, 0.25, 0.61, 1.5)
"""Weights of the structural part beside the labels': the kernel uses them all."""
_UNMATCHED = 1.0
"""The penalty of a unit of mass that is not matched."""
_MOST = 2 * _UNMATCHED
"""Matching a unit saves a penalty in each network: what costs more is never matched."""
_ITERATIONS = 1_000_000

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


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


class Layers(NamedTuple):
    """Of a network, those of a kind together."""

    numbers: NDArray[np.int64]
    """The label of each."""
    masses: Array
    paths: Array
    """Lengths from the input and to the output, a column each group and type: the structural penalty of two layers is
    their mean absolute difference."""
    blocks: dict[int, slice]
    """Where the layers of each kind stand."""


@dataclass(frozen=True)
class Encoded:
    """A network as OTMANN sees it; made once, compared often. Layers are ordered by what they may be matched with."""

    graph: LayerGraph
    family: Family

    @cached_property
    def is_dead(self) -> bool:
        """Whether nothing connects its input with its output."""
        return not self.graph.edges

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The layers, those of a kind together."""
        numbers = self.family.numbers(self.graph)
        found: NDArray[np.int64] = np.argsort(self.family.kinds[numbers], kind="stable")
        return found

    @cached_property
    def layers(self) -> Layers:
        """All of them, in this order."""
        order = self.order
        lengths = np.hstack(path_lengths(self.graph, self.family.memberships(self.graph)))
        numbers, masses = self.family.numbers(self.graph)[order], self.family.masses(self.graph)[order]
        return Layers(numbers, masses, np.ascontiguousarray(lengths[order]), self._blocks(numbers))

    @cached_property
    def merged(self) -> Layers:
        """As `layers`, but those that no penalty tells apart (one label, in parallel) are one, with all their mass."""
        numbers, masses, paths, _ = self.layers
        marks = np.column_stack([self.family.kinds[numbers], numbers, paths])
        _, first, which = np.unique(marks, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(numbers):
            return self.layers
        together = np.zeros(len(first))
        np.add.at(together, which, masses)
        return Layers(numbers[first], together, np.ascontiguousarray(paths[first]), self._blocks(numbers[first]))

    @cached_property
    def mass(self) -> float:
        """Of all layers."""
        return float(self.layers.masses.sum())

    def _blocks(self, numbers: NDArray[np.int64]) -> dict[int, slice]:
        kinds = self.family.kinds[numbers]
        starts = np.flatnonzero(np.diff(kinds, prepend=-1)).tolist()
        return {int(kinds[a]): slice(a, b) for a, b in zip(starts, [*starts[1:], len(kinds)], strict=True)}


def distance(one: Encoded, other: Encoded, nus: Sequence[float] = NUS) -> Distance:
    """OTMANN's distance (equation 3) for several ν at once. Both networks are of one family."""
    whole = one.mass + other.mass
    if one.is_dead or other.is_dead:
        found = np.full(len(nus), 0.0 if one.is_dead and other.is_dead else whole)
        return Distance(found, found / whole)
    weights, a, b = np.array(nus), one.merged, other.merged
    found = np.full(len(nus), whole)
    for kind, rows in a.blocks.items():
        columns = b.blocks.get(kind)
        if columns is None:
            continue  # nothing to match with
        masses = a.masses[rows], b.masses[columns]
        costs = _penalties(a.paths[rows], b.paths[columns], a.numbers[rows], b.numbers[columns], one.family.mismatch)
        if min(costs[0].shape) == 1:
            found -= _greedy(*costs, weights, *masses)
            continue
        for i, nu in enumerate(nus):
            saving, supply, demand, _, _ = _useful(*costs, nu, *masses)
            if len(saving):
                plan = emd_c(supply, demand, _MOST - saving, _ITERATIONS, 1)[0]
                found[i] -= np.vdot(plan, saving)
    return Distance(found, found / whole)


def matching(one: Encoded, other: Encoded, nu: float) -> Matching:
    """Which layers a distance matches, and its three penalties."""
    a, b = one.layers, other.layers
    flow = np.zeros((len(a.numbers), len(b.numbers)))
    labels = structure = 0.0
    for kind, rows in a.blocks.items():
        columns = b.blocks.get(kind)
        if columns is None or one.is_dead or other.is_dead:
            continue
        costs = _penalties(a.paths[rows], b.paths[columns], a.numbers[rows], b.numbers[columns], one.family.mismatch)
        saving, supply, demand, some, others = _useful(*costs, nu, a.masses[rows], b.masses[columns])
        plan = np.zeros(costs[0].shape)
        if len(saving):
            plan[np.ix_(some, others)] = emd_c(supply, demand, _MOST - saving, _ITERATIONS, 1)[0][:-1, :-1]
        plan[costs[0] + nu * costs[1] >= _MOST] = 0.0  # saves nothing: left unmatched
        matched = plan > 0  # of labels that never match the penalty is infinite
        labels += float((plan[matched] * costs[0][matched]).sum())
        structure += nu * float((plan[matched] * costs[1][matched]).sum())
        flow[np.ix_(one.order[rows], other.order[columns])] = plan
    unmatched = _UNMATCHED * (one.mass + other.mass - 2 * flow.sum())
    both = one.is_dead and other.is_dead
    return Matching(flow, labels, structure, 0.0 if both else unmatched)


def distances(
    networks: Sequence[Encoded], others: Sequence[Encoded] | None = None, nus: Sequence[float] = NUS
) -> Array:
    """Whole matrices, shape (2, ν, networks, others): distances, normalised ones; `others` are the same by default."""
    same = others is None
    columns = networks if others is None else others
    found = np.zeros((2, len(nus), len(networks), len(columns)))
    for i, one in enumerate(networks):
        for j in range(i + 1 if same else 0, len(columns)):
            found[:, :, i, j] = distance(one, columns[j], nus)
            if same:
                found[:, :, j, i] = found[:, :, i, j]
    return found


def compile_ahead() -> None:
    """Compiles what a distance calls, into numba's cache: some seconds, once on a machine."""
    labels = ("ip", "conv3", "conv5", "op")
    units = (None, 8, 8, None)
    chain = LayerGraph(labels, units, frozenset({(0, 1), (1, 2), (2, 3)}))
    distance(Encoded(chain, FAMILIES["cnn"]), Encoded(chain, FAMILIES["cnn"]))


@njit(cache=True)
def _greedy(labels: Array, structure: Array, nus: Array, supply: Array, demand: Array) -> Array:
    """What one layer saves by being matched with several, the best first, for each ν."""
    mass = supply[0] if len(supply) == 1 else demand[0]
    others = demand if len(supply) == 1 else supply
    wrong, apart = labels.ravel(), structure.ravel()
    found = np.zeros(len(nus))
    for i in range(len(nus)):
        saving = _MOST - wrong - nus[i] * apart
        left = mass
        for k in np.argsort(-saving):
            if left <= 0 or saving[k] <= 0:
                break
            taken = min(left, others[k])
            found[i] += taken * saving[k]
            left -= taken
    return found


@njit(cache=True)
def _useful(
    labels: Array, structure: Array, nu: float, supply: Array, demand: Array
) -> tuple[Array, Array, Array, Mask, Mask]:
    """The transport problem of a block: what matching saves, and the masses, each with a place more for the unmatched.

    Layers that no match saves anything for are left out, and which are in it follows; empty arrays where none is.
    """
    rows, columns = np.zeros(len(supply), np.bool_), np.zeros(len(demand), np.bool_)
    saving = np.zeros(labels.shape)
    for i in range(len(supply)):
        for j in range(len(demand)):
            saving[i, j] = max(_MOST - labels[i, j] - nu * structure[i, j], 0.0)
            if saving[i, j] > 0:
                rows[i] = columns[j] = True
    n, m = rows.sum(), columns.sum()
    if n == 0:
        return np.zeros((0, 0)), np.zeros(0), np.zeros(0), rows, columns
    found, a, b = np.zeros((n + 1, m + 1)), np.zeros(n + 1), np.zeros(m + 1)
    r = 0
    for i in range(len(supply)):
        if rows[i]:
            c = 0
            for j in range(len(demand)):
                if columns[j]:
                    found[r, c] = saving[i, j]
                    b[c] = demand[j]
                    c += 1
            a[r] = supply[i]
            r += 1
    a[n], b[m] = b.sum(), a.sum()
    return found, a, b, rows, columns


@njit(cache=True)
def _penalties(
    paths: Array, others: Array, labels: NDArray[np.int64], other_labels: NDArray[np.int64], mismatch: Array
) -> tuple[Array, Array]:
    """Of matching each layer with each other: for its label, and for where it stands."""
    wrong = np.empty((len(paths), len(others)))
    apart = np.empty((len(paths), len(others)))
    columns = paths.shape[1]
    for i in range(len(paths)):
        for j in range(len(others)):
            wrong[i, j] = mismatch[labels[i], other_labels[j]]
            total = 0.0
            for c in range(columns):
                total += abs(paths[i, c] - others[j, c])
            apart[i, j] = total / columns
    return wrong, apart

"""OTMANN's parameters for each kind of network: mismatches of labels, groups of layers, and masses.

Values are those of the authors' code (kirthevasank/nasbot @3c745dc). The paper's values differ in the mass of `fc`
layers and in the mismatch of pools (NASBOT, table 1 and figure 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import CONVOLUTIONS, LABELS, POOLS, RECTIFIERS, SIGMOIDS

DECISIONS = ("softmax", "linear")

_CONVOLUTIONS, _POOLS, _DENSE = math.sqrt(2) / 10, 0.5, 0.1  # see `cnn`
_SIZES = range(1, 32)  # of kernels in programs
_FLOOR = 100.0  # the least mass of ip, op and the decision layers together


class Weighing(NamedTuple):
    """How much the parts of a network count; the values are those of the authors' code."""

    fc: float = _DENSE
    """Mass of a unit of a fully connected layer, relative to a convolution's (the paper: 1)."""
    share: float = 0.1
    """Mass of ip, of op and of the decision layers, as a share of that of all other layers (the paper's ζ)."""
    mismatch: float = 1.0
    """Factor of the cost of matching layers of different labels (the paper's M)."""


USUAL = Weighing()


@dataclass(frozen=True, eq=False)
class NetworkFamily:
    """A kind of networks that can be compared with each other."""

    name: str
    labels: tuple[str, ...]
    """The labels of `mismatch`, in its order; an open family may have others."""
    groups: tuple[frozenset[str], ...]
    """Groups of labels whose layers are counted along paths; the first group is all layers."""
    mismatch: NDArray[np.float64] = field(repr=False)
    """Cost of matching two labels, shape (labels, labels); infinite if they never match."""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    """Factor of a label's mass, if it is not 1."""
    share: float = USUAL.share
    """See `Weighing`."""
    is_open: bool = False
    """Whether other labels may occur. Such a label matches itself only, at no cost, and is in the first group only."""

    def masses(self, graph: LayerGraph) -> NDArray[np.float64]:
        """Mass of each layer (section 2): incoming units times units; ip, op and decisions get a share of the sum."""
        masses, incoming = np.zeros(len(graph.labels)), graph.incoming
        decisions = [u for u, label in enumerate(graph.labels) if label in DECISIONS]
        others = {0, len(graph.labels) - 1, *decisions}
        for u, (label, units) in enumerate(zip(graph.labels, graph.units, strict=True)):
            if u not in others:
                masses[u] = incoming[u] * (1 if units is None else units) * self.coefficients.get(label, 1.0)
        share = max(self.share * masses.sum(), _FLOOR)
        masses[[0, -1]] = share
        masses[decisions] = share / max(len(decisions), 1)
        return masses

    def numbers(self, graph: LayerGraph) -> NDArray[np.int64]:
        """The label of each layer as a row of `mismatch`; a higher number for other labels of an open family.

        Raises ValueError for a label that this family does not have.
        """
        strange = [label for label in graph.labels if label not in self._known]
        if strange and not self.is_open:
            raise ValueError(f"unknown layer {strange[0]!r} of a {self.name}; allowed: {', '.join(self.labels)}")
        for label in strange:
            self._known.setdefault(label, len(self._known))
        return np.array([self._known[label] for label in graph.labels])

    def kinds(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each label, shared by the labels that it may be matched with, directly or through others."""
        count = len(self.labels)
        return np.where(numbers < count, self._kinds[np.minimum(numbers, count - 1)], numbers)

    def order(self, graph: LayerGraph) -> NDArray[np.int64]:
        """The layers grouped by kind; the same in every process, whichever unknown labels it has seen before."""
        numbers = self.numbers(graph)
        keys = [
            (kind, "") if number < len(self.labels) else (len(self.labels), label)
            for number, kind, label in zip(numbers.tolist(), self.kinds(numbers).tolist(), graph.labels, strict=True)
        ]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__))

    def memberships(self, graph: LayerGraph) -> NDArray[np.float64]:
        """1 where a layer belongs to a group, shape (groups, layers); the first group is all layers."""
        others = [[float(label in group) for label in graph.labels] for group in self.groups[1:]]
        return np.array([[1.0] * len(graph.labels), *others])

    @cached_property
    def _known(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def _kinds(self) -> NDArray[np.int64]:
        joined = np.isfinite(self.mismatch)
        for _ in self.labels:
            joined = joined @ joined
        kinds: NDArray[np.int64] = joined.argmax(1)
        return kinds


def cnn(conv_scale: float = _CONVOLUTIONS, fc: float = _DENSE) -> NetworkFamily:
    """Convolutional networks.

    Args:
        conv_scale: mismatch of two kernel sizes, divided by the root of their difference.
        fc: mass of a unit of a fully connected layer, relative to a convolution's.
    """
    labels = LABELS["cnn"]
    costs = {POOLS: _POOLS, **_convolutions(CONVOLUTIONS, conv_scale)}
    groups = (labels, CONVOLUTIONS, POOLS, ("fc",))
    return _family("cnn", labels, groups, costs, {"fc": fc})


def program() -> NetworkFamily:
    """Networks of the search-space language: as convolutional networks, with kernels of any size.

    A layer without a place in `mismatch` (attention, a user's module) is matched with layers of the same label only.
    """
    convolutions = tuple(f"{kind}{size}" for size in _SIZES for kind in ("conv", "res"))
    labels = ("ip", "op", "fc", *POOLS, "softmax", *convolutions)
    costs = {POOLS: _POOLS, **_convolutions(convolutions, _CONVOLUTIONS)}
    groups = (labels, convolutions, POOLS, ("fc",))
    return replace(_family("program", labels, groups, costs, {"fc": _DENSE}), is_open=True)


def mlp(decision: str = "linear") -> NetworkFamily:
    """Multi-layer perceptrons; a layer's label is its activation.

    Args:
        decision: the label of the last layer: linear for regression, softmax for classification.
    """
    activations = (*RECTIFIERS, *SIGMOIDS)
    costs = {(a, b): 0.1 if (a in RECTIFIERS) == (b in RECTIFIERS) else 0.25 for a in activations for b in activations}
    kind = "mlp-reg" if decision == "linear" else "mlp-class"
    labels = LABELS[kind]
    return _family(kind, labels, (labels, RECTIFIERS, SIGMOIDS), costs)


def cell() -> NetworkFamily:
    """NAS-Bench-201's cells: one layer per operation, `skip` included, without which distinct cells would be equal."""
    convolutions, skip = ("conv1", "conv3"), ("skip",)
    labels = ("ip", "op", *convolutions, "avg-pool", *skip)
    costs = {("conv1", "conv3"): math.sqrt(2) / 10 * math.sqrt(2)}
    return _family("cell", labels, (labels, convolutions, ("avg-pool",), skip), costs)


def _convolutions(labels: Iterable[str], scale: float) -> dict[tuple[str, str], float]:
    """Mismatches of convolutions and residual layers: the scaled root of the difference of their kernel sizes."""
    costs = {}
    for first in labels:
        for second in labels:
            (kind, size), (second_kind, second_size) = _parts(first), _parts(second)
            cost = scale * math.sqrt(abs(size - second_size))
            if kind != second_kind:
                cost = cost if cost > 1 else 0.9 * cost + 0.1
            costs[first, second] = cost
    return costs


def _parts(label: str) -> tuple[str, int]:
    """A convolution's label as kind and kernel size."""
    kind = label.rstrip("0123456789")
    return kind, int(label[len(kind) :])


def _family(
    name: str,
    labels: tuple[str, ...],
    groups: Iterable[Iterable[str]],
    costs: Mapping[tuple[str, str], float],
    coefficients: Mapping[str, float] | None = None,
) -> NetworkFamily:
    mismatch = np.full((len(labels), len(labels)), np.inf)
    for (first, second), cost in costs.items():
        i, j = labels.index(first), labels.index(second)
        mismatch[i, j] = mismatch[j, i] = cost
    np.fill_diagonal(mismatch, 0.0)
    return NetworkFamily(name, labels, tuple(map(frozenset, groups)), mismatch, coefficients or {})


FAMILIES = {family.name: family for family in (cnn(), program(), mlp("linear"), mlp("softmax"), cell())}
"""The families by the kind of a graph."""


def family_of(kind: str, weighing: Weighing = USUAL) -> NetworkFamily:
    """The family of a kind of graphs; that of programs, which is open, for an unknown kind."""
    return _weighed(kind if kind in FAMILIES else "program", weighing)


@cache
def _weighed(name: str, weighing: Weighing) -> NetworkFamily:
    """One object for all networks of a family, which numbers labels that it did not know."""
    family = FAMILIES[name]
    if weighing == USUAL:
        return family
    coefficients = dict.fromkeys(family.coefficients, weighing.fc)
    mismatch = weighing.mismatch * family.mismatch
    return replace(family, coefficients=coefficients, share=weighing.share, mismatch=mismatch)

"""What OTMANN must know of a kind of network: which layers resemble each other, which groups count, what layers weigh.

Values are those of the authors' code (kirthevasank/nasbot @3c745dc); those that the paper's text gives differ in the
mass of `fc` layers and in the pools' mismatch (NASBOT, table 1 and figure 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import CONVOLUTIONS, LABELS, POOLS, RECTIFIERS, SIGMOIDS

DECISIONS = ("softmax", "linear")

_CONVOLUTIONS, _POOLS, _DENSE = math.sqrt(2) / 10, 0.5, 0.1  # see `cnn`
_SIZES = range(1, 32)  # of kernels in programs
_SHARE, _FLOOR = 0.1, 100.0  # of the processing mass, for ip, op and the decision layers; and the least it may be


@dataclass(frozen=True, eq=False)
class Family:
    """Of networks that can be compared."""

    name: str
    labels: tuple[str, ...]
    """Every label there is, or of an open family every one that has a place in `mismatch`."""
    groups: tuple[frozenset[str], ...]
    """Layers that paths are counted over; the first group is all."""
    mismatch: NDArray[np.float64] = field(repr=False)
    """Cost of matching two labels, shape (labels, labels); infinite where they never match."""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    """Of a label's mass, where it is not 1."""
    floor: float = _FLOOR
    is_open: bool = False
    """Whether there may be other labels: each is matched with itself only, at no cost, and in no group but all."""

    def masses(self, graph: LayerGraph) -> NDArray[np.float64]:
        """Mass of each layer (section 2): what comes in times what it has; a share of the whole for the others."""
        masses, incoming = np.zeros(len(graph.labels)), graph.incoming
        decisions = [u for u, label in enumerate(graph.labels) if label in DECISIONS]
        others = {0, len(graph.labels) - 1, *decisions}
        for u, (label, units) in enumerate(zip(graph.labels, graph.units, strict=True)):
            if u not in others:
                masses[u] = incoming[u] * (1 if units is None else units) * self.coefficients.get(label, 1.0)
        share = max(_SHARE * masses.sum(), self.floor)
        masses[[0, -1]] = share
        masses[decisions] = share / max(len(decisions), 1)
        return masses

    def numbers(self, graph: LayerGraph) -> NDArray[np.int64]:
        """The label of each layer as a row of `mismatch`; beyond its rows where only an open family knows of it.

        Raises ValueError for one that this family has not.
        """
        strange = [label for label in graph.labels if label not in self._known]
        if strange and not self.is_open:
            raise ValueError(f"unknown layer {strange[0]!r} of a {self.name}; allowed: {', '.join(self.labels)}")
        for label in strange:
            self._known.setdefault(label, len(self._known))
        return np.array([self._known[label] for label in graph.labels])

    def kinds(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each label a number that it shares with those it may be matched with, directly or through others."""
        count = len(self.labels)
        return np.where(numbers < count, self._kinds[np.minimum(numbers, count - 1)], numbers)

    def order(self, graph: LayerGraph) -> NDArray[np.int64]:
        """The layers, those of a kind together; the same in every process, whichever strange labels it met before."""
        numbers = self.numbers(graph)
        keys = [
            (kind, "") if number < len(self.labels) else (len(self.labels), label)
            for number, kind, label in zip(numbers.tolist(), self.kinds(numbers).tolist(), graph.labels, strict=True)
        ]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__))

    def memberships(self, graph: LayerGraph) -> NDArray[np.float64]:
        """1 where a layer belongs to a group, shape (groups, layers); the first group is all."""
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
        found: NDArray[np.int64] = joined.argmax(1)
        return found


def cnn(conv_scale: float = _CONVOLUTIONS, pools: float = _POOLS, fc: float = _DENSE, floor: float = _FLOOR) -> Family:
    """Convolutional networks.

    Args:
        conv_scale: times the root of the difference of two kernel sizes is their mismatch.
        pools: mismatch of a maximum and an average.
        fc: what a unit of a fully connected layer weighs beside a convolution's.
        floor: the least mass of ip and of op.
    """
    labels = LABELS["cnn"]
    costs = {POOLS: pools, **_convolutions(CONVOLUTIONS, conv_scale)}
    groups = (labels, CONVOLUTIONS, POOLS, ("fc",))
    return _family("cnn", labels, groups, costs, {"fc": fc}, floor)


def program() -> Family:
    """Networks that the search-space language describes: as convolutional ones, with kernels of any size.

    A layer that OTMANN has no number for (attention, a module of one's own) is matched with its like only.
    """
    convolutions = tuple(f"{kind}{size}" for size in _SIZES for kind in ("conv", "res"))
    labels = ("ip", "op", "fc", *POOLS, "softmax", *convolutions)
    costs = {POOLS: _POOLS, **_convolutions(convolutions, _CONVOLUTIONS)}
    groups = (labels, convolutions, POOLS, ("fc",))
    return replace(_family("program", labels, groups, costs, {"fc": _DENSE}), is_open=True)


def mlp(decision: str = "linear") -> Family:
    """Multi-layer perceptrons; a layer's label is its activation.

    Args:
        decision: the label of the last layer: linear for regression, softmax for classification.
    """
    activations = (*RECTIFIERS, *SIGMOIDS)
    costs = {(a, b): 0.1 if (a in RECTIFIERS) == (b in RECTIFIERS) else 0.25 for a in activations for b in activations}
    kind = "mlp-reg" if decision == "linear" else "mlp-class"
    labels = LABELS[kind]
    return _family(kind, labels, (labels, RECTIFIERS, SIGMOIDS), costs)


def cell() -> Family:
    """NAS-Bench-201's cells: a layer an operation, `skip` among them, for without it cells would look alike."""
    convolutions, skip = ("conv1", "conv3"), ("skip",)
    labels = ("ip", "op", *convolutions, "avg-pool", *skip)
    costs = {("conv1", "conv3"): math.sqrt(2) / 10 * math.sqrt(2)}
    return _family("cell", labels, (labels, convolutions, ("avg-pool",), skip), costs)


def _convolutions(labels: Iterable[str], scale: float) -> dict[tuple[str, str], float]:
    """Mismatches of convolutions and residual layers, by the root of the difference of their kernel sizes."""
    costs = {}
    for one in labels:
        for other in labels:
            (kind, size), (other_kind, other_size) = _parts(one), _parts(other)
            cost = scale * math.sqrt(abs(size - other_size))
            if kind != other_kind:
                cost = cost if cost > 1 else 0.9 * cost + 0.1
            costs[one, other] = cost
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
    floor: float = _FLOOR,
) -> Family:
    mismatch = np.full((len(labels), len(labels)), np.inf)
    for (one, other), cost in costs.items():
        i, j = labels.index(one), labels.index(other)
        mismatch[i, j] = mismatch[j, i] = cost
    np.fill_diagonal(mismatch, 0.0)
    return Family(name, labels, tuple(map(frozenset, groups)), mismatch, coefficients or {}, floor)


FAMILIES = {family.name: family for family in (cnn(), program(), mlp("linear"), mlp("softmax"), cell())}
"""By the kind of a graph."""


def family_of(kind: str) -> Family:
    """The family of a kind of graphs; the open one of programs for a kind that is not known."""
    return FAMILIES.get(kind, FAMILIES["program"])

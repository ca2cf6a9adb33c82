"""What OTMANN must know of a kind of network: which layers resemble each other, which groups count, what layers weigh.

Values are those of the authors' code (kirthevasank/nasbot @3c745dc); those that the paper's text gives differ in the
mass of `fc` layers and in the pools' mismatch (NASBOT, table 1 and figure 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import CONVOLUTIONS, LABELS, POOLS, RECTIFIERS, SIGMOIDS

DECISIONS = ("softmax", "linear")

_SHARE, _FLOOR = 0.1, 100.0  # of the processing mass, for ip, op and the decision layers; and the least it may be


@dataclass(frozen=True, eq=False)
class Family:
    """Of networks that can be compared."""

    name: str
    labels: tuple[str, ...]
    """Every label there is."""
    groups: tuple[frozenset[str], ...]
    """Layers that paths are counted over; the first group is all."""
    mismatch: NDArray[np.float64] = field(repr=False)
    """Cost of matching two labels, shape (labels, labels); infinite where they never match."""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    """Of a label's mass, where it is not 1."""
    floor: float = _FLOOR

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

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """For each label a number that it shares with those it may be matched with, directly or through others."""
        joined = np.isfinite(self.mismatch)
        for _ in self.labels:
            joined = joined @ joined
        found: NDArray[np.int64] = joined.argmax(1)
        return found

    def numbers(self, graph: LayerGraph) -> NDArray[np.int64]:
        """The label of each layer as a row of `mismatch`. Raises ValueError for one that this family has not."""
        strange = [label for label in graph.labels if label not in self.labels]
        if strange:
            raise ValueError(f"unknown layer {strange[0]!r} of a {self.name}; allowed: {', '.join(self.labels)}")
        return np.array([self.labels.index(label) for label in graph.labels])

    def memberships(self, graph: LayerGraph) -> NDArray[np.float64]:
        """1 where a layer belongs to a group, shape (groups, layers)."""
        return np.array([[float(label in group) for label in graph.labels] for group in self.groups])


def cnn(conv_scale: float = math.sqrt(2) / 10, pools: float = 0.5, fc: float = 0.1, floor: float = _FLOOR) -> Family:
    """Convolutional networks.

    Args:
        conv_scale: times the root of the difference of two kernel sizes is their mismatch.
        pools: mismatch of a maximum and an average.
        fc: what a unit of a fully connected layer weighs beside a convolution's.
        floor: the least mass of ip and of op.
    """
    labels = LABELS["cnn"]
    costs = {POOLS: pools}
    for one in CONVOLUTIONS:
        for other in CONVOLUTIONS:
            cost = conv_scale * math.sqrt(abs(int(one[-1]) - int(other[-1])))
            if one[:-1] != other[:-1]:
                cost = cost if cost > 1 else 0.9 * cost + 0.1
            costs[one, other] = cost
    groups = (labels, CONVOLUTIONS, POOLS, ("fc",))
    return _family("cnn", labels, groups, costs, {"fc": fc}, floor)


def program() -> Family:
    """Networks that the search-space language describes: as convolutional ones, with pointwise convolutions."""
    convolutions = ("conv1", *CONVOLUTIONS)
    known = cnn()
    labels = (*known.labels, "conv1")
    costs = {
        (a, b): float(known.mismatch[i, j]) for i, a in enumerate(known.labels) for j, b in enumerate(known.labels)
    }
    for other in CONVOLUTIONS:
        cost = math.sqrt(2) / 10 * math.sqrt(int(other[-1]) - 1)
        costs["conv1", other] = cost if other.startswith("conv") else 0.9 * cost + 0.1
    return _family("program", labels, (labels, convolutions, POOLS, ("fc",)), costs, known.coefficients)


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

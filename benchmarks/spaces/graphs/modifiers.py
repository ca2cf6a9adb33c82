"""NASBOT's nine modifiers of networks (table 2), with the rules of the authors' code.

A modifier yields drafts in random order. `modified` draws a modifier and takes the first draft that is a valid network
within bounds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import (
    CONVOLUTIONS,
    DECISIONS,
    POOLS,
    RECTIFIERS,
    SIGMOIDS,
    image_sizes,
    network,
)

T = TypeVar("T")

_STEP = 0.125  # share by which units grow or shrink
_DEFAULT_UNITS = 16
_POOL, _STRIDE = 0.05, 0.05  # probabilities that a wedge is a pooling, and that a convolution's stride is 2
_STAY, _STOP = 4, 0.2  # least number of layers of a branch, and the probability that it ends after that
_KEPT = 0.5  # probability that a branch copies a layer
_TIRING = 0.9  # factor of a start's probability after each use


@dataclass
class Draft:
    """A network under modification; nothing is checked."""

    kind: str
    labels: list[str]
    units: list[int | None]
    strides: list[int | None]
    edges: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, graph: LayerGraph) -> Draft:
        strides = list(graph.strides) or [None] * len(graph.labels)
        return cls(graph.kind, list(graph.labels), list(graph.units), strides, set(graph.edges))

    def add(self, label: str, units: int | None, stride: int | None) -> int:
        """Adds a layer, not yet connected; returns its number."""
        self.labels.append(label)
        self.units.append(units)
        self.strides.append(stride)
        return len(self.labels) - 1

    def parents(self, v: int) -> list[int]:
        return sorted(a for a, b in self.edges if b == v)

    def children(self, v: int) -> list[int]:
        return sorted(b for a, b in self.edges if a == v)

    def drop(self, v: int) -> None:
        """Removes a layer with its edges; the numbers of later layers decrease by 1."""
        for column in (self.labels, self.units, self.strides):
            del column[v]
        kept = {(a, b) for a, b in self.edges if v not in (a, b)}
        self.edges = {(a - (a > v), b - (b > v)) for a, b in kept}

    def built(self) -> LayerGraph:
        """The network. Raises UsageError if the draft is not a valid one."""
        return network(self.kind, self.labels, self.units, sorted(self.edges), self.strides)


Modifier = Callable[[LayerGraph, Generator], Iterator[Draft]]


def modified(graph: LayerGraph, bounds: NetworkLimits, rng: Generator) -> tuple[LayerGraph, str]:
    """A network one modification away, and the modifier's name. Raises UsageError if no modifier finds one."""
    names = list(MODIFIERS)
    weights = [MODIFIERS[name][1] for name in names]
    while names:
        chosen = _drawn(weights, rng)
        for draft in MODIFIERS[names[chosen]][0](graph, rng):
            if not bounds.hold_size(len(draft.labels), len(draft.edges)):
                continue  # building takes a hundred times as long as this check
            try:
                other = draft.built()
                bounds.check(other)
            except UsageError:
                continue
            if other != graph:  # four units less an eighth are four
                return other, names[chosen]
        del names[chosen], weights[chosen]
    raise UsageError("no modifier leads from this network to another one within the bounds: widen them")


def _resized(factor: float) -> Modifier:
    """Gives one layer an eighth more or fewer units."""

    def drafts(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
        for v in _shuffled(_sizable(graph), rng):
            yield _scaled(graph, [v], factor)

    return drafts


def _resized_together(factor: float) -> Modifier:
    """Gives a contiguous half, quarter or eighth of all layers an eighth more or fewer units."""

    def drafts(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
        layers, inner = _sizable(graph), len(graph.labels) - 2
        parts = [
            layers[len(layers) * i // count : len(layers) * (i + 1) // count]
            for count, least in ((2, 4), (4, 8), (8, 16))
            if inner >= least
            for i in range(count)
        ]
        for part in _shuffled([part for part in parts if part], rng):
            yield _scaled(graph, part, factor)

    return drafts


def _swapped(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
    """Changes the kind of one layer."""
    for v in _shuffled([v for v, label in enumerate(graph.labels) if label in _SWAPS], rng):
        others, weights = zip(*_SWAPS[graph.labels[v]].items(), strict=True)
        draft = Draft.of(graph)
        label = others[_drawn(weights, rng)]
        if label in POOLS:
            draft.units[v] = draft.strides[v] = None
        elif label in CONVOLUTIONS and rng.random() < _STRIDE:
            draft.strides[v] = 1 if draft.strides[v] == 2 else 2
        draft.labels[v] = label
        yield draft


def _wedged(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
    """Inserts a layer on an edge."""
    last = len(graph.labels) - 1
    for u, v in _shuffled(sorted((u, v) for u, v in graph.edges if v != last), rng):
        draft, label, stride = Draft.of(graph), graph.labels[u], None
        units: int | None = None
        if label == "fc":
            new, units = "fc", graph.units[u]
        elif graph.kind != "cnn":
            new = str(rng.choice([*RECTIFIERS, *SIGMOIDS]))
        elif u and rng.random() < _POOL:
            new = str(rng.choice(POOLS))
        else:
            new, stride = str(rng.choice(CONVOLUTIONS)), 2 if rng.random() < _STRIDE else 1
        if new not in POOLS and units is None:
            units = _units_between(graph, u, v)
        w = draft.add(new, units, stride)
        draft.edges = draft.edges - {(u, v)} | {(u, w), (w, v)}
        yield draft


def _removed(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
    """Removes a layer, and connects its parents to its children."""
    fixed = ("ip", "op", DECISIONS[graph.kind])
    for v in _shuffled([v for v, label in enumerate(graph.labels) if label not in fixed], rng):
        draft = Draft.of(graph)
        before, after = draft.parents(v), draft.children(v)
        if graph.labels[v] == "fc" and not all(graph.labels[p] == "fc" for p in before):
            continue  # the first fully connected layer flattens the image
        if graph.labels[v] in POOLS or draft.strides[v] == 2:
            for near in (after, before):
                if near and all(draft.strides[n] == 1 for n in near):
                    for n in near:
                        draft.strides[n] = 2  # the neighbour halves the image instead
                    break
        draft.edges = {edge for edge in draft.edges if v not in edge}
        childless = [p for p in before if not draft.children(p)]
        parentless = [c for c in after if not draft.parents(c)]
        pairs = list(zip(_shuffled(childless, rng), _shuffled(parentless, rng), strict=False))
        draft.edges |= set(pairs)
        done = {v for pair in pairs for v in pair}
        draft.edges |= {(p, int(rng.choice(after))) for p in childless if p not in done}
        draft.edges |= {(int(rng.choice(before)), c) for c in parentless if c not in done}
        draft.drop(v)
        yield draft


def _branched(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
    """Copies a path in parallel, without some of its layers."""
    last = len(graph.labels) - 1
    for start in _starts(graph, rng, 2 * len(graph.labels), ("op", "fc", DECISIONS[graph.kind])):
        path = [start]
        while path[-1] != last and not (len(path) >= _STAY and rng.random() < _STOP):
            following = graph.children[path[-1]]
            path.append(following[int(rng.integers(len(following))) if len(following) > 1 else 0])
        inner = path[1:-1]
        kept = _copied(graph, inner, starts_at_input=start == 0, rng=rng)
        if not kept:
            continue
        draft = Draft.of(graph)
        before = start
        for v in kept:
            copy = draft.add(draft.labels[v], draft.units[v], draft.strides[v])
            draft.edges.add((before, copy))
            before = copy
        draft.edges.add((before, path[-1]))
        yield draft


def _skipped(graph: LayerGraph, rng: Generator) -> Iterator[Draft]:
    """Connects two distant layers, through poolings if their images differ in size."""
    ends_not = ("ip", "op", DECISIONS[graph.kind])
    from_input, to_output = _hops(graph, forward=True), _hops(graph, forward=False)
    sizes = image_sizes(graph) if graph.kind == "cnn" else [1] * len(graph.labels)
    for start in _starts(graph, rng, 2 * len(graph.labels), ("ip", "op", "fc", DECISIONS[graph.kind])):
        ends = [
            v
            for v, label in enumerate(graph.labels)
            if label not in ends_not
            and from_input[v] >= from_input[start] + 2
            and to_output[v] <= to_output[start] - 2
            and (start, v) not in graph.edges
        ]
        for end in _shuffled(ends, rng)[:1]:
            behind, before = sizes[start], sizes[graph.parents[end][0]]
            draft, source = Draft.of(graph), start
            if behind is None or before is None or before < behind:
                continue
            if graph.labels[end] == "fc" and any(graph.labels[p] == "fc" for p in graph.parents[end]):
                continue
            for _ in range(int(math.log2(before // behind))):
                pool = draft.add("avg-pool", None, None)
                draft.edges.add((source, pool))
                source = pool
            draft.edges.add((source, end))
            yield draft


_OTHERS = {"max-pool": 0.05, "avg-pool": 0.05}
_SWAPS: dict[str, dict[str, float]] = {
    "conv3": {"res3": 0.25, "res5": 0.25, "conv5": 0.15, "conv7": 0.25} | _OTHERS,
    "conv5": {"res3": 0.25, "res5": 0.25, "conv3": 0.2, "conv7": 0.2} | _OTHERS,
    "conv7": {"res3": 0.25, "res5": 0.25, "conv3": 0.25, "conv5": 0.15} | _OTHERS,
    "res3": {"conv3": 0.25, "conv5": 0.25, "res5": 0.15, "res7": 0.25} | _OTHERS,
    "res5": {"conv3": 0.25, "conv5": 0.25, "res3": 0.2, "res7": 0.2} | _OTHERS,
    "res7": {"conv3": 0.25, "conv5": 0.25, "res3": 0.25, "res5": 0.15} | _OTHERS,
    "max-pool": {"avg-pool": 1.0},
    "avg-pool": {"max-pool": 1.0},
    **{label: dict.fromkeys(SIGMOIDS, 1.0) for label in RECTIFIERS},
    **{label: dict.fromkeys(RECTIFIERS, 1.0) for label in SIGMOIDS},
}
"""Kind of layer → the kinds it may change to, with weights."""

MODIFIERS: dict[str, tuple[Modifier, float]] = {
    "inc_single": (_resized(1 + _STEP), 0.1),
    "dec_single": (_resized(1 - _STEP), 0.1),
    "inc_en_masse": (_resized_together(1 + _STEP), 0.1),
    "dec_en_masse": (_resized_together(1 - _STEP), 0.1),
    "swap_label": (_swapped, 0.2),
    "wedge_layer": (_wedged, 0.1),
    "remove_layer": (_removed, 0.1),
    "dup_path": (_branched, 0.2),
    "skip_path": (_skipped, 0.2),
}
"""Name (table 2) → the modifier, and its weight in the draw."""


def _sizable(graph: LayerGraph) -> list[int]:
    return [v for v, units in enumerate(graph.units) if units is not None and graph.labels[v] not in ("ip", "op")]


def _scaled(graph: LayerGraph, layers: Sequence[int], factor: float) -> Draft:
    draft = Draft.of(graph)
    for v in layers:
        units = draft.units[v]
        assert units is not None
        draft.units[v] = math.floor(units * factor + 0.5)  # half away from zero
    return draft


def _units_between(graph: LayerGraph, u: int, v: int) -> int:
    """The mean of the units at both ends of an edge; if neither has units, of the nearest layers before that do."""
    known = [units for units in (graph.units[u], graph.units[v]) if units is not None]
    before = list(graph.parents[u])
    while not known and before:
        known = [units for p in before if (units := graph.units[p]) is not None]
        before = sorted({p for b in before for p in graph.parents[b]})
    return math.floor(sum(known) / len(known) + 0.5) if known else _DEFAULT_UNITS


def _copied(graph: LayerGraph, inner: Sequence[int], starts_at_input: bool, rng: Generator) -> list[int]:
    """The layers of a path that are copied: all that change the size of the image, and the others at random."""
    kept: list[int] = []
    for position, v in enumerate(inner):
        label = graph.labels[v]
        first_fc = label == "fc" and not any(graph.labels[k] == "fc" for k in kept)
        needed = label in POOLS or graph.stride(v) == 2 or label == DECISIONS[graph.kind] or first_fc
        needed = needed or (position == 0 and starts_at_input) or (position == len(inner) - 1 and not kept)
        if needed or rng.random() < _KEPT:
            kept.append(v)
    return kept


def _starts(graph: LayerGraph, rng: Generator, count: int, but: Sequence[str]) -> Iterator[int]:
    """Random layers with replacement; layers near the input, and those drawn less often before, are more likely."""
    layers = [v for v, label in enumerate(graph.labels) if label not in but]
    if not layers:
        return
    hops = _hops(graph, forward=True)
    weights = [1 / math.sqrt(1 + hops[v]) for v in layers]
    for _ in range(count):
        chosen = _drawn(weights, rng)
        weights[chosen] *= _TIRING
        yield layers[chosen]


def _hops(graph: LayerGraph, forward: bool) -> list[int]:
    """Smallest number of edges from the input to each layer, or from each layer to the output."""
    count = len(graph.labels)
    hops = [0 if v == (0 if forward else count - 1) else count for v in range(count)]
    for a, b in sorted(graph.edges) if forward else sorted(graph.edges, key=lambda edge: -edge[1]):
        if forward:
            hops[b] = min(hops[b], hops[a] + 1)
        else:
            hops[a] = min(hops[a], hops[b] + 1)
    return hops


def _drawn(weights: Sequence[float], rng: Generator) -> int:
    """A position with a probability in proportion to its weight; the same as `rng.choice`, twenty times faster."""
    total = sum(weights)
    shares = list(accumulate([weight / total for weight in weights]))
    return bisect_right([share / shares[-1] for share in shares], rng.random())


def _shuffled(items: Sequence[T], rng: Generator) -> list[T]:
    return [items[i] for i in rng.permutation(len(items))]

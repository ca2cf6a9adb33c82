"""Canonical forms of graphs of layers: two graphs have the same form if and only if they are isomorphic.

The algorithm is colour refinement, and individualisation where layers still have equal colours. A branch that an
automorphism maps onto an earlier branch is skipped (McKay and Piperno, J. Symbolic Computation 60, 2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph

Colours: TypeAlias = list[int]
"""The colour of each layer: the number of layers with a smaller colour. If all colours differ, they are positions."""
Certificate: TypeAlias = tuple[tuple[int, int], ...]
"""The edges between positions, sorted."""


def canonical(graph: LayerGraph) -> LayerGraph:
    """The same network with its layers in a canonical order, which is topological."""
    return reordered(graph, _Labelling(graph).best(_first_colours(graph))[1])


def reordered(graph: LayerGraph, places: Sequence[int]) -> LayerGraph:
    """The same network with each layer at a new position."""
    order = sorted(range(len(places)), key=places.__getitem__)
    return replace(
        graph,
        labels=tuple([graph.labels[v] for v in order]),
        units=tuple([graph.units[v] for v in order]),
        edges=frozenset([(places[a], places[b]) for a, b in graph.edges]),
        strides=tuple([graph.strides[v] for v in order]) if graph.strides else (),
        arriving=tuple([graph.arriving[v] for v in order]) if graph.arriving else (),
    )


def _first_colours(graph: LayerGraph) -> Colours:
    """Colours by all properties of layers. The longest path to a layer comes first: so the order is topological."""
    last = len(graph.labels) - 1
    depths = [0] * (last + 1)
    for v, parents in enumerate(graph.parents):
        depths[v] = max([depths[p] + 1 for p in parents], default=0)
    return _ranked(
        [
            (
                (v > 0) + (v == last),
                depths[v],
                label,
                -1 if graph.units[v] is None else graph.units[v],
                (graph.strides[v] or 0) if graph.strides else 0,
                graph.arriving[v] if graph.arriving else 0,
            )
            for v, label in enumerate(graph.labels)
        ]
    )


class _Labelling:
    """The search for the order of layers with the smallest certificate."""

    def __init__(self, graph: LayerGraph) -> None:
        self._edges = list(graph.edges)
        self._parents = graph.parents
        self._children = graph.children

    def best(self, colours: Colours) -> tuple[Certificate, Colours]:
        """The smallest certificate that colours allow, and its positions."""
        colours = self._refined(colours)
        cell = _equal_layers(colours)
        if not cell:
            return self._certificate(colours), colours
        smallest: tuple[Certificate, Colours] | None = None
        followed: set[Certificate] = set()
        for branch in _singled_out(colours, cell):
            leaf = self._leaf(branch)
            if leaf in followed:
                continue  # an automorphism maps this branch onto an earlier one
            followed.add(leaf)
            other = self.best(branch)
            smallest = other if smallest is None else min(smallest, other)
        assert smallest is not None
        return smallest

    def _leaf(self, colours: Colours) -> Certificate:
        """The certificate of an arbitrary order that colours allow."""
        colours = self._refined(colours)
        while cell := _equal_layers(colours):
            colours = self._refined(next(_singled_out(colours, cell)))
        return self._certificate(colours)

    def _certificate(self, places: Colours) -> Certificate:
        return tuple(sorted([(places[a], places[b]) for a, b in self._edges]))

    def _refined(self, colours: Colours) -> Colours:
        """Colour refinement: layers whose neighbours have different colours get different colours."""
        count = len(set(colours))
        while count < len(colours):
            new = _ranked(
                [
                    (colour, sorted([colours[p] for p in parents]), sorted([colours[c] for c in children]))
                    for colour, parents, children in zip(colours, self._parents, self._children, strict=True)
                ]
            )
            if (larger := len(set(new))) == count:
                break
            colours, count = new, larger
        return colours


def _ranked(keys: Sequence[tuple[object, ...]]) -> Colours:
    """The number of smaller keys, for each key."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = [0] * len(keys)
    for place, v in enumerate(order):
        before = order[place - 1]
        ranks[v] = ranks[before] if place and keys[before] == keys[v] else place
    return ranks


def _equal_layers(colours: Colours) -> list[int]:
    """The layers of the smallest colour that several layers share; empty if all colours differ."""
    cells: dict[int, list[int]] = {}
    for v, colour in enumerate(colours):
        cells.setdefault(colour, []).append(v)
    return min((cell for cell in cells.items() if len(cell[1]) > 1), default=(0, []))[1]


def _singled_out(colours: Colours, cell: Sequence[int]) -> Iterator[Colours]:
    """Colours with one layer of a cell before its other layers, for each layer of the cell."""
    for v in cell:
        branch = colours.copy()
        for other in cell:
            branch[other] += other != v
        yield branch

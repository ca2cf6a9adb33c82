"""The canonical form of graphs of layers, against brute force."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.canonical import canonical, reordered
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import check
from nasbench.benchmarks.spaces.graphs.pool import convolutional, perceptrons
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace


def graph_of(edges: tuple[tuple[int, int], ...], labels: tuple[str, ...]) -> LayerGraph:
    return LayerGraph(labels, (None,) * len(labels), frozenset(edges))


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_all_graphs_of_so_many_nodes_have_one_form_a_class(nodes: int) -> None:
    """Every directed graph without cycles between ip and op; classes by trying every order of the inner layers."""
    pairs = list(combinations(range(nodes), 2))
    labels = ("ip", *["conv3"] * (nodes - 2), "op")
    orders = [(0, *(1 + v for v in order), nodes - 1) for order in permutations(range(nodes - 2))]
    bit = {pair: 1 << k for k, pair in enumerate((a, b) for a in range(nodes) for b in range(nodes))}
    forms: dict[int, LayerGraph] = {}
    every = range(1 << len(pairs))
    # Of the 32,768 graphs of six nodes a fifth is tried.
    for number in every if nodes < 6 else range(0, 1 << len(pairs), 5):
        edges = tuple(pair for k, pair in enumerate(pairs) if number >> k & 1)
        smallest = min(sum(bit[order[a], order[b]] for a, b in edges) for order in orders)
        found = canonical(graph_of(edges, labels))
        assert forms.setdefault(smallest, found) == found
    assert len(set(forms.values())) == len(forms)


def test_labels_and_units_count_as_networkx_says() -> None:
    networkx = pytest.importorskip("networkx")

    def as_networkx(graph: LayerGraph) -> Any:
        found = networkx.DiGraph()
        for v, pair in enumerate(zip(graph.labels, graph.units, strict=True)):
            found.add_node(v, what=pair)
        found.add_edges_from(graph.edges)
        return found

    rng = np.random.default_rng(0)
    same = 0
    for _ in range(400):
        graphs = []
        for _ in range(2):
            inner = rng.choice(["conv3", "conv5"], 4).tolist()
            edges = {(a, b) for a, b in combinations(range(6), 2) if rng.random() < 0.5}
            units = (None, *rng.choice([8, 16], 4).tolist(), None)
            graphs.append(LayerGraph(("ip", *inner, "op"), units, frozenset(edges)))
        graphs.append(shuffled(graphs[0], rng))
        for other in graphs[1:]:
            expected = networkx.is_isomorphic(
                as_networkx(graphs[0]), as_networkx(other), node_match=lambda a, b: a["what"] == b["what"]
            )
            assert (canonical(graphs[0]) == canonical(other)) == expected
            same += expected
    assert same >= 400


def test_a_thousand_free_networks_have_one_form_in_any_order() -> None:
    rng = np.random.default_rng(1)
    spaces = [
        NetworkSpace("cnn", NetworkLimits(units=(4, 512)), convolutional(8, 2)),
        NetworkSpace("mlp-reg", NetworkLimits(units=(4, 512)), perceptrons("linear", 16)),
    ]
    for number in range(1000):
        graph = spaces[number % 2].sample(rng)
        found = canonical(graph)
        check(found)
        assert canonical(shuffled(graph, rng)) == found
        assert canonical(found) == found


def test_many_equal_branches_are_no_trouble() -> None:
    """Twelve equal chains beside each other have 12! automorphisms."""
    chains, length = 12, 3
    last = chains * length + 1
    edges = set()
    for chain in range(chains):
        own = [0, *(1 + chain * length + k for k in range(length)), last]
        edges |= set(pairwise(own))
    graph = graph_of(tuple(edges), ("ip", *["conv3"] * (chains * length), "op"))
    rng = np.random.default_rng(2)
    assert canonical(shuffled(graph, rng)) == canonical(graph)


def test_graphs_that_refinement_cannot_tell_apart_are_told_apart() -> None:
    """Two circles of three, or one of six, between two layers of six: every layer has two neighbours there."""
    upper, lower = range(1, 7), range(7, 13)
    together = [(u, lower[(u - 1 + k) % 6]) for u in upper for k in (0, 1)]
    apart = [(u, lower[3 * ((u - 1) // 3) + (u - 1 + k) % 3]) for u in upper for k in (0, 1)]
    ends = [(0, u) for u in upper] + [(v, 13) for v in lower]
    labels = ("ip", *["conv3"] * 12, "op")
    one, two = (canonical(graph_of(tuple(middle + ends), labels)) for middle in (together, apart))
    assert one != two
    assert sorted(map(len, one.parents)) == sorted(map(len, two.parents))


def shuffled(graph: LayerGraph, rng: np.random.Generator) -> LayerGraph:
    """The same network in another topological order."""
    missing = [len(parents) for parents in graph.parents]
    ready = [v for v, count in enumerate(missing) if not count and v < len(missing) - 1]
    places = [0] * len(missing)
    place = 0
    while ready:
        v = 0 if place == 0 else ready[int(rng.integers(len(ready)))]
        ready.remove(v)
        places[v] = place
        place += 1
        for a, b in graph.edges:
            if a == v:
                missing[b] -= 1
                if not missing[b] and b < len(missing) - 1:
                    ready.append(b)
    places[-1] = place
    return reordered(graph, places)

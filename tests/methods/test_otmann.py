"""OTMANN against the public reference's numbers, a linear program, brute force, and what a distance must be."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.methods.nasbot.families import FAMILIES, NetworkFamily, cnn, mlp
from nasbench.methods.nasbot.otmann import Encoded, distance, distances, matching
from nasbench.methods.nasbot.paths import path_lengths
from tests.methods.fixtures import FIXTURES
from tests.methods.random_networks import random_network

VARIANTS = {
    "paper_exact": (FIXTURES["fig1"]["paper_exact"], cnn(conv_scale=math.sqrt(2) / 20, fc=1.0)),
    "paper_table1_M": (FIXTURES["fig1"]["paper_table1_M"], cnn(fc=1.0)),
    "code_default": (FIXTURES["fig1"]["code_default"], cnn()),
    "mlp_examples_class": (FIXTURES["mlp_examples_class"], mlp("softmax")),
}


def network(facts: dict[str, Any]) -> LayerGraph:
    return LayerGraph(tuple(facts["labels"]), tuple(facts["units"]), frozenset(map(tuple, facts["edges"])))


def encoded(graph: LayerGraph, family: NetworkFamily | None = None) -> Encoded:
    return Encoded(graph, family or FAMILIES["cnn"])


def in_order(network: Encoded, values: np.ndarray) -> np.ndarray:
    """Values of layers in the order of the graph."""
    found = np.empty_like(values)
    found[network.order] = values
    return found


@pytest.mark.parametrize("variant", VARIANTS)
class TestFixtures:
    def test_masses_and_path_lengths(self, variant: str) -> None:
        facts, family = VARIANTS[variant]
        for own in facts["networks"]:
            one = encoded(network(own), family)
            assert in_order(one, one.layers.masses) == pytest.approx(own["layer_masses"], rel=1e-9)
            assert one.mass == pytest.approx(own["total_mass"], rel=1e-9)
            lengths = np.hstack([own["path_from_ip"], own["path_to_op"]])
            assert in_order(one, one.layers.paths) == pytest.approx(lengths, rel=1e-9)  # ten digits are given

    def test_label_mismatches(self, variant: str) -> None:
        facts, family = VARIANTS[variant]
        labels = facts["label_mismatch"]["labels"]
        expected = np.array([[float(c) for c in row] for row in facts["label_mismatch"]["matrix"]])
        order = [family.labels.index(label) for label in labels]
        assert family.mismatch[np.ix_(order, order)] == pytest.approx(expected, rel=1e-8)

    def test_distances(self, variant: str) -> None:
        facts, family = VARIANTS[variant]
        networks = [encoded(network(own), family) for own in facts["networks"]]
        for nu, expected in facts["distances"].items():
            plain, normalised = distances(networks, nus=[float(nu)])[:, 0]
            assert plain == pytest.approx(np.array(expected["unnormalised"]), rel=1e-8, abs=1e-9)
            assert normalised == pytest.approx(np.array(expected["normalised"]), rel=1e-8, abs=1e-12)


def test_figure_1_comes_out() -> None:
    """As printed, but for (a, c) and (b, c), which the caption has interchanged."""
    facts, family = VARIANTS["paper_exact"]
    a, b, c = (encoded(network(own), family) for own in facts["networks"])
    found = [distance(*pair, nus=[0.5]) for pair in ((a, b), (b, c), (a, c))]
    assert [round(float(d.distance[0]), 1) for d in found] == [175.1, 1479.3, 1621.4]
    assert [round(float(d.normalised[0]), 4) for d in found] == [0.0286, 0.2395, 0.2625]


class TestDistance:
    def test_it_is_symmetric_not_negative_and_zero_from_itself(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(100):
            one, other = encoded(random_network(rng)), encoded(random_network(rng))
            there, back = distance(one, other), distance(other, one)
            assert there.distance == pytest.approx(back.distance, rel=1e-9, abs=1e-6)
            assert (there.distance >= 0).all()
            assert ((there.normalised >= 0) & (there.normalised <= 1)).all()
            assert distance(one, one).distance == pytest.approx(0, abs=1e-7 * one.mass)

    def test_the_triangle_inequality_holds(self) -> None:
        rng = np.random.default_rng(1)
        networks = [encoded(random_network(rng)) for _ in range(40)]
        plain = distances(networks)[0]
        picked = [rng.choice(40, 3, replace=False) for _ in range(1000)]
        for a, b, c in picked:
            assert (plain[:, a, c] <= plain[:, a, b] + plain[:, b, c] + 1e-6).all()

    def test_it_does_not_depend_on_how_layers_are_numbered(self) -> None:
        """Any other topological order of the same network."""
        rng = np.random.default_rng(2)
        for _ in range(50):
            graph, other = random_network(rng), encoded(random_network(rng))
            again = relabelled(graph, rng)
            assert distance(encoded(graph), encoded(again)).distance == pytest.approx(0, abs=1e-6)
            assert distance(encoded(again), other).distance == pytest.approx(
                distance(encoded(graph), other).distance, rel=1e-9, abs=1e-6
            )

    def test_it_is_the_linear_programs(self) -> None:
        """Equation 3 as it stands in the paper, by HiGHS, on 200 random pairs."""
        rng = np.random.default_rng(3)
        for _ in range(200):
            one, other = encoded(random_network(rng)), encoded(random_network(rng))
            nu = float(rng.choice([0.1, 0.25, 0.5, 0.61, 1.5]))
            assert distance(one, other, [nu]).distance[0] == pytest.approx(program(one, other, nu), rel=1e-7, abs=1e-5)

    def test_a_matching_adds_up_to_the_distance(self) -> None:
        rng = np.random.default_rng(4)
        for _ in range(20):
            one, other = encoded(random_network(rng)), encoded(random_network(rng))
            found = matching(one, other, 0.25)
            total = found.labels + found.structure + found.unmatched
            assert total == pytest.approx(distance(one, other, [0.25]).distance[0], rel=1e-9, abs=1e-6)
            assert (found.flow.sum(1) <= in_order(one, one.layers.masses) * (1 + 1e-9) + 1e-9).all()
            assert (found.flow.sum(0) <= in_order(other, other.layers.masses) * (1 + 1e-9) + 1e-9).all()

    def test_networks_of_the_same_paths_and_labels_may_be_zero_apart(self) -> None:
        """16 filters, or two layers of 8 beside each other: a pseudo-distance, as the paper says."""
        one = LayerGraph(("ip", "conv3", "fc", "softmax", "op"), (None, 16, 8, None, None), chain(5))
        labels = ("ip", "conv3", "conv3", "fc", "softmax", "op")
        edges = frozenset({(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)})
        two = LayerGraph(labels, (None, 8, 8, 8, None, None), edges)
        assert distance(encoded(one), encoded(two)).distance == pytest.approx(0, abs=1e-9)

    def test_a_network_without_any_path_is_as_far_as_can_be(self) -> None:
        dead = encoded(LayerGraph(("ip", "op"), (None, None), frozenset()))
        alive = encoded(random_network(np.random.default_rng(0)))
        assert distance(dead, alive).normalised.tolist() == [1.0] * 4
        assert distance(dead, dead).distance.tolist() == [0.0] * 4

    def test_an_unknown_layer_is_named(self) -> None:
        strange = LayerGraph(("ip", "conv9", "op"), (None, 8, None), chain(3))
        with pytest.raises(ValueError, match="unknown layer 'conv9' of a cnn; allowed: ip, op, fc"):
            distance(encoded(strange), encoded(strange))


def chain(layers: int) -> frozenset[tuple[int, int]]:
    return frozenset((i, i + 1) for i in range(layers - 1))


def relabelled(graph: LayerGraph, rng: np.random.Generator) -> LayerGraph:
    waiting = {v: {a for a, b in graph.edges if b == v} for v in range(len(graph.labels))}
    order: list[int] = []
    while waiting:
        ready = [v for v, before in waiting.items() if before <= set(order)]
        chosen = int(rng.choice(ready))
        order.append(chosen)
        del waiting[chosen]
    place = {v: i for i, v in enumerate(order)}
    edges = frozenset((place[a], place[b]) for a, b in graph.edges)
    return LayerGraph(tuple(graph.labels[v] for v in order), tuple(graph.units[v] for v in order), edges)


def program(one: Encoded, other: Encoded, nu: float) -> float:
    """min ⟨Z, C⟩ + what is unmatched, over Z ≥ 0 whose rows and columns do not exceed the masses."""
    structure = np.abs(one.layers.paths[:, None] - other.layers.paths[None]).mean(2)
    costs = one.family.mismatch[np.ix_(one.layers.numbers, other.layers.numbers)] + nu * structure
    allowed = np.argwhere(np.isfinite(costs))
    objective = [costs[i, j] - 2 for i, j in allowed]
    rows = [[float(i == k) for i, _ in allowed] for k in range(len(one.layers.masses))]
    columns = [[float(j == k) for _, j in allowed] for k in range(len(other.layers.masses))]
    limits = [*one.layers.masses, *other.layers.masses]
    return float(linprog(objective, A_ub=rows + columns, b_ub=limits).fun + one.mass + other.mass)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_path_lengths_are_those_of_all_paths(data: st.DataObject) -> None:
    """Against an enumeration of every path; the random walk's is the mean over walks, weighted by their probability."""
    inner = data.draw(st.integers(1, 5))
    n = inner + 2
    pairs = [(a, b) for a, b in itertools.combinations(range(n), 2) if b > a + 1]
    edges = frozenset({*chain(n), *data.draw(st.sets(st.sampled_from(pairs), max_size=6) if pairs else st.just(set()))})
    labels = ("ip", *data.draw(st.lists(st.sampled_from(["conv3", "max-pool"]), min_size=inner, max_size=inner)), "op")
    graph = LayerGraph(labels, (None,) * n, edges)
    family = FAMILIES["cnn"]
    members = family.memberships(graph)
    found = path_lengths(graph, members)
    for forward, lengths in zip((False, True), found, strict=True):
        steps = {u: [b if forward else a for a, b in edges if (a if forward else b) == u] for u in range(n)}
        for u in range(n):
            for g, member in enumerate(members):
                walks = [(sum(member[v] for v in path[:-1]), p) for path, p in walked(u, steps)]
                expected = (min(w for w, _ in walks), max(w for w, _ in walks), sum(w * p for w, p in walks))
                assert lengths[u, 3 * g : 3 * g + 3] == pytest.approx(expected)


def walked(u: int, steps: dict[int, list[int]]) -> list[tuple[list[int], float]]:
    """Every walk from a layer to the end, with its probability."""
    if not steps[u]:
        return [([u], 1.0)]
    return [([u, *path], p / len(steps[u])) for v in steps[u] for path, p in walked(v, steps)]

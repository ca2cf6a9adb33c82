"""NASBOT's nine modifiers: what they make is a network, and differs as table 2 says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.modifiers import MODIFIERS, modified
from nasbench.benchmarks.spaces.graphs.networks import CONVOLUTIONS, POOLS, RECTIFIERS, SIGMOIDS, check, network
from nasbench.benchmarks.spaces.graphs.pool import convolutional
from tests.methods.fixtures import FIXTURES

BOUNDS = NetworkLimits()


def given(facts: dict[str, list[object]]) -> LayerGraph:
    labels = facts["labels"]
    edges = [(int(a), int(b)) for a, b in facts["edges"]]  # type: ignore[misc]
    strides = facts.get("strides") or [None] * len(labels)
    return network(str(facts["nn_class"]), labels, facts["units"], edges, strides)  # type: ignore[arg-type]


STARTS = [
    *map(given, FIXTURES["fig1"]["code_default"]["networks"]),
    *map(given, FIXTURES["mlp_examples_class"]["networks"]),
]


@pytest.fixture(scope="module")
def networks() -> list[LayerGraph]:
    """What random modifications make of the fixtures' networks."""
    rng, found = np.random.default_rng(0), list(STARTS)
    while len(found) < 2000:
        found.append(modified(found[int(rng.integers(len(found)))], BOUNDS, rng)[0])
    return found


@pytest.mark.slow
def test_ten_thousand_modifications_are_networks_within_bounds_and_each_modifier_makes_some() -> None:
    rng, pool, counts = np.random.default_rng(1), list(STARTS), Counter[str]()
    for _ in range(10_000):
        parent = pool[int(rng.integers(len(pool)))]
        found, name = modified(parent, BOUNDS, rng)
        check(found)
        BOUNDS.check(found)
        assert found.kind == parent.kind
        counts[name] += 1
        pool.append(found)
    assert set(counts) == set(MODIFIERS)
    for name, (_, weight) in MODIFIERS.items():
        assert 0.4 < counts[name] / (10_000 * weight / 1.2) < 2, name


def changes(name: str, networks: list[LayerGraph]) -> list[tuple[LayerGraph, LayerGraph]]:
    """Networks with the first valid draft that one modifier makes of them."""
    rng, found = np.random.default_rng(2), []
    for graph in networks[:400]:
        for draft in MODIFIERS[name][0](graph, rng):
            try:
                found.append((graph, draft.built()))
            except UsageError:
                continue
            break
    assert len(found) > 200
    return found


@pytest.mark.parametrize(("name", "factor"), [("inc_single", 1.125), ("dec_single", 0.875)])
def test_one_layer_grows_or_shrinks_by_an_eighth(name: str, factor: float, networks: list[LayerGraph]) -> None:
    for before, after in changes(name, networks):
        assert (after.labels, after.edges, after.strides) == (before.labels, before.edges, before.strides)
        pairs = [(a, b) for a, b in zip(before.units, after.units, strict=True) if a != b]
        assert len(pairs) <= 1  # units of 1 to 3 round to themselves
        for a, b in pairs:
            assert a is not None
            assert b == int(a * factor + 0.5)


@pytest.mark.parametrize(("name", "factor"), [("inc_en_masse", 1.125), ("dec_en_masse", 0.875)])
def test_neighbours_grow_or_shrink_together(name: str, factor: float, networks: list[LayerGraph]) -> None:
    more = 0
    for before, after in changes(name, networks):
        assert (after.labels, after.edges) == (before.labels, before.edges)
        sizable = [v for v, units in enumerate(before.units) if units is not None]
        changed = [v for v in sizable if before.units[v] != after.units[v]]
        assert all(after.units[v] == int((before.units[v] or 0) * factor + 0.5) for v in changed)
        places = [sizable.index(v) for v in changed]
        assert places == list(range(places[0], places[0] + len(places)))
        more += len(changed) > 1
    assert more > 50


def test_one_layer_becomes_of_another_kind(networks: list[LayerGraph]) -> None:
    for before, after in changes("swap_label", networks):
        assert after.edges == before.edges
        pairs = [(a, b) for a, b in zip(before.labels, after.labels, strict=True) if a != b]
        assert len(pairs) == 1
        old, new = pairs[0]
        if before.kind == "cnn":
            assert old in (*CONVOLUTIONS, *POOLS)
            assert new in (*CONVOLUTIONS, *POOLS)
        else:
            assert (old in RECTIFIERS) != (new in RECTIFIERS)
            assert (old in SIGMOIDS) != (new in SIGMOIDS)


def test_a_layer_comes_between_two(networks: list[LayerGraph]) -> None:
    for before, after in changes("wedge_layer", networks):
        assert len(after.labels) == len(before.labels) + 1
        assert len(after.edges) == len(before.edges) + 1
        added = Counter(after.labels) - Counter(before.labels)
        assert sum(added.values()) == 1


def test_a_layer_goes(networks: list[LayerGraph]) -> None:
    for before, after in changes("remove_layer", networks):
        assert len(after.labels) == len(before.labels) - 1
        gone = Counter(before.labels) - Counter(after.labels)
        assert sum(gone.values()) == 1
        assert not set(gone) & {"ip", "op", "softmax", "linear"}


def contains(larger: LayerGraph, smaller: LayerGraph) -> bool:
    """Whether layers and edges of the one are among the other's, by how often they occur."""

    def ends(graph: LayerGraph) -> Counter[tuple[object, ...]]:
        return Counter((graph.labels[a], graph.units[a], graph.labels[b], graph.units[b]) for a, b in graph.edges)

    return not Counter(smaller.labels) - Counter(larger.labels) and not ends(smaller) - ends(larger)


def test_a_path_gets_a_copy_beside_it(networks: list[LayerGraph]) -> None:
    for before, after in changes("dup_path", networks):
        assert contains(after, before)
        added = Counter(zip(after.labels, after.units, strict=True)) - Counter(
            zip(before.labels, before.units, strict=True)
        )
        assert added
        assert set(added) <= set(zip(before.labels, before.units, strict=True))
        assert len(after.edges) == len(before.edges) + sum(added.values()) + 1


def test_layers_that_were_no_neighbours_are_connected(networks: list[LayerGraph]) -> None:
    over_pools = 0
    for before, after in changes("skip_path", networks):
        assert contains(after, before)
        added = Counter(after.labels) - Counter(before.labels)
        assert set(added) <= {"avg-pool"}
        assert len(after.edges) == len(before.edges) + 1 + sum(added.values())
        over_pools += bool(added)
    assert over_pools > 0


def test_bounds_that_nothing_meets_are_said() -> None:
    with pytest.raises(UsageError, match="no modifier leads from this network to another one within the bounds"):
        modified(STARTS[0], NetworkLimits(layers=(1, 2)), np.random.default_rng(0))
    with pytest.raises(UsageError, match=r"layers must lie in \[1, 2\], not 9"):
        NetworkLimits(layers=(1, 2)).check(STARTS[0])


CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4)]
LABELS = ["ip", "conv3", "fc", "softmax", "op"]
UNITS = [None, 8, 8, None, None]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "rnn"}, "unknown nn_class 'rnn'"),
        ({"labels": ["ip", "conv9", "fc", "softmax", "op"]}, "unknown layer of a cnn 'conv9'"),
        ({"labels": ["ip", "conv3", "fc", "ip", "op"]}, "a network has one ip, not 2"),
        ({"labels": ["ip", "conv3", "fc", "softmax", "fc"]}, "a network has one op, not 0"),
        ({"units": [None, 0, 8, None, None]}, "layer 1, conv3, needs one unit or more, not 0"),
        ({"units": [None, 8]}, "5 labels, 2 units and 5 strides do not fit together"),
        ({"edges": [*CHAIN, (3, 1)]}, "layer 1, conv3, lies on a cycle or behind one"),
        ({"edges": [(0, 1), (1, 2), (3, 4)]}, "nothing leads"),
        ({"edges": [*CHAIN, (1, 9)]}, r"edge \(1, 9\) leads to a layer that does not exist: layers are 0 to 4"),
        ({"edges": [*CHAIN, (1, 4)]}, "op takes from softmax layers only, not from layer 1, conv3"),
        ({"strides": [None, 3, None, None, None]}, "the stride of layer 1, conv3, must be 1 or 2 or None, not 3"),
        ({"edges": [*CHAIN, (0, 2)]}, "ip leads to convolutions only, not to layer 2, fc"),
        (
            {
                "labels": ["ip", "conv3", "max-pool", "conv3", "fc", "softmax", "op"],
                "units": [None, 8, None, 8, 8, None, None],
                "edges": [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5), (5, 6)],
                "strides": [None] * 7,
            },
            "images of different sizes meet in layer 3, conv3: 1/1 and 1/2",
        ),
    ],
)
def test_what_is_no_network_is_said_in_a_sentence(changed: dict[str, object], message: str) -> None:
    facts = {"kind": "cnn", "labels": LABELS, "units": UNITS, "edges": CHAIN, "strides": [None] * 5} | changed
    with pytest.raises(UsageError, match=message) as error:
        network(**facts)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_a_modification_changes_the_network_where_an_eighth_of_its_units_is_less_than_half_a_unit() -> None:
    """Four units less an eighth are four: the step is none, and another one is taken."""
    bounds = NetworkLimits(units=(2, 256))
    graph = convolutional(4, 2)[0]
    assert 4 in graph.units
    for seed in range(300):
        other, _ = modified(graph, bounds, np.random.default_rng(seed))
        assert other != graph, seed

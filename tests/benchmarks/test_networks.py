"""Free networks: a space of graphs, and the modules that graphs compile to."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.benchmarks.spaces.graphs import networks
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import image_sizes, network
from nasbench.benchmarks.spaces.graphs.pool import convolutional, perceptrons
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace

BOUNDS = NetworkLimits(units=(4, 512))
CNN = NetworkSpace("cnn", BOUNDS, convolutional(8, 2))


class TestSpace:
    def test_samples_and_mutants_are_members_that_survive_json(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(200):
            graph = CNN.sample(rng)
            CNN.check(graph)
            assert CNN.from_values(CNN.values(graph)) == graph
            other = CNN.mutate(graph, rng)
            CNN.check(other)
            assert hash(other) is not None

    def test_perceptrons_are_a_space_too(self) -> None:
        rng = np.random.default_rng(1)
        for decision, kind in (("linear", "mlp-reg"), ("softmax", "mlp-class")):
            space = NetworkSpace(kind, BOUNDS, perceptrons(decision, 16))
            for _ in range(100):
                space.check(space.mutate(space.sample(rng), rng))

    @pytest.mark.parametrize("foreign", [(1, 2), perceptrons("linear", 16)[0], None])
    def test_what_is_foreign_is_refused(self, foreign: object) -> None:
        with pytest.raises(ForeignConfiguration, match="a graph of layers of a cnn"):
            CNN.check(foreign)

    def test_a_network_outside_the_bounds_is_refused_with_the_bound(self) -> None:
        big = convolutional(512, 2)[0]
        with pytest.raises(ForeignConfiguration, match=r"units must lie in \[4, 512\], not 4096"):
            CNN.check(big)
        with pytest.raises(UsageError, match=r"units must lie in \[4, 512\], not 4096"):
            CNN.from_values(CNN.values(big))
        with pytest.raises(UsageError, match=r"layers must lie in \[50, 60\]"):
            NetworkSpace("cnn", NetworkLimits(layers=(50, 60)), convolutional(8, 2))

    def test_same_seed_same_networks(self) -> None:
        one, other = (np.random.default_rng(7) for _ in range(2))
        assert [CNN.sample(one) for _ in range(20)] == [CNN.sample(other) for _ in range(20)]


class TestModules:
    def test_networks_compute_and_go_back(self) -> None:
        torch = pytest.importorskip("torch")
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        rng = np.random.default_rng(2)
        for side in (16, 28):
            for _ in range(20):
                graph = CNN.sample(rng)
                if max(size or 1 for size in image_sizes(graph)) > side:
                    continue
                module = GraphNetwork(graph, 3, 5)
                scores = module(torch.randn(4, 3, side, side))
                assert scores.shape == (4, 5)
                scores.sum().backward()
                assert all(parameter.grad is not None for parameter in module.parameters())

    def test_parents_are_concatenated_and_decisions_averaged(self) -> None:
        torch = pytest.importorskip("torch")
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        labels = ["ip", "relu", "tanh", "linear", "linear", "op"]
        edges = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)]
        graph = network("mlp-reg", labels, [None, 3, 4, None, None, None], edges, [None] * 6)
        order = [graph.labels.index(label) for label in ("relu", "tanh")]
        module = GraphNetwork(graph, 2, 1)
        x = torch.randn(7, 2)
        a, b = (module.layers[v](x) for v in order)
        decisions = [v for v, label in enumerate(graph.labels) if label == "linear"]
        both = next(v for v in decisions if len(graph.parents[v]) == 2)
        single = next(v for v in decisions if v != both)
        joined = torch.cat([a, b] if order[0] < order[1] else [b, a], 1)
        expected = (module.layers[both](joined) + module.layers[single](b)) / 2
        assert torch.allclose(module(x), expected)
        assert module.layers[both].linear.in_features == 7

    def test_images_of_odd_sides_are_halved_alike_by_strides_and_pools(self) -> None:
        torch = pytest.importorskip("torch")
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        labels = ["ip", "conv3", "conv3", "max-pool", "conv3", "fc", "softmax", "op"]
        edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 7)]
        strides = [None, 1, 2, None, 1, None, None, None]
        graph = network("cnn", labels, [None, 4, 4, None, 4, 4, None, None], edges, strides)
        assert GraphNetwork(graph, 1, 2)(torch.randn(2, 1, 7, 7)).shape == (2, 2)

    def test_every_activation_gives_as_many_values_as_it_has_units(self) -> None:
        torch = pytest.importorskip("torch")
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        for label in ("relu", "crelu", "leaky-relu", "softplus", "elu", "logistic", "tanh"):
            graph = LayerGraph(
                ("ip", label, "softmax", "op"),
                (None, 5, None, None),
                frozenset({(0, 1), (1, 2), (2, 3)}),
                (),
                "mlp-class",
            )
            module = GraphNetwork(graph, 3, 2)
            assert module.layers[1](torch.randn(4, 3)).shape == (4, 5)
            assert module(torch.randn(4, 3)).shape == (4, 2)


def test_values_that_lack_a_part_are_one_sentence() -> None:
    space = NetworkSpace("cnn", NetworkLimits(), convolutional(16, 2))
    whole = space.values(space.sample(np.random.default_rng(0)))
    for name in whole:
        with pytest.raises(UsageError, match=f"{name} is missing"):
            space.from_values({key: value for key, value in whole.items() if key != name})


def test_words_of_networks_recur_and_tell_networks_apart() -> None:
    """Whole lists of layers, as in the values of a network, hardly ever do."""
    rng = np.random.default_rng(0)
    drawn = list(dict.fromkeys(CNN.sample(rng) for _ in range(100)))
    words = [CNN.as_tokens(graph) for graph in drawn]
    assert len({tuple(sorted(own)) for own in words}) > 0.9 * len(drawn)
    often = Counter(word for own in words for word in set(own))
    assert np.mean([often[word] > 5 for own in words for word in own]) > 0.8


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("units", [None, 16.5, None]),
        ("units", [None, True, None]),
        ("units", [None, "16", None]),
        ("edges", [[0, 1.9], [1, 2]]),
        ("strides", [None, 1.9, None]),
    ],
)
def test_what_is_no_whole_number_is_refused_and_not_cut_off(tmp_path: Path, key: str, value: object) -> None:
    facts = {"nn_class": "mlp", "labels": ["ip", "relu", "op"], "units": [None, 16, None], "edges": [[0, 1], [1, 2]]}
    (tmp_path / "network.json").write_text(json.dumps(facts | {key: value}))
    with pytest.raises(UsageError, match="is not a network in JSON with nn_class"):
        networks.read(tmp_path / "network.json")

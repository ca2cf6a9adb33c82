"""`cells-mini`: how many of its networks differ, counted by another hand, and that they are networks of `cells`."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.cells import miniature_stages
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.cells import SIZED, cells, miniature
from nasbench.benchmarks.spaces.trainable import SPACES, Frame, TrainableSpace

FRAME = Frame(4, (1, 16, 16), 11)
WRITINGS = [(depth, *cell) for depth in (1, 2, 3) for cell in itertools.product(SIZED, repeat=3)]


@pytest.fixture(scope="module")
def space() -> TrainableSpace:
    return SPACES.get("cells-mini")(FRAME)


def written(space: TrainableSpace, depth: int, *operations: str) -> Configuration:
    choices = {"depth": depth} | {f"op{k}": operation for k, operation in enumerate(operations)}
    return space.space.from_values(choices)  # type: ignore[attr-defined]


def alive(space: TrainableSpace) -> dict[Configuration, list[Configuration]]:
    """The writings of networks with a path, by the first of their class."""
    found = defaultdict(list)
    for writing in WRITINGS:
        configuration = written(space, *writing)
        if not space.infeasible(configuration):
            found[space.canonical(configuration)].append(configuration)
    return found


def test_1029_writings_are_599_networks_that_differ(space: TrainableSpace) -> None:
    found = alive(space)
    assert count(Program(miniature)) == len(WRITINGS) == 1029
    assert (len(found), sum(map(len, found.values()))) == (599, 990)
    assert all(first == members[0] for first, members in found.items())
    assert all(len({space.size(member) for member in members}) == 1 for members in found.values())


def test_networks_are_of_one_class_where_they_give_the_same_values_for_all_parameters(space: TrainableSpace) -> None:
    """Every convolution on a path has a random function of its own; those of a size are handed out in all ways."""
    rng = np.random.default_rng(0)
    start, average = rng.normal(size=5), rng.normal(size=(5, 5)) / 2
    functions = {name: rng.normal(size=(9, 2, 5, 5)) / 2 for name in SIZED if "conv" in name}

    def values(depth: int, first: str, direct: str, second: str) -> tuple[float, ...] | None:
        if "none" in (first, second):
            first = second = "none"  # on no path
        edges = [(cell, edge, o) for cell in range(depth) for edge, o in enumerate((first, direct, second))]
        own = {name: [edge[:2] for edge in edges if edge[2] == name] for name in functions}
        if max(map(len, own.values())) > 6:
            return None  # 9! ways: cells of three equal convolutions, three times
        ways = list(itertools.product(*(itertools.permutations(range(len(places))) for places in own.values())))
        given = {
            place: functions[name][[way[number] for way in by_name]]
            for (name, places), by_name in zip(own.items(), zip(*ways, strict=True), strict=True)
            for number, place in enumerate(places)
        }

        def operated(value: NDArray[Any] | float, cell: int, edge: int, name: str) -> NDArray[Any] | float:
            if name == "none" or np.isscalar(value):
                return 0.0
            if name == "avg_pool_3x3":
                return value @ average
            if name == "skip_connect":
                return value
            outer, inner = np.moveaxis(given[cell, edge], 1, 0)
            bent = np.abs(np.einsum("wij,wj->wi", inner, value) + 1)
            return np.asarray(np.einsum("wij,wj->wi", outer, bent))

        value: NDArray[Any] | float = np.tile(start, (len(ways), 1))
        for cell in range(depth):
            node = operated(value, cell, 0, first)
            value = operated(value, cell, 1, direct) + operated(node, cell, 2, second)
        return tuple(np.round(np.sin(value + np.arange(5)).reshape(-1, 5).mean(0), 9) + 0.0)

    by_values, by_class = defaultdict(set), defaultdict(set)
    for writing in WRITINGS:
        configuration, computed = written(space, *writing), values(*writing)
        if computed is not None and not space.infeasible(configuration):
            by_values[computed].add(space.canonical(configuration))
            by_class[space.canonical(configuration)].add(computed)
    assert len(by_values) == len(by_class) == 599 - 4
    assert all(len(classes) == 1 for classes in by_values.values())
    assert all(len(computed) == 1 for computed in by_class.values())


def test_what_a_deeper_stage_computes_may_be_what_a_shallower_one_does(space: TrainableSpace) -> None:
    twice = written(space, 1, "nor_conv_3x3", "none", "nor_conv_3x3")
    assert space.canonical(written(space, 2, "none", "nor_conv_3x3", "none")) == twice
    assert space.canonical(written(space, 3, "none", "skip_connect", "none")) == written(
        space, 1, "none", "skip_connect", "none"
    )


def test_its_networks_are_those_of_the_large_space_with_most_choices_fixed(space: TrainableSpace) -> None:
    large = SPACES.get("cells")(FRAME)
    fixed = {f"stage{s}-op{k}": "none" for s in (1, 2, 3) for k in range(6)}
    fixed |= {"stage1-depth": 1, "stage1-op3": "skip_connect"}
    cell = {"depth": 2, "op0": "nor_conv", "kernel0": 7, "op3": "skip_connect", "op4": "avg_pool_3x3"}
    chosen = {f"stage{s}-{name}": value for s in (2, 3) for name, value in cell.items()}
    configuration = large.space.from_values(fixed | chosen)  # type: ignore[attr-defined]
    own = written(space, 2, "nor_conv_7x7", "skip_connect", "avg_pool_3x3")
    assert large.stages(configuration) == space.stages(own) == miniature_stages(dict(own))  # type: ignore[attr-defined]
    assert large.size(configuration) == space.size(own)
    assert count(Program(cells)) == 7**18 * 3**3


@pytest.mark.slow
def test_the_written_network_has_the_parameters_of_the_built_one(space: TrainableSpace) -> None:
    """That of the first of a class: the language also builds what lies on no path."""
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    for configuration in list(alive(space))[::20]:
        with torch.device("meta"):
            plain = Network(Program(lambda: miniature(4, 11)), configuration, FRAME.shape)
            built = space.network(configuration)
        totals = [sum(p.numel() for p in network.parameters()) for network in (plain, built)]
        assert totals == [space.size(configuration).parameters] * 2


def test_a_stage_without_a_path_cannot_be_trained(space: TrainableSpace) -> None:
    dead = written(space, 3, "nor_conv_3x3", "none", "none")
    assert space.infeasible(dead) == "no path leads through the cell of stage 2"

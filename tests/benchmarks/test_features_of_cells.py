"""Words of NAS-Bench-101's cells, and the promise that a space's words tell neighbours from strangers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.spaces.features import tokenizer
from nasbench.benchmarks.spaces.nasbench101 import EDGES, ListedCells, compact, point_of
from nasbench.cli.checks.benchmarks import BENCHMARK_CHECKS
from nasbench.cli.checks.check import Failed

CHAIN = compact(point_of("0100001000010000", ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]))


def test_a_cell_is_its_edges_its_operations_and_what_its_edges_join() -> None:
    (point,) = (ListedCells(np.array([CHAIN])).as_tokens(0),)
    assert {"0-1", "1-2", "2-6"} <= set(point)
    assert {"1:conv3x3-bn-relu", "2:maxpool3x3", "conv3x3-bn-relux1", "maxpool3x3x1"} <= set(point)
    assert {"input>conv3x3-bn-relu", "conv3x3-bn-relu>maxpool3x3", "maxpool3x3>output"} <= set(point)
    assert len(point) == sum(CHAIN[: len(EDGES)]) * 2 + 4


def test_one_more_edge_leaves_all_other_words() -> None:
    more = compact(point_of("0101001000010000", ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]))
    space = ListedCells(np.array(sorted([CHAIN, more])))
    one, other = (set(tokenizer(space)(space.find(point))) for point in (CHAIN, more))
    assert other - one == {"0-6", "input>output"}
    assert not one - other


class Blind(GridSpace):
    """A grid that says of a configuration what no other one shares."""

    def as_tokens(self, configuration: tuple[int, ...]) -> list[str]:
        return [f"number {configuration}", "a configuration"]


def test_a_space_whose_words_are_whole_configurations_breaks_the_promise() -> None:
    (check,) = (c for c in BENCHMARK_CHECKS if "strangers" in c.promise)
    digits = [Ordinal(f"d{i}", tuple(range(10))) for i in range(4)]
    check.function(SimpleNamespace(space=GridSpace(digits)))
    with pytest.raises(Failed, match="give the space `as_tokens`"):
        check.function(SimpleNamespace(space=Blind(digits)))

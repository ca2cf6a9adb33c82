"""Many draws of a finite space at once are those of as many single ones."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.spaces import Categorical, FiniteSpace, GridSpace, Hashed, Ordinal
from nasbench.benchmarks.spaces.network_grids import CellGrid

WITH_PRIOR = GridSpace([Categorical("a", ("x", "y", "z"), prior=(1, 2, 7)), Ordinal("b", (1, 2))])
HUGE = GridSpace([Ordinal(f"h{i}", tuple(range(16))) for i in range(20)])


def of(name: str) -> FiniteSpace:
    space = open_benchmark(name).space
    assert isinstance(space, FiniteSpace)
    return space


@pytest.mark.parametrize("space", [of("nb201-cifar10"), of("nbgraph-cora"), of("sk-boosting-wine"), WITH_PRIOR])
def test_rows_are_those_of_single_draws(space: FiniteSpace) -> None:
    rng = np.random.default_rng(3)
    single = [space.index(space.sample(rng)) for _ in range(50)]
    assert space.sample_rows(50, np.random.default_rng(3)).tolist() == single


def test_rows_that_are_too_many_to_number_are_drawn_one_by_one() -> None:
    configuration, buckets = Hashed(HUGE, 64).draw(4, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    assert [configuration(i) for i in range(4)] == [HUGE.sample(rng) for _ in range(4)]
    assert buckets.shape == (4, 20)


class Lazy(CellGrid):
    """Overrides how it samples one."""

    def sample(self, rng: np.random.Generator) -> tuple[int, ...]:
        return (0,) * 6


def test_what_is_overridden_for_one_is_not_passed_over_for_many() -> None:
    space = Lazy(of("nb201-cifar10").hyperparameters)  # type: ignore[arg-type]
    assert space.sample_rows(5, np.random.default_rng(0)).tolist() == [0] * 5
    assert Hashed(space, 64).draw(5, np.random.default_rng(0))[0](4) == (0,) * 6

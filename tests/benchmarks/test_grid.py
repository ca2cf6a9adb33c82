from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces import Categorical, Float, ForeignConfiguration, GridSpace, Integer, Ordinal
from nasbench.benchmarks.spaces.hyperparameters import draw

MIXED = GridSpace([Categorical("op", ("a", "b", "c")), Ordinal("lr", (0.001, 0.01), log=True), Ordinal("one", (7,))])

grids = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(
    lambda sizes: GridSpace([Ordinal(f"h{i}", tuple(range(1, n + 1))) for i, n in enumerate(sizes)])
)


@given(grids)
def test_rows_are_the_mixed_radix_numbers_of_configurations_in_order(space: GridSpace) -> None:
    configurations = list(space)
    assert configurations == list(itertools.product(*(range(n) for n in space.sizes)))
    assert [space.index(c) for c in configurations] == list(range(space.size))
    assert [space.configuration(row) for row in range(space.size)] == configurations


@given(grids, st.integers(0, 2**32))
def test_values_and_json_round_trip(space: GridSpace, seed: int) -> None:
    configuration = space.sample(np.random.default_rng(seed))
    values = space.values(configuration)
    assert space.from_values(values) == configuration
    assert json.loads(space.to_json(configuration)) == values


@given(grids.filter(lambda space: space.size > 1), st.integers(0, 2**32))
def test_mutation_changes_exactly_one_choice(space: GridSpace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = space.sample(rng)
    child = space.mutate(parent, rng)
    space.check(child)
    assert sum(a != b for a, b in zip(parent, child, strict=True)) == 1


def test_sampling_is_uniform_over_configurations() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount([MIXED.index(MIXED.sample(rng)) for _ in range(6000)], minlength=MIXED.size)
    assert stats.chisquare(counts).pvalue > 0.001


def test_mutation_is_uniform_over_hyperparameters_then_values() -> None:
    rng = np.random.default_rng(0)
    children = [MIXED.mutate((0, 0, 0), rng) for _ in range(6000)]
    counts = [children.count(c) for c in [(1, 0, 0), (2, 0, 0), (0, 1, 0)]]
    assert sum(counts) == 6000
    assert stats.chisquare(counts, [1500, 1500, 3000]).pvalue > 0.001


@pytest.mark.parametrize(
    "foreign", [(0, 0), [0, 0, 0], (0, 2, 0), (-1, 0, 0), (0.0, 0, 0), (True, 0, 0), None, "abc", (np.int64(0), 0, 0)]
)
def test_foreign_configurations_are_refused(foreign: object) -> None:
    with pytest.raises(ForeignConfiguration):
        MIXED.check(foreign)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"op": "a", "lr": 0.01}, "one is missing; allowed: 7"),
        ({"op": "d", "lr": 0.01, "one": 7}, "op cannot be 'd'; allowed: a, b, c"),
        ({"op": "a", "lr": 0.01, "one": 7, "lrr": 1}, "did you mean lr"),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MIXED.from_values(values)


def test_malformed_spaces_are_refused() -> None:
    for make in (
        lambda: GridSpace([]),
        lambda: GridSpace([Ordinal("a", (1, 2)), Ordinal("a", (1, 2))]),
        lambda: Categorical("a", ()),
        lambda: Categorical("a", ("x", "x")),
        lambda: Ordinal("a", (2, 1)),
        lambda: Ordinal("a", (0, 1), log=True),
    ):
        with pytest.raises(UsageError):
            make()


def test_a_grid_too_large_to_number_can_still_be_sampled() -> None:
    space = GridSpace([Ordinal(f"h{i}", (0, 1)) for i in range(70)])
    rng = np.random.default_rng(0)
    configuration = space.sample(rng)
    assert space.configuration(space.index(configuration)) == configuration
    space.check(space.mutate(configuration, rng))


def test_a_space_of_one_configuration_cannot_mutate() -> None:
    space = GridSpace([Ordinal("a", (1,))])
    with pytest.raises(UsageError, match="nothing can mutate"):
        space.mutate((0,), np.random.default_rng(0))


def test_rows_outside_the_grid_are_refused() -> None:
    for row in (-1, MIXED.size):
        with pytest.raises(IndexError):
            MIXED.configuration(row)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Integer("x", 0, 2**63),
        lambda: Integer("x", -(2**62), 2**62),  # more than Python counts
        lambda: Integer("x", 1, 10**400, log=True),
        lambda: Float("x", 1e-300, 1e300, log=True),
        lambda: Float("x", 0.0, math.inf),
        lambda: Float("x", -1e308, 1e308),
        lambda: Float("x", -math.inf, 0.0),
    ],
)
def test_ranges_that_cannot_be_drawn_from_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match="too large to be drawn from"):
        make()
    assert 0 <= draw(Integer("x", 0, 2**62), np.random.default_rng(0)) <= 2**62
    assert abs(draw(Float("x", -1e300, 1e300), np.random.default_rng(0))) <= 1e300

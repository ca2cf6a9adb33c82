from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces import Categorical, Float, ForeignConfiguration, Integer, ParameterSpace
from tests.benchmarks.mixed_space import SPACE

seeds = st.integers(0, 2**32)


@given(seeds)
def test_samples_belong_and_round_trip(seed: int) -> None:
    configuration = SPACE.sample(np.random.default_rng(seed))
    SPACE.check(configuration)
    values = SPACE.values(configuration)
    assert SPACE.from_values(values) == configuration
    of_numpy = {name: np.asarray(value)[()] for name, value in values.items()}
    assert json.loads(SPACE.to_json(SPACE.from_values(of_numpy))) == values
    assert json.loads(SPACE.to_json(configuration)) == values
    assert ("momentum" in values) == (values["optimizer"] == "sgd")
    assert ("warmup" in values) == (values["batch"] != 16)
    assert SPACE.at(SPACE.coordinates(configuration)) == configuration


def test_a_space_is_described_with_its_conditions() -> None:
    told = {name: values for name, _, values in SPACE.describe()}
    assert told["momentum"] == "[0.0, 0.9] (given optimizer = sgd)"
    assert told["warmup"] == "[1, 100] (given batch = 32 or 64)"
    assert told["optimizer"] == "sgd, adam"


@given(seeds)
def test_mutation_changes_one_choice_and_what_hangs_on_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = SPACE.sample(rng)
    child = SPACE.mutate(parent, rng)
    SPACE.check(child)
    changed = {h.name for h, a, b in zip(SPACE.hyperparameters, parent, child, strict=True) if a != b}
    assert changed in (
        {"lr"},
        {"momentum"},
        {"layers"},
        {"batch"},
        {"warmup"},
        {"optimizer", "momentum"},
        {"batch", "warmup"},
    )


def test_draws_are_uniform_on_their_own_scale() -> None:
    rng = np.random.default_rng(0)
    drawn = [SPACE.values(SPACE.sample(rng)) for _ in range(4000)]
    assert stats.kstest([np.log10(v["lr"]) for v in drawn], stats.uniform(-4, 4).cdf).pvalue > 0.001
    assert stats.chisquare(np.bincount([v["layers"] for v in drawn])[1:]).pvalue > 0.001
    # An integer on a log scale: the share of k is that of the reals that round to it.
    warmups = [v["warmup"] for v in drawn if "warmup" in v]
    edges = np.log([0.5, 1.5, 2.5, 5.5, 20.5, 100.5])
    expected = np.diff(edges) / (edges[-1] - edges[0]) * len(warmups)
    found = np.histogram(warmups, [1, 2, 3, 6, 21, 101])[0]
    assert stats.chisquare(found, expected).pvalue > 0.001


@pytest.mark.parametrize(
    "foreign",
    [
        (0, 0.1, 0.5, 0, 1),
        [0, 0.1, 0.5, 0, 1, None],
        (0, 0.1, None, 0, 1, None),  # sgd without its momentum
        (1, 0.1, 0.5, 0, 1, None),  # adam with one
        (1, 2.0, None, 0, 1, None),
        (1, 0.1, None, 3, 1, 5),
        (1, 0.1, None, 0, 1.0, None),
        (1, "x", None, 0, 1, None),
    ],
)
def test_foreign_configurations_are_refused(foreign: object) -> None:
    with pytest.raises(ForeignConfiguration):
        SPACE.check(foreign)


def test_malformed_spaces_and_values_are_refused() -> None:
    for make in (
        lambda: ParameterSpace([]),
        lambda: Float("x", 1.0, 1.0),
        lambda: Float("x", 0.0, 1.0, log=True),
        lambda: Integer("x", 3, 2),
        lambda: ParameterSpace([Float("x", 0, 1)], {"y": ("x", [1])}),
        lambda: ParameterSpace([Float("x", 0, 1), Float("y", 0, 1)], {"y": ("x", [1])}),
        lambda: ParameterSpace([Float("y", 0, 1), Categorical("x", (1,))], {"y": ("x", [1])}),
        lambda: ParameterSpace([Categorical("x", (1,)), Float("y", 0, 1)], {"y": ("x", [2])}),
        lambda: SPACE.from_values({"optimizer": "rmsprop"}),
        lambda: SPACE.from_values({"optimiser": "sgd"}),
        lambda: SPACE.from_values({"optimizer": "sgd"}),
    ):
        with pytest.raises(UsageError):
            make()

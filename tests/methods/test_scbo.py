"""SCBO: its process against other implementations, its trust region against the paper's rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from nasbench.benchmarks import Bound, Evaluation, Metric
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Integer, Ordinal, ParameterSpace
from nasbench.methods import METHODS, Observation, Problem
from nasbench.methods.mixed import Mixed
from nasbench.methods.scbo.search import SCBO, bilog, excesses, standardised, thompson
from nasbench.methods.scbo.trust_region import FIRST, LONGEST, TrustRegion, candidates, proportions
from nasbench.methods.surrogates.rows import RowProcess, _differences, _negative_likelihood
from tests.benchmarks.mixed_space import SPACE

KINDS = np.array([False, True, False, True])
GRID = GridSpace([Ordinal("a", tuple(range(8))), Ordinal("b", tuple(range(8))), Categorical("c", (0, 1, 2))])
BOUND = Bound(Metric("size", ""), 2.0, upper=True)
PROBLEM = Problem(GRID, (Metric("loss", ""),), (BOUND,))


def mixed_rows(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(KINDS, rng.integers(3, size=(n, 4)), rng.random((n, 4)))


def test_the_likelihood_is_that_of_the_normal_distribution_and_its_gradient_that_of_differences() -> None:
    rows = mixed_rows(12)
    targets = np.random.default_rng(1).standard_normal(12)
    process = RowProcess(KINDS)
    at = np.log([0.3, 0.7, 0.9, 0.2, 1.4, 0.05])
    process.parameters = at
    apart = _differences(rows, KINDS)
    value, gradient = _negative_likelihood(at, apart, KINDS, targets)
    covariance = process.covariance(rows, rows) + 0.05 * np.eye(12)
    means = np.linspace(-2, 2, 4001)  # the mean is the one under which the targets are most likely
    likelihoods = [multivariate_normal(np.full(12, mean), covariance).logpdf(targets) for mean in means]
    assert value == pytest.approx(-max(likelihoods), abs=1e-5)
    assert abs(means[np.argmax(likelihoods)]) > 0.05
    numerical = approx_fprime(at, lambda x: _negative_likelihood(x, apart, KINDS, targets)[0], 1e-6)
    assert gradient == pytest.approx(numerical, rel=1e-3, abs=1e-4)


def test_the_posterior_is_that_of_scikit_learn() -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    kernels = gaussian_process.kernels
    rng = np.random.default_rng(0)
    rows, targets, points = rng.random((15, 2)), rng.standard_normal(15), rng.random((6, 2))
    ours = RowProcess(np.array([False, False]))
    ours.fit(rows, targets)
    lengths, scale, noise = np.exp(ours.parameters[:2]), *np.exp(ours.parameters[2:])
    kernel = kernels.ConstantKernel(scale, "fixed") * kernels.Matern(lengths, "fixed", nu=2.5)
    level = ours.mean(np.full((1, 2), 1e9))[0]  # far from all observations
    assert abs(level) > 0.01
    theirs = gaussian_process.GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(rows, targets - level)
    mean, covariance = theirs.predict(points, return_cov=True)
    assert ours.mean(points) == pytest.approx(level + mean, abs=1e-6)
    assert ours.posterior(points)[0] == pytest.approx(level + mean, abs=1e-6)
    assert ours.posterior(points)[1] == pytest.approx(covariance, abs=1e-6)


def test_a_fit_raises_the_likelihood_and_stays_within_its_bounds() -> None:
    rows = mixed_rows(40)
    targets = np.sin(6 * rows[:, 0]) + (rows[:, 1] == 2)
    targets = (targets - targets.mean()) / targets.std()
    process = RowProcess(KINDS)
    before = _negative_likelihood(process.parameters, _differences(rows, KINDS), KINDS, targets)[0]
    process.fit(rows, targets)
    assert _negative_likelihood(process.parameters, _differences(rows, KINDS), KINDS, targets)[0] < before - 10
    assert process.mean(rows) == pytest.approx(targets, abs=0.1)
    relevant, irrelevant = process.parameters[0], process.parameters[2]
    assert relevant < irrelevant <= math.log(4) + 1e-9


def test_the_mean_is_that_of_generalised_least_squares() -> None:
    rows = np.random.default_rng(3).random((20, 2)) ** 3  # dense at one corner: its values count less each
    targets = 5 + rows[:, 0] + np.random.default_rng(4).standard_normal(20)
    process = RowProcess(np.array([False, False]))
    process.fit(rows, targets)
    inverse = np.linalg.inv(process.covariance(rows, rows) + math.exp(process.parameters[-1]) * np.eye(20))
    assert process.mean(np.full((1, 2), 1e9)) == pytest.approx(inverse.sum(axis=0) @ targets / inverse.sum())


def test_a_fit_leaves_a_poor_maximum_that_an_earlier_one_left_behind() -> None:
    rows = np.random.default_rng(0).random((60, 10))
    targets = standardised(((rows - 0.4) ** 2).sum(axis=1))
    fresh, stuck = RowProcess(np.zeros(10, bool)), RowProcess(np.zeros(10, bool))
    stuck.parameters = np.log([0.01] * 10 + [1.0, 1e-3])  # white noise: a maximum of its own
    for process in (fresh, stuck):
        process.fit(rows, targets)
    assert stuck.parameters == pytest.approx(fresh.parameters)


def test_draws_have_the_posterior_s_mean_and_covariance() -> None:
    rows, points = mixed_rows(10), mixed_rows(3, seed=5)
    process = RowProcess(KINDS)
    process.fit(rows, np.random.default_rng(2).standard_normal(10))
    rng = np.random.default_rng(0)
    draws = np.array([process.sample(points, rng.standard_normal(3)) for _ in range(4000)])
    mean, covariance = process.posterior(points)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.06)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.08)


def test_rows_of_configurations_come_back_and_what_is_absent_has_one_stand_in() -> None:
    flat, rng = SPACE.as_flat(), np.random.default_rng(0)
    mixed = Mixed(flat)
    for _ in range(200):
        configuration = SPACE.sample(rng)
        row = mixed.row(configuration)
        back = mixed.configuration(mixed.snapped(row[None])[0])
        SPACE.check(back)
        assert mixed.row(back) == pytest.approx(row)
        coordinates = list(flat.coordinates(configuration))
        assert [x is None for x in flat.coordinates(back)] == [x is None for x in coordinates]
        assert all(row[i] in (0.0, 0.5) for i, x in enumerate(coordinates) if x is None)
    drawn = np.where(mixed.categorical, 0, rng.random((300, len(mixed.levels))))
    snapped = mixed.snapped(drawn)
    assert mixed.snapped(snapped) == pytest.approx(snapped)
    for row in snapped:
        configuration = mixed.configuration(row)
        SPACE.check(configuration)
        assert mixed.row(configuration) == pytest.approx(row)


def test_the_region_doubles_after_successes_halves_after_failures_and_ends() -> None:
    region = TrustRegion(6)
    region.told((0.0, 10.0), counts=False)
    for objective, length in ((9.0, FIRST), (8.0, FIRST), (7.0, LONGEST), (6.0, LONGEST), (5.0, LONGEST)):
        region.told((0.0, objective), counts=True)
        assert region.length == length  # three successes double it
    region.told((0.0, 4.0), counts=True)
    assert region.length == LONGEST  # no side is longer
    region = TrustRegion(6, best=(0.0, 1.0))
    for _ in range(6):
        assert region.length == FIRST
        region.told((0.0, 0.9995), counts=True)  # better by less than a thousandth
    assert region.length == FIRST / 2
    failures = 6
    while not region.over:
        region.told((0.0, 2.0), counts=True)
        failures += 1
    assert failures == 7 * 6  # 0.8 / 2^7 is the first below 2^-7


def test_success_is_less_violation_until_something_is_feasible() -> None:
    region = TrustRegion(2, best=(0.5, 1.0))
    region.told((0.4, 9.0), counts=True)
    region.told((0.0, 9.0), counts=True)
    assert region.successes == 2
    region.told((0.1, 1.0), counts=True)
    assert (region.successes, region.failures) == (0, 1)


@pytest.mark.parametrize(("length", "categories"), [(0.8, 4), (0.4, 2), (0.1, 1)])
def test_candidates_lie_inside_the_box_and_the_hamming_ball(length: float, categories: int) -> None:
    space = ParameterSpace(
        [Float("x", 0.0, 1.0), Ordinal("o", tuple(range(5))), *(Categorical(f"c{i}", (0, 1, 2)) for i in range(4))]
    )
    mixed, rng = Mixed(space.as_flat()), np.random.default_rng(0)
    centre = mixed.row(space.sample(rng))
    rows = candidates(mixed, centre, np.array([0.5, 2.0]), length, 10, rng)
    assert len(np.unique(rows, axis=0)) == len(rows) > 300
    reach = np.abs(rows[:, 0] - centre[0]).max()
    assert 0.95 * 0.5 * length / 2 < reach <= 0.5 * length / 2
    assert 0.19 < np.abs(rows[:, 1] - centre[1]).max() <= max(2 * length / 2, 0.2) + 1e-9  # one level at least
    differing = (rows[:, 2:] != centre[2:]).sum(axis=1)
    assert differing.max() == categories
    for row in rows[:50]:
        space.check(mixed.configuration(row))


def test_a_grid_s_last_box_is_the_centre_s_neighbours() -> None:
    space = GridSpace([Categorical(f"c{i}", tuple(range(5))) for i in range(6)])
    mixed = Mixed(space.as_flat())
    rows = candidates(mixed, mixed.row((0,) * 6), np.ones(0), 0.01, 10, np.random.default_rng(0))
    assert len(rows) == 24
    ordered = Mixed(GridSpace([Ordinal(f"o{i}", tuple(range(9))) for i in range(2)]).as_flat())
    rows = candidates(ordered, ordered.row((4, 4)), np.ones(2), 0.01, 10, np.random.default_rng(0))
    assert len(rows) == 9  # eight, and the centre itself


def test_a_draw_chooses_the_best_feasible_else_the_least_violation() -> None:
    objective = np.array([3.0, 1.0, 2.0])
    assert thompson(objective, np.empty((0, 3))) == 1
    assert thompson(objective, np.array([[-1.0, 0.5, 0.0]])) == 2
    assert thompson(objective, np.array([[0.1, 0.5, 0.2], [0.5, -9.0, 0.2]])) == 2


def test_the_box_is_long_where_the_objective_varies_slowly() -> None:
    sides = proportions(np.array([0.1, 0.5, 0.4, 1.6]), np.array([True, False, True, True]))
    assert sides == pytest.approx([0.25, 1.0, 1.0, 4.0])  # the second column has one level
    assert np.prod(sides) == pytest.approx(1.0)
    assert proportions(np.ones(0), np.ones(0, bool)).shape == (0,)
    process = RowProcess(np.array([False, False]))
    rows = np.random.default_rng(0).random((60, 2))
    process.fit(rows, standardised(np.sin(12 * rows[:, 0])))
    assert process.lengths[1] > 4 * process.lengths[0]


def test_objectives_are_standardised_and_excesses_take_the_signed_logarithm() -> None:
    assert standardised(np.array([5.0, 7.0, 9.0])) == pytest.approx(np.sqrt(1.5) * np.array([-1.0, 0.0, 1.0]))
    assert standardised(np.array([4.0, 4.0])).tolist() == [0.0, 0.0]
    assert [bilog(y) for y in (-1.0, 0.0, math.e - 1)] == pytest.approx([-math.log(2), 0.0, 1.0])
    lower = Bound(Metric("accuracy", "%", minimize=False), 50.0, upper=False)
    assert lower.excess(40.0) == pytest.approx(0.2)
    assert Bound(Metric("size", ""), 0.0, upper=True).excess(3.0) == 3.0


def searched(n: int, seed: int = 0, initial: int = 10) -> tuple[SCBO, list[tuple[int, ...]]]:
    method = METHODS.get("scbo")(PROBLEM, np.random.default_rng(seed), initial=initial)
    assert isinstance(method, SCBO)
    asked = []
    for _ in range(n):
        a, b, c = configuration = method.ask()
        GRID.check(configuration)
        asked.append(configuration)
        metrics = {"loss": 20.0 - a - b + 3.0 * (c != 1), "size": float(a)}
        method.tell(Observation(configuration, Evaluation(metrics, 1.0), BOUND.holds(metrics["size"])))
    return method, asked


def test_it_finds_the_feasible_optimum_and_proposes_mostly_what_is_feasible() -> None:
    best = [(2, 7, 1) in searched(40, seed)[1] for seed in range(4)]
    assert sum(best) >= 3  # one of 192: chance 0.2 each
    _, asked = searched(30)
    assert np.mean([a <= 2 for a, _, _ in asked[10:]]) > 0.6  # chance: 3 of 8


def test_it_repeats_nothing_until_everything_was_proposed() -> None:
    tiny = GridSpace([Ordinal("a", (1, 2, 3)), Categorical("c", (0, 1, 2))])
    method = METHODS.get("scbo")(Problem(tiny, (Metric("loss", ""),)), np.random.default_rng(0), initial=2)
    asked = []
    for _ in range(14):
        configuration = method.ask()
        asked.append(configuration)
        method.tell(Observation(configuration, Evaluation({"loss": float(sum(configuration))}, 1.0), True))
    assert len(set(asked[:9])) == 9


def test_failures_count_as_the_worst_excess_and_refusals_by_what_is_known() -> None:
    nan, status = math.nan, ("ok", "failed", "infeasible", "infeasible")
    evaluations = [
        Evaluation({"loss": 1.0, "size": size}, 1.0, s, "" if s == "ok" else "x")  # type: ignore[arg-type]
        for s, size in zip(status, (1.0, nan, 4.0, nan), strict=True)
    ]
    told = [Observation((0, 0, 0), evaluation, False) for evaluation in evaluations]
    assert excesses(BOUND, told) == pytest.approx([-math.log(1.5), math.log(2), math.log(2), nan], nan_ok=True)


def test_searches_go_on_through_failures_and_refusals() -> None:
    nan = math.nan
    method = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0), initial=4, power=5)
    for number in range(20):
        configuration: Any = method.ask()
        size = float(configuration[0])
        evaluation = [
            Evaluation({"loss": nan, "size": nan}, 0.0, "failed", "x"),
            Evaluation({"loss": nan, "size": size}, 0.0, "infeasible", "x"),
            Evaluation({"loss": float(configuration[1]), "size": size}, 1.0),
        ][number % 3]
        method.tell(Observation(configuration, evaluation, evaluation.status == "ok" and size <= 2))


def test_one_dimension_is_searched_and_so_are_conditions() -> None:
    for space in (ParameterSpace([Float("x", 1e-3, 1.0, log=True)]), SPACE):
        method = METHODS.get("scbo")(
            Problem(space, (Metric("loss", ""),)), np.random.default_rng(0), initial=3, power=6
        )
        for number in range(8):
            configuration = method.ask()
            space.check(configuration)
            method.tell(Observation(configuration, Evaluation({"loss": float(number % 3)}, 1.0), True))


def test_a_region_that_is_over_drops_its_models_and_begins_at_random() -> None:
    method, _ = searched(14)
    method._region.length = 1e-3
    told = Evaluation({"loss": 1.0, "size": 1.0}, 1.0)
    late = method.ask()
    assert method._number == 1 and not method._told
    method.tell(Observation(late, told, True))
    assert len(method._told) == 1
    pending = method.ask()
    method._region.length = 1e-3
    method.ask()
    method.tell(Observation(pending, told, True))  # asked in the region before
    assert not method._told


def test_what_is_redrawn_at_least_is_no_constant() -> None:
    """Forty hyper-parameters of one level beside one number: no candidate is the centre itself."""
    constants = [Ordinal(f"o{i}", (1,)) for i in range(40)]
    mixed, rng = Mixed(ParameterSpace([Float("x", 0.0, 1.0), *constants]).as_flat()), np.random.default_rng(0)
    centre = mixed.row((0.5, *[0] * 40))
    rows = candidates(mixed, centre, np.ones(41), 0.8, 6, rng)
    assert len(rows) == 64
    assert not (rows == centre).all(axis=1).any()


@pytest.mark.parametrize("high", [2**53 + 3, 2**60 - 1, 2**62 - 1])
def test_the_ends_of_a_range_that_floats_cannot_hold_are_members(high: int) -> None:
    space = ParameterSpace([Integer("i", 0, high)])
    mixed = Mixed(space.as_flat())
    for u in (0.0, 1.0):
        configuration = mixed.configuration(mixed.snapped(np.array([[u]]))[0])
        space.check(configuration)
        assert abs(configuration[0] - u * high) <= 2**10

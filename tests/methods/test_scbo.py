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
from nasbench.methods import METHODS, MethodSpec, Observation, Problem
from nasbench.methods.gaussian.scbo import search
from nasbench.methods.gaussian.scbo.search import SCBO, bilog, excesses, standardised, thompson
from nasbench.methods.gaussian.scbo.trust_region import FIRST, LONGEST, TrustRegion, candidates, proportions
from nasbench.methods.mixed import Mixed
from nasbench.methods.surrogates.rows import RowProcess, _differences, _negative_likelihood
from tests.benchmarks.mixed_space import SPACE

KINDS = np.array([False, True, False, True])
GRID = GridSpace([Ordinal("a", tuple(range(8))), Ordinal("b", tuple(range(8))), Categorical("c", (0, 1, 2))])
BOUND = Bound(Metric("size", ""), high=2.0)
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
    lower = Bound(Metric("accuracy", "%", minimize=False), low=50.0)
    assert lower.excess(40.0) == pytest.approx(0.2)
    assert Bound(Metric("size", ""), high=0.0).excess(3.0) == 3.0


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


def seen_at(configuration: tuple[int, int, int], loss: float, size: float, status: Any = "ok") -> Observation:
    evaluation = Evaluation({"loss": loss, "size": size}, 1.0, status, "" if status == "ok" else "boom")
    return Observation(configuration, evaluation, BOUND.holds(size))


def centre(told: list[Observation]) -> tuple[int, ...]:
    """The configuration around which a search stands whose process takes half of what varies for noise."""
    method: Any = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0))
    method._told = told
    rows = np.array([method._mixed.row(o.configuration) for o in told])
    method._processes[0].parameters = np.log([0.3, 0.3, 1.0, 1.0, 1.0])
    ok = [o.evaluation.status == "ok" for o in told]
    if any(ok):
        method._processes[0]._condition(rows[ok], standardised(np.array([o.objective for o in told])[ok]))
    found: tuple[int, ...] = method._mixed.configuration(method._centre(rows))
    return found


def test_the_box_stands_around_the_best_posterior_mean_of_what_is_feasible_not_around_a_lucky_value() -> None:
    """A value of 0 lies among neighbours of 10, and values of 2 lie beside each other."""
    lucky = [seen_at((0, 7, 0), 0.0, 1.0)]
    unlucky = [seen_at((a, b, 0), 10.0, 1.0) for a, b in ((0, 6), (1, 7), (1, 6), (2, 7), (0, 5))]
    steady = [seen_at((a, b, 0), 2.0, 1.0) for a, b in ((0, 0), (2, 0), (1, 1), (1, 0))]
    violating = [seen_at((7, b, 0), -5.0, 9.0) for b in (2, 3, 4)]
    assert centre(lucky + unlucky + violating + steady) in [o.configuration for o in steady]


def test_while_nothing_is_feasible_the_box_stands_around_the_least_violation_and_among_equals_the_lower_value() -> None:
    told = [seen_at((7, 0, 0), 0.0, 5.0), seen_at((3, 1, 1), 9.0, 3.0), seen_at((3, 2, 2), 4.0, 3.0)]
    assert centre([*told, seen_at((5, 5, 1), 6.0, 4.0)]) == (3, 2, 2)
    assert centre([seen_at((1, 1, 1), math.nan, math.nan, "failed"), *told]) == (3, 2, 2)


@pytest.mark.parametrize(("d", "successes", "failures"), [(2, 3, 4), (4, 3, 4), (30, 3, 30), (31, 4, 31), (45, 5, 45)])
def test_the_box_doubles_after_a_tenth_of_the_dimensions_and_halves_after_as_many_as_there_are(
    d: int, successes: int, failures: int
) -> None:
    """But not before three and four; each change of the length begins the counting anew."""
    region = TrustRegion(d, length=0.1, best=(0.0, 1000.0))
    for number in range(1, 2 * successes + 1):
        region.told((0.0, 1000.0 - 10 * number), counts=True)
        assert region.length == pytest.approx(0.1 * 2 ** (number // successes))
    for number in range(1, 2 * failures + 1):
        region.told((0.0, 2000.0), counts=True)
        assert region.length == pytest.approx(0.4 / 2 ** (number // failures))


def test_the_box_begins_with_four_fifths_of_the_range_doubles_once_and_ends_below_a_128th() -> None:
    region = TrustRegion(2, best=(0.0, 1000.0))
    lengths = [region.length]
    for number in range(1, 7):
        region.told((0.0, 1000.0 - 10 * number), counts=True)
        lengths.append(region.length)
    assert lengths == [0.8, 0.8, 0.8, 1.6, 1.6, 1.6, 1.6]
    assert [TrustRegion(2, length).over for length in (1 / 127, 1 / 128, 1 / 129)] == [False, False, True]


def test_successes_and_failures_count_while_they_are_consecutive() -> None:
    region = TrustRegion(4, best=(0.0, 1000.0))
    best = 1000.0
    for outcome in ("success", "success", "failure", "success", "success", *["failure"] * 3, "success", "failure"):
        best -= 10.0 * (outcome == "success")
        region.told((0.0, best), counts=True)
        assert region.length == FIRST
    assert (region.successes, region.failures) == (0, 1)


def test_a_success_is_better_than_the_best_so_far_by_a_thousandth_of_its_size() -> None:
    """Also where objectives are negative; and the best so far may be one that was drawn at random."""
    for best, barely, clearly in ((10.0, 9.991, 9.989), (-10.0, -10.009, -10.011), (0.0, 0.0, -1e-9)):
        region = TrustRegion(4)
        region.told((0.0, 50.0), counts=False)
        region.told((0.0, best), counts=False)
        region.told((0.0, best + 5.0), counts=False)
        assert (region.successes, region.failures) == (0, 0)
        region.told((0.0, barely), counts=True)
        assert (region.successes, region.failures) == (0, 1)
        region = TrustRegion(4, best=(0.0, best))
        region.told((0.0, clearly), counts=True)
        assert (region.successes, region.failures) == (1, 0)


def test_proposals_count_and_the_random_beginning_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[bool] = []
    monkeypatch.setattr(TrustRegion, "told", lambda region, rank, counts: counted.append(counts))
    searched(7, initial=4)
    assert counted == [False] * 4 + [True] * 3


def test_a_dimension_of_one_value_does_not_make_the_box_more_patient() -> None:
    constants = [Ordinal(f"o{i}", (1,)) for i in range(9)]
    space = ParameterSpace([Float("x", 0.0, 1.0), Categorical("c", (1, 2)), *constants])
    method: Any = METHODS.get("scbo")(Problem(space, (Metric("loss", ""),)), np.random.default_rng(0))
    assert method._region.d == 2


def test_the_beginning_goes_on_until_two_evaluations_are_ok() -> None:
    method: Any = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0), initial=2, power=4)
    for _ in range(6):
        method.tell(seen_at(method.ask(), math.nan, math.nan, "failed"))
    for _ in range(2):
        assert not list(method._pending) and not method._region.failures
        method.tell(seen_at(method.ask(), 1.0, 1.0))
    method.ask()
    assert [inside for _, (_, inside) in method._pending] == [True]


@pytest.mark.parametrize("step", [1.0, 1e-4])
def test_a_constraint_is_drawn_in_the_unit_of_its_transformed_excess_however_little_it_varies(step: float) -> None:
    """Drawn where it was observed without noise: within a fraction of what was observed."""
    method: Any = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0))
    excess = {a: step * (a - 2) / 2 for a in range(8)}
    method._told = [seen_at((a, b, 0), 1.0, 2 + 2 * excess[a]) for a in range(8) for b in (0, 4)]
    rows = np.array([method._mixed.row(o.configuration) for o in method._told])
    drawn = method._excess(method._processes[1], BOUND, rows, rows[:0], rows)
    expected = [math.copysign(math.log1p(abs(x)), x) for x in excess.values() for _ in (0, 4)]
    assert drawn == pytest.approx(expected, abs=0.1 * step)
    method._told = [seen_at((a, 0, 0), 1.0, 4.0) for a in range(8)]
    assert method._excess(method._processes[1], BOUND, rows[::2], rows[:0], rows[::2]) == pytest.approx(
        np.full(8, math.log(2)), abs=0.05
    )


def test_a_small_box_proposes_neighbours_of_its_centre_alone() -> None:
    method, asked = searched(14)
    method._region.length = 0.05
    rows = np.array([method._mixed.row(o.configuration) for o in method._told])
    method._proposal()
    a, b, _ = method._mixed.configuration(method._centre(rows))
    for _ in range(6):
        near = method.ask()
        assert max(abs(near[0] - a), abs(near[1] - b)) <= 1
        assert near not in asked


def test_the_box_is_stretched_by_the_length_scales_of_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(search, "candidates", lambda *arguments: (given.append(arguments), candidates(*arguments))[1])
    method: Any = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0), initial=14, power=5)
    for _ in range(14):
        a, b, c = method.ask()
        method.tell(seen_at((a, b, c), float((a - 3) ** 2), 1.0))
    method._region.length = 0.4
    method.ask()
    _, _, sides, length, _, _ = given[-1]
    lengths = method._processes[0].lengths
    assert length == 0.4
    assert sides[0] / sides[1] == pytest.approx(lengths[0] / lengths[1])
    assert sides[0] * sides[1] == pytest.approx(1.0)
    assert lengths[1] > 1.5 * lengths[0]


def test_of_many_dimensions_about_twenty_are_redrawn_at_once() -> None:
    mixed = Mixed(ParameterSpace([Float(f"x{i}", 0.0, 1.0) for i in range(50)]).as_flat())
    rows = candidates(mixed, np.full(50, 0.5), np.ones(50), 0.8, 8, np.random.default_rng(0))
    assert (rows != 0.5).sum(axis=1).mean() == pytest.approx(20.6, abs=1.0)  # 20, and one more that may be one of them


def test_turbo_is_scbo_without_constraints_whatever_is_constrained() -> None:
    loose, bound = Problem(GRID, (Metric("loss", ""),)), Bound(Metric("size", ""), high=1.0)
    tight = Problem(GRID, (Metric("loss", ""),), (bound,))
    asked: dict[str, list[Any]] = {}
    for name, problem in (("scbo", loose), ("turbo", loose), ("turbo", tight)):
        method = MethodSpec.parse(f"{name}:initial=5,power=6").build(problem, np.random.default_rng(3))
        proposals = asked.setdefault(f"{name} {len(problem.constraints)}", [])
        for _ in range(15):
            proposals.append(configuration := method.ask())
            a = float(sum(configuration))
            feasible = not problem.constraints or bound.holds(a)
            method.tell(Observation(configuration, Evaluation({"loss": (a - 7) ** 2, "size": a}, 1.0), feasible))
    assert asked["scbo 0"] == asked["turbo 0"] == asked["turbo 1"]

"""BOHB's kernel densities, against statsmodels and SciPy."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import Bound, Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Ordinal, ParameterSpace
from nasbench.benchmarks.spaces.listed import listed
from nasbench.methods import Observation, Problem
from nasbench.methods.fidelity.bohb import BOHB, CBOHB
from nasbench.methods.fidelity.densities import Densities, Density
from nasbench.methods.tpe.tpe import CTPE
from tests.benchmarks.mixed_space import SPACE

NONE = np.zeros(3, np.int64)


def test_densities_of_numbers_are_those_of_statsmodels() -> None:
    kde = pytest.importorskip("statsmodels.nonparametric.kernel_density").KDEMultivariate
    rng = np.random.default_rng(0)
    rows, points = rng.random((9, 3)), rng.random((20, 3))
    ours, theirs = Density(rows, NONE), kde(rows, var_type="ccc", bw="normal_reference")
    assert ours.bandwidths == pytest.approx(theirs.bw)
    assert ours.at(points) == pytest.approx(theirs.pdf(points))


def test_densities_of_categories_are_those_of_statsmodels_below_the_flat_bandwidth() -> None:
    kde = pytest.importorskip("statsmodels.nonparametric.kernel_density").KDEMultivariate
    rows = np.array([[0.1, 0], [0.4, 1], [0.2, 0], [0.9, 0], [0.3, 0], [0.7, 0]])
    ours, theirs = Density(rows, np.array([0, 3])), kde(rows, var_type="cu", bw="normal_reference")
    assert ours.bandwidths == pytest.approx(theirs.bw)
    seen = rows[[0, 1]]  # statsmodels counts the categories that it has seen, two; ours are three
    kernels = [np.where(rows[:, 1] == c, 1 - theirs.bw[1], theirs.bw[1] / 2) for c in (0, 1)]
    normal = [stats.norm.pdf(x, rows[:, 0], theirs.bw[0]) for x in seen[:, 0]]
    assert ours.at(seen) == pytest.approx([(k * n).mean() for k, n in zip(kernels, normal, strict=True)])
    far = Density(np.array([[0.0], [4.0], [0.0], [4.0]]), np.array([5]))  # 1.68 in HpBandSter
    assert far.bandwidths == pytest.approx([0.8])
    assert far.at(np.array([[0.0], [1.0]])) == pytest.approx([0.2, 0.2])


def test_candidates_are_truncated_normals_around_observations() -> None:
    density = Density(np.array([[0.1], [0.2]]), NONE[:1])
    drawn = density.drawn(20_000, np.random.default_rng(1))[:, 0]
    wide = 3 * density.bandwidths[0]
    parts = [stats.truncnorm(-m / wide, (1 - m) / wide, m, wide) for m in (0.1, 0.2)]
    assert stats.kstest(drawn, lambda x: sum(part.cdf(x) for part in parts) / 2).pvalue > 0.01


def test_a_category_is_kept_or_any_with_its_bandwidth() -> None:
    density = Density(np.array([[1.0], [1.0], [1.0], [2.0]]), np.array([4]))
    drawn = density.drawn(20_000, np.random.default_rng(2))[:, 0]
    width = density.bandwidths[0]
    expected = (1 - width) * np.array([0, 0.75, 0.25, 0]) + width / 4
    assert np.bincount(drawn.astype(int), minlength=4) / 20_000 == pytest.approx(expected, abs=0.015)


def told(problem: Problem, configurations: list[tuple[object, ...]], losses: list[float]) -> Densities:
    found = Densities(problem, np.random.default_rng(0))
    for i, (configuration, loss) in enumerate(zip(configurations, losses, strict=True)):
        evaluation = Evaluation({"loss": loss}, 1.0, "ok" if math.isfinite(loss) else "failed")
        found.tell(Observation(configuration, evaluation, True, trial=i))
    return found


@pytest.mark.parametrize(("count", "good"), [(8, 3), (40, 6)])
def test_the_best_of_64_candidates_is_proposed_of_which_observations_are_good(count: int, good: int) -> None:
    """At least d + 1 are, or 15 % where these are more; a failed one is not. Densities here are statsmodels'."""
    kde = pytest.importorskip("statsmodels.nonparametric.kernel_density").KDEMultivariate
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)]), (Metric("loss", ""),))
    rng = np.random.default_rng(3)
    places, losses = rng.random((count, 2)), rng.random(count)
    losses[losses.argmin()] = math.inf
    densities = told(problem, [tuple(place) for place in places.tolist()], losses.tolist())
    rows = places[np.argsort(losses)]
    candidates = Density(rows[:good], NONE[:2]).drawn(64, np.random.default_rng(0))
    p_good, p_bad = (
        np.maximum(kde(part, "cc", bw="normal_reference").pdf(candidates), 1e-32) for part in (rows[:good], rows[good:])
    )
    assert densities.suggestion() == pytest.approx(tuple(candidates[(p_bad / p_good).argmin()]))


def test_spaces_of_every_kind_and_with_absent_hyper_parameters_are_proposed_from() -> None:
    mixed = GridSpace([Ordinal("width", (16, 32, 64)), Categorical("op", ("a", "b", "c"))])
    for space in (SPACE, mixed):
        problem = Problem(space, (Metric("loss", ""),))
        rng = np.random.default_rng(4)
        drawn = [space.sample(rng) for _ in range(30)]
        densities = told(problem, drawn, rng.random(30).tolist())
        for _ in range(20):
            space.check(densities.suggestion())


def test_what_is_absent_is_filled_from_those_that_have_it() -> None:
    """So no observation without a hyper-parameter says anything about its value."""
    problem = Problem(SPACE, (Metric("loss", ""),))
    rng = np.random.default_rng(5)
    drawn = [SPACE.sample(rng) for _ in range(40)]
    densities = told(problem, drawn, rng.random(40).tolist())
    rows = densities._density(np.arange(40))._rows
    flat = SPACE.as_flat()
    absent = np.array([[x is None for x in flat.coordinates(c)] for c in drawn])
    assert absent.any()
    for d in np.flatnonzero(absent.any(0)):
        assert set(rows[absent[:, d], d]) <= set(rows[~absent[:, d], d])


def test_a_failure_is_known_at_the_level_where_it_failed_and_a_refusal_at_the_lowest() -> None:
    problem = Problem(SPACE, (Metric("loss", ""),), fidelity=Fidelity("epochs", "1 epoch", tuple(range(1, 10))))
    method = BOHB(problem, np.random.default_rng(0))
    for trial, (status, epochs) in enumerate((("failed", 9), ("infeasible", 9), ("ok", 3))):
        asked = method.ask()
        loss = 1.0 if status == "ok" else math.nan
        evaluation = Evaluation({"loss": loss}, 1.0, status)  # type: ignore[arg-type]
        method.tell(Observation(asked.configuration, evaluation, False, Level(epochs=epochs), trial))
    assert method._told == {Level(epochs=epochs): 1 for epochs in (1, 3, 9)}


def test_a_row_that_one_level_was_told_of_is_given_to_no_other() -> None:
    points = np.random.default_rng(0).random((60, 2))
    space = listed([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)], points)
    problem = Problem(space, (Metric("loss", ""),))
    one, other = (Densities(problem, np.random.default_rng(0)) for _ in range(2))
    for row in range(30):
        one.tell(Observation(row, Evaluation({"loss": float(row)}, 1.0), True, Level(epochs=1), row))
    for row in range(30, 40):
        other.tell(Observation(row, Evaluation({"loss": float(row)}, 1.0), True, Level(epochs=3), row))
    assert {other.suggestion() for _ in range(20)} == set(range(40, 60))


def test_the_share_of_random_configurations_is_that_of_the_option_under_a_bound_too() -> None:
    """Random ones keep it one time in ten, the model's always: they are drawn again, and so is no coin."""
    metric = Metric("size", "", cheap=True)
    problem = Problem(
        ParameterSpace([Float("x", 0.0, 1.0)]),
        (Metric("loss", ""),),
        (Bound(metric, high=0.1),),
        known=lambda metric, configuration: configuration[0],
        fidelity=Fidelity("epochs", "1 epoch", (1, 3, 9)),
    )
    method = CBOHB(problem, np.random.default_rng(0))
    drawn = {"model": 0, "random": 0}

    def suggestion(pending: object = ()) -> tuple[float]:
        drawn["model"] += 1
        return (0.05,)

    method._told = dict.fromkeys(method._told, 100)
    method._models = dict.fromkeys(method._models, SimpleNamespace(suggestion=suggestion))  # type: ignore[assignment]
    count = 600
    kept = [method.draw(()) for _ in range(count)]
    assert all(x <= 0.1 for (x,) in kept)
    assert drawn["model"] == sum(x == 0.05 for (x,) in kept)
    assert 1 - drawn["model"] / count == pytest.approx(1 / 3, abs=0.06)


def test_the_bandwidth_of_equal_numbers_is_not_zero() -> None:
    density = Density(np.full((4, 1), 0.5), NONE[:1])
    assert density.bandwidths.tolist() == [1e-3]
    assert np.isfinite(density.at(np.array([[0.5], [0.6]]))).all()


@pytest.mark.parametrize(
    ("counts", "level"), [((5, 0, 0), None), ((6, 0, 0), 1), ((9, 6, 0), 3), ((9, 6, 5), 3), ((9, 6, 6), 9)]
)
def test_the_highest_level_with_enough_observations_is_drawn_from(counts: tuple[int, ...], level: int | None) -> None:
    """With two hyper-parameters 2 (2 + 1) observations are enough."""
    space = ParameterSpace([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)])
    problem = Problem(space, (Metric("loss", ""),), fidelity=Fidelity("epochs", "1 epoch", (1, 3, 9)))
    method, asked = BOHB(problem, np.random.default_rng(0), explore=0.0), list[int]()

    def model(epochs: int) -> SimpleNamespace:
        return SimpleNamespace(suggestion=lambda pending: (asked.append(epochs), (0.5, 0.5))[1])

    method._told = dict(zip(method._levels, counts, strict=True))
    method._models = {own: model(own["epochs"]) for own in method._levels}  # type: ignore[assignment]
    method.draw(method._levels[0])
    assert asked == ([] if level is None else [level])


def test_the_model_of_c_bohb_is_c_tpe_where_there_is_a_constraint() -> None:
    bound, fidelity = Bound(Metric("time", "s"), high=0.5), Fidelity("epochs", "1 epoch", (1, 3, 9))
    method = CBOHB(Problem(SPACE, (Metric("loss", ""),), (bound,), fidelity=fidelity), np.random.default_rng(0))
    assert {type(model) for model in method._models.values()} == {CTPE}

"""RGPE: what is known of other tables, how processes are weighed, and what a search gains by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Bound, Evaluation, open_benchmark
from nasbench.benchmarks.knowledge import Knowledge
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.surrogates.acquisition import expected_improvement
from nasbench.methods.surrogates.rows import RowProcess
from nasbench.methods.transfer import rgpe
from nasbench.methods.transfer.rgpe import RGPE, losses, mixture, normal_scores, ranking_weights

NAVAL = open_benchmark("hpolib-naval")
NORMAL = np.random.default_rng(5).standard_normal


def fitted(rows: np.ndarray, values: np.ndarray) -> RowProcess:
    process = RowProcess(np.zeros(rows.shape[1], bool))
    process.fit(rows, values)
    return process


def test_other_tables_give_random_configurations_with_their_means_and_the_own_table_nothing() -> None:
    known = Knowledge(NAVAL).evaluated(40, np.random.default_rng(0))
    assert list(known) == ["hpolib-parkinsons", "hpolib-protein", "hpolib-slice"]
    for name, (configurations, objectives) in known.items():
        table = open_benchmark(name)
        assert len(set(configurations)) == 40
        means = [table.mean_metrics(c)[table.objective.name] for c in configurations]  # type: ignore[attr-defined]
        assert objectives.tolist() == means
    first, second = (known[name][0] for name in ("hpolib-protein", "hpolib-slice"))
    assert first != second


def test_a_table_with_fewer_configurations_gives_them_all_and_none_that_failed() -> None:
    peers = Knowledge(open_benchmark("nbgraph-cora")).evaluated(10**6, np.random.default_rng(0))
    means = open_benchmark("nbgraph-arxiv").all_means()[:, 0]  # type: ignore[attr-defined]
    assert len(peers["nbgraph-arxiv"][0]) == np.isfinite(means).sum()
    assert np.isfinite(peers["nbgraph-arxiv"][1]).all()


def test_normal_scores_are_the_quantiles_of_ranks_and_ties_share_one() -> None:
    assert normal_scores(np.array([5.0, -1e9, 7.0])) == pytest.approx([0.0, -0.967422, 0.967422], abs=1e-6)
    assert normal_scores(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]


def test_draws_without_a_value_are_those_of_a_process_of_the_others() -> None:
    rows = np.random.default_rng(1).random((7, 2))
    values = np.sin(5 * rows[:, 0]) + rows[:, 1]
    process = fitted(rows, values)
    process.parameters = np.log([0.4, 0.7, 1.5, 0.05])
    process._condition(rows, values)
    level = process.mean(np.full((1, 2), 1e9))[0]
    covariance = process.covariance(rows, rows)
    drawn = np.array(list(process.left_out(np.random.default_rng(0).standard_normal((2, 7, 50_000)))))
    assert drawn.shape == (7, 7, 50_000)
    for j in range(7):
        others = np.arange(7) != j
        observed = covariance[np.ix_(others, others)] + 0.05 * np.eye(6)
        weights = np.linalg.solve(observed, covariance[others])
        expected = covariance - covariance[:, others] @ weights
        assert drawn[j].mean(axis=1) == pytest.approx(level + weights.T @ (values[others] - level), abs=0.03)
        assert np.cov(drawn[j]) == pytest.approx(expected, abs=0.03)


def test_predictions_are_the_diagonal_of_the_posterior_and_draws_have_its_moments() -> None:
    rows, places = np.random.default_rng(2).random((2, 9, 3))
    process = fitted(rows, rows.sum(axis=1))
    mean, variance = process.predict(places)
    middle, covariance = process.posterior(places)
    assert mean == pytest.approx(middle)
    assert variance == pytest.approx(np.diag(covariance), abs=1e-9)
    drawn = process.sample(places, np.random.default_rng(0).standard_normal((9, 20_000)))
    assert drawn.shape == (9, 20_000)
    assert drawn.mean(axis=1) == pytest.approx(mean, abs=5 * np.sqrt(variance.max() / 20_000))
    assert np.cov(drawn) == pytest.approx(covariance, abs=0.05 * variance.max())
    one = NORMAL(9)
    assert process.sample(places, one) == pytest.approx(process.sample(places, one[:, None])[:, 0])


def test_losses_count_misranked_pairs_and_an_opposite_task_misranks_all() -> None:
    rows = np.linspace(0, 1, 8)[:, None]
    values = rows[:, 0]
    alike, opposite, own = fitted(rows, values), fitted(rows, -values), fitted(rows, values)
    counted = losses([alike, opposite, own], rows, values, np.random.default_rng(0))
    assert counted.shape == (3, 256)
    assert counted[0].max() <= 4
    assert counted[1].min() >= 52  # of 56 ordered pairs


def test_the_own_process_is_judged_on_each_value_by_the_others() -> None:
    rows, noise = np.linspace(0, 1, 12)[:, None], np.random.default_rng(4).standard_normal(12)
    own = fitted(rows, noise)
    own.parameters = np.log([0.05, 1.0, 1e-6])  # it passes through every value, and knows nothing between them
    own._condition(rows, noise)
    (counted,) = losses([own], rows, noise, np.random.default_rng(0))
    assert 37 < counted.mean() < 51  # a third of 132 ordered pairs: a random place among the others


def test_equal_values_say_nothing_in_any_order() -> None:
    rows, values = np.linspace(0, 1, 10)[:, None], np.array([0.0] * 9 + [1.0])
    for turned in (slice(None), slice(None, None, -1)):
        rising, falling, own = (fitted(rows, v) for v in (rows[:, 0], -rows[:, 0], values))
        counted = losses([rising, falling, own], rows[turned], values[turned], np.random.default_rng(0))
        assert counted[0].mean() < 1  # of 18 ordered pairs with the last
        assert counted[1].mean() > 17
    assert losses([rising, own], rows, np.zeros(10), np.random.default_rng(0)).tolist() == [[0] * 256] * 2


def test_weights_are_shares_of_draws_in_which_a_process_ranks_best() -> None:
    counted = np.array([[0, 3, 5, 5], [2, 3, 4, 9], [4, 6, 4, 4]])
    # Won: draw 1 by the first, draw 2 by both, draw 3 by the second and the third, draw 4 by the third.
    assert ranking_weights(counted).tolist() == [1.5 / 4, 1 / 4, 1.5 / 4]


def test_a_task_that_mostly_ranks_worse_than_the_own_process_weighs_nothing() -> None:
    counted = np.array([[0, 9, 9, 9], [5, 5, 5, 6]])
    assert ranking_weights(counted).tolist() == [0.0, 1.0]
    assert ranking_weights(np.array([[9, 9], [9, 9]])).tolist() == [0.5, 0.5]


def test_a_mixture_weighs_means_and_squares_weights_of_variances() -> None:
    rows, places = np.random.default_rng(3).random((2, 6, 1))
    one, two = fitted(rows, np.cos(rows[:, 0])), fitted(rows, NORMAL(6))
    mean, deviation = mixture([one, two], np.array([0.25, 0.75]), places)
    (a, v), (b, w) = one.predict(places), two.predict(places)
    assert mean == pytest.approx(0.25 * a + 0.75 * b)
    assert deviation**2 == pytest.approx(0.0625 * v + 0.5625 * w)


def search(method: str, seed: int, evals: int = 12, bounds: tuple[Bound, ...] = ()) -> tuple[float, list[object]]:
    """The best feasible mean that a search finds, and what it asked for."""
    searcher = MethodSpec.parse(method).build(Problem.of(NAVAL, bounds), np.random.default_rng(seed))
    asked, best = list[object](), np.inf
    for i in range(evals):
        asked.append(searcher.ask())
        evaluation = NAVAL.evaluate(asked[-1], i)
        feasible = all(bound.holds(evaluation.metrics[bound.metric.name]) for bound in bounds)
        searcher.tell(Observation(asked[-1], evaluation, feasible))
        if feasible:
            best = min(best, NAVAL.mean_metrics(asked[-1])[NAVAL.objective.name])  # type: ignore[attr-defined]
    return best, asked


def test_a_search_with_related_tasks_is_better_than_a_random_one_and_proposes_nothing_twice() -> None:
    found = [search("rgpe:candidates=100", seed) for seed in range(3)]
    assert np.median([best for best, _ in found]) < min(search("random", seed)[0] for seed in range(5))
    assert all(len(set(asked)) == 12 for _, asked in found)


def test_constraints_are_learnt_from_own_observations() -> None:
    time = next(metric for metric in NAVAL.metrics if metric.name == "train_time")
    values = NAVAL.all_means()[:, NAVAL.column("train_time")]  # type: ignore[attr-defined]
    bound = Bound(time, high=float(np.quantile(values, 0.2)))
    _, asked = search("rgpe:candidates=100", 0, 30, (bound,))
    held = [bound.holds(NAVAL.mean_metrics(c)["train_time"]) for c in asked]  # type: ignore[attr-defined]
    assert sum(held[15:]) >= 8  # by chance 3


def test_it_needs_other_tables_and_sane_options() -> None:
    with pytest.raises(UsageError, match=r"known must lie in \[3, 100000\], not 2"):
        MethodSpec.parse("rgpe:known=2").build(Problem.of(NAVAL), np.random.default_rng(0))
    with pytest.raises(UsageError, match="learns from other tables on the same space, and there is none"):
        MethodSpec.parse("rgpe").build(Problem.of(open_benchmark("synthetic-tree")), np.random.default_rng(0))


def test_improvement_is_over_the_best_feasible_prediction_and_at_first_the_best_prediction_comes_first() -> None:
    """With fewer than three observations the other tasks weigh alike, and nothing is drawn."""
    method = RGPE(Problem.of(NAVAL), np.random.default_rng(0), known=20, candidates=60)
    told = []
    for number in range(2):
        configuration = method.ask()
        told.append(Observation(configuration, NAVAL.evaluate(configuration, number), True))
        method.tell(told[-1])
    rows, weights = method._rows(method._new()), np.full(3, 1 / 3)
    mean, deviation = mixture(method._others, weights, rows)
    assert method._acquisition(rows, []).argmax() == mean.argmin()
    predicted, _ = mixture(method._others, weights, method._rows([o.configuration for o in told]))
    assert method._acquisition(rows, told) == pytest.approx(expected_improvement(mean, deviation, predicted.min()))


def test_half_of_the_candidates_are_mutants_of_the_five_best() -> None:
    method = RGPE(Problem.of(NAVAL), np.random.default_rng(0), candidates=100)
    rng = np.random.default_rng(1)
    seen = [NAVAL.space.sample(rng) for _ in range(12)]
    for loss, configuration in reversed(list(enumerate(seen))):
        metrics = {NAVAL.objective.name: float(loss), "train_time": 1.0, "model_size": 1.0}
        method.tell(Observation(configuration, Evaluation(metrics, 1.0), True))
    candidates = method._new()
    near = [sum(sum(a != b for a, b in zip(c, own, strict=True)) == 1 for c in candidates) for own in seen]
    assert min(near[:5]) >= 5  # of ten, some of which are the same
    assert max(near[5:]) <= 2


def test_a_task_is_discarded_by_its_median_loss_above_the_own_losses_quantile_of_95_percent() -> None:
    """Own losses 0 to 19: the quantile is 18.05. Both tasks rank better than the own process in its last draws."""
    own = np.arange(20)
    assert ranking_weights(np.array([[18] * 20, own]))[0] == pytest.approx((1 / 2 + 1) / 20)
    assert ranking_weights(np.array([[19] * 20, own]))[0] == 0.0
    mostly, rarely = [18] * 11 + [1000] * 7 + [0] * 2, [0] * 9 + [19] * 11
    assert ranking_weights(np.array([mostly, rarely, own])).tolist() == pytest.approx([2 / 20, 0.0, 18 / 20])


def observed(method: RGPE, values: Sequence[tuple[float, float]], bound: Bound | None = None) -> list[Observation]:
    """Random configurations with these objectives and training times; those with neither have failed."""
    rng, told = np.random.default_rng(7), []
    for loss, seconds in values:
        status: Any = "ok" if np.isfinite(loss) else "failed"
        metrics = {NAVAL.objective.name: loss, "train_time": seconds, "model_size": 1.0}
        evaluation = Evaluation(metrics, 1.0, status, "" if status == "ok" else "boom")
        feasible = status == "ok" and (bound is None or bound.holds(seconds))
        told.append(Observation(NAVAL.space.sample(rng), evaluation, feasible))
        method.tell(told[-1])
    return told


TIME = next(metric for metric in NAVAL.metrics if metric.name == "train_time")


def test_from_three_observations_on_the_own_process_counts_and_the_chance_that_constraints_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worth by hand: the improvement of the weighed mixture over its best feasible mean, times the chance."""
    bound = Bound(TIME, high=30.0)
    method = RGPE(Problem.of(NAVAL, (bound,)), np.random.default_rng(0), known=10, candidates=40)
    method.ask()
    told = observed(method, [(3.0, 10.0), (1.0, 50.0), (2.0, 25.0)], bound)
    monkeypatch.setattr(rgpe, "losses", lambda *_: np.array([[0, 4, 4, 4], [9, 9, 9, 9], [4, 0, 4, 4], [5, 5, 0, 0]]))
    rows, at = method._rows(method._new()), method._rows([o.configuration for o in told])
    own = method._process()
    own.fit(at, np.array(stats.norm.ppf([5 / 6, 1 / 6, 1 / 2])))
    mean, deviation = mixture([*method._others, own], np.array([0.25, 0.0, 0.25, 0.5]), rows)
    best = mixture([*method._others, own], np.array([0.25, 0.0, 0.25, 0.5]), at[[0, 2]])[0].min()
    times = np.array([10.0, 50.0, 25.0])
    process = method._process()
    process.fit(at, (times - times.mean()) / times.std())
    middle, variance = process.predict(rows)
    chance = stats.norm(times.mean() + times.std() * middle, times.std() * np.sqrt(variance)).cdf(30.0)
    expected = expected_improvement(mean, deviation, best) * chance
    assert method._acquisition(rows, told) == pytest.approx(expected)
    infeasible = [o._replace(feasible=False) for o in told]
    assert method._acquisition(rows, infeasible) == pytest.approx(chance, abs=1e-6)


def test_improvement_is_over_what_is_feasible_alone() -> None:
    method = RGPE(Problem.of(NAVAL), np.random.default_rng(0), known=10, candidates=40)
    method.ask()
    told = observed(method, [(1.0, 1.0), (1.0, 1.0)])
    rows, weights = method._rows(method._new()), np.full(3, 1 / 3)
    predicted = mixture(method._others, weights, method._rows([o.configuration for o in told]))[0]
    better, worse = predicted.argsort()
    told[better] = told[better]._replace(feasible=False)
    expected = expected_improvement(*mixture(method._others, weights, rows), predicted[worse])
    assert method._acquisition(rows, told) == pytest.approx(expected)


def test_failed_evaluations_are_no_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    method = RGPE(Problem.of(NAVAL), np.random.default_rng(0), known=10, candidates=40)
    seen: list[list[float]] = []
    plain = method._acquisition
    monkeypatch.setattr(
        method, "_acquisition", lambda rows, ok: (seen.append([o.objective for o in ok]), plain(rows, ok))[1]
    )
    method.ask()
    observed(method, [(np.nan, np.nan), (2.0, 1.0), (np.nan, np.nan), (5.0, 1.0)])
    method.ask()
    assert seen == [[], [2.0, 5.0]]


def test_of_other_tasks_the_order_of_their_values_counts_and_not_their_size() -> None:
    problem, rng = Problem.of(NAVAL), np.random.default_rng(3)
    configurations, objectives = [NAVAL.space.sample(rng) for _ in range(12)], rng.normal(size=12)
    means = []
    for values in (objectives, np.exp(5 * objectives)):
        known: Any = SimpleNamespace(tasks=("a",), evaluated=lambda *_, v=values: {"a": (configurations, v)})
        method = RGPE(replace(problem, knowledge=known), np.random.default_rng(0))
        method._begin()
        means.append(method._others[0].mean(method._rows(configurations)))
    assert means[0] == pytest.approx(means[1])
    assert np.ptp(means[0]) > 0.5


def test_candidates_satisfy_what_is_known_of_them_unless_none_does() -> None:
    sizes = NAVAL.all_means()[:, NAVAL.column("model_size")]  # type: ignore[attr-defined]
    metric = next(metric for metric in NAVAL.metrics if metric.name == "model_size")
    for limit, least, most in ((float(np.quantile(sizes, 0.3)), 5, 25), (0.0, 40, 40)):
        method = RGPE(Problem.of(NAVAL, (Bound(metric, high=limit),)), np.random.default_rng(0), candidates=40)
        found = method._new()
        assert least <= len(found) <= most
        if limit:
            assert max(NAVAL.mean_metrics(c)["model_size"] for c in found) <= limit  # type: ignore[attr-defined]

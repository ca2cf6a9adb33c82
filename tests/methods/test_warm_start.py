"""Warm starts: what is proposed first, and who learns from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Bound, Metric, open_benchmark
from nasbench.benchmarks.knowledge import Experts, Knowledge
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.transfer.warm_start import WarmStart

CAR = open_benchmark("hpobench-car")


def told(configuration: object, seed: int = 0) -> Observation:
    return Observation(configuration, CAR.evaluate(configuration, seed), True)


def test_the_portfolio_of_the_other_tasks_comes_first_and_the_method_learns_from_it() -> None:
    method = WarmStart(Problem.of(CAR), np.random.default_rng(0), size=12)
    first = [method.ask() for _ in range(12)]
    assert first == list(Knowledge(CAR).portfolio(12))
    for configuration in first:
        method.tell(told(configuration))
    # With twelve observations c-TPE uses its model, and an equal c-TPE that was told the same asks the same.
    rng = np.random.default_rng(0)
    plain = MethodSpec("c-tpe").build(Problem.of(CAR), rng)
    for configuration in first:
        plain.tell(told(configuration))
    for _ in range(5):
        configuration = method.ask()
        assert plain.ask() == configuration
        method.tell(told(configuration))
        plain.tell(told(configuration))


@pytest.mark.parametrize(
    ("name", "minimize", "highest"),
    [("proxy", True, False), ("proxy", False, True), ("-proxy", True, True), ("-proxy", False, False)],
)
def test_a_metric_scores_random_configurations_and_its_best_come_first(
    name: str, minimize: bool, highest: bool
) -> None:
    proxy, scores = Metric("proxy", "", minimize, "zero-cost proxy", cheap=True), dict[object, float]()

    def known(metric: str, configuration: Configuration) -> float:
        assert metric == "proxy"
        assert configuration not in scores  # each costs seconds
        return scores.setdefault(configuration, float(np.sin(37 * len(scores))))

    problem = replace(Problem.of(CAR), known=known, told={CAR.objective.name: CAR.objective, "proxy": proxy})
    spec = MethodSpec.parse(f"warm-start:knowledge={name},size=5,scored=30")
    method = spec.build(problem, np.random.default_rng(0))
    first = [method.ask() for _ in range(5)]
    assert 25 < len(scores) <= 30  # a few draws are the same
    assert [scores[c] for c in first] == sorted(scores.values(), reverse=highest)[:5]
    for configuration in first:
        method.tell(told(configuration))
    method.ask()  # now c-TPE


def test_what_a_metric_begins_with_satisfies_constraints_that_are_known() -> None:
    naval = open_benchmark("hpolib-naval")
    sizes = naval.all_means()[:, naval.column("model_size")]  # type: ignore[attr-defined]
    bound = Bound(naval.metrics[2], low=float(np.quantile(sizes, 0.8)))
    problem = Problem.of(naval, (bound,))
    method = MethodSpec.parse("warm-start:knowledge=model_size").build(problem, np.random.default_rng(1))
    begun = [naval.mean_metrics(method.ask())["model_size"] for _ in range(10)]  # type: ignore[attr-defined]
    assert min(begun) >= bound.limit
    assert begun == sorted(begun)


@pytest.mark.parametrize("expert", ["good", "weak", "misleading"])
def test_an_expert_is_heard_first_and_then_the_neighbourhood(expert: str) -> None:
    method = WarmStart(Problem.of(CAR), np.random.default_rng(3), knowledge=expert, size=8)
    first = [method.ask() for _ in range(8)]
    assert first[0] == Experts(CAR).belief(expert, np.random.default_rng(3))
    assert len(set(first)) == 8
    assert all(sum(a != b for a, b in zip(first[0], other, strict=True)) == 1 for other in first[1:])


def test_good_experts_begin_better_than_weak_ones_and_those_than_misleading_ones() -> None:
    size = next(metric for metric in CAR.metrics if metric.name == "train_time")
    bound = Bound(size, high=float(np.median(CAR.all_means()[:, CAR.column("train_time")])))  # type: ignore[attr-defined]

    def beginning(expert: str) -> float:
        beliefs = []
        for seed in range(30):
            problem = Problem.of(CAR, (bound,))
            beliefs.append(WarmStart(problem, np.random.default_rng(seed), knowledge=expert).ask())
        metrics = [CAR.mean_metrics(belief) for belief in beliefs]  # type: ignore[attr-defined]
        assert all(bound.holds(m["train_time"]) for m in metrics)
        return float(np.mean([m[CAR.objective.name] for m in metrics]))

    assert beginning("good") < beginning("weak") < beginning("misleading")


@pytest.mark.parametrize(
    ("name", "bench", "sentence"),
    [
        (
            "warm-start",
            "nbgraph-proteins",
            "begins with the results of other tables on the same space, and there is none",
        ),
        (
            "warm-start:knowledge=good",
            "synthetic-cnn",
            "begins with what is known of a table, and that benchmark is none",
        ),
        ("warm-start:knowledge=good", "nbgraph-proteins", ""),
        ("warm-start:knowledge=model_size", "hpolib-naval", ""),
        (
            "warm-start:knowledge=best",
            "hpolib-naval",
            "cannot begin with the knowledge 'best' there; allowed: good, weak, misleading, tasks, model_size",
        ),
    ],
)
def test_what_it_cannot_begin_with_is_said(name: str, bench: str, sentence: str) -> None:
    assert MethodSpec.parse(name).misfit(Problem.of(open_benchmark(bench))) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 0}, "size must be at least 1, not 0"),
        ({"scored": 9}, r"scored must lie in \[10, 100000\], not 9"),
        (
            {"by": "local"},
            "warm-start cannot search by local, which learns from its own proposals only; allowed: .*c-tpe",
        ),
        (
            {"by": "foo"},
            "warm-start cannot search by foo, which is no method; allowed: c-tpe, c-tpe-naive, (?!.*local)",
        ),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        WarmStart(Problem.of(CAR), np.random.default_rng(0), **options)  # type: ignore[arg-type]


def test_networks_without_a_score_do_not_come_first() -> None:
    """A dead network has no score; in a plain sort NaN would leave any order."""
    proxy, scores = Metric("proxy", "", True, "zero-cost proxy", cheap=True), dict[object, float]()

    def known(metric: str, configuration: Configuration) -> float:
        score = float("nan") if len(scores) % 3 == 0 else float(np.sin(37 * len(scores)))
        return scores.setdefault(configuration, score)

    problem = replace(Problem.of(CAR), known=known, told={CAR.objective.name: CAR.objective, "proxy": proxy})
    method = MethodSpec.parse("warm-start:knowledge=proxy,size=8,scored=40").build(problem, np.random.default_rng(0))
    first = [scores[method.ask()] for _ in range(8)]
    assert first == sorted(score for score in scores.values() if not math.isnan(score))[:8]


def test_the_initial_phase_is_that_of_the_method_that_goes_on() -> None:
    assert MethodSpec.parse("warm-start").initial == 10
    assert MethodSpec.parse("warm-start:size=30").initial == 30
    assert MethodSpec.parse("warm-start:size=3,by=smbo").initial == MethodSpec.parse("smbo").initial == 10
    assert MethodSpec.parse("parego:initial=2").initial == 10
    assert MethodSpec.parse("parego:initial=12").initial == 12

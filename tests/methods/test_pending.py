"""Methods that are told what the other workers are evaluating (`pending`): beliefs repel, and leave nothing behind."""

from __future__ import annotations

from copy import deepcopy
from unittest import mock

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Bound, Evaluation, Metric, open_benchmark
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.fidelity.densities import Densities
from nasbench.methods.gaussian.scbo import SCBO
from nasbench.methods.nasbot.surrogate import NetworkSurrogate
from nasbench.methods.smbo import Smbo
from nasbench.methods.surrogates.rows import RowProcess

GRID = GridSpace([Ordinal("a", tuple(range(12))), Ordinal("b", tuple(range(12))), Categorical("c", ("x", "y", "z"))])
UPPER = Bound(Metric("size", ""), high=15.0)
BOUND = Problem(GRID, (Metric("loss", ""),), (UPPER,))


def evaluated(configuration: tuple[int, ...]) -> Observation:
    a, b, c = configuration
    metrics = {"loss": float((a - 7) ** 2 + (b - 5) ** 2 + c), "size": float(a + b)}
    return Observation(configuration, Evaluation(metrics, 1.0), metrics["size"] <= 15)


KNOWING = ["smbo:pending=bad", "scbo:pending=mean", "c-tpe:pending=bad"]


@pytest.mark.parametrize("name", KNOWING)
def test_with_one_worker_nothing_is_pending(name: str) -> None:
    runs = []
    for text in (name, name.partition(":")[0]):
        method, asked = MethodSpec.parse(text).build(BOUND, np.random.default_rng(4)), []
        for _ in range(20):
            asked.append(method.ask())
            method.tell(evaluated(asked[-1]))
        runs.append(asked)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", KNOWING)
def test_out_of_order_tells_are_taken_and_no_belief_is_left(name: str) -> None:
    method = MethodSpec.parse(name).build(BOUND, np.random.default_rng(4))
    asked = [method.ask() for _ in range(16)]
    for configuration in reversed(asked):
        method.tell(evaluated(configuration))
    left = method._pending  # type: ignore[attr-defined]
    assert not list(left)


def test_smbo_holds_what_is_pending_for_as_bad_as_the_worst() -> None:
    method = MethodSpec.parse("smbo:pending=bad,explore=0.0").build(BOUND, np.random.default_rng(0))
    assert isinstance(method, Smbo)
    for _ in range(12):
        method.tell(evaluated(method.ask()))
    before = method._weights()
    pending = [method.ask() for _ in range(5)]
    believed = method._weights()
    with mock.patch.object(method, "_pending", []):
        assert method._weights().tolist() == before.tolist()  # the model itself has learnt nothing
    told_so = deepcopy(method)
    told_so._pending.clear()
    worst = max(method._objectives)
    for configuration in pending:
        told_so.tell(Observation(configuration, Evaluation({"loss": worst, "size": 0.0}, 1.0), True))
    assert believed == pytest.approx(told_so._weights())
    assert len(set(pending)) > 1  # with one model for all, each would be the best of the same weights
    for configuration in pending:
        method.tell(evaluated(configuration))
    assert not method._pending


def test_a_believed_mean_stays_and_its_variance_shrinks() -> None:
    rng = np.random.default_rng(0)
    rows, places = rng.random((12, 2)), rng.random((30, 2))
    targets = np.sin(4 * rows[:, 0])
    pending = rng.random((4, 2))
    plain, believing = RowProcess(np.array([False, False])), RowProcess(np.array([False, False]))
    plain.fit(rows, targets)
    believing.fit(rows, targets, pending)
    assert believing.parameters.tolist() == plain.parameters.tolist()
    everywhere = np.concatenate([places, pending])
    mean, covariance = plain.posterior(everywhere)
    mean_after, covariance_after = believing.posterior(everywhere)
    assert mean_after == pytest.approx(mean, abs=1e-6)
    assert (np.diag(covariance_after) <= np.diag(covariance) + 1e-9).all()
    assert np.diag(covariance_after)[30:].sum() < 0.9 * np.diag(covariance)[30:].sum()


def test_scbo_believes_only_what_is_pending_in_this_region() -> None:
    method = MethodSpec.parse("scbo:pending=mean,initial=4,power=6").build(BOUND, np.random.default_rng(0))
    assert isinstance(method, SCBO)
    first = [method.ask() for _ in range(6)]
    for configuration in first[:4]:
        method.tell(evaluated(configuration))
    rows = {tuple(row) for row in method._under_way().tolist()}
    assert rows == {tuple(method._mixed.row(c).tolist()) for c in first[4:]}
    method._begin()
    assert method._under_way().shape == (0, 3)
    ignoring = MethodSpec.parse("scbo:initial=4").build(BOUND, np.random.default_rng(0))
    assert isinstance(ignoring, SCBO)
    ignoring.ask()
    assert ignoring._under_way().shape == (0, 3)


def test_bohb_s_densities_take_pending_ones_as_the_worst_and_forget_them() -> None:
    model, twin, told = (Densities(BOUND, np.random.default_rng(1)) for _ in range(3))
    rng = np.random.default_rng(2)
    for _ in range(20):
        observation = evaluated(GRID.sample(rng))
        for each in (model, twin, told):
            each.tell(observation)
    pending = [GRID.sample(rng) for _ in range(8)]
    for configuration in pending:
        told.tell(Observation(configuration, Evaluation({}, 1.0, "failed", "x"), False))
    assert model.suggestion(pending) == told.suggestion()
    rng_of_twin = np.random.default_rng(1)
    model._rng, twin._rng = np.random.default_rng(1), rng_of_twin
    assert model.suggestion() == twin.suggestion()  # nothing is left of them


@pytest.mark.parametrize("name", ["bohb:pending=bad", "c-bohb:pending=bad"])
def test_bohb_knows_new_configurations_until_their_first_evaluation_is_told(name: str) -> None:
    benchmark = open_benchmark("sk-boosting-wine")
    size = next(m for m in benchmark.metrics if m.name == "train_time")
    bounds = (Bound(size, high=1e9),) if name.startswith("c-") else ()
    method = MethodSpec.parse(name).build(Problem.of(benchmark, bounds), np.random.default_rng(0))
    asked = []
    for i in range(60):
        asked.append(method.ask())
        assert len(method._pending) <= 4  # type: ignore[attr-defined]
        if i >= 3:
            proposal = asked.pop(0)
            trial = i - 3 if proposal.continues is None else proposal.continues
            evaluation = benchmark.evaluate(proposal.configuration, i, proposal.level)
            method.tell(Observation(proposal.configuration, evaluation, True, proposal.level, trial))


@pytest.mark.parametrize(("text", "count"), [("nasbot", 4), ("nasbot:pending=ignored", 0)])
def test_nasbot_s_surrogates_know_what_is_pending_unless_they_are_to_ignore_it(text: str, count: int) -> None:
    benchmark = open_benchmark("nb201-cifar10")
    method = MethodSpec.parse(text).build(Problem.of(benchmark), np.random.default_rng(0))
    asked = [method.ask() for _ in range(10)]
    for i, configuration in enumerate(asked[:6]):
        method.tell(Observation(configuration, benchmark.evaluate(configuration, i), True))
    with mock.patch.object(NetworkSurrogate, "fit", autospec=True, side_effect=NetworkSurrogate.fit) as fit:
        method.ask()
    assumed = fit.call_args.args[3]
    assert len(assumed) == count


def test_optuna_s_liar_is_switched_off_where_there_is_one() -> None:
    pytest.importorskip("optuna")
    method = MethodSpec.parse("optuna:sampler=tpe,liar=false").build(BOUND, np.random.default_rng(0))
    assert method._opened_study().sampler._constant_liar is False  # type: ignore[attr-defined]
    method = MethodSpec.parse("optuna:sampler=tpe").build(BOUND, np.random.default_rng(0))
    assert method._opened_study().sampler._constant_liar is True  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["smbo", "scbo", "c-tpe", "nasbot", "bohb"])
def test_another_word_is_refused(name: str) -> None:
    benchmark = open_benchmark("sk-boosting-wine" if name == "bohb" else "nb201-cifar10")
    with pytest.raises(UsageError, match=r"unknown pending 'maybe'.*allowed: "):
        MethodSpec.parse(f"{name}:pending=maybe").build(Problem.of(benchmark), np.random.default_rng(0))

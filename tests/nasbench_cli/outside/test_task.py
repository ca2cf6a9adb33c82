"""Other people's optimisers on our benchmarks, and our methods in their loops."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench
from nasbench.base.errors import UsageError
from nasbench.benchmarks import BENCHMARKS, Evaluation, Level, Metric
from nasbench.benchmarks.spaces import Categorical, Configuration, Float, Integer, Ordinal, ParameterSpace
from nasbench.cli.outside import words
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.results import Store
from tests.conftest import Lend
from tests.nasbench_cli.toys import Toy

NESTED = ParameterSpace(
    [Categorical("opt", ("sgd", "adam")), Float("momentum", 0.1, 0.9), Integer("depth", 1, 100, log=True)],
    {"momentum": ("opt", ["sgd"])},
)
SAME = ["objective", "feasible", "incumbent", "finished", "score", "hidden", "hidden_feasible", "spent", "status"]


@pytest.mark.parametrize("budget", [{"evals": 30}, {"seconds": 20_000.0}])
def test_a_recorded_run_has_the_bits_of_the_runner(tmp_path: Path, budget: dict[str, Any]) -> None:
    """The same proposals with the same seed: clock, repetitions, scores and constraints are those of `nasbench run`."""
    ours = nasbench.run("random", "nb201-cifar10", constraints="model_size@0.5", seeds="3:4", **budget)
    task = nasbench.task("nb201-cifar10", "model_size@0.5")
    proposals = iter([json.loads(text) for text in ours["configuration"]] * 2)
    with task.record("mine", seed=3, store=tmp_path / "s", **budget) as run:
        while run.open:
            run.evaluate(next(proposals))
    (fragment,) = Store.open(tmp_path / "s").fragments()
    theirs = fragment.table().to_pandas()
    assert theirs[SAME].to_csv() == ours[SAME].to_csv()
    assert fragment.runs[0].failure == ""


def test_the_last_evaluation_too_many_ends_a_loop_and_does_not_count(tmp_path: Path) -> None:
    task = nasbench.task("hpolib-naval")
    values = task.space.values(task.space.sample(np.random.default_rng(0)))
    with task.record("mine", seed=0, evals=2, store=tmp_path / "s") as run:
        results = [run.evaluate(values) for _ in range(2)]
        assert not run.open
        run.evaluate(values)
        results.append(results[0])  # not reached
    assert len(results) == 2
    assert Store.open(tmp_path / "s").fragments()[0].runs[0].rows == 2
    with pytest.raises(nasbench.BudgetUsed):
        run.evaluate(values)


def test_a_loop_that_ends_before_its_budget_is_a_failed_run(tmp_path: Path) -> None:
    task = nasbench.task("hpolib-naval")
    with task.record("mine", seed=0, evals=5, store=tmp_path / "s") as run:
        run.evaluate(task.space.values(task.space.sample(np.random.default_rng(0))))
    assert Store.open(tmp_path / "s").fragments()[0].runs[0].failure == (
        "its loop ended after 1 evaluation, before its budget"
    )


def test_a_later_loop_replaces_a_failed_one(tmp_path: Path) -> None:
    task = nasbench.task("hpolib-naval")
    values = task.space.values(task.space.sample(np.random.default_rng(0)))
    for evaluations in (1, 2):
        with task.record("mine", seed=0, evals=2, store=tmp_path / "s") as run:
            for _ in range(evaluations):
                run.evaluate(values)
    (record,) = Store.open(tmp_path / "s").fragments()[0].runs
    assert (record.failure, record.rows) == ("", 2)
    with pytest.raises(UsageError, match="already"):
        task.record("mine", seed=0, evals=2, store=tmp_path / "s")


def test_a_loop_on_a_live_benchmark_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = nasbench.task("digits@1")
    rng = np.random.default_rng(0)
    proposals = [task.space.values(task.space.sample(rng)) for _ in range(3)]
    with task.record("mine", seed=0, evals=2, store=tmp_path / "s") as run:
        first = run.evaluate(proposals[0])
    assert len([*(tmp_path / "s" / "_journals").glob("*.jsonl")]) == 1
    said = r"seed 0, cannot go on: its journal holds .* move .* away to begin anew"
    with pytest.raises(UsageError, match=said), task.record("mine", seed=0, evals=2, store=tmp_path / "s") as run:
        with contextlib.suppress(UsageError):
            run.evaluate(proposals[1])
        run.evaluate(proposals[1])
    with task.record("mine", seed=0, evals=2, store=tmp_path / "s") as run:
        assert run.evaluate(proposals[0]) == first
        run.evaluate(proposals[2])
    assert Store.open(tmp_path / "s").fragments()[0].runs[0].failure == ""
    assert [*(tmp_path / "s" / "_journals").glob("*.jsonl")] == []


def test_a_loop_that_an_error_ends_is_not_stored(tmp_path: Path) -> None:
    task = nasbench.task("hpolib-naval")
    with pytest.raises(ZeroDivisionError), task.record("mine", seed=0, evals=5, store=tmp_path / "s"):
        raise ZeroDivisionError
    assert Store.open(tmp_path / "s").fragments() == []


def test_what_is_no_member_of_the_space_costs_nothing(tmp_path: Path) -> None:
    task = nasbench.task("hpolib-naval")
    values = dict(task.space.values(task.space.sample(np.random.default_rng(0))))
    with task.record("mine", seed=0, evals=1, store=tmp_path / "s") as run:
        with pytest.raises(UsageError, match="batch_size"):
            run.evaluate(values | {"batch_size": 7})
        with pytest.raises(UsageError, match="batchsize"):
            run.evaluate({"batchsize": 8})
        assert run.open
        run.evaluate({name: np.array([v])[0] for name, v in values.items()})  # NumPy's numbers are numbers
    assert not run.open


def test_a_run_has_its_identity_and_is_recorded_once(tmp_path: Path) -> None:
    task, store = nasbench.task("hpolib-naval"), tmp_path / "s"
    values = task.space.values(task.space.sample(np.random.default_rng(0)))
    identities = []
    for options, version in (({}, 1), ({}, 2), ({"rate": 0.5}, 1)):
        with task.record("mine", seed=0, evals=1, store=store, version=version, options=options) as run:
            run.evaluate(values)
    for fragment in Store.open(store).fragments():
        setup = fragment.setup
        identities.append((setup.method, setup.method_version, dict(setup.parameters)))
    assert sorted(map(str, identities)) == sorted(
        map(str, [("mine", 1, {}), ("mine", 2, {}), ("mine:rate=0.5", 1, {"rate": 0.5})])
    )
    with pytest.raises(UsageError, match="seed 0, already: leave that seed out, raise version="):
        task.record("mine", seed=0, evals=1, store=store)
    for name in ("a\nb", "\x1b[31mred", " "):
        with pytest.raises(UsageError, match="is no name of an optimiser"):
            task.record(name, seed=0, evals=1, store=store)
    with pytest.raises(UsageError, match="random is a method of nasbench"):
        task.record("random", seed=0, evals=1, store=store)
    with pytest.raises(UsageError, match="options are numbers, booleans or texts"):
        task.record("other", seed=0, evals=1, store=store, options={"rate": [1]})  # type: ignore[dict-item]
    for wrong, said in (
        ({"version": 0}, "version of other"),
        ({"evals": 2.5}, "evals must be a whole number"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seconds": "1"}, "budget-seconds must be a"),
    ):
        arguments: dict[str, Any] = {"seed": 0, "evals": 1} | wrong
        with pytest.raises(UsageError, match=said):
            task.record("other", store=store, **arguments)


def test_a_recording_that_proposes_only_what_is_refused_is_a_failed_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = nasbench.task("digits", "parameters<=1")
    values = task.space.values(task.space.sample(np.random.default_rng(0)))
    with task.record("mine", seed=0, evals=1, store=tmp_path / "s") as run:
        while run.open:
            assert run.evaluate(values).status == "infeasible"
    assert "proposals were all refused" in Store.open(tmp_path / "s").fragments()[0].runs[0].failure


def test_no_metric_of_a_test_split_is_told() -> None:
    task = nasbench.task("nbgraph-cora")
    hidden = {metric.name for metric in task._benchmark.metrics if metric.is_test}
    told = task.evaluate(task.space.values(task.space.sample(np.random.default_rng(0)))).metrics
    assert hidden
    assert not hidden & set(told)
    assert task.objective.name in told


def test_a_conditional_space_is_there_and_back_in_the_words_of_optuna() -> None:
    optuna = pytest.importorskip("optuna")
    made = words.to_optuna(NESTED)
    assert made == {
        "opt": optuna.distributions.CategoricalDistribution(("sgd", "adam")),
        "momentum": optuna.distributions.FloatDistribution(0.1, 0.9),
        "depth": optuna.distributions.IntDistribution(1, 100, log=True),
    }
    back = words.space_of(made)
    assert isinstance(back, ParameterSpace)
    assert back.hyperparameters == NESTED.hyperparameters
    values = {"opt": "adam", "momentum": 0.5, "depth": 3}  # as Optuna proposes, which knows no condition
    assert words.as_ours(NESTED, values) == {"opt": "adam", "depth": 3}
    assert words.as_ours(NESTED, values | {"opt": "sgd"}) == values | {"opt": "sgd"}
    with pytest.raises(UsageError, match="opt"):
        NESTED.from_values(words.as_ours(NESTED, values | {"opt": "lion"}))
    steps = {
        "a": optuna.distributions.IntDistribution(2, 8, step=2),
        "b": optuna.distributions.FloatDistribution(0, 1, step=0.5),
    }
    stepped = words.space_of(steps)
    assert isinstance(stepped, ParameterSpace)
    assert stepped.hyperparameters == (Ordinal("a", (2, 4, 6, 8)), Ordinal("b", (0.0, 0.5, 1.0)))
    tenths = words.space_of({"c": optuna.distributions.FloatDistribution(0, 0.6, step=0.2)})
    assert isinstance(tenths, ParameterSpace)
    (c,) = tenths.hyperparameters
    assert isinstance(c, Ordinal)
    assert c.values[-1] == 0.6  # and not 0.6000000000000001, which Optuna calls outside


def test_a_space_is_there_and_back_in_the_words_of_configspace() -> None:
    pytest.importorskip("ConfigSpace")
    space = words.to_configspace(NESTED)
    assert sorted(space) == ["depth", "momentum", "opt"]
    back = words.space_of(space)
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = dict(space.sample_configuration())
        assert dict(back.values(back.from_values(words.as_ours(back, values)))) == values
        assert NESTED.from_values(back.values(back.sample(rng)))


def test_a_space_in_the_words_of_syne_tune() -> None:
    config_space = pytest.importorskip("syne_tune.config_space")
    domains = {
        "rate": config_space.loguniform(1e-4, 1.0),
        "layers": config_space.randint(1, 5),
        "kind": config_space.choice(["a", "b"]),
    }
    found = words.space_of(domains)
    assert isinstance(found, ParameterSpace)
    assert found.hyperparameters == (
        Float("rate", 1e-4, 1.0, log=True),
        Integer("layers", 1, 5),
        Categorical("kind", ("a", "b")),
    )


class _Uniform:
    """The sampler of a domain, as Syne Tune and Ray Tune name it."""


class _ReverseLogUniform:
    pass


class _Domain:
    lower, upper = 0.9, 0.9999

    def __init__(self, sampler: object = None, categories: tuple[object, ...] = (), log_scale: bool = False) -> None:
        self._sampler, self.categories, self.log_scale = sampler, categories, log_scale

    def get_sampler(self) -> object:
        return self._sampler


@pytest.mark.parametrize(
    ("kind", "domain", "read"),
    [
        ("Float", _Domain(_Uniform()), Float("x", 0.9, 0.9999)),
        ("Float", _Domain(_ReverseLogUniform()), "x is drawn from ReverseLogUniform"),
        ("Ordinal", _Domain(categories=(1, 2, 8)), Ordinal("x", (1, 2, 8))),
        ("OrdinalNearestNeighbor", _Domain(categories=(1, 2, 8), log_scale=True), Ordinal("x", (1, 2, 8), log=True)),
        ("Ordinal", _Domain(categories=("low", "high")), Categorical("x", ("low", "high"))),
        ("Categorical", _Domain(categories=(1, 2, 8)), Categorical("x", (1, 2, 8))),
    ],
)
def test_domains_keep_their_order_and_how_they_are_drawn(kind: str, domain: object, read: object) -> None:
    made = type(kind, (type(domain),), {})
    domain.__class__ = made
    if isinstance(read, str):
        with pytest.raises(UsageError, match=read):
            words.space_of({"x": domain})
        return
    found = words.space_of({"x": domain})
    assert isinstance(found, ParameterSpace)
    assert found.hyperparameters == (read,)


def test_a_space_in_the_words_of_ray() -> None:
    tune = pytest.importorskip("ray.tune")
    found = words.space_of({"rate": tune.loguniform(1e-4, 1.0), "layers": tune.randint(1, 5)})
    assert isinstance(found, ParameterSpace)
    assert found.hyperparameters == (Float("rate", 1e-4, 1.0, log=True), Integer("layers", 1, 4))  # 5 is left out
    with pytest.raises(UsageError, match="layers has quantised numbers"):
        words.space_of({"layers": tune.qlograndint(1, 100, 10)})


@pytest.mark.parametrize("space", [{}, 3, {"a": object()}, {"a": 1.0}])
def test_other_words_for_a_space_are_refused(space: object) -> None:
    with pytest.raises(UsageError, match=r"space|distribution"):
        words.space_of(space)


@pytest.mark.parametrize("pair", [(0.1, 1.0), (1, 8)])
def test_a_pair_of_numbers_is_neither_a_range_nor_two_choices(pair: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match=r"x is the pair \(.*\): a range is Float or Integer"):
        words.space_of({"x": pair})
    found = words.space_of({"x": list(pair), "y": ("relu", "tanh"), "z": (1, 2, 4)})
    assert isinstance(found, ParameterSpace)
    assert [h.values for h in found.hyperparameters] == [pair, ("relu", "tanh"), (1, 2, 4)]  # type: ignore[union-attr]


def test_our_method_in_their_loop_is_our_method() -> None:
    space = ParameterSpace([Float("x", 0.0, 1.0), Ordinal("n", (1, 2, 4)), Categorical("k", ("a", "b"))])
    theirs = nasbench.optimizer("c-tpe", space, seed=5, limits={"size": 3.0})
    bounds = theirs._bounds
    ours = MethodSpec.parse("c-tpe").build(Problem(space, (Metric("loss", ""),), bounds), np.random.default_rng(5))
    for step in range(40):
        configuration: Any = ours.ask()
        values = theirs.ask()
        assert values == dict(space.values(configuration))
        loss, size = (values["x"] - 0.3) ** 2 + step % 2, float(values["n"])
        ours.tell(Observation(configuration, Evaluation({"loss": loss, "size": size}, 0.0), size <= 3.0))
        theirs.tell(values, loss, size=size)


def test_what_was_not_asked_for_is_not_told() -> None:
    optimizer = nasbench.optimizer("random", {"a": [1, 2, 3], "b": ["x", "y"]})
    first, second = optimizer.ask(), optimizer.ask()
    optimizer.tell(second, 1.0)  # in any order
    optimizer.tell(first, float("nan"))
    with pytest.raises(UsageError, match="was not asked for"):
        optimizer.tell(first, 1.0)
    with pytest.raises(UsageError, match="tell takes loss, and was given loss, size"):
        optimizer.tell(optimizer.ask(), 1.0, size=2.0)
    limited = nasbench.optimizer("tpe", {"a": [1, 2]}, limits={"size": 3.0})
    limited.tell(limited.ask(), float("nan"))  # nothing is known of a failure
    with pytest.raises(UsageError, match="tell takes loss, size, and was given loss"):
        limited.tell(limited.ask(), 1.0)
    with pytest.raises(UsageError, match="unknown method"):
        nasbench.optimizer("randon", {"a": [1, 2]})


@pytest.mark.parametrize("raises", [False, True])
def test_an_evaluation_that_fails_outside_of_a_run_is_told_as_in_one(raises: bool, lend: Lend) -> None:
    class Failing(Toy):
        name = "toy-failing"

        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            if raises:
                raise ValueError("no memory")
            return Evaluation({}, 1.0, "failed", "no memory")

    lend(BENCHMARKS, "toy-failing", Failing)
    task = nasbench.task("toy-failing")
    result = task.evaluate(task.space.values(task.space.sample(np.random.default_rng(0))))
    assert result.status == "failed"
    assert math.isnan(result.value)
    assert not result.feasible

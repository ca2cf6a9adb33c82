from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.methods import METHODS, Method, Observation, Problem
from nasbench.methods.external import requirements
from tests.benchmarks.test_parameters import SPACE

LIBRARIES = {"cnsga2": "optuna", "optuna-tpe": "optuna", "rf-cei": "sklearn", "optuna-gp": "torch", "ax-nei": "ax"}
GRID = GridSpace(
    [Ordinal("a", tuple(range(1, 9)), log=True), Ordinal("b", tuple(range(8))), Categorical("c", (0, 1, 2))]
)
BOUND = Bound(Metric("size", ""), 1, 3.0, upper=True)
PROBLEM = Problem(GRID, Metric("loss", ""), (BOUND,))


def built(name: str, problem: Problem = PROBLEM, seed: int = 0) -> Method:
    if importlib.util.find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed (make test EXTRAS=dev,peers,gp installs it)")
    return METHODS.get(name)(problem, np.random.default_rng(seed))


def told(method: Method, configuration: tuple[int, ...]) -> bool:
    a, b, c = configuration
    metrics = (20.0 - a - b + 3.0 * (c != 1), float(a))
    feasible = BOUND.holds(metrics[1])
    method.tell(Observation(configuration, Evaluation(metrics, 1.0), feasible))
    return feasible


def searched(method: Method, n: int) -> list[tuple[int, ...]]:
    """n asks, two pending at a time, every seventh evaluation failing."""
    asked, pending = [], []
    for i in range(n):
        configuration = method.ask()
        GRID.check(configuration)
        asked.append(configuration)
        pending.append(configuration)
        if i >= 2:
            done = pending.pop(i % 2)
            if i % 7 == 0:
                method.tell(Observation(done, Evaluation((math.nan,) * 2, 0.0, "failed", "x"), False))
            else:
                told(method, done)
    return asked


EVALUATIONS = [("cnsga2", 80), ("optuna-tpe", 60), ("rf-cei", 30), ("optuna-gp", 25), ("ax-nei", 12)]


@pytest.mark.parametrize(("name", "n"), EVALUATIONS)
def test_peers_know_constraints_pending_and_failed_evaluations_and_repeat(name: str, n: int) -> None:
    asked = searched(built(name), n)
    assert asked[:12] == searched(built(name), 12)
    assert asked[:12] != searched(built(name, seed=1), 12)
    if name != "ax-nei":  # too dear for more than a few suggestions here
        share = np.mean([a <= 3 for a, _, _ in asked[n // 2 :]])
        assert share > 0.5  # chance: 4 of 8


@pytest.mark.parametrize("name", ["cnsga2", "optuna-tpe", "rf-cei", "optuna-gp"])
def test_peers_search_floats_and_conditions(name: str) -> None:
    method = built(name, Problem(SPACE, Metric("loss", "")))
    for i in range(14):
        configuration = method.ask()
        SPACE.check(configuration)
        method.tell(Observation(configuration, Evaluation((float(i % 5),), 1.0), True))


def test_two_bounds_on_one_metric_both_reach_optuna() -> None:
    window = (Bound(Metric("size", ""), 1, 3.0, upper=True), Bound(Metric("size", ""), 1, 2.0, upper=False))
    method = built("cnsga2", Problem(GRID, Metric("loss", ""), window))
    for _ in range(3):
        configuration = method.ask()
        told(method, configuration)
    trial = method._study.trials[0]  # type: ignore[attr-defined]
    assert len(trial.constraints) == 2


def test_ax_proposes_something_when_it_must_wait_or_has_proposed_all() -> None:
    waiting = built("ax-nei")
    assert len([waiting.ask() for _ in range(14)]) == 14  # more pending than initial trials
    tiny = built("ax-nei", Problem(GridSpace([Ordinal("a", (1, 2, 3))]), Metric("loss", "")))
    for _ in range(6):
        configuration = tiny.ask()
        tiny.tell(Observation(configuration, Evaluation((float(configuration[0]),), 1.0), True))


def test_ax_proposes_members_of_spaces_with_conditions() -> None:
    pytest.importorskip("ax")
    method = METHODS.get("ax-nei")(Problem(SPACE, Metric("loss", "")), np.random.default_rng(0), initial=3)
    for number in range(6):
        configuration = method.ask()
        SPACE.check(configuration)
        method.tell(Observation(configuration, Evaluation((float(number % 3),), 1.0), True))


def test_a_peer_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"ax-nei needs ax: `make setup EXTRAS=gp` in .*, `pip install 'nasbench\[gp\]'`"
    ):
        METHODS.get("ax-nei")(PROBLEM, np.random.default_rng(0))
    with pytest.raises(UsageError, match=r"cnsga2 needs optuna: `make setup EXTRAS=peers` in a clone"):
        METHODS.get("cnsga2")(PROBLEM, np.random.default_rng(0))

"""What each variant of TPE takes for good, bad or unknown, and what its score counts."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any
from unittest import mock

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Bound, Evaluation, Metric
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal, configspace
from nasbench.benchmarks.spaces.listed import listed
from nasbench.methods import Observation, Problem
from nasbench.methods.tpe import CTPE, TPE, NaiveCTPE, compiled
from nasbench.methods.tpe.sampler import Rules, Sampler
from nasbench.methods.tpe.splits import BAD, GOOD, OUT
from tests.methods.tpe_grid import FAILED, GRID, SIZE, UPPER, problem, score, tell

LOOSE = Bound(SIZE, high=99.0)


def test_each_variant_has_its_rules() -> None:
    scripts = Rules(24, joint=False, oldest_only=True, continuous_log=True, narrowest=0.01)
    for variant, rules in (("amended", Rules(48)), ("paper", Rules(24, narrowest=0.01)), ("scripts", scripts)):
        assert CTPE(problem(UPPER), np.random.default_rng(0), variant=variant)._estimators()._rules == rules
    assert TPE(problem(UPPER), np.random.default_rng(0))._estimators()._rules == Rules(24, vanishing=True)
    assert NaiveCTPE(problem(UPPER), np.random.default_rng(0))._estimators()._rules == Rules(24, relative=False)


def test_before_anything_is_told_every_ask_is_a_uniform_draw() -> None:
    method, rng = TPE(problem(), np.random.default_rng(3), initial=4), np.random.default_rng(3)
    assert [method.ask() for _ in range(9)] == [GRID.sample(rng) for _ in range(9)]


def test_lower_bounds_of_cheap_metrics_are_known_the_right_way_round() -> None:
    large = Bound(SIZE, low=6.0)
    informed = CTPE(problem(large), np.random.default_rng(0), knowledge=60)
    informed.ask()
    known = informed._estimators()
    assert (known.groups(1)[1] == GOOD).tolist() == (known._levels[0, :60] >= 6).tolist()
    refused = CTPE(problem(large), np.random.default_rng(0))
    for a in (2, 5, 4):
        refused.ask()
        sizes = {"loss": math.nan, "size": float(a), "time": math.nan}
        refused.tell(Observation((a, 0, 0), Evaluation(sizes, 0.0, "infeasible", "known"), False))
    assert refused._estimators().groups(1)[1].tolist() == [BAD, GOOD, BAD]  # the nearest to the bound


def test_a_pending_evaluation_is_bad_for_the_objective_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    method = CTPE(problem(UPPER), np.random.default_rng(0), pending="bad", initial=8)
    for configuration in [method.ask() for _ in range(8)]:
        tell(method, configuration, score(configuration), (UPPER,))
    seen, suggest = [], compiled.suggest

    def spied(*arguments: Any) -> Any:
        seen.append(arguments[4].copy())
        return suggest(*arguments)

    monkeypatch.setattr(compiled, "suggest", spied)
    for _ in range(3):
        method.ask()
    assert [groups[:, 8:].tolist() for groups in seen] == [[[BAD] * n, [OUT] * n] for n in range(3)]


def test_what_is_merely_known_says_nothing_of_the_hard_constraint() -> None:
    method = CTPE(problem(UPPER), np.random.default_rng(0), knowledge=50)
    method.tell(Observation(method.ask(), FAILED, False))
    tell(method, (1, 1, 1), score((1, 1, 1)), (UPPER,))
    assert method._estimators().groups(1)[2].tolist() == [OUT] * 50 + [BAD, GOOD]


def test_what_is_out_of_a_metric_does_not_count_in_its_quantile() -> None:
    plain, informed = (CTPE(problem(LOOSE), np.random.default_rng(0), knowledge=k) for k in (0, 50))
    rng = np.random.default_rng(5)
    for configuration in [GRID.sample(rng) for _ in range(30)]:
        for method in (plain, informed):
            method.ask()
            tell(method, configuration, score(configuration), (LOOSE,))
    assert informed.acquisition(list(GRID)).tolist() == plain.acquisition(list(GRID)).tolist()


def test_the_acquisition_counts_as_many_as_good_as_the_next_ask_does(monkeypatch: pytest.MonkeyPatch) -> None:
    method = TPE(problem(), np.random.default_rng(0), initial=1)
    for configuration in [(1, 1, 0), (5, 5, 1), (3, 2, 0)]:
        method.ask()
        tell(method, configuration, score(configuration), ())
    asked, groups = [], Sampler.groups
    monkeypatch.setattr(Sampler, "groups", lambda self, needed: asked.append(needed) or groups(self, needed))
    method.ask()
    method.acquisition([(1, 1, 0)])
    assert asked == [1, 1]


def test_to_the_naive_method_a_constraint_that_all_satisfy_still_counts() -> None:
    bound = NaiveCTPE(problem(LOOSE), np.random.default_rng(0))
    free = NaiveCTPE(problem(), np.random.default_rng(0), variant="paper")
    rng = np.random.default_rng(5)
    for configuration in [GRID.sample(rng) for _ in range(30)]:
        for method in (bound, free):
            method.ask()
            tell(method, configuration, score(configuration), (LOOSE,))
    assert np.ptp(bound.acquisition(list(GRID)) - free.acquisition(list(GRID))) > 1


def test_the_initial_phase_counts_what_was_asked_for_not_what_was_told() -> None:
    method = TPE(problem(), np.random.default_rng(0), initial=3)
    first, *_ = [method.ask() for _ in range(3)]
    tell(method, first, score(first), ())
    with mock.patch.object(method, "suggestion", wraps=method.suggestion) as suggestion:
        method.ask()
    suggestion.assert_called_once()


def test_failures_do_not_make_the_good_group_larger() -> None:
    method = CTPE(problem(UPPER), np.random.default_rng(0))
    for _ in range(64):
        tell(method, (1, 1, 1), score((1, 1, 1)), (UPPER,))
    for _ in range(100):
        method.tell(Observation((5, 1, 1), FAILED, False))
    with mock.patch.object(method._estimators(), "suggest", return_value=(0, 0, 0)) as suggest:
        method.ask()
    assert suggest.call_args.args[0] == 2  # of 64; of 164 it would be 3


def test_tpe_ignores_constraints() -> None:
    told, asked = [TPE(problem(*bounds), np.random.default_rng(0)) for bounds in ((UPPER,), ())], []
    for _ in range(40):
        asked.append([method.ask() for method in told])
        for method, bounds in zip(told, ((UPPER,), ()), strict=True):
            tell(method, asked[-1][0], score(asked[-1][0]), bounds)
    assert all(one == other for one, other in asked)


@pytest.mark.parametrize(("choices", "candidates"), [(256, 48), (3, 100_000)])
def test_the_largest_that_is_allowed_is_accepted(choices: int, candidates: int) -> None:
    space = GridSpace([Categorical("a", tuple(range(choices)))])
    TPE(Problem(space, (Metric("loss", ""),)), np.random.default_rng(0), candidates=candidates)


@pytest.mark.parametrize(
    ("kind", "bounds", "variant", "good"),
    [
        (TPE, (), "amended", 7),
        (TPE, (UPPER,), "amended", 7),  # which it ignores
        (CTPE, (), "amended", 7),
        (CTPE, (UPPER,), "amended", 2),
        (NaiveCTPE, (UPPER,), "amended", 2),
        (TPE, (), "paper", 2),
        (TPE, (), "scripts", 2),
    ],
)
def test_a_tenth_is_good_in_the_amended_variant_without_constraints_alone(
    kind: type[TPE], bounds: tuple[Bound, ...], variant: str, good: int
) -> None:
    method = kind(problem(*bounds), np.random.default_rng(0), variant=variant)
    assert method._good(64) == good


def test_a_failure_is_an_evaluation_and_what_is_merely_known_is_none() -> None:
    method = CTPE(problem(UPPER), np.random.default_rng(0), knowledge=3)
    method.tell(Observation(method.ask(), FAILED, False))
    tell(method, (1, 1, 1), score((1, 1, 1)), (UPPER,))
    assert method._estimators()._evaluated[:5].tolist() == [False] * 3 + [True] * 2


def test_what_was_looked_up_in_a_list_is_still_proposed() -> None:
    """A view of a list returns the nearest row that was not proposed: what was merely looked up counts as none."""
    points = np.array(list(itertools.product(range(4), repeat=4)))[::3]
    space, sizes = listed([Ordinal(f"x{i}", (1, 2, 3, 4)) for i in range(4)], points), points.sum(axis=1).astype(float)
    size = Metric("size", "", cheap=True)
    posed = Problem(space, (Metric("loss", ""),), (Bound(size, high=5.0),), known=lambda _, row: sizes[row])
    method, asked = CTPE(posed, np.random.default_rng(0), knowledge=150), []
    for _ in range(40):
        row = method.ask()
        asked.append(row)
        values = {"loss": float(points[row] @ [1, 2, 3, 4]), "size": sizes[row]}
        method.tell(Observation(row, Evaluation(values, 1.0), bool(sizes[row] <= 5)))
    looked_up = np.random.default_rng(0)
    known = {space.sample(looked_up) for _ in range(150)}
    assert len(known) > 0.7 * space.size
    assert np.mean([row in known for row in asked[10:]]) > 0.6


def forest(trees: int) -> Problem:
    """The rate of a forest exists from half of its trees on; best are 60 trees with a rate of 0.7."""
    program = {
        "hyperparameters": [
            {"name": "trees", "type": "uniform_int", "lower": 1, "upper": trees, "log": False},
            {"name": "rate", "type": "uniform_float", "lower": 0.0, "upper": 1.0, "log": False},
        ],
        "conditions": [{"child": "rate", "parent": "trees", "type": "GT", "value": trees // 2}],
    }
    return Problem(configspace.read(json.dumps(program)), (Metric("loss", ""),))


@pytest.mark.parametrize("method", [TPE, CTPE])
def test_what_depends_on_a_number_of_many_values_is_searched(method: type[TPE]) -> None:
    """The number stays discrete: by the level of its value it is known whether what depends on it is there."""
    posed = forest(100)
    search, rates = method(posed, np.random.default_rng(0)), []
    for asked in range(60):
        configuration = search.ask()
        values = posed.space.values(configuration)
        loss = abs(values["trees"] - 60) / 60 + abs(values.get("rate", 0.0) - 0.7)
        if asked >= 10 and "rate" in values:
            rates.append(values["rate"])
        search.tell(Observation(configuration, Evaluation({"loss": loss}, 1.0), True))
    assert len(rates) > 20
    assert abs(np.median(rates) - 0.7) < 0.1
    assert np.mean(np.array(rates) == 0.0) < 0.1


def test_a_number_on_which_others_depend_has_no_more_values_than_a_table_of_kernels_can_have() -> None:
    TPE(forest(256), np.random.default_rng(0))
    with pytest.raises(UsageError, match="TPE takes at most 256 choices, also of a number that others depend on"):
        TPE(forest(257), np.random.default_rng(0))

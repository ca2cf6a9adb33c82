from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import ndimage

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError, abilities, parse_constraints
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular.embedded import open_embedded
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem
from nasbench.methods.tpe import CTPE, TPE, NaiveCTPE
from nasbench.methods.tpe.tpe import evaluations_that_bar
from research import ctpe_figures
from tests.benchmarks.mixed_space import SPACE
from tests.methods.tpe_grid import FAILED, GRID, LOWER, SIZE, UPPER, problem, score, tell


def searched(method: Method, bounds: tuple[Bound, ...], n: int = 60) -> list[tuple[int, ...]]:
    asked = []
    for _ in range(n):
        configuration = method.ask()
        GRID.check(configuration)
        asked.append(configuration)
        tell(method, configuration, score(configuration), bounds)
    return asked


def test_tpe_finds_the_unconstrained_optimum() -> None:
    assert (7, 7, 1) in searched(TPE(problem(UPPER), np.random.default_rng(0)), (UPPER,))


@pytest.mark.parametrize("kind", [CTPE, NaiveCTPE])
def test_constraints_of_both_directions_are_heeded(kind: type[TPE]) -> None:
    method = kind(problem(UPPER, LOWER), np.random.default_rng(0))
    asked = searched(method, (UPPER, LOWER))
    late = asked[30:]
    assert np.mean([a <= 3 and b >= 5 for a, b, _ in late]) > 2 * (4 / 8) * (3 / 8)  # twice what random draws reach
    if kind is CTPE:
        assert (3, 7, 1) in asked


def test_the_first_asks_are_uniform_draws() -> None:
    rng = np.random.default_rng(3)
    method = CTPE(problem(UPPER), np.random.default_rng(3), initial=7)
    assert searched(method, (UPPER,), 7) == [GRID.sample(rng) for _ in range(7)]


def test_without_a_constraint_c_tpe_is_tpe() -> None:
    assert searched(CTPE(problem(), np.random.default_rng(1)), ()) == searched(
        TPE(problem(), np.random.default_rng(1)), ()
    )


def test_where_everything_is_feasible_the_constraint_has_no_say() -> None:
    """Corollary 2, on the whole method: the acquisition is TPE's, up to the candidates it is maximised over."""
    loose = Bound(SIZE, high=99.0)
    methods = [
        CTPE(problem(loose), np.random.default_rng(0)),
        TPE(problem(), np.random.default_rng(0), variant="paper"),  # c-TPE keeps the paper's kernels and γ
    ]
    rng = np.random.default_rng(5)
    for configuration in [GRID.sample(rng) for _ in range(40)]:
        for method in methods:
            method.ask()
            tell(method, configuration, score(configuration), (loose,))
    everywhere = list(GRID)
    assert methods[0].acquisition(everywhere).tolist() == methods[1].acquisition(everywhere).tolist()


def test_knowledge_changes_its_own_constraint_and_nothing_else() -> None:
    plain = CTPE(problem(UPPER, LOWER), np.random.default_rng(0))
    informed = CTPE(problem(UPPER, LOWER), np.random.default_rng(0), knowledge=50)
    rng = np.random.default_rng(7)
    for configuration in [GRID.sample(rng) for _ in range(20)]:
        for method in (plain, informed):
            method.ask()
            tell(method, configuration, score(configuration), (UPPER, LOWER))
    before, after = (m._estimators().groups(2) for m in (plain, informed))
    assert after.shape[1] == before.shape[1] + 50
    known = after[:, :50]
    assert (known[0] == -1).all()
    assert (known[2] == -1).all()
    assert set(known[1].tolist()) == {0, 1}
    assert (after[:, 50:] == before).all()


def test_knowledge_of_a_table_is_its_model_size() -> None:
    table = open_embedded("nb201-cifar10")
    bounds = abilities.bounds(table, parse_constraints(["model_size@0.1"]))
    method = CTPE(Problem.of(table, bounds), np.random.default_rng(0), knowledge=200)
    method.ask()
    share = (method._estimators().groups(1)[1] == 1).mean()
    assert share == pytest.approx(0.146, abs=0.08)  # the share of all configurations that satisfy it


def best_is(best: tuple[int, ...], variant: str, n: int) -> list[tuple[int, ...]]:
    """What c-TPE proposes in n asks where everything is feasible and one configuration is far better than the rest."""
    loose = Bound(SIZE, high=99.0)
    method = CTPE(problem(loose), np.random.default_rng(0), variant=variant)
    asked = [method.ask()]
    tell(method, best, {"loss": -100.0, "size": 0.0, "time": 0.0}, (loose,))
    for _ in range(n - 1):
        asked.append(method.ask())
        loss = -100.0 if asked[-1] == best else 0.0
        tell(method, asked[-1], {"loss": loss, "size": 0.0, "time": 0.0}, (loose,))
    return asked


def test_a_configuration_is_proposed_again_only_as_evaluations_accumulate() -> None:
    """Once in the first 64 evaluations, twice up to 144, three times up to 256; by the paper, most of the time."""
    best = (3, 3, 1)
    amended, paper = best_is(best, "amended", 200), best_is(best, "paper", 200)
    for n in (64, 144, 200):
        assert amended[10:n].count(best) <= evaluations_that_bar(n)
    assert amended[10:].count(best) == evaluations_that_bar(200) - 1  # one more was told at the beginning
    assert paper[10:].count(best) > 50


@pytest.mark.parametrize(
    "number", [Ordinal("n", tuple(range(99))), Ordinal("n", tuple(2.0**i for i in range(99)), log=True)]
)
def test_numbers_of_many_values_are_proposed_as_rarely_again_as_those_of_few(number: Ordinal) -> None:
    space = GridSpace([number])
    method, asked = TPE(Problem(space, (Metric("loss", ""),)), np.random.default_rng(0)), list[Any]()
    for _ in range(60):
        asked.append(method.ask())
        method.tell(Observation(asked[-1], Evaluation({"loss": abs(asked[-1][0] - 20.0)}, 1.0), True))
    assert len({*asked}) > 50  # a few times all candidates are barred
    assert (20,) in asked


@pytest.mark.parametrize("bounds", [(), (UPPER,)])
def test_with_one_worker_nothing_is_pending(bounds: tuple[Bound, ...]) -> None:
    ignoring, heeding = (CTPE(problem(*bounds), np.random.default_rng(0), pending=p) for p in ("ignored", "bad"))
    assert searched(ignoring, bounds, 30) == searched(heeding, bounds, 30)


def test_pending_evaluations_repel_until_they_are_told() -> None:
    method = TPE(problem(), np.random.default_rng(0), pending="bad", initial=8)
    first = [method.ask() for _ in range(8)]
    for configuration in first:
        tell(method, configuration, score(configuration), ())
    ahead = [method.ask() for _ in range(40)]
    assert len({*ahead, *first}) == len({*first}) + 40  # a pending configuration is as barred as an evaluated one
    ignoring = TPE(problem(), np.random.default_rng(0), initial=8)
    for configuration in first:
        ignoring.ask()
        tell(ignoring, configuration, score(configuration), ())
    assert len({ignoring.ask() for _ in range(40)}) < 40

    for configuration in ahead:
        tell(method, configuration, score(configuration), ())
    fresh = TPE(problem(), np.random.default_rng(1), initial=8)
    for configuration in [*first, *ahead]:
        tell(fresh, configuration, score(configuration), ())
    near = [(8, 7, 1), (1, 0, 0), (4, 4, 2)]
    assert method.acquisition(near).tolist() == fresh.acquisition(near).tolist()  # nothing is left of what was pending


def test_where_every_candidate_is_barred_the_best_of_all_is_proposed() -> None:
    space = GridSpace([Categorical("a", (0, 1))])
    loose = Bound(SIZE, high=99.0)
    method = CTPE(Problem(space, (Metric("loss", ""),), (loose,)), np.random.default_rng(0), initial=2)
    asked = []
    for _ in range(40):
        asked.append(method.ask())
        tell(method, asked[-1], {"loss": float(asked[-1][0]), "size": 0.0}, (loose,))
    assert asked[20:].count((0,)) > 15


@pytest.mark.parametrize(("variant", "most"), [("paper", 0.3), ("amended", 0.45)])  # the latter runs out of good ones
def test_failures_repel_and_say_nothing_else(variant: str, most: float) -> None:
    """Appendix D: every configuration with a >= 4, half of them, yields nothing but a failure."""
    method = CTPE(problem(LOWER), np.random.default_rng(0), variant=variant)
    asked = []
    for _ in range(80):
        configuration = method.ask()
        asked.append(configuration)
        if configuration[0] >= 4:
            method.tell(Observation(configuration, FAILED, False))
        else:
            tell(method, configuration, score(configuration), (LOWER,))
    groups = method._estimators().groups(1)
    failed_rows = [j for j, c in enumerate(asked) if c[0] >= 4]
    assert groups.shape[0] == 3
    assert (groups[:2, failed_rows] == -1).all()
    assert (groups[2, failed_rows] == 0).all()
    assert (np.delete(groups[2], failed_rows) == 1).all()
    assert np.mean([c[0] >= 4 for c in asked[40:]]) < most


def test_a_search_in_which_everything_fails_goes_on() -> None:
    method = CTPE(problem(UPPER), np.random.default_rng(0))
    asked = set()
    for _ in range(40):
        configuration = method.ask()
        asked.add(configuration)
        method.tell(Observation(configuration, FAILED, False))
    assert len(asked) > 30


def test_a_search_without_anything_feasible_does_not_stand_still() -> None:
    """Found on NAS-Bench-201: with ties of the minimum all in, a repeated configuration kept itself the best."""
    table = open_embedded("nb201-cifar10")
    bounds = abilities.bounds(table, parse_constraints(["train_time@0.1"]))
    for seed in range(6):
        method = CTPE(Problem.of(table, bounds), np.random.default_rng(seed))
        feasible = 0
        for i in range(120):
            configuration = method.ask()
            evaluation = table.evaluate(configuration, 1000 * seed + i)
            holds = bounds[0].holds(evaluation.metrics[bounds[0].metric.name])
            feasible += holds
            method.tell(Observation(configuration, evaluation, holds))
        assert feasible > 10


@pytest.mark.parametrize("name", ["tpe", "c-tpe", "c-tpe-naive", "tpe:variant=paper", "c-tpe:variant=scripts"])
def test_it_searches_spaces_with_floats_integers_and_conditions(name: str) -> None:
    bound = Bound(Metric("size", ""), high=3.0)
    method = MethodSpec.parse(name).build(Problem(SPACE, (Metric("loss", ""),), (bound,)), np.random.default_rng(0))
    losses = []
    for _ in range(80):
        configuration = method.ask()
        SPACE.check(configuration)
        values = SPACE.values(configuration)
        loss = abs(math.log10(values["lr"]) + 2) + abs(values.get("momentum", 0.2) - 0.7)
        size = float(values["layers"])
        losses.append(loss)
        method.tell(Observation(configuration, Evaluation({"loss": loss, "size": size}, 1.0), size <= 3))
    assert min(losses[10:]) < 0.25
    assert np.median(losses[40:]) < np.median(losses[:10])


@pytest.mark.parametrize("name", ["tpe", "c-tpe", "c-tpe-naive"])
def test_told_out_of_order_and_asked_ahead_it_repeats(name: str) -> None:
    def run(rng: Generator) -> list[tuple[int, ...]]:
        method, asked, pending = MethodSpec.parse(name).build(problem(UPPER), rng), [], []
        for i in range(60):
            pending.append(method.ask())
            asked.append(pending[-1])
            if i >= 3:
                configuration = pending.pop(i % 3)
                tell(method, configuration, score(configuration), (UPPER,))
        return asked

    assert run(np.random.default_rng(0)) == run(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpe:candidates=100001", r"candidates must lie in \[1, 100000\]"),
        ("tpe:gamma=cubic", "unknown gamma rule 'cubic'; allowed: auto, linear, sqrt"),
        ("tpe:variant=script", r"did you mean scripts"),
        ("tpe:candidates=-1", r"candidates must lie in \[1, 100000\]"),
        ("c-tpe:candidates=60000", r"candidates must lie in \[1, 50000\]"),
        ("tpe:initial=0", "initial must be at least 1"),
        ("c-tpe:knowledge=-1", "knowledge must be at least 0"),
    ],
)
def test_options_out_of_range_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MethodSpec.parse(text).build(problem(UPPER), np.random.default_rng(0))


@pytest.mark.parametrize("text", ["tpe:candidates=1", "c-tpe:candidates=1", "c-tpe:candidates=50000"])
def test_the_least_and_the_most_candidates_are_taken(text: str) -> None:
    MethodSpec.parse(text).build(problem(UPPER), np.random.default_rng(0)).ask()


def test_too_many_choices_are_refused() -> None:
    space = GridSpace([Categorical("a", tuple(range(300)))])
    with pytest.raises(UsageError, match="at most 256 choices, also of a number that others depend on, and a has 300"):
        TPE(Problem(space, (Metric("loss", ""),)), np.random.default_rng(0))


def test_knowledge_needs_a_cheap_metric() -> None:
    with pytest.raises(UsageError, match=r"knowledge needs a constraint on a cheap metric .* not on time"):
        CTPE(problem(LOWER), np.random.default_rng(0), knowledge=10)


def peaks(acquisition: np.ndarray) -> int:
    """Separate regions within e^-1.5 of the best."""
    return int(ndimage.label(acquisition > acquisition.max() - 1.5)[1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", [4.0, 16.0])
def test_figure_1_has_one_peak_where_the_naive_extension_has_two(limit: float, seed: int) -> None:
    ours = ctpe_figures.acquisition("c-tpe", limit, seed)
    naive = ctpe_figures.acquisition("c-tpe-naive", limit, seed)
    assert peaks(ours) == 1
    y, x = np.unravel_index(ours.argmax(), ours.shape)
    place = ctpe_figures.AXIS[x], ctpe_figures.AXIS[y]
    between = (np.array(place) + 2) / 3  # 0 at the objective's optimum, 1 at the middle of the feasible disc
    assert 0 < between.mean() < 1
    height = ndimage.maximum_filter(naive, size=15)
    hills = naive[(naive == height) & (naive > naive.max() - 4)]
    assert len(hills) >= 2


def test_figure_2_is_sampled_at_the_boundary_where_the_overlap_is_small() -> None:
    def at_the_boundary(name: str) -> float:
        shares = []
        for seed in range(8):
            points = ctpe_figures.evaluations(name, 2.3, seed)[10:]
            distance = np.hypot(*(points - 2.3).T) - math.sqrt(3)
            nearer = points.sum(axis=1) < 4.6  # the side where the objective is better
            shares.append(np.mean((np.abs(distance) < 0.5) & nearer))
        return float(np.mean(shares))

    assert at_the_boundary("c-tpe") > 0.5
    assert at_the_boundary("c-tpe") > at_the_boundary("c-tpe-naive")


def test_names() -> None:
    assert [METHODS.get(name) for name in ("tpe", "c-tpe-naive", "c-tpe")] == [TPE, NaiveCTPE, CTPE]


@pytest.mark.parametrize("kind", [CTPE, NaiveCTPE])
def test_what_is_refused_before_training_is_not_proposed_for_ever(kind: type[TPE]) -> None:
    """Nothing is feasible, and every proposal is refused by its size: the smallest must not be asked for again."""
    never = Bound(SIZE, high=-1.0)
    method = kind(problem(never), np.random.default_rng(0))
    asked = []
    for _ in range(64):
        asked.append(method.ask())
        known = {"loss": math.nan, "size": float(asked[-1][0]), "time": math.nan}
        method.tell(Observation(asked[-1], Evaluation(known, 0.0, "infeasible", "known before training"), False))
    most = max(map(asked.count, asked[10:]))
    assert most <= evaluations_that_bar(64)


def test_two_small_feasible_regions_trap_it_as_in_figure_8() -> None:
    """It finds one of them, hardly ever both; random search finds none or both as often as one."""
    found = ctpe_figures.ends("c-tpe:variant=paper", seeds=12)
    assert sum(found.values()) == 12
    assert found["nothing"] == 0
    assert found["both"] <= 4
    at_random = ctpe_figures.ends("random", seeds=12)
    assert at_random["both"] + at_random["nothing"] >= 3

"""Methods that choose how long to train: what they do on toys, and the runner's part."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Evaluation, Level, Metric
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.contract import Status
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods import MethodSpec, Observation, Problem, Proposal
from nasbench.methods.fidelity.asha import ASHA
from nasbench.methods.fidelity.hyperband import Bracket
from nasbench.methods.fidelity.pasha import PASHA, Crossings, is_same_order
from nasbench.results import Trajectory
from tests.methods.levels import Stepwise, named, trajectory
from tests.nasbench_cli import toys


def pieces(found: Trajectory) -> list[tuple[int, int, float]]:
    names = ("trial", "level", "objective")
    return list(zip(*(found.columns[name].tolist() for name in names), strict=True))


@pytest.mark.parametrize(("method", "second"), [("hyperband", 12), ("hyperband:brackets=hpbandster", 9)])
def test_hyperband_trains_a_bracket_after_the_other_and_the_best_of_each_rung_go_on(method: str, second: int) -> None:
    """Levels 1, 3, 9, 27: brackets of 27 9 3 1, 12 4 1 (9 3 1 in HpBandSter), 6 2 and 4 trainings."""
    found = pieces(trajectory(method, evals=14))
    expected = [(3, [27, 9, 3, 1]), (2, [second, second // 3, second // 9]), (1, [6, 2]), (0, [4])]
    for s, counts in expected:
        before: list[tuple[int, int, float]] = []
        for i, count in enumerate(counts):
            rung, found = found[:count], found[count:]
            assert {level for _, level, _ in rung} == {[1, 3, 9, 27][3 - s + i]}
            if before:
                assert {t for t, _, _ in rung} == {t for t, _, _ in sorted(before, key=lambda r: r[2])[:count]}
            before = rung
    assert found  # and from the beginning again
    assert found[0][1] == 1


def test_successive_halving_without_noise_finds_the_best_of_its_configurations() -> None:
    class Exact(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation({"loss": sum(configuration) + 0.1 * (27 - upto.work), "size": 0.0}, float(upto.work))

    found = pieces(trajectory("successive-halving", Exact(), evals=4))
    assert [level for _, level, _ in found[:40]] == [1] * 27 + [3] * 9 + [9] * 3 + [27]
    assert found[39][2] == min(value for _, _, value in found[:27]) - 2.6


def test_what_is_added_to_a_training_is_all_that_is_paid() -> None:
    found = trajectory("hyperband", evals=14)
    paid: dict[int, float] = defaultdict(float)
    reached: dict[int, int] = {}
    per_epoch: dict[int, float] = {}
    for trial, level, cost in zip(*(found.columns[name].tolist() for name in ("trial", "level", "cost")), strict=True):
        paid[trial] += cost
        reached[trial] = level
        assert paid[trial] / level == pytest.approx(per_epoch.setdefault(trial, cost / level))
    assert found.columns["spent"][-1] == pytest.approx(sum(reached.values()) / 27)
    assert found.columns["finished"][-1] == pytest.approx(sum(paid.values()))


def test_a_bare_configuration_is_trained_to_the_end() -> None:
    found = trajectory("random", evals=60)
    assert set(found.columns["level"]) == {27}
    assert found.columns["trial"].tolist() == list(range(60))
    assert found.columns["spent"].tolist() == list(range(1, 61))


def test_pieces_of_a_training_have_one_seed_and_add_up_to_the_whole() -> None:
    benchmark = toys.Watched()
    found = trajectory(Stepwise, benchmark, evals=20)
    asked: dict[int, list[float]] = defaultdict(list)
    for trial, cost in zip(found.columns["trial"].tolist(), found.columns["cost"].tolist(), strict=True):
        asked[trial].append(cost)
    assert all(len(costs) == 3 for costs in asked.values())
    values = found.columns["objective"].reshape(-1, 3)
    seeds13 = (values[:, 0] - values[:, 2]) / 24 * 10  # of the loss's slope, which the seed draws
    assert seeds13 == pytest.approx((values[:, 1] - values[:, 2]) / 18 * 10)
    assert seeds13 == pytest.approx(np.round(seeds13))
    for costs in asked.values():
        assert costs[1] == pytest.approx(2 * costs[0])
        assert costs[2] == pytest.approx(6 * costs[0])


@pytest.mark.parametrize(
    "method", ["successive-halving", "hyperband", "asha", "asha:variant=stopping", "pasha", "dehb", "freeze-thaw"]
)
@pytest.mark.parametrize("evals", [1, 7, 20])
def test_the_budget_is_used_and_never_exceeded(method: str, evals: int) -> None:
    for workers in (1, 4):
        found = trajectory(method, evals=evals, workers=workers)
        assert not found.failure
        assert found.columns["spent"][-1] <= evals
        assert found.columns["spent"][-1] > evals - 1
        for trial in set(found.columns["trial"].tolist()):
            levels = found.columns["level"][found.columns["trial"] == trial]
            assert (np.diff(levels) > 0).all()


def test_where_nothing_can_be_continued_every_level_is_a_whole_training() -> None:
    found = trajectory("hyperband", toys.Separate(), evals=14)
    assert len(set(found.columns["trial"].tolist())) == len(found)
    assert found.columns["spent"][-1] == pytest.approx(found.columns["level"].sum() / 27)
    assert 27 in found.columns["level"]


def literal_asha(
    cost: dict[int, float], values: dict[tuple[int, int], float], workers: int, rows: int
) -> list[tuple[int, int, int, float, float]]:
    """(trial, level, worker, start, end) of ASHA by the paper's algorithm 2: lists, sorting, and events in order.

    Args:
        cost: seconds of one epoch of each trial.
        values: the objective of (trial, level).
    """
    above = {1: 3, 3: 9, 9: 27}
    rung: dict[int, list[tuple[float, int, int]]] = {1: [], 3: [], 9: []}
    promoted: dict[int, set[int]] = {1: set(), 3: set(), 9: set()}
    events: list[tuple[float, int, int, int, int, float]] = []
    free, asked, now = list(range(workers)), 0, 0.0
    found: list[tuple[int, int, int, float, float]] = []
    while len(found) < rows:
        while free:
            job = None
            for level in (9, 3, 1):
                chosen = sorted(rung[level])[: len(rung[level]) // 3]
                left = [t for _, _, t in chosen if t not in promoted[level]]
                if left:
                    promoted[level].add(left[0])
                    job = left[0], above[level], level
                    break
            if job is None:
                job = asked, 1, 0
            trial, to, since = job
            heapq.heappush(events, (now + cost[trial] * (to - since), asked, free.pop(0), trial, to, now))
            asked += 1
        now, _, worker, trial, level, start = heapq.heappop(events)
        free.append(worker)
        found.append((trial, level, worker, start, now))
        if level < 27:
            rung[level].append((values[trial, level], len(rung[level]), trial))
    return found


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("seed", range(10))
def test_asha_is_a_literal_simulation_of_the_papers_algorithm(workers: int, seed: int) -> None:
    found = trajectory("asha", seed=seed, evals=30, workers=workers)
    columns = {name: found.columns[name].tolist() for name in ("trial", "level", "worker", "started", "finished")}
    per_level, values = {}, {}
    for trial, level, cost, objective in zip(
        *(found.columns[name].tolist() for name in ("trial", "level", "cost", "objective")), strict=True
    ):
        values[trial, level] = objective
        if level == 1:
            per_level[trial] = cost
    still = defaultdict(lambda: math.inf, per_level)  # what had not finished when the budget was used up
    rows = list(zip(*columns.values(), strict=True))
    count = len(rows) - 2 * workers  # while the budget ends, nothing new is asked for
    literal = literal_asha(still, values, workers, count)
    for ours, theirs in zip(rows, literal, strict=False):
        assert ours[:3] == theirs[:3]
        assert ours[3:] == pytest.approx(theirs[3:])


class Ordered(toys.Watched):
    """The order of trainings never changes: each loss falls by the same amount per epoch."""

    name = "toy-ordered"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        end = float(sum(configuration)) + seed % 1000 / 1e4
        curve = tuple(end + 27.0 - epoch for epoch in range(1, upto["epochs"] + 1))
        metrics = {"loss": curve[-1], "size": float(configuration[0])}
        return Evaluation(metrics, float(upto["epochs"]), curve=curve if self.fidelity.continuable else None)


class OrderedApart(Ordered):
    """Each level is a training of its own."""

    name = "toy-ordered-apart"
    fidelity = toys.Separate.fidelity


@pytest.mark.parametrize("benchmark", [Ordered(), OrderedApart()], ids=lambda benchmark: benchmark.name)
def test_pasha_stays_at_two_rungs_while_the_order_is_stable(benchmark: Ordered) -> None:
    found = trajectory("pasha", benchmark, evals=20, workers=4)
    if benchmark.fidelity.continuable:
        assert set(found.columns["level"].tolist()) == {1, 3}
    else:  # another seed at each level may change the order
        assert {1, 3} <= set(found.columns["level"].tolist())


def test_pasha_is_asha_where_the_order_changes_from_the_beginning() -> None:
    class Reversed(toys.Watched):
        """The order of trainings is reversed from rung to rung."""

        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            sign = 1 if upto["epochs"] in (1, 2, 9, 10) else -1
            loss = 100.0 + sign * (sum(configuration) + seed % 1000 / 1e4)
            curve = (*[loss] * upto["epochs"],)
            return Evaluation({"loss": loss, "size": 1.0}, float(upto["epochs"]), curve=curve)

    pasha, asha = (Counter(trajectory(n, Reversed(), evals=25).columns["level"].tolist()) for n in ("pasha", "asha"))
    assert set(pasha) == {1, 3, 9, 27}
    assert all(abs(pasha[level] - asha[level]) <= 0.1 * asha[1] for level in asha)


def test_places_may_be_exchanged_by_trainings_within_epsilon() -> None:
    below = {"a": 1.0, "b": 2.0, "c": 2.1, "d": 9.0, "lost": 0.0}
    highest = {"a": 0.5, "c": 0.6, "b": 0.7, "d": 0.8}
    assert not is_same_order(highest, below, 0.05)  # b and c have changed places
    assert is_same_order(highest, below, 0.1001)
    assert is_same_order({"a": 0.5, "b": 0.6}, below, 0.0)
    assert not is_same_order({"b": 0.5, "a": 0.6}, below, 0.9)
    assert is_same_order({"b": 0.5, "a": 0.5}, below, 0.0)  # equal at the top: either may be first


def test_epsilon_is_a_percentile_of_the_last_differences_of_curves_that_cross_twice() -> None:
    def epsilon(*curves: list[float]) -> float:
        crossings = Crossings()
        for curve in curves:
            crossings.add(curve)
        return crossings.epsilon

    flat = [2.0, 2.0, 2.0, 2.0]
    once, twice, thrice = [1.0, 3.0, 3.0, 3.0], [1.0, 3.0, 1.0, 1.5], [3.0, 1.0, 1.0, 2.25]
    assert epsilon(flat, once) == 0.0
    assert epsilon(flat, twice) == 0.5
    assert epsilon(flat, thrice) == 0.25
    assert epsilon(flat, twice, thrice) == pytest.approx(np.percentile([0.5, 0.25, 0.75], 90))
    assert epsilon(flat, [math.nan, 1.0, 3.0, 1.0]) == 1.0
    assert epsilon(flat, [1.0, 2.0, 2.0, 1.5]) == 0.0  # it touches, and does not cross


def test_a_failed_training_never_goes_on() -> None:
    class Diverging(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            if configuration[2] % 2:
                raise FloatingPointError("the loss is nan")
            return super().measure(configuration, seed, upto, state)

    for method in ("hyperband", "asha", "asha:variant=stopping", "pasha", "bohb", "dehb", "freeze-thaw"):
        found = trajectory(method, Diverging(), evals=20, workers=4)
        failed = found.columns["trial"][found.columns["status"] == "failed"].tolist()
        assert failed
        assert all((found.columns["trial"] == trial).sum() == 1 for trial in failed)


@pytest.mark.parametrize(
    "method",
    [
        *("successive-halving", "hyperband", "asha", "asha:variant=stopping", "pasha"),
        *("bohb", "c-bohb", "dehb", "freeze-thaw"),
    ],
)
def test_a_search_ends_where_all_fail_or_all_are_equal_or_nothing_is_feasible(method: str) -> None:
    class Broken(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            raise MemoryError("no memory")

    class Constant(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation({"loss": 1.0, "size": 2.0}, 1.0)

    never = (Bound(Metric("loss", ""), high=-1.0),)
    for benchmark, bounds in ((Broken(), ()), (Constant(), ()), (toys.Watched(), never)):
        found = trajectory(method, benchmark, bounds=bounds, evals=10, workers=3)
        assert not found.failure
        assert found.columns["spent"][-1] > 9
    assert np.isnan(found.columns["incumbent"]).all()


def test_the_incumbent_is_the_best_at_the_highest_level_that_anything_has_reached() -> None:
    found = trajectory("hyperband", evals=20, workers=4)
    top, value = 0, math.nan
    for level, objective, incumbent in zip(
        *(found.columns[name].tolist() for name in ("level", "objective", "incumbent")), strict=True
    ):
        if level > top or (level == top and objective < value):
            top, value = level, objective
        assert incumbent == value
    assert top == 27


def test_bohb_without_constraints_is_c_bohb() -> None:
    ours, theirs = (trajectory(name, evals=30) for name in ("bohb", "c-bohb"))
    assert ours.columns["configuration"].tolist() == theirs.columns["configuration"].tolist()
    assert ours.columns["level"].tolist() == theirs.columns["level"].tolist()


def test_bohb_learns_from_the_highest_level_that_it_may() -> None:
    def mean(method: str) -> float:
        ends = [trajectory(method, seed=seed, evals=60).columns["incumbent"][-1] for seed in range(8)]
        return float(np.mean(ends))

    assert mean("bohb") < mean("hyperband") < mean("random")


def test_c_bohb_pays_for_nothing_that_is_known_to_violate_a_constraint() -> None:
    class Sized(toys.Watched):
        def known(self, metric: str, configuration: Configuration) -> float:
            return float(configuration[0])

    small = (Bound(Metric("size", "", cheap=True), high=3.0),)
    paid = trajectory("c-bohb", Sized(), bounds=small, evals=20)
    assert paid.columns["feasible"].all()
    assert not trajectory("bohb", Sized(), bounds=small, evals=20).columns["feasible"].all()


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        (Proposal((0, 0, 0, 0), Level(epochs=28)), "there is no level epochs 28; allowed: epochs 1 to 27"),
        (Proposal((0, 0, 0, 0), Level(epochs=0)), "there is no level epochs 0"),
        (
            Proposal((0, 0, 0, 0), Level(epochs=9), 5),
            "trial 5 cannot be continued: it is at work, has failed, or has ended",
        ),
        (
            Proposal((0, 0, 0, 1), Level(epochs=9), 0),
            "trial 0 is of another configuration, or cannot go on up to that level",
        ),
        (
            Proposal((0, 0, 0, 0), Level(epochs=3), 0),
            "trial 0 is of another configuration, or cannot go on up to that level",
        ),
    ],
)
def test_a_proposal_that_cannot_be_ends_the_run_with_the_reason(proposal: Proposal, why: str) -> None:
    class Wrong(Stepwise):
        def ask(self) -> Proposal:
            return Proposal((0, 0, 0, 0), Level(epochs=3)) if self._last is None else proposal

    found = trajectory(Wrong)
    assert why in found.failure
    assert len(found) == 2


def test_a_method_that_chooses_levels_does_not_fit_a_benchmark_without_them() -> None:
    for name in ("successive-halving", "hyperband", "asha", "bohb", "c-bohb", "dehb", "freeze-thaw"):
        spec = MethodSpec(name)
        why = spec.misfit(Problem.of(toys.Toy()))
        assert why == "chooses how long to train, and that benchmark has one fidelity only"
        assert not spec.misfit(Problem.of(toys.Watched()))
        with pytest.raises(UsageError, match=f"{name} cannot search here: it chooses how long to train"):
            spec.build(Problem.of(toys.Toy()), np.random.default_rng(0))


class LateSize(toys.Watched):
    """The size is above its limit until the last levels."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        size = 1.0 if upto["epochs"] == 27 else 9.0
        return evaluation._replace(metrics={**evaluation.metrics, "size": size})


def test_pasha_trains_on_where_a_constraint_is_met_at_the_end_alone() -> None:
    bound = Bound(Metric("size", ""), high=5.0)
    found = trajectory("pasha", LateSize(), evals=25, bounds=(bound,))
    assert found.columns["feasible"].any()


def test_a_part_costs_nothing_where_recorded_times_fall() -> None:
    class Falls(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            seconds = {3: 5.0, 9: 4.0, 27: 6.0}[upto["epochs"]]
            return super().measure(configuration, seed, upto, state)._replace(cost=seconds)

    found = trajectory(Stepwise, Falls(), evals=1)
    assert found.columns["cost"].tolist() == [5.0, 0.0, 1.0]
    assert found.columns["finished"].tolist() == [5.0, 5.0, 6.0]


def observed(
    trial: int,
    level: int,
    loss: float,
    curve: tuple[float, ...] | None = None,
    feasible: bool = True,
    status: Status = "ok",
) -> Observation:
    evaluation = Evaluation({"loss": loss if status == "ok" else math.nan}, 1.0, status, curve=curve)
    return Observation((0, 0, 0, trial), evaluation, feasible, Level(epochs=level), trial)


def test_by_the_stopping_rule_a_training_goes_on_unless_more_than_a_third_are_better() -> None:
    """Better ones of n so far: 0/1, 1/2, 1/3, 2/4, 0/5, 3/6, 2/7 (of equal ones none is better)."""
    problem = Problem(toys.Watched.space, (Metric("loss", ""),), fidelity=toys.Watched.fidelity)
    method = ASHA(problem, np.random.default_rng(0), variant="stopping")
    goes_on = []
    for trial, loss in enumerate([5.0, 9.0, 6.0, 7.0, 1.0, 6.5, 6.0]):
        method.tell(observed(trial, 1, loss))
        following = method.ask()
        goes_on.append(following.continues is not None)
        assert following[1:] == ((Level(epochs=3), trial) if goes_on[-1] else (Level(epochs=1), None))
    assert goes_on == [True, False, True, False, True, False, True]


def test_of_equal_results_the_oldest_training_goes_on_whichever_ended_first() -> None:
    bracket = Bracket(named([1, 3]), [3, 1])
    for _ in range(3):
        bracket.next(lambda _: (0, 0, 0, 0))
    for trial in (2, 0, 1):
        bracket.tell((0.0, 1.0), trial, (0, 0, 0, trial), True)
    assert bracket.next(lambda _: (9, 9, 9, 9)) == Proposal((0, 0, 0, 0), Level(epochs=3), 0)


def test_pashas_epsilon_begins_anew_with_each_rung_that_is_added() -> None:
    """Two curves cross twice and end 0.5 apart; then the third training, the worst so far, turns out the best."""
    problem = Problem(toys.Watched.space, (Metric("loss", ""),), fidelity=toys.Watched.fidelity)
    method = PASHA(problem, np.random.default_rng(0))
    curves = [(1.0, 3.0, 1.0), (2.0, 1.0, 1.5), (10.0, 5.0, 0.5)]
    states = []
    for level in (1, 3):
        for trial, curve in enumerate(curves):
            method.tell(observed(trial, level, curve[level - 1], curve[:level]))
            states.append((method._top, method._crossings.epsilon, method._ended))
    assert states == [*[(1, 0.0, 0)] * 3, (1, 0.0, 1), (1, 0.5, 2), (2, 0.0, 0)]


def test_pasha_adds_no_rung_before_the_order_of_feasible_trainings_is_known_to_change() -> None:
    """Infeasible ones are not compared: only when η of them have ended without a feasible one the rung is added."""
    problem = Problem(toys.Watched.space, (Metric("loss", ""),), fidelity=toys.Watched.fidelity)
    method = PASHA(problem, np.random.default_rng(0))
    tops = []
    for level, losses in ((1, [1.0, 2.0, 3.0, 4.0]), (3, [4.0, 3.0, 2.0, 1.0])):  # the order is reversed
        for trial, loss in enumerate(losses):
            method.tell(observed(trial, level, loss, feasible=False))
            tops.append(method._top)
    assert tops == [1, 1, 1, 1, 1, 1, 2, 2]


def test_a_failed_training_stays_in_its_rung_as_the_worst() -> None:
    """One of three trainings goes on, even if the other two failed."""
    problem = Problem(toys.Watched.space, (Metric("loss", ""),), fidelity=toys.Watched.fidelity)
    method = ASHA(problem, np.random.default_rng(0))
    for trial, status in enumerate(("failed", "failed", "ok")):
        method.tell(observed(trial, 1, 5.0, status=status))  # type: ignore[arg-type]
    assert method.ask() == Proposal((0, 0, 0, 2), Level(epochs=3), 2)


@pytest.mark.parametrize("method", ["successive-halving", "hyperband"])
def test_with_several_workers_every_bracket_is_brought_to_its_end(method: str) -> None:
    """While one waits for its rung others begin; it is taken up again."""
    one, four = (Counter(trajectory(method, evals=40, workers=n).columns["level"].tolist()) for n in (1, 4))
    assert all(abs(four[level] - one[level]) <= 0.15 * one[1] for level in one)
    assert four[27] >= 0.8 * one[27]

"""The repetition that is hidden from a run, and the worth of its incumbents, held against tables by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import NO_BOUNDS, Evaluation, Level, Metric, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.benchmarks.tabular.imported import ImportedTable
from nasbench.cli.engine import loop, plan
from nasbench.cli.engine.batches import trajectory_of
from nasbench.cli.engine.hidden_repetition import HiddenRepetition
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.methods import METHODS, About, Method, MethodSpec, Needs, Observation, Problem, Proposal
from nasbench.results import Setup, Trajectory
from tests.conftest import Lend

SPACE = GridSpace([Ordinal("a", (0, 1, 2)), Categorical("b", ("x", "y", "z"))])
FACTS = {"source": "", "licence": "", "checksum": "small-1"}
COUNTS = [4, 4, 1, 2, 4, 4, 3, 4, 4]  # repetitions of each configuration


def small() -> TabularBenchmark:
    """Nine configurations, so that many are asked again; every repetition has another error."""
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(5, 1, (9, 4)), rng.normal(1, 0.3, (9, 4)) + np.arange(9)[:, None] / 9], axis=2)
    values[:, :, 1] = np.abs(values[:, :, 1])
    for row, count in enumerate(COUNTS):
        values[row, count:] = math.nan
    metrics = (Metric("valid-error@1", "%"), Metric("time", "s"))
    return TabularBenchmark(
        "small", "small", SPACE, metrics, lambda: values, cost="time", source="", licence="", checksum="small-1"
    )


def made(
    method: str,
    seed: int,
    constraint: str,
    monkeypatch: pytest.MonkeyPatch,
    evaluations: int = 40,
) -> Trajectory:
    table = small()
    monkeypatch.setattr(plan, "open_benchmark", lambda name: table)
    constraints = (tuple(parse_constraints([constraint])),)
    protocol = Protocol(evaluations, None, 3)
    (planned,) = expand([Grid((MethodSpec.parse(method),), ("small",), constraints, (0,), protocol)])
    return run(planned.setup, seed, planned.spec, table, planned.bounds)


def rows_of(found: Trajectory) -> list[int]:
    """The row of the table of each evaluation."""
    return [3 * c["a"] + "xyz".index(c["b"]) for c in map(json.loads, found.columns["configuration"])]


def observed(found: Trajectory) -> dict[int, set[int]]:
    """The repetitions that a run observed of each configuration, by its row."""
    values, seen = small().values, dict[int, set[int]]()
    for row, y in zip(rows_of(found), found.columns["objective"], strict=True):
        seen.setdefault(row, set()).add(int(np.flatnonzero(values[row, :, 0] == y)[0]))
    return seen


METHODS_TRIED = ["random", "evolution:population=5,tournament=2"]


@pytest.mark.parametrize("method", METHODS_TRIED)
@pytest.mark.parametrize("constraint", ["none", "time<=1.4"])
def test_an_incumbent_is_worth_what_its_run_never_observes(
    method: str, constraint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held against the table by hand: one repetition of each configuration, the same in the whole run."""
    kinds, limit = set(), 1.4 if "<=" in constraint else math.inf
    for seed in range(12):
        found = made(method, seed, constraint, monkeypatch)
        columns, rows, seen, held = found.columns, rows_of(found), observed(found), dict[int, int]()
        for now in range(len(rows)):
            worth, is_feasible = columns["hidden"][now], columns["hidden_feasible"][now]
            kinds.add(is_feasible)
            good = [i for i in range(now + 1) if columns["feasible"][i]]
            row = rows[min(good, key=lambda i: columns["objective"][i])] if good else None
            if row is None or COUNTS[row] == 1:
                assert math.isnan(worth) and is_feasible is None
                continue
            (repetition,) = np.flatnonzero(small().values[row, :, 0] == worth)
            assert repetition not in seen[row]
            assert held.setdefault(row, repetition) == repetition
            assert is_feasible == (small().values[row, repetition, 1] <= limit)
    assert kinds == ({True, False, None} if "<=" in constraint else {True, None})


@pytest.mark.parametrize("method", METHODS_TRIED)
def test_one_repetition_of_each_configuration_is_hidden(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any of them, each as often, and no other: a run of 400 evaluations of nine configurations sees all the rest."""
    held = np.zeros(4, int)
    for seed in range(120):
        seen = observed(made(method, seed, "none", monkeypatch, evaluations=400))
        for row, count in enumerate(COUNTS):
            assert len(seen.get(row, ())) <= max(1, count - 1)
        if method == "random":
            assert all(len(seen[row]) == max(1, count - 1) for row, count in enumerate(COUNTS))
            held[({0, 1, 2, 3} - seen[0]).pop()] += 1
    if method == "random":
        assert held.sum() == 120
        assert stats.chisquare(held).pvalue > 1e-3


def test_of_configurations_with_as_many_repetitions_the_same_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a run sees nothing of a split that the configurations of a repetition share."""
    for seed in range(20):
        seen = observed(made("random", seed, "none", monkeypatch, evaluations=400))
        assert len({frozenset(seen[row]) for row, count in enumerate(COUNTS) if count == 4}) == 1


def test_the_others_are_drawn_equally_often() -> None:
    configuration, rng = SPACE.configuration(0), np.random.default_rng(0)
    for number in range(4):
        hidden, counts = HiddenRepetition(small(), NO_BOUNDS, number), np.zeros(4, int)
        for seed in rng.integers(2**63, size=3000).tolist():
            counts[hidden.draw(configuration, seed) % 4] += 1
        assert counts[number] == 0
        assert stats.chisquare(np.delete(counts, number)).pvalue > 1e-3
        assert hidden.score_of(configuration)[0] == small().values[0, number, 0]


class Climbing(Method):
    """Trains one configuration to the end, level by level, again and again."""

    about = About(source="none")
    needs = Needs(fidelity=True)

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._chosen = problem.space.sample(rng)
        self._reached, self._trial = 0, 0

    def ask(self) -> Proposal:
        following = {0: 2, 2: 6, 6: 18, 18: 54}[self._reached]
        return Proposal(self._chosen, Level(iterations=following), self._trial if self._reached else None)

    def tell(self, observation: Observation) -> None:
        self._reached, self._trial = observation.level.work % 54, observation.trial


def test_a_training_that_goes_on_sees_the_repetition_with_which_it_began(lend: Lend) -> None:
    """At every level; what is hidden is seen at none."""
    table = open_benchmark("sk-boosting-digits")
    assert isinstance(table, ImportedTable)
    lend(METHODS, "climbing", Climbing)
    (planned,) = expand([Grid((MethodSpec("climbing"),), (table.name,), ((),), (0,), Protocol(12))])
    for seed in range(6):
        columns = run(planned.setup, seed, planned.spec, table, NO_BOUNDS).columns
        levels, trials = columns["level"], columns["trial"]
        assert len(set(trials)) == 12 and set(levels) == {2, 6, 18, 54}
        texts = np.array([table.space.to_json(c) for c in table.space])
        (row,) = np.flatnonzero(texts == columns["configuration"][0])
        curves = table.curves[row, :, :, 0]
        seen = set()
        for trial in set(trials):
            own = columns["objective"][trials == trial]
            (repetition,) = np.flatnonzero((curves == own.astype(curves.dtype)).all(axis=1))
            seen.add(int(repetition))
        assert len(seen) == 4
        assert columns["hidden"][-1] == pytest.approx(curves[({0, 1, 2, 3, 4} - seen).pop(), -1])


def planned_on(table: TabularBenchmark, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setattr(plan, "open_benchmark", lambda name: table)
    (found,) = expand([Grid((MethodSpec("random"),), (table.name,), ((),), (0,), Protocol(20))])
    return found.setup


class Fragile(TabularBenchmark):
    """The first repetition of each configuration fails, if it fails at all, in one way or another."""

    how = "ok"

    def measure(self, configuration: tuple[int, ...], seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        if seed % self.repetition_count(configuration):
            return found
        if self.how == "raises":
            raise RuntimeError("diverged")
        if self.how == "infinite":
            return found._replace(metrics={**found.metrics, self.objective.name: math.inf})
        return found if self.how == "ok" else Evaluation({}, found.cost, "failed", "diverged")


@pytest.mark.parametrize("how", ["ok", "failed", "raises", "infinite"])
def test_where_the_hidden_repetition_fails_the_incumbent_counts_as_nothing_found(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as an unknown, for then its mean would count, with the value by which it was chosen; nor as a crash."""
    values = np.stack([np.arange(27.0).reshape(9, 3) + 1, np.ones((9, 3))], axis=2)
    metrics = (Metric("valid-error@1", "%"), Metric("time", "s"))
    table = Fragile("fragile", "fragile", SPACE, metrics, lambda: values, cost="time", **FACTS)
    table.how = how
    setup = planned_on(table, monkeypatch)
    seen = set()
    for seed in range(12):
        columns = run(setup, seed, MethodSpec("random"), table, NO_BOUNDS).columns
        assert (columns["status"] == "ok").all() or how != "ok"
        held = HiddenRepetition(table, NO_BOUNDS, loop._streams(setup, seed)[1].hidden)._number % 3
        seen.add(held)
        fails = held == 0 and how != "ok"
        assert set(columns["hidden_feasible"]) - {None} == {not fails}  # None before anything is found
        assert np.isnan(columns["hidden"]).all() == fails
        if not fails:
            row = int(columns["incumbent"][-1] - 1) // 3
            assert columns["hidden"][-1] == values[row, held, 0]
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("cost", [math.nan, -1.0, 1e101])
def test_an_incumbent_whose_hidden_repetition_fails_is_worth_nothing(
    cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.stack([np.arange(27.0).reshape(9, 3) + 1, np.ones((9, 3))], axis=2)
    values[:, 0, 1] = cost
    metrics = (Metric("valid-error@1", "%"), Metric("time", "s"))
    table = TabularBenchmark("holes", "holes", SPACE, metrics, lambda: values, cost="time", **FACTS)
    setup = planned_on(table, monkeypatch)
    kinds = set()
    for seed in range(12):
        columns = run(setup, seed, MethodSpec("random"), table, NO_BOUNDS).columns
        kinds.add((columns["hidden_feasible"][-1], bool(np.isnan(columns["hidden"]).all())))
    assert kinds == {(True, False), (False, True)}


class Asking(Method):
    """Asks for configurations in a random order, each `times` times; at most `only` of them."""

    about = About(source="none")

    def __init__(self, problem: Problem, rng: np.random.Generator, *, times: int = 1, only: int = 36) -> None:
        self._order, self._times, self._asked = rng.permutation(36)[:only], times, 0

    def ask(self) -> tuple[int, ...]:
        number = int(self._order[self._asked // self._times % len(self._order)])
        self._asked += 1
        return (number // 6, number % 6)

    def tell(self, observation: Observation) -> None:
        pass


def noise(kind: str, seed: int) -> TabularBenchmark:
    """A table of four repetitions whose configurations differ by noise alone; `common`: it is common to nearly all."""
    rng = np.random.default_rng(seed)
    values = rng.normal(5, 1, (36, 4, 1)) if kind == "normal" else rng.exponential(1, (36, 4, 1))
    if kind == "common":
        values = 0.01 * values + np.array([0.0, 1.0, 1.2, 5.0])[:, None]
    space = GridSpace([Ordinal("a", tuple(range(6))), Ordinal("b", tuple(range(6)))])
    metrics = (Metric("valid-error@1", "%"),)
    return TabularBenchmark(
        "noise", "noise", space, metrics, lambda: values, cost=1.0, source="", licence="", checksum=str(seed)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "exponential", "common"])
@pytest.mark.parametrize(("first", "second"), [("5", "1"), ("1,only=2", "1")])
def test_neither_asking_again_nor_seeing_less_gains_where_all_configurations_are_alike(
    first: str, second: str, kind: str, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On noise alone no method is better. By means over what each run has not observed, one of the two would be; and
    where noise is common to configurations, also by a hidden repetition of each configuration by itself."""
    lend(METHODS, "asking", Asking)
    better = []
    for number in range(60):
        table = noise(kind, number)
        monkeypatch.setattr(plan, "open_benchmark", lambda name, table=table: table)
        worth = []
        for options in (first, second):
            grid = Grid((MethodSpec.parse(f"asking:times={options}"),), ("noise",), ((),), (0,), Protocol(30))
            (planned,) = expand([grid])
            found = [run(planned.setup, seed, planned.spec, table, NO_BOUNDS) for seed in range(6)]
            worth.append([trajectory.columns["hidden"][-1] for trajectory in found])
        a, b = np.array(worth)
        better.append(np.mean((a[:, None] < b) + 0.5 * (a[:, None] == b)))
    assert abs(np.mean(better) - 0.5) < 3 * np.std(better) / math.sqrt(len(better))


def knows_hidden(bench: str, objectives: tuple[str, ...] = ()) -> bool:
    """Whether a run on a benchmark ends with the value of a hidden repetition."""
    (planned,) = expand([Grid((MethodSpec("random"),), (bench,), ((),), (0,), Protocol(10), objectives)])
    assert Setup.from_json(planned.setup.to_json()) == planned.setup
    return bool(np.isfinite(trajectory_of(planned, 0).columns["hidden"][-1]))


def test_runs_on_tables_with_repetitions_alone_have_one_hidden() -> None:
    assert knows_hidden("nb201-cifar10")
    assert not knows_hidden("nbgraph-cora")
    assert not knows_hidden("nb201-cifar10", ("x-valid-error", "train_time"))

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import math
import re
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench.benchmarks import Benchmark, Evaluation, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Configuration, Hashed, Space
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.benchmarks.tabular.embedded import open_embedded
from nasbench.cli.engine import runner, workers
from nasbench.cli.engine.block import _schedule, run_block
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.runner import run
from nasbench.cli.engine.workers import Diverged, EvaluationSeeds
from nasbench.methods import METHODS, Logged, Method, MethodSpec, Observation
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Cell, Setting, Trajectory
from nasbench.results.store.journal import Journal, peek
from tests.nasbench_cli import toys
from tests.nasbench_cli.toys import Spec

SETTING = Setting("toy", "loss", "", "", (), None, None, None)


def toy_run(
    method: type[Method] = toys.Careful,
    benchmark: Benchmark | None = None,
    seed: int = 0,
    constraint: str = "none",
    journal: Journal | None = None,
    **protocol: object,
) -> Trajectory:
    benchmark = benchmark or toys.Toy()
    facts = {"evals": 30, "seconds": None, "workers": 1, "charge_thinking": False} | protocol
    cell = Cell("toy", (), 1, benchmark.name, "toy-1", constraint, **facts, metrics=("loss", "size"), setting=SETTING)  # type: ignore[arg-type]
    bounds = benchmark.bounds(parse_constraints([constraint]))
    return run(cell, seed, Spec(method), benchmark, bounds, journal)


def rows(trajectory: Trajectory, *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(trajectory.columns[name].tolist() for name in names), strict=True))


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**31))
def test_workers_are_never_idle_and_never_do_two_things(evals: int, workers: int, seed: int) -> None:
    trajectory = toy_run(evals=evals, workers=workers, seed=seed)
    finished = trajectory.columns["finished"]
    assert trajectory.columns["evaluation"].tolist() == list(range(1, evals + 1))
    assert (np.diff(finished) >= 0).all()
    for worker in range(workers):
        mine = trajectory.columns["worker"] == worker
        starts, ends = trajectory.columns["started"][mine], finished[mine]
        assert starts.tolist() == [0.0, *ends[:-1].tolist()][: len(starts)]
    assert set(trajectory.columns["worker"].tolist()) == set(range(min(workers, evals)))


@given(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 5.0]), min_size=1, max_size=30), st.integers(1, 6))
def test_what_finishes_at_the_same_time_is_told_in_the_order_of_asking(costs: list[float], workers: int) -> None:
    """In the event loop, and in the schedule of a run in one go, which gives the same rows."""
    asked: list[float] = []
    told: list[int] = []

    class Timed(toys.Toy):
        def evaluate(self, configuration: Configuration, seed: int) -> Evaluation:
            return Evaluation((float(len(asked) - 1), 0.0), costs[len(asked) - 1])

    class Watching(toys.Careful):
        def ask(self) -> Configuration:
            asked.append(len(asked))
            return super().ask()

        def tell(self, observation: Observation) -> None:
            told.append(int(observation.objective))

    trajectory = toy_run(Watching, Timed(), evals=len(costs), workers=workers)
    ends = dict(zip(told, trajectory.columns["finished"].tolist(), strict=True))
    assert told == sorted(told, key=lambda ask: (ends[ask], ask))
    scheduled = _schedule(np.array(costs), workers)
    columns = (trajectory.columns[name] for name in ("worker", "started", "finished"))
    for one, other in zip(scheduled, (told, *columns), strict=True):
        np.testing.assert_array_equal(one, other)


def benchmark_stream(seed: int, bench: str, constraint: str) -> np.random.SeedSequence:
    """The benchmark's stream of a run, written out: a change of it makes every stored run stale (SCHEMA_VERSION)."""
    setting = hashlib.sha256(f'["{bench}", "{constraint}"]'.encode()).digest()[:16]
    return np.random.SeedSequence((seed, int.from_bytes(setting, "little"))).spawn(2)[1]


def test_settings_have_streams_of_their_own_that_methods_share() -> None:
    def drawn(method: str, bench: str, constraint: str, seed: int = 3) -> tuple[list[str], list[float]]:
        grid = Grid((MethodSpec.parse(method),), (bench,), (parse_constraints([constraint]),), (seed,), Protocol(30))
        (planned,) = expand([grid])
        columns = run(planned.cell, seed, planned.spec, open_benchmark(bench), planned.bounds).columns
        return columns["configuration"].tolist(), columns["objective"].tolist()

    settings = [("hpobench-car", "none"), ("hpobench-kc1", "none"), ("hpobench-car", "train_time@0.9")]
    proposals = [drawn("random", *setting)[0] for setting in settings]
    assert all(len(set(one) & set(other)) < 5 for one, other in itertools.combinations(proposals, 2))
    assert drawn("random", *settings[0]) == drawn("random", *settings[0])
    assert drawn("evolution:population=30", *settings[0]) == drawn("random", *settings[0])  # paired inside a setting
    assert drawn("random", *settings[0], seed=4)[0] != proposals[0]


def test_a_score_is_the_mean_over_repetitions_of_the_rows_configuration() -> None:
    bench = open_benchmark("hpobench-car")
    assert isinstance(bench, TabularBenchmark)
    (planned,) = expand(
        [Grid((MethodSpec("random"),), (bench.name,), (parse_constraints(["train_time@0.5"]),), (0,), Protocol(40))]
    )
    block = run(planned.cell, 0, planned.spec, bench, planned.bounds).columns
    loop = runner._run_loop(planned.cell, planned.spec, bench, planned.bounds, None, *runner._streams(planned.cell, 0))[
        0
    ]
    for name in ("score", "score_feasible", "objective", "configuration"):
        assert loop[name].tolist() == block[name].tolist()
    (bound,) = planned.bounds
    for configuration, score, feasible in zip(
        *(block[n] for n in ("configuration", "score", "score_feasible")), strict=True
    ):
        row = bench.space.index(bench.space.from_values(json.loads(configuration)))
        own = bench.values[row]
        assert score == pytest.approx(np.nanmean(own[:, 0]), rel=1e-12)
        assert feasible == (np.nanmean(own[:, bound.column]) <= bound.limit)
    assert (block["score"] != block["objective"]).any()  # a repetition is not the mean
    assert len(set(block["score_feasible"])) == 2


def test_a_live_run_has_no_score() -> None:
    columns = toy_run(evals=3).columns
    assert np.isnan(columns["score"]).all()
    assert columns["score_feasible"].tolist() == [None] * 3


@given(st.integers(1, 60), st.integers(0, 2**31))
def test_with_one_worker_the_clock_is_the_sum_of_the_costs(evals: int, seed: int) -> None:
    """What the evaluations draw from is spelt out here: were it another stream, all stored runs would be others."""
    trajectory = toy_run(evals=evals, seed=seed)
    seeds = EvaluationSeeds(benchmark_stream(seed, "toy", "none"))
    assert trajectory.columns["finished"].tolist() == np.cumsum([1.0 + seeds[i] % 7 for i in range(evals)]).tolist()


def test_the_incumbent_is_the_running_minimum_of_feasible_objectives() -> None:
    trajectory = toy_run(constraint="size<=4", evals=60, workers=3)
    columns = trajectory.columns
    assert columns["feasible"].tolist() == (columns["metrics"][:, 1] <= 4).tolist()
    assert 0 < columns["feasible"].sum() < 60
    best = math.nan
    for objective, feasible, incumbent in rows(trajectory, "objective", "feasible", "incumbent"):
        best = min(best, objective) if feasible and not math.isnan(best) else objective if feasible else best
        assert incumbent == best or (math.isnan(incumbent) and math.isnan(best))


def test_the_same_seed_repeats_and_another_does_not() -> None:
    def told(seed: int) -> list[tuple[object, ...]]:
        return rows(toy_run(seed=seed, workers=4), "configuration", "objective", "finished")

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_the_randomness_of_an_evaluation_depends_on_seed_and_number_only() -> None:
    """With one worker the costs, which the evaluation seeds draw, are the same whatever a method proposes."""
    careful, random = toy_run(toys.Careful, seed=5), toy_run(METHODS.get("random"), seed=5)
    assert rows(careful, "configuration") != rows(random, "configuration")
    assert rows(careful, "started", "finished") == rows(random, "started", "finished")


def test_global_random_state_is_neither_read_nor_changed() -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()
    first = rows(toy_run(), "configuration", "objective")
    assert np.random.get_state()[1].tolist() == before
    np.random.seed(2)
    assert rows(toy_run(), "configuration", "objective") == first


def test_a_budget_in_seconds_counts_what_has_finished_in_time() -> None:
    full = toy_run(evals=100, workers=3)
    seconds = full.columns["finished"][40] + 0.5
    timed = toy_run(evals=None, seconds=seconds, workers=3)
    expected = int((full.columns["finished"] <= seconds).sum())
    assert len(timed) == expected
    names = ("evaluation", "worker", "configuration", "objective", "started", "finished")
    assert rows(timed, *names) == rows(full, *names)[:expected]
    assert timed.failure == ""


def test_both_budgets_together_stop_at_whichever_ends_first() -> None:
    assert len(toy_run(evals=5, seconds=1e6)) == 5
    assert len(toy_run(evals=10_000, seconds=20.0)) < 20
    assert len(toy_run(evals=None, seconds=0.5)) == 0


def test_a_budget_in_seconds_that_never_ends_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_EVALUATIONS", 50)
    trajectory = toy_run(evals=None, seconds=1e9)
    assert "50 evaluations did not use up the budget" in trajectory.failure
    assert len(trajectory) == 51
    to_the_second = toy_run(evals=None, seconds=float(trajectory.columns["finished"][49]))
    assert (len(to_the_second), to_the_second.failure) == (50, "")


def test_thinking_is_kept_off_the_clock_unless_it_is_charged() -> None:
    free, charged = toy_run(workers=2), toy_run(workers=2, charge_thinking=True)
    assert (free.columns["thinking"] > 0).all()
    assert free.columns["finished"][-1] == int(free.columns["finished"][-1])  # whole seconds: costs only
    one = toy_run(charge_thinking=True)
    overhead = one.columns["finished"][-1] - toy_run().columns["finished"][-1]
    thinking = one.columns["thinking"]
    assert thinking[:-1].sum() - 1e-9 <= overhead <= thinking.sum() + 1e-9  # the last tell comes after the last row
    assert charged.columns["finished"][-1] > free.columns["finished"][-1]


@pytest.mark.parametrize(
    ("method", "said", "evaluated"),
    [
        (toys.RaisesInAsk, "ask: ValueError: no idea", 4),
        (toys.RaisesInTell, "tell: KeyError: 'lost'", 3),
        (toys.RaisesAtOnce, "constructor: RuntimeError: not today", 0),
        (toys.Foreigner, "ask: ForeignConfiguration: 99 in (99, 99, 99, 99) is not an int in [0, 10)", 2),
        (toys.Hoarder, "ask: ForeignConfiguration: a configuration here is a tuple", 0),
    ],
)
def test_a_method_that_breaks_its_contract_ends_its_run_with_the_reason(
    method: type[Method], said: str, evaluated: int
) -> None:
    trajectory = toy_run(method)
    assert trajectory.failure.startswith(said)
    *good, last = rows(trajectory, "status", "reason", "configuration", "feasible")
    assert len(good) == evaluated
    assert all(status == "ok" for status, *_ in good)
    assert last == ("failed", trajectory.failure, None, False)
    if evaluated:
        assert trajectory.columns["incumbent"][-1] == trajectory.columns["incumbent"][-2]


NOTHING = {"worker": 0, "configuration": None, "feasible": False, "thinking": 0.0, "status": "failed"}
"""What a row says that stands for no evaluation."""


def last_row(trajectory: Trajectory) -> dict[str, object]:
    return {name: column.tolist()[-1] for name, column in trajectory.columns.items()}


def test_the_row_that_closes_a_failed_run_stands_where_the_run_stopped() -> None:
    trajectory = toy_run(toys.RaisesInAsk, workers=2)
    stopped = trajectory.columns["finished"][-2]
    row = last_row(trajectory)
    assert NOTHING.items() <= row.items()
    assert row["reason"] == trajectory.failure
    assert (row["started"], row["finished"]) == (stopped, stopped)
    assert row["evaluation"] == len(trajectory)
    assert np.isnan([row["objective"], *trajectory.columns["metrics"][-1]]).all()


def test_a_run_whose_process_died_is_one_row_with_the_reason() -> None:
    cell = Cell("toy", (), 1, "toy", "toy-1", "none", 9, None, 4, False, metrics=("loss", "size"), setting=SETTING)
    trajectory = runner.died(cell, 3, "out of memory")
    assert (trajectory.seed, trajectory.failure, len(trajectory), trajectory.log) == (3, "out of memory", 1, ())
    row = last_row(trajectory)
    assert NOTHING.items() <= row.items()
    assert (row["evaluation"], row["started"], row["finished"], row["reason"]) == (1, 0, 0, "out of memory")
    assert trajectory.columns["metrics"].shape == (1, 2)
    assert np.isnan([row["objective"], row["incumbent"], *trajectory.columns["metrics"][0]]).all()


def test_a_benchmark_that_fails_costs_its_evaluation_and_no_more() -> None:
    trajectory = toy_run(METHODS.get("random"), toys.Faulty(), evals=300, workers=3)
    assert trajectory.failure == ""
    assert len(trajectory) == 300
    by_fault: dict[int, set[tuple[object, ...]]] = {}
    for row in rows(trajectory, "configuration", "status", "reason", "feasible"):
        by_fault.setdefault(int(str(row[0]).rpartition(": ")[2][:-1]), set()).add(row[1:])
    line = inspect.getsourcelines(toys.Faulty.evaluate)[1] + 3
    assert by_fault[0] == {("failed", f"MemoryError: out of memory (toys.py:{line})", False)}
    assert by_fault[1] == {("failed", "loss is nan", False)}
    assert by_fault[2] == {("failed", "1 metrics at a cost of 2.0 s, not 2 at a finite cost", False)}
    assert by_fault[3] == {("failed", "2 metrics at a cost of -2.0 s, not 2 at a finite cost", False)}
    assert by_fault[4] == {("infeasible", "too large to train", False)}
    assert {status for status, *_ in by_fault[5]} == {"failed"}
    assert all(by_fault[fault] == {("ok", "", True)} for fault in range(6, 10))
    bad = trajectory.columns["status"] != "ok"
    assert np.isnan(trajectory.columns["metrics"][bad]).all()
    assert np.isnan(trajectory.columns["objective"][bad]).all()


@pytest.mark.parametrize("bench", ["nb201-cifar10", "hpolib-naval", "hpobench-car"])
@pytest.mark.parametrize("workers", [1, 2, 7, 60])
@pytest.mark.parametrize("constraint", ["none", "train_time@0.1", "train_time>=20+train_time@0.9"])
def test_a_run_in_one_go_equals_the_event_loop(
    bench: str, workers: int, constraint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = (parse_constraints([constraint]),)
    grid = Grid((MethodSpec("random"),), (bench,), constraints, (0,), Protocol(50, None, workers))
    (planned,) = expand([grid])
    for seed in (0, 1):
        at_once = run(planned.cell, seed, planned.spec, open_benchmark(bench), planned.bounds)
        with monkeypatch.context() as patch:
            patch.setattr(runner, "run_block", lambda *_: None)
            looped = run(planned.cell, seed, planned.spec, open_benchmark(bench), planned.bounds)
        assert at_once.columns.keys() == looped.columns.keys()
        for name in at_once.columns.keys() - {"thinking"}:
            assert at_once.columns[name].dtype == looped.columns[name].dtype, name
            np.testing.assert_array_equal(at_once.columns[name], looped.columns[name], err_msg=name)


def in_one_go(
    method: str = "random",
    table: TabularBenchmark | None = None,
    evals: int | None = 50,
    seconds: float | None = None,
    charge_thinking: bool = False,
) -> dict[str, np.ndarray] | None:
    protocol = Protocol(evals, seconds, charge_thinking=charge_thinking)
    (planned,) = expand([Grid((MethodSpec(method),), ("nb201-cifar10",), ((),), (0,), protocol)])
    benchmark = table or open_benchmark("nb201-cifar10")
    return run_block(planned.cell, planned.spec, benchmark, (), *runner._streams(planned.cell, 0))


def test_a_run_goes_in_one_go_where_it_may_and_nowhere_else() -> None:
    """Else the comparison with the event loop would compare the loop with itself."""
    begin = time.perf_counter()
    found = in_one_go()
    assert found is not None
    assert 0 < found["thinking"].sum() < time.perf_counter() - begin
    assert in_one_go("evolution") is None
    assert in_one_go(evals=None, seconds=1e5) is None
    assert in_one_go(seconds=1e5) is None  # whichever ends first
    assert in_one_go(charge_thinking=True) is None


@pytest.mark.parametrize(("column", "value"), [("objective", math.nan), ("cost", math.inf), ("cost", -1.0)])
def test_a_table_with_what_is_no_number_is_left_to_the_event_loop(column: str, value: float) -> None:
    """There each such evaluation is recorded as failed."""
    table = open_embedded("nb201-cifar10")
    values = table.values.copy()
    values[:, :, table.cost_column if column == "cost" else 0] = value
    broken = TabularBenchmark(
        table.name,
        table.family,
        table.space,
        table.metrics,
        lambda: values,
        cost=table.metrics[table.cost_column].name,
        source=table.source,
        licence=table.licence,
        checksum=table.checksum,
    )
    assert in_one_go(table=broken) is None


def journaled(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "run.jsonl", "id")


def decided(trajectory: Trajectory) -> list[tuple[object, ...]]:
    """What a live run decides (times are real, and never repeat)."""
    return rows(trajectory, "configuration", "objective", "incumbent", "feasible", "status")


def test_an_interrupted_live_run_continues_to_the_trajectory_of_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed = toy_run(toys.Careful, toys.Live(), evals=12, journal=Journal(tmp_path / "whole.jsonl", "id"))
    whole = (tmp_path / "whole.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 13
    for kept in (0, 1, 5, 12):
        (tmp_path / "run.jsonl").write_bytes(b"".join(lines[: kept + 1]) + b'{"ask": 99, "torn')
        journal = journaled(tmp_path)
        resumed = toy_run(toys.Careful, toys.Live(), evals=12, journal=journal)
        journal.close()
        assert decided(resumed) == decided(undisturbed)
        assert resumed.columns["finished"][:kept].tolist() == undisturbed.columns["finished"][:kept].tolist()
        assert (np.diff(resumed.columns["finished"]) > 0).all()


def test_the_journal_of_a_live_run_says_what_was_feasible(tmp_path: Path) -> None:
    with closing(journaled(tmp_path)) as journal:
        found = toy_run(
            toys.Careful, toys.Live(), evals=12, constraint="size<=2", train_infeasible=True, journal=journal
        )
    records = peek(tmp_path / "run.jsonl", "id") or []
    assert [record.feasible for record in records] == found.columns["feasible"].tolist()
    assert {record.feasible for record in records} == {True, False}


def test_live_workers_resume_with_what_was_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = journaled(tmp_path)
    first = toy_run(toys.Careful, toys.Live(), evals=12, workers=3, journal=journal)
    journal.close()
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines[:7]))
    monkeypatch.setenv("TOY_MARKS", str(tmp_path / "marks"))
    journal = journaled(tmp_path)
    resumed = toy_run(toys.Careful, toys.Live(), evals=12, workers=3, journal=journal)
    journal.close()
    assert decided(resumed)[:6] == decided(first)[:6]
    assert len(resumed) == 12
    assert len((tmp_path / "marks").read_text().split()) == 6  # nothing that was recorded ran again


class Clock:
    """A clock that stands still but for evaluations of 10 s."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def test_a_live_budget_in_seconds_is_not_spent_on_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)

    class Slow(toys.Toy):
        live = True

        def evaluate(self, configuration: Configuration, seed: int) -> Evaluation:
            clock.seconds += 10
            return super().evaluate(configuration, seed)

    def attempt(seconds: float) -> Trajectory:
        journal = journaled(tmp_path)
        found = toy_run(toys.Careful, Slow(), evals=None, seconds=seconds, journal=journal)
        journal.close()
        return found

    first = attempt(95)
    assert first.columns["finished"].tolist() == [10.0 * n for n in range(1, 10)]  # the tenth comes too late
    clock.seconds += 1000
    again = attempt(95)
    assert decided(again) == decided(first)
    assert clock.seconds == 1100  # the tenth was in the journal, and nothing was computed
    longer = attempt(125)
    assert decided(longer)[:9] == decided(first)
    assert longer.columns["finished"].tolist() == [10.0 * n for n in range(1, 13)]


def test_evaluations_do_not_outlive_their_run(tmp_path: Path) -> None:
    before = threading.active_count()
    journal = journaled(tmp_path)
    toy_run(toys.Careful, toys.Live(), evals=None, seconds=0.05, workers=4, journal=journal)
    journal.close()
    assert threading.active_count() == before


class Constant(RandomSearch):
    """Overrides only how it asks for one."""

    def ask(self) -> tuple[int, ...]:
        return (1, 2, 3, 4, 0, 0)


class Shifted(TabularBenchmark):
    """Overrides only how it evaluates one."""

    def evaluate(self, configuration: tuple[int, ...], seed: int) -> Evaluation:
        evaluation = super().evaluate(configuration, seed)
        return evaluation._replace(metrics=(evaluation.metrics[0] + 1000, *evaluation.metrics[1:]))


class Lazy(CellGrid):
    """Overrides only how it samples one."""

    def sample(self, rng: np.random.Generator) -> tuple[int, ...]:
        return (0,) * 6


class Sorted(Constant, blockwise=True):
    """Says that its ways for one and for many agree."""


def test_only_a_class_that_says_so_itself_goes_in_blocks() -> None:
    assert all(kind.blockwise for kind in (RandomSearch, TabularBenchmark, CellGrid, Sorted))
    assert not any(kind.blockwise for kind in (Constant, Shifted, Lazy, Method, Benchmark, Space))


def test_what_is_overridden_for_one_is_not_passed_over_for_many() -> None:
    (planned,) = expand([Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(20))])
    table = open_benchmark("nb201-cifar10")
    constant = run(planned.cell, 0, Spec(Constant), table, ())
    assert set(constant.columns["configuration"]) == {table.space.to_json((1, 2, 3, 4, 0, 0))}
    shifted = open_embedded("nb201-cifar10")
    shifted.__class__ = Shifted
    assert (run(planned.cell, 0, planned.spec, shifted, ()).columns["objective"] > 1000).all()
    lazy = open_embedded("nb201-cifar10")
    lazy.space = Lazy(lazy.space.hyperparameters)
    first = run(planned.cell, 0, planned.spec, lazy, ())
    assert set(first.columns["configuration"]) == {table.space.to_json((0,) * 6)}
    assert Hashed(lazy.space, 64).draw(5, np.random.default_rng(0))[0](4) == (0,) * 6


def test_a_budget_that_is_used_up_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_EVALUATIONS", 50)
    assert toy_run(evals=50, seconds=1e12).failure == ""


def test_whole_and_broken_numbers_of_seconds_are_one_budget() -> None:
    def cell(seconds: float) -> Cell:
        grid = Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(None, seconds))
        return expand([grid])[0].cell

    assert cell(20000) == cell(20000.0)
    assert cell(20000).id == cell(20000.0).id


def test_a_method_that_resumes_otherwise_than_it_began_is_told(tmp_path: Path) -> None:
    journal = journaled(tmp_path)
    toy_run(toys.Careful, toys.Live(), evals=5, journal=journal)
    journal.close()
    journal = journaled(tmp_path)
    with pytest.raises(Diverged, match="its journal holds"):
        toy_run(METHODS.get("random"), toys.Live(), evals=8, seed=1, journal=journal)
    journal.close()


def test_evaluation_seeds_are_distinct_and_fit_63_bits() -> None:
    one, other = (EvaluationSeeds(np.random.SeedSequence(s)) for s in (0, 1))
    drawn = [one[i] for i in range(1000)]
    assert len({*drawn, *(other[i] for i in range(1000))}) == 2000
    assert all(0 <= seed < 2**63 for seed in drawn)
    assert EvaluationSeeds(np.random.SeedSequence(0)).first(1000).tolist() == drawn
    assert EvaluationSeeds(np.random.SeedSequence(0))[777] == drawn[777]


def test_what_an_earlier_attempt_has_paid_is_on_the_clock_of_an_ask_that_fails(tmp_path: Path) -> None:
    class InVain(toys.RaisesInAsk):
        def ask(self) -> Configuration:
            self.unpaid = 100.0
            return super().ask()

    found = toy_run(InVain, toys.Live(), evals=9, journal=journaled(tmp_path))
    assert found.failure.startswith("ask: ")
    assert found.columns["finished"][-1] >= 100


def test_an_earlier_attempt_is_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Resumed(toys.Careful):
        def ask(self) -> Configuration:
            if self.asked == 1:
                self.unpaid = 100.0
            return super().ask()

    monkeypatch.setattr(workers, "time", Clock())
    found = toy_run(Resumed, toys.Live(), evals=5, journal=journaled(tmp_path))
    assert found.columns["started"].tolist() == [0.0, 100.0, 100.0, 100.0, 100.0]
    assert (found.columns["thinking"] > 100).tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("cost", "kept", "ends"),
    [
        (60.0, True, [60.0, 70.0, 80.0]),  # of the first evaluation 50 s were an interrupted attempt's
        (60.0, False, [10.0, 20.0, 30.0]),  # nothing of it was kept: what it says it costs is not on this clock
        (4.0, True, [10.0, 20.0, 30.0]),
    ],
)
def test_what_an_interrupted_attempt_had_done_of_an_evaluation_is_on_the_clock(
    cost: float, kept: bool, ends: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, states = Clock(), list[Path]()
    monkeypatch.setattr(workers, "time", clock)

    class Kept(toys.Toy):
        live = True

        def evaluate_resumably(self, configuration: Configuration, seed: int, state: Path) -> Evaluation:
            clock.seconds += 10
            states.append(state)
            return super().evaluate(configuration, seed)._replace(cost=cost)

    (tmp_path / "before").mkdir()
    toy_run(toys.Careful, Kept(), evals=1, journal=journaled(tmp_path / "before"))
    clock.seconds, state = 0.0, tmp_path / states[0].name
    if kept:
        state.touch()
    found = toy_run(toys.Careful, Kept(), evals=3, journal=journaled(tmp_path))
    assert found.columns["finished"].tolist() == ends
    assert found.columns["started"].tolist() == [0.0, *ends[:-1]]
    assert not state.exists()


def test_a_state_serves_the_configuration_that_it_is_of(tmp_path: Path) -> None:
    """Where records were lost or taken back, a trial of the same number may be of another configuration."""
    found = list[tuple[str, Path]]()

    class Kept(toys.Live):
        def evaluate_resumably(self, configuration: Configuration, seed: int, state: Path) -> Evaluation:
            found.append((str(configuration), state))
            return super().evaluate_resumably(configuration, seed, state)

    for seed in (0, 1, 0):
        (tmp_path / "run.jsonl").unlink(missing_ok=True)
        toy_run(toys.Careful, Kept(), seed=seed, evals=1, journal=(journal := journaled(tmp_path)))
        journal.close()
    one, other, again = found
    assert one[0] != other[0]
    assert one[1] != other[1]
    assert one == again


@pytest.mark.parametrize("cost", [math.inf, math.nan, -1e-9])
def test_a_cost_that_no_clock_can_take_is_a_failure_that_costs_nothing(cost: float) -> None:
    class Costly(toys.Toy):
        def evaluate(self, configuration: Configuration, seed: int) -> Evaluation:
            return super().evaluate(configuration, seed)._replace(cost=cost)

    found = toy_run(benchmark=Costly(), evals=2)
    assert found.columns["status"].tolist() == ["failed", "failed"]
    assert found.columns["finished"].tolist() == [0.0, 0.0]
    assert found.columns["reason"][0] == f"2 metrics at a cost of {cost} s, not 2 at a finite cost"


def test_thinking_is_measured_from_the_beginning_of_each_ask_and_each_tell() -> None:
    begin = time.perf_counter()
    trajectory = toy_run()
    assert 0 < trajectory.columns["thinking"].sum() < time.perf_counter() - begin


def test_an_ask_that_outlasts_the_budget_begins_no_evaluation(tmp_path: Path) -> None:
    class Slow(toys.Careful):
        def ask(self) -> Configuration:
            time.sleep(0.3)
            return super().ask()

    found = toy_run(Slow, toys.Live(), evals=None, seconds=0.2, journal=journaled(tmp_path))
    assert len(found) == 0
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1  # its header


def test_what_a_method_logs_is_in_the_trajectory_even_if_it_fails() -> None:
    class Talks(toys.RaisesInAsk):
        @property
        def log(self) -> list[Logged]:
            return [Logged(1, "loss", 0.5)]

    class Stumbles(toys.Careful):
        @property
        def log(self) -> list[Logged]:
            raise RuntimeError("nothing to say")

    found = toy_run(Talks, toys.Toy(), evals=9)
    assert found.log == (Logged(1, "loss", 0.5),)
    assert found.failure.startswith("ask: ")
    stumbled = toy_run(Stumbles, toys.Toy(), evals=3)
    assert re.fullmatch(r"log: RuntimeError: nothing to say \(test_runner.py:\d+\)", stumbled.failure)
    assert len(stumbled) == 3 + 1

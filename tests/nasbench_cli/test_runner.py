from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import json
import math
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import interrupts_noted
from nasbench.base.metrics import Values
from nasbench.benchmarks import Evaluation, Level, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine import loop
from nasbench.cli.engine.columns import with_end
from nasbench.cli.engine.evaluations import attempt
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.workers import EvaluationSeeds
from nasbench.methods import METHODS, Logged, Method, MethodSpec, Observation, Problem
from nasbench.results import Row, Setup, Trajectory
from nasbench.results.store.journal import Journal
from nasbench.results.store.trajectory import to_columns
from tests.methods import levels
from tests.nasbench_cli import toys
from tests.nasbench_cli.toy_runs import SETTING, rows, toy_run


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
    asked: list[float] = []
    told: list[int] = []

    class Timed(toys.Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation({"loss": float(len(asked) - 1), "size": 0.0}, costs[len(asked) - 1])

    class Watching(toys.Careful):
        def ask(self) -> Configuration:
            asked.append(len(asked))
            return super().ask()

        def tell(self, observation: Observation) -> None:
            told.append(int(observation.objective))

    trajectory = toy_run(Watching, Timed(), evals=len(costs), workers=workers)
    ends = dict(zip(told, trajectory.columns["finished"].tolist(), strict=True))
    assert told == sorted(told, key=lambda ask: (ends[ask], ask))


def benchmark_stream(seed: int, bench: str, constraint: str) -> np.random.SeedSequence:
    """The benchmark's stream of a run, written out: a change of it makes every stored run stale (SCHEMA_VERSION)."""
    setting = hashlib.sha256(f'["{bench}", "{constraint}"]'.encode()).digest()[:16]
    return np.random.SeedSequence((seed, int.from_bytes(setting, "little"))).spawn(2)[1]


def test_settings_have_streams_of_their_own_that_methods_share() -> None:
    def drawn(method: str, bench: str, constraint: str, seed: int = 3) -> tuple[list[str], list[float]]:
        grid = Grid((MethodSpec.parse(method),), (bench,), (parse_constraints([constraint]),), (seed,), Protocol(30))
        (planned,) = expand([grid])
        columns = run(planned.setup, seed, planned.spec, open_benchmark(bench), planned.bounds).columns
        return columns["configuration"].tolist(), columns["objective"].tolist()

    settings = [("hpobench-car", "none"), ("hpobench-kc1", "none"), ("hpobench-car", "train_time@0.9")]
    proposals = [drawn("random", *setting)[0] for setting in settings]
    assert all(len(set(one) & set(other)) < 5 for one, other in itertools.combinations(proposals, 2))
    assert drawn("random", *settings[0]) == drawn("random", *settings[0])
    assert drawn("evolution:population=30", *settings[0]) == drawn("random", *settings[0])  # paired inside a setting
    assert drawn("random", *settings[0], seed=4)[0] != proposals[0]


def test_a_score_is_the_mean_over_repetitions_of_the_rows_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = open_benchmark("hpobench-car")
    assert isinstance(bench, TabularBenchmark)
    (planned,) = expand(
        [Grid((MethodSpec("random"),), (bench.name,), (parse_constraints(["train_time@0.5"]),), (0,), Protocol(40))]
    )
    columns = run(planned.setup, 0, planned.spec, bench, planned.bounds).columns
    (bound,) = planned.bounds
    for configuration, score, feasible in zip(
        *(columns[n] for n in ("configuration", "score", "score_feasible")), strict=True
    ):
        row = bench.space.index(bench.space.from_values(json.loads(configuration)))
        own = bench.values[row]
        assert score == pytest.approx(np.nanmean(own[:, 0]), rel=1e-12)
        assert feasible == (np.nanmean(own[:, bench.places[bound.metric.name]]) <= bound.limit)
    assert (columns["score"] != columns["objective"]).any()  # a repetition is not the mean
    assert len(set(columns["score_feasible"])) == 2


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


@pytest.mark.parametrize("constraint", ["none", "size<=4"])
def test_a_method_is_told_which_evaluations_satisfy_the_constraint_and_none_that_failed(constraint: str) -> None:
    told: list[bool] = []

    class Watching(toys.Careful):
        def tell(self, observation: Observation) -> None:
            told.append(observation.feasible)

    columns = toy_run(Watching, toys.Faulty(), constraint=constraint, evals=80, workers=2).columns
    ok, within = columns["status"] == "ok", (columns["metrics"][:, 1] <= 4) | (constraint == "none")
    assert told == (ok & within).tolist() == columns["feasible"].tolist()
    assert (~ok).any()
    assert (ok & ~within).any() == (constraint != "none")


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
    monkeypatch.setattr(loop, "MAX_EVALUATIONS", 50)
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
    most = one.columns["started"][0] + thinking.sum()  # the constructor is in the first
    assert thinking[:-1].sum() - 1e-9 <= overhead <= most + 1e-9  # the last tell comes after the last row
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


def test_that_row_keeps_the_incumbent_and_its_worth() -> None:
    worth = {"incumbent": 9.5, "hidden": 9.25, "hidden_feasible": False}
    row = Row(3, 0, "{}", 9.5, True, 9.5, 0.0, 1.0, 0.0, "ok", "", (9.5,))._replace(**worth)
    ended = with_end(to_columns([row], 1), 2.0, "it died")
    assert {name: ended[name][-1] for name in worth} == worth
    assert [len(values) for values in ended.values()] == [2] * len(ended)
    assert {name: values.dtype for name, values in ended.items()} == {
        n: v.dtype for n, v in to_columns([row], 1).items()
    }
    assert with_end(to_columns([], 1), 0.0, "it died")["hidden_feasible"].tolist() == [None]


def test_a_run_whose_process_died_is_one_row_with_the_reason() -> None:
    setup = Setup("toy", (), 1, "toy", "toy-1", "none", 9, None, 4, False, metrics=("loss", "size"), setting=SETTING)
    trajectory = loop.died(setup, 3, "out of memory")
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
    line = inspect.getsourcelines(toys.Faulty.measure)[1] + 3
    assert by_fault[0] == {("failed", f"MemoryError: out of memory (toys.py:{line})", False)}
    assert by_fault[1] == {("failed", "loss is nan", False)}
    assert by_fault[2] == {("failed", "ValueError: it gives other metrics than the benchmark has: size", False)}
    assert by_fault[3] == {("failed", "a cost of -2.0 s, which is no number of seconds", False)}
    assert by_fault[4] == {("infeasible", "too large to train", False)}
    assert {status for status, *_ in by_fault[5]} == {"failed"}
    assert all(by_fault[fault] == {("ok", "", True)} for fault in range(6, 10))
    bad = trajectory.columns["status"] != "ok"
    assert np.isnan(trajectory.columns["metrics"][bad]).all()
    assert np.isnan(trajectory.columns["objective"][bad]).all()


def test_a_budget_that_is_used_up_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MAX_EVALUATIONS", 50)
    assert toy_run(evals=50, seconds=1e12).failure == ""


def test_evaluation_seeds_are_distinct_and_fit_63_bits() -> None:
    one, other = (EvaluationSeeds(np.random.SeedSequence(s)) for s in (0, 1))
    drawn = [one[i] for i in range(1000)]
    assert len({*drawn, *(other[i] for i in range(1000))}) == 2000
    assert all(0 <= seed < 2**63 for seed in drawn)
    assert EvaluationSeeds(np.random.SeedSequence(0))[777] == drawn[777]


@pytest.mark.parametrize("cost", [math.inf, math.nan, -1e-9])
def test_a_cost_that_no_clock_can_take_is_a_failure_that_costs_nothing(cost: float) -> None:
    class Costly(toys.Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return super().measure(configuration, seed, upto, state)._replace(cost=cost)

    found = toy_run(benchmark=Costly(), evals=2)
    assert found.columns["status"].tolist() == ["failed", "failed"]
    assert found.columns["finished"].tolist() == [0.0, 0.0]
    assert found.columns["reason"][0] == f"a cost of {cost} s, which is no number of seconds"


def test_thinking_is_measured_from_the_beginning_of_each_ask_and_each_tell() -> None:
    begin = time.perf_counter()
    trajectory = toy_run()
    assert 0 < trajectory.columns["thinking"].sum() < time.perf_counter() - begin


def test_what_a_method_logs_is_in_the_trajectory_even_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
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
    for row in [Logged(1, "loss", "small"), Logged("one", "loss", 0.5), (1, "loss")]:  # type: ignore[arg-type]
        monkeypatch.setattr(Talks, "log", [row])
        assert toy_run(Talks, toys.Toy(), evals=9).failure.startswith("ask: ")
        assert toy_run(Talks, toys.Toy(), evals=9).log == ()
    stumbled = toy_run(Stumbles, toys.Toy(), evals=3)
    assert re.fullmatch(r"log: RuntimeError: nothing to say \(test_runner.py:\d+\)", stumbled.failure)
    assert len(stumbled) == 3 + 1


def test_of_a_run_whose_process_died_its_journal_is_kept_with_the_reason() -> None:
    setup = Setup("toy", (), 1, "toy", "toy-1", "none", 9, None, 4, False, metrics=("loss", "size"), setting=SETTING)
    evaluations = [
        Row(i + 1, 0, "{}", 2.0 - i, True, 2.0 - i, i, i + 1, math.nan, "ok", "", (2.0 - i, 1.0)) for i in range(2)
    ]
    trajectory = loop.died(setup, 3, "an ask took too long", evaluations)
    assert trajectory.columns["incumbent"].tolist() == [2.0, 1.0, 1.0]
    row = last_row(trajectory)
    assert NOTHING.items() <= row.items()
    assert (row["evaluation"], row["started"], row["finished"], row["reason"]) == (3, 2, 2, "an ask took too long")
    several = loop.died(replace(setup, objectives=("loss", "size")), 3, "an ask took too long", evaluations)
    assert np.isnan(several.columns["incumbent"]).all()  # as of a run whose method failed


@pytest.mark.parametrize("then", ["raises another error", "goes on"])
@pytest.mark.parametrize("method", ["evolution", "random"])  # random search is computed as a block
def test_a_ctrl_c_that_foreign_code_loses_ends_the_command_and_fails_no_run(
    monkeypatch: pytest.MonkeyPatch, method: str, then: str
) -> None:
    def interrupted(asked: Callable[..., Any], *arguments: Any) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)  # the signal arrives here at the latest
        except KeyboardInterrupt:
            if then != "goes on":
                raise SystemError("returned a result with an exception set") from None
        return asked(*arguments)

    kind = METHODS.get(method)
    monkeypatch.setattr(kind, "ask", functools.partialmethod(lambda *a: interrupted(a[1], a[0], *a[2:]), kind.ask))
    grid = Grid((MethodSpec.parse(method),), ("nb201-cifar10",), ((),), (0,), Protocol(5))
    (planned,) = expand([grid])
    with interrupts_noted(), pytest.raises(KeyboardInterrupt):
        run(planned.setup, 0, planned.spec, open_benchmark("nb201-cifar10"), planned.bounds)


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA error: device-side assert triggered"), DeviceLost("the device has failed: x")]
)
@pytest.mark.parametrize("call", ["__init__", "ask", "tell", "log"])
def test_a_lost_device_is_no_failure_of_a_method(call: str, error: BaseException) -> None:
    """Another process repeats the run."""

    def lost(*_: object, **__: object) -> None:
        raise error

    found = type("Unlucky", (toys.Careful,), {call: property(lost) if call == "log" else lost})
    with pytest.raises(DeviceLost, match="the device has failed"):
        toy_run(found, evals=3)


def test_values_that_another_benchmark_measured_are_read_by_their_names() -> None:
    class Passes(toys.Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation(Values({"size": 0, "loss": 1}, (7.0, 3.0)), 1.0)

    found = toy_run(benchmark=Passes(), evals=1).columns
    assert found["objective"].tolist() == [3.0]
    assert found["metrics"].tolist() == [[3.0, 7.0]]


def test_a_constructor_is_thinking_that_can_be_charged() -> None:
    class Slow(toys.Careful):
        def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
            time.sleep(0.05)
            super().__init__(problem, rng)

    charged, free = (toy_run(Slow, evals=2, charge_thinking=charge).columns["started"] for charge in (True, False))
    assert charged[0] >= 0.05
    assert free[0] == 0.0


class SlowWhenTold(toys.Careful):
    def tell(self, observation: Observation) -> None:
        time.sleep(0.05)
        super().tell(observation)


def test_what_a_method_thinks_when_it_is_told_can_be_charged() -> None:
    charged, free = (toy_run(SlowWhenTold, evals=2, charge_thinking=charge).columns for charge in (True, False))
    assert charged["started"][1] - charged["finished"][0] >= 0.05
    assert free["started"][1] == free["finished"][0]


def test_a_run_ends_after_it_began() -> None:
    trajectory = toy_run(SlowWhenTold, evals=2)
    taken = datetime.fromisoformat(trajectory.ended) - datetime.fromisoformat(trajectory.began)
    assert 0.1 <= taken.total_seconds() < 60


@pytest.mark.parametrize(("length", "good"), [(3, True), (2, False), (27, False)])
def test_a_curve_has_a_value_for_each_level_until_the_end(length: int, good: bool) -> None:
    class Odd(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return super().measure(configuration, seed, upto, state)._replace(curve=(1.0,) * length)

    found = attempt(Odd(), (0, 0, 0, 0), 1, Level(epochs=3))
    assert found.status == ("ok" if good else "failed")
    assert good or f"its curve has {length} values up to epochs 3, not 3" in found.reason


@pytest.mark.parametrize("benchmark", [toys.Toy, toys.Live])
def test_a_benchmark_that_ends_its_process_costs_its_evaluation_and_no_more(
    benchmark: type[toys.Toy], tmp_path: Path
) -> None:
    """In the thread of a live evaluation, too."""

    class Ends(benchmark):  # type: ignore[misc, valid-type]
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            if configuration[0] < 5:
                os._exit(0)
            return super().measure(configuration, seed, upto, state)  # type: ignore[no-any-return]

    journal = Journal(tmp_path / "run.jsonl", "id") if benchmark.kind == "live" else None
    before = os._exit
    found = levels.trajectory("random", Ends(), journal=journal)
    assert os._exit is before
    ended = found.columns["status"] == "failed"
    assert 0 < ended.sum() < len(ended) == 20
    assert {reason.partition(" (")[0] for reason in found.columns["reason"][ended]} == {"SystemExit: os._exit(0)"}


def test_an_unknown_status_is_named() -> None:
    class Odd(toys.Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation({"loss": 1.0, "size": 1.0}, 1.0, "great")  # type: ignore[arg-type]

    assert attempt(Odd(), (0, 0, 0, 0), 1).reason == "its status is 'great', without a reason"

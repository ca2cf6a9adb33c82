"""Runs on live benchmarks: the journal, what an interrupted run has paid, and the wall clock."""

import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nasbench.benchmarks import NO_BOUNDS, Evaluation, Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine import workers
from nasbench.cli.engine.workers import Diverged
from nasbench.methods import METHODS, LongSearch
from nasbench.results import Trajectory
from nasbench.results.store.journal import Journal, peek
from tests.methods.levels import Stepwise
from tests.nasbench_cli import toys
from tests.nasbench_cli.toy_runs import rows, toy_run


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
        kind = "live"

        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            clock.seconds += 10
            return super().measure(configuration, seed, upto, state)

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


def test_a_method_that_resumes_otherwise_than_it_began_is_told(tmp_path: Path) -> None:
    journal = journaled(tmp_path)
    toy_run(toys.Careful, toys.Live(), evals=5, journal=journal)
    journal.close()
    journal = journaled(tmp_path)
    with pytest.raises(Diverged, match="its journal holds"):
        toy_run(METHODS.get("random"), toys.Live(), evals=8, seed=1, journal=journal)
    journal.close()


def test_what_an_earlier_attempt_has_paid_is_on_the_clock_of_an_ask_that_fails(tmp_path: Path) -> None:
    class InVain(toys.RaisesInAsk, LongSearch):
        beginning = 0.0

        def ask(self) -> Configuration:
            self.unpaid = 100.0
            return super().ask()

    found = toy_run(InVain, toys.Live(), evals=9, journal=journaled(tmp_path))
    assert found.failure.startswith("ask: ")
    assert found.columns["finished"][-1] >= 100


def test_an_earlier_attempt_is_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Resumed(toys.Careful, LongSearch):
        beginning = 0.0

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
        kind = "live"

        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            assert state is not None
            clock.seconds += 10
            states.append(state)
            return super().measure(configuration, seed, upto, state)._replace(cost=cost)

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
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            assert state is not None
            found.append((str(configuration), state))
            return super().measure(configuration, seed, upto, state)

    for seed in (0, 1, 0):
        (tmp_path / "run.jsonl").unlink(missing_ok=True)
        toy_run(toys.Careful, Kept(), seed=seed, evals=1, journal=(journal := journaled(tmp_path)))
        journal.close()
    one, other, again = found
    assert one[0] != other[0]
    assert one[1] != other[1]
    assert one == again


def test_an_ask_that_outlasts_the_budget_begins_no_evaluation(tmp_path: Path) -> None:
    class Slow(toys.Careful):
        def ask(self) -> Configuration:
            time.sleep(0.3)
            return super().ask()

    found = toy_run(Slow, toys.Live(), evals=None, seconds=0.2, journal=journaled(tmp_path))
    assert len(found) == 0
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1  # its header


def test_a_failure_is_not_feasible_in_the_journal(tmp_path: Path) -> None:
    class Fails(toys.Live):
        def measure(self, *_: object) -> Evaluation:
            raise MemoryError("out of memory")

    with closing(journaled(tmp_path)) as journal:
        toy_run(toys.Careful, Fails(), evals=3, journal=journal)
    assert [record.feasible for record in peek(tmp_path / "run.jsonl", "id")] == [False] * 3


def test_a_record_of_another_level_is_not_told_again(tmp_path: Path) -> None:
    class LiveWatched(toys.Watched):
        kind = "live"

    with closing(journaled(tmp_path)) as journal:
        toy_run(Stepwise, LiveWatched(), evals=1, journal=journal)
    with closing(journaled(tmp_path)) as journal, pytest.raises(Diverged):
        toy_run(METHODS.get("random"), LiveWatched(), evals=1, journal=journal)  # the same draws, trained to the end


def test_an_evaluation_whose_state_cannot_be_asked_for_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run waits for it, and would wait for ever."""

    def stale(self: Path, **_: object) -> bool:
        raise OSError("stale file handle")

    monkeypatch.setattr(workers.LiveWorkers, "_state", lambda *_: type("Stale", (), {"exists": stale})())
    with closing(journaled(tmp_path)) as journal, pytest.raises(OSError, match="stale file handle"):
        toy_run(toys.Careful, toys.Live(), evals=3, journal=journal)


def test_a_training_in_parts_that_fails_leaves_no_state(tmp_path: Path) -> None:
    class Fails(toys.Watched):
        kind = "live"

        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            assert state is not None
            state.write_text("half of it")
            raise MemoryError("out of memory")

    with closing(journaled(tmp_path)) as journal:
        found = toy_run(Stepwise, Fails(), evals=1, journal=journal)
    assert found.columns["level"][0] == 3
    assert found.columns["status"][0] == "failed"
    assert not list(tmp_path.glob("*.state"))


@pytest.mark.parametrize(
    ("answers", "finished"),
    [
        pytest.param([(60.0, 10.0, True), (11.0, 11.0, False)], [60.0, 61.0], id="one-was-interrupted"),
        pytest.param([(60.0, 10.0, True), (61.0, 11.0, True)], [60.0, 61.0], id="side-by-side"),
        pytest.param([(60.0, 10.0, True), (71.0, 11.0, True)], [60.0, 71.0], id="the-second-had-done-more"),
        pytest.param([(60.0, 10.0, True), (1.0, 9.0, False)], [60.0, 60.0], id="none-ends-before-what-was-told"),
    ],
)
def test_what_an_interrupted_attempt_had_done_is_put_on_the_clock_once(
    answers: list[tuple[float, float, bool]], finished: list[float], tmp_path: Path
) -> None:
    """Each answer: the seconds of the evaluation, when it ended by a clock that does not know of them, and whether it
    was resumed. Both evaluations started at 0."""
    benchmark = toys.Live()
    with closing(journaled(tmp_path)) as journal:
        live = workers.LiveWorkers(benchmark, journal, NO_BOUNDS, ())
        assert live._origin is not None
        start = live._origin
        for ask, (cost, ended, resumed) in enumerate(answers):
            pending = workers.PendingEvaluation(ask, ask, (0, 0, 0, ask), 0.0, 0.0, ask, benchmark.highest, 0)
            live._pending[ask] = pending
            live._answers.put((ask, Evaluation({"loss": 1.0, "size": 0.0}, cost), start + ended, resumed))
        found = [live.next(), live.next()]
    assert [one.finished for one in found if one is not None] == pytest.approx(finished)

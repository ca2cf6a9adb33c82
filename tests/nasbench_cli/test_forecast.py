"""The time that is left: stated at first, then measured, by method where it can be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.cli.commands import progress
from nasbench.cli.engine import forecast
from nasbench.cli.engine.forecast import Forecast
from nasbench.cli.engine.plan import Grid, PlannedSetup, Protocol, expand
from nasbench.methods import MethodSpec
from nasbench.results import Store, StoreError
from tests.conftest import Printed
from tests.nasbench_cli.conftest import Terminal
from tests.results.conftest import FACTS, make_run

STATED = {"random": 100.0, "evolution": 200.0, "local": 1000.0}
"""Seconds of a run, as methods state them."""
IDLE = " on an idle machine"


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PlannedSetup, list[int]]]:
    """Three methods on two benchmarks, with two seeds each."""
    monkeypatch.setattr(forecast, "stated", lambda p: STATED[p.spec.name])
    monkeypatch.setattr("nasbench.cli.engine.costs.stated", lambda p: STATED[p.spec.name])
    grid = Grid(tuple(map(MethodSpec, STATED)), ("hpolib-naval", "nb201-cifar10"), ((),), (0, 1), Protocol(3))
    return [(p, list(p.seeds)) for p in expand([grid])]


def finish(store: Store, planned: PlannedSetup, seed: int, seconds: int) -> None:
    """Stores a run that took so long."""
    metrics = len(open_benchmark(planned.setup.bench).metrics)
    run = make_run(seed, [3.0, 2.0, 1.0])
    columns = run.columns | {"metrics": run.columns["metrics"][:, [0] * metrics]}
    ended = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}+00:00"
    store.commit(planned.setup, [replace(run, columns=columns, ended=ended)], FACTS)


def test_what_is_stated_assumes_an_idle_machine_and_runs_correct_it_by_method(
    planned: list[tuple[PlannedSetup, list[int]]], tmp_path: Path
) -> None:
    store = Store.create(tmp_path / "store")
    left = Forecast(store, planned, 1).left
    setups = {(p.spec.name, p.setup.bench): p for p, _ in planned}
    assert left() == f"about {2600 * 2 / 3600 * 1:.1f} h left{IDLE}"
    assert Forecast(store, planned, 2).left() == f"about {2600 / 60:.1f} min left{IDLE}"
    finish(store, setups["random", "hpolib-naval"], 0, 300)  # three times what was stated
    # Of random there it is measured; the rest, of which nothing is known, is thought to be as much slower.
    assert left() == f"about {(300 + 3 * 5000) / 3600:.1f} h left"
    finish(store, setups["evolution", "nb201-cifar10"], 0, 100)  # half of what was stated
    # random: 300 s, elsewhere too; evolution: 100 s, elsewhere too; local: 4/3 of what is stated, as all that finished.
    assert left() == f"about {(3 * 300 + 3 * 100 + 4 * 1000 * 4 / 3) / 3600:.1f} h left"
    assert (
        left(5.0) == f"about {(3 * 300 + 3 * 100 + 4 * 1000 * 4 / 3) / 2 / 60:.1f} min left"
    )  # half of ten is under way
    assert left(10.0) == "nearly done"


def test_what_takes_longer_than_stated_is_said_until_a_run_has_finished(
    planned: list[tuple[PlannedSetup, list[int]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [0.0]
    monkeypatch.setattr(forecast, "monotonic", lambda: now[0])
    store = Store.create(tmp_path / "store")
    left = Forecast(store, planned[:1], 1).left
    now[0] = 201.0
    assert left(0.5) == f"longer than the {200 / 60:.1f} min expected{IDLE}"
    finish(store, planned[0][0], 0, 180)
    assert left() == "about 3.0 min left"


def test_a_session_that_is_slower_than_its_runs_is_forecast_at_its_own_pace(
    planned: list[tuple[PlannedSetup, list[int]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [0.0]
    monkeypatch.setattr(forecast, "monotonic", lambda: now[0])
    store = Store.create(tmp_path / "store")
    setup, seeds = planned[0][0], list(range(12))
    left = Forecast(store, [(setup, seeds)], 1).left
    for seed in seeds[:9]:
        finish(store, setup, seed, 30)
    now[0] = 3000.0  # ten runs of 30 s, one of them under way: beside them, 300 s for each that has finished
    assert left() == f"about {3 * (30 + 300) / 60:.1f} min left"


def test_what_a_session_does_once_is_not_forecast_again_for_longer_runs(
    planned: list[tuple[PlannedSetup, list[int]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = [0.0]
    monkeypatch.setattr(forecast, "monotonic", lambda: now[0])
    monkeypatch.setitem(STATED, "random", 1.0)
    store = Store.create(tmp_path / "store")
    setups = {p.spec.name: p for p, _ in planned}
    left = Forecast(store, [(setups["random"], list(range(40))), (setups["evolution"], [0])], 1).left
    for seed in range(40):  # before the first look
        finish(store, setups["random"], seed, 1)
    now[0] = 640.0  # of which tables were converted in 400 s, and 200 s are those of a run under way
    assert left() == f"about {(200 + 400 / 40) / 60:.1f} min left"


def test_what_is_said_of_runs_below_a_second_is_not_applied_to_others(
    planned: list[tuple[PlannedSetup, list[int]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(STATED, "random", 0.01)
    store = Store.create(tmp_path / "store")
    left = Forecast(store, planned, 1).left
    for p, seeds in planned:
        for seed in seeds if p.spec.name == "random" else ():
            finish(store, p, seed, 1)
    assert left() == f"about {1200 * 4 / 3600:.1f} h left"


def test_lines_and_the_bar_say_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    shown = progress.Progress(4, left=lambda under_way: f"about {9 - under_way:g} s left")
    now[0] = 40.0
    shown.advance(1)
    assert capsys.readouterr().err == "1 of 4 runs, about 9 s left\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.Progress(4, left=lambda _: f"about {now[0]:g} s left") as shown:
        now[0] = 77.0
        shown.advance(1)
    assert "about 77 s left" in terminal.getvalue()


def test_a_run_says_what_the_forecast_does(
    monkeypatch: pytest.MonkeyPatch, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    monkeypatch.setattr(Forecast, "left", lambda self, under_way: f"about {len(self._missing)} setups left")
    asked = ("--bench", "hpolib-naval", "--seeds", 2, "--evals", 3, "--store", tmp_path / "store")
    assert "2 of 2 runs, about 1 setups left" in nasbench("run", "--method", "random", *asked).err


def test_a_plan_says_that_its_times_assume_an_idle_machine(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["hpolib-naval"]\nevals = 3\n')
    printed = nasbench("plan", tmp_path / "s.toml", "--store", tmp_path / "store")
    assert "Times assume an otherwise idle machine." in printed.out


def test_a_store_that_cannot_be_read_leaves_the_time_unknown(
    planned: list[tuple[PlannedSetup, list[int]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that writes the store meets the error itself if it concerns its runs."""

    def newer(_: Store) -> None:
        raise StoreError("written by a newer nasbench")

    monkeypatch.setattr(Store, "runs", newer)
    assert Forecast(Store.create(tmp_path / "store"), planned, 1).left() == "time left unknown"

"""What a command shows while it computes, on a terminal and elsewhere."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from nasbench.cli.commands import progress as progress_module
from nasbench.cli.commands.progress import Progress, show_notices
from nasbench.cli.engine.events import Notice, UnderWay, publish
from nasbench.cli.engine.under_way import look
from nasbench.results import Store
from tests.conftest import Printed
from tests.nasbench_cli.conftest import Terminal
from tests.results.conftest import FACTS, begin, make_run, make_setup


def test_elsewhere_lines_say_what_is_under_way_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen = [UnderWay(0.5, ["half of one"]), UnderWay(0.5, ["half of one"]), UnderWay(0.75, ["more of one"])]
    told = iter(seen)
    with Progress(2, under_way=lambda: next(told)) as progress:
        for _ in seen:
            progress.look()
    assert capsys.readouterr().err == "0 of 2 runs\nhalf of one\n0 of 2 runs\nmore of one\n"


def test_where_nothing_is_finished_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A method that hangs on a table left the command silent for ever."""
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.05)
    for under_way in (None, lambda: UnderWay(0.0, ["begun"])):
        with Progress(2, under_way=under_way, left=lambda _: "about 1 s left"):
            sleep(0.5)
        lines = [line for line in capsys.readouterr().err.splitlines() if "nothing new" in line]
        assert re.fullmatch(r"0 of 2 runs, about 1 s left; nothing new for [\d.]+ (ms|s)", lines[0])
        assert len(lines) <= 4  # ever more rarely
    with Progress(100, left=lambda _: "about 1 s left") as progress:
        for _ in range(20):
            sleep(0.01)
            progress.advance(1)
    assert "nothing new" not in capsys.readouterr().err


def test_on_a_terminal_what_is_under_way_stands_below_the_bar_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(4, under_way=lambda: UnderWay(1.5, ["half of one"])) as progress:
        progress.advance(1)
        progress.look()
    shown = terminal.getvalue()
    assert "2/4" in shown  # one is done, and of two others one and a half
    assert "half of one" in shown


def test_more_than_all_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(1, under_way=lambda: UnderWay(0.9, [])) as progress:
        progress.look()
        progress.advance(1)
    assert "1/1" in terminal.getvalue()


def test_of_the_missing_runs_those_with_a_journal_are_under_way(store: Store) -> None:
    setup = make_setup("a", evals=10)
    runs = tuple((setup, seed) for seed in range(12))
    assert look(store, runs) == UnderWay(0.0, [])
    begin(store, setup, 0, [])
    begin(store, setup, 1, [4.0, 3.0])
    begin(store, setup, 2, [1.0])
    store.commit(setup, [make_run(2, [1.0])], FACTS)
    found = look(store, runs)
    assert found.done == pytest.approx(0.2)
    assert found.lines == [
        "a on toy, none, seed 0 (partial): no evaluation has finished",
        "a on toy, none, seed 1 (partial): 2 of 10 evaluations, 2 s on its clock, best valid-error@1 3 %; about "
        "8 s left",
    ]
    for seed in range(3, 12):
        begin(store, setup, seed, [1.0])
    assert look(store, runs).lines[-1] == "… and 3 more"


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings tell how far they are as if each epoch took minutes."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    monkeypatch.setattr("nasbench.benchmarks.training.news.SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("every_epoch")
def test_a_long_training_tells_how_many_of_its_epochs_are_done(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = ("--bench", "digits/nasbench201@1", "--seeds", 1, "--workers", 2, "--evals", 2, "--store", tmp_path / "s")
    said = nasbench("run", "--method", "random", *asked).err
    for evaluation in (1, 2):
        run = f"random on digits/nasbench201@1, none, seed 0, evaluation {evaluation}"
        assert re.search(rf"{run}: epoch 1 of 1, .* s each: validation error \d", said)


@pytest.mark.slow
@pytest.mark.usefixtures("every_epoch")
def test_a_training_by_steps_tells_how_many_are_done(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    rows = [f"{i},{i % 7}" for i in range(60)]
    (tmp_path / "f.csv").write_text("\n".join(["x,y", *rows]))
    asked = ("--bench", f"mlp:{tmp_path}/f.csv:y@1000", "--seeds", 1, "--evals", 1, "--store", tmp_path / "store")
    said = nasbench("run", "--method", "random", *asked).err
    assert ", evaluation 1: step 5 of 1,000: validation error" in said
    assert ", evaluation 1: step 1,000 of 1,000: validation error" in said


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


def test_many_notices_of_one_kind_are_one_line_that_counts_where_they_take_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress_module, "monotonic", lambda: clock[0])
    logger = logging.getLogger("nasbench")
    handlers, level = logger.handlers, logger.level
    show_notices()
    try:
        for number in range(25):
            clock[0] = 0.5 * number
            publish(Notice(logging.INFO, "notice", "tables are made", is_counted=True))
            publish(Notice(logging.INFO, "notice", "a method says this in every run"))
    finally:
        logger.handlers = handlers
        logger.setLevel(level)
    first, *later = capsys.readouterr().err.splitlines()
    assert first == "notice: tables are made"
    assert later == [
        "notice: a method says this in every run",
        "notice: tables are made: 12 so far",
        "notice: tables are made: 23 so far",
    ]

"""Ctrl-C in a call that does not end: the line of its author is named."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NoReturn

import pytest
from numpy.random import Generator

from nasbench.base.errors import StoppedAt
from nasbench.base.foreign import interrupts_noted
from nasbench.benchmarks import Evaluation, Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.commands import check as check_command
from nasbench.cli.engine import evaluations
from nasbench.methods import METHODS, Observation, Problem
from tests.conftest import Lend, Printed
from tests.nasbench_cli import toys
from tests.nasbench_cli.toy_runs import toy_run


def never_ends(seconds: float = 0.2) -> NoReturn:
    """Goes on for ever; the user loses patience after some seconds."""
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        pass


class Asked(toys.Careful):
    def ask(self) -> Configuration:
        return sorted([(0, 0)], key=lambda _: never_ends())[0]


class Told(toys.Careful):
    def tell(self, observation: Observation) -> None:
        never_ends()


class Evaluated(toys.Toy):
    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        never_ends()


@pytest.mark.parametrize("stopped", [Asked, Told, Evaluated])
def test_a_call_that_is_stopped_after_a_while_is_named_by_its_line(
    stopped: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "_LONG", 0.1)
    with interrupts_noted(), pytest.raises(StoppedAt, match=r"^test_stopped\.py:\d+ \(never_ends\)$"):
        toy_run(*((toys.Careful, stopped()) if issubclass(stopped, toys.Toy) else (stopped,)))


def test_a_short_call_that_happens_to_be_stopped_is_not_named() -> None:
    with interrupts_noted(), pytest.raises(KeyboardInterrupt) as stop:
        toy_run(Told)
    assert not isinstance(stop.value, StoppedAt)


def test_the_command_says_where_it_was_stopped(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise StoppedAt("telloops.py:14 (tell)")

    monkeypatch.setattr("nasbench.cli.commands.run.begin", stopped)
    done = nasbench("run", "--method", "random", "--bench", "hpobench-car", "--store", tmp_path / "s")
    assert done.code == 130
    assert "nasbench: stopped in telloops.py:14 (tell); what was stored is kept" in done.err


def test_a_check_says_where_it_goes_on_and_where_it_was_stopped(
    nasbench: Callable[..., Printed], lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(toys.Careful):
        def ask(self) -> Configuration:
            never_ends(1.0)

    monkeypatch.setattr(check_command, "_PATIENCE", 0.3)
    monkeypatch.setattr(evaluations, "_LONG", 0.1)
    lend(METHODS, "careful", Endless)
    done = nasbench("check", "careful", "--bench", "hpobench-car")
    assert done.code == 130
    place = r"test_stopped\.py:\d+ \(never_ends\)"
    assert re.search(rf"still trying: proposes members of the space, in {place}\n", done.err)
    assert re.search(rf"nasbench: stopped in {place}\n", done.err)


def test_a_check_says_that_a_constructor_goes_on(
    nasbench: Callable[..., Printed], lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(toys.Careful):
        patience: ClassVar[float | None] = 1.0

        def __init__(self, problem: Problem, rng: Generator) -> None:
            while self.patience is None:
                pass
            never_ends(self.patience)

    monkeypatch.setattr(check_command, "_PATIENCE", 0.3)
    lend(METHODS, "careful", Endless)
    done = nasbench("check", "careful", "--bench", "hpobench-car")
    assert done.code == 130
    assert re.search(r"still trying: constructor, in test_stopped\.py:\d+ \(never_ends\)\n", done.err)
    monkeypatch.setattr(check_command, "_LONGEST_TRIAL", 0.5)
    monkeypatch.setattr(Endless, "patience", None)
    done = nasbench("check", "careful", "--bench", "hpobench-car")
    assert (done.code, done.out) == (2, "")
    assert (
        "nasbench: the constructor of careful: TimeoutError: it goes on for more than 0.5 s (test_stopped.py:"
        in done.err
    )

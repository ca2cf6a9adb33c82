"""What the engine reports: notices of this process and of others, each with the run that it is about."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nasbench.cli.engine.events import Notice, listen, notices_about, notices_about_evaluation
from nasbench.cli.engine.executors import chosen, compute_batch
from nasbench.cli.engine.keys import asked_grid
from nasbench.cli.engine.pool import _work, in_processes
from nasbench.cli.engine.session import Session, begin
from nasbench.cli.engine.suites import Suite
from nasbench.cli.engine.watch import SLOTS
from nasbench.cli.engine.work import Work
from nasbench.methods.random_search import RandomSearch

_LOG = logging.getLogger("nasbench")


@pytest.fixture
def heard() -> Iterator[list[Notice]]:
    """Every notice, as a command hears it."""
    handlers, level = _LOG.handlers, _LOG.level
    found: list[Notice] = []
    listen(found.append)
    yield found
    _LOG.handlers = handlers
    _LOG.setLevel(level)


def test_a_notice_names_its_run_and_its_evaluation(heard: list[Notice]) -> None:
    _LOG.info("the cache is damaged")
    with notices_about("random on toy, none, seed 3"):
        _LOG.warning("it is slow")
        with notices_about_evaluation(7):
            _LOG.info("epoch %d of %d", 1, 2)
    assert heard == [
        Notice(logging.INFO, "notice", "the cache is damaged"),
        Notice(logging.WARNING, "random on toy, none, seed 3", "it is slow"),
        Notice(logging.INFO, "random on toy, none, seed 3, evaluation 7", "epoch 1 of 2"),
    ]


def grumble(number: int) -> int:
    with notices_about(f"task {number}"):
        _LOG.warning("this is hard")
    if number == 2:
        os._exit(3)
    return number


@pytest.mark.slow
def test_notices_of_other_processes_come_here_also_when_they_die(heard: list[Notice]) -> None:
    results = dict(in_processes(grumble, [1, 2], 2))
    assert results[1] == 1
    assert "died" in str(results[2])
    assert sorted(heard) == [Notice(logging.WARNING, f"task {number}", "this is hard") for number in (1, 2)]


class Two(Exception):
    """It cannot be rebuilt of its text, as pickle would have it."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


def raises(number: int) -> int:
    raise Two("nothing", f"for {number} reasons")


@pytest.mark.slow
def test_an_error_of_another_process_keeps_its_text() -> None:
    with pytest.raises(RuntimeError, match=r"^Two: nothing: for 1 reasons \(test_events.py:\d+\)$"):
        list(in_processes(raises, [1], 2))


def session(bench: str, folder: Path) -> Session:
    grid = asked_grid(methods=["random"], benchmarks=[bench], seeds=1, evals=1)
    return begin(Suite((grid,)), folder / "store", "a test")


def test_warnings_on_another_machine_come_with_its_answer(
    heard: list[Notice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(self: RandomSearch) -> object:
        _LOG.info("thinking")
        _LOG.warning("out of ideas")
        return self._problem.sample(self._rng)

    monkeypatch.setattr(RandomSearch, "ask", asked)
    begun = session("hpobench-car", tmp_path)
    work = Work(begun.store, begun.to_do)
    (batch,) = work.batches(1)
    answer = compute_batch(batch, work.journals)
    assert answer.notices == [Notice(logging.WARNING, "notice", "out of ideas")]
    heard.clear()
    work.keep(batch, answer)
    assert heard == answer.notices


@pytest.mark.slow
def test_the_device_of_live_runs_elsewhere_is_reported(heard: list[Notice], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    begun = session("digits@1", tmp_path)
    work = Work(begun.store, begun.to_do)
    (batch,) = work.batches(1)
    answer = compute_batch(batch, work.journals)
    answer.made_by["machine"]["gpu"] = "NVIDIA H200"
    work.keep(batch, answer)
    assert heard == [Notice(logging.INFO, "device", "NVIDIA H200")]
    assert chosen("serial", 1).local  # for which a command prints the device first


def test_a_process_whose_parent_has_hung_up_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """A second Ctrl-C can keep the parent from ending its processes."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(time.sleep, theirs, context.RawArray("d", SLOTS), {}))
    process.start()
    theirs.close()
    assert isinstance(ours.recv(), Notice)  # it has begun
    ours.send(0.1)
    ours.close()
    process.join()
    assert process.exitcode == 1
    assert capfd.readouterr().err == ""

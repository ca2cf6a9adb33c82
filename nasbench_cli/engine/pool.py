"""Tasks in processes of their own: one that dies or hangs takes nothing with it but its task."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.devices import shared_out
from nasbench.cli.engine.progress import echo_notices
from nasbench.cli.engine.watch import NO_LIMITS, SLOTS, Limits, watch

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 3  # of a task whose process is killed, or has lost its device
_NO_DEVICE = 75  # exit code of a process whose device has failed
_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LOG = logging.getLogger("nasbench")
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Lost:
    """Why a task has no result."""

    reason: str
    killed: bool = False
    """Its process was ended from outside, by a person or for want of memory: that says nothing against the task."""
    again: bool = False
    """It may well have a result in another process."""


def in_processes(
    function: Callable[[T], R],
    tasks: Sequence[T],
    jobs: int,
    parts: Callable[[T], list[T]],
    limits: Limits = NO_LIMITS,
    apart: Callable[[T], str] = lambda _: "",
) -> Generator[tuple[T, R | Lost], None, None]:
    """Each task with its result, as they come from so many processes; with a reason, if it took its process down.

    A task whose process is killed, or has lost its device, is tried again, three times at most. Closing the iterator
    stops the processes at once: they hold nothing that a rerun would not compute. An exception of `function` is raised
    here.

    Args:
        parts: cuts a task that lost its process into the smallest ones, to find out which is to blame.
        limits: of what `watch` tells; a process that exceeds them is ended.
        apart: whose a task is; a process does tasks of one owner.
    """
    waiting = deque((task, 1) for task in tasks)
    workers: list[_Worker[T, R]] = []
    pause = min((s for s in (limits.ask_seconds, limits.evaluation_seconds) if s is not None), default=0.0) / 10
    try:
        while waiting or any(worker.task is not None for worker in workers):
            for worker in [worker for worker in workers if worker.task is None]:
                if not waiting:
                    break
                place = next((i for i, (task, _) in enumerate(waiting) if apart(task) == worker.owner), None)
                if place is None:
                    workers.remove(worker)
                    worker.end()
                else:
                    worker.give(*waiting[place])
                    del waiting[place]
            for _ in range(min(jobs - len(workers), len(waiting))):
                taken = [worker.number for worker in workers]
                number, (task, attempt) = next(i for i in count() if i not in taken), waiting.popleft()
                workers.append(_Worker(function, number, apart(task)))
                workers[-1].give(task, attempt)
            busy = {worker.pipe: worker for worker in workers if worker.task is not None}
            ready = wait(list(busy), min(pause, 1.0) if limits else None)
            late = [worker for pipe, worker in busy.items() if pipe not in ready and worker.stop_if_late(limits)]
            for worker in [*(busy[pipe] for pipe in ready if isinstance(pipe, Connection)), *late]:
                task, result = worker.take()
                if not isinstance(result, Lost):
                    yield task, result
                    continue
                workers.remove(worker)
                smaller = parts(task)
                if len(smaller) > 1:
                    waiting.extendleft((part, 1) for part in reversed(smaller))
                elif (result.killed or result.again) and worker.attempt < _ATTEMPTS:
                    waiting.append((task, worker.attempt + 1))
                else:
                    yield task, result
    finally:
        for worker in workers:
            worker.end()


class _Worker(Generic[T, R]):
    """A process that does one task after another; its number says which device is its own, if there are several."""

    def __init__(self, function: Callable[[T], R], number: int, owner: str) -> None:
        self.number, self.owner = number, owner
        self.pipe, theirs = _CONTEXT.Pipe()
        self.task: T | None = None
        self.attempt = 0
        self._doing = _CONTEXT.RawArray("d", SLOTS)
        self._late = ""
        given = (function, theirs, self._doing, shared_out(number))
        self._process = _CONTEXT.Process(target=_work, args=given, daemon=False)
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def give(self, task: T, attempt: int) -> None:
        self.task, self.attempt = task, attempt
        with suppress(OSError):  # it has died: `take` will meet the end of the pipe
            self.pipe.send(task)

    def stop_if_late(self, limits: Limits) -> bool:
        """Ends the process if it has exceeded a limit."""
        self._late = limits.exceeded(self._doing)
        if self._late:
            self._process.kill()
        return bool(self._late)

    def take(self) -> tuple[T, R | Lost]:
        """The task that is done, or lost. Raises what it raised."""
        task, self.task = self.task, None
        assert task is not None
        try:
            if self._late:
                raise EOFError
            result, error = self.pipe.recv()
        except (EOFError, OSError):
            return task, self._lost()
        if error is not None:
            raise error
        return task, result

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _lost(self) -> Lost:
        self._process.join()
        self.pipe.close()
        code = self._process.exitcode or 0
        if self._late:
            return Lost(self._late)
        if -code in _KILLS:
            return Lost("its process was killed, by a person or for want of memory", killed=True)
        if code == _NO_DEVICE:
            return Lost(f"its device failed in {_ATTEMPTS} processes, one after the other", again=True)
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return Lost(f"the process that computed it died (a crash in compiled code, or an exit: {how})")


def end_with_parent() -> None:
    """From now on this process ends when the one that began it does, however that came to its end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait([sentinel]), os._exit(1)), daemon=True).start()


def _work(function: Callable[[Any], Any], pipe: Connection, doing: Any, environment: dict[str, str]) -> None:
    """Does tasks until the pipe ends; leaves Ctrl-C to the parent, and dies with it: a killed one has no orphans."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    echo_notices()
    end_with_parent()
    watch(doing)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((function(task), None))
        except DeviceLost as error:
            _LOG.warning("%s; what was computed is repeated in a new process", error)
            os._exit(_NO_DEVICE)
        except Exception as error:
            pipe.send((None, error))

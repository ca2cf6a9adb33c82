"""Computes tasks in child processes: a process that dies or hangs costs only its task."""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import end_process, placed
from nasbench.base.streams import drop_unwritable_errors
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.devices import shared_out
from nasbench.cli.engine.events import Notice, listen, publish
from nasbench.cli.engine.watch import NO_LIMITS, SLOTS, Limits, watch

T = TypeVar("T")
R = TypeVar("R")

_ATTEMPTS = 3  # for a task whose process is killed or loses its device
_NO_DEVICE = 75  # exit code of a process whose device has failed
_BEGUN = Notice(logging.DEBUG, "notice", "a process has begun")  # what it says first; nobody is told
_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LOG = logging.getLogger("nasbench")
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Lost:
    """Why a task has no result."""

    reason: str
    killed: bool = False
    """Whether its process was ended from outside, by a person or for lack of memory: the task is not to blame."""
    again: bool = False
    """Whether it may succeed in another process."""


def in_processes(
    function: Callable[[T], R],
    tasks: Sequence[T],
    jobs: int,
    cut: Callable[[T], list[T]] = lambda task: [task],
    limits: Limits = NO_LIMITS,
    owner_of: Callable[[T], str] = lambda _: "",
    is_over: Callable[[T], bool] = lambda _: False,
) -> Generator[tuple[T, R | Lost], None, None]:
    """Each task with its result, in the order in which they finish; a task that kills its process is `Lost`.

    A task whose process is killed from outside, or loses its device, is tried three times at most. Closing the iterator
    stops the processes at once; nothing is lost that a rerun would not compute. An exception of `function` is raised
    here, and notices of the processes are published here. Raises UsageError where a process ends before it has begun.

    Args:
        jobs: number of processes.
        cut: cuts a task that lost its process into the smallest tasks, to find out which is to blame; by
            default none is cut.
        limits: longest times of what `watch` records; a process that exceeds one is ended.
        owner_of: the owner of a task; a process computes tasks of one owner only.
        is_over: whether a task is left out, after what has been yielded before it begins.
    """
    pool = _Pool(function, tasks, jobs, owner_of)
    try:
        while pool.is_at_work:
            pool.fill()
            for worker, task, result in pool.hear(limits):
                if isinstance(result, Lost) and pool.tries_again(worker, task, result, cut):
                    continue
                yield task, result
                if is_over(task):
                    pool.leave_out(is_over)
    finally:
        pool.end()


class _Pool(Generic[T, R]):
    """Tasks that wait, and the processes that compute others."""

    def __init__(self, function: Callable[[T], R], tasks: Sequence[T], jobs: int, owner_of: Callable[[T], str]) -> None:
        self._function, self._jobs, self._owner_of = function, jobs, owner_of
        self._waiting = deque((task, 1) for task in tasks)
        self._workers: list[_Worker[T, R]] = []

    @property
    def is_at_work(self) -> bool:
        """Whether a task waits or is computed."""
        return bool(self._waiting) or any(worker.task is not None for worker in self._workers)

    def fill(self) -> None:
        """Gives each idle process a task of its owner, ends those for which none waits, and begins new ones."""
        for worker in [worker for worker in self._workers if worker.task is None]:
            if not self._waiting:
                return
            owners = (self._owner_of(task) for task, _ in self._waiting)
            place = next((i for i, owner in enumerate(owners) if owner == worker.owner), None)
            if place is None:
                self._workers.remove(worker)
                worker.end()
            else:
                worker.give(*self._waiting[place])
                del self._waiting[place]
        for _ in range(min(self._jobs - len(self._workers), len(self._waiting))):
            taken = [worker.number for worker in self._workers]
            number, (task, attempt) = next(i for i in count() if i not in taken), self._waiting.popleft()
            with _interrupts_later():
                self._workers.append(_Worker(self._function, number, self._owner_of(task)))
            self._workers[-1].give(task, attempt)

    def hear(self, limits: Limits) -> Iterator[tuple[_Worker[T, R], T, R | Lost]]:
        """Waits until a process says something, or is late; those that are done with their tasks, with the results."""
        pause = None if math.isinf(limits.shortest) else min(limits.shortest / 10, 1.0)
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        ready = wait(list(busy), pause)
        late = [worker for pipe, worker in busy.items() if pipe not in ready and worker.stop_if_late(limits)]
        for worker in [*(busy[pipe] for pipe in ready if isinstance(pipe, Connection)), *late]:
            said = worker.hear()
            if said is not None:
                yield worker, *said

    def tries_again(self, worker: _Worker[T, R], task: T, lost: Lost, cut: Callable[[T], list[T]]) -> bool:
        """Whether a lost task is computed again, in parts if it has any."""
        self._workers.remove(worker)
        if len(smaller := cut(task)) > 1:
            self._waiting.extendleft((one, 1) for one in reversed(smaller))
            return True
        if (lost.killed or lost.again) and worker.attempt < _ATTEMPTS:
            self._waiting.append((task, worker.attempt + 1))
            return True
        return False

    def leave_out(self, is_over: Callable[[T], bool]) -> None:
        self._waiting = deque(item for item in self._waiting if not is_over(item[0]))

    def end(self) -> None:
        for worker in self._workers:  # all of them first: a second Ctrl-C may end what follows
            worker.kill()
        for worker in self._workers:
            worker.end()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delays a Ctrl-C until this block ends; processes that begin in it are deaf to one until they ignore it."""
    resource_tracker.ensure_running()  # when it starts, it lets interrupts through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker(Generic[T, R]):
    """A process that computes one task after another; if there are several devices, its number chooses one."""

    def __init__(self, function: Callable[[T], R], number: int, owner: str) -> None:
        self.number, self.owner = number, owner
        self.pipe, theirs = _CONTEXT.Pipe()
        self.task: T | None = None
        self.attempt = 0
        self._doing = _CONTEXT.RawArray("d", SLOTS)
        self._late, self._begun = "", False
        given = (function, theirs, self._doing, shared_out(number))
        self._process = _CONTEXT.Process(target=_work, args=given, daemon=False)
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def give(self, task: T, attempt: int) -> None:
        self.task, self.attempt = task, attempt
        with suppress(OSError):  # it has died: `hear` will find the end of the pipe
            self.pipe.send(task)

    def stop_if_late(self, limits: Limits) -> bool:
        """Ends the process if it has exceeded a limit."""
        self._late = limits.exceeded(self._doing)
        if self._late:
            self._process.kill()
        return bool(self._late)

    def hear(self) -> tuple[T, R | Lost] | None:
        """The task with its result, once it is done or lost; None after a notice, which is published.

        Raises what the task raised, and UsageError if the process has ended before it could begin.
        """
        said: Notice | tuple[R, Exception | None] | None = None
        with suppress(EOFError, OSError):
            said = None if self._late else self.pipe.recv()
        if isinstance(said, Notice):
            self._begun = True
            if said != _BEGUN:
                publish(said)
            return None
        task, self.task = self.task, None
        assert task is not None
        if said is None:
            return task, self._lost()
        result, error = said
        if error is not None:
            raise error
        return task, result

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.join()
        self.pipe.close()

    def _lost(self) -> Lost:
        self._process.join()
        self.pipe.close()
        code = self._process.exitcode or 0
        if self._late:
            return Lost(self._late)
        if not self._begun and code >= 0:  # the task is not to blame: none would get further
            raise UsageError(
                f"a process that was to compute runs ended with exit code {code} before it began, {_why_none_begins()}"
            )
        if -code in _KILLS:
            return Lost("its process was killed, by a person or for lack of memory", killed=True)
        if code == _NO_DEVICE:
            return Lost(f"its device failed in {_ATTEMPTS} processes, one after another", again=True)
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return Lost(f"the process that computed it died (a crash in compiled code, or an exit: {how})")


def _why_none_begins() -> str:
    """Why no process can begin, as far as the main script shows it: each process imports that script first."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is not None and not Path(script).exists():
        return "for a script from standard input cannot start processes: save it as a file, or give jobs=1"
    return 'and what it printed says why; in a script, such a call belongs below `if __name__ == "__main__":`'


def end_with_parent(end: Callable[[], object] = lambda: end_process(1)) -> None:
    """From now on this process ends when its parent ends, for whatever reason; `end` ends it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait([sentinel]), end()), daemon=True).start()


def _work(function: Callable[[Any], Any], pipe: Connection, doing: Any, environment: dict[str, str]) -> None:
    """Computes tasks until the pipe ends. Leaves Ctrl-C to the parent, and ends with it, so that no orphan remains."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # for processes that methods begin
    talking = threading.Lock()  # notices also come from the threads of evaluations

    def tell(said: object) -> None:
        with talking:
            try:
                pipe.send(said)
            except OSError:  # the parent has closed it, and is ending, or a method has
                end_process(1)

    listen(tell)
    drop_unwritable_errors()  # what a method prints goes there
    end_with_parent()
    watch(doing)
    tell(_BEGUN)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            tell((function(task), None))
        except DeviceLost as error:
            _LOG.warning("%s; what was computed is repeated in a new process", error)
            end_process(_NO_DEVICE)
        except Exception as error:
            tell((None, _portable(error)))


def _portable(error: Exception) -> Exception:
    """The error, or if it cannot be sent to another process, one that says what it was."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(placed(error))
    return error

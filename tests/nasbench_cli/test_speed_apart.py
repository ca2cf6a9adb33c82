"""Rows that are measured in a process of their own: what fails, hangs or dies takes nothing with it.

Nothing heavy is imported here: the processes import this file.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.speed.gpu.process import measured
from nasbench.cli.speed.gpu.tables import NotMeasured, Row

PLENTY = 120.0  # seconds that a measurement of nothing is given


def nothing() -> None:
    """A process that has nothing to begin with."""


def number(until: float) -> tuple[str, ...]:
    return (str(os.getpid()),)


def time_given(until: float) -> tuple[str, ...]:
    return (repr(until),)


def lacks_images(until: float) -> tuple[str, ...]:
    raise UsageError("the images are not here")


def fails(until: float) -> tuple[str, ...]:
    raise ValueError("the compiler says\n" + "a lot | " * 100)


def loses_its_device(until: float) -> tuple[str, ...]:
    raise DeviceLost("the device has failed")


def dies(until: float) -> tuple[str, ...]:
    os._exit(3)


def hangs(until: float) -> tuple[str, ...]:
    threading.Event().wait()
    return ()


def rows(*measures: Callable[[float], Sequence[str]], weight: float = 1.0) -> list[Row]:
    return [Row(one.__name__, one, weight) for one in measures]


def test_a_row_that_fails_or_dies_takes_nothing_with_it() -> None:
    asked = rows(number, lacks_images, number, fails, number, loses_its_device, number, dies, number)
    found = list(measured(asked, PLENTY, nothing))
    processes = [cells[0] for cells in found[::2]]
    assert processes[0] == processes[1]  # missing images do no harm to a process
    assert len(set(processes)) == 4  # each of the other failures is its last
    assert str(os.getpid()) not in processes
    reasons = [one.reason for one in found if isinstance(one, NotMeasured)]
    assert reasons[0] == "the images are not here"
    assert reasons[1].startswith("ValueError: the compiler says a lot | ")
    assert len(reasons[1]) <= 200
    assert reasons[2:] == ["DeviceLost: the device has failed", "its process died, with exit code 3"]


def test_a_row_that_hangs_is_ended_when_its_share_is_over() -> None:
    found = list(measured([*rows(hangs, weight=1e-3), *rows(number)], PLENTY, nothing))
    assert found[0] == NotMeasured("it took longer than its share of the time, 0 s")
    assert isinstance(found[1], tuple)


def test_time_is_shared_by_weight_and_what_is_left_goes_to_later_rows() -> None:
    begun = monotonic()
    asked = [*rows(time_given), *rows(time_given, weight=3.0)]
    generator = measured(asked, PLENTY, nothing)
    (first,) = next(generator)
    done = monotonic()
    (last,) = next(generator)
    end = float(last)
    assert begun + PLENTY <= end <= done + PLENTY  # the last row may take all that is left
    assert 0.75 * (end - done) <= end - float(first) <= 0.75 * PLENTY + 1e-6


def test_when_all_time_is_over_no_process_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.cli.speed.gpu.process._Process", None)
    found = list(measured(rows(number, number), 0.0, nothing))
    assert found == [NotMeasured("the 0 s of all measurements were over")] * 2


def begins_badly() -> None:
    raise RuntimeError("the driver is too old")


def test_a_process_that_cannot_begin_fails_row_by_row() -> None:
    found = list(measured(rows(number, number), PLENTY, begins_badly))
    assert found == [NotMeasured("RuntimeError: the driver is too old")] * 2


def says_and_hangs(until: float) -> tuple[str, ...]:
    print(os.getpid(), flush=True)
    return hangs(until)


MEASURES = """
from nasbench.cli.speed.gpu.process import measured
from tests.nasbench_cli.test_speed_apart import PLENTY, nothing, rows, says_and_hangs
list(measured(rows(says_and_hangs), PLENTY, nothing))
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot wait for another's process")
def test_the_process_does_not_outlive_a_killed_command() -> None:
    root = Path(__file__).parents[2]
    command = subprocess.Popen([sys.executable, "-c", MEASURES], cwd=root, stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    handle = os.pidfd_open(int(command.stdout.readline()))
    try:
        command.kill()
        command.wait()
        assert select.select([handle], [], [], 20.0)[0] == [handle]  # it has ended
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
        command.stdout.close()


def test_the_process_is_ended_when_nobody_wants_more() -> None:
    generator = measured(rows(number, number), PLENTY, nothing)
    (process,) = next(generator)
    generator.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)

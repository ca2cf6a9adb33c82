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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nasbench.base.faults import DeviceLost
from nasbench.benchmarks import UsageError
from research.gpu.apart import CONTEXT, Result, measured

PLENTY = 120.0  # seconds that a measurement of nothing is given


def number(seconds: float) -> Result:
    return Result(str(os.getpid()), f"{seconds:g}")


def lacks_images(seconds: float) -> Result:
    raise UsageError("the images are not here")


def fails(seconds: float) -> Result:
    raise RuntimeError("CUDA out of memory. Tried to allocate\n" + "a lot | " * 100)


def loses_its_device(seconds: float) -> Result:
    raise DeviceLost("the device has failed")


def dies(seconds: float) -> Result:
    os._exit(3)


def hangs(seconds: float) -> Result:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    threading.Event().wait()
    return Result("", "")


def test_a_row_has_a_process_of_its_own_and_is_told_its_time() -> None:
    one, two = measured(number, PLENTY), measured(number, PLENTY)
    assert one.note == f"{PLENTY:g}"
    assert len({one.value, two.value, str(os.getpid())}) == 3


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (lacks_images, "the images are not here"),
        (fails, "RuntimeError: CUDA out of memory. Tried to allocate a lot | "),
        (loses_its_device, "DeviceLost: the device has failed"),
        (dies, "its process died (exit code 3)"),
    ],
)
def test_a_row_that_fails_says_why_in_the_words_of_its_error(measure: Callable[[float], Result], why: str) -> None:
    value, note = measured(measure, PLENTY)
    assert value == ""
    assert note.startswith(f"not measured: {why}")
    assert len(note) <= 320


def test_a_row_that_hangs_is_ended_when_its_share_is_over() -> None:
    assert measured(hangs, 0.1) == ("", "not measured: it took longer than its share of the time, 0 s")


def begins_another(seconds: float) -> Result:
    """A row with a process of its own, which hangs, as the row does."""
    process = CONTEXT.Process(target=_hang)
    process.start()
    print(process.pid, flush=True)
    process.join()
    return Result("", "")


def _hang() -> None:
    threading.Event().wait()


MEASURES = """
from research.gpu.apart import measured
from tests.research.test_apart import PLENTY, begins_another
if __name__ == "__main__":
    measured(begins_another, {seconds})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot wait for another's process")
@pytest.mark.parametrize("how", ["killed", "over"])
def test_what_a_row_has_begun_does_not_outlive_the_command_or_the_row(how: str) -> None:
    root = Path(__file__).parents[2]
    program = MEASURES.format(seconds="PLENTY" if how == "killed" else "5.0")
    command = subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    handle = os.pidfd_open(int(command.stdout.readline()))
    try:
        if how == "killed":
            command.kill()
        command.wait()
        assert select.select([handle], [], [], 20.0)[0] == [handle]  # it has ended
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
        command.stdout.close()

"""Causes of a failed training: the architecture, memory that other trainings hold, or the device itself."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "std::bad_alloc",
    "cudnn_status_alloc_failed",
    "cublas_status_alloc_failed",
    "device_allocation_failed",
    "unable to find an engine",
)
_STICKY = (
    "an illegal memory access was encountered",
    "device-side assert triggered",
    "unspecified launch failure",
    "misaligned address",
    "an illegal instruction was encountered",
    "hardware stack error",
    "uncorrectable ecc error",
    "the launch timed out and was terminated",
    "operation not supported on global/shared address space",
    "invalid program counter",
)
"""Texts of errors after which, by CUDA's manual, all later calls in the process fail, so it must end."""


class DeviceLost(BaseException):
    """The device has failed, and all later calls of this process would fail: not the fault of an architecture.

    It is not an Exception, so it is never recorded as a failed evaluation. The worker process ends, and the evaluation
    is repeated in a new process.
    """


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the memory of the device or the machine was exhausted."""
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in _MEMORY)


def is_sticky(error: BaseException) -> bool:
    """Whether the device is lost for this process."""
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _STICKY)


def check_device(error: BaseException) -> None:
    """Raises DeviceLost if an error is one, or says that the device is lost for this process."""
    if isinstance(error, DeviceLost):
        raise error
    if is_sticky(error):
        raise DeviceLost(f"the device has failed: {error}") from error


def guarded(compute: Callable[[], T]) -> T:
    """Calls `compute`, and once more if memory was exhausted, then without other calls in parallel.

    Before the second attempt, calls in other threads of this process finish, and new ones wait. So if memory is
    exhausted again, the network is the cause. Raises DeviceLost if the device has failed, and otherwise the error of
    `compute`.
    """
    try:
        with _GATE.beside():
            return compute()
    except (RuntimeError, MemoryError) as error:
        check_device(error)
        if not is_out_of_memory(error):
            raise
    # The error has been released here, and with it the tensors in its frames.
    with _GATE.alone():
        free()
        try:
            return compute()
        except RuntimeError as error:
            check_device(error)
            raise


class _Gate:
    """A lock that admits either many calls together or a single one."""

    def __init__(self) -> None:
        self._changed, self._inside, self._closed = threading.Condition(), 0, False

    @contextmanager
    def beside(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()


def free() -> None:
    """Releases unused memory to the device."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


_GATE = _Gate()

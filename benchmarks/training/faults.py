"""What went wrong in a training: the architecture, memory that something beside it holds, or the device itself."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "std::bad_alloc", "cudnn_status_alloc_failed")
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
"""Errors after which, as CUDA's manual says, every later call of the process fails: it must end."""


class DeviceLost(BaseException):
    """The device has failed, and with it all that this process will still ask of it; says nothing of an architecture.

    Not an Exception: nobody records it as a failed evaluation. A worker process that meets it ends, and the evaluation
    is repeated in a new one.
    """


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was missing: the device's or the machine's."""
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in _MEMORY)


def is_sticky(error: BaseException) -> bool:
    """Whether the device will answer nothing any more in this process."""
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _STICKY)


def guarded(compute: Callable[[], T]) -> T:
    """What `compute` returns; where memory was missing it is computed once more, with nothing beside it.

    "Beside" are other calls in threads of this process: they finish first, and new ones wait. Raises DeviceLost for a
    device that has failed, and what `compute` raises otherwise: of a second lack of memory the network is the cause.
    """
    try:
        with _GATE.beside():
            return compute()
    except (RuntimeError, MemoryError) as error:
        if is_sticky(error):
            raise DeviceLost(f"the device has failed: {error}") from error
        if not is_out_of_memory(error):
            raise
    # Here the error, and with it the tensors that its frames hold, is gone.
    with _GATE.alone():
        free()
        try:
            return compute()
        except RuntimeError as error:
            if is_sticky(error):
                raise DeviceLost(f"the device has failed: {error}") from error
            raise


class _Gate:
    """Lets many in at a time, or one alone."""

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
    """Gives back what nobody holds any more."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


_GATE = _Gate()

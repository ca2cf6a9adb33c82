"""What holds for the whole process, so that third-party code could change what others compute."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}  # NumPy's


@contextmanager
def restored() -> Iterator[None]:
    """Makes what `_HELD` reads be afterwards what it was before."""
    before = [read() for read, _ in _HELD]
    try:
        yield
    finally:
        for (read, write), value in zip(_HELD, before, strict=True):
            if read() != value:
                write(value)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return None


def _go_back(folder: str | None) -> None:
    with suppress(OSError):
        os.chdir(folder or ".")


def _set_filters(filters: list[Any]) -> None:
    warnings.resetwarnings()
    warnings.filters = filters


def _errors() -> dict[str, str]:
    """How NumPy treats floating-point errors."""
    found: dict[str, str] = sys.modules["numpy"].geterr() if "numpy" in sys.modules else _DEFAULTS
    return found


def _tensors() -> dict[str, Any]:
    """What PyTorch computes with, by the names of the functions that set it; empty where it is not there."""
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "get_default_device"):  # a module of this name may also be an old one, or another's
        return {}
    device = torch.get_default_device()
    return {
        "set_default_dtype": torch.get_default_dtype(),
        "set_default_device": None if device.type == "cpu" else device,  # any device is asked for at each new tensor
        "set_grad_enabled": torch.is_grad_enabled(),
        "use_deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    }


def _set_tensors(before: dict[str, Any]) -> None:
    now = _tensors()
    if not now:
        return
    torch = sys.modules["torch"]
    usual = dict(zip(now, (torch.float32, None, True, False), strict=True))  # it has just been imported
    for name, value in (before or usual).items():
        if now[name] != value:
            getattr(torch, name)(value)


def _alarm() -> Any:
    """What is called when a timer has run out; None outside the main thread, and where there are no such timers."""
    in_main = threading.current_thread() is threading.main_thread()
    return signal.getsignal(signal.SIGALRM) if in_main and hasattr(signal, "SIGALRM") else None


def _set_alarm(call: Any) -> None:
    signal.signal(signal.SIGALRM, call or signal.SIG_DFL)
    if call in (None, signal.SIG_DFL):
        signal.alarm(0)  # it would end the process


_HELD: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (_folder, _go_back),  # paths of the user refer to it
    (sys.getrecursionlimit, lambda limit: sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))),
    (lambda: list(warnings.filters), _set_filters),
    (lambda: logging.root.manager.disable, logging.disable),
    (_errors, lambda errors: sys.modules["numpy"].seterr(**errors)),
    (_tensors, _set_tensors),
    (_alarm, _set_alarm),
)
"""What holds for the whole process and would change what others compute: functions that read it, and that set it."""

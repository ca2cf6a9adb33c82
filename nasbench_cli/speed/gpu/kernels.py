"""What a piece of work asks of the device: how many kernels run, and how often the CPU launches any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch.profiler import profile, supported_activities

_COPIES = ("Memcpy", "Memset")


class Counted(NamedTuple):
    """Numbers of a piece of work."""

    kernels: int
    """Kernels that ran on the device, those of captured graphs included; copies are none."""
    launches: int
    """Calls by which the CPU launched kernels or whole graphs."""

    @classmethod
    def by(cls, seen: profile) -> Counted:
        """What a profiler saw. Raises RuntimeError if that is no kernel."""
        return cls.of(seen.events())  # type: ignore[no-untyped-call, unused-ignore]

    @classmethod
    def of(cls, events: Iterable[Any]) -> Counted:
        """Counts events of PyTorch's profiler. Raises RuntimeError if there is no kernel among them."""
        kernels = launches = 0
        for event in events:
            if event.device_type.name == "CUDA":
                kernels += not (event.is_user_annotation or event.name.startswith(_COPIES))
            else:
                launches += event.name.startswith("cu") and "Launch" in event.name
        if not kernels:
            raise RuntimeError("the profiler saw no kernel")
        return cls(kernels, launches)

    def each(self, count: int) -> tuple[str, str]:
        """Both numbers as text, for one of `count` equal parts of the work."""
        kernels, launches = (f"{number / count:,.0f}" for number in self)
        return kernels, launches


def profiler() -> profile:
    """A profiler that sees kernels where there is a device; begun by `start`, ended by `stop`."""
    return profile(activities=list(supported_activities()))  # type: ignore[no-untyped-call, unused-ignore]

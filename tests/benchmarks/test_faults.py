"""Missing memory is tried again alone; a device that has failed is nobody's result; the rest is the network's."""

from __future__ import annotations

import threading

import pytest

from nasbench.base.faults import DeviceLost, guarded

MEMORY = [
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] data. DefaultCPUAllocator: can't allocate memory: 1 TB"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("Unable to find an engine to execute this computation"),
    MemoryError(),
]
STICKY = [
    RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously"),
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("CUDA error: unspecified launch failure"),
]


class Failing:
    """Raises some errors, one per call, and then answers 7."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.calls = list(errors), 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return 7


@pytest.mark.slow
@pytest.mark.parametrize("error", MEMORY)
def test_missing_memory_is_tried_again_once(error: Exception) -> None:
    once = Failing(error)
    assert guarded(once) == 7
    assert once.calls == 2
    twice = Failing(error, error)
    with pytest.raises(type(error)):  # nothing was beside it: the network is too large
        guarded(twice)
    assert twice.calls == 2


@pytest.mark.parametrize("error", STICKY)
@pytest.mark.parametrize("before", [[], MEMORY[:1]])
def test_a_failed_device_is_no_failed_network(error: Exception, before: list[Exception]) -> None:
    with pytest.raises(DeviceLost, match="the device has failed: CUDA error"):
        guarded(Failing(*before, error))
    assert not issubclass(DeviceLost, Exception)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Given groups=1, weight of size [8, 1, 3, 3], expected input[64, 3, 16, 16] to have 1 channels"),
        RuntimeError("CUDA error: invalid configuration argument"),
        ValueError("an illegal memory access was encountered"),
    ],
)
def test_what_the_network_does_wrong_is_not_tried_again(error: Exception) -> None:
    once = Failing(error)
    with pytest.raises(type(error)):
        guarded(once)
    assert once.calls == 1
    assert guarded(Failing()) == 7  # nobody is locked out


def test_the_second_attempt_has_nothing_beside_it() -> None:
    """Threads that train meanwhile finish first, and new ones wait until it is done."""
    told: list[str] = []
    begun, go_on, late = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        begun.set()
        go_on.wait(20)
        told.append("other")

    def newcomer() -> None:
        late.wait(20)
        guarded(lambda: told.append("newcomer"))

    def failing() -> None:
        if not told and not go_on.is_set():
            go_on.set()
            raise RuntimeError("CUDA out of memory")
        late.set()
        told.append("again")

    threads = [threading.Thread(target=lambda: guarded(other)), threading.Thread(target=newcomer)]
    for thread in threads:
        thread.start()
    begun.wait(20)
    guarded(failing)
    for thread in threads:
        thread.join(20)
    assert told == ["other", "again", "newcomer"]

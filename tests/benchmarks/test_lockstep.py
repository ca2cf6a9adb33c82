"""Trainings whose passes are made as one: what each of them comes to is what it comes to alone."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import pytest

from nasbench.benchmarks.training import faults
from nasbench.benchmarks.training.recipes import RECIPES, Recipe

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.training import lockstep, training  # noqa: E402
from nasbench.benchmarks.training.augmentation import Resident  # noqa: E402
from nasbench.benchmarks.training.lockstep import Lockstep, Pass, Shape, member  # noqa: E402
from tests.benchmarks.test_stacking import PLAIN, STAGES  # noqa: E402
from tests.benchmarks.test_training import resident  # noqa: E402

RARE = {"clip": 0.2, "mix": 1.0, "label_smoothing": 0.1}


def data() -> Resident:
    """In double precision."""
    found = resident()
    found._scale, found._shift = found._scale.double(), found._shift.double()
    return found


def trained(seed: int, stages: Any = STAGES, recipe: Recipe = RECIPES["search"], **options: Any) -> training.Trained:
    return training.train(lambda: CellNetwork(stages, 4, 1, 3).double(), data(), recipe, 2, 20, seed, **options)


def are_alike(one: training.Trained | BaseException, two: training.Trained | BaseException) -> None:
    assert isinstance(one, training.Trained), one
    assert isinstance(two, training.Trained), two
    ours, theirs = one.network.state_dict(), two.network.state_dict()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name.endswith("num_batches_tracked"):
            continue  # nobody asks: the momentum of running statistics is fixed
        assert torch.allclose(theirs[name].double(), value.double(), rtol=1e-10, atol=1e-12), name
    assert (one.val.error, one.curve, one.memory) == (two.val.error, two.curve, two.memory)


@pytest.mark.parametrize("changes", [{}, RARE, {"clip": None}], ids=["search", "clipped and mixed", "unclipped"])
def test_trainings_made_as_one_are_those_made_alone(changes: dict[str, Any], made: list[int]) -> None:
    recipe = replace(RECIPES["search"], **changes)
    alone = [trained(seed, recipe=recipe) for seed in range(3)]
    assert not made
    for one, two in zip(
        alone, Lockstep([partial(trained, seed, recipe=recipe) for seed in range(3)]).run(), strict=True
    ):
        are_alike(one, two)
    assert made == [3] * 5  # of three steps in each of two epochs the first measures the memory, each network alone


def test_networks_of_several_shapes_go_side_by_side(made: list[int]) -> None:
    kinds = (STAGES, PLAIN, STAGES)
    alone = [trained(seed, stages) for seed, stages in enumerate(kinds)]
    tasks = [partial(trained, seed, stages) for seed, stages in enumerate(kinds)]
    for one, two in zip(alone, Lockstep(tasks).run(), strict=True):
        are_alike(one, two)
    assert set(made) == {2}


def test_one_that_fails_leaves_the_others_alone(made: list[int]) -> None:
    def ends(*_: object) -> None:
        raise ArithmeticError("enough")

    tasks: list[Callable[[], Any]] = [partial(trained, 0), partial(trained, 1, each=ends), partial(trained, 2)]
    one, failed, two = Lockstep(tasks).run()
    assert isinstance(failed, ArithmeticError)
    are_alike(trained(0), one)
    are_alike(trained(2), two)
    assert made == [3, 3, 2, 2, 2]


def test_an_error_of_what_is_made_for_several_reaches_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(lockstep._Stack, "passed", no_memory)
    found = Lockstep([partial(trained, seed) for seed in range(3)]).run()
    assert [str(one) for one in found] == ["CUDA out of memory"] * 3


def test_missing_memory_is_not_waited_for_in_step_with_others() -> None:
    def no_memory() -> None:
        calls.append(faults.in_step())
        raise MemoryError

    calls: list[bool] = []
    found = Lockstep([partial(faults.guarded, no_memory)] * 2).run()
    assert [type(one) for one in found] == [MemoryError] * 2
    assert calls == [True] * 2
    with pytest.raises(MemoryError):
        faults.guarded(no_memory)
    assert calls[2:] == [False] * 2


class Counted(Pass):
    """A pass of one weight that takes two seconds of a clock; nothing stacks it."""

    def __init__(self, now: list[float]) -> None:
        self.network, self._now = torch.nn.Linear(1, 1, bias=False), now

    @property
    def shape(self) -> Shape:
        return ()

    def stack(self, number: int) -> None:
        return None

    def losses(self, network: torch.nn.Module, passes: Sequence[Pass], mixture: Sequence[Any]) -> list[Any]:
        if self._now[0] < 0:
            raise ArithmeticError("no such time")
        self._now[0] += 2
        return [3 * next(network.parameters()).sum()]


def test_seconds_are_own_work_and_a_share_of_what_is_made_for_all() -> None:
    now = [100.0]

    def task(own: float) -> float:
        here = member()
        assert here is not None
        for _ in range(2):
            now[0] += own
            passed = Counted(now)
            lockstep.loss(passed).backward()
            assert passed.network.weight.grad.item() == 3
        return here.clock()

    assert Lockstep([partial(task, 1.0), partial(task, 5.0)], lambda: now[0]).run() == [2 * (1 + 2), 2 * (5 + 2)]
    assert now[0] == 100 + 2 * (1 + 5 + 4)
    assert member() is None


def test_an_interruption_ends_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), []

    def task() -> None:
        try:
            while True:
                lockstep.loss(Counted([0.0]))
                begun.set()
        finally:
            ended.append(True)

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        assert begun.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Lockstep([task] * 3).run()
    end = monotonic() + 10
    while len(ended) < 3 and monotonic() < end:
        begun.wait(0.01)
    assert len(ended) == 3


def test_what_a_device_still_owes_is_on_the_clock_of_whoever_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now, owed = [0.0], [0.0]

    def settle() -> None:
        now[0], owed[0] = now[0] + owed[0], 0.0

    def task(own: float) -> float:
        here = member()
        assert here is not None
        owed[0] += own
        lockstep.loss(Counted(owed))
        return here.clock()

    monkeypatch.setattr(lockstep, "_settle", settle)
    assert Lockstep([partial(task, 1.0), partial(task, 5.0)], lambda: now[0]).run() == [1 + 2, 5 + 2]


def test_where_nothing_is_stacked_an_error_is_its_own() -> None:
    def task(now: float) -> float:
        return lockstep.loss(Counted([now])).item()

    one, failed, two = Lockstep([partial(task, now) for now in (0.0, -1.0, 0.0)]).run()
    assert isinstance(failed, ArithmeticError)
    assert isinstance(one, float)
    assert isinstance(two, float)


def test_nothing_is_held_when_all_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(self: Any, passes: Sequence[Pass]) -> None:
        seen.extend(weakref.ref(one.network) for one in passes)
        seen.append(weakref.ref(self._network))
        raise RuntimeError("out of memory")

    seen: list[Any] = []
    monkeypatch.setattr(lockstep._Stack, "passed", no_memory)
    gc.disable()
    try:
        found = Lockstep([partial(trained, seed) for seed in range(3)]).run()
        assert len(found) == 3
        assert len(seen) == 4
        assert [own() for own in seen] == [None] * 4
    finally:
        gc.enable()


def test_one_that_cannot_begin_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    start, ended = threading.Thread.start, []

    def task() -> None:
        try:
            lockstep.loss(Counted([0.0]))
        finally:
            ended.append(True)

    def starts(self: threading.Thread) -> None:
        if len(begun) == 2:
            time.sleep(0.2)  # the others wait by now
            raise RuntimeError("can't start new thread")
        begun.append(self)
        start(self)

    begun: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", starts)
    with pytest.raises(RuntimeError, match="can't start"):
        Lockstep([task] * 3).run()
    for thread in begun:
        thread.join(10)
    assert len(ended) == 2

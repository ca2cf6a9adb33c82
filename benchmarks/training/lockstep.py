"""Trainings side by side in one process: a thread each, one at work at a time, and their passes made as one.

A device is asked once where it would be asked for each training. Up to rounding each training is what it is alone: its
images, gradients, steps and random numbers are its own.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

_STACKS = 2  # kept: of whole batches, and of the last one of an epoch

R = TypeVar("R")
Shape: TypeAlias = tuple[object, ...]


class Pass(ABC):
    """A batch's way through a network, forth and back."""

    network: nn.Module

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What passes have in common that can be made as one."""

    @property
    def mixture(self) -> list[Tensor]:
        """What the loss depends on beside the network's parameters."""
        return []

    def loss(self) -> Tensor:
        """The loss, a scalar, made here and now."""
        (found,) = self.losses(self.network, [self], self.mixture)
        return found

    @abstractmethod
    def stack(self, number: int) -> nn.Module | None:
        """A network that holds so many of this one's shape, whatever its values; None where there is none."""

    @abstractmethod
    def losses(self, network: nn.Module, passes: Sequence[Any], mixture: Sequence[Tensor]) -> list[Tensor]:
        """The loss of each of several passes of this shape, from a network that holds theirs: of one, its own.

        Args:
            mixture: that of the one pass, or those of all, with a dimension of the networks before the others.
        """


class Passed(NamedTuple):
    """What a pass has come to."""

    loss: Tensor
    """A scalar."""
    slopes: list[Tensor]
    """Its gradient by the network's parameters and the mixture."""


class Stopped(Exception):
    """Raised in trainings that nobody waits for any more."""


class Member:
    """A training among others."""

    def __init__(self, lockstep: Lockstep[Any]) -> None:
        self._lockstep = lockstep
        self.left = False
        """Whether it has come to its end."""
        self.stacked = 1
        """How many passes were made as one, the last time."""
        self.asked: tuple[Pass, Shape] | None = None
        """The pass that it waits for, and its shape."""
        self.answer: Passed | BaseException | None = None
        self.seconds = 0.0
        """What it has taken until it last went to work: its own time, and its share of what is computed for several."""
        self._since = 0.0

    @property
    def is_first(self) -> bool:
        """Whether it is the one, of those that are left, that may speak for all."""
        return self._lockstep.first is self

    def clock(self) -> float:
        """Seconds that this training has taken; asked while it is at work."""
        return self.seconds + self._lockstep.clock() - self._since

    def loss(self, asked: Pass) -> Tensor:
        """The loss of a pass, a scalar, made when all others have come with one; its gradient is there already."""
        loss: Tensor = _Shared.apply(self, asked, *asked.network.parameters(), *asked.mixture)  # type: ignore[no-untyped-call]
        return loss

    def passed(self, asked: Pass) -> Passed:
        """What a pass comes to. Raises what making it has raised."""
        self.asked, self.answer = (asked, asked.shape), None
        self.rest()
        self._lockstep.meet(self)
        self.wake()
        if isinstance(self.answer, Passed):
            return self.answer
        raise self.answer or Stopped

    def wake(self) -> None:
        """Goes to work."""
        self._since = self._lockstep.clock()

    def rest(self) -> None:
        """Lets others work; what the device was asked for is waited for, so that it is not on their clock."""
        _settle()
        self.seconds = self.clock()


_MEMBER: ContextVar[Member | None] = ContextVar("member", default=None)


def member() -> Member | None:
    """The part of this thread among trainings side by side; None where it has none: every pass is then its own."""
    return _MEMBER.get()


def clock(otherwise: Callable[[], float]) -> Callable[[], float]:
    """What this thread's seconds are measured by: of one among several, its own share."""
    own = member()
    return otherwise if own is None else own.clock


def loss(asked: Pass) -> Tensor:
    """The loss of a pass, a scalar; made with those of others, where this thread is one of several."""
    own = member()
    return asked.loss() if own is None else own.loss(asked)


class Lockstep(Generic[R]):
    """Trainings that wait for each other at every pass: when all that are left have come, their passes are made.

    Args:
        tasks: what is done side by side; in each `member` is its part.
        clock: what their seconds are measured by, in the thread that is at work.
    """

    def __init__(self, tasks: Sequence[Callable[[], R]], clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self._tasks = {Member(self): task for task in tasks}
        self._turn = threading.Condition()
        self._stopped = False
        self._stacks: dict[Shape, _Stack | None] = {}

    @property
    def first(self) -> Member | None:
        """The first of those that are left."""
        return next((own for own in self._tasks if not own.left), None)

    def run(self) -> list[R | BaseException]:
        """What each task returns, or has raised. An exception in this thread, an interruption, ends them all."""
        found: dict[Member, R | BaseException] = {}

        def work(own: Member, task: Callable[[], R]) -> None:
            try:
                with self._at_work(own):
                    found[own] = task()
            except BaseException as error:
                found[own] = error.with_traceback(None)  # its frames hold tensors

        threads = [threading.Thread(target=work, args=each, daemon=True) for each in self._tasks.items()]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            self._stopped = True
            if self._turn.acquire(blocking=False):  # else one is at work: it will tell the others
                self._turn.notify_all()
                self._turn.release()
            raise
        results = [found[own] for own in self._tasks]
        self._tasks, self._stacks = {}, {}  # members hold it, and so their tensors
        return results

    def meet(self, own: Member) -> None:
        """Returns when a member's pass is made, or all are stopped; the last to come makes those of all."""
        self._make_if_all_wait()
        self._turn.wait_for(lambda: own.asked is None or self._stopped)

    @contextmanager
    def _at_work(self, own: Member) -> Iterator[None]:
        with self._turn:  # one at a time
            _MEMBER.set(own)
            own.wake()
            try:
                yield
            finally:
                own.left = True
                self._make_if_all_wait()
                self._turn.notify_all()

    def _make_if_all_wait(self) -> None:
        waiting = {own: own.asked for own in self._tasks if own.asked is not None}
        if self._stopped or not waiting or any(not own.left for own in self._tasks.keys() - waiting.keys()):
            return
        groups: dict[Shape, dict[Member, Pass]] = {}
        for own, (asked, shape) in waiting.items():
            groups.setdefault(shape, {})[own] = asked
        for shape, group in groups.items():
            begin = self.clock()
            answers, stacked = self._made([*group.values()], (len(group), shape))
            _settle()
            share = (self.clock() - begin) / len(group)
            for own, answer in zip(group, answers, strict=True):
                own.asked, own.answer, own.stacked = None, answer, stacked
                own.seconds += share
        self._turn.notify_all()

    def _made(self, passes: list[Pass], shape: Shape) -> tuple[Sequence[Passed | BaseException], int]:
        """What passes of one shape come to, and how many were made as one."""
        try:
            stack = self._stack(passes, shape)
            return ([_alone(one) for one in passes], 1) if stack is None else (stack.passed(passes), len(passes))
        except Exception as error:
            return [error] * len(passes), 1

    def _stack(self, passes: list[Pass], shape: Shape) -> _Stack | None:
        """What makes passes as one; None where there is one pass, or nothing that could."""
        if shape not in self._stacks:
            while len(self._stacks) >= _STACKS:
                self._stacks.pop(next(iter(self._stacks)))
            network = passes[0].stack(len(passes)) if len(passes) > 1 else None
            self._stacks[shape] = None if network is None else _Stack(network, passes[0].network, len(passes))
        return self._stacks[shape]


class _Shared(torch.autograd.Function):
    """The loss of a pass whose gradient is computed along with it: a device has one thread for all backward passes."""

    @staticmethod
    def forward(context: Any, own: Member, asked: Pass, *inputs: Tensor) -> Tensor:
        found = own.passed(asked)
        context.slopes = found.slopes
        return found.loss

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, *torch._foreach_mul(context.slopes, gradients[0]))


class _Stack:
    """Networks of one shape as one, into which their values are copied before each pass."""

    def __init__(self, network: nn.Module, one: nn.Module, number: int) -> None:
        self._network = network.train()
        self._own = list(network.parameters())
        self._apart = _Apart(number, list(one.parameters()))
        self._statistics = _Apart(number, _statistics(one))

    def passed(self, passes: Sequence[Pass]) -> list[Passed]:
        """What several passes come to; each network's running statistics are moved."""
        networks, own = [one.network for one in passes], _statistics(self._network)
        _copy(self._apart(self._own), [[value.detach() for value in network.parameters()] for network in networks])
        _copy(self._statistics(own), map(_statistics, networks))
        mixture = [torch.stack(each) for each in zip(*(one.mixture for one in passes), strict=True)]
        losses, slopes = _slopes(self._network, passes, mixture)
        _copy(map(_statistics, networks), self._statistics(own))
        by_network = self._apart(slopes[: len(self._own)])
        parts = [slope.unbind() for slope in slopes[len(self._own) :]]
        return [Passed(loss, [*by_network[k], *(part[k] for part in parts)]) for k, loss in enumerate(losses)]


class _Apart:
    """Takes tensors of a stack apart into views of each network's, which have the shapes of `like`."""

    def __init__(self, number: int, like: Sequence[Tensor]) -> None:
        self._number, self._shapes = number, [part.shape for part in like]

    def __call__(self, stacked: Sequence[Tensor]) -> list[list[Tensor]]:
        apart = [part.detach().view(self._number, -1, *part.shape[1:]).unbind() for part in stacked]
        return [
            [one[k].view(shape) for one, shape in zip(apart, self._shapes, strict=True)] for k in range(self._number)
        ]


def _alone(one: Pass) -> Passed | BaseException:
    try:
        (loss,), slopes = _slopes(one.network, [one], one.mixture)
    except Exception as error:
        return error
    return Passed(loss, slopes)


@torch.enable_grad()  # type: ignore[no-untyped-call, unused-ignore]
def _slopes(network: nn.Module, passes: Sequence[Pass], mixture: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The loss of each pass through a network, and the gradient of all by its parameters and the mixture."""
    parts = [part.detach().requires_grad_() for part in mixture]
    losses = passes[0].losses(network, passes, parts)
    inputs = [*network.parameters(), *parts]
    slopes = torch.autograd.grad(torch.stack(losses).sum(), inputs, materialize_grads=True, allow_unused=True)
    return [loss.detach() for loss in losses], list(slopes)


def _settle() -> None:
    """Waits for what devices were asked for: else whoever reads a value next would pay for it."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _statistics(network: nn.Module) -> list[Tensor]:
    """The running statistics of a network, without the numbers of batches."""
    return [buffer for buffer in network.buffers() if buffer.dim()]


def _copy(into: Iterable[list[Tensor]], values: Iterable[list[Tensor]]) -> None:
    for own, theirs in zip(into, values, strict=True):
        if own:
            torch._foreach_copy_(own, theirs)

"""Stochastic gradient descent and Adam with PyTorch's functions for a step, without its optimiser classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd


class GradientMethod(ABC):
    """Moves parameters along their gradients; the attribute `rate` may be set between steps."""

    rate: float

    @abstractmethod
    def step(self) -> None:
        """Makes one step, and removes all gradients; parameters without a gradient stay."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The state for `resume`."""

    @abstractmethod
    def resume(self, state: dict[str, Any]) -> None:
        """Continues from a state. Raises KeyError or ValueError, and changes nothing, if it is of another network."""


class Descent(GradientMethod):
    """Gradient descent with the same bits as `torch.optim.SGD`.

    The first object of that class loads PyTorch's compiler, which costs each process that trains 1.5 s.

    Args:
        parameters: the parameters to move.
        rate: learning rate; the attribute may be set between steps.
        momentum: share of the last step that the next step keeps, in [0, 1).
        nesterov: whether the momentum is Nesterov's.
        weight_decay: share of the parameters that is added to their gradients.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        rate: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        self.rate = rate
        self._momentum, self._nesterov, self._weight_decay = momentum, nesterov, weight_decay
        self._parameters = list(parameters)
        self._buffers: list[Tensor | None] = [None] * len(self._parameters)

    @torch.no_grad()
    def step(self) -> None:
        gradients = {i: p.grad for i, p in enumerate(self._parameters) if p.grad is not None}
        buffers = [self._buffers[i] for i in gradients]
        sgd(
            [self._parameters[i] for i in gradients],
            list(gradients.values()),
            buffers,
            foreach=True,  # the same bits, fewer calls
            weight_decay=self._weight_decay,
            momentum=self._momentum,
            lr=self.rate,
            dampening=0.0,
            nesterov=self._nesterov,
            maximize=False,
        )
        for i, buffer in zip(gradients, buffers, strict=True):
            self._buffers[i] = buffer
            self._parameters[i].grad = None

    def state(self) -> dict[str, Any]:
        return {"buffers": self._buffers}

    def resume(self, state: dict[str, Any]) -> None:
        kept = state["buffers"]
        pairs = list(zip(kept, self._parameters, strict=False))
        if len(kept) != len(self._parameters) or not all(b is None or b.shape == p.shape for b, p in pairs):
            raise ValueError("the state is of another network")
        self._buffers = [None if b is None else b.to(p.device) for b, p in pairs]


class Adam(GradientMethod):
    """Adam (Kingma and Ba, ICLR 2015) with the same bits as `torch.optim.Adam` and its usual moments, 0.9 and 0.999.

    Args:
        parameters: the parameters to move.
        rate: learning rate.
        weight_decay: share of the parameters that is added to their gradients (an L2 penalty).
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float, weight_decay: float = 0.0) -> None:
        self.rate, self._weight_decay = rate, weight_decay
        self._parameters = list(parameters)
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p), torch.tensor(0.0)) for p in self._parameters]
        """First moment, second moment and number of steps of each parameter."""

    @torch.no_grad()
    def step(self) -> None:
        present = [
            (p, p.grad, *own) for p, own in zip(self._parameters, self._moments, strict=True) if p.grad is not None
        ]
        moved, gradients, firsts, seconds, steps = ([row[column] for row in present] for column in range(5))
        adam(
            moved,
            gradients,
            firsts,
            seconds,
            [],
            steps,
            foreach=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=self._weight_decay,
            eps=1e-8,
            maximize=False,
        )
        for parameter in moved:
            parameter.grad = None

    def state(self) -> dict[str, Any]:
        return {"moments": self._moments}

    def resume(self, state: dict[str, Any]) -> None:
        kept = state["moments"]
        pairs = list(zip(kept, self._parameters, strict=False))
        if len(kept) != len(self._parameters) or not all(own[0].shape == p.shape for own, p in pairs):
            raise ValueError("the state is of another network")
        self._moments = [(own[0].to(p.device), own[1].to(p.device), own[2]) for own, p in pairs]

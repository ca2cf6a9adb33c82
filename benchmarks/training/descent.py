"""Stochastic gradient descent with PyTorch's function for a step, without its optimiser class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd


class Descent:
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
        """Makes one step, and removes all gradients; parameters without a gradient stay."""
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
        """The state for `resume`."""
        return {"buffers": self._buffers}

    def resume(self, state: dict[str, Any]) -> None:
        """Continues from a state. Raises KeyError or ValueError, and changes nothing, if it is of another network."""
        kept = state["buffers"]
        pairs = list(zip(kept, self._parameters, strict=False))
        if len(kept) != len(self._parameters) or not all(b is None or b.shape == p.shape for b, p in pairs):
            raise ValueError("the state is of another network")
        self._buffers = [None if b is None else b.to(p.device) for b, p in pairs]

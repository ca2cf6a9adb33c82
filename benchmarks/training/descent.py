"""Stochastic gradient descent: PyTorch's step, without its optimiser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd


class Descent:
    """Moves parameters against their gradients, bit for bit as `torch.optim.SGD` would.

    That class loads PyTorch's compiler when it is first made: a second and a half of each process that trains.

    Args:
        rate: learning rate; `rate` may be set between steps.
        momentum: share of the last step that the next one keeps, in [0, 1).
        nesterov: whether the gradient counts as if the momentum had been added already.
        weight_decay: what the parameters themselves add to their gradients, as a share.
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
        """One step; parameters without a gradient stay. No gradient outlives it."""
        gradients = {i: p.grad for i, p in enumerate(self._parameters) if p.grad is not None}
        buffers = [self._buffers[i] for i in gradients]
        sgd(
            [self._parameters[i] for i in gradients],
            list(gradients.values()),
            buffers,
            foreach=True,  # the same bits with fewer calls
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
        """What `resume` needs."""
        return {"buffers": self._buffers}

    def resume(self, state: dict[str, Any]) -> None:
        """Goes on from a state. Raises KeyError or ValueError, and changes nothing, where it is of another network."""
        kept = state["buffers"]
        pairs = list(zip(kept, self._parameters, strict=False))
        if len(kept) != len(self._parameters) or not all(b is None or b.shape == p.shape for b, p in pairs):
            raise ValueError("the state is of another network")
        self._buffers = [None if b is None else b.to(p.device) for b, p in pairs]

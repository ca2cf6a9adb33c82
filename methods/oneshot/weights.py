"""Weights with the optimiser that trains them, and the vector arithmetic of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from nasbench.benchmarks.training.recipes import Recipe


class Weights:
    """A network's weights with the optimiser that trains them.

    Args:
        parameters: those that are trained, in order; by default all of the network's.
    """

    def __init__(self, network: nn.Module, recipe: Recipe, parameters: list[nn.Parameter] | None = None) -> None:
        self.network, self.recipe = network, recipe
        self.parameters = list(network.parameters()) if parameters is None else parameters
        self.optimizer = torch.optim.SGD(
            self.parameters,
            recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )

    @property
    def rate(self) -> float:
        """The learning rate."""
        found: float = self.optimizer.param_groups[0]["lr"]
        return found

    @rate.setter
    def rate(self, value: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def step(self, loss: Tensor, clipped_with: Sequence[Tensor] = (), used_only: bool = False) -> None:
        """One step down a loss.

        Args:
            used_only: leaves weights alone on which the loss does not depend: neither momentum nor decay moves them.
                Of a convolution that is so channel by channel: one tensor holds those of several edges.
            clipped_with: other tensors, whose gradients are added up from step to step, and count in the norm that is
                clipped.
        """
        every = [*self.parameters, *clipped_with]
        found = torch.autograd.grad(loss, every, allow_unused=True) if used_only else gradients(loss, every)
        for parameter, gradient in zip(self.parameters, found, strict=False):
            parameter.grad = gradient
        for other, gradient in zip(clipped_with, found[len(self.parameters) :], strict=True):
            other.grad = gradient if other.grad is None else other.grad + gradient
        if self.recipe.clip is not None:
            nn.utils.clip_grad_norm_([*self.parameters, *clipped_with], self.recipe.clip)
        unused = self._unused_channels() if used_only else []
        self.optimizer.step()
        with torch.no_grad():
            for moved, is_unused, before in unused:
                moved.copy_(torch.where(is_unused, before, moved))

    def _unused_channels(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Weights and momentum of convolutions, which output channels have no gradient, and a copy of the tensor."""
        found = []
        for parameter, momentum in zip(self.parameters, self.momentum(), strict=True):
            if parameter.grad is not None and parameter.dim() == 4:
                is_unused = (parameter.grad == 0).all(dim=(1, 2, 3), keepdim=True)
                found += [(tensor, is_unused, tensor.detach().clone()) for tensor in (parameter, momentum)]
        return found

    def add(self, parameters: list[nn.Parameter]) -> None:
        """Trains more parameters from now on."""
        self.parameters += parameters
        self.optimizer.add_param_group({"params": parameters, "lr": self.rate})

    def momentum(self) -> list[Tensor]:
        """The momentum of each weight; zeros before its first step."""
        for parameter in self.parameters:
            if self.optimizer.state[parameter].get("momentum_buffer") is None:
                self.optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        return [self.optimizer.state[parameter]["momentum_buffer"] for parameter in self.parameters]

    def copied(self) -> Weights:
        """The same weights with the same optimiser in a network of its own."""
        copies: dict[int, Any] = {}
        network = deepcopy(self.network, copies)
        found = Weights(network, self.recipe, [copies[id(p)] for p in self.parameters])
        found.rate = self.rate
        for own, theirs in zip(found.parameters, self.parameters, strict=True):
            state = self.optimizer.state[theirs].get("momentum_buffer")
            if state is not None:
                found.optimizer.state[own]["momentum_buffer"] = state.clone()
        return found

    def take(self, other: Weights) -> None:
        """Becomes equal to other weights of the same shapes, momentum and running statistics included, in place."""
        with torch.no_grad():
            torch._foreach_copy_(tuple(self.parameters), tuple(other.parameters))
            own, theirs = (list(weights.network.buffers()) for weights in (self, other))
            if own:
                torch._foreach_copy_(own, theirs)
            if other.optimizer.state:
                torch._foreach_copy_(self.momentum(), other.momentum())
        self.rate = other.rate

    def values(self) -> list[Tensor]:
        """A copy of the weights."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def set(self, values: Sequence[Tensor]) -> None:
        """Puts weights in place."""
        with torch.no_grad():
            for parameter, value in zip(self.parameters, values, strict=True):
                parameter.copy_(value)


def gradients(loss: Tensor, of: Sequence[Tensor]) -> list[Tensor]:
    """Zeros for what the loss does not depend on: an operation that was skipped."""
    return list(torch.autograd.grad(loss, list(of), materialize_grads=True, allow_unused=True))


def flat(parts: Sequence[Tensor]) -> Tensor:
    """All of them as one vector."""
    return torch.cat([part.detach().flatten() for part in parts])


def norm(parts: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all of them together, in double precision."""
    length: Tensor = torch.linalg.vector_norm(flat(parts), dtype=torch.float64)
    return length


def dot(one: Sequence[Tensor], two: Sequence[Tensor]) -> Tensor:
    """The inner product of all of them together, in double precision."""
    return torch.dot(flat(one).double(), flat(two).double())

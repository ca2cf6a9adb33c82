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
        parameters: the trained parameters, in order; by default all of the network.
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
        learning_rate: float = self.optimizer.param_groups[0]["lr"]
        return learning_rate

    @rate.setter
    def rate(self, value: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def step(self, loss: Tensor, clipped_with: Sequence[Tensor] = (), used_only: bool = False) -> None:
        """One gradient step on a loss.

        Args:
            clipped_with: other tensors whose gradients accumulate over steps and count in the clipped norm.
            used_only: whether weights on which the loss does not depend stay unchanged, without momentum and decay. In
                convolutions this is decided per output channel, because one tensor serves several edges.
        """
        every = [*self.parameters, *clipped_with]
        slopes = torch.autograd.grad(loss, every, allow_unused=True) if used_only else gradients(loss, every)
        for parameter, gradient in zip(self.parameters, slopes, strict=False):
            parameter.grad = gradient
        for other, gradient in zip(clipped_with, slopes[len(self.parameters) :], strict=True):
            other.grad = gradient if other.grad is None else other.grad + gradient
        if self.recipe.clip is not None:
            nn.utils.clip_grad_norm_([*self.parameters, *clipped_with], self.recipe.clip)
        unused = self._unused_channels() if used_only else []
        self.optimizer.step()
        with torch.no_grad():
            for moved, is_unused, before in unused:
                moved.copy_(torch.where(is_unused, before, moved))

    def _unused_channels(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """For weights and momentum of each convolution: the tensor, a mask of channels without gradient, a copy."""
        channels = []
        for parameter, momentum in zip(self.parameters, self.momentum(), strict=True):
            if parameter.grad is not None and parameter.dim() == 4:
                is_unused = (parameter.grad == 0).all(dim=(1, 2, 3), keepdim=True)
                channels += [(tensor, is_unused, tensor.detach().clone()) for tensor in (parameter, momentum)]
        return channels

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
        """A copy of the network, its weights and its optimiser."""
        copies: dict[int, Any] = {}
        network = deepcopy(self.network, copies)
        copy = Weights(network, self.recipe, [copies[id(p)] for p in self.parameters])
        copy.rate = self.rate
        for parameter, original in zip(copy.parameters, self.parameters, strict=True):
            state = self.optimizer.state[original].get("momentum_buffer")
            if state is not None:
                copy.optimizer.state[parameter]["momentum_buffer"] = state.clone()
        return copy

    def take(self, other: Weights) -> None:
        """Copies other weights of the same shapes into these, with momentum and running statistics."""
        with torch.no_grad():
            torch._foreach_copy_(tuple(self.parameters), tuple(other.parameters))
            buffers, sources = (list(weights.network.buffers()) for weights in (self, other))
            if buffers:
                torch._foreach_copy_(buffers, sources)
            if other.optimizer.state:
                torch._foreach_copy_(self.momentum(), other.momentum())
        self.rate = other.rate

    def values(self) -> list[Tensor]:
        """A copy of the weights."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def set(self, values: Sequence[Tensor]) -> None:
        """Sets the weights to given values."""
        with torch.no_grad():
            for parameter, value in zip(self.parameters, values, strict=True):
                parameter.copy_(value)


def gradients(loss: Tensor, of: Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a loss; zeros for tensors on which it does not depend, such as those of skipped operations."""
    return list(torch.autograd.grad(loss, list(of), materialize_grads=True, allow_unused=True))


def flat(parts: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated to one vector."""
    return torch.cat([part.detach().flatten() for part in parts])


def norm(parts: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all tensors together, in double precision."""
    length: Tensor = torch.linalg.vector_norm(flat(parts), dtype=torch.float64)
    return length


def dot(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """The inner product of two lists of tensors, in double precision."""
    return torch.dot(flat(a).double(), flat(b).double())

"""Update rules for weights and architecture parameters: second-order DARTS and MiLeNAS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from nasbench.benchmarks.spaces.cells.searchable import LabelledImages
from nasbench.methods.oneshot.distributions import Logits
from nasbench.methods.oneshot.weights import Weights, gradients, norm

Loss = Callable[[nn.Module, Logits, LabelledImages], Tensor]
"""(network, architecture parameters, batch) → loss, a scalar."""


class Rule(ABC):
    """An update of weights and architecture parameters on a pair of batches.

    Args:
        weights: the weights with their optimiser.
        loss: training loss.
        val_loss: validation loss, penalties included.
    """

    def __init__(self, weights: Weights, loss: Loss, val_loss: Loss) -> None:
        self.weights, self.loss, self.val_loss = weights, loss, val_loss
        self.losses: list[Tensor] = []
        """Training loss before each step of the weights."""
        self.untrained: list[nn.Parameter] = []
        """Weights of the network that are not trained."""

    @abstractmethod
    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        """Updates the weights on `train`, and the architecture; returns the fields of `Update` if it estimates."""

    def descend(self, logits: Logits, train: LabelledImages, clipped_with: Sequence[Tensor] = ()) -> None:
        """Updates the weights on `train` and records the loss."""
        loss = self.loss(self.weights.network, logits, train)
        self.losses.append(loss.detach())
        self.weights.step(loss, clipped_with)

    def end_epoch(self) -> None:  # noqa: B027 (most rules have nothing to drop)
        """Drops what does not continue into the next epoch."""

    def grown(self, parameters: list[nn.Parameter]) -> None:
        """Trains parameters that were added to the network."""
        if parameters:
            self.weights.add(parameters)


class WeightsOnly(Rule):
    """Trains the weights; the architecture parameters stay as they are."""

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        self.descend(logits, train)
        return []


class Darts(Rule):
    """DARTS (Liu et al., ICLR 2019): the gradient is taken at the weights one step ahead, before they are updated.

    Args:
        order: 2 unrolls the step (equations 7 and 8 of that paper); 1 uses the present weights.
    """

    epsilon = 0.01

    def __init__(self, weights: Weights, loss: Loss, val_loss: Loss, order: int = 2) -> None:
        super().__init__(weights, loss, val_loss)
        self._order = order

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        assign(logits, self.gradient(logits, train, val), adam)
        self.descend(logits, train)
        return []

    def gradient(self, logits: Logits, train: LabelledImages, val: LabelledImages) -> list[Tensor]:
        """The gradient of the validation loss with respect to the logits; weights and logits are unchanged."""
        network, parts = self.weights.network, logits.present()
        if self._order == 1:
            return gradients(self.val_loss(network, logits, val), parts)
        group = self.weights.optimizer.param_groups[0]
        before, rate = self.weights.values(), self.weights.rate
        down = gradients(self.loss(network, logits, train), self.weights.parameters)
        momentum = self.weights.momentum()
        ahead = [
            w - rate * (group["momentum"] * m + g + group["weight_decay"] * w)
            for w, m, g in zip(before, momentum, down, strict=True)
        ]
        self.weights.set(ahead)
        slopes = gradients(self.val_loss(network, logits, val), [*parts, *self.weights.parameters])
        direct, by_weights = slopes[: len(parts)], slopes[len(parts) :]
        step = self.epsilon / norm(by_weights)
        sides = []
        for sign in (1, -1):
            self.weights.set([w + sign * step * v for w, v in zip(before, by_weights, strict=True)])
            sides.append(gradients(self.loss(network, logits, train), parts))
        self.weights.set(before)
        return [d - rate * (plus - minus) / (2 * step) for d, plus, minus in zip(direct, *sides, strict=True)]


class Milenas(Rule):
    """MiLeNAS (He et al., CVPR 2020): first-order gradients of both losses, after the weights are updated.

    Both losses have the same weight (λ = 1 of that paper).
    """

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        self.descend(logits, train)
        assign(logits, self.gradient(logits, train, val), adam)
        return []

    def gradient(self, logits: Logits, train: LabelledImages, val: LabelledImages) -> list[Tensor]:
        """∇α L_train + ∇α L_val, one tensor for each of the logits."""
        network, parts = self.weights.network, logits.present()
        training = gradients(self.loss(network, logits, train), parts)
        validation = gradients(self.val_loss(network, logits, val), parts)
        return [a + b for a, b in zip(training, validation, strict=True)]


def assign(logits: Logits, estimate: list[Tensor], adam: torch.optim.Optimizer) -> None:
    """One step of the architecture parameters down a gradient."""
    for part, gradient in zip(logits.present(), estimate, strict=True):
        part.grad = gradient.detach().clone()
    adam.step()

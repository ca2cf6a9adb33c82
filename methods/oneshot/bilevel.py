"""How weights and architecture parameters are stepped: second-order DARTS and MiLeNAS."""

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
    """Steps of weights and architecture on a pair of batches.

    Args:
        weights: the weights with their optimiser.
        loss: loss of training.
        val_loss: loss of validation, penalties included.
    """

    def __init__(self, weights: Weights, loss: Loss, val_loss: Loss) -> None:
        self.weights, self.loss, self.val_loss = weights, loss, val_loss
        self.losses: list[Tensor] = []
        """Of training, where each step of the weights began."""
        self.untrained: list[nn.Parameter] = []
        """Weights of the network that are left as they are."""

    @abstractmethod
    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        """Steps the weights on `train`, and the architecture; returns what estimates are made of (see `Update`)."""

    def descend(self, logits: Logits, train: LabelledImages, clipped_with: Sequence[Tensor] = ()) -> None:
        """Steps the weights on `train`, and notes the loss."""
        loss = self.loss(self.weights.network, logits, train)
        self.losses.append(loss.detach())
        self.weights.step(loss, clipped_with)

    def end_epoch(self) -> None:  # noqa: B027 (most have nothing to give up)
        """Gives up what does not reach into the next epoch."""

    def grown(self, parameters: list[nn.Parameter]) -> None:
        """Takes in what the network has been given: it is trained like the rest."""
        if parameters:
            self.weights.add(parameters)


class Darts(Rule):
    """DARTS (Liu et al., ICLR 2019): the gradient at weights one step ahead, before the weights' own step.

    Args:
        order: 2 unrolls the step (equations 7 and 8 of that paper); 1 takes the weights as they are.
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
        """The gradient of the validation loss by the logits; weights and logits stay as they are."""
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
        found = gradients(self.val_loss(network, logits, val), [*parts, *self.weights.parameters])
        direct, slope = found[: len(parts)], found[len(parts) :]
        step = self.epsilon / norm(slope)
        sides = []
        for sign in (1, -1):
            self.weights.set([w + sign * step * v for w, v in zip(before, slope, strict=True)])
            sides.append(gradients(self.loss(network, logits, train), parts))
        self.weights.set(before)
        return [d - rate * (plus - minus) / (2 * step) for d, plus, minus in zip(direct, *sides, strict=True)]


class Milenas(Rule):
    """MiLeNAS (He et al., CVPR 2020): after the weights' step, first-order gradients of both losses (mixed level).

    Both losses count equally (λ = 1 of that paper).
    """

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        self.descend(logits, train)
        assign(logits, self.gradient(logits, train, val), adam)
        return []

    def gradient(self, logits: Logits, train: LabelledImages, val: LabelledImages) -> list[Tensor]:
        """∇α L_train + ∇α L_val, a part for each of the logits."""
        network, parts = self.weights.network, logits.present()
        one = gradients(self.loss(network, logits, train), parts)
        two = gradients(self.val_loss(network, logits, val), parts)
        return [a + b for a, b in zip(one, two, strict=True)]


def assign(logits: Logits, estimate: list[Tensor], adam: torch.optim.Optimizer) -> None:
    """One step of the architecture parameters down a gradient."""
    for part, gradient in zip(logits.present(), estimate, strict=True):
        part.grad = gradient.detach().clone()
    adam.step()

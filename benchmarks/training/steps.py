"""A step of a training: the loss of a batch, and the way down it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.spaces.cells.network import CellNetwork
from nasbench.benchmarks.training.augmentation import Batch
from nasbench.benchmarks.training.descent import Descent
from nasbench.benchmarks.training.lockstep import Pass, Shape
from nasbench.benchmarks.training.recipes import Recipe
from nasbench.benchmarks.training.stacking import Stack, shape_of


class Step(Pass):
    """A batch of a training.

    Args:
        low_precision: whether a GPU computes what it can in bfloat16.
    """

    def __init__(self, network: nn.Module, batch: Batch, recipe: Recipe, low_precision: bool) -> None:
        self.network, self._batch, self._recipe, self._low_precision = network, batch, recipe, low_precision

    @property
    def shape(self) -> Shape:
        return (shape_of(self.network), self._batch.images.shape, self._recipe)

    def stack(self, number: int) -> nn.Module | None:
        return Stack([self.network] * number) if isinstance(self.network, CellNetwork) else None

    def losses(self, network: nn.Module, passes: Sequence[Step], mixture: Sequence[Tensor]) -> list[Tensor]:
        batches = [step._batch for step in passes]
        with torch.autocast("cuda", torch.bfloat16, enabled=self._low_precision):
            if len(batches) == 1:
                return [loss_from(network(self._batch.images), self._batch, self._recipe)]
            outputs = network(torch.cat([batch.images for batch in batches], 1)).unbind(1)
            return [loss_from(own, batch, self._recipe) for own, batch in zip(outputs, batches, strict=True)]


def descent_of(network: nn.Module, recipe: Recipe) -> Descent:
    """The descent of all of a network's parameters, as the recipe has it."""
    return Descent(network.parameters(), recipe.learning_rate, recipe.momentum, recipe.nesterov, recipe.weight_decay)


def loss_from(outputs: Tensor, batch: Batch, recipe: Recipe) -> Tensor:
    """The loss of a batch, a scalar, from a network's scores (batch, classes)."""
    loss = cross_entropy(outputs, batch.labels, label_smoothing=recipe.label_smoothing)
    if batch.others is None:
        return loss
    mixed_in = cross_entropy(outputs, batch.others, label_smoothing=recipe.label_smoothing)
    return batch.share * loss + (1 - batch.share) * mixed_in


def descend(loss: Tensor, network: nn.Module, descent: Descent, recipe: Recipe) -> None:
    """One step down a loss. No gradient outlives it: a captured graph would overwrite what is left of it."""
    torch.autograd.backward(loss)
    if recipe.clip is not None:
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip, foreach=True)
    descent.step()

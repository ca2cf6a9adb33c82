"""One step of training: the loss of a batch, and a step of gradient descent."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.training.augmentation import ImageBatch
from nasbench.benchmarks.training.descent import Adam, Descent, GradientMethod
from nasbench.benchmarks.training.recipes import Recipe


def loss_of(network: nn.Module, batch: ImageBatch, recipe: Recipe) -> Tensor:
    """The loss of a network on a batch, a scalar, in the recipe's precision."""
    with torch.autocast("cuda", torch.bfloat16, enabled=batch.images.is_cuda and recipe.precision == "bfloat16"):
        return loss_from(network(batch.images), batch, recipe)


def descent_of(network: nn.Module, recipe: Recipe) -> GradientMethod:
    """The optimiser of a recipe, on all parameters of a network."""
    if recipe.adam:
        return Adam(network.parameters(), recipe.learning_rate, recipe.weight_decay)
    return Descent(network.parameters(), recipe.learning_rate, recipe.momentum, recipe.nesterov, recipe.weight_decay)


def loss_from(outputs: Tensor, batch: ImageBatch, recipe: Recipe) -> Tensor:
    """The loss of a batch, a scalar, given a network's scores (batch, classes)."""
    loss = cross_entropy(outputs, batch.labels, label_smoothing=recipe.label_smoothing)
    if batch.others is None:
        return loss
    mixed_in = cross_entropy(outputs, batch.others, label_smoothing=recipe.label_smoothing)
    return batch.share * loss + (1 - batch.share) * mixed_in


def descend(loss: Tensor, network: nn.Module, descent: GradientMethod, recipe: Recipe) -> None:
    """Makes one step down a loss, and removes the gradients, which a captured graph would overwrite."""
    torch.autograd.backward(loss)
    if recipe.clip is not None:
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip, foreach=True)
    descent.step()

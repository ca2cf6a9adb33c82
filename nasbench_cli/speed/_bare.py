"""The barest training loop, which ours is measured beside."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.training.augmentation import ImageBatch


class Bare:
    """Trains a network on batches that lie ready: no augmentation, no clipping, no choice of an epoch, in float32."""

    def __init__(self, network: nn.Module, batches: Iterable[ImageBatch]) -> None:
        self._network = network
        self._optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=3e-4)
        self._batches = [(batch.images.clone(), batch.labels) for batch in batches]

    def epoch(self) -> None:
        """One step for each batch."""
        self._network.train()
        for images, labels in self._batches:
            self._optimizer.zero_grad()
            torch.autograd.backward(cross_entropy(self._network(images), labels))
            self._optimizer.step()

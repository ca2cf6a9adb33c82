"""Convolutional networks of any shape within bounds (NASBOT): `cnn`."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.networks import image_sizes
from nasbench.benchmarks.spaces.graphs.pool import convolutional
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.trainable.trainable import SPACES, Frame, TrainableSpace

if TYPE_CHECKING:
    from torch import nn


_REVISION = 2  # raised when a mutant is another one than before, so that older runs count as stale


@SPACES.register("cnn")
class FreeSpace(TrainableSpace):
    """Any convolutional network within bounds (NASBOT)."""

    def __init__(self, frame: Frame) -> None:
        halvings = min(3, int(math.log2(frame.shape[1])) - 1)  # images keep a width of 2 pixels or more
        bounds = NetworkLimits(units=(frame.filters // 2, 64 * frame.filters))
        super().__init__(NetworkSpace("cnn", bounds, convolutional(frame.filters, halvings)), frame)

    def fingerprint(self, configuration: Configuration) -> str:
        text = f"{_REVISION} {self.space.to_json(configuration)}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def infeasible(self, configuration: Configuration) -> str:
        most = max(size or 1 for size in image_sizes(configuration))
        if most > self.frame.shape[1]:
            return f"images are halved {int(math.log2(most))} times, to less than a pixel"
        return ""

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        return GraphNetwork(configuration, self.frame.shape[0], self.frame.classes)

"""A layer of one's own in the search-space language: channels weighed by numbers that are learnt.

A module to import, with PyTorch (the extra `live`): `Program(own_layer.network)` is the space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from nasbench.benchmarks.spaces.language import D, Part, ordinal, siso_repeat, siso_sequential
from nasbench.benchmarks.spaces.language.layers import classifier, conv_norm_relu, layer

if TYPE_CHECKING:
    from torch import Tensor


class Weighed(nn.Module):
    """Multiplies each channel by a number that is learnt; the numbers begin near one, and groups of channels alike."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(1 + 0.1 * torch.randn(groups))
        self.register_buffer("group", torch.arange(channels) % groups)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weights[self.group][:, None, None]


def weighed(groups: Any) -> Part:
    """The module, and how many groups of channels it has: a line, as for PyTorch's own layers."""
    return layer("weighed", lambda torch, shapes, groups: Weighed(shapes[0][1], groups), {"groups": groups})


def network(filters: int = 8, classes: int = 10) -> Part:
    """One or two convolutions, each weighed in one, two or four groups: 3 + 3² = 12 architectures."""
    groups = [1, 2, 4]
    return classifier(
        siso_repeat(
            lambda: siso_sequential([conv_norm_relu(filters), weighed(ordinal(groups, name="groups"))]), D([1, 2])
        ),
        classes,
    )

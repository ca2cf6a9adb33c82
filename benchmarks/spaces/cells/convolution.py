"""The convolution of all networks of cells."""

from __future__ import annotations

from torch import Tensor, nn


class ConvNorm(nn.Module):
    """A padded convolution (with stride 1 it keeps the image's size) and batch normalisation."""

    def __init__(self, before: int, after: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel_size, stride, kernel_size // 2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(self.conv(x))
        return normed

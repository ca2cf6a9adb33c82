"""Images that live on the device as bytes, and become batches there: cropped, mirrored, normalised by index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from nasbench.benchmarks.images.datasets import Split

_EVALUATED = 256  # images at a time


class Batch(NamedTuple):
    """Images (batch, channels, height, width), normalised, with one or two mixed labels each."""

    images: Tensor
    labels: Tensor
    others: Tensor | None = None
    """Labels of what was mixed in."""
    share: float = 1.0
    """Share of `labels` in the loss, in [0, 1]; the rest belongs to `others`."""


class Resident:
    """The splits of a data set on a device.

    Args:
        splits: the images by split: train, val, test.
        flip: whether training images may be mirrored.
        device: where the images are kept.
    """

    def __init__(self, splits: dict[str, Split], flip: bool, device: torch.device) -> None:
        mean, spread = _moments(splits["train"].images)
        self.device, self._flip = device, flip
        self._scale = torch.tensor(1 / spread, dtype=torch.float32, device=device)
        self._shift = torch.tensor(-mean / spread, dtype=torch.float32, device=device)
        self._side = splits["train"].images.shape[1]
        self._margin = self._side // 8  # 4 of 32 pixels, as the paper's crops
        margins = ((0, 0), (self._margin, self._margin), (self._margin, self._margin), (0, 0))
        self._padded = torch.from_numpy(np.pad(splits["train"].images, margins)).to(device)
        self._images = {name: torch.from_numpy(split.images).to(device) for name, split in splits.items()}
        self.labels = {name: torch.from_numpy(split.labels).to(device) for name, split in splits.items()}

    def batches(
        self, size: int, mix: float | None, rng: Generator, rows: NDArray[np.int64] | None = None
    ) -> Iterator[Batch]:
        """One epoch: every training image once, in an order of its own, cropped and perhaps mirrored.

        A last batch of a single image is left out: it has no statistics.

        Args:
            mix: of Beta(mix, mix), from which the share of a MixUp or CutMix is drawn; None leaves images alone.
            rows: which training images, in which order, instead.
        """
        if rows is None:
            rows = rng.permutation(len(self.labels["train"]))
        count, corners = len(rows), 2 * self._margin + 1
        order = self._on_device(rows)
        tops, lefts = (self._on_device(rng.integers(corners, size=count)) for _ in range(2))
        flips = self._on_device(rng.random(count) < 0.5) if self._flip else None
        pixels = torch.arange(self._side, device=self.device)
        heights = tops[:, None] + pixels
        columns = lefts[:, None] + (pixels if flips is None else torch.where(flips[:, None], pixels.flip(0), pixels))
        for begin in range(0, count, size):
            part = slice(begin, begin + size)
            chosen = order[part]
            if len(chosen) == 1:
                return
            # (batch, height, width, channels), gathered in one go
            images = self._padded[chosen[:, None, None], heights[part, :, None], columns[part, None, :]]
            batch = Batch(self._normalised(images), self.labels["train"][chosen])
            yield batch if mix is None else _mixed(batch, mix, rng)

    def plain(self, split: str) -> Iterator[Tensor]:
        """The images of a split as they are, normalised, many at a time."""
        images = self._images[split]
        for begin in range(0, len(images), _EVALUATED):
            yield self._normalised(images[begin : begin + _EVALUATED])

    def _normalised(self, images: Tensor) -> Tensor:
        return (images.float() * self._scale + self._shift).permute(0, 3, 1, 2)  # channels last in memory

    def _on_device(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _moments(images: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each channel's bytes, from how often each value occurs: no copy in floats."""
    values = np.arange(256)
    counts = np.array([np.bincount(images[..., c].ravel(), minlength=256) for c in range(images.shape[-1])])
    mean = counts @ values / counts.sum(1)
    return mean, np.sqrt(counts @ values**2 / counts.sum(1) - mean**2)


def _mixed(batch: Batch, mix: float, rng: Generator) -> Batch:
    """MixUp (Zhang et al., 2018) or CutMix (Yun et al., 2019) of a batch with itself in another order."""
    images, labels = batch.images, batch.labels
    by_cutting, share = rng.random() < 0.5, float(rng.beta(mix, mix))
    other = torch.from_numpy(rng.permutation(len(labels))).to(labels.device)
    if not by_cutting:
        return Batch(share * images + (1 - share) * images[other], labels, labels[other], share)
    height, width = images.shape[2:]
    # A box with (1 - share) of the area around a random centre; what lies outside the image is lost.
    center_y, center_x = int(rng.integers(height)), int(rng.integers(width))
    half_y, half_x = int(height * (1 - share) ** 0.5) // 2, int(width * (1 - share) ** 0.5) // 2
    top, bottom = max(0, center_y - half_y), min(height, center_y + half_y)
    left, right = max(0, center_x - half_x), min(width, center_x + half_x)
    cut = images.clone()
    cut[:, :, top:bottom, left:right] = images[other, :, top:bottom, left:right]
    area = (bottom - top) * (right - left)
    return Batch(cut, labels, labels[other], 1 - area / (height * width))

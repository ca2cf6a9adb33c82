"""Images kept on the device as bytes, from which batches are made there: cropped, mirrored and normalised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from nasbench.benchmarks.images.datasets import Split

_EVALUATED = 256  # images per batch in evaluation


class ImageBatch(NamedTuple):
    """Normalised images (batch, channels, height, width), each with one label or two mixed labels."""

    images: Tensor
    labels: Tensor
    others: Tensor | None = None
    """Labels of the images that were mixed in."""
    share: float = 1.0
    """Weight of `labels` in the loss, in [0, 1]; `others` has the rest."""


class Resident:
    """The splits of a data set on a device.

    Args:
        splits: the images by split: train, val, test.
        flip: whether training images may be mirrored.
        device: the device that keeps the images.
        layout: memory layout of batches (`Recipe.layout`).
    """

    def __init__(
        self, splits: dict[str, Split], flip: bool, device: torch.device, layout: str = "channels-last"
    ) -> None:
        mean, spread = _moments(splits["train"].images)
        spread = np.where(spread > 0, spread, 1.0)  # of a colour channel that is the same everywhere
        self.device, self._flip, self._layout = device, flip, layout
        self._scale = torch.tensor(1 / spread, dtype=torch.float32, device=device)
        self._shift = torch.tensor(-mean / spread, dtype=torch.float32, device=device)
        self._side = splits["train"].images.shape[1]
        self._margin = self._side // 8  # 4 of 32 pixels, as in the paper
        margins = ((0, 0), (self._margin, self._margin), (self._margin, self._margin), (0, 0))
        self._padded = torch.from_numpy(np.pad(splits["train"].images, margins)).to(device)
        inside = slice(self._margin, self._margin + self._side)
        self._images = {"train": self._padded[:, inside, inside]}  # a view: training images are kept once
        others = {name: split.images for name, split in splits.items() if name != "train"}
        self._images |= {name: torch.from_numpy(images).to(device) for name, images in others.items()}
        self.labels = {name: torch.from_numpy(split.labels).to(device) for name, split in splits.items()}

    def batches(
        self, size: int, mix: float | None, rng: Generator, rows: NDArray[np.int64] | None = None
    ) -> Iterator[ImageBatch]:
        """One epoch: all training images in random order, cropped and perhaps mirrored.

        All random numbers are drawn and sent to the device before the first batch, so that no batch waits for them. A
        last batch of a single image is left out, because batch normalisation needs two.

        Args:
            size: images per batch.
            mix: parameter of Beta(mix, mix), from which the share of a MixUp or CutMix is drawn; None for neither.
            rng: draws the order, crops, flips and mixes.
            rows: the training images to use, in this order; by default all of them in random order.
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
        parts = [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]
        parts = [part for part in parts if part.stop - part.start > 1]
        mixes = None if mix is None else _Mixes.drawn(parts, mix, self._side, rng, self.device)
        for number, part in enumerate(parts):
            chosen = order[part]
            # (batch, height, width, channels), gathered at once
            images = self._padded[chosen[:, None, None], heights[part, :, None], columns[part, None, :]]
            batch = ImageBatch(self._normalised(images), self.labels["train"][chosen])
            yield batch if mixes is None else mixes.into(batch, number, part)

    def plain(self, split: str) -> Iterator[Tensor]:
        """The images of a split, normalised but not augmented, in batches."""
        images = self._images[split]
        for begin in range(0, len(images), _EVALUATED):
            yield self._normalised(images[begin : begin + _EVALUATED])

    def _normalised(self, images: Tensor) -> Tensor:
        last = (images.float() * self._scale + self._shift).permute(0, 3, 1, 2)  # channels last in memory
        return last if self._layout == "channels-last" else last.contiguous()

    def _on_device(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _moments(images: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each channel, computed from counts of byte values: without a copy in floats."""
    values = np.arange(256)
    counts = np.array([np.bincount(images[..., c].ravel(), minlength=256) for c in range(images.shape[-1])])
    mean = counts @ values / counts.sum(1)
    return mean, np.sqrt(counts @ values**2 / counts.sum(1) - mean**2)


class _Mixes(NamedTuple):
    """MixUp (Zhang et al., 2018) or CutMix (Yun et al., 2019) for each batch of an epoch."""

    shares: list[float]
    """Weight of each batch's original labels."""
    are_cut: list[bool]
    """True for CutMix, False for MixUp."""
    orders: Tensor
    """A permutation of each batch, concatenated, shape (images,)."""
    boxes: Tensor
    """The box that CutMix replaces in each batch: top, bottom, left, right, shape (batches, 4)."""

    @classmethod
    def drawn(cls, parts: Sequence[slice], mix: float, side: int, rng: Generator, device: torch.device) -> _Mixes:
        """Draws the mixes for batches of square images, in order."""
        shares, are_cut, orders, boxes = [], [], [], []
        for part in parts:
            by_cutting, share = rng.random() < 0.5, float(rng.beta(mix, mix))
            orders.append(rng.permutation(part.stop - part.start))
            box = (0, 0, 0, 0)
            if by_cutting:
                # A box with (1 - share) of the area around a random centre, clipped to the image.
                y, x = int(rng.integers(side)), int(rng.integers(side))
                half = int(side * (1 - share) ** 0.5) // 2
                box = max(0, y - half), min(side, y + half), max(0, x - half), min(side, x + half)
                share = 1 - (box[1] - box[0]) * (box[3] - box[2]) / side**2
            shares.append(share)
            are_cut.append(by_cutting)
            boxes.append(box)
        arrays = [torch.from_numpy(np.concatenate(orders)), torch.tensor(boxes)]
        return cls(shares, are_cut, *(array.to(device) for array in arrays))

    def into(self, batch: ImageBatch, number: int, part: slice) -> ImageBatch:
        """A batch, mixed with its permutation."""
        images, labels, share = batch.images, batch.labels, self.shares[number]
        other = self.orders[part]
        if not self.are_cut[number]:
            return ImageBatch(share * images + (1 - share) * images[other], labels, labels[other], share)
        top, bottom, left, right = self.boxes[number]
        pixels = torch.arange(images.shape[-1], device=images.device)
        rows, columns = (pixels >= top) & (pixels < bottom), (pixels >= left) & (pixels < right)
        cut = torch.where(rows[:, None] & columns, images[other], images)
        return ImageBatch(cut, labels, labels[other], share)

"""What a data set of images is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.registry import Registry

SIDE = 28
"""Pixels of MedMNIST's images."""


class Split(NamedTuple):
    """Images with what they show."""

    images: NDArray[np.uint8]
    """Pixels, shape (images, height, width, channels)."""
    labels: NDArray[np.int64]
    """Number of each image's class, from 0, shape (images,)."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of square images, known before it is opened.

    To add one, write a file in `benchmarks/images/` that calls `DATASETS.add(name, Dataset(…))`, or name such an object
    as an entry point of the group `nasbench.datasets`: then `NAME`, `NAME/SPACE`, … are benchmarks.
    """

    name: str
    """Name of the benchmark that trains on it."""
    side: int
    """Height and width of an image in pixels."""
    channels: int
    """Number of colour channels: 1 or 3."""
    classes: int
    """Number of classes to tell apart."""
    counts: dict[str, int]
    """Number of images of each split: train, val, test."""
    batch: dict[str, int]
    """Images per training step, by name of the recipe."""
    recipe: str
    """Name of the recipe that the plain name stands for."""
    flip: bool
    """Whether training mirrors images at random, as ZO-DARTS++ does even with left and right organs."""
    source: str
    """Where the images come from, for people."""
    licence: str
    """Licence of the images."""
    checksum: str
    """Checksum of the images; part of a run's identity."""
    load: Callable[[], dict[str, Split]]
    """Opens the splits train, val and test, checked. Raises UsageError where one is missing or damaged."""
    place: str = "comes with its own package"
    """How the images get here, for people, as the end of a sentence; files of MedMNIST are looked up instead."""
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """ZO-DARTS++'s S, M and L: bounds on `parameters_paper` of networks with 16 channels in the first stage."""


def reduced(splits: dict[str, Split], images: int) -> dict[str, Split]:
    """The splits with so many of the training images at most, always the same, drawn without regard to classes."""
    whole = splits["train"]
    if len(whole.labels) <= images:
        return splits
    kept = np.sort(np.random.default_rng(0).permutation(len(whole.labels))[:images])
    return splits | {"train": Split(whole.images[kept], whole.labels[kept])}


DATASETS: Registry[Dataset] = Registry(
    "data set", "nasbench.benchmarks.images", "nasbench.datasets", lambda item: isinstance(item, Dataset)
)
"""Every data set of images by name."""


def digest(splits: dict[str, Split]) -> str:
    """The checksum of everything in a data set."""
    checksum = hashlib.sha256()
    for _, split in sorted(splits.items()):
        checksum.update(split.images.tobytes())
        checksum.update(split.labels.tobytes())
    return f"sha256:{checksum.hexdigest()}"

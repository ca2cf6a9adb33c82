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
    """(images, height, width, channels)."""
    labels: NDArray[np.int64]
    """(images,), from 0."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of square images, known before it is opened.

    To add one, write a file in `benchmarks/images/` that calls `DATASETS.add(name, Dataset(…))`, or name such an object
    as an entry point of the group `nasbench.datasets`: then `NAME`, `NAME/SPACE`, … are benchmarks.
    """

    name: str
    side: int
    """In pixels."""
    channels: int
    classes: int
    counts: dict[str, int]
    """Images by split."""
    batch: dict[str, int]
    """Images a training step, by recipe."""
    recipe: str
    """The one that the plain name stands for."""
    flip: bool
    """Whether training mirrors images at random, as ZO-DARTS++ does even with left and right organs."""
    source: str
    licence: str
    checksum: str
    load: Callable[[], dict[str, Split]]
    """Opens the splits train, val and test, checked. Raises UsageError where one is missing or damaged."""
    place: str = "comes with its own package"
    """Where the images are, for people; official files of MedMNIST are looked up instead."""
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """ZO-DARTS++'s S, M and L: bounds on `parameters_paper` of networks with 16 channels in the first stage."""


DATASETS: Registry[Dataset] = Registry(
    "data set", "nasbench.benchmarks.images", "nasbench.datasets", lambda item: isinstance(item, Dataset)
)
"""Every data set of images by name."""


def digest(splits: dict[str, Split]) -> str:
    """The checksum of everything in a data set."""
    found = hashlib.sha256()
    for _, split in sorted(splits.items()):
        found.update(split.images.tobytes())
        found.update(split.labels.tobytes())
    return f"sha256:{found.hexdigest()}"

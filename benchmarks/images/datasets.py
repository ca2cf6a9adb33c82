"""Data sets of images."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice
from nasbench.base.registry import Registry
from nasbench.benchmarks.training.recipes import RECIPES

SIDE = 28
"""Height and width of MedMNIST's images in pixels."""


SPLITS = ("train", "val", "test")
"""The splits of every data set."""


class Split(NamedTuple):
    """Labelled images."""

    images: NDArray[np.uint8]
    """Pixels, shape (images, height, width, channels)."""
    labels: NDArray[np.int64]
    """Class of each image, from 0, shape (images,)."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Description of a data set of square images, which is loaded later.

    To add one, write a file in `benchmarks/images/` that calls `DATASETS.add(name, Dataset(…))`, or declare such an
    object as an entry point of the group `nasbench.datasets`. Then `NAME`, `NAME/SPACE`, … are benchmarks.
    """

    name: str
    """Name of the data set and its benchmark."""
    side: int
    """Height and width of an image in pixels."""
    channels: int
    """Number of colour channels: 1 or 3."""
    classes: int
    """Number of classes."""
    counts: dict[str, int]
    """Number of images in each split: train, val, test."""
    batch: dict[str, int]
    """Images per training step, by name of the recipe: of `search` and `retrain`, and of others that leave it open."""
    recipe: str
    """Name of the recipe of the plain name."""
    flip: bool
    """Whether training mirrors images at random (ZO-DARTS++ does, even with left and right organs)."""
    source: str
    """Origin of the images, for people."""
    licence: str
    """Licence of the images."""
    checksum: str
    """Checksum of the images; part of a run's identity."""
    load: Callable[[], dict[str, Split]]
    """Loads the splits train, val and test. Raises UsageError if one is missing or damaged."""
    place: str = "comes with its own package"
    """Where the images are, for people, as the end of a sentence; not used for files of MedMNIST."""
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """ZO-DARTS++'s S, M and L, as bounds on `parameters_paper` of networks with 16 channels in the first stage."""

    def __post_init__(self) -> None:
        check_choice("recipe", self.recipe, RECIPES)
        lack = [name for name, recipe in RECIPES.items() if recipe.batch is None and name not in self.batch]
        if lack:
            raise UsageError(f"batch of the data set {self.name} lacks the images per step of: {', '.join(lack)}")


def loaded(dataset: Dataset) -> dict[str, Split]:
    """The splits of a data set. Raises UsageError if they are not what the data set says of itself."""
    splits = dataset.load()
    for name in SPLITS:
        count = dataset.counts.get(name, 0)
        if count < 1 or name not in splits:
            raise UsageError(f"{dataset.name} has no images in {name}, and needs some in each of {', '.join(SPLITS)}")
        images, labels = splits[name]
        shape = (count, dataset.side, dataset.side, dataset.channels)
        if images.shape != shape or images.dtype != np.uint8:
            raise UsageError(
                f"{name} of {dataset.name} has images of shape {images.shape} and type {images.dtype}, and it states "
                f"{shape} and uint8"
            )
        if labels.shape != (count,) or labels.dtype != np.int64:
            raise UsageError(
                f"{name} of {dataset.name} has labels of shape {labels.shape} and type {labels.dtype}, and needs "
                f"{(count,)} and int64"
            )
        if not ((labels >= 0) & (labels < dataset.classes)).all():
            raise UsageError(f"{name} of {dataset.name} needs {count} labels from 0 to {dataset.classes - 1}")
    return splits


def reduced(splits: dict[str, Split], images: int, side: int) -> dict[str, Split]:
    """The splits with at most `images` training images, of at most side × side pixels.

    The training images that are kept are a fixed random sample, drawn without regard to classes.
    """
    whole = splits["train"]
    if len(whole.labels) > images:
        kept = np.sort(np.random.default_rng(0).permutation(len(whole.labels))[:images])
        splits = splits | {"train": Split(whole.images[kept], whole.labels[kept])}
    if whole.images.shape[1] > side:
        splits = {name: _shrunk(split, side) for name, split in splits.items()}
    return splits


def _shrunk(split: Split, side: int) -> Split:
    """Images of side × side pixels, each the mean of the area that it covers."""
    whole = split.images.shape[1]
    edges = np.arange(side + 1) * whole / side
    inside = np.minimum(edges[1:, None], np.arange(1, whole + 1)) - np.maximum(edges[:-1, None], np.arange(whole))
    shares = np.maximum(inside, 0) * side / whole  # shape (side, whole), rows add up to 1
    images = np.einsum("ij,njkc,lk->nilc", shares, split.images.astype(float), shares, optimize=True)
    return Split(np.rint(images).astype(np.uint8), split.labels)


DATASETS: Registry[Dataset] = Registry(
    "data set", "nasbench.benchmarks.images", "nasbench.datasets", lambda item: isinstance(item, Dataset)
)
"""All data sets of images by name."""


def digest(splits: dict[str, Split]) -> str:
    """The checksum of all images and labels of a data set."""
    checksum = hashlib.sha256()
    for _, split in sorted(splits.items()):
        checksum.update(split.images.tobytes())
        checksum.update(split.labels.tobytes())
    return f"sha256:{checksum.hexdigest()}"

"""The view of a space of cells for one-shot methods: images to train a supernet on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.cells.operations import IDENTITY, SPATIAL, ZERO
from nasbench.benchmarks.spaces.cells.stages import EACH_ITS_OWN, ONE_CELL, Stage, Ties
from nasbench.benchmarks.spaces.published.cells import DEPTHS, OPERATIONS

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor


class LabelledImages(Protocol):
    """A batch of labelled images on one device."""

    @property
    def images(self) -> Tensor:
        """Normalised images, shape (batch, channels, height, width)."""

    @property
    def labels(self) -> Tensor:
        """Class of each image, from 0, shape (batch,)."""


class TrainingImages(Protocol):
    """The images of a data set on one device."""

    @property
    def device(self) -> torch.device:
        """The device that holds the images."""

    @property
    def labels(self) -> Mapping[str, Tensor]:
        """Split (`train`, …) → class of each image, shape (images,)."""

    def batches(
        self, size: int, mix: float | None, rng: Generator, rows: NDArray[np.int64] | None = None
    ) -> Iterator[LabelledImages]:
        """One epoch of training images in batches.

        Args:
            size: images per batch.
            mix: None: images are not mixed.
            rng: draws crops, and the order where no rows are given.
            rows: the training images to use, in this order; by default all of them in random order.
        """


@dataclass(frozen=True)
class Searchable:
    """The data that a one-shot method needs to train its supernet (`AsSupernet.as_supernet`)."""

    name: str
    """Name of the benchmark, for messages."""
    filters: int
    """Number of channels of the first stage. It doubles from stage to stage."""
    shape: tuple[int, int, int]
    """Shape of an image: channels, height and width in pixels."""
    classes: int
    """Number of classes."""
    training_images: int
    """Number of images in the training split."""
    batch: int
    """Images per training step of the supernet."""
    published_sizes: Mapping[str, tuple[float, float]]
    """ZO-DARTS++'s size classes S, M and L for this data set, as bounds on `parameters_paper`; empty if not defined."""
    flops_a_second: float
    """Operations per second of one CPU core in training, to estimate the time of a search."""
    images: Callable[[], TrainingImages]
    """Loads the images. A search uses the training split only."""
    configuration: Callable[[Sequence[Stage]], Configuration]
    """Turns a network of cells into a configuration of the space."""
    operations: tuple[str, ...] = OPERATIONS
    """Names of the possible operations on an edge (see `cells.operations`); `nor_conv` is possible too."""
    depth: int = DEPTHS[-1]
    """Number of cells per stage; the largest number if depths are searched."""
    one_cell: bool = False
    """Whether the space has networks of one cell only, the same in all stages."""
    shared: Ties | None = None
    """Which edges and stages share a choice, where the space says so; None if the method does."""

    def ties(self, flexible: bool) -> Ties:
        """Which edges and stages share a choice, for a method with a cell for each stage (`flexible`) or with one."""
        return self.shared or (EACH_ITS_OWN if flexible else ONE_CELL)

    def __post_init__(self) -> None:
        missing = [name for name in (ZERO, IDENTITY, SPATIAL) if name not in self.operations]
        if missing:
            raise UsageError(f"one-shot methods cannot search {self.name}: its cells lack the operation {missing[0]}")

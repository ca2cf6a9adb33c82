"""The view of a live benchmark over cells that one-shot methods need: images to train a supernet on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.cells.stages import Stage

if TYPE_CHECKING:
    from nasbench.benchmarks.training.augmentation import Resident


@dataclass(frozen=True)
class Searchable:
    """What `Space.as_supernet()` returns."""

    name: str
    """Of the benchmark."""
    filters: int
    """Channels of the first stage."""
    shape: tuple[int, int, int]
    """Of an image: channels, height, width."""
    classes: int
    training_images: int
    batch: int
    """Images a step of the supernet."""
    published_sizes: Mapping[str, tuple[float, float]]
    """ZO-DARTS++'s S, M and L for this data set: bounds on `parameters_paper`; empty where it has none."""
    flops_a_second: float
    """Of one CPU core, in training: for estimates."""
    images: Callable[[], Resident]
    """Of which the training split alone is searched on."""
    configuration: Callable[[Sequence[Stage]], Configuration]
    """The configuration of a network of cells."""

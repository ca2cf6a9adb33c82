"""The spaces of networks that live benchmarks search: programs of the language, what is known of a network, itself."""

from __future__ import annotations

import hashlib
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nasbench.benchmarks.spaces import Configuration, Space
from nasbench.benchmarks.spaces.cells import Size, dead_stages, parameters_paper, size, stages_of
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.graphs.bounds import Bounds
from nasbench.benchmarks.spaces.graphs.networks import image_sizes
from nasbench.benchmarks.spaces.graphs.pool import convolutional
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.language.graph import Part
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.cells import cells
from nasbench.benchmarks.spaces.published.flat import flat
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES, is_valid, nasbench101
from nasbench.benchmarks.spaces.published.nasbench201 import nasbench201
from nasbench.benchmarks.spaces.published.nasnet import nasnet
from nasbench.benchmarks.spaces.published.resnet import resnet18

if TYPE_CHECKING:
    from torch import nn


class Frame(NamedTuple):
    """What networks are made for."""

    filters: int
    """Channels of the first stage."""
    shape: tuple[int, int, int]
    """Of an image: channels, height, width."""
    classes: int


class ImageSpace(ABC):
    """Networks that turn images (batch, channels, height, width) into scores (batch, classes)."""

    pool = 200
    """Of so many architectures quantiles are taken."""

    def __init__(self, space: Space, frame: Frame) -> None:
        self.space, self.frame = space, frame
        self._sized = lru_cache(maxsize=4096)(self._measured)

    @abstractmethod
    def fingerprint(self, configuration: Configuration) -> str:
        """What tells whether a network is the same as before, should the space be written anew."""

    def infeasible(self, configuration: Configuration) -> str:
        """Why a network cannot be trained at all; empty if it can."""
        return ""

    def size(self, configuration: Configuration) -> Size:
        """Parameters and operations, exactly, without training. Raises ProgramError if it does not fit the image."""
        return self._sized(configuration)

    @abstractmethod
    def network(self, configuration: Configuration) -> nn.Module:
        """The network, its parameters still to be drawn. Raises ProgramError if it does not fit the image."""

    def _measured(self, configuration: Configuration) -> Size:
        """The size of the module itself."""
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        with torch.device("meta"), torch.no_grad():  # shapes without numbers
            network = self.network(configuration).eval()
            with FlopCounterMode(display=False) as counter:
                network(torch.zeros(1, *self.frame.shape))
        return Size(sum(p.numel() for p in network.parameters()), counter.get_total_flops())


class CellProgram(Program):
    """Cells of one's own in each stage, which can be searched all at once in a supernet."""

    searchable: Callable[[], Searchable]
    """Set by the benchmark, which has the images."""

    def as_supernet(self) -> Searchable:
        """The view for one-shot methods."""
        return self.searchable()


class ProgramSpace(ImageSpace):
    """Networks that a program of the language describes."""

    def __init__(self, program: Program, frame: Frame) -> None:
        super().__init__(program, frame)
        self.program = program

    def fingerprint(self, configuration: Configuration) -> str:
        return self.program.graph(configuration).hash


class CellSpace(ProgramSpace):
    """Networks of NAS-Bench-201 cells, built without what is dead in them, and sized by formula."""

    pool = 900  # as many as the paper's

    def infeasible(self, configuration: Configuration) -> str:
        dead = dead_stages(stages_of(dict(configuration)))
        return f"no path leads through the cell of stage {dead[0]}" if dead else ""

    def size(self, configuration: Configuration) -> Size:
        return size(stages_of(dict(configuration)), *self.frame)

    def parameters_paper(self, configuration: Configuration) -> int:
        """The number of parameters as ZO-DARTS++ counts them."""
        return parameters_paper(stages_of(dict(configuration)), self.frame.filters, self.frame.classes)

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.cells.network import CellNetwork

        return CellNetwork(stages_of(dict(configuration)), self.frame.filters, self.frame.shape[0], self.frame.classes)


class WrittenSpace(ProgramSpace):
    """Networks as the language builds them."""

    def __init__(
        self, write: Callable[[], Part], frame: Frame, misfit: Callable[[Configuration], str] | None = None
    ) -> None:
        super().__init__(Program(write), frame)
        self._misfit = misfit
        # A program of its own: methods walk the other one in their thread while networks are built in others.
        self._builder, self._lock = Program(write), threading.Lock()

    def infeasible(self, configuration: Configuration) -> str:
        return "" if self._misfit is None else self._misfit(configuration)

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.language.network import Network

        with self._lock:
            return Network(self._builder, configuration, self.frame.shape)


class FreeSpace(ImageSpace):
    """Any convolutional network within bounds (NASBOT)."""

    def __init__(self, frame: Frame) -> None:
        halvings = min(3, int(math.log2(frame.shape[1])) - 1)  # what is left is 2 pixels wide or more
        bounds = Bounds(units=(frame.filters // 2, 64 * frame.filters))
        super().__init__(NetworkSpace("cnn", bounds, convolutional(frame.filters, halvings)), frame)

    def fingerprint(self, configuration: Configuration) -> str:
        return hashlib.sha256(self.space.to_json(configuration).encode()).hexdigest()[:16]

    def infeasible(self, configuration: Configuration) -> str:
        most = max(size or 1 for size in image_sizes(configuration))
        if most > self.frame.shape[1]:
            return f"images are halved {int(math.log2(most))} times, to less than a pixel"
        return ""

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

        return GraphNetwork(configuration, self.frame.shape[0], self.frame.classes)


def _nasbench101_misfit(configuration: Configuration) -> str:
    if is_valid(configuration):
        return ""
    return f"no path leads through the cell, or more than {MOST_EDGES} of its edges lie on one"


SPACES: dict[str, Callable[[Frame], ImageSpace]] = {
    "cells": lambda frame: CellSpace(CellProgram(lambda: cells(frame.filters, frame.classes)), frame),
    "nasbench201": lambda frame: CellSpace(
        Program(lambda: nasbench201(filters=frame.filters, classes=frame.classes)), frame
    ),
    "genetic": lambda frame: WrittenSpace(
        lambda: genetic(filters=[frame.filters << i for i in range(3)], classes=frame.classes), frame
    ),
    "flat": lambda frame: WrittenSpace(lambda: flat(filters=frame.filters, classes=frame.classes), frame),
    "nasbench101": lambda frame: WrittenSpace(
        lambda: nasbench101(filters=frame.filters, classes=frame.classes), frame, _nasbench101_misfit
    ),
    "nasnet": lambda frame: WrittenSpace(lambda: nasnet(filters=frame.filters, classes=frame.classes), frame),
    "cnn": FreeSpace,
    "resnet18": lambda frame: WrittenSpace(lambda: resnet18(4 * frame.filters, frame.classes), frame),
}
"""By name; `cells` is what a benchmark's plain name stands for. ResNet-18 has four times the channels (64)."""

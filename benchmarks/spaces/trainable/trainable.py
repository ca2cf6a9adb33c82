"""The contract between live benchmarks and spaces of networks, and the spaces by name."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nasbench.base.errors import require_torch
from nasbench.base.registry import Registry
from nasbench.benchmarks.spaces.base import Configuration, Space
from nasbench.benchmarks.spaces.cells import Size
from nasbench.benchmarks.spaces.language.graph import Part
from nasbench.benchmarks.spaces.language.program import Program

if TYPE_CHECKING:
    from torch import nn


class Frame(NamedTuple):
    """The images and classes that the networks of a space are made for."""

    filters: int
    """Number of channels of the first stage."""
    shape: tuple[int, int, int]
    """Shape of an image: channels, height and width in pixels."""
    classes: int
    """Number of classes."""


class TrainableSpace(ABC):
    """Networks that turn images (batch, channels, height, width) into scores (batch, classes).

    Args:
        space: the space of configurations that methods search.
        frame: the images and classes that the networks are made for.
    """

    pool = 200
    """Number of random architectures from which the quantiles of cheap metrics are computed."""

    def __init__(self, space: Space, frame: Frame) -> None:
        self.space, self.frame = space, frame
        self._sized = lru_cache(maxsize=4096)(self._measured)

    @abstractmethod
    def fingerprint(self, configuration: Configuration) -> str:
        """A text that changes when the space is rewritten so that `configuration` means another network."""

    def infeasible(self, configuration: Configuration) -> str:
        """Why a network cannot be trained; empty if it can."""
        return ""

    def canonical(self, configuration: Configuration) -> Configuration:
        """The representative of all configurations that are the same network; by default the configuration itself."""
        return configuration

    def size(self, configuration: Configuration) -> Size:
        """The exact numbers of parameters and operations, without training.

        Raises ProgramError if the network does not fit the image.
        """
        return self._sized(configuration)

    @abstractmethod
    def network(self, configuration: Configuration) -> nn.Module:
        """The network; its parameters are drawn later. Raises ProgramError if it does not fit the image."""

    def _measured(self, configuration: Configuration) -> Size:
        """The size, measured on the module. Raises UsageError where PyTorch is missing."""
        require_torch("sizes of these networks are measured")
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        with torch.device("meta"), torch.no_grad():  # shapes without numbers
            network = self.network(configuration).eval()
            with FlopCounterMode(display=False) as counter:
                network(torch.zeros(1, *self.frame.shape))
        return Size(sum(p.numel() for p in network.parameters()), counter.get_total_flops())


class ProgramSpace(TrainableSpace):
    """Networks that a program of the language describes."""

    def __init__(self, program: Program, frame: Frame) -> None:
        super().__init__(program, frame)
        self.program = program

    def fingerprint(self, configuration: Configuration) -> str:
        return self.program.graph(configuration).hash


class WrittenSpace(ProgramSpace):
    """Networks as the language builds them.

    Args:
        write: the function of the language that describes the space.
        frame: the images and classes that the networks are made for.
        misfit: configuration → why it cannot be trained, empty if it can; by default, all configurations can.
        program: the class of the space that methods search.
    """

    def __init__(
        self,
        write: Callable[[], Part],
        frame: Frame,
        misfit: Callable[[Configuration], str] | None = None,
        program: type[Program] = Program,
    ) -> None:
        super().__init__(program(write), frame)
        self._misfit = misfit
        # A second program: methods walk the first one in their thread while other threads build networks.
        self._builder, self._lock = Program(write), threading.Lock()

    def infeasible(self, configuration: Configuration) -> str:
        return "" if self._misfit is None else self._misfit(configuration)

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.language.network import Network

        with self._lock:
            return Network(self._builder, configuration, self.frame.shape)


SPACES: Registry[Callable[[Frame], TrainableSpace]] = Registry(
    "space of networks", "nasbench.benchmarks.spaces.trainable", "nasbench.spaces"
)
"""All trainable spaces by name, as callables that make them for a frame."""

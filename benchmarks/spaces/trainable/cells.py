"""Networks of NAS-Bench-201 cells: a different cell in each stage (`cells`), or one cell for all (`nasbench201`).

`cells-mini` is `cells` with most choices fixed: small enough for a table of all networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.cells import (
    Size,
    Stage,
    dead_stages,
    equal_stages,
    miniature_stages,
    parameters_paper,
    size,
    stages_of,
)
from nasbench.benchmarks.spaces.cells.equivalence import canonical, expression
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.cells.stages import SEARCHED
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Ordinal
from nasbench.benchmarks.spaces.language.graph import Value
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.network_grids import CellGrid, MiniatureGrid
from nasbench.benchmarks.spaces.published.cells import cells, miniature
from nasbench.benchmarks.spaces.published.nasbench201 import nasbench201
from nasbench.benchmarks.spaces.trainable.trainable import SPACES, Frame, ProgramSpace

if TYPE_CHECKING:
    from torch import nn


class CellProgram(Program):
    """Networks with a different cell in each stage, which a supernet can contain."""

    searchable: Callable[[], Searchable]
    """Makes the view for one-shot methods; set by the benchmark, which has the images."""

    @property
    def operations(self) -> tuple[str, ...]:
        """Names of the possible operations on an edge, in their order."""
        choices = {h.name: h.values for h in self.as_flat().hyperparameters if isinstance(h, Categorical | Ordinal)}
        return tuple(map(str, choices["stage1-op0"]))

    def as_supernet(self) -> Searchable:
        """The view for one-shot methods."""
        return self.searchable()


class CellSpace(ProgramSpace):
    """Networks of NAS-Bench-201 cells, built without their dead operations, and sized by formula.

    Args:
        program: the space of configurations.
        frame: the images and classes that the networks are made for.
        stages: (the choices of a configuration, by name) → its stages.

    Raises UsageError unless the sides of the images are multiples of 4, for each of two reductions halves them.
    """

    pool = 900  # as in the paper

    def __init__(
        self, program: Program, frame: Frame, stages: Callable[[Mapping[str, Value]], tuple[Stage, ...]]
    ) -> None:
        super().__init__(program, frame)
        if frame.shape[1] % 4:
            raise UsageError(f"networks of cells need images with sides of 4, 8, 12, … pixels, not {frame.shape[1]}")
        self._stages = stages

    def stages(self, configuration: Configuration) -> tuple[Stage, ...]:
        """The stages of the network of a configuration."""
        return self._stages(dict(configuration))

    def infeasible(self, configuration: Configuration) -> str:
        dead = dead_stages(self.stages(configuration))
        return f"no path leads through the cell of stage {dead[0]}" if dead else ""

    def size(self, configuration: Configuration) -> Size:
        return size(self.stages(configuration), *self.frame)

    def parameters_paper(self, configuration: Configuration) -> int:
        """The number of parameters as ZO-DARTS++ counts them."""
        return parameters_paper(self.stages(configuration), self.frame.filters, self.frame.classes)

    def network(self, configuration: Configuration) -> nn.Module:
        from nasbench.benchmarks.spaces.cells.network import CellNetwork

        return CellNetwork(self.stages(configuration), self.frame.filters, self.frame.shape[0], self.frame.classes)


class EqualCellSpace(CellSpace):
    """Networks of one NAS-Bench-201 cell, the same everywhere."""

    def __init__(self, program: Program, frame: Frame) -> None:
        super().__init__(program, frame, equal_stages)
        self._named = cache(lambda cell: program.from_values({f"Op{k}": o for k, o in enumerate(cell)}))

    def canonical(self, configuration: Configuration) -> Configuration:
        return self._named(canonical(self.stages(configuration)[0].operations))


class MiniatureSpace(CellSpace):
    """Networks of two searched stages with one cell of three nodes."""

    def __init__(self, program: Program, frame: Frame) -> None:
        super().__init__(program, frame, miniature_stages)

    def canonical(self, configuration: Configuration) -> Configuration:
        return self._firsts[self._function(configuration)]

    @cached_property
    def _firsts(self) -> dict[str, Configuration]:
        """The first configuration of each class of equal networks: the classes with a path, and one without."""
        hyperparameters = self.program.as_flat().hyperparameters
        firsts: dict[str, Configuration] = {}
        for values in product(*(h.values for h in hyperparameters if isinstance(h, Categorical | Ordinal))):
            choices = dict(zip((h.name for h in hyperparameters), values, strict=True))
            configuration = self.program.from_values(choices)
            firsts.setdefault(self._function(configuration), configuration)
        return firsts

    def _function(self, configuration: Configuration) -> str:
        searched = self.stages(configuration)[SEARCHED[0] - 1]  # the other is the same
        return expression(searched.operations, searched.depth)


@SPACES.register("cells")
def _cells(frame: Frame) -> CellSpace:
    return CellSpace(CellProgram(lambda: cells(frame.filters, frame.classes)), frame, stages_of)


@SPACES.register("nasbench201")
def _nasbench201(frame: Frame) -> CellSpace:
    program = Program(lambda: nasbench201(filters=frame.filters, classes=frame.classes))
    program.table_kind = CellGrid.table_kind
    return EqualCellSpace(program, frame)


@SPACES.register("cells-mini")
def _miniature(frame: Frame) -> CellSpace:
    program = Program(lambda: miniature(frame.filters, frame.classes))
    program.table_kind = MiniatureGrid.table_kind
    return MiniatureSpace(program, frame)

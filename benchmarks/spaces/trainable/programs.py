"""Published spaces, written in the search-space language and built by it."""

from __future__ import annotations

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.blocks import Blocks, Cell
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.flat import flat
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES, is_valid, nasbench101
from nasbench.benchmarks.spaces.published.nasnet import nasnet
from nasbench.benchmarks.spaces.published.popnas import LOOKBACKS, OPERATORS, cells_of, names, popnas
from nasbench.benchmarks.spaces.published.resnet import resnet18
from nasbench.benchmarks.spaces.published.vit import vit
from nasbench.benchmarks.spaces.trainable.trainable import SPACES, Frame, WrittenSpace

_MOST_BLOCKS = 5  # in a cell of POPNAS


@SPACES.register("genetic")
def _genetic(frame: Frame) -> WrittenSpace:
    filters = [frame.filters << i for i in range(3)]
    return WrittenSpace(lambda: genetic(filters=filters, classes=frame.classes), frame)


@SPACES.register("flat")
def _flat(frame: Frame) -> WrittenSpace:
    return WrittenSpace(lambda: flat(filters=frame.filters, classes=frame.classes), frame)


@SPACES.register("nasbench101")
def _nasbench101(frame: Frame) -> WrittenSpace:
    return WrittenSpace(lambda: nasbench101(filters=frame.filters, classes=frame.classes), frame, _nasbench101_misfit)


@SPACES.register("nasnet")
def _nasnet(frame: Frame) -> WrittenSpace:
    return WrittenSpace(lambda: nasnet(filters=frame.filters, classes=frame.classes), frame)


@SPACES.register("mobilenetv2")
def _mobilenetv2(frame: Frame) -> WrittenSpace:
    return WrittenSpace(lambda: mobilenetv2(filters=frame.filters, classes=frame.classes), frame)


@SPACES.register("vit")
def _vit(frame: Frame) -> WrittenSpace:
    return WrittenSpace(lambda: vit(filters=frame.filters, classes=frame.classes), frame)


class BlockProgram(Program):
    """Networks that repeat one cell, which can grow block by block."""

    def as_blocks(self) -> Blocks:
        """The view for POPNAS."""
        return Blocks(_MOST_BLOCKS, LOOKBACKS, OPERATORS, cells_of(), self._with_cell)

    def _with_cell(self, cell: Cell) -> Configuration:
        values: dict[str, int | str] = {"blocks": len(cell)}
        for number, ((first, operator), (second, other)) in enumerate(cell, 1):
            chosen = (first, OPERATORS[operator], second, OPERATORS[other])
            values |= dict(zip(names(number), chosen, strict=True))
        return self.from_values(values)


@SPACES.register("popnas")
def _popnas(frame: Frame) -> WrittenSpace:
    write = lambda: popnas(_MOST_BLOCKS, filters=frame.filters, classes=frame.classes)  # noqa: E731
    return WrittenSpace(write, frame, program=BlockProgram)


@SPACES.register("resnet18")
def _resnet18(frame: Frame) -> WrittenSpace:
    """One network, for orientation: ResNet-18 with four times the channels of other networks (64 for 16)."""
    return WrittenSpace(lambda: resnet18(4 * frame.filters, frame.classes), frame)


def _nasbench101_misfit(configuration: Configuration) -> str:
    if is_valid(configuration):
        return ""
    return f"no path leads through the cell, or more than {MOST_EDGES} of its edges lie on one"

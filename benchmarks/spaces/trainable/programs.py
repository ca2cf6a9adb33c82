"""Published spaces, written in the search-space language and built by it."""

from __future__ import annotations

from collections.abc import Callable

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.blocks import Blocks, Cell
from nasbench.benchmarks.spaces.language.graph import Part
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


def _nasbench101_misfit(configuration: Configuration) -> str:
    if is_valid(configuration):
        return ""
    return f"no path leads through the cell, or more than {MOST_EDGES} of its edges lie on one"


def _add(
    name: str,
    write: Callable[[Frame], Part],
    misfit: Callable[[Configuration], str] | None = None,
    program: type[Program] = Program,
) -> None:
    SPACES.add(name, lambda frame: WrittenSpace(lambda: write(frame), frame, misfit, program))


_add("genetic", lambda frame: genetic(filters=[frame.filters << i for i in range(3)], classes=frame.classes))
_add("flat", lambda frame: flat(filters=frame.filters, classes=frame.classes))
_add("nasbench101", lambda frame: nasbench101(filters=frame.filters, classes=frame.classes), _nasbench101_misfit)
_add("nasnet", lambda frame: nasnet(filters=frame.filters, classes=frame.classes))
_add("mobilenetv2", lambda frame: mobilenetv2(filters=frame.filters, classes=frame.classes))
_add("vit", lambda frame: vit(filters=frame.filters, classes=frame.classes))
_add(
    "popnas",
    lambda frame: popnas(_MOST_BLOCKS, filters=frame.filters, classes=frame.classes),
    program=BlockProgram,
)
_add("resnet18", lambda frame: resnet18(4 * frame.filters, frame.classes))  # one network, for orientation

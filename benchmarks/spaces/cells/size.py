"""The size of a network of cells, computed from its stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nasbench.benchmarks.spaces.cells.operations import named
from nasbench.benchmarks.spaces.cells.stages import Stage, pruned


class Size(NamedTuple):
    """The size of a network, known before training."""

    parameters: int
    """Number of parameters."""
    flops: int
    """Operations of convolutions and linear layers for one image; a multiply-add counts as two."""


def size(stages: Sequence[Stage], filters: int, shape: tuple[int, int, int], classes: int) -> Size:
    """The exact size of the pruned network.

    Args:
        filters: channels of the first stage; they double, and the sides of the image halve, from stage to stage.
        shape: shape of an image: channels, height and width in pixels.
        classes: number of scores.
    """
    parameters, multiplications = 0, 0

    def convolution(kernel: int, before: int, after: int, area: int, norm: bool = True) -> None:
        nonlocal parameters, multiplications
        parameters += kernel**2 * before * after + (2 * after if norm else 0)
        multiplications += kernel**2 * before * after * area

    channels, height, width = shape
    convolution(3, channels, filters, height * width)
    for number, stage in enumerate(stages):
        c = filters << number
        if number:
            height, width = height // 2, width // 2
            convolution(3, c // 2, c, height * width)
            convolution(3, c, c, height * width)
            convolution(1, c // 2, c, height * width, norm=False)
        for operation in map(named, pruned(stage.operations)):
            parameters += stage.depth * operation.parameters(c)
            multiplications += stage.depth * operation.multiplications(c) * height * width
    last = filters << (len(stages) - 1)
    return Size(parameters + 2 * last + (last + 1) * classes, 2 * (multiplications + last * classes))


def parameters_paper(stages: Sequence[Stage], filters: int, classes: int) -> int:
    """Parameters of the pruned network as the authors' scripts count them (ZO-DARTS++, equation 17 and table IV).

    In these scripts, convolutions in cells have a bias and no normalisation, and images have one channel.
    """
    c = filters
    fixed = 9 * c + 2 * c + 8 * c + 4 * c * classes + classes
    for before in (c, 2 * c):
        after = 2 * before
        fixed += 9 * before * after + 9 * after * after + before * after + 4 * after
    cells = 0
    for number, stage in enumerate(stages):
        c = filters << number
        cells += stage.depth * sum(named(o).counted(c, paper=True) for o in pruned(stage.operations))
    return fixed + cells

"""POPNASv3's space: networks counted by hand, what is not reached is not built, and pools of even size."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images import DATASETS
from nasbench.benchmarks.spaces.blocks import Cell
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.popnas import OPERATORS, popnas
from nasbench.benchmarks.spaces.trainable import SPACES, Frame, WrittenSpace
from nasbench.benchmarks.spaces.trainable.programs import BlockProgram

FILTERS, CHANNELS, CLASSES = 8, 3, 5
FRAME = Frame(FILTERS, (CHANNELS, 14, 14), CLASSES)


def opened() -> tuple[WrittenSpace, BlockProgram]:
    networks = SPACES.get("popnas")(FRAME)
    assert isinstance(networks, WrittenSpace) and isinstance(networks.space, BlockProgram)
    return networks, networks.space


def pointwise(before: int, after: int) -> int:
    """Weights, biases, and the two numbers per channel of a batch normalisation."""
    return before * after + after + 2 * after


def of_operator(name: str, source: int) -> Cell:
    return (((source, OPERATORS.index(name)), (source, OPERATORS.index(name))),)


@pytest.mark.parametrize(
    ("source", "channels"),
    [(-1, [8, 8, 16, 16, 16, 32, 32, 32]), (-2, [8, 16, 32, 32])],  # of the cells that are reached
)
def test_one_block_counts_as_by_hand_and_superfluous_cells_are_not_built(source: int, channels: list[int]) -> None:
    pytest.importorskip("torch")
    networks, space = opened()
    expected = 32 * CLASSES + CLASSES
    for before, after in zip([CHANNELS, *channels], channels, strict=False):
        shortcut = pointwise(before, after) if before != after else 0
        expected += 2 * pointwise(before, after) + shortcut
    assert networks.size(space.as_blocks().configuration(of_operator("1x1 conv", source))).parameters == expected


def test_blocks_that_nobody_reads_are_joined_by_a_pointwise_convolution() -> None:
    pytest.importorskip("torch")
    networks, space = opened()
    configuration = space.as_blocks().configuration
    (block,) = of_operator("2x2 maxpool", -1)
    single, double = (networks.size(configuration((block,) * n)).parameters for n in (1, 2))
    cells = [(CHANNELS, 8), (8, 8), (8, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 32)]
    pools = sum(2 * pointwise(before, after) for before, after in cells if before != after)
    assert double - single == pools + sum(pointwise(2 * after, after) for _, after in cells)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_fits_every_lookback(name: str) -> None:
    torch = pytest.importorskip("torch")
    networks, space = opened()
    operator = OPERATORS.index(name)
    cell: Cell = (((-2, operator), (-1, operator)), ((-2, operator), (0, operator)))
    network = networks.network(space.as_blocks().configuration(cell))
    assert network(torch.zeros(2, CHANNELS, 14, 14)).shape == (2, CLASSES)


def test_a_configuration_names_the_blocks_of_its_cell() -> None:
    _, space = opened()
    values = space.values(space.as_blocks().configuration((((-2, 0), (-1, 11)), ((-1, 8), (0, 1)))))
    assert values == {
        **{"blocks": 2, "b1-in1": -2, "b1-op1": "identity", "b1-in2": -1, "b1-op2": "2x2 avgpool"},
        **{"b2-in1": -1, "b2-op1": "3x3 conv", "b2-in2": 0, "b2-op2": "3x3 dconv"},
    }


def test_small_cells_are_counted_exactly() -> None:
    space = Program(lambda: popnas(2, motifs=1, normal=1, operators=OPERATORS[:2]))
    assert sum(1 for _ in space) == (2 * 2) ** 2 + (2 * 2) ** 2 * (3 * 2) ** 2


def test_pools_of_two_pixels_keep_or_halve_an_image_and_leave_borders_out() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import SamePool

    image = torch.tensor(np.arange(1.0, 10.0).reshape(1, 1, 3, 3))
    mean, largest = SamePool(1, largest=False)(image), SamePool(2, largest=True)(-image)
    assert mean[0, 0].tolist() == [[3.0, 4.0, 4.5], [6.0, 7.0, 7.5], [7.5, 8.5, 9.0]]
    assert largest[0, 0].tolist() == [[-1.0, -3.0], [-7.0, -9.0]]


@pytest.mark.parametrize("name", DATASETS.names())
def test_every_data_set_of_images_has_the_space(name: str) -> None:
    assert open_benchmark(f"{name}/popnas").space.as_blocks().cells == 8

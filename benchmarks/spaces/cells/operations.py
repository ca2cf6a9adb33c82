"""The operations on the edges of NAS-Bench-201 cells.

A new operation is one call of `add`, here or in a third party's package. It then has a size, and works in trained
networks, in the search-space language, in supernets and as a layer of a graph. Each space chooses its operations:
`nasbench201(operations=…)`, `cells(operations=…)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, Part

if TYPE_CHECKING:
    from torch import nn

EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""The edges of a cell as (source node, target node), in the order of NAS-Bench-201's strings (Op0 to Op5)."""
LAST_NODE = 3
"""The node that is a cell's output; its input is node 0."""
ZERO = "none"
"""Name of the operation without an output: no connection."""
IDENTITY = "skip_connect"
"""Name of the identity."""
SPATIAL = "nor_conv"
"""Name of the convolution in spaces where the kernel size is a separate choice; see `sized`."""


@dataclass(frozen=True)
class CellOperation:
    """An operation on an edge. In all functions `width` is the number of channels, which the operation keeps."""

    name: str
    layer: str
    """Label of its layer in the graph view (NASBOT); empty for `none`, which has no layer."""
    part: Callable[[int], Part]
    """width → the operation in the search-space language."""
    module: Callable[[int], nn.Module]
    """width → the operation in PyTorch. Without parameters, one module serves all edges that leave a node."""
    kernel: int = 0
    """Side of the kernel in pixels if the operation is ReLU, convolution and batch normalisation, which networks merge;
    0 for any other operation."""
    parameters: Callable[[int], int] = lambda width: 0
    """width → number of parameters."""
    multiplications: Callable[[int], int] = lambda width: 0
    """width → multiply-adds per pixel."""
    parameters_paper: Callable[[int], int] | None = None
    """width → number of parameters as ZO-DARTS++ counts them; None if that is `parameters`."""

    def counted(self, width: int, paper: bool) -> int:
        """The number of parameters, as ZO-DARTS++ counts them (`paper`) or the true one."""
        return self.parameters_paper(width) if paper and self.parameters_paper else self.parameters(width)


def convolution(kernel: int) -> CellOperation:
    """ReLU, a convolution of `kernel` × `kernel` pixels without a bias, and batch normalisation."""

    def module(width: int) -> nn.Module:
        from torch import nn

        from nasbench.benchmarks.spaces.cells.convolution import ConvNorm

        return nn.Sequential(nn.ReLU(), ConvNorm(width, width, kernel))

    return CellOperation(
        sized(SPATIAL, kernel),
        f"conv{kernel}",
        lambda width: siso_sequential([layers.relu(), conv_norm(width, kernel)]),
        module,
        kernel,
        parameters=lambda width: kernel**2 * width**2 + 2 * width,
        multiplications=lambda width: kernel**2 * width**2,
        parameters_paper=lambda width: (kernel**2 * width + 1) * width,  # a bias, and no normalisation
    )


def conv_norm(filters: int, kernel_size: AnyHyperparameter | int, stride: int = 1) -> Part:
    """A convolution without bias, then batch normalisation, in the language."""
    return siso_sequential([layers.conv2d(filters, kernel_size, stride, bias=False), layers.batch_norm()])


def sized(name: str, kernel: int) -> str:
    """The name of an operation once its kernel size is chosen; it differs from `name` for `nor_conv` only."""
    return f"{SPATIAL}_{kernel}x{kernel}" if name == SPATIAL else name


def _zero(width: int) -> nn.Module:
    from nasbench.benchmarks.spaces.language.network import Zero

    return Zero()


def _identity(width: int) -> nn.Module:
    from torch import nn

    return nn.Identity()


def _average(width: int) -> nn.Module:
    from torch import nn

    return nn.AvgPool2d(3, 1, 1, count_include_pad=False)


_OPERATIONS: dict[str, CellOperation] = {}


def add(operation: CellOperation) -> None:
    """Adds an operation under its name. Raises UsageError if the name is taken."""
    if operation.name in _OPERATIONS:
        raise UsageError(f"cell operation {operation.name!r} exists already")
    _OPERATIONS[operation.name] = operation


def named(name: str) -> CellOperation:
    """The operation with this name. Raises UsageError, with the nearest name, if there is none."""
    check_choice("cell operation", name, _OPERATIONS)
    return _OPERATIONS[name]


add(CellOperation(ZERO, "", lambda width: layers.zero(), _zero))
# A skip is a layer: as a mere edge, cells with one and with four identities would be the same graph.
add(CellOperation(IDENTITY, "skip", lambda width: identity(), _identity))
add(CellOperation("avg_pool_3x3", "avg-pool", lambda width: layers.avg_pool(3), _average))
for _kernel in (1, 3, 5, 7):
    add(convolution(_kernel))

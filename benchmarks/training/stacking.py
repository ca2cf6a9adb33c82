"""Networks of one shape as one: each convolution is a group of a larger one, so a device is asked less often."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from nasbench.benchmarks.spaces.cells.network import Cell


class Stack(nn.Module):
    """Networks of cells as one: images (batch, networks × channels, height, width) → scores (batch, networks, classes).

    The first dimension of every parameter is that of the networks, or falls into as many equal parts. Raises ValueError
    for networks of several shapes, and TypeError for layers that cannot be stacked.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        if any(shape_of(network) != shape_of(networks[0]) for network in networks):
            raise ValueError("networks of several shapes cannot be stacked")
        self.whole = side_by_side(networks)

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.whole(images)
        return scores


def shape_of(network: nn.Module) -> tuple[tuple[object, ...], ...]:
    """What two networks share that differ in their parameters' values alone."""
    edges = [
        (name, type(part), repr(part.leaving) if isinstance(part, Cell) else "")
        for name, part in network.named_modules()
    ]
    return (*edges, *((name, value.shape) for name, value in network.state_dict().items()))


def side_by_side(modules: Sequence[nn.Module]) -> nn.Module:
    """Modules of one shape as one that takes and gives their channels side by side.

    Raises TypeError for layers that cannot be.
    """
    first = modules[0]
    if isinstance(first, nn.Conv2d):
        return _convolution([module for module in modules if isinstance(module, nn.Conv2d)])
    if isinstance(first, nn.BatchNorm2d):
        return _normalisation([module for module in modules if isinstance(module, nn.BatchNorm2d)])
    if isinstance(first, nn.Linear):
        return _Linears([module for module in modules if isinstance(module, nn.Linear)])
    if [*first.parameters(recurse=False), *first.buffers(recurse=False)]:
        raise TypeError(f"no way to stack {type(first).__name__} is known")
    found = deepcopy(first)
    for name, _ in first.named_children():
        setattr(found, name, side_by_side([getattr(module, name) for module in modules]))
    if isinstance(found, Cell):
        for node, leaving in enumerate(found.leaving):
            for operation, targets in leaving.items():
                key = f"{node}-{operation}"
                if key in found.convolutions and len(targets) > 1:
                    both = nn.Sequential(found.convolutions[key], _ByEdge(len(modules), len(targets)))
                    found.convolutions[key] = both
    return found


def _convolution(modules: Sequence[nn.Conv2d]) -> nn.Conv2d:
    one, number = modules[0], len(modules)
    if one.bias is not None or one.groups != 1:
        raise TypeError("convolutions with a bias or groups of their own cannot be stacked")
    found = deepcopy(one)
    found.in_channels, found.out_channels = number * one.in_channels, number * one.out_channels
    found.groups = number
    found.weight = nn.Parameter(torch.cat([module.weight.detach() for module in modules]))
    return found


def _normalisation(modules: Sequence[nn.BatchNorm2d]) -> nn.BatchNorm2d:
    found = deepcopy(modules[0])
    found.num_features = sum(module.num_features for module in modules)
    found.weight = nn.Parameter(torch.cat([module.weight.detach() for module in modules]))
    found.bias = nn.Parameter(torch.cat([module.bias.detach() for module in modules]))
    found.running_mean = torch.cat([module.get_buffer("running_mean") for module in modules])
    found.running_var = torch.cat([module.get_buffer("running_var") for module in modules])
    return found


class _Linears(nn.Module):
    """Linear layers side by side: (batch, number × features) → (batch, number, outputs)."""

    def __init__(self, modules: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([module.weight.detach() for module in modules]))
        self.bias = nn.Parameter(torch.stack([module.bias.detach() for module in modules]))

    def forward(self, x: Tensor) -> Tensor:
        own = x.reshape(len(x), len(self.weight), -1).transpose(0, 1)
        return torch.baddbmm(self.bias[:, None], own, self.weight.transpose(1, 2)).transpose(0, 1)


class _ByEdge(nn.Module):
    """See `by_edge`."""

    def __init__(self, number: int, edges: int) -> None:
        super().__init__()
        self._number, self._edges = number, edges

    def forward(self, x: Tensor) -> Tensor:
        return by_edge(x, self._number, self._edges)


def by_edge(x: Tensor, number: int, edges: int) -> Tensor:
    """Channels by network and edge → by edge and network, which a cell splits by edge."""
    last = x.permute(0, 2, 3, 1)  # as it lies in memory
    split = last.reshape(*last.shape[:3], number, edges, -1)
    return split.transpose(3, 4).flatten(3).permute(0, 3, 1, 2)

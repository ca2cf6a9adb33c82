"""Architectures as `torch.nn.Module`s: trainable, picklable, the same parameters for the same torch seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.space.base import Configuration
from benchmarks.space.language.program import Program


class Network(nn.Module):
    """The network that a configuration of a program names.

    Args:
        shape: of one input without the batch, such as (channels, height, width).
        name: of the program's open input; its first output is the network's.

    Raises ProgramError that names the module and the shapes that do not fit.
    """

    def __init__(
        self, program: Program, configuration: Configuration, shape: Sequence[int], name: str | None = None
    ) -> None:
        super().__init__()
        graph = program.graph(configuration)
        source = next(iter(program.inputs)) if name is None else name
        with torch.no_grad():
            made, _ = graph.compile({source: torch.zeros(2, *shape)})
        self.layers = nn.ModuleDict(
            {_key(p.module.name): _module(forward) for p, forward in zip(graph.modules, made, strict=True)}
        )
        self._order = [_key(placed.module.name) for placed in graph.modules]
        self._sources = [
            tuple(None if isinstance(end, str) else end[0] for end in placed.sources) for placed in graph.modules
        ]
        self._output = next(iter(graph.outputs.values()))[0]

    def forward(self, x: Tensor) -> Tensor:
        results: list[Any] = []
        for key, sources in zip(self._order, self._sources, strict=True):
            results.append(self.layers[key](*(x if source is None else results[source] for source in sources)))
        found: Tensor = results[self._output]
        return found


class Concat(nn.Module):
    """Channels side by side."""

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.cat(parts, dim=1)


class Sum(nn.Module):
    """The sum of all inputs."""

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


class Product(nn.Module):
    """The product of all inputs, element by element."""

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.stack(parts).prod(0)


class Mean(nn.Module):
    """The mean of all inputs."""

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.stack(parts).mean(0)


class Zero(nn.Module):
    """Zeroes in the shape of the input."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class Applied(nn.Module):
    """A plain function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self._function(*inputs)


def _module(forward: Callable[..., Any]) -> nn.Module:
    return forward if isinstance(forward, nn.Module) else Applied(forward)


def _key(name: str) -> str:
    return name.replace(".", "_")

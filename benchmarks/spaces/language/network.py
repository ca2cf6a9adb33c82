"""Architectures as `torch.nn.Module`s: trainable and picklable; equal seeds of PyTorch give equal parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.language.graph import ProgramError
from nasbench.benchmarks.spaces.language.program import Program


class Network(nn.Module):
    """The network of a configuration of a program.

    Args:
        shapes: the shape of each open input, in the order of names, without the batch: (channels, height, width).

    `forward` takes the inputs in this order, and returns the output, or a tuple of outputs in the order of names.
    Raises ProgramError that names the module and the shapes that do not fit.
    """

    def __init__(self, program: Program, configuration: Configuration, *shapes: Sequence[int]) -> None:
        super().__init__()
        names = sorted(program.inputs)
        if len(shapes) != len(names):
            raise ProgramError(f"this space has the open inputs {', '.join(names)}: give a shape for each")
        graph = program.graph(configuration)
        with torch.no_grad():
            made, _ = graph.compile({name: torch.zeros(2, *shape) for name, shape in zip(names, shapes, strict=True)})
        self.layers = nn.ModuleDict(
            {_key(p.module.name): _module(forward) for p, forward in zip(graph.modules, made, strict=True)}
        )
        self._order = [_key(placed.module.name) for placed in graph.modules]
        modules = [placed.module for placed in graph.modules]

        def place(end: tuple[int, str] | str) -> tuple[int, int]:
            """(number of a module, number of its output); open inputs are modules -1, -2, …"""
            if isinstance(end, str):
                return -1 - names.index(end), 0
            return end[0], list(modules[end[0]].outputs).index(end[1])

        self._sources = [tuple(map(place, placed.sources)) for placed in graph.modules]
        self._several = [len(module.outputs) > 1 for module in modules]
        self._outputs = [place(end) for end in graph.outputs.values()]
        self.train()

    def forward(self, *inputs: Tensor) -> Any:
        results: list[Any] = []

        def value(module: int, output: int) -> Any:
            if module < 0:
                return inputs[-1 - module]
            return results[module][output] if self._several[module] else results[module]

        for key, sources in zip(self._order, self._sources, strict=True):
            results.append(self.layers[key](*(value(*source) for source in sources)))
        outputs = [value(*end) for end in self._outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Concat(nn.Module):
    """The concatenation of channels."""

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


class SamePool(nn.Module):
    """Maximum or mean pooling of 2 x 2 pixels with Keras's padding "same": padding is ignored.

    With stride 1 an image keeps its size, with stride 2 it is halved, rounded up.
    """

    def __init__(self, stride: int, largest: bool) -> None:
        super().__init__()
        self._stride, self._largest = stride, largest

    def forward(self, x: Tensor) -> Tensor:
        missing = [(-(-side // self._stride) - 1) * self._stride + 2 - side for side in x.shape[:1:-1]]
        ends = (0, missing[0], 0, missing[1])
        if self._largest:
            return nn.functional.max_pool2d(nn.functional.pad(x, ends, value=-torch.inf), 2, self._stride)
        there = nn.functional.pad(torch.ones_like(x[:1, :1]), ends)
        sums, counts = (nn.functional.avg_pool2d(part, 2, self._stride) for part in (nn.functional.pad(x, ends), there))
        return sums / counts


class SqueezeExcitation(nn.Module):
    """Scales each channel by the output of a small network of all channels' means (Hu et al., CVPR 2018)."""

    def __init__(self, channels: int, units: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Linear(channels, units), nn.Linear(units, channels)

    def forward(self, x: Tensor) -> Tensor:
        weights = torch.sigmoid(self.excite(torch.relu(self.squeeze(x.mean((2, 3))))))
        return x * weights[:, :, None, None]


class Attention(nn.Module):
    """Multi-head self-attention of tokens (Vaswani et al., NeurIPS 2017), shape (batch, tokens, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"{heads} heads do not divide a width of {width}")
        self._heads = heads
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.project(x).view(batch, tokens, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(2, 3) * q.shape[-1] ** -0.5, dim=-1)
        merged: Tensor = self.merge((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        return merged


class Tokens(nn.Module):
    """Images (batch, channels, height, width) as tokens (batch, height × width, channels)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).transpose(1, 2)


class Positions(nn.Module):
    """Adds a learnt vector to the token at each position."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(1, tokens, width))
        nn.init.trunc_normal_(self.vectors, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.vectors


class AcrossTokens(nn.Module):
    """A linear layer along the tokens, applied to each channel (Tolstikhin et al., NeurIPS 2021)."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.mix = nn.Linear(tokens, tokens)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.mix(x.transpose(1, 2))
        return mixed.transpose(1, 2)


class TokenPool(nn.Module):
    """Mean or maximum pooling of all tokens into one vector."""

    def __init__(self, largest: bool) -> None:
        super().__init__()
        self._largest = largest

    def forward(self, x: Tensor) -> Tensor:
        return x.amax(1) if self._largest else x.mean(1)


class Dropout(nn.Module):
    """Sets a random share of the values to zero in training, and scales the others up.

    It draws from `generator` if one is set. All threads share PyTorch's global state, so networks trained in parallel
    would depend on each other.
    """

    generator: torch.Generator | None = None

    def __init__(self, rate: float) -> None:
        super().__init__()
        self._rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self._rate:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self._rate, generator=self.generator)
        return x * kept / (1 - self._rate)


class Applied(nn.Module):
    """A plain function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def _module(forward: Callable[..., Any]) -> nn.Module:
    return forward if isinstance(forward, nn.Module) else Applied(forward)


def _key(name: str) -> str:
    return name.replace(".", "_")

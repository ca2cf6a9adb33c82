"""Networks as graphs of layers (NASBOT, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class LayerGraph:
    """A network: layers in topological order, the first `ip` (input), the last `op` (output)."""

    labels: tuple[str, ...]
    """conv3, max-pool, fc, …"""
    units: tuple[int | None, ...]
    """Filters or units of each layer; None where it keeps what comes in."""
    edges: frozenset[tuple[int, int]]
    """(from, to), by position."""
    strides: tuple[int | None, ...] = ()
    """Stride of each layer, None for a layer that is no convolution; empty if no stride is known."""
    kind: str = "cnn"
    """Which networks it can be compared with: cnn, mlp-reg, mlp-class, cell, program."""
    channels: int = 1
    """Number of channels of the input."""
    summed: bool = False
    """Whether what several edges bring to a layer is added up; else it is concatenated."""
    arriving: tuple[int, ...] = ()
    """Channels that arrive at each layer, where some of what comes together is added up and some concatenated; empty
    where `summed` tells all."""

    def stride(self, layer: int) -> int:
        """Stride of a layer; 1 where it has none, or none is known."""
        return (self.strides[layer] if self.strides else None) or 1

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The layers that each layer takes its input from, in ascending order."""
        parents: list[list[int]] = [[] for _ in self.labels]
        for source, target in sorted(self.edges):
            parents[target].append(source)
        return tuple(map(tuple, parents))

    @cached_property
    def incoming(self) -> tuple[int, ...]:
        """Channels that arrive at each layer; what sums has what one parent brings."""
        if self.arriving:
            return self.arriving
        brought: list[int] = []
        arriving: list[int] = []
        for label, units, parents in zip(self.labels, self.units, self.parents, strict=True):
            parts = [brought[p] for p in parents]
            channels = (max(parts, default=0)) if self.summed else sum(parts)
            arriving.append(channels)
            brought.append(self.channels if label == "ip" else channels if units is None else units)
        return tuple(arriving)

    @cached_property
    def weights(self) -> int:
        """Approximate number of weights: incoming channels times units, summed over all layers."""
        return sum(i * u for i, u in zip(self.incoming, self.units, strict=True) if u is not None)

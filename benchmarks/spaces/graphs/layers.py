"""Networks as graphs of layers (NASBOT, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class LayerGraph:
    """A network: layers in topological order, the first `ip` (input), the last `op` (output)."""

    labels: tuple[str, ...]
    """Kind of each layer: conv3, max-pool, fc, …"""
    units: tuple[int | None, ...]
    """Filters or units of each layer; None for a layer that keeps the number of channels."""
    edges: frozenset[tuple[int, int]]
    """Edges as (from, to), by position."""
    strides: tuple[int | None, ...] = ()
    """Stride of each layer, None for a layer other than a convolution; empty if strides are not known."""
    kind: str = "cnn"
    """Kind of network: cnn, mlp-reg, mlp-class, cell, program. Only networks of one kind can be compared."""
    channels: int = 1
    """Number of channels of the input."""
    summed: bool = False
    """Whether the inputs of a layer are added up; otherwise they are concatenated."""
    arriving: tuple[int, ...] = ()
    """Channels that arrive at each layer, for a network where some layers add and others concatenate; empty if all
    layers do as `summed` says."""

    def stride(self, layer: int) -> int:
        """Stride of a layer; 1 if it has none, or it is not known."""
        return (self.strides[layer] if self.strides else None) or 1

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The inputs of each layer, ascending."""
        return self._grouped((target, source) for source, target in self.edges)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The layers that take from each layer, ascending."""
        return self._grouped(self.edges)

    @cached_property
    def incoming(self) -> tuple[int, ...]:
        """Channels that arrive at each layer; a sum has the channels of one of its terms."""
        if self.arriving:
            return self.arriving
        outputs: list[int] = []
        arriving: list[int] = []
        for label, units, parents in zip(self.labels, self.units, self.parents, strict=True):
            parts = [outputs[p] for p in parents]
            channels = max(parts, default=0) if self.summed else sum(parts)
            arriving.append(channels)
            outputs.append(self.channels if label == "ip" else channels if units is None else units)
        return tuple(arriving)

    @cached_property
    def weights(self) -> int:
        """Approximate number of weights: incoming channels times units, summed over all layers."""
        return sum(i * u for i, u in zip(self.incoming, self.units, strict=True) if u is not None)

    def _grouped(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
        """The second layers of pairs, ascending, for each layer as the first."""
        groups: list[list[int]] = [[] for _ in self.labels]
        for first, second in sorted(pairs):
            groups[first].append(second)
        return tuple(map(tuple, groups))

"""Networks as graphs of layers (NASBOT, section 2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerGraph:
    """A network: layers in topological order, the first `ip` (input), the last `op` (output)."""

    labels: tuple[str, ...]
    """conv3, max-pool, fc, …"""
    units: tuple[int | None, ...]
    """Filters or units of each layer; None where it keeps what comes in."""
    edges: frozenset[tuple[int, int]]
    """(from, to), by position."""

"""Paths in directed graphs whose edges lead to higher numbers."""

from __future__ import annotations

from collections.abc import Sequence


def on_paths(edges: Sequence[tuple[int, int]], last: int) -> set[int]:
    """The nodes on paths from node 0 to the last node; empty if there is no path.

    Args:
        edges: (from, to), ascending by target.
        last: number of the last node.
    """
    forward, backward = {0}, {last}
    for source, target in edges:
        if source in forward:
            forward.add(target)
    for source, target in reversed(edges):
        if target in backward:
            backward.add(source)
    return forward & backward

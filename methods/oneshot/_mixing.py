"""The operations of a stage's cell that are computed, and their shares: one indexed tensor per stage and pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from nasbench.benchmarks.spaces.cells.operations import EDGES, SPATIAL, ZERO, sized
from nasbench.methods.oneshot.distributions import Alive, Probabilities, Rows

POINTWISE = sized(SPATIAL, 1)
LEAVING = [[k for k, (source, _) in enumerate(EDGES) if source == node] for node in range(3)]
"""The edges that leave each node."""


class Job(NamedTuple):
    """One operation on those edges that leave a node and have the operation."""

    column: int
    """Number of the operation."""
    size: int | None
    """Number of the kernel size; None if all sizes share one convolution."""
    edges: tuple[int, ...]


class Plan(NamedTuple):
    """The jobs of a stage's cell, by node."""

    convolved: tuple[tuple[Job, ...], ...]
    """Convolutions, per node."""
    others: tuple[tuple[Job, ...], ...]
    """Operations without weights, per node."""


class MixedEdges:
    """The probabilities above zero on the edges of a stage's cell.

    Args:
        probabilities: the distributions of the supernet.
        alive: which probabilities are above zero, for all stages.
        stage: number of the stage, from 0.
        names: the operations, in the order of their columns.
        width: channels of the stage; a convolution's share is repeated for each of them.
        sizes: number of kernel sizes, if each has its convolution; None if there is one convolution for all.
    """

    def __init__(
        self,
        probabilities: Probabilities,
        alive: Alive,
        stage: int,
        names: Sequence[str],
        width: int,
        sizes: int | None,
    ) -> None:
        rows = slice(len(EDGES) * stage, len(EDGES) * (stage + 1))
        operations = probabilities.operations[rows]
        self.kernels = None if probabilities.kernels is None else probabilities.kernels[rows]
        self.depths: dict[int, Tensor] | None = None
        """Shares of the cells whose output counts, by number from 0; None if depths are not searched."""
        if probabilities.depths is not None and alive.depths is not None:
            shares = probabilities.depths[stage].unbind()
            self.depths = {n: share for n, share in enumerate(shares) if alive.depths[stage][n]}
        on = alive.operations[rows]
        of_sizes = None if sizes is None or alive.kernels is None else alive.kernels[rows]
        plan = _plan(tuple(names), on, of_sizes)
        shares_of = operations.flatten()
        if of_sizes is not None and self.kernels is not None:
            spatial = operations[:, names.index(SPATIAL), None]
            shares_of = torch.cat([shares_of, (spatial * self.kernels).flatten()])
        self._convolved = _with_shares(
            plan.convolved, shares_of, len(names), len(of_sizes[0]) if of_sizes else 0, width
        )
        self._others = _with_shares(plan.others, shares_of, len(names), 0, 1)

    def convolved(self, node: int) -> list[tuple[Job, Tensor]]:
        """The convolutions on edges that leave a node, with the share of each channel, shape (edges × width,)."""
        return self._convolved[node]

    def others(self, node: int) -> list[tuple[Job, Tensor]]:
        """The operations without weights on edges that leave a node, with the share of each edge, shape (edges,)."""
        return self._others[node]


def _with_shares(
    jobs: tuple[tuple[Job, ...], ...], shares: Tensor, columns: int, sizes: int, width: int
) -> list[list[tuple[Job, Tensor]]]:
    """Each job with its shares; all shares are indexed at once."""
    if not any(jobs):
        return [[] for _ in jobs]
    chosen = shares[_places(jobs, columns, sizes, shares.device)]
    if width > 1:
        chosen = chosen.repeat_interleave(width)
    parts = iter(torch.split_with_sizes(chosen, [width * len(job.edges) for node in jobs for job in node]))
    return [[(job, next(parts)) for job in node] for node in jobs]


@lru_cache(maxsize=1024)
def _places(jobs: tuple[tuple[Job, ...], ...], columns: int, sizes: int, device: torch.device) -> Tensor:
    """Indices of the jobs' shares: first those of operations, edge by edge, then those of kernel sizes."""
    places = [
        edge * columns + job.column if job.size is None else len(EDGES) * columns + edge * sizes + job.size
        for node in jobs
        for job in node
        for edge in job.edges
    ]
    return torch.tensor(places, device=device)


@lru_cache(maxsize=1024)
def _plan(names: tuple[str, ...], on: Rows, of_sizes: Rows | None) -> Plan:
    """The jobs of each node: the operations with a probability above zero."""
    convolved, others = [], []
    for leaving in LEAVING:
        convolutions, rest = [], []
        for column, name in enumerate(names):
            edges = tuple(k for k in leaving if on[k][column])
            if name == ZERO or not edges:
                continue
            if name == SPATIAL and of_sizes is not None:
                for size in range(len(of_sizes[0])):
                    sized_edges = tuple(k for k in edges if of_sizes[k][size])
                    convolutions += [Job(column, size, sized_edges)] if sized_edges else []
            elif name in (SPATIAL, POINTWISE):
                convolutions.append(Job(column, None, edges))
            else:
                rest.append(Job(column, None, edges))
        convolved.append(tuple(convolutions))
        others.append(tuple(rest))
    return Plan(tuple(convolved), tuple(others))

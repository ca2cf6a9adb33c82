"""Which operations of a stage's cell are computed, and with which shares: one indexed tensor per stage and pass."""

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
    """One operation on the edges that leave a node and have it."""

    column: int
    """Number of the operation."""
    size: int | None
    """Number of the kernel size, where sizes have convolutions of their own."""
    edges: tuple[int, ...]
    """The edges."""


class Plan(NamedTuple):
    """What a stage's cell computes, node by node."""

    convolved: tuple[tuple[Job, ...], ...]
    """Convolutions, per node."""
    others: tuple[tuple[Job, ...], ...]
    """Operations without weights, per node."""


class MixedEdges:
    """The probabilities on the edges of a stage's cell, and which of them count.

    Args:
        probabilities: the distributions of the supernet.
        alive: which probabilities are above zero, for all stages.
        stage: number of the stage, from 0.
        names: the operations, in the order of their columns.
        width: channels of the stage; a convolution's share is repeated for each.
        sizes: number of kernel sizes with a convolution of their own; None where there is one convolution for all.
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
        rows = slice(6 * stage, 6 * stage + 6)
        operations = probabilities.operations[rows]
        self.kernels = None if probabilities.kernels is None else probabilities.kernels[rows]
        self.depths: dict[int, Tensor] | None = None
        """Cells whose output counts, from 0, with their shares; None where depths are not searched."""
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
        """The convolutions of what leaves a node, with the share of each channel, shape (edges × width,)."""
        return self._convolved[node]

    def others(self, node: int) -> list[tuple[Job, Tensor]]:
        """The operations without weights on what leaves a node, with the share of each edge, shape (edges,)."""
        return self._others[node]


def _with_shares(
    jobs: tuple[tuple[Job, ...], ...], shares: Tensor, columns: int, sizes: int, width: int
) -> list[list[tuple[Job, Tensor]]]:
    """Each job with its shares, taken from all shares in one go."""
    if not any(jobs):
        return [[] for _ in jobs]
    chosen = shares[_places(jobs, columns, sizes, shares.device)]
    if width > 1:
        chosen = chosen.repeat_interleave(width)
    parts = iter(torch.split_with_sizes(chosen, [width * len(job.edges) for node in jobs for job in node]))
    return [[(job, next(parts)) for job in node] for node in jobs]


@lru_cache(maxsize=1024)
def _places(jobs: tuple[tuple[Job, ...], ...], columns: int, sizes: int, device: torch.device) -> Tensor:
    """Where the shares of jobs stand: first those of operations, edge by edge, then those of kernel sizes."""
    found = [
        edge * columns + job.column if job.size is None else 6 * columns + edge * sizes + job.size
        for node in jobs
        for job in node
        for edge in job.edges
    ]
    return torch.tensor(found, device=device)


@lru_cache(maxsize=1024)
def _plan(names: tuple[str, ...], on: Rows, of_sizes: Rows | None) -> Plan:
    """The jobs of each node: what has a probability above zero."""
    convolved, others = [], []
    for leaving in LEAVING:
        convolutions, rest = [], []
        for column, name in enumerate(names):
            edges = tuple(k for k in leaving if on[k][column])
            if name == ZERO or not edges:
                continue
            if name == SPATIAL and of_sizes is not None:
                for size in range(len(of_sizes[0])):
                    own = tuple(k for k in edges if of_sizes[k][size])
                    convolutions += [Job(column, size, own)] if own else []
            elif name in (SPATIAL, POINTWISE):
                convolutions.append(Job(column, None, edges))
            else:
                rest.append(Job(column, None, edges))
        convolved.append(tuple(convolutions))
        others.append(tuple(rest))
    return Plan(tuple(convolved), tuple(others))

"""Training of a supernet one random path at a time, and evolution on its weights (SPOS, Guo et al., ECCV 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.spaces.cells import Stage, Ties, dead_stages, without_dead_edges
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable
from nasbench.methods.oneshot.distributions import Probabilities, Rows, Shared, alive_of
from nasbench.methods.oneshot.sampling import network_of
from nasbench.methods.oneshot.search import Search, exact
from nasbench.methods.oneshot.settings import RECALIBRATED, Settings
from nasbench.methods.oneshot.zeroth_order import Update

_SCORED = 256  # images per batch when a path is scored
_TRIES = 10  # children made at most for a part of a generation, as a multiple of the population

Genes: TypeAlias = tuple[int, ...]
"""A path: the number of the option taken at each choice; operations, then kernel sizes and depths if searched."""


class Scored(NamedTuple):
    """The error and loss of a path with the shared weights on unseen images; ordered by error, then by loss."""

    error: float
    """Percent."""
    loss: float
    genes: Genes


@dataclass(frozen=True)
class Paths:
    """The paths of a supernet: one cell for the whole network, or a cell per stage with kernel sizes and depths."""

    space: Searchable
    settings: Settings

    @property
    def choices(self) -> tuple[int, ...]:
        """The number of options of each gene."""
        s, (edges, stages) = self.settings, self._counts
        if not s.flexible:
            return (len(self.space.operations),) * edges
        return (len(self.space.operations),) * edges + (len(s.kernels),) * edges + (self.space.depth,) * stages

    @cached_property
    def _ties(self) -> Ties:
        return self.space.ties(self.settings.flexible)

    @cached_property
    def _shared(self) -> Shared:
        return Shared(self._ties, self.space.operations)

    @property
    def _counts(self) -> tuple[int, int]:
        """The numbers of choices of an operation, and of a depth."""
        return len(self._ties.searched), len(self._ties.deep)

    def drawn(self, rng: Generator) -> Genes:
        """A path, drawn uniformly among those that are alive."""
        while True:
            genes = tuple(rng.integers(self.choices).tolist())
            if not dead_stages(self.stages(genes)):
                return genes

    def stages(self, genes: Genes) -> tuple[Stage, ...]:
        """The network of a path."""
        return network_of(
            self._parts(genes), self.settings.kernels, self.space.depth, self._ties, self.space.operations
        )

    def _parts(self, genes: Genes) -> list[Genes]:
        """The choices of operations and, if they are searched, of kernel sizes and of depths."""
        edges, _ = self._counts
        return [part for part in (genes[:edges], genes[edges : 2 * edges], genes[2 * edges :]) if part]

    def probabilities(self, genes: Genes, device: torch.device) -> Probabilities:
        """The distributions that put all probability on one path."""
        widths = (len(self.space.operations), len(self.settings.kernels), self.space.depth)
        rows: list[Rows] = [
            tuple(tuple(gene == choice for choice in range(width)) for gene in part)
            for part, width in zip(self._parts(genes), widths, strict=False)
        ]
        chosen = Probabilities.of([torch.tensor(part).float() for part in rows])
        whole = self._shared(chosen)
        (alive,) = alive_of([whole])
        return Probabilities.of([part.to(device) for part in whole.present()])._replace(alive=alive)


class SinglePath(Search):
    """A supernet whose weights are trained on one path per batch, drawn uniformly; no architecture is trained."""

    @cached_property
    def paths(self) -> Paths:
        """The paths from which batches and evolution draw."""
        return Paths(self.space, self.settings)

    def _stepped(self, epoch: int) -> list[Update]:
        rng = np.random.default_rng([self.seed, epoch, 1])
        for train, val in self._pairs(epoch):
            path = self.paths.probabilities(self.paths.drawn(rng), self.data.device)
            loss = cross_entropy(self.network(train.images, path), train.labels)
            self.weights.step(loss, used_only=True)
            self.rule.losses.append(loss.detach())
            last = val
        with torch.no_grad():  # once per epoch, for the log
            self._val_losses.append(cross_entropy(self.network(last.images, path), last.labels))
        return []

    def _architecture(self) -> dict[str, Any]:
        return {}  # no architecture is trained

    def evolved(
        self, fits: Callable[[Sequence[Stage]], bool], population: int, generations: int, parents: int, mutation: float
    ) -> list[Scored]:
        """Every path that evolution has scored, the best first.

        As in the authors' code, the best `parents` of all generations are kept. Half of each later generation is
        mutated from them, half is crossed, and missing paths are drawn. Only paths that fit are scored, and of those
        of one network only the first: an edge on no path to the output has no effect, nor has the kernel size of an
        edge without a convolution.
        """
        rng = np.random.default_rng([self.seed, 0, 2])
        scored: dict[tuple[Stage, ...], Scored] = {}
        half = population // 2
        for _ in range(generations):
            best, before = sorted(scored.values())[:parents], len(scored)
            makers: list[tuple[Callable[[], Genes], int]] = [(partial(self.paths.drawn, rng), population)]
            if best:
                mutated, crossed = partial(self._mutated, best, mutation, rng), partial(self._crossed, best, rng)
                makers = [(mutated, half), (crossed, half), *makers]
            for make, share in makers:
                wanted = min(len(scored) + share, before + population)
                for _ in range(_TRIES * population):
                    if len(scored) >= wanted:
                        break
                    genes = make()
                    stages = self.paths.stages(genes)
                    network = without_dead_edges(stages)
                    if network not in scored and not dead_stages(stages) and fits(stages):
                        scored[network] = self.score(genes)
        return sorted(scored.values())

    def score(self, genes: Genes) -> Scored:
        """A path's error with the shared weights, on images that do not train the weights.

        Each layer is normalised by statistics of this path on images that train the weights (section 3.4).
        """
        path, batches = self.paths.probabilities(genes, self.data.device), self._validation
        wrong, loss = torch.zeros((2, len(batches)), device=self.data.device)
        with torch.no_grad(), exact():
            self.network.recalibrate(self._seen, path)
            for number, batch in enumerate(batches):
                outputs = self.network(batch.images, path)
                wrong[number] = (outputs.argmax(1) != batch.labels).sum()
                loss[number] = cross_entropy(outputs, batch.labels, reduction="sum")
        images = sum(len(batch.labels) for batch in batches)
        error, mean = (torch.stack([wrong.sum(), loss.sum()]) / images).tolist()
        return Scored(100 * error, mean, genes)

    @cached_property
    def _validation(self) -> list[LabelledImages]:
        """The half of the training images on which paths are ranked, in the same batches for all paths."""
        rng = np.random.default_rng([self.seed, 0, 3])
        return list(self.data.batches(_SCORED, None, rng, self._halves[1]))

    @cached_property
    def _seen(self) -> list[Tensor]:
        """Some images of the half that trains the weights, in the same batches for all paths."""
        rng = np.random.default_rng([self.seed, 0, 4])
        rows = self._halves[0][:RECALIBRATED]  # in random order already
        return [batch.images for batch in self.data.batches(_SCORED, None, rng, rows)]

    def _mutated(self, best: Sequence[Scored], mutation: float, rng: Generator) -> Genes:
        """A random path of the best, with each gene redrawn with a small probability."""
        genes = best[int(rng.integers(len(best)))].genes
        drawn = rng.integers(self.paths.choices).tolist()
        redrawn = (rng.random(len(genes)) < mutation).tolist()
        return tuple(new if is_new else old for old, new, is_new in zip(genes, drawn, redrawn, strict=True))

    @staticmethod
    def _crossed(best: Sequence[Scored], rng: Generator) -> Genes:
        """A cross of two of the best paths: each gene comes from one of them at random."""
        first, second = (best[k].genes for k in rng.integers(len(best), size=2).tolist())
        takes_first = rng.random(len(first)) < 0.5
        return tuple(a if takes else b for a, b, takes in zip(first, second, takes_first, strict=True))

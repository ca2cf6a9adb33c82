"""Baselines of one-shot search: random draws from its space, and evolution on uniformly trained weights (SPOS)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice, check_least
from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.cells import Stage, size
from nasbench.benchmarks.spaces.cells.operations import EDGES
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.methods.contract import METHODS, Logged
from nasbench.methods.oneshot.one_shot import OVERHEAD, OneShot
from nasbench.methods.oneshot.sampling import stages
from nasbench.methods.oneshot.settings import RECALIBRATED, Settings
from nasbench.methods.problem import Problem

_CELLS = ("one", "each")
_SAMPLED_PATHS = 10  # for an estimate of FLOPs


def _settings(cells: str, epochs: int = 1) -> Settings:
    check_choice("cells", cells, _CELLS)
    return Settings("single-path", flexible=cells == "each", epochs=epochs, stop=epochs, theta=0)


def mean_flops(settings: Settings, space: Searchable) -> float:
    """The mean FLOPs of some networks drawn uniformly, for one image."""
    rng = np.random.default_rng(0)
    paths = [drawn_uniformly(settings, space, rng) for _ in range(_SAMPLED_PATHS)]
    return float(np.mean([size(path, space.filters, space.shape, space.classes).flops for path in paths]))


@METHODS.register("one-shot-random")
class OneShotRandom(OneShot):
    """Draws from the space of a one-shot method without a search: the baseline that every search must beat.

    Take it for a baseline beside every one-shot search.

    Beside its source: there is nothing to depart from.
    """

    about = replace(OneShot.about, source="No paper: a baseline of this project.", shortened_by=())

    def __init__(self, problem: Problem, rng: Generator, *, cells: str = "one") -> None:
        super().__init__(problem, rng, _settings(cells))

    @property
    def beginning(self) -> float:
        return 0.0

    def _check_images(self) -> None:
        """Accepts all images: no supernet is trained."""

    def _search(self) -> None:
        """Does nothing."""

    def _drawn(self, rng: Generator) -> tuple[Stage, ...]:
        return drawn_uniformly(self._settings, self._space, rng)


@METHODS.register("spos")
class SPOS(OneShot):
    """Single path one-shot (Guo et al., ECCV 2020): shared weights trained on random paths, then evolution on them.

    One half of the training images trains the weights: each batch trains one path, drawn uniformly. The other half
    ranks paths, each normalised by its statistics on the first half. Paths are proposed in the order of their ranks.
    The evolution's defaults are the authors'.

    Take it for shared weights without a bilevel step.

    Beside its source: paths are drawn uniformly, not by bins of FLOPs; methods/oneshot/README.md has the table.

    Options:
        population: paths per generation, at least 1.
        generations: generations of the evolution, at least 1.
        parents: best paths so far from which the next generation is made, at least 1.
        mutation: probability that a choice of a path is redrawn, in (0, 1].
    """

    about = replace(
        OneShot.about,
        source=(
            "Z. Guo, X. Zhang, H. Mu, W. Heng, Z. Liu, Y. Wei and J. Sun. Single Path One-Shot Neural Architecture "
            "Search with Uniform Sampling. ECCV 2020."
        ),
        version=6,
        shortened_by=("epochs", "generations"),
    )

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        cells: str = "one",
        population: int = 50,
        generations: int = 20,
        parents: int = 10,
        mutation: float = 0.1,
    ) -> None:
        counts = {"population": population, "generations": generations, "parents": parents}
        for name, value in counts.items():
            check_least(name, value, 1)
        if not 0 < mutation <= 1:
            raise UsageError(f"mutation must lie in (0, 1], not {mutation:g}")
        super().__init__(problem, rng, _settings(cells, epochs))
        self._evolution = population, generations, parents, mutation
        self._ranked: list[tuple[float, tuple[Stage, ...]]] = []
        self._asked = 0

    @property
    def beginning(self) -> float:
        space, flops = self._space, mean_flops(self._settings, self._space)
        population, generations, _, _ = self._evolution
        half = space.training_images / 2
        images = 3 * self._settings.stop * half + population * generations * (half + min(half, RECALIBRATED))
        batches = self._settings.stop * half / space.batch
        return images * flops / space.flops_a_second + batches * 3 * space.depth * len(EDGES) * OVERHEAD

    @property
    def log(self) -> Sequence[Logged]:
        """The training of the weights by epoch, sizes of the best paths, and the errors of all paths, best first."""
        return [*super().log, *self._errors()]

    def _sizes(self) -> Iterator[Logged]:
        return super()._sizes() if self._ranked else iter(())  # if no path fits there is nothing to draw from

    def ask(self) -> Configuration:
        if not self._searched:
            self._search()
            self._searched = True
        if not self._ranked:
            raise RuntimeError("infeasible: evolution has found no path within the constraints")
        # After the last path the first one is proposed again.
        _, best = self._ranked[self._asked % len(self._ranked)]
        self._asked += 1
        return self._space.configuration(best)

    def _search(self) -> None:
        from nasbench.methods.oneshot.single_path import SinglePath

        search = SinglePath(self._space, self._settings, self._seed)
        self._run(search)
        paths = search.evolved(lambda drawn: self._fitting(drawn) is not None, *self._evolution)
        self._ranked = [(path.error, search.paths.stages(path.genes)) for path in paths]

    def _drawn(self, rng: Generator) -> tuple[Stage, ...]:
        """A random path among the best, as many as evolution has parents."""
        first = self._ranked[: self._evolution[2]]
        return first[rng.integers(len(first))][1]

    def _errors(self) -> Iterator[Logged]:
        for rank, (error, _) in enumerate(self._ranked, 1):
            yield Logged(len(self._epochs), "path_error", error, step=rank)


def drawn_uniformly(settings: Settings, space: Searchable, rng: Generator) -> tuple[Stage, ...]:
    """A network of a one-shot method's space, possibly a dead one; every choice has the same probability."""
    widths = [
        (3 * len(EDGES), len(space.operations)),
        *([(3 * len(EDGES), len(settings.kernels)), (3, space.depth)] if settings.flexible else []),
    ]
    shares = [[[1 / choices] * choices] * rows for rows, choices in widths]
    return stages(shares, settings.kernels, space.depth, rng, space.ties(settings.flexible), space.operations)

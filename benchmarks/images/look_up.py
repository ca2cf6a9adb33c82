"""One-shot search whose draws are looked up: `supernet:IMAGES:TABLE`.

Most noise in comparisons of one-shot methods comes from training what they draw. Here a draw is a network of a table,
and its score is its percentile among all that were trained.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, require_torch
from nasbench.base.metrics import Metric
from nasbench.benchmarks.images.benchmark import FLOPS_A_SECOND, on_device
from nasbench.benchmarks.images.datasets import DATASETS, Dataset
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.cells import Stage, Ties
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.cells.stages import MINIATURE, MINIATURE_TIES
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.spaces.hyperparameters import Choice
from nasbench.benchmarks.spaces.network_grids import CellGrid, MiniatureGrid
from nasbench.benchmarks.spaces.published.cells import DEPTHS
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS
from nasbench.benchmarks.spec import open_benchmark
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.benchmarks.training.recipes import Recipe

_VERSION = 3  # to be raised when a change gives a search other images or another supernet
_SIDE, _IMAGES, _FILTERS, _BATCH = 16, 4000, 4, 64
_SECONDS = "train_time"


class LookUp(TabularBenchmark):
    """A table of trained networks for the scores, and images to search on.

    The table is of NAS-Bench-201's cells (the supernet has one cell per stage) or of `cells-mini` (up to three). The
    supernet has four channels in the first stage, and sees up to 4,000 training images of 16 × 16 pixels. The objective
    is the percentile of a network's mean objective in the table: 0 is best, and the mean over all networks is 50. What
    the table knows before training, such as a number of parameters, is a metric here, too. An evaluation takes the mean
    training time of that network, where the table is of `cells-mini` and has times; of NAS-Bench-201's cells, which
    were trained for longer on other images, it takes none.

    Args:
        images: name of a data set.
        table: name of a table.

    Raises UsageError for a name that does not exist, and for a table of another space or with other operations.
    """

    has_names = True
    """Neither place is the path of a file (`BenchmarkSpec.opens_a_file`)."""

    def __init__(self, images: str, table: str) -> None:
        data, trained = DATASETS.get(images), open_benchmark(table)
        if not isinstance(trained, TabularBenchmark) or not isinstance(trained.space, CellGrid | MiniatureGrid):
            raise UsageError(f"{table} is no table of cells, such as nb201-cifar10 or cells-organa")
        one_cell = isinstance(trained.space, CellGrid)
        if one_cell:
            _check_operations(table, trained.space)
        if data.side < _SIDE:
            raise UsageError(f"images of {images} have sides of {data.side} pixels, and a supernet here sees {_SIDE}")
        depth = 1 if one_cell else DEPTHS[-1]
        facts = f"{_VERSION} {trained.checksum} {data.checksum} {_SIDE} {_IMAGES} {_FILTERS} {depth} {_BATCH}"
        own = [] if one_cell else [n for n, m in enumerate(trained.metrics) if m.cheap or m.name == _SECONDS]
        is_timed = _SECONDS in [trained.metrics[number].name for number in own]
        facts += f" {_SECONDS}" if is_timed else ""
        objective = replace(trained.objective, description=f"mean over the repetitions of {table}")
        name = f"supernet:{images}:{table}"
        view = partial(_searchable, name, data, depth)
        space = (SupernetGrid if one_cell else SupernetMiniature)(trained.space.hyperparameters, view)
        super().__init__(
            name,
            trained.family,
            space,
            (
                Metric("percentile", "%", description=f"cells of {table} with a better mean objective"),
                objective,
                *(trained.metrics[number] for number in own),
            ),
            lambda: _percentiles(trained.means(0), [trained.means(number) for number in own]),
            cost=_SECONDS if is_timed else 0.0,
            source=f"{trained.source}; images: {data.source}",
            licence=f"{trained.licence}; images: {data.licence}",
            checksum=f"sha256:{hashlib.sha256(facts.encode()).hexdigest()}",
            absent=trained.absent,
            absence=trained.absence,
            search_space=trained.search_space,
        )
        self.caution = trained.caution
        self.procedure = f"one-shot methods train a supernet on {images}; a cell that they draw is looked up in {table}"
        self._images = space.as_supernet().images

    def make_ready(self) -> None:
        """Loads the images. Raises UsageError if they or PyTorch are missing."""
        require_torch(f"{self.name} is for methods that train a supernet")
        self._images()


class NetworkGrid(GridSpace):
    """The networks of a table that a supernet can hold.

    Args:
        searchable: makes the view for one-shot methods of this grid.
    """

    shared: Ties | None = None
    """Which edges and stages share a choice; None if one-shot methods decide that."""

    def __init__(self, hyperparameters: Sequence[Choice], searchable: Callable[[NetworkGrid], Searchable]) -> None:
        super().__init__(hyperparameters)
        self._searchable = searchable

    def as_supernet(self) -> Searchable:
        """The view for one-shot methods."""
        return self._searchable(self)

    @abstractmethod
    def cell(self, stages: Sequence[Stage]) -> Configuration:
        """The configuration of a network with these stages."""


class SupernetGrid(NetworkGrid, CellGrid):
    """The cells of NAS-Bench-201, the same in all stages."""

    def cell(self, stages: Sequence[Stage]) -> Configuration:
        return self.from_values(dict(zip((h.name for h in self.hyperparameters), stages[0].operations, strict=True)))


class SupernetMiniature(NetworkGrid, MiniatureGrid):
    """The networks of `cells-mini`."""

    shared = MINIATURE_TIES

    def cell(self, stages: Sequence[Stage]) -> Configuration:
        operations, depth = stages[-1]
        return self.from_values({f"op{k}": operations[edge] for k, edge in enumerate(MINIATURE)} | {"depth": depth})


def _check_operations(table: str, space: GridSpace) -> None:
    if other := next((h for h in space.hyperparameters if set(h.values) != set(OPERATIONS)), None):
        raise UsageError(
            f"{other.name} of {table} is one of {', '.join(map(str, other.values))}, and a supernet here has the "
            f"operations {', '.join(OPERATIONS)}"
        )


def _percentiles(means: NDArray[np.float64], beside: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The metrics of each cell, shape (cells, 1, metrics); cells with equal means have the middle of their ranks."""
    from scipy.stats import rankdata  # a light command loads no SciPy

    ranks = rankdata(means, nan_policy="omit")  # a table may lack cells
    return np.stack([100 * (ranks - 0.5) / np.isfinite(means).sum(), means, *beside], axis=1)[:, None]


def _searchable(name: str, data: Dataset, depth: int, grid: NetworkGrid) -> Searchable:
    images = min(_IMAGES, data.counts["train"])
    return Searchable(
        name,
        _FILTERS,
        (data.channels, _SIDE, _SIDE),
        data.classes,
        images,
        _BATCH,
        {},
        FLOPS_A_SECOND,
        partial(on_device, data, images, _SIDE, Recipe.layout),
        grid.cell,
        depth=depth,
        one_cell=grid.shared is None,
        shared=grid.shared,
    )

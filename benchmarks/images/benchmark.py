"""Live benchmarks that train a network on images."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import math
from dataclasses import asdict
from functools import cache, cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, require_torch, unknown
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.abilities import named
from nasbench.benchmarks.contract import BENCHMARKS, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.images._validity import caution, evidence
from nasbench.benchmarks.images.datasets import Dataset, loaded, reduced
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.cells import choices_of
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.language.graph import ProgramError
from nasbench.benchmarks.spaces.trainable import SPACES, Frame
from nasbench.benchmarks.spaces.trainable.cells import CellProgram, CellSpace
from nasbench.benchmarks.training.recipes import MOST_EPOCHS, OPTIONS, RECIPES, Recipe

if TYPE_CHECKING:
    from nasbench.benchmarks.training.augmentation import Resident
    from nasbench.benchmarks.training.training import Trained

_LOG = logging.getLogger("nasbench")

VERSION = 1
"""Version of training and measuring; to be raised when a change gives other scores."""

FLOPS_A_SECOND = 7e10  # measured on one core of a server's CPU, for networks with 8 and 16 filters
_SAMPLES = 10  # architectures from which the duration of an evaluation is estimated

_PAPER_FILTERS = 16  # channels of the first stage to which ZO-DARTS++'s size classes apply

_PLAIN = "cells"  # the space of a data set's plain name


class ImageBenchmark(Benchmark):
    """A space of networks, trained on a data set by a recipe.

    Its name is `DATA[/SPACE][/RECIPE][/OPTION…][@EPOCHS]`. The defaults are the space `cells`, the data set's recipe,
    and that recipe's precision, layout and epochs.
    """

    repeatable = Repeatable.SAME_MACHINE
    kind = "live"
    gpus = 0.25  # four networks for images of 28 x 28 pixels share a GPU; more by MPS (docs/notebook/gpu.md)

    def __init__(
        self,
        dataset: Dataset,
        space: str = _PLAIN,
        recipe: str | None = None,
        epochs: int | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self._dataset, self._space, self._options = dataset, space, options
        chosen = self._recipe = RECIPES[recipe or dataset.recipe].with_options(options)
        self._epochs = epochs or chosen.epochs
        self.batch = chosen.batch or dataset.batch[chosen.name]
        whole = dataset.counts["train"]
        self._images = min(chosen.images or whole, whole)
        self._side = min(chosen.side or dataset.side, dataset.side)
        parts = [space] * (space != _PLAIN) + [chosen.name] * (chosen.name != dataset.recipe)
        self.name = "/".join([dataset.name, *parts, *options]) + (f"@{epochs}" if epochs else "")
        self.variants = () if epochs else self._further()
        self.family, self.search_space = dataset.name, f"trained-{space}"
        self.reference = space == "resnet18"
        self.fidelities = () if epochs else tuple(range(1, MOST_EPOCHS + 1))
        self.fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, self._epochs + 1)))
        self.source, self.licence = dataset.source, dataset.licence
        cut = f"{self._images:,} of {whole:,} training images, " if self._images < whole else ""
        cut += f"{self._side} x {self._side} pixels, " if self._side < dataset.side else ""
        scale = f"{cut}{self._epochs} epochs, batches of {self.batch}, {chosen.filters} channels in the first stage"
        self.procedure = f"recipe {chosen.name}: {chosen.summary}; here {', '.join([scale, *options])}"
        if measured := evidence(self.name):
            self.procedure += f"; {measured}"
        self.caution = "" if self.reference else caution(self.name, self._epochs)
        frame = Frame(chosen.filters, (dataset.channels, self._side, self._side), dataset.classes)
        self.networks = SPACES.get(space)(frame)
        self.space = self.networks.space
        if isinstance(self.space, CellProgram):
            self.space.searchable = self._searchable
        self.metrics = _metrics(self._epochs, chosen, isinstance(self.networks, CellSpace))

    @cached_property
    def checksum(self) -> str:  # type: ignore[override]
        """Checksum of the images, the training and the space.

        Three networks represent a space of ours; one of a third party, which may change at any time, is represented by
        its choices and 32 networks.
        """
        rng = np.random.default_rng(0)
        is_ours = SPACES.get(self._space).__module__.startswith("nasbench.")
        samples = [self.networks.fingerprint(self.space.sample(rng)) for _ in range(3 if is_ours else 32)]
        recipe = asdict(self._recipe)
        for field in ("images", "side", "precision", "layout", "test_curve", "adam"):
            del recipe[field]  # added below where they differ from the default; no score depends on the last one
        facts = [VERSION, self._dataset.checksum, self._space, samples, recipe, self.batch, self._epochs]
        facts += [self._images] if self._images < self._dataset.counts["train"] else []
        facts += [[self._side]] if self._side < self._dataset.side else []
        facts += [*self._options, *(["adam"] if self._recipe.adam else [])]
        facts += [] if is_ours else [self.space.describe()]
        return f"sha256:{hashlib.sha256(json.dumps(facts).encode()).hexdigest()}"

    def seconds_each(self) -> float:
        return self._seconds

    @cached_property
    def _seconds(self) -> float:
        rng = np.random.default_rng(0)
        flops = [self.networks.size(self.space.sample(rng)).flops for _ in range(_SAMPLES)]
        # A backward pass costs as much as two forward passes.
        return 3 * float(np.mean(flops)) * self._images * self._epochs / FLOPS_A_SECOND

    def device(self) -> str:
        if importlib.util.find_spec("torch") is None:
            return ""
        from nasbench.benchmarks.training import training

        return training.device_name()

    def at(self, epochs: int) -> Benchmark:
        return ImageBenchmark(self._dataset, self._space, self._recipe.name, epochs, self._options)

    def variant(self, name: str) -> Benchmark:
        if name in (self._space, self._recipe.name):
            raise UsageError(f"{self.name} is {self.name}/{name} already: write it without")
        spaces = SPACES.names()
        if name in spaces and self._recipe.name != self._dataset.recipe:
            raise UsageError(f"the space comes before the recipe: {self._dataset.name}/{name}/{self._recipe.name}")
        if name not in self.variants:
            unloaded = BENCHMARKS.broken | SPACES.broken
            broken = "".join(f"; {module} cannot be loaded: {why}" for module, why in unloaded.items())
            raise UsageError(f"{unknown(f'variant of {self.name}', name, self.variants)}{broken}")
        if name in OPTIONS:
            return ImageBenchmark(self._dataset, self._space, self._recipe.name, options=(*self._options, name))
        if name in spaces:
            return ImageBenchmark(self._dataset, name)
        return ImageBenchmark(self._dataset, self._space, name)

    def make_ready(self) -> None:
        require_torch(f"{self.name} trains networks")
        self.resident()

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        """Trains for the first epochs of the full schedule; the scores are those of the best of these epochs."""
        begin = perf_counter()
        why = self.networks.infeasible(configuration)
        if why:
            return Evaluation({}, perf_counter() - begin, "infeasible", why)
        from nasbench.benchmarks.training import training

        begin -= training.interrupted_seconds(state, upto["epochs"])
        try:
            trained, values = self._trained(configuration, seed, state, upto["epochs"])
        except (training.TrainingFailed, ProgramError, RuntimeError, MemoryError) as error:
            # PyTorch raises RuntimeError if shapes do not fit, or memory does not suffice for this network alone.
            return Evaluation({}, perf_counter() - begin, "failed", str(error) or type(error).__name__)
        values |= self._cheap(configuration)
        metrics = {metric.name: values[metric.name] for metric in self.metrics}
        left = upto["epochs"] - len(trained.curve)  # epochs after the training was given up: nothing improves
        curve = trained.curve + (trained.val.error,) * left
        return Evaluation(metrics, perf_counter() - begin, reason=trained.given_up, curve=curve)

    def _trained(
        self, configuration: Configuration, seed: int, state: Path | None, until: int
    ) -> tuple[Trained, dict[str, float]]:
        """The result of training, and the values of the metrics that are not cheap, by name."""
        from nasbench.base import faults
        from nasbench.benchmarks.training import training

        data = self.resident()

        def train() -> tuple[Trained, float]:
            make = partial(self.networks.network, configuration)
            trained = training.train(make, data, self._recipe, self._epochs, self.batch, seed, state, until)
            return trained, training.latency(trained.network, data)

        trained, latency = faults.guarded(train)
        return trained, {
            f"val-error@{self._epochs}": trained.val.error,
            "val-auc": trained.val.auc,
            f"test-error@{self._epochs}": trained.test.error,
            "test-auc": trained.test.auc,
            f"test-error-optimistic@{self._epochs}": trained.optimistic,
            "train_time": trained.seconds,
            "latency": latency,
            "peak_memory": trained.memory,
        }

    def canonical(self, configuration: Configuration) -> Configuration:
        return self.networks.canonical(configuration)

    def known(self, metric: str, configuration: Configuration) -> float:
        if self.networks.infeasible(configuration):
            return math.nan
        return self._cheap(configuration)[metric]

    def quantile(self, metric: str, q: float) -> float:
        """The q-quantile of a cheap metric over random architectures that can be trained."""
        if not named(self, metric).cheap:
            raise UsageError(f"{self.name} has no table of {metric}: give an absolute bound")
        return float(np.quantile(self._pool[metric], q))

    @cached_property
    def _pool(self) -> dict[str, NDArray[np.float64]]:
        """The cheap metrics of random architectures that can be trained, each of shape (`networks.pool`,)."""
        if not isinstance(self.networks, CellSpace):
            _LOG.info("building %d networks of %s to measure their sizes", self.networks.pool, self.name)
        rng = np.random.default_rng(0)
        rows: list[dict[str, float]] = []
        while len(rows) < self.networks.pool:
            configuration = self.space.sample(rng)
            if not self.networks.infeasible(configuration):
                rows.append(self._cheap(configuration))
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _searchable(self) -> Searchable:
        frame, program, dataset = self.networks.frame, self.space, self._dataset
        assert isinstance(program, CellProgram)  # no other space has this view
        return Searchable(
            self.name,
            frame.filters,
            frame.shape,
            frame.classes,
            self._images,
            dataset.batch["search"],
            dataset.sizes if frame.filters == _PAPER_FILTERS else {},
            FLOPS_A_SECOND,
            partial(on_device, dataset, self._images, self._side, Recipe.layout),  # searches use the default layout
            lambda stages: program.from_values(choices_of(stages)),
            program.operations,
        )

    def _cheap(self, configuration: Configuration) -> dict[str, float]:
        size = self.networks.size(configuration)
        values = {"parameters": float(size.parameters), "flops": float(size.flops)}
        if isinstance(self.networks, CellSpace):
            values["parameters_paper"] = float(self.networks.parameters_paper(configuration))
        return values

    def resident(self) -> Resident:
        """The images on the device. Raises UsageError if they are missing or damaged."""
        return on_device(self._dataset, self._images, self._side, self._recipe.layout)

    def _further(self) -> tuple[str, ...]:
        """The variants that may still follow the name."""
        order = list(OPTIONS)
        options = order[order.index(self._options[-1]) + 1 :] if self._options else order
        if self._options or self._recipe.name != self._dataset.recipe:
            return tuple(options)
        spaces = [name for name in SPACES.names() if name != _PLAIN] if self._space == _PLAIN else []
        return (*spaces, *(name for name in RECIPES if name != self._recipe.name), *options)


@cache
def on_device(dataset: Dataset, images: int, side: int, layout: str) -> Resident:
    """A data set on the device, at most `images` training images of `side` pixels; loaded once per process."""
    from nasbench.benchmarks.training import training
    from nasbench.benchmarks.training.augmentation import Resident

    return Resident(reduced(loaded(dataset), images, side), dataset.flip, training.device(), layout)


def _metrics(epochs: int, recipe: Recipe, of_cells: bool) -> tuple[Metric, ...]:
    """The metrics of an image benchmark, the objective first."""
    chosen, there = "of the epoch whose validation error is smallest", "at that epoch"
    optimistic = Metric(
        f"test-error-optimistic@{epochs}",
        "%",
        description="smallest test error of all epochs, an optimistic number, for ZO-DARTS++'s table II only",
        split="test",
        epoch=epochs,
    )
    paper = Metric("parameters_paper", "", description="parameters as ZO-DARTS++ counts them", cheap=True)
    flops = "of convolutions and linear layers for one image; a multiply-add is two"
    return (
        Metric(f"val-error@{epochs}", "%", True, f"100 - validation accuracy, {chosen}", "val", epochs),
        Metric("val-auc", "", False, f"area under the ROC curve {there}", "val", epochs),
        Metric(f"test-error@{epochs}", "%", True, f"100 - test accuracy {there}", "test", epochs),
        Metric("test-auc", "", False, f"area under the ROC curve {there}", "test", epochs),
        *([optimistic] if recipe.optimistic else []),
        Metric("parameters", "", description="number of parameters", cheap=True),
        *([paper] if of_cells else []),
        Metric("flops", "", description=flops, cheap=True),
        Metric("train_time", "s", description="training alone, without validation"),
        Metric("latency", "ms", description="per image, in batches of up to 64, in eval mode"),
        Metric("peak_memory", "MiB", description="parameters, gradients, momentum, and what the backward pass needs"),
    )

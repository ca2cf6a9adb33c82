"""Image benchmarks for making tables: scores after every epoch, and CPU time instead of wall time."""

from __future__ import annotations

import hashlib
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nasbench.base.metrics import Metric
from nasbench.benchmarks.images.benchmark import ImageBenchmark
from nasbench.benchmarks.spaces import Configuration

if TYPE_CHECKING:
    from torch import nn

    from nasbench.benchmarks.training.training import Epoch, Trained

_SPLITS = ("val", "test")
_VERSION = 1  # of the recorded values; to be raised when a change gives other values


class TrainingCurves(ImageBenchmark):
    """A live benchmark whose scores are those of the last epoch, with the scores of all earlier epochs as a curve.

    No epoch is chosen, so all points of a curve are scores of the same kind. Earlier epochs belong to the schedule of
    the full training. Latency is left out: it means nothing while other trainings run in parallel.
    """

    cost = "train_time"
    """The metric that is the cost of an evaluation."""

    def __init__(self, plain: ImageBenchmark) -> None:
        super().__init__(plain._dataset, plain._space, plain._recipe.name, plain._epochs, plain._options)
        self.name = plain.name
        kept = [m for m in self.metrics if m.cheap or m.name == "peak_memory"]
        earlier = (self._scores(epoch) for epoch in range(1, self._epochs))
        areas = [
            Metric(f"{split}-auc@{self._epochs}", "", False, "area under the ROC curve", split, self._epochs)
            for split in _SPLITS
        ]
        times = [
            Metric("train_time", "s", description="CPU time of training alone, on one core"),
            Metric("evaluation_time", "s", description="CPU time of all else: validation and test after each epoch"),
        ]
        ends = self._scores(self._epochs)
        self.metrics = (*ends, *areas, *kept, *times, *(metric for scores in earlier for metric in scores))

    @cached_property
    def checksum(self) -> str:  # type: ignore[override]
        return f"sha256:{hashlib.sha256(f'curves {_VERSION} {super().checksum}'.encode()).hexdigest()}"

    def _trained(
        self, configuration: Configuration, seed: int, state: Path | None, until: int | None
    ) -> tuple[Trained, dict[str, float]]:
        """Trains without pause and state: an interrupted training would lose its curve."""
        from torch.nn.functional import cross_entropy

        from nasbench.base import faults
        from nasbench.benchmarks.training import training

        data = self.resident()
        val, test = (data.labels[split].cpu() for split in ("val", "test"))
        clock = training.clock_for(data.device)
        points: list[dict[str, float]] = []
        areas: list[float] = []

        def look(network: nn.Module, epoch: Epoch) -> None:
            losses = {"val-loss": epoch.val_loss, "train-loss": epoch.training_loss}
            point = {"val-error": epoch.val_error}
            points.append(point)
            is_last = len(points) in (self._epochs, self._recipe.discard)
            if is_last or self._recipe.test_curve:
                outputs = training.outputs_of(network, data.plain("test"))
                point["test-error"] = training.error_of(outputs, test)
                losses["test-loss"] = float(cross_entropy(outputs, test))
            if is_last:
                shown = training.outputs_of(network, data.plain("val"))
                areas[:] = training.scores(shown, val).auc, training.scores(outputs, test).auc
            point |= {name: float(f"{loss:.4g}") for name, loss in losses.items()}

        def train() -> Trained:
            points.clear()
            make = partial(self.networks.network, configuration)
            options = self._recipe, self._epochs, self.batch, seed
            return training.train(make, data, *options, at_epoch_end=look, clock=clock, scored=False)

        begin = clock()
        trained = faults.guarded(train)
        beside = clock() - begin - trained.seconds
        points += [points[-1]] * (self._epochs - len(points))  # a training that was given up keeps its last scores
        values = {
            metric.name: point[metric.name.rpartition("@")[0]]
            for number, point in enumerate(points, 1)
            for metric in self._scores(number)
        }
        values |= {f"{split}-auc@{self._epochs}": round(area, 6) for split, area in zip(_SPLITS, areas, strict=True)}
        times = {"train_time": round(trained.seconds, 3), "evaluation_time": round(beside, 3)}
        return trained, values | times | {"peak_memory": round(trained.memory, 3)}

    def _scores(self, epoch: int) -> list[Metric]:
        """The metrics with a curve, at one epoch; the objective first."""
        loss = "mean cross-entropy after the epoch"
        scores = [
            Metric(f"val-error@{epoch}", "%", True, "100 - validation accuracy after the epoch", "val", epoch),
            Metric(f"test-error@{epoch}", "%", True, "100 - test accuracy after the epoch", "test", epoch),
            Metric(f"val-loss@{epoch}", "", True, loss, "val", epoch),
            Metric(f"test-loss@{epoch}", "", True, loss, "test", epoch),
            Metric(f"train-loss@{epoch}", "", True, "mean cross-entropy of the epoch's batches", "train", epoch),
        ]
        tested = self._recipe.test_curve or epoch == self._epochs
        return [metric for metric in scores if tested or metric.split != "test"]

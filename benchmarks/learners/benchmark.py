"""The benchmarks `learner:NAME:DATA`: an estimator of scikit-learn, trained now on a data set of scikit-learn."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from functools import cache
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from nasbench.base.errors import check_choice
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.contract import Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.learners import data
from nasbench.benchmarks.learners.estimators import LEARNERS
from nasbench.benchmarks.spaces import Configuration

_VERSION = 1  # of what is trained and scored: raise it when a change gives other values
_SECONDS_PER_ROW = 1e-4  # means of eight random configurations: 1e-5 (linear, diabetes) to 4e-4 (forest, wine)


class _Point(NamedTuple):
    """A training at one level of the fidelity."""

    val: float
    test: float
    train_time: float
    """Seconds of training since the beginning."""


class LearnerBenchmark(Benchmark):
    """Trains an estimator on a half of a data set, and scores it on two quarters; the seed decides which.

    Levels of the fidelity are separate trainings; with the same seed they are equal to points of one.

    Args:
        learner: a name in `LEARNERS`.
        name: a data set in `data.DATA`.
    """

    repeatable = Repeatable.SAME_MACHINE
    kind = "live"

    has_names = True
    """Neither place is the path of a file (`BenchmarkSpec.opens_a_file`)."""

    def __init__(self, learner: str, name: str) -> None:
        check_choice("learner", learner, LEARNERS)
        check_choice("data set of learners", name, data.DATA)
        self.learner, self.learner_name, self._data = LEARNERS[learner], learner, name
        facts = data.DATA[name]
        self.name, self.family, self.search_space = f"learner:{learner}:{name}", f"sk-{learner}", f"sk-{learner}"
        self.space = self.learner.space
        self.source = f"{self.learner.title} of scikit-learn; {facts.source}, as scikit-learn holds it"
        self.licence = "BSD-3-Clause (scikit-learn), CC BY 4.0 (data of UCI)" if facts.classes else "BSD-3-Clause"
        text = f"{_VERSION} {learner} {name} {facts.checksum}"
        self.checksum = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        self.procedure = "trained on a half of the rows, scored on two quarters, drawn by the seed; one thread"
        levels = self.learner.levels
        self.metrics = (*self._scores(levels[-1] if levels else None), *_COSTS)
        if levels:
            self.fidelity = Fidelity(*self.learner.counted, levels, continuable=False)

    def _scores(self, level: int | None) -> tuple[Metric, Metric]:
        """The scores at a level of the fidelity, the objective first."""
        at = "" if level is None else f"@{level}"
        quantity, of = "error", "100 x the share of wrong classes"
        if not data.DATA[self._data].classes:
            quantity, of = "rmse", "root mean squared error, in % of the standard deviation of the training targets"
        val, test = (
            Metric(f"{part}-{quantity}{at}", "%", description=of, split=part, epoch=level) for part in ("val", "test")
        )
        return val, test

    def seconds_each(self) -> float:
        return _SECONDS_PER_ROW * data.DATA[self._data].rows

    def canonical(self, configuration: Configuration) -> Configuration:
        """The configuration with the first value of each hyper-parameter that has no effect."""
        values = self.space.values(configuration)
        idle = {name for (h, value), names in self.learner.idle.items() if values[h] == value for name in names}
        first = {h.name: h.values[0] for h in self.learner.space.hyperparameters if h.name in idle}
        return self.space.from_values({**values, **first})

    def make_ready(self) -> None:
        rows = len(data.split(self._data, 0)["train"].targets)
        some = self.space.values(self.learner.space.configuration(0))
        self.learner.make(some, data.DATA[self._data].classes > 0, rows, 0)  # imports what the clock must not count
        _threads()

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        begin = perf_counter()
        (point,), rest = self._trained(configuration, seed, tuple(upto.values()))
        values = dict(zip(self.places, (point.val, point.test, point.train_time, *rest), strict=True))
        return Evaluation(values, perf_counter() - begin)

    def _trained(
        self, configuration: Configuration, seed: int, levels: tuple[int, ...]
    ) -> tuple[list[_Point], tuple[float, float]]:
        """A training with its scores at some levels, ascending; the seconds of a prediction and the model's bytes.

        The levels are empty for an estimator without a fidelity, which has one point.
        """
        splits = data.split(self._data, seed)
        from sklearn.exceptions import ConvergenceWarning

        _threads().limit(limits=1)  # and not back again: other evaluations may run beside this one
        train, classes = splits["train"], data.DATA[self._data].classes > 0
        values = self.space.values(configuration)
        estimator = self.learner.make(values, classes, len(train.targets), seed % 2**32)
        points, trained = [], 0.0
        for level in levels or (None,):
            if level is not None:
                estimator.set_params(**{self.learner.grows: level})
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                started = thread_time()
                estimator.fit(*train)
                trained += thread_time() - started
            started = thread_time()
            answers = estimator.predict(splits["val"].inputs)
            predicted = thread_time() - started
            val = _score(answers, splits["val"], train, classes)
            test = _score(estimator.predict(splits["test"].inputs), splits["test"], train, classes)
            points.append(_Point(val, test, trained))
        return points, (predicted, float(len(pickle.dumps(estimator, protocol=5))))


class LearnerCurves(LearnerBenchmark):
    """A live benchmark as a table records it: with the scores at every level, and training seconds as the cost.

    In a table, all configurations of a repetition have the same seed and so the same split.
    """

    cost = "train_time"
    """The metric that is the cost of an evaluation."""

    def __init__(self, plain: LearnerBenchmark) -> None:
        super().__init__(plain.learner_name, plain._data)
        earlier = [metric for level in self.learner.levels[:-1] for metric in self._scores(level)]
        self.metrics = (*self.metrics, *earlier)
        self.fidelity = None

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        begin = perf_counter()
        (*earlier, last), rest = self._trained(configuration, seed, self.learner.levels)
        before = [score for point in earlier for score in (point.val, point.test)]
        row = (last.val, last.test, last.train_time, *rest, *before)
        return Evaluation(dict(zip(self.places, row, strict=True)), perf_counter() - begin)


_COSTS = (
    Metric("train_time", "s", description="CPU time of training, on one core"),
    Metric("predict_time", "s", description="CPU time of predicting the validation split, on one core"),
    Metric("model_size", "bytes", description="bytes of the pickled estimator"),
)


def _score(answers: Any, rows: data.LearnerSamples, train: data.LearnerSamples, classes: bool) -> float:
    """The error of predictions; those of a regression are clipped to the range of the training targets."""
    if classes:
        return float(100 * np.mean(answers != rows.targets))
    clipped = np.clip(answers, train.targets.min(), train.targets.max())
    return float(100 * np.sqrt(np.mean((clipped - rows.targets) ** 2)))


@cache
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

"""A live benchmark with two axes of fidelity in one file: epochs, which continue, and the size of the training set."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from nasbench import Benchmark, Evaluation, GridSpace, Metric
from nasbench.benchmarks import Axis, Fidelity, Level, Repeatable, keep, kept_in
from nasbench.benchmarks.spaces import Configuration, Ordinal

FEATURES, CLASSES = 8, 3
EPOCHS, SIZES = (1, 3, 9), (50, 200)


class Softmax(Benchmark):
    """Trains softmax regression by gradient descent on Gaussian clouds; the seed decides clouds and weights."""

    name = family = "softmax"
    source, licence, checksum = "made up", "MIT", "softmax-1"
    kind, repeatable = "live", Repeatable.SAME_MACHINE
    space = GridSpace([Ordinal("rate", (0.01, 0.1, 1.0)), Ordinal("decay", (0.0, 0.01, 0.1))])
    metrics = (Metric("val-error", "%", split="val"), Metric("test-error", "%", split="test"))
    fidelity = Fidelity("epochs", "1 epoch", EPOCHS, beside=(Axis("rows", "1 row", SIZES, continuable=False),))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        begin = perf_counter()
        values = self.space.values(configuration)
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(CLASSES, FEATURES))
        labels = rng.integers(CLASSES, size=400)
        inputs = centres[labels] + rng.normal(size=(400, FEATURES))
        weights, epoch, curve = np.zeros((FEATURES, CLASSES)), 0, np.zeros(0)
        earlier = 0.0
        kept = None if state is None else kept_in(state, lambda file: dict(np.load(file)))
        if kept is not None and kept["epoch"] <= upto["epochs"]:
            weights, epoch, curve = kept["weights"], int(kept["epoch"]), kept["curve"]
            if epoch == upto["epochs"]:  # the record of this very level was lost, so it was not paid
                earlier = float(kept["seconds"])
        train = slice(0, upto["rows"])
        while epoch < upto["epochs"]:
            epoch += 1
            outputs = inputs[train] @ weights
            shares = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            slope = inputs[train].T @ (shares - np.eye(CLASSES)[labels[train]]) / upto["rows"]
            weights = weights - values["rate"] * (slope + values["decay"] * weights)
            wrong = (inputs[200:] @ weights).argmax(axis=1) != labels[200:]
            val, test = 100 * wrong[:100].mean(), 100 * wrong[100:].mean()
            curve = np.append(curve, [[val, test]], axis=0) if len(curve) else np.array([[val, test]])
        seconds = earlier + perf_counter() - begin
        if state is not None:
            keep(state, lambda file: np.savez(file, weights=weights, epoch=epoch, curve=curve, seconds=seconds))
        val, test = curve[-1].tolist()
        seen = tuple(curve[e - 1, 0].item() for e in EPOCHS if e <= upto["epochs"])
        return Evaluation({"val-error": val, "test-error": test}, seconds, curve=seen)

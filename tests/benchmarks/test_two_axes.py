"""A fidelity of two axes, training epochs and training-set size: what the runner and the checks make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest
from numpy.random import Generator

from nasbench.benchmarks import Axis, Benchmark, Evaluation, Fidelity, Level, Metric, UsageError
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from nasbench.cli.checks import BENCHMARK_CHECKS, Check, Failed
from nasbench.methods import Method, Needs, Observation, Problem, Proposal
from tests.nasbench_cli.toy_runs import toy_run


class Subsets(Benchmark):
    """Trainings on some of the images: more epochs and more images make the loss smaller and the training longer."""

    name = family = "subsets"
    source, licence, checksum = "a formula", "MIT", "subsets-1"
    space = GridSpace([Ordinal("width", (16, 32, 64)), Ordinal("depth", (1, 2, 3, 4))])
    metrics = (Metric("loss", ""), Metric("size", "", cheap=True))
    fidelity = Fidelity(
        "epochs", "1 epoch", (1, 3, 9), beside=(Axis("images", "1 image", (100, 1000), continuable=False),)
    )

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        size = self.known("size", configuration)
        end = 10 / size + 100 / upto["images"] + seed % 1000 / 1e4
        curve = tuple(end + 1 / epochs for epochs in (1, 3, 9) if epochs <= upto["epochs"])
        return Evaluation({"loss": curve[-1], "size": size}, cost=upto.work * size / 1000, curve=curve)

    def known(self, metric: str, configuration: Configuration) -> float:
        width, depth = self.space.values(configuration).values()
        return float(width * depth)


class Screen(Method):
    """Trains on few images first, then goes on with that training, and trains what was good on all images."""

    needs = Needs(fidelity=True)
    plan: ClassVar = [(1, 100), (3, 100), (1, 1000), (9, 1000)]
    """The levels through which each configuration goes: the second and the last continue the training before them."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self.space, self.rng = problem.space, rng
        self.last: Observation | None = None
        self.seen: list[Observation] = []

    def ask(self) -> Proposal:
        step = len(self.seen) % len(self.plan)
        epochs, images = self.plan[step]
        level = Level(epochs=epochs, images=images)
        if step == 0 or self.last is None:
            return Proposal(self.space.sample(self.rng), level)
        return Proposal(self.last.configuration, level, self.last.trial if step % 2 else None)

    def tell(self, observation: Observation) -> None:
        self.last = observation
        self.seen.append(observation)


class OtherImages(Screen):
    """Goes on with a training on other images, which are a training of their own."""

    plan: ClassVar = [(1, 100), (1, 1000)]


class Unknown(Screen):
    """Asks for a number of images that there is not."""

    plan: ClassVar = [(1, 500)]


class Ended(Screen):
    """Goes on with a training whose epochs are over."""

    plan: ClassVar = [(9, 100), (9, 100)]


@pytest.mark.parametrize("check", BENCHMARK_CHECKS, ids=str)
def test_it_keeps_every_promise(check: Check) -> None:
    check.function(Subsets())


def test_a_method_may_go_up_along_both_axes() -> None:
    columns = toy_run(Screen, Subsets(), evals=4).columns
    whole = [1 * 100, 3 * 100, 1 * 1000, 9 * 1000]
    assert columns["level"].tolist()[:8] == whole * 2
    assert columns["trial"].tolist()[:8] == [0, 0, 2, 2, 4, 4, 6, 6]
    paid = [100, 300, 1300, 9300]
    assert columns["spent"].tolist()[:8] == pytest.approx([(i + w) / 9000 for i in (0, 9300) for w in paid])


def test_what_is_continued_costs_only_what_is_added() -> None:
    columns = toy_run(Screen, Subsets(), evals=2).columns
    (text,) = set(columns["configuration"][:4])
    width, depth = json.loads(text).values()
    expected = [work * width * depth / 1000 for work in (100, 200, 1000, 8000)]
    assert columns["cost"].tolist()[:4] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (OtherImages, "trial 0 is of another configuration, or cannot go on up to that level"),
        (Unknown, "there is no level epochs 1, images 500; allowed: epochs 1, 3, 9; images 100, 1000, each a separate"),
        (Ended, "trial 0 cannot be continued: it is at work, has failed, or has ended"),
    ],
)
def test_a_level_that_cannot_be_ends_the_run_with_the_reason(method: type[Method], reason: str) -> None:
    assert reason in toy_run(method, Subsets(), evals=4).failure


def test_levels_that_it_has_not_are_refused() -> None:
    for level in (Level(epochs=9), Level(epochs=9, images=500), Level(epochs=2, images=100), Level(images=100)):
        with pytest.raises(UsageError, match=r"subsets has no level .*; allowed: epochs 1, 3, 9; images 100, 1000"):
            Subsets().evaluate((0, 0), 0, level)


class FewImagesFail(Subsets):
    """Forgets a metric where there are few images."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(metrics={"loss": 1.0}) if upto["images"] == 100 else found


class FewImagesHaveLongCurves(Subsets):
    """Gives the curve of all epochs where there are few images."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(curve=(1.0, 1.0, 1.0)) if upto["images"] == 100 else found


@pytest.mark.parametrize("benchmark", [FewImagesFail(), FewImagesHaveLongCurves()])
def test_the_checks_look_at_levels_beside_the_ladder(benchmark: Benchmark) -> None:
    (check,) = [check for check in BENCHMARK_CHECKS if "levels" in str(check)]
    with pytest.raises(Failed, match="epochs 1, images 100"):
        check.function(benchmark)

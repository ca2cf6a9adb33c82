"""`nasbench check` of methods that choose how long to train, and of benchmarks whose trainings have levels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator

from nasbench.benchmarks import Evaluation, Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.checks import BENCHMARK_CHECKS, METHOD_CHECKS, Failed
from nasbench.cli.checks.methods import Trial
from nasbench.methods import METHODS, MethodSpec, Observation, Problem, Proposal
from tests.conftest import Lend
from tests.nasbench_cli.promises import by_promise
from tests.nasbench_cli.toys import Careful, Separate, Toy, Watched


class Levelled(Careful):
    """Trains up to level 3, then to the end what it was told of."""

    needs = replace(Careful.needs, fidelity=True)

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.further: list[Observation] = []

    def ask(self) -> Any:
        if self.further:
            last = self.further.pop()
            return Proposal(last.configuration, Level(epochs=27), last.trial)
        return Proposal(self.space.sample(self.rng), Level(epochs=3))

    def tell(self, observation: Observation) -> None:
        if observation.level.work == 3 and observation.evaluation.status == "ok":
            self.further.append(observation)


class Lost(Levelled):
    """Asks for a level that there is not."""

    def ask(self) -> Any:
        return super().ask()._replace(level=Level(epochs=28))


class Twice(Levelled):
    """Continues the same training again and again."""

    def ask(self) -> Any:
        found = super().ask()
        self.kept = getattr(self, "kept", None) or (found if found.continues is not None else None)
        return self.kept or found


class Eager(Levelled):
    """Continues what has failed."""

    def tell(self, observation: Observation) -> None:
        if observation.level.work == 3:
            self.further.append(observation)


class Swapped(Levelled):
    """Continues a training with another configuration."""

    def ask(self) -> Any:
        found = super().ask()
        return found if found.continues is None else found._replace(configuration=self.space.sample(self.rng))


class Backwards(Levelled):
    """Continues a training up to where it is."""

    def ask(self) -> Any:
        found = super().ask()
        return found if found.continues is None else found._replace(level=Level(epochs=3))


class Unsteady(Levelled):
    """Its levels depend on what all code shares."""

    def ask(self) -> Any:
        return super().ask()._replace(level=Level(epochs=int(np.random.randint(4, 27))), continues=None)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (Lost, "it asks for level epochs 28, which is none of epochs 1 to 27"),
        (Twice, "it continues trial 0, which was not told, is at work, has failed"),
        (Eager, "which was not told, is at work, has failed"),
        (Swapped, "with another configuration"),
        (Backwards, "up to level epochs 3, but it has reached epochs 3"),
        (Unsteady, r"the same tells led to .* at level epochs \d+ and .* at level epochs \d+ as proposal"),
    ],
)
def test_a_method_that_trains_as_it_may_not_is_found(method: type[Careful], sentence: str, lend: Lend) -> None:
    lend(METHODS, "broken", method)
    with pytest.raises(Failed, match=sentence):
        by_promise(METHOD_CHECKS, "levels are legal").function(Trial(MethodSpec("broken"), Watched()))


def test_a_method_that_chooses_levels_passes_every_check(lend: Lend) -> None:
    lend(METHODS, "levelled", Levelled)
    found = by_promise(METHOD_CHECKS, "levels are legal").function(Trial(MethodSpec("levelled"), Watched()))
    assert found == "levels epochs 3, epochs 27; 30 of 60 proposals continue a training"
    for check in METHOD_CHECKS:
        check.function(Trial(MethodSpec("levelled"), Watched()))


def test_what_cannot_be_continued_is_not(lend: Lend) -> None:
    lend(METHODS, "levelled", Levelled)
    with pytest.raises(Failed, match="cannot be continued"):
        by_promise(METHOD_CHECKS, "levels are legal").function(Trial(MethodSpec("levelled"), Separate()))
    for name in ("asha", "hyperband", "bohb"):
        by_promise(METHOD_CHECKS, "levels are legal").function(Trial(MethodSpec(name), Separate()))


class Cheaper(Watched):
    """Costs less and less."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return super().measure(configuration, seed, upto, state)._replace(cost=28.0 - upto.work)


class Lenient(Watched):
    """Has values at any level."""

    def evaluate(
        self, configuration: Configuration, seed: int, upto: Level | None = None, state: Path | None = None
    ) -> Evaluation:
        return self.measure(
            configuration, seed, Level(epochs=27) if upto is None or "epochs" not in upto else upto, state
        )


class Restless(Watched):
    """Has other values each time, below the last level."""

    calls: ClassVar[list[int]] = []

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        self.calls.append(upto.work)
        found = super().measure(configuration, seed, upto, state)
        return (
            found
            if upto.work == 27
            else found._replace(metrics={**found.metrics, "loss": float(len(self.calls))}, curve=None)
        )


class Ignoring(Watched):
    """Trains to the end, whatever it is asked for."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return super().measure(configuration, seed, Level(epochs=27), state)._replace(curve=None)


class Shorter(Watched):
    """Its curves lack their last value."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(curve=(found.curve or ())[:-1])


class Ended(Watched):
    """Its curves end elsewhere than its scores say."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(curve=(-1.0,) * upto.work)


class Bent(Watched):
    """Its curves change when the training goes on."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(curve=(*(float(upto.work),) * (upto.work - 1), found.metrics["loss"]))


class Apart(Separate):
    """Says the curve of trainings that are each one's own."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        found = super().measure(configuration, seed, upto, state)
        return found._replace(curve=(found.metrics["loss"],) * upto.work)


@pytest.mark.parametrize(
    ("benchmark", "sentence"),
    [
        (Cheaper, r"costs 27\.0 seconds up to level epochs 1, and 1\.0 up to the end"),
        (Ignoring, "all configurations score and cost the same at level epochs 1 as at epochs 27: is `upto` used?"),
        (Lenient, "which it does not have, raises no UsageError"),
        (Shorter, "the curve of .* up to level epochs 1 has 0 values, not 1"),
        (Ended, r"the curve of .* up to level epochs 1 ends at -1\.0, not at"),
        (Bent, r"the curve of .* up to level epochs 1 is .*, but .* in one go"),
        (Apart, "has a curve, but its levels are separate trainings"),
        (Restless, r"at levels \[Level\(epochs=1\), .*\], then something else"),
    ],
)
def test_a_benchmark_whose_levels_are_no_parts_of_a_training_is_found(benchmark: type[Toy], sentence: str) -> None:
    with pytest.raises(Failed, match=sentence):
        by_promise(BENCHMARK_CHECKS, "parts of one training").function(benchmark())


@pytest.mark.slow
def test_levels_of_one_training_pass() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    check = by_promise(BENCHMARK_CHECKS, "parts of one training")
    assert check.function(Watched()) == "epochs 1 to 27"
    assert check("digits/nasbench201") == "epochs 1 to 3"
    assert check("nb201-cifar10") == "it has one fidelity only"

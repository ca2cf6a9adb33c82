"""BOHB (Falkner et al., ICML 2018): Hyperband with configurations from a model; under constraints, from c-TPE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from numpy.random import Generator

from nasbench.base.errors import check_choice, check_range
from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.methods.contract import METHODS
from nasbench.methods.fidelity.hyperband import Hyperband
from nasbench.methods.problem import Observation, Problem
from nasbench.methods.tpe.tpe import CTPE, PENDING

_MOST_DRAWS = 1_000


class Model(Protocol):
    """A model that proposes configurations from observations at one level."""

    def tell(self, observation: Observation) -> None:
        """Adds an observation."""

    def suggestion(self, pending: Sequence[Configuration] = ()) -> Configuration:
        """The configuration to evaluate next; pending ones count as bad."""


@METHODS.register("bohb")
class BOHB(Hyperband):
    """Hyperband with new configurations from kernel densities of the highest level with enough observations.

    Enough is 2 (d + 1) for d hyper-parameters. The densities are over all hyper-parameters jointly, with the settings
    of the authors' package HpBandSter. They ignore constraints, but that a training that failed or was refused counts
    as one with an infinite loss, as in the package; promotions do not.

    Take it for trainings that can be watched, with budget for some dozens to the end.

    Beside its source: its model is the package's, bracket sizes are Hyperband's (`brackets=hpbandster`: the
    package's, than which a run is then better with probability 0.42).

    Options:
        explore: share of new configurations that are random, in [0, 1].
        pending: ignored, or bad: a new configuration is a bad observation until its first evaluation is told.
    """

    about = replace(
        Hyperband.about,
        source=(
            "S. Falkner, A. Klein and F. Hutter. BOHB: Robust and Efficient Hyperparameter Optimization at Scale. "
            "ICML 2018."
        ),
        version=4,
        seconds=1e-3,
    )
    needs = replace(Hyperband.needs, views=(AsFlat,))

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        eta: int = 3,
        lowest: int = 0,
        explore: float = 1 / 3,
        brackets: str = "jmlr",
        pending: str = "ignored",
    ) -> None:
        check_choice("pending", pending, PENDING)
        super().__init__(problem, rng, eta=eta, lowest=lowest, brackets=brackets)
        check_range("explore", explore, 0, 1)
        self._explore = explore
        self._needed = 2 * (len(problem.flat.hyperparameters) + 1)
        self._models = {level: self._model() for level in self._levels}
        self._told = dict.fromkeys(self._levels, 0)
        self._heeds_pending = pending == "bad"
        self._pending: list[Configuration] = []

    def _model(self) -> Model:
        from nasbench.methods.fidelity.densities import Densities  # SciPy takes a while

        return Densities(self._problem, self._rng)

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        if observation.configuration in self._pending:
            self._pending.remove(observation.configuration)
        # A configuration that was refused before training counts at the lowest level.
        level = self._levels[0] if observation.evaluation.status == "infeasible" else observation.level
        self._models[level].tell(observation)
        self._told[level] += 1

    def draw(self, level: Level) -> Configuration:
        """A configuration from the model; a random one with probability `explore`, or without enough observations."""
        configuration = self._drawn()
        if self._heeds_pending:
            self._pending.append(configuration)
        return configuration

    def _drawn(self) -> Configuration:
        return self._source()()

    def _source(self) -> Callable[[], Configuration]:
        """The function that draws the next configuration."""
        level = next((level for level in reversed(self._levels) if self._told[level] >= self._needed), None)
        if level is None or self._rng.random() < self._explore:
            return lambda: self._problem.sample(self._rng)
        model = self._models[level]
        return lambda: model.suggestion(self._pending)

    @classmethod
    def make_ready(cls) -> None:
        import nasbench.methods.fidelity.densities  # noqa: F401, for SciPy


@METHODS.register("c-bohb")
class CBOHB(BOHB):
    """BOHB under constraints: its model is `c-tpe`, and configurations known to violate a constraint are redrawn.

    A configuration whose cheap metrics (its size) violate a constraint is redrawn before any training, from the same
    source (model or random), and after 500 draws at random. After 1,000 draws the last one is proposed; a live
    benchmark refuses to train it. Promotions compare violations first. Without a constraint it is `bohb`.

    Take it for trainings that can be watched, under a limit on size.

    Beside its source: no paper describes it; where it was tried it was not better than `c-tpe`.
    """

    about = replace(
        BOHB.about,
        source="No paper: this project combines BOHB and c-TPE; see `bohb` and `c-tpe` for their papers.",
        version=BOHB.about.version + CTPE.about.version,
        tuned_on=CTPE.about.tuned_on,
        seconds=3e-4,
    )

    def _model(self) -> Model:
        return CTPE(self._problem, self._rng, initial=1) if self._problem.constraints else super()._model()

    @classmethod
    def make_ready(cls) -> None:
        super().make_ready()
        CTPE.make_ready()

    def _drawn(self) -> Configuration:
        source = self._source()  # the same for all draws, so that `explore` stays the share of random configurations
        for attempt in range(_MOST_DRAWS):
            configuration = source() if attempt < _MOST_DRAWS // 2 else self._problem.space.sample(self._rng)
            if self._problem.allows(configuration):
                break
        return configuration

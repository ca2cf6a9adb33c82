"""BOHB (Falkner et al., ICML 2018): Hyperband's brackets, filled by TPE; and with constraints, by c-TPE."""

from __future__ import annotations

from numpy.random import Generator

from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.methods.base import METHODS, Observation, Problem
from nasbench.methods.fidelity.hyperband import Hyperband
from nasbench.methods.tpe.methods import CTPE, TPE

_MOST_DRAWS = 1_000


class ModelBased(Hyperband):
    """Hyperband whose new configurations come from a model of the highest level that has enough observations.

    Options:
        explore: share of new configurations that are random, in [0, 1].
    """

    needs = (AsFlat,)
    model: type[TPE]

    def __init__(
        self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0, explore: float = 1 / 3
    ) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)
        if not 0 <= explore <= 1:
            raise UsageError(f"explore must lie in [0, 1], not {explore}")
        self._explore = explore
        self._needed = 2 * (len(problem.flat.hyperparameters) + 1)
        model = self.model if problem.constraints else TPE
        self._models = {level: model(problem, rng, initial=1) for level in self._levels}
        self._told = dict.fromkeys(self._levels, 0)

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        level = observation.level if observation.evaluation.status == "ok" else self._levels[0]
        self._models[level].tell(observation)
        self._told[level] += 1

    def draw(self) -> Configuration:
        """One from the model, but a share of `explore` at random, and all until a level has enough observations."""
        level = next((level for level in reversed(self._levels) if self._told[level] >= self._needed), None)
        if level is None or self._rng.random() < self._explore:
            return self._problem.space.sample(self._rng)
        return self._models[level].suggestion()

    @classmethod
    def make_ready(cls) -> None:
        cls.model.make_ready()


@METHODS.register("bohb")
class BOHB(ModelBased):
    """Hyperband with new configurations from TPE, on the highest level that has enough observations.

    That is 2 (d + 1) for d hyper-parameters. A share of `explore` is random. The model is this project's `tpe`, not the
    multivariate kernel densities of the paper's code; it does not look at constraints, but promotions do.
    """

    source = (
        "S. Falkner, A. Klein and F. Hutter. BOHB: Robust and Efficient Hyperparameter Optimization at Scale. ICML "
        "2018."
    )
    seconds = 2e-4
    model = TPE


@METHODS.register("c-bohb")
class CBOHB(ModelBased):
    """BOHB under constraints: `c-tpe` in place of `tpe`, and nothing is trained that is known to violate a constraint.

    A configuration whose cheap metrics (its size) violate a constraint is drawn again before any level is paid; after
    1,000 such draws the last one is proposed, and the harness refuses to train it. Promotions go by violation first.
    Without a constraint it is `bohb`.
    """

    source = "No paper: this project joins BOHB and c-TPE, whose papers stand with `bohb` and `c-tpe`."
    seconds = 3e-4
    model = CTPE

    def draw(self) -> Configuration:
        for _ in range(_MOST_DRAWS):
            configuration = super().draw()
            if self._problem.allows(configuration):
                break
        return configuration

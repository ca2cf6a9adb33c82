"""PriorBand (Mallik et al., NeurIPS 2023): Hyperband with configurations from a prior and around the incumbent."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.methods.belief import Belief, lacks_expert
from nasbench.methods.contract import METHODS
from nasbench.methods.fidelity.hyperband import Hyperband
from nasbench.methods.problem import Observation, Problem, Rank


@METHODS.register("priorband")
class PriorBand(Hyperband):
    """Hyperband whose new configurations are drawn uniformly, from a prior, or around the incumbent.

    A configuration that begins at rung r (from 0; of rungs on one level, the lowest) is uniform with probability
    1 / (1 + η^r). Once something was trained
    to the end and η trainings reached a common rung, the rest is shared between the prior and the neighbourhood of the
    incumbent, by the likelihood that each gives to the best 1/η of that rung's trainings, the better ones weighted
    more. A neighbour keeps each choice of the incumbent with probability 1/2, and otherwise draws it from a
    distribution around it, which may give the old value again (later versions of the authors' code exclude it). The
    first configuration is the believed one.

    Take it for trainings that can be watched, by somebody who believes in certain values.

    Beside its source: a neighbour may be the incumbent again; it was not set beside its authors' code.

    Options:
        prior: NAME=VALUE+NAME=VALUE, values of hyper-parameters that are believed to be good, or good, weak or
            misleading, an expert simulated from the table (docs/known-before.md); empty for none.
    """

    about = replace(
        Hyperband.about,
        source=(
            "N. Mallik, E. Bergman, C. Hvarfner, D. Stoll, M. Janowski, M. Lindauer, L. Nardi and F. Hutter. "
            "PriorBand: Practical Hyperparameter Optimization in the Age of Deep Learning. NeurIPS 2023."
        ),
        seconds=2e-4,
    )
    needs = replace(Hyperband.needs, views=(AsFlat,), experts=True, unless=lacks_expert)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        eta: int = 3,
        lowest: int = 0,
        brackets: str = "jmlr",
        prior: str = "",
    ) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest, brackets=brackets)
        self._prior = Belief.of(prior, problem, rng)
        self._ranked: dict[Level, list[tuple[Rank, Configuration]]] = {level: [] for level in self._levels}
        """What was trained up to each level, with its rank."""
        self._begun = False

    @classmethod
    def make_ready(cls) -> None:
        import scipy.special  # noqa: F401

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        if observation.evaluation.status == "ok":
            rank = observation.rank(self._problem.constraints)
            self._ranked[observation.level].append((rank, observation.configuration))

    def draw(self, level: Level) -> Configuration:
        if not self._begun:
            self._begun = True
            return self._prior.draw(self._rng, kept=1.0)
        if self._rng.random() < 1 / (1 + self._eta ** self._rungs.index(level)):
            return self._problem.sample(self._rng)
        incumbent = self._incumbent()
        if incumbent is None or self._rng.random() >= self._trust(incumbent):
            return self._problem.accepted(lambda: self._prior.draw(self._rng))
        return self._problem.accepted(lambda: incumbent.draw(self._rng, kept=0.5))

    def _incumbent(self) -> Belief | None:
        """The distribution around the best that was trained to the end; None if nothing was."""
        ended = self._ranked[self._levels[-1]]
        if not ended:
            return None
        flat = self._problem.flat
        return Belief(flat, flat.coordinates(min(ended, key=itemgetter(0))[1]))

    def _trust(self, incumbent: Belief) -> float:
        """The incumbent's share of what is not uniform; 0 while no rung has η trainings."""
        from scipy.special import expit

        reached = next((r for r in map(self._ranked.get, reversed(self._levels)) if r and len(r) >= self._eta), None)
        if reached is None:
            return 0.0
        best = sorted(reached, key=itemgetter(0))[: len(reached) // self._eta]
        weights = np.log(np.arange(len(best), 0, -1))
        of_prior, of_incumbent = (
            np.logaddexp.reduce(weights + [belief.log_density(c) for _, c in best])
            for belief in (self._prior, incumbent)
        )
        return float(expit(of_incumbent - of_prior))

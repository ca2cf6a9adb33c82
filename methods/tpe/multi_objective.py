"""c-MOTPE: MOTPE (Ozaki et al., 2020, 2022) with the relative density ratios of c-TPE for every constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nasbench.benchmarks.spaces import Coordinate
from nasbench.methods.contract import METHODS
from nasbench.methods.problem import Observation
from nasbench.methods.tpe.tpe import CTPE

if TYPE_CHECKING:
    from nasbench.methods.tpe.sampler import Rules, Sampler


@METHODS.register("c-motpe")
class CMOTPE(CTPE):
    """c-TPE for several objectives: good observations are those of the best nondominated ranks.

    The last of these ranks is cut by greedy hypervolume subset selection, and good observations are weighted by their
    hypervolume contributions, both after MOTPE, with losses scaled to [0, 1] and a reference point a tenth beyond. As
    in c-TPE, the split counts feasible observations only, every constraint has its own relative density ratio, and the
    ratios are multiplied. No paper describes this combination. With one objective it is c-TPE.

    Take it for fronts under constraints.

    Beside its source: no paper describes it.
    """

    about = replace(
        CTPE.about,
        source=(
            "Y. Ozaki, Y. Tanigaki, S. Watanabe, M. Nomura and M. Onishi. Multiobjective Tree-Structured Parzen "
            "Estimator. Journal of Artificial Intelligence Research 73, 2022; constraints: S. Watanabe and F. "
            "Hutter. c-TPE. IJCAI 2023."
        ),
        version=CTPE.about.version + 1,
        seconds=2e-3,
        learns_from_all=False,
    )
    needs = replace(CTPE.needs, several=True)

    @classmethod
    def make_ready(cls) -> None:
        import moocore  # noqa: F401

        super().make_ready()

    def _new_sampler(self, limits: list[float], rules: Rules, belief: Sequence[Coordinate]) -> Sampler:
        from nasbench.methods.tpe.pareto import ParetoSampler

        if not self._problem.several:
            return super()._new_sampler(limits, rules, belief)
        return ParetoSampler(self._problem.flat, limits, rules, belief)

    def _observe(self, observation: Observation, values: list[float], feasible: bool) -> None:
        from nasbench.methods.tpe.pareto import ParetoSampler

        sampler = self._estimators()
        if isinstance(sampler, ParetoSampler):
            losses = self._problem.losses(observation)
            sampler.observe_losses(observation.configuration, losses, values, feasible)
        else:
            super()._observe(observation, values, feasible)

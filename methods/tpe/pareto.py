"""The observations of a c-MOTPE run: the split by nondominated ranks. Importing this module loads numba."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration, Coordinate, Flat
from nasbench.methods.dominance import chosen_for_volume, contributions, ranks
from nasbench.methods.problem import Losses
from nasbench.methods.tpe.sampler import Rules, Sampler
from nasbench.methods.tpe.splits import GOOD

_LEAST = 1e-12  # weight of an observation whose hypervolume others dominate too


class ParetoSampler(Sampler):
    """Keeps the observations of one run with several objectives; see `Sampler`."""

    def __init__(self, flat: Flat, limits: list[float], rules: Rules, belief: Sequence[Coordinate] = ()) -> None:
        super().__init__(flat, limits, rules, belief)
        self._losses: dict[int, Losses] = {}
        """Losses by the row of the observation."""

    def observe_losses(self, configuration: Configuration, losses: Losses, values: list[float], feasible: bool) -> None:
        """Adds a finished evaluation: its losses and its constraints' values."""
        self._losses[self._n] = losses
        self.observe(configuration, 0.0, values, feasible)

    def groups(self, needed: int) -> NDArray[np.int8]:
        """Splits as `Sampler.groups` does, with places in the order of `_order` in the objective's place."""
        rows = list(self._losses)
        self._values[0, rows] = self._order(np.array(list(self._losses.values())), self._feasible[rows], needed)
        return super().groups(needed)

    def weights(self, groups: NDArray[np.int8]) -> NDArray[np.float64]:
        """Weights by hypervolume contribution (MOTPE, section 3.3), the largest 1."""
        good = np.flatnonzero(groups[0] == GOOD)
        losses = [self._losses[row] for row in good.tolist()]
        if not losses:
            return np.zeros(0)
        return np.maximum(contributions(np.array(losses)), _LEAST)

    @staticmethod
    def _order(losses: NDArray[np.float64], feasible: NDArray[np.bool_], needed: int) -> NDArray[np.float64]:
        """The place of each observation, from 0: by nondominated rank, the decisive rank by its greedy choice.

        The decisive rank is that of the needed-th feasible observation. As in c-TPE, infeasible observations are ranked
        too: they say where the objectives are good.
        """
        places, rank = np.zeros(len(losses)), ranks(losses)
        first, found = 0, 0
        for r in range(int(rank.max(initial=-1)) + 1):
            members = np.flatnonzero(rank == r)
            within = int(feasible[members].sum())
            if found < needed <= found + within:
                chosen = chosen_for_volume(losses[members], feasible[members], needed - found)
                members = np.concatenate([members[chosen], np.delete(members, chosen)])
            places[members] = first + np.arange(len(members))
            first, found = first + len(members), found + within
        return places

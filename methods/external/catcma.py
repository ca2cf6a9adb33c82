"""CatCMA with Margin (Hamano et al., GECCO 2025), by its authors' package `cmaes`: reals, integers and categories."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Categorical, Configuration, Float, Hyperparameter, Integer
from nasbench.benchmarks.spaces.flat import Coordinate
from nasbench.benchmarks.spaces.hyperparameters import at_share, share_of
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.external.smac_forest import penalised
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from cmaes import CatCMAwM

_MOST_LEVELS = 64  # an integer with more values counts as a real number, which is rounded


@METHODS.register("catcma")
class CatCma(Method):
    """CatCMA with Margin: a Gaussian and distributions of categories move to the better half of a generation.

    Reals lie on [0, 1] of their own scale, integers with more than 64 values, too; levels lie at equal distances, other
    integers by their scale, and a hyper-parameter with two values is a category, as the package recommends.
    Hyper-parameters that a configuration does not have are drawn all the same. Constraints are a penalty within each
    generation, as for `smac`. A generation is told when that many evaluations are. When the package says that a search
    has converged, another one begins.

    Take it for numbers and categories mixed, with some hundred evaluations at least.

    Beside its source: it is its authors' package; constraints are a penalty within each generation.

    Options:
        population: configurations of a generation, 4 or more; 0 for the package's 4 + 3 ln d of d hyper-parameters.
    """

    about = About(
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "R. Hamano, M. Nomura, S. Saito, K. Uchida and S. Shirakawa. CatCMA with Margin: Stochastic Optimization "
            "for Continuous, Integer, and Categorical Variables. GECCO 2025."
        ),
        seconds=1e-3,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator, *, population: int = 0) -> None:
        require("catcma", "optuna", "cmaes")
        if population:
            check_range("population", population, 4)
        self._problem, self._rng, self._population, self._flat = problem, rng, population, problem.flat
        self._reals, levels, self._categories = (
            [(d, h) for d, h in enumerate(self._flat.hyperparameters) if _kind(h) == kind]
            for kind in ("real", "levels", "category")
        )
        self._levels = [(d, h, _places(h)) for d, h in levels]
        self._search: CatCMAwM | None = None
        self._pending = Pending[_Draw]()
        self._generation: list[tuple[CatCMAwM.Solution, Observation]] = []

    @classmethod
    def make_ready(cls) -> None:
        require("catcma", "optuna", "cmaes")
        import cmaes  # noqa: F401

    def ask(self) -> Configuration:
        draw = self._problem.accepted(self._drawn, attrgetter("configuration"))
        self._pending.add(draw.configuration, draw)
        return draw.configuration

    def tell(self, observation: Observation) -> None:
        _, solution, search = self._pending.answer(observation)
        if search is not self._search or search is None or solution is None:
            return  # of a search that has converged meanwhile
        self._generation.append((solution, observation))
        if len(self._generation) == search.population_size:
            costs = penalised([told for _, told in self._generation], self._problem)
            with warnings.catch_warnings(), np.errstate(all="ignore"):  # equal values have no spread
                warnings.simplefilter("ignore")
                search.tell([(solution, cost) for (solution, _), cost in zip(self._generation, costs, strict=True)])
                if search.should_stop():
                    self._search = None
            self._generation = []

    def _drawn(self) -> _Draw:
        """A draw of the search, which begins with the first one; of the space where nothing can be chosen."""
        if not (self._reals or self._levels or self._categories):
            return _Draw(self._problem.sample(self._rng), None, None)
        if self._search is None:
            self._search = self._begun()
        solution = self._search.ask()
        chosen: dict[int, float | int] = {}
        reals, places, categories = ([] if part is None else part for part in (solution.x, solution.z, solution.c))
        for (d, h), share in zip(self._reals, reals, strict=True):
            chosen[d] = at_share(h, float(share))
        for (d, h, own), place in zip(self._levels, places, strict=True):
            level = own.index(place)
            chosen[d] = h.low + level if isinstance(h, Integer) else level
        for (d, _), hot in zip(self._categories, categories, strict=True):
            chosen[d] = int(np.argmax(hot))
        coordinates: list[Coordinate] = []
        for d, condition in enumerate(self._flat.conditions):
            is_present = condition is None or condition.holds(coordinates)
            coordinates.append(chosen.get(d, 0) if is_present else None)  # 0: the only value
        return _Draw(self._flat.at(coordinates), solution, self._search)

    def _begun(self) -> CatCMAwM:
        from cmaes import CatCMAwM

        return CatCMAwM(
            x_space=[[0.0, 1.0] for _ in self._reals] or None,
            z_space=[places for *_, places in self._levels] or None,
            c_space=[len(_values(h)) for _, h in self._categories] or None,
            population_size=self._population or None,
            seed=int(self._rng.integers(2**31 - 1)),
        )


class _Draw(NamedTuple):
    """A proposal, and what it is to the search that made it."""

    configuration: Configuration
    solution: CatCMAwM.Solution | None
    search: CatCMAwM | None


def _kind(h: Hyperparameter) -> Literal["real", "levels", "category", "constant"]:
    if isinstance(h, Float) or (isinstance(h, Integer) and h.high - h.low >= _MOST_LEVELS):
        return "real"
    values = len(_values(h))
    if values < 2:
        return "constant"
    return "category" if values == 2 or isinstance(h, Categorical) else "levels"


def _values(h: Hyperparameter) -> Sequence[object]:
    assert not isinstance(h, Float)
    return range(h.low, h.high + 1) if isinstance(h, Integer) else h.values


def _places(h: Hyperparameter) -> list[float]:
    """Where the levels of a hyper-parameter lie, ascending: at distance 1; those of an integer by its scale."""
    values = _values(h)
    if isinstance(h, Integer):
        return [len(values) * share_of(h, x) for x in range(h.low, h.high + 1)]
    return [float(level) for level in range(len(values))]

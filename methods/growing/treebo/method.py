"""TreeBO (Jenatton et al., 2017) on conditional spaces and, as in NASBOT's experiments, on feed-forward chains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice, check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.constraints import Bounds
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.benchmarks.spaces.flat import Coordinate, Flat
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.listed import ListedRows, ListedSpace
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Logged, Method
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from nasbench.methods.growing.treebo.surrogate import PathSurrogate
    from nasbench.methods.growing.treebo.tree import Path
    from nasbench.methods.surrogates.trees import Points

Array = NDArray[np.float64]

_MOST_PATHS = 64  # up to this number, candidates are drawn on every path
_FEWEST = 2  # observations before a process is fitted
_NEIGHBOURS, _ROUNDS, _BEST = 20, 2, 5  # rounds of local search: neighbours of each of the best candidates
_SHORTLIST, _MOST_DRAWS = 16, 200


def _is_no_tree(problem: Problem, options: Options) -> str:
    fits = isinstance(problem.space, AsFlat | NetworkSpace)
    return "" if fits else "needs a space that is a list of hyper-parameters, or one of free networks"


@METHODS.register("treebo")
class TreeBO(Method):
    """Expected improvement by a Gaussian process per path of a tree of decisions, and a linear model that paths share.

    Free networks are searched as chains (`chains.py`). If no choice decides about others there is one path, and the
    method is Bayesian optimisation with one Gaussian process. Constraints count as in `nasbot`: by the probability that
    they hold, or exactly if the metric is known without an evaluation. Pending evaluations count with their mean.

    Take it for a tree of decisions with numbers at its leaves.

    Beside its source: a reconstruction from the paper; it was not set beside other code.

    Options:
        initial: random configurations at first, one per path if there are at most this number of paths.
        refit: observations after which hyper-parameters are fitted again.
        candidates: configurations drawn for each proposal.
        acquisition: joint, or two-step, which first chooses the path by the linear model.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source=(
            "R. Jenatton, C. Archambeau, J. González and M. Seeger. Bayesian Optimization with Tree-structured "
            "Dependencies. ICML 2017."
        ),
        version=4,
        seconds=0.1,
    )
    needs = Needs(unless=_is_no_tree)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        initial: int = 10,
        refit: int = 5,
        candidates: int = 500,
        acquisition: str = "joint",
    ) -> None:
        for name, value in {"initial": initial, "refit": refit, "candidates": candidates}.items():
            check_range(name, value, 1)
        check_choice("acquisition", acquisition, ("joint", "two-step"))
        from nasbench.methods.growing.treebo.tree import Tree

        self._problem, self._rng = problem, rng
        self._initial, self._refit, self._candidates = initial, refit, candidates
        self._is_joint = acquisition == "joint"
        self._flat = _flat(problem)
        self._tree = Tree(self._flat)
        self._paths = self._tree.paths(_MOST_PATHS)
        self._turns: list[Mapping[int, Coordinate]] = []
        self._asked: list[Configuration] = []
        self._pending = Pending[int]()
        """The number of each pending ask."""
        self._places: list[Sequence[Coordinate]] = []
        """Coordinates of the configurations asked for."""
        self._known: set[Configuration] = set()
        self._observed: dict[int, Observation] = {}
        """Observations by the number of their ask."""
        self._surrogates: dict[str, PathSurrogate] = {}
        """Surrogates by the name of their metric."""

    @classmethod
    def make_ready(cls) -> None:
        import scipy.optimize
        import scipy.special  # noqa: F401

    def ask(self) -> Configuration:
        is_first = len(self._asked) < self._initial or len(self._observed) < _FEWEST
        chosen = self._first() if is_first else self._next()
        self._pending.add(chosen, len(self._asked))
        self._asked.append(chosen)
        self._known.add(chosen)
        self._places.append(self._flat.coordinates(chosen))
        return chosen

    def tell(self, observation: Observation) -> None:
        number = self._pending.answer(observation)
        if observation.evaluation.status == "ok":
            self._observed[number] = observation

    @property
    def log(self) -> Sequence[Logged]:
        """The number of configurations asked for on each path."""
        counts = Counter(self._tree.name(self._tree.path(place)) for place in self._places)
        return [Logged(1, "path", count, choice=name or "the only path") for name, count in sorted(counts.items())]

    def _first(self) -> Configuration:
        """A random configuration, allowed and new if possible; if there are few paths, from each path in turn."""
        if self._paths is not None and len(self._paths) <= self._initial and not self._turns:
            self._turns = [self._paths[i] for i in self._rng.permutation(len(self._paths))]
        path = self._turns.pop() if self._turns else None
        repeated: Configuration | None = None
        refused: Configuration | None = None
        for attempt in range(_MOST_DRAWS):
            if attempt == _MOST_DRAWS // 2:
                path = None  # this path seems to have no allowed and new configuration
            drawn = self._made(self._tree.drawn(self._rng, path))
            if drawn is None:
                continue
            if not self._problem.allows(drawn):
                refused = drawn
            elif drawn in self._known:
                repeated = drawn
            else:
                return drawn
        fallback = refused if repeated is None else repeated
        if fallback is not None:
            return fallback
        if not isinstance(self._problem.space, AsFlat):
            raise UsageError(f"none of {_MOST_DRAWS} chains of layers lies within the bounds of this space: widen them")
        return self._problem.sample(self._rng)

    def _next(self) -> Configuration:
        observed = sorted(self._observed)
        waiting = sorted(number for _, number in self._pending)
        seen, pending = (self._tree.points([self._places[i] for i in which]) for which in (observed, waiting))
        bounds = self._problem.learnt_bounds
        constrained = {bound.metric.name for bound in bounds}
        for metric in (m for m in self._problem.told if m == self._problem.objective.name or m in constrained):
            values = np.array([self._observed[i].evaluation.metrics[metric] for i in observed])
            finite = np.isfinite(values)  # a constraint's metric may be missing from an ok evaluation
            if finite.sum() >= _FEWEST:
                surrogate = self._surrogates.setdefault(metric, self._new_surrogate())
                surrogate.fit(seen.only(finite), values[finite], pending, self._rng)
        bounds = Bounds(bound for bound in bounds if bound.metric.name in self._surrogates)
        feasible = [self._observed[i].objective for i in observed if self._observed[i].feasible]

        def acquisition(points: Points, paths: bool = False) -> Array:
            return self._acquisition(points, bounds, min(feasible, default=None), paths)

        places = self._drawn(observed)
        values = acquisition(self._tree.points(places))
        if np.ptp(values) == 0:  # candidates are listed path by path, and the first path would win every tie
            self._rng.shuffle(places)
        if not self._is_joint:
            by_path = np.argsort(-acquisition(self._tree.points(places), True), kind="stable")
            chosen = self._path([places[i] for i in by_path])
            kept = [i for i, place in enumerate(places) if self._tree.path(place) == chosen]
            places, values = [places[i] for i in kept], values[kept]
        for _ in range(_ROUNDS):
            best = np.argsort(-values, kind="stable")[:_BEST]
            near: list[Sequence[Coordinate]] = [
                self._tree.neighbour(places[i], self._rng, keeps_path=True) for i in best for _ in range(_NEIGHBOURS)
            ]
            places = places + near
            values = np.append(values, acquisition(self._tree.points(near)))
        return self._chosen(places, values, acquisition)

    def _acquisition(self, points: Points, bounds: Bounds, best: float | None, paths: bool) -> Array:
        """Expected improvement times the probability that constraints hold; without it while nothing is feasible."""
        from nasbench.methods.surrogates.acquisition import expected_improvement, probability

        values = np.ones(len(points.leaves))
        if best is not None:
            values = expected_improvement(*self._surrogates[self._problem.objective.name].predict(points, paths), best)
        for bound in bounds:
            values = values * probability(bound, *self._surrogates[bound.metric.name].predict(points, paths))
        return values

    def _drawn(self, observed: Sequence[int]) -> list[Sequence[Coordinate]]:
        """Random candidates, on every path if there are few, and neighbours of the best of each path and of all."""
        tree, count = self._tree, self._candidates
        candidates: list[Sequence[Coordinate]] = []
        if self._paths is None:
            candidates += [tree.drawn(self._rng) for _ in range(count)]
        else:
            per_path = -(-count // len(self._paths))
            candidates += [tree.drawn(self._rng, path) for path in self._paths for _ in range(per_path)]
        ranked = sorted(observed, key=lambda i: self._observed[i].rank(self._problem.constraints))
        leaders: dict[Path, int] = {}
        for i in ranked:
            leaders.setdefault(tree.path(self._places[i]), i)
        for i in list(leaders.values())[:_BEST]:
            candidates += [tree.neighbour(self._places[i], self._rng, True) for _ in range(_NEIGHBOURS)]
        candidates += [tree.neighbour(self._places[ranked[0]], self._rng) for _ in range(_NEIGHBOURS)]
        return candidates

    def _path(self, places: Sequence[Sequence[Coordinate]]) -> Path:
        """The path of the first place, or of the next one that has a new and allowed configuration among these."""
        on_path: dict[Path, list[Sequence[Coordinate]]] = {}
        for place in places:
            on_path.setdefault(self._tree.path(place), []).append(place)
        return next((path for path, own in on_path.items() if any(map(self._is_new, own))), next(iter(on_path)))

    def _is_new(self, place: Sequence[Coordinate]) -> bool:
        made = self._made(place)
        return made is not None and made not in self._known and self._problem.allows(made)

    def _chosen(
        self, places: Sequence[Sequence[Coordinate]], values: Array, acquisition: Callable[[Points], Array]
    ) -> Configuration:
        """The best candidate that is allowed and new.

        A program may ignore some coordinates of a candidate, so that its configuration lies elsewhere. Therefore the
        best few are scored again at the coordinates of their configurations.
        """
        order = np.argsort(-values, kind="stable")
        for begin in range(0, len(order), _SHORTLIST):
            made = [self._made(places[i]) for i in order[begin : begin + _SHORTLIST]]
            new = [c for c in dict.fromkeys(made) if c is not None and c not in self._known and self._problem.allows(c)]
            if new:
                again = acquisition(self._tree.points([self._flat.coordinates(c) for c in new]))
                return new[int(np.argmax(again))]
        return self._first()

    def _made(self, coordinates: Sequence[Coordinate]) -> Configuration | None:
        """The configuration at these coordinates; None if it is not a member of the space."""
        try:
            configuration = self._flat.at(coordinates)
            self._problem.space.check(configuration)
        except (ForeignConfiguration, UsageError):
            return None
        return configuration

    def _new_surrogate(self) -> PathSurrogate:
        from nasbench.methods.growing.treebo.surrogate import PathSurrogate

        return PathSurrogate(self._tree.is_category, self._tree.is_bias, self._refit)


def _flat(problem: Problem) -> Flat:
    if isinstance(problem.space, NetworkSpace):
        from nasbench.methods.growing.treebo.chains import Chains

        return Chains(problem.space)
    if isinstance(problem.space, ListedSpace):
        return ListedRows(problem.space)  # rows alone: most candidates are never proposed
    return problem.flat

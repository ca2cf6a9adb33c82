"""NASBOT (Kandasamy et al., NeurIPS 2018): Bayesian optimisation over networks, and the paper's two baselines."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice, check_least
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsGraph, Configuration
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Logged, Method
from nasbench.methods.nasbot.families import USUAL, Weighing
from nasbench.methods.problem import Observation, Problem
from nasbench.methods.surrogates.acquisition import expected_improvement

if TYPE_CHECKING:
    from nasbench.methods.nasbot.candidates import Candidates
    from nasbench.methods.nasbot.surrogate import NetworkSurrogate

Array = NDArray[np.float64]

_INITIAL, _FEWEST = 10, 2


def _has_no_graphs(problem: Problem, options: Options) -> str:
    fits = isinstance(problem.space, AsGraph)
    return "" if fits else "compares networks: its space must have them as graphs of layers"


class _OnGraphs(Method):
    """A method that begins with random networks.

    Options:
        initial: random networks at first, at least 1.
    """

    about = About(
        source=(
            "K. Kandasamy, W. Neiswanger, J. Schneider, B. Póczos and E. P. Xing. Neural Architecture Search with "
            "Bayesian Optimisation and Optimal Transport. NeurIPS 2018."
        ),
        tuned_on=("nas-bench-201",),  # that an identity is a layer: by how well equal graphs have equal losses there
    )
    needs = Needs(views=(AsGraph,), unless=_has_no_graphs)

    def __init__(self, problem: Problem, rng: Generator, initial: int) -> None:
        check_least("initial", initial, 1)
        self._problem, self._rng, self._initial = problem, rng, initial
        self._asked: list[Configuration] = []
        self._candidates: Candidates | None = None
        self._begins_anew = False
        self._weighing = USUAL
        self._made: Counter[str] = Counter()

    def ask(self) -> Configuration:
        chosen = self._problem.sample(self._rng) if len(self._asked) < self._initial else self._next()
        self._asked.append(chosen)
        return chosen

    def _known(self) -> Candidates:
        """The candidates, after all configurations asked for have been added to them."""
        from nasbench.methods.nasbot.candidates import candidates_of  # numba takes a while

        if self._candidates is None:
            begins = self._initial if self._begins_anew else None
            self._candidates = candidates_of(self._problem.space, self._problem.allows, begins, self._weighing)
            self._taken = 0
        for configuration in self._asked[self._taken :]:
            self._candidates.add(configuration)
        self._taken = len(self._asked)
        return self._candidates

    @property
    def log(self) -> Sequence[Logged]:
        """The number of networks made by each modifier, if the space has modifiers."""
        made = self._made + (Counter() if self._candidates is None else self._candidates.made)
        return [Logged(1, "modifications", count, choice=name) for name, count in sorted(made.items())]

    @abstractmethod
    def _next(self) -> Configuration:
        """The next configuration, after the random ones at first."""


@METHODS.register("nasbot")
class Nasbot(_OnGraphs):
    """Expected improvement by a Gaussian process with a kernel of OTMANN distances.

    By default the standard deviation is also conditioned on pending evaluations (asynchronous workers). The
    improvement is multiplied by the probability that constraints hold, each by its Gaussian process, or exactly if its
    metric is known without an evaluation.

    Take it for networks as graphs of layers, dear to train.

    Beside its source: distances equal its authors' to 3e-11, the posterior to 3e-10; docs/nasbot.md lists what
    departs.

    Options:
        refit: observations after which hyper-parameters are sampled again.
        draws: hyper-parameters drawn for this, weighted by their likelihood.
        power: power of the normalised distance in the kernel (the paper: 1, its code: 2).
        pool: networks from which evolution of the acquisition begins: initial+evaluated, or initial.
        pending: mean (the posterior mean is the value of a pending evaluation), or ignored.
        fc: mass of a unit of a fully connected layer, relative to a convolution's (the paper: 1, its code: 0.1).
        share: mass of the first, the last and the decision layers, as a share of the others' (the paper's zeta).
        mismatch: factor of the cost of matching layers of different labels (the paper's M).
    """

    about = replace(_OnGraphs.about, repeatable=Repeatable.SAME_KERNELS, version=4, seconds=0.1)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        initial: int = _INITIAL,
        refit: int = 7,
        draws: int = 1000,
        power: float = 1.0,
        pool: str = "initial+evaluated",
        pending: str = "mean",
        fc: float = USUAL.fc,
        share: float = USUAL.share,
        mismatch: float = USUAL.mismatch,
    ) -> None:
        super().__init__(problem, rng, initial)
        self._weighing = Weighing(fc, share, mismatch)
        check_choice("pending", pending, ("mean", "ignored"))
        self._heeds_pending = pending == "mean"
        check_choice("pool", pool, ("initial+evaluated", "initial"))
        self._begins_anew = pool == "initial"
        positive = {"refit": refit, "draws": draws, "power": power, **self._weighing._asdict()}
        for name, value in positive.items():
            if not 0 < value < math.inf:
                raise UsageError(f"{name} must be positive, not {value:g}")
        self._options = refit, draws, power
        self._pending = Pending[int]()
        """The number of each pending ask."""
        self._observed: dict[int, Observation] = {}
        """Observations by the number of their ask."""
        self._surrogates: dict[str, NetworkSurrogate] = {}
        """Surrogates by the name of their metric."""

    @classmethod
    def make_ready(cls) -> None:
        from nasbench.methods.nasbot.otmann import compile_ahead

        compile_ahead()

    def ask(self) -> Configuration:
        self._pending.add(chosen := super().ask(), len(self._asked) - 1)
        return chosen

    def tell(self, observation: Observation) -> None:
        number = self._pending.answer(observation)
        if observation.evaluation.status == "ok":
            self._observed[number] = observation

    @property
    def log(self) -> Sequence[Logged]:
        """Negative eigenvalues that were set to zero, modifications made, and a map of the observed networks.

        The map is classical scaling (Torgerson, 1952) of the normalised distances between observed networks to a plane.
        """
        rows = [Logged(1, "clipped_eigenvalues", s.clipped, choice=name) for name, s in self._surrogates.items()]
        return [*rows, *super().log, *self._plane()]

    def _plane(self) -> Iterator[Logged]:
        if len(self._observed) < _FEWEST or self._candidates is None:
            return
        from nasbench.methods.nasbot.otmann import NUS
        from nasbench.methods.nasbot.surrogate import plane

        observed = sorted(self._observed)
        normalised = self._known().between()[len(NUS) + 1]  # at the second ν, where few distances saturate
        places = plane(normalised[np.ix_(observed, observed)])
        for step, (i, (x, y)) in enumerate(zip(observed, places, strict=True), 1):
            yield Logged(1, "plane_x", float(x), step=step)
            yield Logged(1, "plane_y", float(y), step=step)
            yield Logged(1, "plane_objective", self._observed[i].objective, step=step)

    def _next(self) -> Configuration:
        if len(self._observed) < _FEWEST:
            return self._problem.sample(self._rng)
        candidates = self._known()
        observed = sorted(self._observed)
        pending = sorted(number for _, number in self._pending) if self._heeds_pending else []
        between, orders, objective = candidates.between(), {}, self._problem.objective.name
        bounds = self._problem.learnt_bounds
        modelled = {objective, *(bound.metric.name for bound in bounds)}
        for metric in (name for name in self._problem.told if name in modelled):
            every = {i: self._observed[i].evaluation.metrics[metric] for i in observed}
            known = [i for i in observed if math.isfinite(every[i])]
            if len(known) < _FEWEST:  # a constraint's metric may be missing from an ok evaluation
                continue
            order = orders[metric] = known + [i for i in observed + pending if i not in known]
            values = np.array([every[i] for i in known])
            surrogate = self._surrogates.setdefault(metric, self._new_surrogate())
            assumed = np.full(len(order) - len(known), float(np.median(values)))
            surrogate.fit(between[:, order][:, :, order], values, assumed)
        feasible = [self._observed[i].objective for i in observed if self._observed[i].feasible]

        def acquisition(distances: Array) -> Array:
            value = np.ones(distances.shape[1])
            if feasible:
                predicted = self._surrogates[objective].predict(distances, orders[objective])
                value = expected_improvement(*predicted, min(feasible))
            for bound in bounds:
                name = bound.metric.name
                if name in orders:
                    value = value * self._surrogates[name].holds(distances, bound, orders[name])
            return value

        return candidates.best(acquisition, self._rng)

    def _new_surrogate(self) -> NetworkSurrogate:
        from nasbench.methods.nasbot.surrogate import NetworkSurrogate

        return NetworkSurrogate(self._rng, *self._options, self._known().scalars)


@METHODS.register("nasbot-rand")
class NasbotRandom(_OnGraphs):
    """A random network in place of the best one by the acquisition (the paper's RAND).

    Take it for a comparison with NASBOT's paper, which has it as a baseline.

    Beside its source: as `nasbot`.
    """

    about = replace(_OnGraphs.about, version=4)

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = _INITIAL) -> None:
        super().__init__(problem, rng, initial)

    def tell(self, observation: Observation) -> None:
        """Ignored."""

    def _next(self) -> Configuration:
        return self._known().random(self._rng)


@METHODS.register("nasbot-ea")
class NasbotEvolution(_OnGraphs):
    """NASBOT's evolution on the objective itself (section 4): broods of mutants of good networks.

    The probability of a parent grows with its advantage over the average. Networks are compared by feasibility, then
    violation, then objective.

    Take it for free networks without a model.

    Beside its source: as `nasbot`; broods have 20 members in place of the code's 50.

    Options:
        brood: mutants per generation, at least 1.
    """

    about = replace(_OnGraphs.about, version=2)

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = _INITIAL, brood: int = 20) -> None:
        super().__init__(problem, rng, initial)
        check_least("brood", brood, 1)
        self._brood = brood
        self._seen: list[Observation] = []
        self._queue: list[Configuration] = []

    def tell(self, observation: Observation) -> None:
        if observation.rank(self._problem.constraints)[0] < math.inf:  # also refused ones with a known violation
            self._seen.append(observation)

    def _next(self) -> Configuration:
        from nasbench.methods.nasbot.candidates import mutant, parents

        if not self._seen:
            return self._problem.sample(self._rng)
        if not self._queue:
            values = self._fitness()
            chosen = parents(values, self._brood, self._rng)
            space = self._problem.space
            self._queue = [mutant(space, self._seen[i].configuration, self._rng, self._made) for i in chosen]
        return self._queue.pop(0)

    def _fitness(self) -> Array:
        """Fitness of each observation, larger is better; infeasible ones rank below all feasible ones by violation."""
        ranks = [observation.rank(self._problem.constraints) for observation in self._seen]
        objectives = [objective for _, objective in ranks if objective < math.inf] or [0.0]
        worst = max(objectives)
        spread = worst - min(objectives) or 1.0
        return np.array(
            [-objective if violation == 0 else -worst - spread * violation for violation, objective in ranks]
        )

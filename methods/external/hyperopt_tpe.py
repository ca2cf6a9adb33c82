"""Hyperopt's TPE (Bergstra et al., ICML 2013), by its authors' package `hyperopt`."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.base.errors import check_least
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Categorical, Configuration, Coordinate, Float, Integer, Ordinal
from nasbench.benchmarks.spaces.hyperparameters import shares
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from hyperopt import Trials
    from hyperopt.base import Domain


@METHODS.register("hyperopt")
class Hyperopt(Method):
    """Hyperopt's tree-structured Parzen estimator, which models each hyper-parameter by itself.

    Ordinals are whole numbers (the index of the level), and a hyper-parameter on which others depend is a choice.
    Constraints are ignored. A failed evaluation, and one that is refused before training, is a failed trial: nothing is
    learnt from it, and nothing from pending ones. Of a list of rows it is told the row that was evaluated.

    Take it for a comparison with what papers call Hyperopt or TPE.

    Beside its source: it is its authors' package.

    Options:
        initial: random configurations at first, at least 1 (the package's default; c-TPE's paper has 10).
    """

    about = About(
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "J. Bergstra, D. Yamins and D. D. Cox. Making a Science of Model Search: Hyperparameter Optimization in "
            "Hundreds of Dimensions for Vision Architectures. ICML 2013."
        ),
        seconds=8e-3,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 20) -> None:
        require("hyperopt", "peers", "hyperopt")
        check_least("initial", initial, 1)
        self._problem, self._rng, self._initial, self._flat = problem, rng, initial, problem.flat
        self._pending = Pending[dict[str, Any]]()
        self._search: tuple[Domain, Trials] | None = None

    @classmethod
    def make_ready(cls) -> None:
        require("hyperopt", "peers", "hyperopt")
        import hyperopt  # noqa: F401

    def ask(self) -> Configuration:
        configuration, trial = self._proposed()
        self._pending.add(configuration, trial)
        return configuration

    def tell(self, observation: Observation) -> None:
        from hyperopt import JOB_STATE_DONE

        trial = self._pending.answer(observation)
        is_ok = observation.evaluation.status == "ok"
        trial["result"] = {"status": "ok", "loss": observation.objective} if is_ok else {"status": "fail"}
        trial["state"] = JOB_STATE_DONE

    def _proposed(self) -> tuple[Configuration, dict[str, Any]]:
        """A configuration and its trial, which holds the coordinates of that configuration."""
        from hyperopt import tpe

        domain, trials = self._begun()
        trials.refresh()
        seed = int(self._rng.integers(2**31 - 1))
        documents = tpe.suggest(
            trials.new_trial_ids(1), domain, trials, seed, n_startup_jobs=self._initial, verbose=False
        )
        trials.insert_trial_docs(documents)
        trials.refresh()
        trial: dict[str, Any] = trials.trials[-1]
        values = trial["misc"]["vals"]
        configuration = self._flat.at(self._coordinates(values))
        for d, x in enumerate(self._flat.coordinates(configuration)):
            if values.get(str(d)) and x is not None:
                values[str(d)] = [x]
        return configuration, trial

    def _coordinates(self, values: dict[str, list[Any]]) -> list[Coordinate]:
        coordinates: list[Coordinate] = []
        for d, (h, condition) in enumerate(zip(self._flat.hyperparameters, self._flat.conditions, strict=True)):
            if condition is not None and not condition.holds(coordinates):
                coordinates.append(None)
                continue
            low, high = (h.low, h.high) if isinstance(h, Float | Integer) else (0, len(h.values) - 1)
            drawn = min(max(float(values[str(d)][0]), low), high)  # a number at the end of its range may round outwards
            coordinates.append(drawn if isinstance(h, Float) else round(drawn))
        return coordinates

    def _begun(self) -> tuple[Domain, Trials]:
        """The space in Hyperopt's words, and the trials; made by the first ask, for the import takes a second."""
        if self._search is None:
            from hyperopt import Trials
            from hyperopt.base import Domain

            logging.getLogger("hyperopt").setLevel(logging.ERROR)
            tops = [d for d, condition in enumerate(self._flat.conditions) if condition is None]
            expressions = _Expressions(self._problem)
            self._search = Domain(lambda _: 0.0, [expressions.of(d) for d in tops]), Trials()
        return self._search


class _Expressions:
    """The expression of each hyper-parameter, one object wherever it stands."""

    def __init__(self, problem: Problem) -> None:
        self._flat = problem.flat
        self._made: dict[int, Any] = {}

    def of(self, d: int) -> Any:
        """A hyper-parameter; one on which others depend chooses among lists of them."""
        if d not in self._made:
            children = [c for c, condition in enumerate(self._flat.conditions) if condition and condition.parent == d]
            self._made[d] = self._parent(d, children) if children else self._leaf(d)
        return self._made[d]

    def _parent(self, d: int, children: Sequence[int]) -> Any:
        from hyperopt import hp

        h = self._flat.hyperparameters[d]
        assert isinstance(h, Categorical | Ordinal)  # see `Condition`
        conditions = [(c, condition) for c in children if (condition := self._flat.conditions[c])]
        options = [[self.of(c) for c, condition in conditions if condition.permitted[x]] for x in range(len(h.values))]
        return hp.pchoice(str(d), list(zip(shares(h), options, strict=True)))

    def _leaf(self, d: int) -> Any:
        from hyperopt import hp

        h, label = self._flat.hyperparameters[d], str(d)
        if isinstance(h, Float):
            low, high = (math.log(h.low), math.log(h.high)) if h.log else (h.low, h.high)
            return (hp.loguniform if h.log else hp.uniform)(label, low, high)
        if isinstance(h, Integer):
            low, high = h.low - 0.5, h.high + 0.5
            return (
                hp.qloguniform(label, math.log(low), math.log(high), 1) if h.log else hp.quniform(label, low, high, 1)
            )
        if isinstance(h, Categorical) or h.prior:
            return hp.pchoice(label, list(zip(shares(h), range(len(h.values)), strict=True)))
        return hp.quniform(label, -0.5, len(h.values) - 0.5, 1)

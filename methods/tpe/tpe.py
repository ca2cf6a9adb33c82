"""TPE (Bergstra et al., 2011) and c-TPE (Watanabe and Hutter, IJCAI 2023).

There are three variants: `amended` (default), `paper` (the text of the c-TPE paper) and `scripts` (its authors' code).
`docs/notebook/ctpe.md` lists every difference with its reason and its measured effect. In short:

* amended: coordinates that have been evaluated `evaluations_that_bar` times are not proposed again, because on a noisy
  finite space the acquisition's maximum is usually a repetition. Without constraints, categorical kernels and γ are
  Optuna's. A kernel of a real or integer hyper-parameter is never narrower than 8 % of the range (elsewhere 1 %).
* scripts: each hyper-parameter of a candidate is drawn from its one-dimensional mixture, not from the joint one. If no
  observation satisfies a constraint, only the oldest of the smallest values is good. Ordinals and integers on a log
  scale have densities between their levels, and a candidate is moved to a level after it has been scored. The scripts'
  defects (one seed for every random stream, a shifted dropout grid) are not reproduced.

All variants ignore the objective while there are fewer feasible observations than good ones are needed (the paper's
text does so only while there is none), and take the scripts' bandwidths (the paper names BOHB's). The range of an
ordinal of up to 32 levels extends half a step beyond its outer levels.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import Misfit, UsageError, check_choice, check_least
from nasbench.benchmarks.spaces import AsFlat, Categorical, Configuration, Coordinate, Ordinal
from nasbench.methods.about import About, Needs
from nasbench.methods.belief import Belief, lacks_expert
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from nasbench.methods.tpe.sampler import Rules, Sampler

_LOG = logging.getLogger("nasbench")
_MOST_CANDIDATES = 100_000
_MOST_CHOICES = 256  # of a hyper-parameter with a table of kernels, which has the square of this
_CANDIDATES = 24  # per metric (the paper, the scripts and Optuna)
_CTPE_PAPER = (
    "S. Watanabe and F. Hutter. c-TPE: Tree-structured Parzen Estimator with Inequality Constraints for Expensive "
    "Hyperparameter Optimization. IJCAI 2023."
)
VARIANTS = ("amended", "paper", "scripts")
PENDING = ("ignored", "bad")
"""How TPE and BOHB may treat pending evaluations."""


def good_by_square_root(observations: int) -> int:
    """Number of good observations among N by the c-TPE paper's γ: ⌈√N / 4⌉."""
    return math.ceil(0.25 * math.sqrt(observations))


def good_by_share(observations: int) -> int:
    """Number of good observations among N by Optuna's γ: ⌈N / 10⌉, at most 25."""
    return min(25, math.ceil(0.1 * observations))


def evaluations_that_bar(evaluations: int) -> int:
    """Number of evaluations after which a configuration is not proposed again: max(1, ⌈√N / 4⌉ - 1).

    The paper's γ makes ⌈√N / 4⌉ observations good. If all of them were of one configuration, the density would propose
    that configuration for ever; so one place is left to others.
    """
    return max(1, good_by_square_root(evaluations) - 1)


_GAMMAS = {"sqrt": good_by_square_root, "linear": good_by_share}


@METHODS.register("tpe")
class TPE(Method):
    """Tree-structured Parzen estimator: optimises the objective, and models no constraint.

    Models good and bad observations by kernel densities and proposes the candidate with the largest ratio of the two.
    By default pending evaluations (asynchronous workers) are ignored, also where repetitions are counted: in a small
    space several workers may evaluate one configuration at the same time. A failed evaluation violates a hard
    constraint (c-TPE, appendix D) and does not count for the objective; so does one that is refused before training,
    which keeps later proposals away from known constraints.

    Take it for a space without constraints, mixed or conditional, with 50 evaluations or more.

    Beside its source: a run is better than one of Optuna's with probability 0.52 to 0.54; it does not repeat itself
    on noisy tables, and its kernels are at least 8 % of a range.

    Options:
        candidates: configurations compared per ask and metric; 0 for the variant's default: 48 in amended c-TPE with
            constraints, else 24.
        initial: random configurations before the model is used, at least 1.
        gamma: number of good observations among N: sqrt (a quarter of the root of N), linear (a tenth, at most 25), or
            auto (linear in the amended variant without constraints, else sqrt).
        variant: amended (does not repeat itself on noisy tables), paper (the text of the c-TPE paper), or scripts (its
            authors' code); docs/notebook/ctpe.md lists the differences.
        pending: ignored, or bad: a pending evaluation is a bad observation of the objective until it is told.
    """

    about = About(
        source=(
            "J. Bergstra, R. Bardenet, Y. Bengio and B. Kégl. Algorithms for Hyper-Parameter Optimization. NIPS 2011."
        ),
        version=5,
        tuned_on=("hpobench", "hpolib", "lcbench", "nas-bench-201", "yahpo-rbv2-rpart", "yahpo-rbv2-xgboost"),
        learns_from_all=True,
        seconds=7e-5,
    )
    needs = Needs(views=(AsFlat,))
    heeds_constraints: ClassVar[bool] = False
    """Whether each constraint has its densities; if not, constraints are ignored."""
    relative: ClassVar[bool] = True
    """Whether scores are relative density ratios, and the objective is split at feasible observations."""
    default_candidates: ClassVar[int] = _CANDIDATES
    """Number of candidates per metric in the amended variant with constraints."""

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        candidates: int = 0,
        initial: int = 10,
        gamma: str = "auto",
        variant: str = "amended",
        pending: str = "ignored",
    ) -> None:
        check_choice("pending", pending, PENDING)
        check_choice("gamma rule", gamma, ("auto", *_GAMMAS))
        check_choice("variant", variant, VARIANTS)
        bounds = problem.constraints if self.heeds_constraints else ()
        amended = variant == "amended"
        candidates = candidates or (self.default_candidates if amended and bounds else _CANDIDATES)
        if not 1 <= candidates * (1 + len(bounds)) <= _MOST_CANDIDATES:
            most = _MOST_CANDIDATES // (1 + len(bounds))
            raise UsageError(f"candidates must lie in [1, {most}], or be 0 for the default, not {candidates}")
        check_least("initial", initial, 1)
        parents = {condition.parent for condition in problem.flat.conditions if condition}
        for d, h in enumerate(problem.flat.hyperparameters):
            choices = len(h.values) if isinstance(h, Categorical) or (isinstance(h, Ordinal) and d in parents) else 0
            if choices > _MOST_CHOICES:
                raise Misfit(
                    f"TPE takes at most {_MOST_CHOICES} choices, also of a number that others depend on, and {h.name} "
                    f"has {choices}"
                )
        self._problem, self._rng, self._bounds = problem, rng, bounds
        if gamma == "auto":
            gamma = "linear" if amended and not bounds else "sqrt"
        self._initial, self._good = initial, _GAMMAS[gamma]
        self._candidates, self._variant = candidates, variant
        self._sampler: Sampler | None = None
        self._asked = self._told = self._observed = 0
        self._heeds_pending = pending == "bad"
        self._pending: list[Configuration] = []
        self._belief: Belief | None = None

    def ask(self) -> Configuration:
        self._asked += 1
        is_initial = max(self._asked - 1, self._told) < self._initial or self._told == 0
        configuration = self._initial_draw() if is_initial else self.suggestion(self._pending)
        if self._heeds_pending:
            self._pending.append(configuration)
        return configuration

    def _initial_draw(self) -> Configuration:
        """A configuration at the beginning: what is believed, then draws from the prior."""
        if self._belief is None:
            return self._problem.sample(self._rng)
        belief, kept = self._belief, float(self._asked == 1)
        return self._problem.accepted(lambda: belief.draw(self._rng, kept=kept))

    def suggestion(self, pending: Sequence[Configuration] = ()) -> Configuration:
        """The best candidate by the model, even before all initial configurations have been asked for.

        Args:
            pending: configurations that count as bad observations.
        """
        barred_at = evaluations_that_bar(self._told) if self._variant == "amended" else 0
        return self._estimators().suggest(max(1, self._good(self._observed)), barred_at, self._rng, pending)

    def tell(self, observation: Observation) -> None:
        self._told += 1
        if observation.configuration in self._pending:  # others' evaluations may be told too
            self._pending.remove(observation.configuration)
        sampler, metrics = self._estimators(), observation.evaluation.metrics
        if observation.evaluation.status != "ok":
            known = {i: b.loss(metrics[b.metric.name]) for i, b in enumerate(self._bounds)}
            known = {i: value for i, value in known.items() if not math.isnan(value)}
            if known:  # refused before training because of known constraint values
                sampler.observe_known(observation.configuration, known)
            else:
                sampler.observe_failure(observation.configuration)
            return
        values = [b.loss(metrics[b.metric.name]) for b in self._bounds]
        feasible = observation.feasible or not self.heeds_constraints
        self._observe(observation, values, feasible)
        self._observed += 1

    def _observe(self, observation: Observation, values: list[float], feasible: bool) -> None:
        """Adds a finished evaluation to the sampler."""
        self._estimators().observe(observation.configuration, observation.objective, values, feasible)

    def acquisition(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """Logarithm of the acquisition that the next `ask` maximises, one value per configuration; for figures."""
        return self._estimators().acquisition(configurations, max(1, self._good(self._observed)))

    @classmethod
    def make_ready(cls) -> None:
        from nasbench.methods.tpe.sampler import compile_ahead, make_compiled

        make_compiled()
        compile_ahead()  # loads the compiled code into this process

    def _estimators(self) -> Sampler:
        if self._sampler is None:
            from nasbench.methods.tpe.dimensions import NARROWEST, NARROWEST_OF_SCRIPTS
            from nasbench.methods.tpe.sampler import Rules, make_compiled  # numba takes a while

            make_compiled()
            scripts = self._variant == "scripts"
            rules = Rules(
                candidates=self._candidates,
                relative=self.relative,
                joint=not scripts,
                oldest_only=scripts,
                continuous_log=scripts,
                vanishing=self._variant == "amended" and not self._bounds,
                narrowest=NARROWEST if self._variant == "amended" else NARROWEST_OF_SCRIPTS,
            )
            limits = [b.limit for b in self._bounds]
            self._sampler = self._new_sampler(limits, rules, self._belief.mode if self._belief else ())
        return self._sampler

    def _new_sampler(self, limits: list[float], rules: Rules, belief: Sequence[Coordinate]) -> Sampler:
        from nasbench.methods.tpe.sampler import Sampler

        return Sampler(self._problem.flat, limits, rules, belief)


@METHODS.register("c-tpe-naive")
class NaiveCTPE(TPE):
    """Naive constrained TPE: the product of plain density ratios of the objective and of every constraint.

    The baseline of the c-TPE paper: no relative ratios, and the split of the objective ignores feasibility. Without a
    constraint it is TPE, but for scores that nearly tie.

    Take it for a comparison with c-TPE's paper, which has it as the baseline.

    Beside its source: a run is better than its authors' median with probability 0.50 to 0.54 on 63 settings;
    departures are those of `c-tpe`.
    """

    about = replace(TPE.about, source=_CTPE_PAPER, version=6, seconds=1.4e-4)

    heeds_constraints = True
    relative = False


@METHODS.register("c-tpe")
class CTPE(TPE):
    """c-TPE: the product of relative density ratios, the objective split at feasible observations.

    Takes any number of inequality constraints. `knowledge=200` looks up the cheap constraints (model size) of 200
    random configurations before the first evaluation and adds them to the observations of these constraints (knowledge
    augmentation, appendix C). With neither a constraint nor a prior it is TPE.

    Take it for any space with constraints, and most without.

    Beside its source: a run is better than its authors' median with probability 0.50 to 0.55 on 63 settings; what
    departs is listed in docs/ctpe.md.

    Options:
        knowledge: random configurations whose cheap constraints are looked up before the first ask; 0 for none.
        prior: NAME=VALUE+NAME=VALUE, values of hyper-parameters that are believed to be good, or good, weak or
            misleading, an expert simulated from the table (docs/known-before.md); empty for no prior.
    """

    about = replace(TPE.about, source=_CTPE_PAPER, version=7, seconds=1.6e-4)

    heeds_constraints = True
    default_candidates = 48
    needs = replace(TPE.needs, experts=True, unless=lacks_expert)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        candidates: int = 0,
        initial: int = 10,
        gamma: str = "auto",
        variant: str = "amended",
        pending: str = "ignored",
        knowledge: int = 0,
        prior: str = "",
    ) -> None:
        super().__init__(
            problem, rng, candidates=candidates, initial=initial, gamma=gamma, variant=variant, pending=pending
        )
        check_least("knowledge", knowledge, 0)
        self._knowledge = knowledge
        cheap = [i for i, bound in enumerate(self._bounds) if bound.metric.cheap]
        if knowledge and not cheap:
            names = ", ".join(bound.metric.name for bound in self._bounds) or "none"
            raise UsageError(f"knowledge needs a constraint on a cheap metric (known before training), not on {names}")
        self._cheap = cheap if knowledge else []
        if prior:
            self._belief = Belief.of(prior, problem, rng)
        if not self._bounds and not problem.several and not prior:
            _LOG.info("c-tpe without a constraint is tpe")

    @classmethod
    def make_ready(cls) -> None:
        import scipy.special  # noqa: F401, for priors

        super().make_ready()

    def ask(self) -> Configuration:
        if self._asked == 0 and self._cheap:
            self._augment()
        return super().ask()

    def _augment(self) -> None:
        assert self._problem.known is not None
        assert isinstance(self._problem.space, AsFlat)  # it has a flat view
        view = self._problem.space.as_flat()
        for _ in range(self._knowledge):
            configuration = self._problem.space.sample(self._rng)
            values = {}
            for i in self._cheap:
                bound = self._bounds[i]
                values[i] = bound.loss(self._problem.known(bound.metric.name, configuration))
            if any(map(math.isnan, values.values())):
                self._estimators().observe_failure(configuration, view)  # infeasible before training
            else:
                self._estimators().observe_known(configuration, values, view)

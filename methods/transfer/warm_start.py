"""Warm starts: begin with what is known of a task, and continue with a method that learns from it."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

from numpy.random import Generator

from nasbench.base.errors import check_least, check_range
from nasbench.base.metrics import Metric
from nasbench.benchmarks.contract import WHOLE
from nasbench.benchmarks.knowledge import EXPERTS
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods._learners import learner
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Proposal
from nasbench.methods.spec import MethodSpec
from nasbench.methods.tpe.tpe import CTPE

_OTHER_TASKS = "tasks"
_MOST_MUTANTS = 50  # per configuration of a beginning, until one is new


def _unfit(problem: Problem, options: Options) -> str:
    begins = str(options["knowledge"])
    if begins in (*EXPERTS, _OTHER_TASKS):
        if problem.knowledge is None:
            return "begins with what is known of a table, and that benchmark is none"
        if begins == _OTHER_TASKS and not problem.knowledge.tasks:
            return "begins with the results of other tables on the same space, and there is none"
    elif begins.removeprefix("-") not in (known := _known_at_once(problem)):
        allowed = ", ".join((*EXPERTS, _OTHER_TASKS, *known))
        return f"cannot begin with the knowledge {begins!r} there; allowed: {allowed}"
    by = str(options["by"])
    learner(by, "warm-start")  # refuses a method that does not learn from all
    reason = MethodSpec(by).misfit(problem)
    return f"continues with {by}, which {reason}" if reason else ""


@METHODS.register("warm-start")
class WarmStart(Method):
    """Proposes configurations that are believed to be good, then continues with a method that learns from them.

    An expert believes in one configuration: it is proposed first, and then mutations of it, each of which changes one
    choice. Experts are simulated from the table: `good` believes in one of its best 1 % of feasible configurations,
    `weak` in one of the best 25 %, `misleading` in one of the worst 25 %. `tasks` is a portfolio of configurations that
    are good on the other tables of the same space, and never looks at the objective of the table at hand; a constraint
    is carried over by the share of configurations that satisfy it. The name of a metric that is known without an
    evaluation, such as a zero-cost proxy, begins with the best by it of `scored` random configurations, and with a
    minus before the name with the worst by it (`-params`: the largest first); each score costs its seconds. With w
    workers up to w - 1 random configurations follow the beginning, because the method that continues has not been told
    all of it.

    Take it for a task beside other tables, or with a cheap score, before another method goes on.

    Beside its source: the portfolio is Wistuba et al.'s, over shares of better configurations.

    Options:
        by: the method that continues, with its defaults; one that learns from evaluations it did not ask for.
        knowledge: good, weak, misleading, tasks, or a metric that is known without an evaluation.
        size: configurations at the beginning, at least 1; if `by` needs more, it draws the rest.
        scored: random configurations that a metric scores, at least `size`.
    """

    about = About(
        source=(
            "Portfolio: M. Wistuba, N. Schilling and L. Schmidt-Thieme. Sequential Model-Free Hyperparameter "
            "Tuning. ICDM 2015. Experts after N. Mallik et al. PriorBand. NeurIPS 2023."
        ),
        by="by",
        initial=lambda options: max(int(options["size"]), MethodSpec(str(options["by"])).initial),
        seconds=CTPE.about.seconds,
    )
    needs = Needs(knowledge=True, experts=True, unless=_unfit)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        by: str = "c-tpe",
        knowledge: str = _OTHER_TASKS,
        size: int = 10,
        scored: int = 100,
    ) -> None:
        check_least("size", size, 1)
        check_range("scored", scored, size)
        self._problem, self._rng, self._knowledge = problem, rng, knowledge
        self._size, self._scored = size, scored
        self._method = learner(by, "warm-start")(replace(problem, experts=None), rng)
        self._beginning: deque[Configuration] | None = None

    @classmethod
    def make_ready(cls) -> None:
        CTPE.make_ready()  # the default; another `by` starts up within the first suggestion that needs it

    def ask(self) -> Configuration:
        if self._beginning is None:
            self._beginning = deque(self._believed())
        if self._beginning:
            return self._beginning.popleft()
        return Proposal.of(self._method.ask(), WHOLE).configuration

    def tell(self, observation: Observation) -> None:
        self._method.tell(observation)

    def _believed(self) -> list[Configuration]:
        """The configurations at the beginning."""
        if self._knowledge not in (*EXPERTS, _OTHER_TASKS):
            metric = _known_at_once(self._problem)[self._knowledge.removeprefix("-")]
            return self._first_by(metric, metric.minimize == self._knowledge.startswith("-"))
        knowledge, experts, space = self._problem.knowledge, self._problem.experts, self._problem.space
        if self._knowledge == _OTHER_TASKS:
            assert knowledge is not None  # see `misfit`
            return list(knowledge.portfolio(self._size))
        assert experts is not None  # a table that knows other tasks knows its own
        chosen = [experts.belief(self._knowledge, self._rng)]
        while len(chosen) < self._size:
            for _ in range(_MOST_MUTANTS):
                mutant = space.mutant(chosen[0], self._rng)
                if mutant not in chosen:
                    break
            chosen.append(mutant)
        return chosen

    def _first_by(self, metric: Metric, highest: bool) -> list[Configuration]:
        """The first by a metric of different random configurations that satisfy the constraints known at once."""
        space, known = self._problem.space, self._problem.known
        assert known is not None  # see `misfit`
        drawn = dict.fromkeys(space.sample(self._rng) for _ in range(self._scored))
        allowed = [c for c in drawn if self._problem.allows(c)] or list(drawn)
        scores = {c: known(metric.name, c) for c in allowed}
        scored = [c for c in allowed if math.isfinite(scores[c])] or allowed  # a dead network has no score
        return sorted(scored, key=scores.__getitem__, reverse=highest)[: self._size]


def _known_at_once(problem: Problem) -> dict[str, Metric]:
    """The metrics that are known without an evaluation, by name, but for the objectives."""
    of_interest = problem.told.items() if problem.known else ()
    return {name: metric for name, metric in of_interest if metric.cheap and metric not in problem.objectives}

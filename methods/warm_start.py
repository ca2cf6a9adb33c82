"""Warm starts: begin with what is known of a task, and continue with a method that learns from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from numpy.random import Generator

from nasbench.benchmarks.contract import WHOLE
from nasbench.benchmarks.knowledge import EXPERTS
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.methods.contract import METHODS, Method, Observation, Problem, Proposal, learner
from nasbench.methods.tpe.tpe import CTPE

_OTHER_TASKS = "tasks"
_MOST_MUTANTS = 50  # per configuration of a beginning, until one is new


@METHODS.register("warm-start")
class WarmStart(Method):
    """Proposes configurations that are believed to be good, then continues with a method that learns from them.

    An expert believes in one configuration: it is proposed first, and then mutations of it, each of which changes one
    choice. Experts are simulated from the table: `good` believes in one of its best 1 % of feasible configurations,
    `weak` in one of the best 25 %, `misleading` in one of the worst 25 %. `tasks` is a portfolio of configurations that
    are good on the other tables of the same space, and never looks at the table at hand; a constraint is carried over
    by the share of configurations that satisfy it.

    Options:
        by: the method that continues, with its defaults; one that learns from evaluations it did not ask for.
        knowledge: good, weak, misleading or tasks.
        size: configurations at the beginning, at least 1.
    """

    source = (
        "Portfolio: M. Wistuba, N. Schilling and L. Schmidt-Thieme. Sequential Model-Free Hyperparameter Tuning. ICDM "
        "2015. Experts after N. Mallik et al. PriorBand. NeurIPS 2023."
    )
    tuned_on = CTPE.tuned_on
    seconds = CTPE.seconds
    initial_option = "size"

    def __init__(
        self, problem: Problem, rng: Generator, *, by: str = "c-tpe", knowledge: str = _OTHER_TASKS, size: int = 10
    ) -> None:
        if knowledge not in (*EXPERTS, _OTHER_TASKS):
            raise unknown("knowledge", knowledge, (*EXPERTS, _OTHER_TASKS))
        if size < 1:
            raise UsageError(f"size must be at least 1, not {size}")
        self._problem, self._rng, self._knowledge, self._size = problem, rng, knowledge, size
        self._method = learner(by, "warm-start")(problem, rng)
        self._beginning: deque[Configuration] | None = None

    @classmethod
    def misfit(cls, problem: Problem, options: Mapping[str, int | float | bool | str]) -> str:
        if problem.knowledge is None:
            return "begins with what is known of a table, and that benchmark is none"
        if options["knowledge"] == _OTHER_TASKS and not problem.knowledge.tasks:
            return "begins with the results of other tables on the same space, and there is none"
        by = str(options["by"])
        reason = learner(by, "warm-start").misfit(problem, {})
        return f"continues with {by}, which {reason}" if reason else super().misfit(problem, options)

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
        knowledge, space = self._problem.knowledge, self._problem.space
        assert knowledge is not None  # see `misfit`
        if self._knowledge == _OTHER_TASKS:
            return list(knowledge.portfolio(self._size))
        chosen = [knowledge.belief(self._knowledge, self._rng)]
        while len(chosen) < self._size:
            for _ in range(_MOST_MUTANTS):
                mutant = space.mutate(chosen[0], self._rng)
                if mutant not in chosen:
                    break
            chosen.append(mutant)
        return chosen

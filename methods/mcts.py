"""Monte Carlo tree search over the sequence of choices: UCT (Kocsis and Szepesvári, ECML 2006)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces import AsSequence, Configuration
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Rank


@METHODS.register("mcts")
class Mcts(Method):
    """Descends the tree of choices by upper confidence bounds, and continues at random from the first new node.

    A child's bound is its mean reward + exploration sqrt(2 ln N / n), N and n the visits of parent and child; children
    without a visit come first, in random order. What is random is distributed as random search's draws: in a list an
    option is taken in proportion to the rows behind it (uniformly drawn, small branches would come up too often). The
    reward of an observation, in [0, 1], is the share of earlier observations that are worse (a tie counts half), so it
    does not depend on the scale of the objective. Feasibility counts before the objective. A pending proposal counts as
    a visit, so that several workers spread.

    The tree asks for each of its leaves at most √N times: it leaves a branch all of whose leaves have been asked for
    that often, until all have. (What is completed at random below a new node is not counted.) Without this rule most
    proposals on a table without noise were repetitions; under noise some repetitions say which configuration is best.

    Take it for programs of the search-space language, as in its paper.

    Beside its source: it leaves a leaf that it has asked for √N times, since it would repeat itself.

    Options:
        exploration: weight of the term that favours seldom visited children, 0 or more; rewards lie in [0, 1].
        bisection: true replaces a choice among many values by choices between halves of their list, so that
            neighbouring values share observations.
    """

    about = About(
        source=(
            "L. Kocsis and C. Szepesvári. Bandit Based Monte-Carlo Planning. ECML 2006. On spaces of "
            "architectures: R. Negrinho, D. Patil, N. Le, D. Ferreira, M. Gormley and G. Gordon. Towards modular "
            "and programmable architecture search. NeurIPS 2019."
        ),
        version=3,
        tuned_on=("ec-nas", "nas-bench-101", "nas-bench-graph", "sk-forest", "sk-svm"),
        seconds=3e-5,
    )
    needs = Needs(views=(AsSequence,))

    def __init__(self, problem: Problem, rng: Generator, *, exploration: float = 0.33, bisection: bool = False) -> None:
        if not 0 <= exploration < math.inf:
            raise UsageError(f"exploration must be 0 or more, and finite, not {exploration}")
        assert isinstance(problem.space, AsSequence)  # see `needs`
        self._start = problem.space.as_sequence
        self._problem, self._rng = problem, rng
        self._exploration, self._bisection = exploration, bisection
        self._root = Node()
        self._pending = Pending[list[Node]]()
        self._ranks: list[Rank] = []

    def ask(self) -> Configuration:
        walked = self._problem.accepted(self._walked, attrgetter("configuration"))
        path, widths = walked.path, walked.widths
        for parent, choice, child in zip(path, walked.choices, path[1:], strict=False):
            parent.children[choice] = child
        for visited in path:
            visited.visits += 1
        if len(path) > len(widths):  # the tree has a node of its own for this configuration
            path[-1].asked += 1
            for parent, width in reversed(list(zip(path, widths, strict=False))):
                children = parent.children.values()
                parent.asked = min(child.asked for child in children) if len(children) == width else 0
        self._pending.add(walked.configuration, path)
        return walked.configuration

    def _walked(self) -> _Walked:
        """A way from the root to a configuration, down the tree and on at random; the tree is not changed."""
        node: Node | None = self._root
        path, choices, widths, walk = [self._root], list[int](), list[int](), self._start()
        while walk.options:
            low, high, weights = 0, walk.options, walk.weights or [1] * walk.options
            while high - low > 1:
                middle = (low + high) // 2
                shares = [sum(weights[low:middle]), sum(weights[middle:high])] if self._bisection else weights
                choice = self._choose(node, shares)
                if not self._bisection:
                    low, high = choice, choice + 1
                else:
                    low, high = (middle, high) if choice else (low, middle)
                widths.append(len(shares))
                if node is not None:
                    child = node.children.get(choice)
                    path.append(child or Node())
                    choices.append(choice)
                    node = child  # below a new node all is random
            walk = walk.take(low)
        return _Walked(walk.configuration, path, choices, widths)

    def tell(self, observation: Observation) -> None:
        rank = observation.rank(self._problem.constraints)
        worse = len(self._ranks) - (bisect_left(self._ranks, rank) + bisect_right(self._ranks, rank)) / 2
        reward = worse / len(self._ranks) if self._ranks else 0.5
        insort(self._ranks, rank)
        for node in self._pending.answer(observation):
            node.told += 1
            node.reward += reward

    def _choose(self, node: Node | None, weights: Sequence[float]) -> int:
        """The option to take: one without a visit, drawn by its weight, else the open one with the highest bound."""
        options = range(len(weights))
        new = [option for option in options if node is None or option not in node.children]
        if node is None or new:
            shares = list(accumulate(weights[option] for option in new))
            total = shares[-1]  # rows are counted, priors are real
            drawn = int(self._rng.integers(total)) if isinstance(total, int) else self._rng.random() * total
            return new[min(bisect_right(shares, drawn), len(new) - 1)]
        enough = math.isqrt(self._root.visits)
        left = [option for option in options if node.children[option].asked < enough] or options
        return max(left, key=lambda option: node.children[option].bound(node.visits, self._exploration))


class _Walked(NamedTuple):
    """A way from the root of the tree to a configuration."""

    configuration: Configuration
    path: list[Node]
    """The root, then the nodes below it; the last one may be new."""
    choices: list[int]
    """The choice behind each node of the path but the root."""
    widths: list[int]
    """The number of options of every choice, also of those below the path."""


class Node:
    """A sequence of choices, with the visits and rewards of all configurations that begin with it."""

    __slots__ = ("asked", "children", "reward", "told", "visits")

    def __init__(self) -> None:
        self.children: dict[int, Node] = {}
        self.asked = 0
        """The smallest number of times that the tree has asked for a configuration that begins with this."""
        self.visits, self.told, self.reward = 0, 0, 0.0

    def bound(self, visits: int, exploration: float) -> float:
        """The upper confidence bound, given the parent's visits; before its first reward a child's mean is 1/2."""
        mean = self.reward / self.told if self.told else 0.5
        return mean + exploration * math.sqrt(2 * math.log(visits) / self.visits)

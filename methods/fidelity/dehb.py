"""DEHB: Hyperband's brackets filled by differential evolution (Awad, Mallik and Hutter, IJCAI 2021)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import AsFlat, Configuration, Coordinate, Flat
from nasbench.benchmarks.spaces.hyperparameters import at_share, share_of
from nasbench.methods.contract import METHODS
from nasbench.methods.fidelity.hyperband import Bracket, Hyperband
from nasbench.methods.problem import Observation, Problem, Proposal, Rank
from nasbench.methods.rungs import best, merged, sizes_of_authors

Vector: TypeAlias = NDArray[np.float64]
"""A point of the unit cube, one coordinate per hyper-parameter."""

_FACTOR = 0.5
"""F, the factor of the difference of two vectors (the paper's value)."""
_CROSSOVER = 0.5
"""CR, the probability that a coordinate comes from the mutant (the paper's value)."""
_COMBINED = 3
"""Number of vectors that a mutation combines."""


@dataclass
class Member:
    """A member of a population, with its result at the population's level."""

    vector: Vector
    configuration: Configuration = None
    """The configuration at the vector; None before it is evaluated."""
    rank: Rank = (math.inf, math.inf)
    is_ok: bool = False
    """Whether its evaluation is ok: neither failed nor refused."""
    trial: int | None = None
    """The training that may be continued; None if there is none."""


@dataclass
class Population:
    """The members at one level, kept during the whole run, across brackets."""

    members: list[Member]
    _turn: int = 0
    going_up: deque[Member] = field(default_factory=deque)
    """Members of the next lower population that are to be trained up to this level."""

    def next_slot(self) -> int:
        """The slot of the next parent, in turn."""
        slot = self._turn
        self._turn = (slot + 1) % len(self.members)
        return slot

    def ranked(self) -> list[Member]:
        """All members, the best first, unevaluated ones last."""
        return [self.members[i] for i in best([member.rank for member in self.members], len(self.members))]


class _Child(NamedTuple):
    """A member under evaluation, and the slot of its parent, which it may replace."""

    member: Member
    slot: int


class Generations(Bracket):
    """A bracket with fixed sizes of rungs, all of whose trainings are chosen by evolution."""

    def __init__(self, levels: list[Level], sizes: list[int], breed: Callable[[Level, Level, int], Proposal]) -> None:
        super().__init__(levels, sizes)
        self._breed = breed

    def next(self, draw: Callable[[Level], Configuration]) -> Proposal | None:
        if not self._to_begin:
            return None
        self._to_begin -= 1
        below = self._levels[max(self._rung - 1, 0)]
        return self._breed(self._levels[self._rung], below, self._sizes[self._rung])

    def _promote(self) -> None:
        self._rung += 1
        self._to_begin = self._open = self._sizes[self._rung]
        self._results.clear()


@METHODS.register("dehb")
class DEHB(Hyperband):
    """Hyperband's brackets with a population at each level, improved by differential evolution.

    In the first round of brackets the best of a population continue at the next level, as in Hyperband. Afterwards
    every training is new: a mutant of the best of the next lower population, or on a bracket's first rung of its own
    (rand/1, F = 0.5), crossed with the next parent of its level (CR = 0.5), which it replaces if it is no worse. As in
    the authors' code, initial vectors are bred from and not evaluated (the paper evaluates them), and brackets have its
    sizes.
    Members are compared as in Hyperband: by violation, then by objective. docs/notebook/multi-fidelity.md describes how
    categories, levels and conditions are encoded in the unit cube.

    Take it for trainings that can be watched, after a small budget.

    Beside its source: levels, parents and promotions are those of the package DEHB 0.1.2.
    """

    about = replace(
        Hyperband.about,
        source=(
            "N. Awad, N. Mallik and F. Hutter. DEHB: Evolutionary Hyperband for Scalable, Robust and Efficient "
            "Hyperparameter Optimization. IJCAI 2021."
        ),
        version=3,
        seconds=1e-4,
    )
    needs = replace(Hyperband.needs, views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)
        self._flat = problem.flat
        self._children: dict[int, _Child] = {}
        """The pending children, by trial."""
        self._bred: _Child
        largest = dict.fromkeys(self._levels, 0)
        for s in range(len(self._rungs)):
            for level, size in zip(*self._sized(s), strict=True):
                largest[level] = max(largest[level], size)
        dimensions = len(self._flat.hyperparameters)
        self._populations = {
            level: Population([Member(vector) for vector in rng.random((size, dimensions))])
            for level, size in largest.items()
        }

    def ask(self) -> Proposal:
        proposal = super().ask()
        self._children[self._asked - 1 if proposal.continues is None else proposal.continues] = self._bred
        return proposal

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        child, slot = self._children.pop(observation.trial)
        if observation.evaluation.status == "failed":
            return
        child.rank = observation.rank(self._problem.constraints)
        child.is_ok, child.trial = observation.evaluation.status == "ok", observation.trial
        members = self._populations[observation.level].members
        if child.rank <= members[slot].rank:
            members[slot] = child

    def bracket(self, s: int) -> Bracket:
        return Generations(*self._sized(s), partial(self._breed, self._opened < len(self._rungs)))

    def _sized(self, s: int) -> tuple[list[Level], list[int]]:
        """The levels of the bracket with s rungs above its first, and the number of trainings at each."""
        return merged(self._rungs[-s - 1 :], sizes_of_authors(len(self._rungs), s, self._eta))

    def _breed(self, in_first_round: bool, level: Level, below: Level, n: int) -> Proposal:
        """The next proposal at a level.

        Args:
            below: the rung below in the bracket; the same level at the bracket's first rung.
            n: size of the rung.
        """
        population = self._populations[level]
        slot = population.next_slot()
        going_up = self._next_up(level, below, n) if in_first_round and below.work < level.work else None
        if going_up is not None:
            self._bred = _Child(Member(going_up.vector, going_up.configuration), slot)
            trial, going_up.trial = going_up.trial, None  # a training can be continued only once
            return Proposal(going_up.configuration, level, trial)
        parent = population.members[slot].vector
        member = self._problem.accepted(
            lambda: decoded(self._evolved(parent, below, n), self._flat), attrgetter("configuration")
        )
        self._bred = _Child(member, slot)
        return Proposal(member.configuration, level)

    def _next_up(self, level: Level, below: Level, n: int) -> Member | None:
        """The member of the next lower population to continue now; None if none has been evaluated.

        The best n that are not at this level yet are queued once, and taken one by one.
        """
        population = self._populations[level]
        if not population.going_up:
            here = {member.vector.tobytes() for member in population.members}
            lower = [member for member in self._populations[below].ranked() if member.is_ok]
            new = [member for member in lower if member.vector.tobytes() not in here]
            population.going_up.extend(new[:n] or lower[:1])
        return population.going_up.popleft() if population.going_up else None

    def _evolved(self, parent: Vector, below: Level, n: int) -> Vector:
        """A child of a parent and a mutant of the best n of the population below."""
        pool = [member.vector for member in self._populations[below].ranked()[:n]]
        if len(pool) < _COMBINED:
            everyone = [member.vector for level in self._levels for member in self._populations[level].members]
            pool += [mutant(parent, everyone, self._rng) for _ in range(_COMBINED + 1 - len(pool))]
        return crossed(parent, mutant(parent, pool, self._rng), self._rng)


def mutant(parent: Vector, pool: Sequence[Vector], rng: Generator) -> Vector:
    """x1 + F (x2 - x3) for three random vectors of a pool without the parent (rand/1 of Storn and Price, 1997).

    Random vectors fill up a small pool. The result may lie outside the unit cube.
    """
    is_parent = [np.array_equal(vector, parent) for vector in pool]
    without = is_parent.index(True) if True in is_parent else None
    others = [vector for i, vector in enumerate(pool) if i != without]
    others += [rng.random(len(parent)) for _ in range(_COMBINED - len(others))]
    first, second, third = (others[i] for i in rng.choice(len(others), _COMBINED, replace=False))
    combined: Vector = first + _FACTOR * (second - third)
    return combined


def crossed(parent: Vector, mutant: Vector, rng: Generator) -> Vector:
    """The parent with each coordinate taken from the mutant with probability CR, at least one of them.

    Coordinates outside [0, 1] are redrawn.
    """
    taken = rng.random(len(parent)) < _CROSSOVER
    if not taken.any():
        taken[rng.integers(len(parent))] = True
    child = np.where(taken, mutant, parent)
    outside = (child < 0) | (child > 1)
    child[outside] = rng.random(int(outside.sum()))
    return child


def decoded(vector: Vector, flat: Flat) -> Member:
    """The member at a point of the unit cube; each coordinate is a share of the prior's mass.

    Coordinates of absent conditional hyper-parameters are left out; the vector keeps them. Where the point stands for
    another configuration (of a list of rows the nearest), the vector moves there.
    """
    coordinates: list[Coordinate] = []
    for h, condition, share in zip(flat.hyperparameters, flat.conditions, vector.tolist(), strict=True):
        is_present = condition is None or condition.holds(coordinates)
        coordinates.append(at_share(h, share) if is_present else None)
    configuration, moved = flat.at(coordinates), vector.copy()
    for k, (h, x, y) in enumerate(zip(flat.hyperparameters, flat.coordinates(configuration), coordinates, strict=True)):
        if x is not None and x != y:
            moved[k] = share_of(h, x)
    return Member(moved, configuration)

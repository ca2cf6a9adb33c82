"""After POPNASv3 (Falanti, Lomurno, Ardagna and Matteucci, Applied Soft Computing 145, 2023): progressive search.

The paper's text could not be had: this follows what is known of its authors' code of that date (popnas 3.0.0), but for
the predictors, which are ours. On spaces without blocks it is an adaptation: see `growth`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsSequence, Configuration
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.methods.contract import METHODS, Logged, Method, Observation, Problem
from nasbench.methods.popnas.forecast import Columns, Forecast, forecast
from nasbench.methods.popnas.fronts import exploration_front, pareto_front, underused
from nasbench.methods.popnas.growth import Member, growth_of
from nasbench.methods.popnas.rounds import Round

_PARETO = {"none": 1, "time": 2, "time+size": 3}
_FEWEST = 30  # networks, before anything is predicted: a first level may have five
_MOST_DRAWS = 50  # of a random configuration that is not pending
_MOST_LOOKED_AT = 2000  # candidates, to learn which elements there are


@METHODS.register("popnas")
class Popnas(Method):
    """Grows networks level by level and evaluates the predicted Pareto front of each level, after POPNASv3.

    All networks of the first level are evaluated, or `first` of them, and where these are fewer than 30 or `first`,
    random ones of the next levels. Then predictors of score, seconds and size are fitted on all that was told, each
    network of the level is extended in every way, and the Pareto front of the predictions is evaluated, at most
    `children` of them, with at most `exploration` more that bring back what the front neglects. After the last level,
    extensions of all networks that were evaluated are candidates, again and again. A score is the rank among what was
    told: by violation of the constraints, then by objective; a failed one is last.

    Options:
        children: networks evaluated of the front of each level, at most.
        exploration: networks evaluated beside them, at most, that bring back what the front neglects; 0 for none.
        first: random networks evaluated before anything is predicted, of the first level and, where that has fewer, of
            the next ones; 0 for the whole first level and at least 30.
        pareto: objectives of the front beside the score: time+size, time, or none, which is PNAS (Liu et al., 2018).
        candidates: networks of which predictions are made; where a level has more, so many are drawn.
    """

    repeatable = Repeatable.SAME_KERNELS
    source = (
        "A. Falanti, E. Lomurno, D. Ardagna and M. Matteucci. POPNASv3: A Pareto-optimal neural architecture search "
        "solution for image and time series classification. Applied Soft Computing 145, 2023."
    )
    version = 3
    tuned_on = ("nas-bench-201",)
    needs = (AsSequence,)
    seconds = 0.01

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        children: int = 128,
        exploration: int = 16,
        first: int = 0,
        pareto: str = "time",
        candidates: int = 500_000,
    ) -> None:
        limits = {"children": (children, 1), "exploration": (exploration, 0), "first": (first, 0)}
        for name, (value, low) in (limits | {"candidates": (candidates, 1)}).items():
            if not low <= value <= 1_000_000:
                raise UsageError(f"{name} must lie in [{low}, 1000000], not {value}")
        if pareto not in _PARETO:
            raise unknown("objectives of a front", pareto, _PARETO)
        self._problem, self._space, self._rng = problem, problem.space, rng
        self._children, self._exploration, self._first, self._most = children, exploration, first, candidates
        self._objectives = _PARETO[pareto]
        self._growth, self._columns = growth_of(problem.space), Columns.of(problem)
        self._rounds: list[Round] = []
        self._queue: list[Member] = []
        """What is left of the fronts of the last round."""
        self._awaited: set[Member] = set()
        """Members of these fronts that have not been told."""
        self._pending: dict[Configuration, list[tuple[Round, Member] | None]] = {}
        self._asked: set[Hashable] = set()
        self._is_over = False
        """Whether every network that can be grown has been asked for."""

    def ask(self) -> Configuration:
        member = self._next()
        found = self._stray() if member is None else self._growth.configuration(member)
        self._pending.setdefault(found, []).append(None if member is None else (self._rounds[-1], member))
        return found

    def tell(self, observation: Observation) -> None:
        waiting = self._pending[observation.configuration]
        asked = waiting.pop(0)
        if not waiting:
            del self._pending[observation.configuration]
        if asked is not None:
            own, member = asked
            own.told[member] = observation
            self._awaited.discard(member)

    @classmethod
    def initial_phase(cls, options: Mapping[str, int | float | bool | str]) -> int:
        return int(options["first"]) or _FEWEST

    @property
    def log(self) -> Sequence[Logged]:
        """Each round's level, candidates and fronts, what was predicted and measured of them, and how it agrees."""
        return [row for number, own in enumerate(self._rounds, 1) for row in own.log(number, self._columns.seconds)]

    def _next(self) -> Member | None:
        """The member to ask for next; None where there is none."""
        if not self._queue and not self._awaited and not self._is_over:
            own = self._following() if self._rounds else self._begun()
            self._rounds.append(own)
            self._queue = own.front + own.exploration
            self._awaited = set(self._queue)
            self._is_over = not self._queue
        return self._queue.pop(0) if self._queue else next(self._rounds[-1].rest, None)

    def _stray(self) -> Configuration:
        """A random configuration, where nothing is left to ask for or to wait with; not a pending one if it can be."""
        draws = (self._space.sample(self._rng) for _ in range(_MOST_DRAWS))
        return next((found for found in draws if found not in self._pending), None) or self._space.sample(self._rng)

    def _begun(self) -> Round:
        """The first round: the first level in random order, and members of later ones where predictors need more."""
        found = {self._growth.key(member): member for member in self._growth.foremost()}
        level: list[Member] = [()]
        count = 0
        while level and len(found) < max(count, _FEWEST):
            level = self._extended(level)
            for place in self._rng.permutation(len(level)).tolist():
                found.setdefault(self._growth.key(level[place]), level[place])
            count = count or self._first or len(level)
        members, count = list(found.values()), max(count, 0 if self._first else _FEWEST)
        if self._problem.known_bounds:
            violations = [self._violation(member) for member in members]
            members = [members[place] for place in np.argsort(violations, kind="stable").tolist()]
            count = min(count, max(violations.count(0.0), _FEWEST))
        self._asked.update(map(self._growth.key, members[:count]))
        return Round(1, members[:count], rest=filter(self._is_taken, iter(members[count:])))

    def _following(self) -> Round:
        """The fronts of the next level that has something new; of all levels once the last one was reached."""
        level, told = self._rounds[-1].level, {m: o for own in self._rounds for m, o in own.told.items()}
        with_size = self._objectives == _PARETO["time+size"]
        while True:
            was_last = level >= self._growth.levels
            level = min(level + 1, self._growth.levels)
            members = self._extended(self._parents(told, level, was_last))
            own = self._fronts(level, told, forecast(self._problem, self._growth, told, members, with_size))
            if own.front or (was_last and level >= self._growth.levels):
                return own

    def _fronts(self, level: int, told: Mapping[Member, Observation], found: Forecast) -> Round:
        """Pareto front and exploration front of what is predicted, constraints that are known beforehand aside."""
        own = Round(level, [], candidates=len(found.members))
        allowed = np.flatnonzero(found.violation == 0)
        is_strict = len(allowed) > 0
        if not is_strict:
            allowed = np.argsort(found.violation, kind="stable")[: self._children]
        objectives = [found.score, found.seconds, *([] if found.size is None else [found.size])]
        values = np.stack(objectives[: self._objectives], axis=1)[allowed]
        members = [found.members[place] for place in allowed.tolist()]

        def take(place: int) -> bool:
            member = members[place]
            if not self._is_taken(member, is_strict):
                return False
            own.predicted[member] = found.told_of(int(allowed[place]))
            return True

        own.front = [members[place] for place in pareto_front(values, self._children, take)]
        if level < self._growth.levels and own.front:
            elements = self._growth.elements
            looked_at = [*told, *members[:: 1 + len(members) // _MOST_LOOKED_AT]]
            known = list(dict.fromkeys(element for member in looked_at for element in elements(member)))
            neglected = underused([elements(member) for member in own.front], known)
            of_place = lambda place: elements(members[place])  # noqa: E731
            places = exploration_front(values, of_place, neglected, self._exploration, take)
            own.exploration = [members[place] for place in places]
        own.rest = (members[place] for place in np.argsort(values[:, 0], kind="stable").tolist() if take(place))
        return own

    def _parents(self, told: Mapping[Member, Observation], level: int, every: bool) -> list[Member]:
        """Networks that were evaluated, as members of the level before another; or of `every` one before it."""
        found: dict[Member, None] = {}
        for member in told:
            grown: Member | None = member
            while grown is not None and len(grown) < level:
                if every or len(grown) == level - 1:
                    found[grown] = None
                idle = self._growth.idle(grown)
                grown = None if idle is None else (*grown, idle)
        return list(found)

    def _extended(self, parents: Sequence[Member]) -> list[Member]:
        """Every extension of some members, or `candidates` of them."""
        groups = [self._growth.groups(parent) for parent in parents]
        ends = np.cumsum([0, *map(len, groups)])
        places = np.arange(ends[-1])
        if len(places) > self._most:
            places = np.sort(self._rng.choice(len(places), self._most, replace=False))
        owners = np.searchsorted(ends, places, side="right") - 1
        pairs = zip(owners.tolist(), (places - ends[owners]).tolist(), strict=True)
        return [(*parents[owner], groups[owner][place]) for owner, place in pairs]

    def _is_taken(self, member: Member, is_strict: bool = True) -> bool:
        """Takes a network that has not been asked for, can be trained, and if `is_strict` keeps what is known of it."""
        key = self._growth.key(member)
        if key in self._asked or (is_strict and self._violation(member) > 0) or self._is_impossible(member):
            return False
        self._asked.add(key)
        return True

    def _violation(self, member: Member) -> float:
        """The sum of the violations of constraints that are known before training."""
        if not self._problem.known_bounds:
            return 0.0
        return self._problem.known_violation(self._growth.configuration(member))

    def _is_impossible(self, member: Member) -> bool:
        """Whether it is known before training that there is nothing to train."""
        known, size = self._problem.known, self._columns.size
        return known is not None and size is not None and math.isnan(known(size, self._growth.configuration(member)))

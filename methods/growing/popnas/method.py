"""After POPNASv3 (Falanti, Lomurno, Ardagna and Matteucci, Applied Soft Computing 145, 2023): progressive search.

The paper's text was not available: this follows what is known of its authors' code of that date (popnas 3.0.0), except
for the predictors, which are ours. On spaces without blocks it is an adaptation: see `growth`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import check_choice, check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsSequence, Configuration
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Logged, Method
from nasbench.methods.growing.popnas.forecast import Predictions, ProblemColumns, forecast
from nasbench.methods.growing.popnas.fronts import exploration_front, pareto_front, underused
from nasbench.methods.growing.popnas.growth import Member, growth_of
from nasbench.methods.growing.popnas.rounds import Round
from nasbench.methods.problem import Observation, Problem

_PARETO = {"none": 1, "time": 2, "time+size": 3}
_FEWEST = 30  # networks before the first prediction, because a first level may have only five
_MOST_DRAWS = 50  # draws for a random configuration that is not pending
_MOST_INSPECTED = 2000  # candidates whose elements are listed


def _sizeless(problem: Problem, options: Options) -> str:
    with_size = options["pareto"] == "time+size" and not problem.several
    if with_size and ProblemColumns.of(problem).size is None:
        return "needs a metric to minimise that is known before training for pareto=time+size; pareto=time does not"
    return ""


@METHODS.register("popnas")
class Popnas(Method):
    """Grows networks level by level and evaluates the predicted Pareto front of each level, after POPNASv3.

    First, `first` networks of the first level are evaluated, or with `first=0` all of them; where the level has fewer
    than `first` (30 with `first=0`), random networks of the next levels are added. Then predictors of score, training
    time and size are fitted on all observations, each network of the level is extended in every way, and at most
    `children` networks of the predicted Pareto front are evaluated, with at most `exploration` more that use elements
    that the front neglects. After the last level, extensions of all evaluated networks are candidates, round after
    round. The score is the rank among the observations: by violation of the constraints, then by objective; failed
    ones are last.

    Take it for networks that grow by blocks, where training time counts, too.

    Beside its source: a reconstruction from the paper: its predictors and its space are ours.

    Options:
        children: largest number of networks evaluated of each level's front.
        exploration: largest number of additional networks with neglected elements per level; 0 for none.
        first: random networks evaluated before the first prediction, of the first level and, if it has fewer, of the
            next ones; 0 for the whole first level and at least 30. Those that time each operator come first.
        pareto: objectives of the front in addition to the score: time+size, time, or none, which is PNAS (Liu et al.,
            2018): the networks with the best predicted scores, and no exploration. With several objectives the front is
            theirs.
        candidates: largest number of networks predicted per level; a larger level is sampled.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source=(
            "A. Falanti, E. Lomurno, D. Ardagna and M. Matteucci. POPNASv3: A Pareto-optimal neural architecture "
            "search solution for image and time series classification. Applied Soft Computing 145, 2023."
        ),
        version=7,
        tuned_on=("nas-bench-201",),
        initial=lambda options: int(options["first"]) or _FEWEST,  # a lower bound: the first level depends on the space
        seconds=0.01,
    )
    needs = Needs(views=(AsSequence,), several=True, unless=_sizeless)

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
            check_range(name, value, low, 1_000_000)
        check_choice("objectives of a front", pareto, _PARETO)
        self._problem, self._space, self._rng = problem, problem.space, rng
        self._children, self._first, self._most = children, first, candidates
        self._objectives = len(problem.objectives) if problem.several else _PARETO[pareto]
        self._exploration = exploration if self._objectives > 1 else 0
        self._growth, self._columns = growth_of(problem.space), ProblemColumns.of(problem)
        self._rounds: list[Round] = []
        self._queue: list[Member] = []
        """Members of the last round's fronts that have not been asked for."""
        self._awaited: set[Member] = set()
        """Members of the last round's fronts that have not been told."""
        self._pending = Pending[tuple[Round, Member] | None]()
        self._asked: set[Hashable] = set()
        self._is_over = False
        """Whether a round found nothing new to ask for; random networks follow, which may repeat."""

    def ask(self) -> Configuration:
        member = self._next()
        chosen = self._random() if member is None else self._growth.configuration(member)
        self._pending.add(chosen, None if member is None else (self._rounds[-1], member))
        return chosen

    def tell(self, observation: Observation) -> None:
        asked = self._pending.answer(observation)
        if asked is not None:
            round_, member = asked
            round_.told[member] = observation
            self._awaited.discard(member)

    @property
    def log(self) -> Sequence[Logged]:
        """Each round's level, candidates and fronts, their predictions and measurements, and the rank correlation."""
        seconds = self._columns.seconds
        return [row for number, round_ in enumerate(self._rounds, 1) for row in round_.log(number, seconds)]

    def _next(self) -> Member | None:
        """The member to ask for next; None if there is none."""
        if not self._queue and not self._awaited and not self._is_over:
            round_ = self._next_round() if self._rounds else self._first_round()
            self._rounds.append(round_)
            self._queue = round_.front + round_.exploration
            self._awaited = set(self._queue)
            self._is_over = not self._queue
        return self._queue.pop(0) if self._queue else next(self._rounds[-1].rest, None)

    def _random(self) -> Configuration:
        """A random configuration, for a worker that has no member to evaluate; not a pending one if possible."""
        for _ in range(_MOST_DRAWS):
            drawn = self._problem.sample(self._rng)
            if drawn not in self._pending:
                break
        return drawn

    def _first_round(self) -> Round:
        """The first round: the first level in random order, and members of later levels if predictors need more."""
        foremost = self._growth.foremost()
        if 0 < self._first < len(foremost):
            foremost = ()  # the same few in every run would be no random first level
        members_by_key = {self._growth.key(member): member for member in foremost}
        level: list[Member] = [()]
        count = 0
        while level and len(members_by_key) < max(count, _FEWEST):
            level = self._extended(level)
            for place in self._rng.permutation(len(level)).tolist():
                members_by_key.setdefault(self._growth.key(level[place]), level[place])
            count = count or self._first or len(level)
        members, count = list(members_by_key.values()), max(count, 0 if self._first else _FEWEST)
        if self._problem.known_bounds:
            violations = [self._violation(member) for member in members]
            members = [members[place] for place in np.argsort(violations, kind="stable").tolist()]
            count = min(count, max(violations.count(0.0), _FEWEST))
        self._asked.update(map(self._growth.key, members[:count]))
        return Round(1, members[:count], rest=filter(self._is_taken, iter(members[count:])))

    def _next_round(self) -> Round:
        """The fronts of the next level with new networks; after the last level, of all levels."""
        level, told = self._rounds[-1].level, {m: o for round_ in self._rounds for m, o in round_.told.items()}
        with_size = not self._problem.several and self._objectives == _PARETO["time+size"]
        while True:
            was_last = level >= self._growth.levels
            level = min(level + 1, self._growth.levels)
            members = self._extended(self._parents(told, level, was_last))
            round_ = self._fronts(level, told, forecast(self._problem, self._growth, told, members, with_size))
            if round_.front or (was_last and level >= self._growth.levels):
                return round_

    def _fronts(self, level: int, told: Mapping[Member, Observation], prediction: Predictions) -> Round:
        """The Pareto front and the exploration front of the predictions, among candidates within known constraints."""
        round_ = Round(level, [], candidates=len(prediction.members))
        allowed = np.flatnonzero(prediction.violation == 0)
        is_strict = len(allowed) > 0
        if not is_strict:
            allowed = np.argsort(prediction.violation, kind="stable")[: self._children]
        objectives = [*prediction.scores, prediction.seconds, *([] if prediction.size is None else [prediction.size])]
        values = np.stack(objectives[: self._objectives], axis=1)[allowed]
        members = [prediction.members[place] for place in allowed.tolist()]

        def take(place: int) -> bool:
            member = members[place]
            if not self._is_taken(member, is_strict):
                return False
            round_.predicted[member] = prediction.predicted(int(allowed[place]))
            return True

        round_.front = [members[place] for place in pareto_front(values, self._children, take)]
        if self._exploration and level < self._growth.levels and round_.front:
            elements = self._growth.elements
            inspected = [*told, *members[:: 1 + len(members) // _MOST_INSPECTED]]
            known = list(dict.fromkeys(element for member in inspected for element in elements(member)))
            neglected = underused([elements(member) for member in round_.front], known)
            of_place = lambda place: elements(members[place])  # noqa: E731
            places = exploration_front(values, of_place, neglected, self._exploration, take)
            round_.exploration = [members[place] for place in places]
        round_.rest = (members[place] for place in np.argsort(values[:, 0], kind="stable").tolist() if take(place))
        return round_

    def _parents(self, told: Mapping[Member, Observation], level: int, every: bool) -> list[Member]:
        """Evaluated networks as members of the level before `level`, or of every lower level if `every` is true."""
        parents: dict[Member, None] = {}
        for member in told:
            grown: Member | None = member
            while grown is not None and len(grown) < level:
                if every or len(grown) == level - 1:
                    parents[grown] = None
                idle = self._growth.idle(grown)
                grown = None if idle is None else (*grown, idle)
        return list(parents)

    def _extended(self, parents: Sequence[Member]) -> list[Member]:
        """Every extension of some members, or a random sample of size `candidates` if there are more."""
        groups = [self._growth.groups(parent) for parent in parents]
        ends = np.cumsum([0, *map(len, groups)])
        places = np.arange(ends[-1])
        if len(places) > self._most:
            places = np.sort(self._rng.choice(len(places), self._most, replace=False))
        owners = np.searchsorted(ends, places, side="right") - 1
        pairs = zip(owners.tolist(), (places - ends[owners]).tolist(), strict=True)
        return [(*parents[owner], groups[owner][place]) for owner, place in pairs]

    def _is_taken(self, member: Member, is_strict: bool = True) -> bool:
        """Marks a network as asked for. False if it already is, cannot be trained, or `is_strict` and infeasible."""
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
        """Whether it is known before training that the network cannot be trained."""
        known, size = self._problem.known, self._columns.size
        return known is not None and size is not None and math.isnan(known(size, self._growth.configuration(member)))

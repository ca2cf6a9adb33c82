"""Walks through a program, choice after choice (algorithms 1 and 3). All searches share the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

from numpy.random import Generator

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer
from nasbench.benchmarks.spaces.language.graph import (
    Assignments,
    Independent,
    Module,
    Output,
    ProgramError,
    Scope,
    Substitution,
    Value,
)
from nasbench.benchmarks.spaces.language.traversal import ordered_hyperparameters, ordered_modules, source_of

_MOST_TRIES = 100_000  # choices until an allowed architecture is complete

Choices: TypeAlias = tuple[tuple[str, Value], ...]
"""A configuration: all choices by name, in the order of the walk."""


class Steps(Protocol):
    """The parts of a program that its views need."""

    scope: Scope
    root: Step

    def choices(self, configuration: Configuration) -> Iterator[tuple[str, Independent]]:
        """The hyper-parameters of a configuration, by name."""

    def walked(self, choose: Callable[[Independent], Value]) -> Choices:
        """The architecture that results from choosing a value for each hyper-parameter in turn."""


class Graphed(Protocol):
    """A program whose architectures have graphs of layers."""

    def sample(self, rng: Generator) -> Configuration:
        """A random architecture."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The layers of an architecture."""


class Step:
    """One step of a walk: the choices that are due before the graph changes, and the way to the next step.

    Steps are kept and shared by all searches: they depend only on the choices that substitution modules wait for.
    """

    def __init__(
        self, outputs: dict[str, Output], assigned: dict[Independent, Value], done: frozenset[Independent]
    ) -> None:
        self._outputs, self.assigned = outputs, assigned
        scope = next(iter(outputs.values())).module.scope
        scope.kept.append(None)
        self.clauses = scope.clauses
        modules = ordered_modules(outputs, assigned)
        waiting = [m for m in modules if isinstance(m, Substitution)]
        due = [h for h in ordered_hyperparameters(modules) if isinstance(h, Independent) and h not in done]
        cut = _until_a_substitution(due, waiting, done)
        self.order: tuple[Independent, ...] = tuple(due[:cut])
        self.rest = tuple(due[cut:])
        """The other choices on the present graph, in order, for later steps."""
        self.is_last = not waiting
        roots = dict.fromkeys(h for m in waiting for h in m.roots)
        self.late = tuple(h for h in roots if h in done and h not in assigned)
        """Choices made in earlier steps whose values decide only now: this step stands for several steps."""
        if waiting and not self.order and not self.late:
            raise ProgramError(f"{waiting[0].name} waits for a hyper-parameter that no module has")
        self.done = done | set(self.order)
        asked = {h for m in waiting for h in m.roots}
        self.deciding = tuple(i for i, h in enumerate(self.order) if h in asked)
        self._after: dict[tuple[Value, ...], Step] = {}
        self._resolved: dict[tuple[Value, ...], Step] = {}
        names = [h.name for h in self.order]
        if len({*names, *(h.name for h in done)}) < len(names) + len(done):
            twice = next(n for n in names if names.count(n) > 1 or n in {h.name for h in done})
            raise ProgramError(f"two hyper-parameters of one architecture are called {twice}: rename one")
        self.finite = _finite(self.order)

    @property
    def waiting(self) -> list[Substitution]:
        """The substitution modules that are still to be replaced."""
        return [m for m in ordered_modules(self._outputs, self.assigned) if isinstance(m, Substitution)]

    @property
    def connections(self) -> tuple[tuple[Module, tuple[Output | None, ...]], ...]:
        """All modules on which the outputs depend, with the sources of their inputs."""
        return tuple(
            (module, tuple(source_of(target, self.assigned) for target in module.inputs.values()))
            for module in ordered_modules(self._outputs, self.assigned)
        )

    def after(self, made: dict[Independent, Value]) -> Step:
        """The next step, given all choices made so far, including those of `order` (algorithm 1)."""
        step = self._following(self._after, tuple(self.order[i] for i in self.deciding), made, self.done)
        while step.late:
            step = step._following(step._resolved, step.late, made, self.done)
        return step

    def _following(
        self,
        known: dict[tuple[Value, ...], Step],
        deciding: tuple[Independent, ...],
        made: dict[Independent, Value],
        done: frozenset[Independent],
    ) -> Step:
        key = tuple([made[h] for h in deciding])
        step = known.get(key)
        if step is None:
            assigned = self.assigned | dict(zip(deciding, key, strict=True))
            step = known[key] = Step(self._outputs, assigned, done)
        return step


class ProgramWalk:
    """A partly decided program (see `spaces._sequence.Walk`)."""

    def __init__(self, step: Step, made: dict[Independent, Value], position: int) -> None:
        while position == len(step.order) and not step.is_last:
            step, position = step.after(made), 0
        self._step, self._made, self._position = step, made, position

    @property
    def configuration(self) -> Choices:
        """The choices made so far."""
        return tuple((h.name, value) for h, value in self._made.items())

    @property
    def options(self) -> int:
        """Number of values of the next choice; 0 if no choice is left. Raises ProgramError for a real number."""
        return len(self._values)

    @property
    def weights(self) -> Sequence[float] | None:
        """The prior of the values of the next choice; None if it is uniform, or if no choice is left."""
        due = self._step.order[self._position :]
        if not due or isinstance(due[0].domain, Float | Integer) or not due[0].domain.prior:
            return None
        return [share for value, share in zip(due[0].values, due[0].domain.prior, strict=True) if value in self._values]

    def take(self, option: int) -> ProgramWalk:
        """This walk with one more choice."""
        h = self._step.order[self._position]
        return ProgramWalk(self._step, {**self._made, h: self._values[option]}, self._position + 1)

    @cached_property
    def _values(self) -> Sequence[Value]:
        """The values of the next choice from which an allowed architecture can be reached."""
        due = self._step.order[self._position :]
        if not due or not self._step.clauses:
            return due[0].values if due else ()
        return [value for value in due[0].values if self._leads_on(due[0], value)]

    def _leads_on(self, h: Independent, value: Value) -> bool:
        made = {**self._made, h: value}
        if is_forbidden(made, [h]):
            return False
        try:
            completed(self._step, made, lambda due: due.values[0], self._position + 1)
        except ProgramError:
            return False
        return True


def is_forbidden(made: Assignments, among: Iterable[Independent] | None = None) -> bool:
    """Whether a clause forbids the choices made; only clauses of the hyper-parameters in `among` count, if given."""
    return any(clause.forbids(made) for h in (made if among is None else among) for clause in h.clauses)


def completed(
    step: Step, made: dict[Independent, Value], choose: Callable[[Independent], Value], position: int = 0
) -> dict[Independent, Value]:
    """All choices of an allowed architecture that begins with the choices made.

    Each choice takes the value of `choose` if that leads to an allowed architecture, otherwise the next value that does
    (backtracking: later choices change before earlier ones). Raises ProgramError if nothing is found.
    """
    made = dict(made)
    path: list[tuple[Step, int, Iterator[Value]]] = []
    values: Iterator[Value] | None = None
    for _ in range(_MOST_TRIES):
        while position == len(step.order) and values is None:
            if step.is_last:
                return made
            step, position = step.after(made), 0
        h = step.order[position]
        values = _first_choice(h, choose) if values is None else values
        if any(not _forbids(h, value, made) for value in values):
            path.append((step, position, values))
            position, values = position + 1, None
            continue
        made.pop(h, None)
        if not path:
            break
        step, position, values = path.pop()
    raise ProgramError("no allowed architecture begins with these choices, or it takes too long to find one")


def _forbids(h: Independent, value: Value, made: dict[Independent, Value]) -> bool:
    """Adds a choice to `made`; returns whether it is forbidden."""
    made[h] = value
    return is_forbidden(made, [h])


def _first_choice(h: Independent, choose: Callable[[Independent], Value]) -> Iterator[Value]:
    """The value of `choose`, then all other values; for a real number, only the first."""
    first = choose(h)
    yield first
    if not isinstance(h.domain, Float):
        yield from (value for value in h.values if value != first)


def _until_a_substitution(due: list[Independent], waiting: list[Substitution], done: frozenset[Independent]) -> int:
    """Number of choices until one of the waiting modules has all values that it waits for."""
    missing = [{h for h in m.roots if h not in done} for m in waiting]
    for number, h in enumerate(due, 1):
        for roots in missing:
            roots.discard(h)
            if not roots:
                return number
    return len(due)


def _finite(order: tuple[Independent, ...]) -> list[tuple[str, Sequence[Value], int]] | None:
    """(name, values, number of values) of each choice; None if one is a real number or an integer, or has a prior."""
    if any(isinstance(h.domain, Float | Integer) or h.domain.prior for h in order):
        return None
    return [(h.name, h.values, len(h.values)) for h in order]

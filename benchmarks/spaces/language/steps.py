"""The way through a program, choice after choice (algorithms 1 and 3): steps, kept and shared by all searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from numpy.random import Generator

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer
from nasbench.benchmarks.spaces.language.graph import (
    Independent,
    Module,
    Output,
    ProgramError,
    Scope,
    Substitution,
    Value,
)
from nasbench.benchmarks.spaces.language.traversal import ordered_hyperparameters, ordered_modules, source_of

Choices: TypeAlias = tuple[tuple[str, Value], ...]
"""A configuration: every choice by name, in the order in which the language asks for them."""


class Steps(Protocol):
    """What the views of a program need of it."""

    scope: Scope
    root: Step

    def choices(self, configuration: Configuration) -> Iterator[tuple[str, Independent]]:
        """What a configuration assigns, by name."""

    def walked(self, choose: Callable[[Independent], Value]) -> Choices:
        """The architecture that results from choosing a value for each hyper-parameter as it is due."""


class Graphed(Protocol):
    """A program whose architectures are seen as graphs of layers."""

    def sample(self, rng: Generator) -> Configuration:
        """An architecture, every choice drawn uniformly as it comes up."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """Its layers."""


class Step:
    """Where a searcher stands: the choices due before the graph changes next, and the way on.

    Kept, and shared by all searches: what is due depends only on the choices that substitution modules wait for.
    """

    def __init__(
        self, outputs: dict[str, Output], assigned: dict[Independent, Value], done: frozenset[Independent]
    ) -> None:
        self._outputs, self.assigned = outputs, assigned
        next(iter(outputs.values())).module.scope.kept.append(None)
        modules = ordered_modules(outputs, assigned)
        waiting = [m for m in modules if isinstance(m, Substitution)]
        due = [h for h in ordered_hyperparameters(modules) if isinstance(h, Independent) and h not in done]
        cut = _until_a_substitution(due, waiting, done)
        self.order: tuple[Independent, ...] = tuple(due[:cut])
        self.rest = tuple(due[cut:])
        """What else is due on the graph as it is, in its order, for the steps that follow."""
        self.is_last = not waiting
        roots = dict.fromkeys(h for m in waiting for h in m.roots)
        self.late = tuple(h for h in roots if h in done and h not in assigned)
        """Choices made before anything waited for them, whose values now decide: this step stands for several."""
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
            raise ProgramError(f"two hyper-parameters of one architecture are called {twice}: give one another name")
        self.finite = _finite(self.order)

    @property
    def waiting(self) -> list[Substitution]:
        """The substitution modules that are still to be replaced."""
        return [m for m in ordered_modules(self._outputs, self.assigned) if isinstance(m, Substitution)]

    @property
    def connections(self) -> tuple[tuple[Module, tuple[Output | None, ...]], ...]:
        """Every module that the outputs depend on, with what feeds it."""
        return tuple(
            (module, tuple(source_of(own, self.assigned) for own in module.inputs.values()))
            for module in ordered_modules(self._outputs, self.assigned)
        )

    def after(self, made: dict[Independent, Value]) -> Step:
        """The step that follows all choices made so far, those of `order` among them (algorithm 1)."""
        found = self._following(self._after, tuple(self.order[i] for i in self.deciding), made, self.done)
        while found.late:
            found = found._following(found._resolved, found.late, made, self.done)
        return found

    def _following(
        self,
        known: dict[tuple[Value, ...], Step],
        deciding: tuple[Independent, ...],
        made: dict[Independent, Value],
        done: frozenset[Independent],
    ) -> Step:
        key = tuple([made[h] for h in deciding])
        found = known.get(key)
        if found is None:
            assigned = self.assigned | dict(zip(deciding, key, strict=True))
            found = known[key] = Step(self._outputs, assigned, done)
        return found


class ProgramWalk:
    """A program, partly decided (see `benchmarks.space.sequence.Walk`)."""

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
        due = self._step.order[self._position :]
        return len(due[0].values) if due else 0

    def take(self, option: int) -> ProgramWalk:
        """One choice further."""
        h = self._step.order[self._position]
        return ProgramWalk(self._step, {**self._made, h: h.values[option]}, self._position + 1)


def _until_a_substitution(due: list[Independent], waiting: list[Substitution], done: frozenset[Independent]) -> int:
    """Number of choices that are due until one of the waiting modules knows everything it waits for."""
    missing = [{h for h in m.roots if h not in done} for m in waiting]
    for number, h in enumerate(due, 1):
        for roots in missing:
            roots.discard(h)
            if not roots:
                return number
    return len(due)


def _finite(order: tuple[Independent, ...]) -> list[tuple[str, Sequence[Value], int]] | None:
    """(name, values, their number) of each; None if one of them is a real number or an integer."""
    if any(isinstance(h.domain, Float | Integer) for h in order):
        return None
    return [(h.name, h.values, len(h.values)) for h in order]

"""Program spaces: a search space written in the language, as every method sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from numpy.random import Generator

from benchmarks.errors import UsageError, unknown
from benchmarks.space.base import Configuration, ForeignConfiguration, Space, Values
from benchmarks.space.flat import Flat
from benchmarks.space.hyperparameters import Float, Integer, belongs, binned, draw, has_many
from benchmarks.space.language.graph import (
    Basic,
    Dependent,
    Independent,
    Input,
    Module,
    Output,
    Part,
    ProgramError,
    Substitution,
    Value,
    build,
)
from benchmarks.space.layers import LayerGraph
from benchmarks.space.sequence import Walk

Choices: TypeAlias = tuple[tuple[str, Value], ...]
"""A configuration: every choice by name, in the order in which the language asks for them."""

_MOST_KEPT = 100_000  # expansions and steps; then the program is run anew
_MOST_CHOICES = 10_000  # of one architecture


class Program(Space):
    """The space that a function of the language writes (sections 4 to 6 of Negrinho et al., NeurIPS 2019).

    A configuration is the tuple of its (name, value) pairs in the order of the ordered traversal (algorithm 2): the
    next choice is the first unassigned independent hyper-parameter, and the values so far decide which that is. So a
    sequence of values names one architecture, on any machine. A name says where in the program a hyper-parameter
    stands, not what was chosen before: a place that exists in two architectures has the same name in both.

    Args:
        write: returns the open inputs and the outputs of the space, by name; it runs once.
    """

    def __init__(self, write: Callable[[], Part]) -> None:
        self._write = write
        self._begin()

    def _begin(self) -> None:
        self.scope, (self.inputs, self.outputs) = build(self._write)
        self.root = Step(self.outputs, {}, frozenset())
        self._flat: Flat | None = None
        self._checked = False

    def _first(self) -> Step:
        """Where every walk begins; what was kept of earlier ones is given up where it has grown too large."""
        if len(self.scope.kept) > _MOST_KEPT:
            self._begin()
        return self.root

    def sample(self, rng: Generator) -> Choices:
        """Every choice drawn uniformly as it comes up (algorithm 3); architectures need not be equally likely."""
        step, choices = self._first(), []
        made: dict[Independent, Value] = {}
        while True:
            if step.finite is None:
                values = [_value(h, draw(h.domain, rng)) for h in step.order]
                choices += [(h.name, value) for h, value in zip(step.order, values, strict=True)]
            else:
                # One call for all: a call costs ten times as much as the number it gives.
                drawn = rng.random(len(step.finite)).tolist()
                values = [domain[int(u * size)] for (_, domain, size), u in zip(step.finite, drawn, strict=True)]
                choices += [(name, value) for (name, _, _), value in zip(step.finite, values, strict=True)]
            if step.is_last:
                return tuple(choices)
            if len(choices) > _MOST_CHOICES:
                raise ProgramError(f"an architecture of more than {_MOST_CHOICES} choices: does this space ever end?")
            made.update(zip(step.order, values, strict=True))
            step = step.after(made)

    def mutate(self, configuration: Configuration, rng: Generator) -> Choices:
        """One choice, drawn uniformly, takes another value; the rest is replayed by name.

        A choice that no longer exists is dropped; a new one is drawn, and so is one whose place now has other values.
        Raises ProgramError where nothing can change.
        """
        known: dict[str, Value] = dict(configuration)
        domains = dict(self.choices(configuration))
        several = [name for name, _ in configuration if has_many(domains[name].domain)]
        if not several:
            raise ProgramError("no choice of this architecture has a second value: nothing can mutate")
        name = several[int(rng.integers(len(several)))]
        domain, before = domains[name].domain, known[name]
        while known[name] == before:
            known[name] = _value(domains[name], draw(domain, rng))

        def choose(h: Independent) -> Value:
            keeps = h.name in known and _has(h, known[h.name])
            return known[h.name] if keeps else _value(h, draw(h.domain, rng))

        return self.walked(choose)

    def walked(self, choose: Callable[[Independent], Value]) -> Choices:
        """The architecture that results from choosing a value for each hyper-parameter as it is due."""
        made: dict[Independent, Value] = {}
        step = self._first()
        while True:
            made.update({h: choose(h) for h in step.order})
            if step.is_last:
                return tuple((h.name, value) for h, value in made.items())
            if len(made) > _MOST_CHOICES:
                raise ProgramError(f"an architecture of more than {_MOST_CHOICES} choices: does this space ever end?")
            step = step.after(made)

    def check(self, configuration: Configuration) -> None:
        if type(configuration) is not tuple:
            raise ForeignConfiguration(f"a configuration here is a tuple of (name, value) pairs, not {configuration!r}")
        try:
            hash(configuration)
            for _ in self.choices(configuration):
                pass
        except (TypeError, ValueError) as error:
            raise ForeignConfiguration(str(error)) from None

    def choices(self, configuration: Choices) -> Iterator[tuple[str, Independent]]:
        """What a configuration assigns, by name. Raises ForeignConfiguration if it does not fit."""
        pairs, step = iter(configuration), self._first()
        made: dict[Independent, Value] = {}
        while True:
            for h in step.order:
                name, value = next(pairs, (None, None))
                if name != h.name or not _has(h, value):
                    raise ForeignConfiguration(f"{name!r} = {value!r} stands where a value of {h.name} is due")
                made[h] = value
                yield h.name, h
            if step.is_last:
                break
            step = step.after(made)
        more = next(pairs, None)
        if more is not None:
            raise ForeignConfiguration(f"{more[0]!r} is no choice of this architecture")

    def values(self, configuration: Configuration) -> Values:
        return dict(configuration)

    def from_values(self, values: Values) -> Choices:
        def choose(h: Independent) -> Value:
            if h.name not in values:
                raise UsageError(f"{h.name} is missing; allowed: {_domain_text(h)}")
            if not _has(h, values[h.name]):
                raise UsageError(f"{h.name} cannot be {values[h.name]!r}; allowed: {_domain_text(h)}")
            return values[h.name]

        choices = self.walked(choose)
        for name in values:
            if name not in dict(choices):
                raise unknown("choice of this architecture", name, dict(choices))
        return choices

    def to_json(self, configuration: Configuration) -> str:
        return json.dumps(dict(configuration))

    def describe(self) -> list[tuple[str, str, str]]:
        """A line a hyper-parameter, below the choice that brings it about; a tree that goes on and on is cut."""
        lines = list(islice(_tree(self._first(), "", set(), {}), _MOST_LINES + 1))
        return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], ("…", "", "")]

    def __iter__(self) -> Iterator[Choices]:
        """All configurations, in the order of their choices. Raises ProgramError at a real hyper-parameter."""
        return _all(self._first(), {})

    def graph(self, configuration: Configuration) -> Architecture:
        """The network that a configuration names. Raises ForeignConfiguration if it is not of this space."""
        assigned = {h: value for (_, h), (_, value) in zip(self.choices(configuration), configuration, strict=True)}
        return Architecture.of(self.inputs, self.outputs, assigned)

    def as_flat(self) -> Flat:
        """The view for methods that see coordinates. Raises ProgramError if the space is infinite."""
        if self._flat is None:
            from benchmarks.space.language.flat import FlatProgram  # which reads programs itself

            self._flat = FlatProgram(self)
        return self._flat

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The view for methods that see layers: modules that are none are seen through."""
        return self.graph(configuration).layers()

    def as_sequence(self) -> Walk:
        """The view for methods that choose step by step."""
        if not self._checked:
            self._checked = True
            self._check_finite()
        return ProgramWalk(self._first(), {}, 0)

    def _check_finite(self) -> None:
        """Raises ProgramError if a real number is among the choices; an endless space is looked at no further."""
        from benchmarks.space.language.counting import Unfolded  # which reads programs itself

        try:
            scopes = [self.scope, *(scope for _, _, scope in Unfolded(self, every=False).contexts)]
        except ProgramError:
            scopes = [self.scope]
        for h in (h for scope in scopes for h in scope.independents):
            len(h.values)

    def tokens(self, configuration: Configuration) -> list[str]:
        """What a linear model may know of an architecture: choices, modules with values, and pairs in sequence."""
        graph = self.graph(configuration)
        names = [
            f"{p.module.kind}({','.join(f'{v:.1g}' if isinstance(v, float) else str(v) for v in p.values.values())})"
            for p in graph.modules
        ]
        pairs = [
            f"{source if isinstance(source, str) else names[source[0]]}>{name}"
            for placed, name in zip(graph.modules, names, strict=True)
            for source in placed.sources
        ]
        domains = dict(self.choices(configuration))
        return [f"{name}={binned(domains[name].domain, value)}" for name, value in configuration] + names + pairs


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
        """How many values the next choice has; 0 where all is decided. Raises ProgramError for a real number."""
        due = self._step.order[self._position :]
        return len(due[0].values) if due else 0

    def take(self, option: int) -> ProgramWalk:
        """One choice further."""
        h = self._step.order[self._position]
        return ProgramWalk(self._step, {**self._made, h: h.values[option]}, self._position + 1)


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


def ordered_modules(outputs: dict[str, Output], assigned: dict[Independent, Value]) -> list[Module]:
    """The modules that the outputs depend on, backwards, in lexicographic order of local names (algorithm 5).

    A substitution module whose hyper-parameters are assigned is seen as what stands in for it.
    """
    found: dict[Module, None] = {}
    for _, output in sorted(outputs.items()):
        found.setdefault(_resolved(output, assigned).module)
    queue = list(found)
    for module in queue:
        for name in module.inputs:
            source = source_of(module.inputs[name], assigned)
            if source is not None and source.module not in found:
                found[source.module] = None
                queue.append(source.module)
    return queue


def ordered_hyperparameters(modules: list[Module]) -> list[Independent | Dependent]:
    """The hyper-parameters of ordered modules, then what dependent ones depend on (algorithm 2)."""
    found: dict[Independent | Dependent, None] = {}
    for module in modules:
        found.update(dict.fromkeys(module.hyperparameters.values()))
    queue = list(found)
    for h in queue:
        if isinstance(h, Dependent):
            for parent in h.parents.values():
                if parent not in found:
                    found[parent] = None
                    queue.append(parent)
    return queue


def source_of(target: Input, assigned: dict[Independent, Value]) -> Output | None:
    """The output that feeds an input, substitutions seen through; None where the outside does."""
    while target.source is None:
        if target.outer is None:
            return None
        target = target.outer
    return _resolved(target.source, assigned)


def outside_of(target: Input) -> Input:
    """The program's own open input that an input without a source stands for."""
    while target.outer is not None:
        target = target.outer
    return target


def _resolved(output: Output, assigned: dict[Independent, Value]) -> Output:
    while isinstance(output.module, Substitution) and all(h in assigned for h in output.module.roots):
        output = output.module.expansion(assigned).outputs[output.name]
    return output


def _until_a_substitution(due: list[Independent], waiting: list[Substitution], done: frozenset[Independent]) -> int:
    """How many choices are due until one of the waiting modules knows all it waits for."""
    missing = [{h for h in m.roots if h not in done} for m in waiting]
    for number, h in enumerate(due, 1):
        for roots in missing:
            roots.discard(h)
            if not roots:
                return number
    return len(due)


@dataclass(frozen=True)
class Placed:
    """A module of an architecture."""

    module: Basic
    values: dict[str, Value]
    sources: tuple[tuple[int, str] | str, ...]
    """What feeds each input, in the order of their names: (position of a module, its output), or an open input."""


@dataclass(frozen=True)
class Architecture:
    """A fully decided space: modules in the order in which they compute, and where the outputs come from."""

    modules: tuple[Placed, ...]
    outputs: dict[str, tuple[int, str]]
    _forward: list[Callable[..., Any]] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(
        cls, inputs: dict[str, Input], outputs: dict[str, Output], assigned: dict[Independent, Value]
    ) -> Architecture:
        """The architecture that assignments decide, in a unique topological order."""
        names = {own: name for name, own in inputs.items()}
        order: dict[Module, int] = {}
        placed: list[Placed] = []
        resolved = {name: _resolved(output, assigned) for name, output in sorted(outputs.items())}
        stack = [output.module for output in reversed(resolved.values())]
        while stack:
            module = stack[-1]
            sources = [source_of(own, assigned) for own in module.inputs.values()]
            before = [s.module for s in sources if s is not None and s.module not in order]
            if module in order or not before:
                stack.pop()
                if module in order:
                    continue
                assert isinstance(module, Basic)
                order[module] = len(order)
                ends = tuple(
                    names[outside_of(own)] if source is None else (order[source.module], source.name)
                    for own, source in zip(module.inputs.values(), sources, strict=True)
                )
                placed.append(Placed(module, module.values(assigned), ends))
            else:
                stack.extend(reversed(before))
        ends_of = {name: (order[output.module], output.name) for name, output in resolved.items()}
        return cls(tuple(placed), ends_of)

    @property
    def hash(self) -> str:
        """SHA-256 of kinds, values and connections: equal for equal networks, on any machine."""
        nodes = [(p.module.kind, p.values, p.sources) for p in self.modules]
        return hashlib.sha256(json.dumps([nodes, self.outputs], sort_keys=True).encode()).hexdigest()[:16]

    def layers(self) -> LayerGraph:
        """The layers and their connections, between `ip` and `op`."""
        labels: list[str] = ["ip"]
        units: list[int | None] = [None]
        edges: set[tuple[int, int]] = set()
        ends: list[set[int]] = []  # of each module: the layers that its output comes from
        for placed in self.modules:
            sources = set().union(*({0} if isinstance(end, str) else ends[end[0]] for end in placed.sources))
            if placed.module.layer:
                kernel = placed.values.get("kernel_size", "") if placed.module.layer == "conv" else ""
                labels.append(f"{placed.module.layer}{kernel}")
                units.append(placed.values.get("filters", placed.values.get("units")))
                edges |= {(source, len(labels) - 1) for source in sources}
                sources = {len(labels) - 1}
            ends.append(sources)
        labels.append("op")
        units.append(None)
        edges |= {(source, len(labels) - 1) for module, _ in self.outputs.values() for source in ends[module]}
        return LayerGraph(tuple(labels), tuple(units), frozenset(edges))

    def compile(self, inputs: dict[str, Any]) -> tuple[list[Callable[..., Any]], dict[str, Any]]:
        """Builds every module on example inputs, and applies it (algorithm 4).

        Returns what computes, a callable a module in the order of `modules`, and the outputs. Raises ProgramError that
        names the module, its values and the shapes of what it was given, if it cannot be built or applied.
        """
        made = []
        results: list[dict[str, Any]] = []
        for placed in self.modules:
            given = [_taken(source, inputs, results) for source in placed.sources]
            try:
                made.append(placed.module.make(placed.values, given))
                results.append(_named(placed.module, made[-1](*given)))
            except Exception as error:
                shapes = ", ".join(str(tuple(getattr(value, "shape", ()))) or repr(value) for value in given)
                values = ", ".join(f"{name}={value}" for name, value in placed.values.items())
                raise ProgramError(
                    f"{placed.module.name} ({values or 'no hyper-parameters'}) cannot take inputs of shape {shapes}: "
                    f"{str(error).splitlines()[0] if str(error) else type(error).__name__}"
                ) from error
        return made, {name: results[module][output] for name, (module, output) in self.outputs.items()}


def _taken(source: tuple[int, str] | str, inputs: dict[str, Any], results: list[dict[str, Any]]) -> Any:
    return inputs[source] if isinstance(source, str) else results[source[0]][source[1]]


def _named(module: Basic, result: Any) -> dict[str, Any]:
    """What a module returns, by output name: a tuple where it has several."""
    names = list(module.outputs)
    return {names[0]: result} if len(names) == 1 else dict(zip(names, result, strict=True))


def _finite(order: tuple[Independent, ...]) -> list[tuple[str, Sequence[Value], int]] | None:
    """(name, values, their number) of each; None if one of them is a real number or an integer."""
    if any(isinstance(h.domain, Float | Integer) for h in order):
        return None
    return [(h.name, h.values, len(h.values)) for h in order]


def _value(h: Independent, coordinate: float | int) -> Value:
    return coordinate if isinstance(h.domain, Float | Integer) else h.domain.values[int(coordinate)]


def _has(h: Independent, value: Value) -> bool:
    if isinstance(h.domain, Float | Integer):
        return belongs(h.domain, value)
    return any(type(value) is type(own) and value == own for own in h.domain.values)


def _domain_text(h: Independent) -> str:
    d = h.domain
    if isinstance(d, Float | Integer):
        return f"[{d.low}, {d.high}]"
    return ", ".join(map(str, d.values))


_MOST_LINES = 60


def _tree(step: Step, indent: str, seen: set[Step], made: dict[Independent, Value]) -> Iterator[tuple[str, str, str]]:
    """The choices due, and below each combination of values that changes the graph what follows."""
    for h in step.order:
        yield f"{indent}{h.name}", h.domain.kind, _domain_text(h)
    if step.is_last:
        return
    deciding = [step.order[i] for i in step.deciding]
    others = {h: _example(h) for h in step.order}
    for values in _combinations([h.values if has_end(h) else [_example(h)] for h in deciding]):
        chosen = dict(zip(deciding, values, strict=True))
        now = {**made, **others, **chosen}
        following = step.after(now)
        if following.order and following not in seen:
            seen.add(following)
            yield f"{indent}  " + ", ".join(f"{h.name} = {v}" for h, v in chosen.items()), "", ""
            yield from _tree(following, f"{indent}    ", seen, now)


def has_end(h: Independent) -> bool:
    """Whether all values of a hyper-parameter can be listed."""
    return not isinstance(h.domain, Float)


def _example(h: Independent) -> Value:
    return h.domain.low if isinstance(h.domain, Float | Integer) else h.domain.values[0]


def _all(step: Step, before: dict[Independent, Value]) -> Iterator[Choices]:
    for values in _combinations([h.values for h in step.order]):
        made = {**before, **dict(zip(step.order, values, strict=True))}
        if step.is_last:
            yield tuple((h.name, value) for h, value in made.items())
        else:
            yield from _all(step.after(made), made)


def _combinations(domains: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """Like `itertools.product`, which would hold all domains' products' ends; lazily, the last the fastest."""
    if not domains:
        yield ()
        return
    for value in domains[0]:
        for rest in _combinations(domains[1:]):
            yield (value, *rest)

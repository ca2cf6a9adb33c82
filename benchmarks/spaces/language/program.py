"""Program spaces: search spaces written in the language, as methods see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.spaces._sequence import Walk
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Space, Values
from nasbench.benchmarks.spaces.flat import Condition, Flat
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer, belongs, binned, draw, has_many, values_text
from nasbench.benchmarks.spaces.language._architecture import Architecture
from nasbench.benchmarks.spaces.language._flat import FlatProgram
from nasbench.benchmarks.spaces.language._hidden import Hidden
from nasbench.benchmarks.spaces.language._steps import Choices, ProgramWalk, Step, completed, is_forbidden
from nasbench.benchmarks.spaces.language.counting import Unfolded
from nasbench.benchmarks.spaces.language.graph import Independent, Part, ProgramError, Value, build

_MOST_KEPT = 15_000  # expansions and steps, about 150 MB; then the program is run again
_MOST_CHOICES = 10_000  # in one architecture
_MOST_DRAWS = 1000  # until an allowed architecture is drawn


class Program(Space):
    """The space that a function of the language writes (sections 4 to 6 of Negrinho et al., NeurIPS 2019).

    A configuration is the tuple of its (name, value) pairs in the order of the traversal (algorithm 2): the next choice
    is the first unassigned independent hyper-parameter, which depends on the values so far. So a sequence of values
    identifies one architecture, on any machine. A name states the position of a hyper-parameter in the program, not
    the choices made before: a position that exists in two architectures has the same name in both.

    Args:
        write: returns the open inputs and the outputs of the space, by name.
    """

    def __init__(self, write: Callable[[], Part]) -> None:
        self._write = write
        self._begin()

    def _begin(self) -> None:
        self.scope, (self.inputs, self.outputs) = build(self._write)
        self.root = Step(self.outputs, {}, frozenset())
        self._flat: Flat | None = None
        vars(self).pop("_hidden", None)
        self._checked = False

    def _first(self) -> Step:
        """The first step of every walk; the memory of earlier walks is released once it is too large."""
        if len(self.scope.kept) > _MOST_KEPT:
            self._begin()
        return self.root

    def sample(self, rng: Generator) -> Choices:
        """A configuration whose choices are drawn one after the other, from the prior or uniformly (algorithm 3).

        So architectures need not be equally likely. Forbidden architectures are drawn again.
        """
        for _ in range(_MOST_DRAWS):
            choices, made = self._drawn(rng)
            if not (self.scope.clauses and is_forbidden(made)):
                return choices
        raise ProgramError(
            f"of {_MOST_DRAWS:,} random architectures, all are forbidden: write the allowed ones as a choice (siso_or)"
        )

    def _drawn(self, rng: Generator) -> tuple[Choices, dict[Independent, Value]]:
        step, choices = self._first(), []
        made: dict[Independent, Value] = {}
        while True:
            if step.finite is None:
                values = [_value(h, draw(h.domain, rng)) for h in step.order]
                choices += [(h.name, value) for h, value in zip(step.order, values, strict=True)]
            else:
                # One call for all choices: it costs ten times as much as drawing one more number.
                drawn = rng.random(len(step.finite)).tolist()
                values = [domain[int(u * size)] for (_, domain, size), u in zip(step.finite, drawn, strict=True)]
                choices += [(name, value) for (name, _, _), value in zip(step.finite, values, strict=True)]
            made.update(zip(step.order, values, strict=True))
            if step.is_last:
                return tuple(choices), made
            if len(choices) > _MOST_CHOICES:
                raise ProgramError(f"an architecture of more than {_MOST_CHOICES} choices: is this space infinite?")
            step = step.after(made)

    def mutate(self, configuration: Configuration, rng: Generator) -> Choices:
        """Changes one choice, drawn uniformly, to another value; the other choices keep their values by name.

        A choice that no longer exists is dropped. A new choice is drawn, and so is one that now has other values.
        Forbidden architectures are drawn again. Raises ProgramError if nothing can change.
        """
        domains = dict(self.choices(configuration))
        for _ in range(_MOST_DRAWS):
            made = self._mutated(configuration, domains, rng)
            if not (self.scope.clauses and is_forbidden(made)):
                return _choices(made)
        raise ProgramError("nothing can mutate: all architectures that differ in one choice are forbidden")

    def _mutated(
        self, configuration: Choices, domains: dict[str, Independent], rng: Generator
    ) -> dict[Independent, Value]:
        known: dict[str, Value] = dict(configuration)
        several = [name for name, _ in configuration if has_many(domains[name].domain)]
        if not several:
            raise ProgramError("no choice of this architecture has a second value: nothing can mutate")
        name = several[int(rng.integers(len(several)))]
        domain, before = domains[name].domain, known[name]
        while known[name] == before:
            known[name] = _value(domains[name], draw(domain, rng, prior=False))

        def choose(h: Independent) -> Value:
            keeps = h.name in known and _has(h, known[h.name])
            return known[h.name] if keeps else _value(h, draw(h.domain, rng))

        return self._replayed(choose)

    def walked(self, choose: Callable[[Independent], Value]) -> Choices:
        """The architecture that results from choosing a value for each hyper-parameter in turn.

        If it is forbidden, the latest possible choices take other values (see `completed`).
        """
        made = self._replayed(choose)
        if self.scope.clauses and is_forbidden(made):
            made = completed(self._first(), {}, choose)
        return _choices(made)

    def _replayed(self, choose: Callable[[Independent], Value]) -> dict[Independent, Value]:
        made: dict[Independent, Value] = {}
        step = self._first()
        while True:
            made.update({h: choose(h) for h in step.order})
            if step.is_last:
                return made
            if len(made) > _MOST_CHOICES:
                raise ProgramError(f"an architecture of more than {_MOST_CHOICES} choices: is this space infinite?")
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
        """The hyper-parameters of a configuration, by name. Raises ForeignConfiguration if it is not a member."""
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
            raise ForeignConfiguration(f"{more[0]!r} is not a choice of this architecture")
        if step.clauses and is_forbidden(made):
            raise ForeignConfiguration("these choices are forbidden together")

    def values(self, configuration: Configuration) -> Values:
        return dict(configuration)

    def from_values(self, values: Values) -> Choices:
        def choose(h: Independent) -> Value:
            if h.name not in values:
                raise UsageError(f"{h.name} is missing; allowed: {values_text(h.domain)}")
            if not _has(h, values[h.name]):
                raise UsageError(f"{h.name} cannot be {values[h.name]!r}; allowed: {values_text(h.domain)}")
            return values[h.name]

        made = self._replayed(choose)
        choices = _choices(made)
        for name in values:
            check_choice("choice of this architecture", name, dict(choices))
        if is_forbidden(made):
            raise UsageError("these choices are forbidden together")
        return choices

    def to_json(self, configuration: Configuration) -> str:
        return json.dumps(dict(configuration))

    def describe(self) -> list[tuple[str, str, str]]:
        """One line per hyper-parameter, below the choice on which it depends.

        If this tree is too large, the flat list of all hyper-parameters and their conditions; if the space is infinite,
        the beginning of the tree.
        """
        lines = []
        for ways, line in enumerate(_tree(self._first(), "", set(), {}), 1):
            if line is not None:
                lines.append(line)
            if ways > _MOST_WAYS or len(lines) > _MOST_LINES:
                break
        else:
            return lines
        try:
            flat = self.as_flat()
        except ProgramError:
            return [*lines[:_MOST_LINES], ("…", "", "")]
        pairs = zip(flat.hyperparameters, flat.conditions, strict=True)
        return [(h.name, h.kind, values_text(h) + _when(condition, flat)) for h, condition in pairs]

    def __iter__(self) -> Iterator[Choices]:
        """All configurations, in the order of their choices. Raises ProgramError at a real hyper-parameter."""
        return _all(self._first(), {})

    def graph(self, configuration: Configuration) -> Architecture:
        """The architecture of a configuration. Raises ForeignConfiguration if it is not of this space."""
        assigned = {h: value for (_, h), (_, value) in zip(self.choices(configuration), configuration, strict=True)}
        return Architecture.of(self.inputs, self.outputs, assigned)

    def as_flat(self) -> Flat:
        """The view for methods that see coordinates. Raises ProgramError if the space is infinite."""
        if self._flat is None:
            self._flat = FlatProgram(self)
        return self._flat

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The view for methods that see layers; modules that are not layers are contracted."""
        return self.graph(configuration).layers()

    def as_scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """Values that the layers do not show (dropout, stride, activation), in [0, 1]; empty for an infinite space."""
        return self._hidden.scalars(configuration) if self._hidden else ()

    def shows_all(self) -> bool:
        """Whether graphs show every value; False for an infinite space, where that is not known."""
        return self._hidden is not None and not self._hidden.count

    @cached_property
    def _hidden(self) -> Hidden | None:
        """The values that graphs do not show; None for an infinite space."""
        try:
            return Hidden(self, self.as_flat())
        except ProgramError:
            return None

    def as_sequence(self) -> Walk:
        """The view for methods that choose one value after the other."""
        if not self._checked:
            self._check_finite()
            self._checked = True
        return ProgramWalk(self._first(), {}, 0)

    def _check_finite(self) -> None:
        """Raises ProgramError if a choice is a real number; in an infinite space, only first choices are checked."""
        try:
            scopes = [self.scope, *(scope for _, _, scope in Unfolded(self.scope, every=False).contexts)]
        except ProgramError:
            scopes = [self.scope]
        for h in (h for scope in scopes for h in scope.independents):
            len(h.values)  # raises it

    def as_tokens(self, configuration: Configuration) -> list[str]:
        """Features of an architecture for a linear model: choices, modules with values, and connected pairs."""
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


def _choices(made: dict[Independent, Value]) -> Choices:
    return tuple([(h.name, value) for h, value in made.items()])


def _value(h: Independent, coordinate: float | int) -> Value:
    return coordinate if isinstance(h.domain, Float | Integer) else h.domain.values[int(coordinate)]


def _has(h: Independent, value: Value) -> bool:
    if isinstance(h.domain, Float | Integer):
        return belongs(h.domain, value)
    return any(type(value) is type(allowed) and value == allowed for allowed in h.domain.values)


def _when(condition: Condition | None, flat: Flat) -> str:
    if condition is None:
        return ""
    parent = flat.hyperparameters[condition.parent]
    assert not isinstance(parent, Float | Integer)
    allowed = [str(value) for value, permitted in zip(parent.values, condition.permitted, strict=True) if permitted]
    return f"   if {parent.name} = {' or '.join(allowed)}"


_MOST_LINES = 60
_MOST_WAYS = 300  # steps of `_tree`, most of which may bring nothing new


def _tree(
    step: Step, indent: str, seen: set[Step], made: dict[Independent, Value]
) -> Iterator[tuple[str, str, str] | None]:
    """The lines of the next choices, and, below each combination that changes the graph, of the choices that follow.

    Yields None for a combination that leads to no new choices.
    """
    for h in step.order:
        yield f"{indent}{h.name}", h.domain.kind, values_text(h.domain)
    if step.is_last:
        return
    deciding = [step.order[i] for i in step.deciding]
    others = {h: _example(h) for h in step.order}
    for values in _combinations([[_example(h)] if isinstance(h.domain, Float) else h.values for h in deciding]):
        chosen = dict(zip(deciding, values, strict=True))
        now = {**made, **others, **chosen}
        if is_forbidden(now, deciding):
            continue
        following = step.after(now)
        if following.order and following not in seen:
            seen.add(following)
            yield f"{indent}  " + ", ".join(f"{h.name} = {v}" for h, v in chosen.items()), "", ""
            yield from _tree(following, f"{indent}    ", seen, now)
        else:
            yield None


def _example(h: Independent) -> Value:
    return h.domain.low if isinstance(h.domain, Float | Integer) else h.domain.values[0]


def _all(step: Step, before: dict[Independent, Value]) -> Iterator[Choices]:
    for values in _combinations([h.values for h in step.order]):
        made = {**before, **dict(zip(step.order, values, strict=True))}
        if is_forbidden(made, step.order):
            continue
        if step.is_last:
            yield _choices(made)
        else:
            yield from _all(step.after(made), made)


def _combinations(domains: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """Like `itertools.product`, but lazy: a large domain is not copied."""
    if not domains:
        yield ()
        return
    for value in domains[0]:
        for rest in _combinations(domains[1:]):
            yield (value, *rest)

"""The components of the language: hyper-parameters, modules, their connections, and substitution.

A search space is written like a network whose nodes may still be undecided (Negrinho et al., NeurIPS 2019, sections 4
and 6.1). The function that writes it runs once. The expansion of a substitution module is made when it is first needed,
kept with the module, and never changed. So a partly decided space is a set of assignments, and all of them share the
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.hyperparameters import (
    Categorical,
    Float,
    Hyperparameter,
    Integer,
    Ordinal,
    as_json,
    brief,
)

Value: TypeAlias = Any
"""A value of a hyper-parameter: anything that JSON can hold."""


class ProgramError(UsageError):
    """A search space is written or used wrongly; the message names the part."""


class Independent:
    """A hyper-parameter that a searcher chooses; several modules may share it."""

    __slots__ = ("clauses", "domain", "given_name", "scope")

    def __init__(self, domain: Hyperparameter, name: str | None = None) -> None:
        self.scope = current_scope()
        turn = self.scope.turn
        self.domain, self.given_name = domain, name if name is None or turn is None else f"{name}-{turn}"
        self.scope.independents.append(self)
        self.clauses: list[Clause] = []
        """The clauses about this hyper-parameter."""

    @property
    def name(self) -> str:
        """The name, unique in an architecture; known once the function that creates it has returned."""
        return self.domain.name

    @property
    def values(self) -> Sequence[Value]:
        """All values. Raises ProgramError for a real number."""
        if isinstance(self.domain, Float):
            raise ProgramError(f"{self.name} is a real number: its values cannot be listed")
        if isinstance(self.domain, Integer):
            return range(self.domain.low, self.domain.high + 1)
        return self.domain.values


class Dependent:
    """A hyper-parameter whose value is a function of the values of others."""

    __slots__ = ("function", "parents", "roots")

    def __init__(self, function: Callable[[dict[str, Value]], Value], parents: Mapping[str, AnyHyperparameter]) -> None:
        self.function, self.parents = function, dict(sorted(parents.items()))
        self.roots = _roots(self.parents.values())


class Clause:
    """A rule that forbids combinations of values."""

    __slots__ = ("hyperparameters", "roots", "test")

    def __init__(self, test: Callable[..., bool], hyperparameters: Mapping[str, AnyHyperparameter]) -> None:
        self.test, self.hyperparameters = test, dict(hyperparameters)
        self.roots = _roots(self.hyperparameters.values())

    def forbids(self, made: Assignments) -> bool:
        """Whether all hyper-parameters of the clause have values, and these are forbidden together."""
        if any(root not in made for root in self.roots):
            return False
        return bool(self.test(**{name: value_of(h, made) for name, h in self.hyperparameters.items()}))


AnyHyperparameter: TypeAlias = Independent | Dependent
Assignments: TypeAlias = Mapping[Independent, Value]


def D(values: Iterable[Value], name: str | None = None, prior: Iterable[float] = ()) -> Independent:
    """A choice among unordered values (the paper's notation); by default their `prior` weights are uniform.

    Raises UsageError for a value that JSON cannot hold.
    """
    return Independent(Categorical("a hyper-parameter", as_json(values, name), tuple(prior)), name)


def ordinal(
    values: Iterable[float], log: bool = False, name: str | None = None, prior: Iterable[float] = ()
) -> Independent:
    """A choice among ascending numbers; `prior` is as in `D`."""
    return Independent(Ordinal("a hyper-parameter", as_json(values, name), log, tuple(prior)), name)


def integer(low: int, high: int, log: bool = False, name: str | None = None) -> Independent:
    """An integer from low to high, both included."""
    return Independent(Integer("a hyper-parameter", low, high, log), name)


def real(low: float, high: float, log: bool = False, name: str | None = None) -> Independent:
    """A real number from low to high."""
    return Independent(Float("a hyper-parameter", low, high, log), name)


def constant(value: Value) -> Dependent:
    """A hyper-parameter whose value is fixed."""
    return Dependent(lambda _: value, {})


def value_of(h: AnyHyperparameter, assigned: Assignments) -> Value:
    """The value of a hyper-parameter. Raises KeyError if one of its roots is not assigned."""
    if isinstance(h, Independent):
        return assigned[h]
    return h.function({name: value_of(parent, assigned) for name, parent in h.parents.items()})


class Output:
    """An output of a module."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name

    def connect(self, target: Input) -> None:
        """Feeds this output to an input. Raises ProgramError if the input has a source already."""
        target.connect(self)


class Input:
    """An input of a module; its source is an output, or the outside."""

    __slots__ = ("module", "name", "outer", "source")

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name
        self.source: Output | None = None
        self.outer: Input | None = None
        """The input of the substitution module that this input replaces."""

    def connect(self, source: Output) -> None:
        """Makes an output the source of this input. Raises ProgramError if it has a source already."""
        if self.source is not None:
            raise ProgramError(
                f"input {self.name} of {self.module.name} is connected twice: to {self.source.module.name}, and to "
                f"{source.module.name}"
            )
        if self.module.scope is not source.module.scope:
            raise ProgramError(
                f"{source.module.name} and {self.module.name} are not made by the same function: a substitution "
                "connects its own modules only, and returns the inputs and outputs that replace its own"
            )
        self.source = source


Inputs: TypeAlias = dict[str, Input]
Outputs: TypeAlias = dict[str, Output]
Part: TypeAlias = tuple[Inputs, Outputs]
"""A search space or a part of it: its open inputs and its outputs, by name."""

Make: TypeAlias = Callable[[dict[str, Value], Sequence[Any]], Callable[..., Any]]
"""(hyper-parameter values, example inputs in the order of names) → a function of such inputs."""


class Module:
    """A node with named inputs, outputs and hyper-parameters; a plain value is a hyper-parameter with a fixed value."""

    def __init__(
        self, kind: str, hyperparameters: Mapping[str, Any], inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self.kind, self.scope = kind, current_scope()
        self.name = self.scope.place(self)
        self.inputs = {name: Input(self, name) for name in sorted(inputs)}
        self.outputs = {name: Output(self, name) for name in sorted(outputs)}
        self.hyperparameters: dict[str, AnyHyperparameter] = {
            name: h if isinstance(h, Independent | Dependent) else constant(h)
            for name, h in sorted(hyperparameters.items())
        }
        self.roots = _roots(self.hyperparameters.values())

    def values(self, assigned: Assignments) -> dict[str, Value]:
        """The values of the hyper-parameters."""
        return {name: value_of(h, assigned) for name, h in self.hyperparameters.items()}

    @property
    def part(self) -> Part:
        """The inputs and outputs: the module as a search space."""
        return self.inputs, self.outputs


class Basic(Module):
    """A module that computes (section 4): `make` creates its parameters once, and returns the function to apply."""

    def __init__(
        self,
        kind: str,
        hyperparameters: Mapping[str, Any],
        make: Make,
        inputs: Sequence[str] = ("in",),
        outputs: Sequence[str] = ("out",),
        layer: str = "",
    ) -> None:
        super().__init__(kind, hyperparameters, inputs, outputs)
        self.make, self.layer = make, layer


class Substitution(Module):
    """A module that is replaced by the space that its function returns, once its hyper-parameters have values.

    Args:
        branches: whether expansions under different values have nothing in common; then the names inside contain the
            values.
    """

    def __init__(
        self,
        kind: str,
        function: Callable[[dict[str, Value]], Part],
        hyperparameters: Mapping[str, Any],
        inputs: Sequence[str] = ("in",),
        outputs: Sequence[str] = ("out",),
        branches: bool = False,
    ) -> None:
        super().__init__(kind, hyperparameters, inputs, outputs)
        self._function, self.branches = function, branches
        self._expansions: dict[tuple[Value, ...], Expansion] = {}

    def expansion(self, assigned: Assignments, keep_settled: bool = True) -> Expansion:
        """The space that replaces this module (algorithm 1, lines 9 to 17). Raises KeyError if a value is missing.

        Args:
            keep_settled: whether to keep an expansion in which nothing is left to decide.
        """
        values = self.values(assigned)
        key = tuple((str(value),) if isinstance(value, list | dict) else value for value in values.values())
        expansion = self._expansions.get(key)
        if expansion is None:
            expansion = Expansion(self, values, self._function)
            if keep_settled or not expansion.is_settled:
                self.scope.kept.append(None)
                self._expansions[key] = expansion
        return expansion


class Expansion:
    """The space that replaces a substitution module under given values."""

    def __init__(
        self, module: Substitution, values: dict[str, Value], function: Callable[[dict[str, Value]], Part]
    ) -> None:
        path = f"{module.name}[{','.join(map(str, values.values()))}]" if module.branches else module.name
        self.scope, (self.inputs, self.outputs) = build(lambda: function(values), path, module.scope)
        for replaced, returned in ((module.inputs, self.inputs), (module.outputs, self.outputs)):
            if replaced.keys() != returned.keys():
                raise ProgramError(
                    f"{module.name} has the names {sorted(replaced)}, but its substitution under {values} returns "
                    f"{sorted(returned)}"
                )
        if len(set(self.inputs.values())) < len(self.inputs):
            raise ProgramError(f"under {values} one input replaces two of {module.name}: connected twice")
        for name, stand_in in self.inputs.items():
            stand_in.outer = module.inputs[name]

    @property
    def is_settled(self) -> bool:
        """Whether nothing in it is left to decide, or depends on an open decision."""
        modules = self.scope.modules
        return not any(module.roots or isinstance(module, Substitution) for module in modules)


class Scope:
    """The hyper-parameters and modules that one call of a program's or a substitution's function creates."""

    def __init__(self, path: str, parent: Scope | None) -> None:
        self.path = path
        self.kept: list[None] = parent.kept if parent else []
        """One entry per expansion or step that the whole program keeps: their number bounds its memory."""
        self.clauses: list[Clause] = parent.clauses if parent else []
        """All clauses of the whole program, as far as it has been expanded."""
        self.independents: list[Independent] = []
        self.modules: list[Module] = []
        self.turn: int | None = None
        """The number of the part that `repeated` is making, which is appended to given names; None outside."""
        self._numbers: dict[str, Iterator[int]] = {}

    def place(self, module: Module) -> str:
        """Adds a module, and returns its name: its kind and a number, after the name of the module it helps replace."""
        self.modules.append(module)
        return f"{self.path}{module.kind}-{next(self._numbers.setdefault(module.kind, count()))}"

    def close(self, part: Part) -> None:
        """Names the hyper-parameters, and checks the connections."""
        self._name()
        for module in {end.module for end in part[0].values()} | {end.module for end in part[1].values()}:
            if module.scope is not self:
                raise ProgramError(
                    f"{module.name} is returned by a function that has not made it: make a new one there"
                )
        open_inputs = set(part[0].values())
        for module in self.modules:
            for name, end in module.inputs.items():
                if end in open_inputs and end.source is not None:
                    raise ProgramError(f"input {name} of {module.name} is returned as open, but has a source")
                if end not in open_inputs and end.source is None:
                    raise ProgramError(f"input {name} of {module.name} is not connected")
        self._check_order()

    def _name(self) -> None:
        """Names each hyper-parameter after the first module that uses it, or by number.

        A name does not depend on the choices that are made elsewhere.
        """
        names: dict[Independent, str] = {}
        uses = [(f"{m.name}.{local}", h) for m in self.modules for local, h in m.hyperparameters.items()]
        uses.sort(key=lambda use: isinstance(use[1], Dependent))  # direct uses come before dependent hyper-parameters
        for name, h in uses:
            roots = _roots([h])
            if len(roots) == 1 and roots[0].scope is self:
                names.setdefault(roots[0], name)
        numbers: dict[str, Iterator[int]] = {}
        for h in self.independents:
            if h.given_name:
                name = f"{self.path}{h.given_name}"
            elif h in names:
                name = names[h]
            else:  # only modules that do not exist yet use it
                name = f"{self.path}one-of-{brief(h.domain)}"
                number = next(numbers.setdefault(name, count()))
                name += f"-{number}" if number else ""
            h.domain = replace(h.domain, name=name)

    def _check_order(self) -> None:
        """Raises ProgramError if the connections have a cycle."""
        state: dict[Module, bool] = {}  # False: begun, True: done
        for start in self.modules:
            stack = [start]
            while stack:
                module = stack[-1]
                before = [target.source.module for target in module.inputs.values() if target.source is not None]
                waiting = [m for m in before if not state.get(m)]
                if state.get(module) or not waiting:
                    state[module] = True
                    stack.pop()
                    continue
                state[module] = False
                if any(m in state for m in waiting):
                    raise ProgramError(f"{module.name} depends on its own output: a cycle")
                stack.append(waiting[0])


def build(function: Callable[[], Part], path: str = "", parent: Scope | None = None) -> tuple[Scope, Part]:
    """Runs a function of the language in a new scope. Raises ProgramError if it violates a rule."""
    scope = Scope(f"{path}/" if path else "", parent)
    with _entered(scope):
        part = function()
    scope.close(part)
    return scope, part


_SCOPE: ContextVar[Scope | None] = ContextVar("scope", default=None)


@contextmanager
def _entered(scope: Scope) -> Iterator[None]:
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)


def current_scope() -> Scope:
    """The scope that is being made. Raises ProgramError outside the function that writes a space."""
    scope = _SCOPE.get()
    if scope is None:
        raise ProgramError("hyper-parameters and modules are made inside the function that writes the search space")
    return scope


def _roots(hyperparameters: Iterable[AnyHyperparameter]) -> tuple[Independent, ...]:
    """The independent hyper-parameters on which others depend, without repetition."""
    roots: dict[Independent, None] = {}
    for h in hyperparameters:
        roots.update(dict.fromkeys((h,) if isinstance(h, Independent) else h.roots))
    return tuple(roots)

"""Exact counting of a program's architectures, without building each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from random import Random
from typing import TypeAlias

from nasbench.benchmarks.spaces.language.graph import (
    AnyHyperparameter,
    Clause,
    Dependent,
    Independent,
    ProgramError,
    Scope,
    Substitution,
    Value,
)
from nasbench.benchmarks.spaces.language.steps import Step, Steps, is_forbidden
from nasbench.benchmarks.spaces.language.traversal import ordered_modules

_MOST_EXPANSIONS = 30_000
_MOST_SETTLED = 300_000  # more, in which there is no choice: a minute and a half
_MOST_STATES = 20_000
_FEW = 64  # assignments of one module of which a view looks at all; where there are more, at some
_RANDOM = 8  # of those some
_MOST_DEPTH = 60  # of substitutions inside substitutions: a space that goes deeper has no end, for all we can tell

Assigned: TypeAlias = dict[Independent, Value]


class Unfolded:
    """Every substitution module of a program with what it can turn into.

    Args:
        every: look at all assignments of a module, however many; else at those where one choice differs from the first
            assignment, and a few more.

    Raises ProgramError if there is no end of them: the space is infinite, or too large to unfold.
    """

    def __init__(self, scope: Scope, every: bool = True) -> None:
        self._every = every
        self.foreign: dict[Substitution, frozenset[Independent]] = {}
        """What each module, or anything it turns into, has from outside: shared hyper-parameters."""
        self.drops = False
        """Whether something can stand in for a module without using all of its inputs."""
        self.open: set[Substitution] = set()
        """The modules that can turn into something in which there are choices, or that waits for some."""
        self._settled = 0
        self.contexts: list[tuple[Substitution, Assigned, Scope]] = []
        """(module, what its roots are assigned, what it then turns into), parents before what they contain.

        With `every`, without those in which there is no choice.
        """
        self._visit(scope, {}, 0)

    def _visit(self, scope: Scope, given: Assigned, depth: int) -> frozenset[Independent]:
        """Unfolds what a scope contains; returns what it uses from outside."""
        if depth > _MOST_DEPTH or len(self.contexts) > _MOST_EXPANSIONS or self._settled > _MOST_SETTLED:
            raise ProgramError(
                f"this space is infinite, or too large to unfold: {scope.path.strip('/').split('/')[0]} goes on "
                f"through {depth} substitutions inside each other and {len(self.contexts) + self._settled} in all; "
                "give it an end, or split it: a substitution of each choice, as siso_or, where one now waits for many"
            )
        used: set[Independent] = set()
        for module in scope.modules:
            for h in module.hyperparameters.values():
                used |= _independents(h)
            if not isinstance(module, Substitution):
                continue
            inside: set[Independent] = set(module.roots)
            for assigned in self._assignments(module, given):
                expansion = module.expansion(given | assigned, keep_settled=not self._every)
                if expansion.is_settled and self._every:
                    self._settled += 1  # of a module of a thousand choices there are too many to keep
                else:
                    self.contexts.append((module, assigned, expansion.scope))
                if not expansion.is_settled:
                    self.open.add(module)
                for name, output in expansion.outputs.items():  # each may be the only one that is used
                    read = ordered_modules({name: output}, {})
                    self.drops |= any(target.module not in read for target in expansion.inputs.values())
                inside |= self._visit(expansion.scope, given | assigned, depth + 1)
            self.foreign[module] = frozenset(inside)
            used |= inside
        return frozenset(used - set(scope.independents))

    def _assignments(self, module: Substitution, given: Assigned) -> Iterator[Assigned]:
        """Assignments of a module's roots that agree with what is given."""
        domains = [(given[h],) if h in given else h.values for h in module.roots]
        whole = self._every or len(domains) <= 1 or prod(map(len, domains)) <= _FEW
        for values in product(*domains) if whole else _some(domains):
            assigned = dict(zip(module.roots, values, strict=True))
            if not is_forbidden(given | assigned, module.roots):
                yield assigned


def _some(domains: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """Some of a product: the first with every value in every place, the last, and a few at random."""
    first = tuple(domain[0] for domain in domains)
    chosen = dict.fromkeys([first, tuple(domain[-1] for domain in domains)])
    for place, domain in enumerate(domains):
        chosen.update(dict.fromkeys((*first[:place], value, *first[place + 1 :]) for value in domain))
    rng = Random(0)
    chosen.update(dict.fromkeys(tuple(rng.choice(domain) for domain in domains) for _ in range(_RANDOM)))
    yield from chosen


def count(program: Steps) -> int:
    """The number of configurations. Raises ProgramError if there is no end of them.

    Choices that no substitution module waits for, or shares, are factors as soon as they are due; so are those of a
    module that turns into nothing with choices, whatever they are. What remains decides how the graph goes on, and
    steps that go on alike are counted once: that depends on the modules that wait, on the choices they share, and on
    the values of those made already. What is forbidden is left out: choices of a clause are no factors before it is
    decided.
    """
    unfolded = Unfolded(program.scope)
    known: dict[object, int] = {}

    def open_at(step: Step) -> list[Clause]:
        before = step.done.difference(step.order)
        return [clause for clause in program.scope.clauses if not before.issuperset(clause.roots)]

    def shared_by(step: Step) -> frozenset[Independent]:
        used = [unfolded.foreign[m] for m in step.waiting if unfolded.drops or m in unfolded.open]
        return frozenset().union(*used, *(clause.roots for clause in open_at(step)))

    def free_of(step: Step) -> frozenset[Independent]:
        # Where a module may ignore an input, what hangs behind it may vanish: nothing is a factor before it is made.
        return frozenset() if unfolded.drops else frozenset(step.order + step.rest) - shared_by(step)

    def of(step: Step, made: Assigned) -> int:
        """Ways to go on, those choices aside that are factors already."""
        shared, free = shared_by(step), free_of(step)
        due = frozenset(step.order + step.rest) - free
        earlier = frozenset((h, made[h]) for h in shared if h in made)
        graph = step.connections if unfolded.drops else None
        key = (due, frozenset(step.waiting), earlier, graph)
        if key not in known:
            if len(known) > _MOST_STATES:
                raise ProgramError(f"this space has too many ways to go on to be counted: more than {_MOST_STATES:,}")
            mattering = [h for h in step.order if h in shared]
            ways = _ways(h for h in step.order if h not in shared and h not in free)
            closing = [clause for clause in open_at(step) if step.done.issuperset(clause.roots)]
            total = 0
            for values in product(*(h.values for h in mattering)):
                # Of choices that do not matter any value will do.
                now = {**made, **{h: h.values[0] for h in step.order}, **dict(zip(mattering, values, strict=True))}
                if any(clause.forbids(now) for clause in closing):
                    continue
                if step.is_last:
                    total += 1
                    continue
                following = step.after(now)
                total += _ways(free_of(following) - free - step.done) * of(following, now)
            known[key] = ways * total
        return known[key]

    return _ways(free_of(program.root)) * of(program.root, {})


def _ways(hyperparameters: Iterable[Independent]) -> int:
    return prod(len(h.values) for h in hyperparameters)


def _independents(h: AnyHyperparameter) -> set[Independent]:
    return set(h.roots) if isinstance(h, Dependent) else {h}

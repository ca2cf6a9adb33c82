"""Exact number of a program's architectures, without building each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from random import Random
from typing import TypeAlias

from nasbench.benchmarks.spaces.language._steps import Step, Steps, is_forbidden
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
from nasbench.benchmarks.spaces.language.traversal import ordered_modules

_MOST_EXPANSIONS = 30_000
_MOST_SETTLED = 300_000  # further expansions, without choices: a minute and a half
_MOST_STATES = 20_000
_FEW = 64  # views look at all assignments of a module up to this number, and at a sample of more
_RANDOM = 8  # random assignments in that sample
_MOST_DEPTH = 60  # of nested substitutions: a deeper space is taken to be infinite

Assigned: TypeAlias = dict[Independent, Value]


class Unfolded:
    """All substitution modules of a program, with their possible expansions.

    Args:
        every: whether to look at all assignments of a module. If not, and there are many, only at those where one
            choice differs from the first assignment, and at a few more.

    Raises ProgramError if the space is infinite, or too large to unfold.
    """

    def __init__(self, scope: Scope, every: bool = True) -> None:
        self._every = every
        self.foreign: dict[Substitution, frozenset[Independent]] = {}
        """The outside hyper-parameters that each module, or any part of its expansions, uses."""
        self.drops = False
        """Whether some expansion of a module does not use all of the module's inputs."""
        self.open: set[Substitution] = set()
        """The modules with an expansion that contains choices, or modules that wait for choices."""
        self._settled = 0
        self.contexts: list[tuple[Substitution, Assigned, Scope]] = []
        """(module, assignment of its roots, expansion), outer modules first; with `every`, no settled expansions."""
        self._visit(scope, {}, 0)

    def _visit(self, scope: Scope, given: Assigned, depth: int) -> frozenset[Independent]:
        """Unfolds the modules of a scope; returns the outside hyper-parameters that the scope uses."""
        if depth > _MOST_DEPTH or len(self.contexts) > _MOST_EXPANSIONS or self._settled > _MOST_SETTLED:
            raise ProgramError(
                f"this space is infinite, or too large to unfold: {scope.path.strip('/').split('/')[0]} has "
                f"{depth} nested substitutions, and {len(self.contexts) + self._settled} in all; bound it, or split "
                "it: use one substitution per choice (siso_or) where a substitution now waits for many choices"
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
                    self._settled += 1  # a module may have too many of these to keep
                else:
                    self.contexts.append((module, assigned, expansion.scope))
                if not expansion.is_settled:
                    self.open.add(module)
                for name, output in expansion.outputs.items():  # any single output may be the only one in use
                    read = ordered_modules({name: output}, {})
                    self.drops |= any(target.module not in read for target in expansion.inputs.values())
                inside |= self._visit(expansion.scope, given | assigned, depth + 1)
            self.foreign[module] = frozenset(inside)
            used |= inside
        return frozenset(used - set(scope.independents))

    def _assignments(self, module: Substitution, given: Assigned) -> Iterator[Assigned]:
        """Assignments of a module's roots that agree with given values."""
        domains = [(given[h],) if h in given else h.values for h in module.roots]
        whole = self._every or len(domains) <= 1 or prod(map(len, domains)) <= _FEW
        for values in product(*domains) if whole else _some(domains):
            assigned = dict(zip(module.roots, values, strict=True))
            if not is_forbidden(given | assigned, module.roots):
                yield assigned


def _some(domains: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """A sample of a product: the first tuple with every value in every place, the last tuple, and a few at random."""
    first = tuple(domain[0] for domain in domains)
    chosen = dict.fromkeys([first, tuple(domain[-1] for domain in domains)])
    for place, domain in enumerate(domains):
        chosen.update(dict.fromkeys((*first[:place], value, *first[place + 1 :]) for value in domain))
    rng = Random(0)
    chosen.update(dict.fromkeys(tuple(rng.choice(domain) for domain in domains) for _ in range(_RANDOM)))
    yield from chosen


def count(program: Steps) -> int:
    """The number of configurations. Raises ProgramError if it is infinite.

    Free choices are factors as soon as they are due: no substitution module waits for them or shares them, or all
    expansions of the modules that do are without choices. The other choices decide on the next graph. Steps with equal
    continuations are counted once; a continuation depends on the modules that wait, the choices they share, and the
    values of the shared choices made so far. Choices of a clause are not free before the clause is decided.
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
        # If a module may ignore an input, modules behind that input may vanish: no choice is free before it is made.
        return frozenset() if unfolded.drops else frozenset(step.order + step.rest) - shared_by(step)

    def continuations(step: Step, made: Assigned) -> int:
        """The number of ways to continue, apart from choices that are factors already."""
        shared, free = shared_by(step), free_of(step)
        due = frozenset(step.order + step.rest) - free
        earlier = frozenset((h, made[h]) for h in shared if h in made)
        graph = step.connections if unfolded.drops else None
        key = (due, frozenset(step.waiting), earlier, graph)
        if key not in known:
            if len(known) > _MOST_STATES:
                raise ProgramError(f"this space has too many continuations to be counted: more than {_MOST_STATES:,}")
            mattering = [h for h in step.order if h in shared]
            ways = _ways(h for h in step.order if h not in shared and h not in free)
            closing = [clause for clause in open_at(step) if step.done.issuperset(clause.roots)]
            total = 0
            for values in product(*(h.values for h in mattering)):
                # Choices that do not matter take any value.
                now = {**made, **{h: h.values[0] for h in step.order}, **dict(zip(mattering, values, strict=True))}
                if any(clause.forbids(now) for clause in closing):
                    continue
                if step.is_last:
                    total += 1
                    continue
                following = step.after(now)
                total += _ways(free_of(following) - free - step.done) * continuations(following, now)
            known[key] = ways * total
        return known[key]

    return _ways(free_of(program.root)) * continuations(program.root, {})


def _ways(hyperparameters: Iterable[Independent]) -> int:
    return prod(len(h.values) for h in hyperparameters)


def _independents(h: AnyHyperparameter) -> set[Independent]:
    return set(h.roots) if isinstance(h, Dependent) else {h}

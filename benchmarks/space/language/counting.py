"""Exact counting of a program's architectures, without building each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

from benchmarks.space.language.graph import (
    AnyHyperparameter,
    Dependent,
    Independent,
    ProgramError,
    Scope,
    Substitution,
    Value,
)
from benchmarks.space.language.program import Program, Step, ordered_modules

_MOST_EXPANSIONS = 30_000
_MOST_DEPTH = 60  # of substitutions inside substitutions: a space that goes deeper has no end, for all we can tell

Assigned: TypeAlias = dict[Independent, Value]


class Unfolded:
    """Every substitution module of a program with all it can turn into.

    Raises ProgramError if there is no end of them: the space is infinite, or too large to unfold.
    """

    def __init__(self, program: Program) -> None:
        self.foreign: dict[Substitution, frozenset[Independent]] = {}
        """What each module, or anything it turns into, has from outside: shared hyper-parameters."""
        self.drops = False
        """Whether something can stand in for a module without using all of its inputs."""
        self.contexts: list[tuple[Substitution, Assigned, Scope]] = []
        """(module, what its roots are assigned, what it then turns into), parents before what they contain."""
        self._visit(program.scope, {}, 0)

    def _visit(self, scope: Scope, given: Assigned, depth: int) -> frozenset[Independent]:
        """Unfolds what a scope contains; returns what it uses from outside."""
        if depth > _MOST_DEPTH or len(self.contexts) > _MOST_EXPANSIONS:
            raise ProgramError(
                f"this space is infinite, or too large to unfold: {scope.path.strip('/').split('/')[0]} goes on "
                f"through {depth} substitutions inside each other and {len(self.contexts)} in all"
            )
        used: set[Independent] = set()
        for module in scope.modules:
            for h in module.hyperparameters.values():
                used |= _independents(h)
            if not isinstance(module, Substitution):
                continue
            inside: set[Independent] = set(module.roots)
            for assigned in _assignments(module, given):
                expansion = module.expansion(given | assigned)
                self.contexts.append((module, assigned, expansion.scope))
                used_modules = ordered_modules(expansion.outputs, {})
                self.drops |= any(i.module not in used_modules for i in expansion.inputs.values())
                inside |= self._visit(expansion.scope, given | assigned, depth + 1)
            self.foreign[module] = frozenset(inside)
            used |= inside
        return frozenset(used - set(scope.independents))


def count(program: Program) -> int:
    """The number of configurations. Raises ProgramError if there is no end of them.

    Steps whose further course is the same are counted once: it depends on the choices due, on the substitution modules
    that wait, and on those earlier choices that a waiting module shares.
    """
    unfolded = Unfolded(program)
    foreign = unfolded.foreign
    known: dict[object, int] = {}

    def of(step: Step) -> int:
        shared = frozenset().union(*(foreign[m] for m in step.waiting)) if not step.is_last else frozenset()
        earlier = frozenset((h, v) for h, v in step.assigned.items() if h in shared)
        # Where an input may be dropped, what hangs behind it may vanish: then the connections matter, too.
        graph = step.connections if unfolded.drops else None
        key = (step.order, frozenset(step.waiting), earlier, step.done & shared, step.rest, graph)
        if key not in known:
            deciding = [step.order[i] for i in step.deciding]
            free = 1
            for h in step.order:
                free *= 1 if h in deciding else len(h.values)
            if step.is_last:
                known[key] = free
            else:
                total = 0
                for values in product(*(h.values for h in deciding)):
                    chosen = dict(zip(deciding, values, strict=True))
                    total += of(step.after([chosen.get(h) for h in step.order]))
                known[key] = free * total
        return known[key]

    return of(program.root)


def _assignments(module: Substitution, given: Assigned) -> Iterator[Assigned]:
    """Every assignment of a module's roots that agrees with what is given."""
    domains = [(given[h],) if h in given else h.values for h in module.roots]
    for values in product(*domains):
        yield dict(zip(module.roots, values, strict=True))


def _independents(h: AnyHyperparameter) -> set[Independent]:
    return set(h.roots) if isinstance(h, Dependent) else {h}

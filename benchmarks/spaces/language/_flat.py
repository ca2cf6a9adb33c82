"""The flat view of a program: all its possible hyper-parameters as one list of coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.flat import Condition, Coordinate
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.language._steps import Choices, Steps
from nasbench.benchmarks.spaces.language.counting import Unfolded
from nasbench.benchmarks.spaces.language.graph import Independent, Scope, Value


class FlatProgram:
    """A program as coordinates.

    Hyper-parameters with the same name and values are one, wherever they occur. A hyper-parameter is conditional if a
    single choice decides whether it exists. If several choices together decide, it always has a coordinate, which is
    ignored where the program does not need it. If a module waits for many choices together, only a sample of its
    expansions is looked at; a hyper-parameter outside this sample stays at its first value.

    Raises ProgramError if the space is infinite, or if a real number decides on the graph.
    """

    def __init__(self, program: Steps) -> None:
        self._program = program
        self._position: dict[Hyperparameter, int] = {}
        self._domains: list[Hyperparameter] = []
        self._parents: list[list[Condition | None]] = []
        inherited: dict[Scope, Condition | None] = {program.scope: None}
        self._add(program.scope, None)
        for module, assigned, scope in Unfolded(program.scope, every=False).contexts:
            if len(module.roots) == 1:
                inherited[scope] = self._condition(module.roots[0], assigned)
            else:
                inherited[scope] = inherited[module.scope]
            self._add(scope, inherited[scope])
        self.hyperparameters = tuple(self._domains)
        conditions: list[Condition | None] = []
        for several in self._parents:
            condition = _merged(several)
            always = condition is not None and all(condition.permitted)  # whenever its parent is present
            conditions.append(conditions[condition.parent] if condition is not None and always else condition)
        self.conditions = tuple(conditions)

    def coordinates(self, configuration: Configuration) -> list[Coordinate]:
        """A configuration as coordinates, None for hyper-parameters that it does not have."""
        coordinates: list[Coordinate] = [None] * len(self._domains)
        for (_, h), (_, value) in zip(self._program.choices(configuration), configuration, strict=True):
            position = self._position.get(h.domain)
            if position is not None:
                coordinates[position] = self._coordinate(position, value)
        return coordinates

    def at(self, coordinates: Sequence[Coordinate]) -> Choices:
        """The architecture at given coordinates; unneeded coordinates are ignored."""

        def choose(h: Independent) -> Value:
            position = self._position.get(h.domain)
            x = None if position is None else coordinates[position]
            if position is None or x is None:
                return h.domain.low if isinstance(h.domain, Float | Integer) else h.domain.values[0]
            domain = self._domains[position]
            return x if isinstance(domain, Float | Integer) else domain.values[int(x)]

        return self._program.walked(choose)

    def _add(self, scope: Scope, condition: Condition | None) -> None:
        used = dict.fromkeys(h for module in scope.modules for h in module.roots)
        for h in used:
            position = self._position.get(h.domain)
            if position is None:
                position = self._position[h.domain] = len(self._domains)
                self._domains.append(h.domain)
                self._parents.append([])
            self._parents[position].append(condition)

    def _condition(self, parent: Independent, assigned: dict[Independent, Value]) -> Condition:
        position = self._position[parent.domain]
        if isinstance(parent.domain, Integer):  # an integer that decides on the graph is a choice among its values
            self._domains[position] = Ordinal(parent.name, tuple(parent.values), parent.domain.log)
        return Condition(position, tuple(value == assigned[parent] for value in parent.values))

    def _coordinate(self, position: int, value: Value) -> Coordinate:
        domain = self._domains[position]
        return value if isinstance(domain, Float | Integer) else domain.values.index(value)


def _merged(conditions: list[Condition | None]) -> Condition | None:
    """The condition of a hyper-parameter with several occurrences: the union, if one choice decides on all of them."""
    known = [condition for condition in conditions if condition is not None]
    if len(known) < len(conditions) or len({condition.parent for condition in known}) != 1:
        return None
    permitted = tuple(any(flags) for flags in zip(*(condition.permitted for condition in known), strict=True))
    return known[0]._replace(permitted=permitted)

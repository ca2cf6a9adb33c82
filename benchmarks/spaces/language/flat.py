"""The flat view of a program: every hyper-parameter it can ask for, as one list of coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.flat import Condition, Coordinate
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.language.counting import Unfolded
from nasbench.benchmarks.spaces.language.graph import Independent, Scope, Value
from nasbench.benchmarks.spaces.language.steps import Choices, Steps


class FlatProgram:
    """A program as coordinates.

    Places of the same name and the same values are one hyper-parameter, wherever they come up. It is conditional where
    one choice decides whether there is a module that has it; where several together do, it always has a coordinate,
    which counts when the program asks for it. Where a module waits for many choices together, some of what it can turn
    into is looked at; a place that none of it has would stay at its first value. Raises ProgramError if the space is
    infinite.
    """

    def __init__(self, program: Steps) -> None:
        self._program = program
        self._position: dict[Hyperparameter, int] = {}
        self._found: list[Hyperparameter] = []
        self._parents: list[list[Condition | None]] = []
        inherited: dict[Scope, Condition | None] = {program.scope: None}
        self._add(program.scope, None)
        for module, assigned, scope in Unfolded(program.scope, every=False).contexts:
            if len(module.roots) == 1 and (condition := self._condition(module.roots[0], assigned)) is not None:
                inherited[scope] = condition
            else:
                inherited[scope] = inherited[module.scope]
            self._add(scope, inherited[scope])
        self.hyperparameters = tuple(self._found)
        conditions: list[Condition | None] = []
        for several in self._parents:
            condition = _merged(several)
            always = condition is not None and all(condition.permitted)  # whenever its parent is present
            conditions.append(conditions[condition.parent] if condition is not None and always else condition)
        self.conditions = tuple(conditions)

    def coordinates(self, configuration: Configuration) -> list[Coordinate]:
        """A configuration as coordinates, None where it does not have the hyper-parameter."""
        coordinates: list[Coordinate] = [None] * len(self._found)
        for (_, h), (_, value) in zip(self._program.choices(configuration), configuration, strict=True):
            position = self._position.get(h.domain)
            if position is not None:
                coordinates[position] = self._coordinate(position, value)
        return coordinates

    def at(self, coordinates: Sequence[Coordinate]) -> Choices:
        """The architecture that coordinates lead to; those that it does not ask for are ignored."""

        def choose(h: Independent) -> Value:
            position = self._position.get(h.domain)
            x = None if position is None else coordinates[position]
            if position is None or x is None:
                return h.domain.low if isinstance(h.domain, Float | Integer) else h.domain.values[0]
            domain = self._found[position]
            return x if isinstance(domain, Float | Integer) else domain.values[int(x)]

        return self._program.walked(choose)

    def _add(self, scope: Scope, condition: Condition | None) -> None:
        used = dict.fromkeys(h for module in scope.modules for h in module.roots)
        for h in used:
            position = self._position.get(h.domain)
            if position is None:
                position = self._position[h.domain] = len(self._found)
                self._found.append(h.domain)
                self._parents.append([])
            self._parents[position].append(condition)

    def _condition(self, parent: Independent, assigned: dict[Independent, Value]) -> Condition | None:
        position = self._position.get(parent.domain)
        if position is None or isinstance(parent.domain, Float):
            return None
        if isinstance(parent.domain, Integer):  # what decides the graph is a choice among its values
            self._found[position] = Ordinal(parent.name, tuple(parent.values))
        return Condition(position, tuple(value == assigned[parent] for value in parent.values))

    def _coordinate(self, position: int, value: Value) -> Coordinate:
        domain = self._found[position]
        return value if isinstance(domain, Float | Integer) else domain.values.index(value)


def _merged(conditions: list[Condition | None]) -> Condition | None:
    """The condition of a hyper-parameter that comes up in several places: any of theirs, if one choice decides all."""
    known = [condition for condition in conditions if condition is not None]
    if len(known) < len(conditions) or len({condition.parent for condition in known}) != 1:
        return None
    permitted = tuple(any(flags) for flags in zip(*(condition.permitted for condition in known), strict=True))
    return known[0]._replace(permitted=permitted)

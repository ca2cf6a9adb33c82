"""A fully decided program: its modules in the order in which they compute (algorithm 4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.language.graph import Basic, Independent, Input, Module, Output, ProgramError, Value
from nasbench.benchmarks.spaces.language.traversal import outside_of, resolved, source_of


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

    @classmethod
    def of(
        cls, inputs: dict[str, Input], outputs: dict[str, Output], assigned: dict[Independent, Value]
    ) -> Architecture:
        """The architecture that assignments decide, in a unique topological order."""
        names = {own: name for name, own in inputs.items()}
        order: dict[Module, int] = {}
        placed: list[Placed] = []
        results = {name: resolved(output, assigned) for name, output in sorted(outputs.items())}
        stack = [output.module for output in reversed(results.values())]
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
        ends_of = {name: (order[output.module], output.name) for name, output in results.items()}
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
        return LayerGraph(tuple(labels), tuple(units), frozenset(edges), kind="program")

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
                shapes = ", ".join(str(tuple(x.shape)) if hasattr(x, "shape") else repr(x) for x in given)
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

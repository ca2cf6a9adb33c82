"""Architectures: fully decided programs, as modules in the order of computation (algorithm 4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.paths import on_paths
from nasbench.benchmarks.spaces.language.graph import Basic, Independent, Input, Module, Output, ProgramError, Value
from nasbench.benchmarks.spaces.language.traversal import outside_of, resolved, source_of

_SUMS = ("add", "mean", "multiply")  # modules whose output has the channels of one input; others concatenate


@dataclass(frozen=True)
class Placed:
    """A module of an architecture."""

    module: Basic
    values: dict[str, Value]
    sources: tuple[tuple[int, str] | str, ...]
    """The source of each input, in the order of names: (position of a module, its output), or an open input."""


@dataclass(frozen=True)
class Architecture:
    """A fully decided space: modules in the order of computation, and the sources of the outputs."""

    modules: tuple[Placed, ...]
    outputs: dict[str, tuple[int, str]]

    @classmethod
    def of(
        cls, inputs: dict[str, Input], outputs: dict[str, Output], assigned: dict[Independent, Value]
    ) -> Architecture:
        """The architecture under given assignments, its modules in a unique topological order."""
        names = {target: name for name, target in inputs.items()}
        order: dict[Module, int] = {}
        placed: list[Placed] = []
        results = {name: resolved(output, assigned) for name, output in sorted(outputs.items())}
        stack = [output.module for output in reversed(results.values())]
        while stack:
            module = stack[-1]
            sources = [source_of(target, assigned) for target in module.inputs.values()]
            before = [s.module for s in sources if s is not None and s.module not in order]
            if module in order or not before:
                stack.pop()
                if module in order:
                    continue
                assert isinstance(module, Basic)
                order[module] = len(order)
                ends = tuple(
                    names[outside_of(target)] if source is None else (order[source.module], source.name)
                    for target, source in zip(module.inputs.values(), sources, strict=True)
                )
                placed.append(Placed(module, module.values(assigned), ends))
            else:
                stack.extend(reversed(before))
        ends_of = {name: (order[output.module], output.name) for name, output in results.items()}
        return cls(tuple(placed), ends_of)

    @property
    def hash(self) -> str:
        """The first 16 digits of a SHA-256 over kinds, values and connections; equal networks have equal hashes."""
        nodes = [(p.module.kind, p.values, p.sources) for p in self.modules]
        return hashlib.sha256(json.dumps([nodes, self.outputs], sort_keys=True).encode()).hexdigest()[:16]

    def layers(self) -> LayerGraph:
        """The layers on paths from `ip` to `op`, and their connections; other modules are contracted."""
        labels: list[str] = ["ip"]
        units: list[int | None] = [None]
        arriving = [0]
        edges: set[tuple[int, int]] = set()
        ends: list[tuple[set[int], int]] = []  # for each module: the layers behind its output, and its channels
        for placed in self.modules:
            given = [({0}, 1) if isinstance(end, str) else ends[end[0]] for end in placed.sources]
            sources = set().union(*(layers for layers, _ in given))
            together = max if placed.module.kind in _SUMS else sum
            channels = together([count for _, count in given]) if given else 0
            if placed.module.layer:
                kernel = placed.values.get("kernel_size", "") if placed.module.layer == "conv" else ""
                labels.append(f"{placed.module.layer}{kernel}")
                units.append(_units(placed.values, channels))
                arriving.append(channels)
                edges |= {(source, len(labels) - 1) for source in sources}
                sources, channels = {len(labels) - 1}, units[-1] or channels
            ends.append((set() if placed.module.kind == "zero" else sources, channels))
        labels.append("op")
        units.append(None)
        last = [ends[module] for module, _ in self.outputs.values()]
        arriving.append(sum(channels for _, channels in last))
        edges |= {(source, len(labels) - 1) for layers, _ in last for source in layers}
        last_layer = len(labels) - 1
        kept = sorted({0, last_layer} | on_paths(sorted(edges, key=lambda edge: edge[1]), last_layer))
        place = {v: i for i, v in enumerate(kept)}
        return LayerGraph(
            tuple(labels[v] for v in kept),
            tuple(units[v] for v in kept),
            frozenset((place[a], place[b]) for a, b in edges if a in place and b in place),
            kind="program",
            arriving=tuple(arriving[v] for v in kept),
        )

    def compile(self, inputs: dict[str, Any]) -> tuple[list[Callable[..., Any]], dict[str, Any]]:
        """Builds every module on example inputs, and applies it (algorithm 4).

        Returns one callable per module, in the order of `modules`, and the outputs. Raises ProgramError that names the
        module, its values and the shapes of its inputs, if a module cannot be built or applied.
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


def _units(values: dict[str, Value], channels: int) -> int | None:
    """The units of a layer: as given, or a multiple of the channels that arrive; None if it keeps these."""
    return int(values["factor"] * channels) if "factor" in values else values.get("filters", values.get("units"))


def _taken(source: tuple[int, str] | str, inputs: dict[str, Any], results: list[dict[str, Any]]) -> Any:
    return inputs[source] if isinstance(source, str) else results[source[0]][source[1]]


def _named(module: Basic, result: Any) -> dict[str, Any]:
    """The results of a module by the names of its outputs; a module with several outputs returns a tuple."""
    names = list(module.outputs)
    return {names[0]: result} if len(names) == 1 else dict(zip(names, result, strict=True))

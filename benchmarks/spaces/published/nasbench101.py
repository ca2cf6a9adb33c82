"""The cell of NAS-Bench-101 (Ying et al., ICML 2019): up to 7 vertices, any forward edges, 3 operations."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.graphs.paths import on_paths
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part, Value

MOST_EDGES = 9
"""Largest number of edges of a cell; a cell with more is infeasible before training."""


def nasbench101(vertices: int = 7, cells: int = 3, filters: int = 16, classes: int = 10) -> Part:
    """A chain of equal cells, between which images halve: 21 connections and 5 operations, of which those of vertices
    that nothing reads do not exist (156,040,622 architectures).

    The first of the `vertices` vertices is the input of a cell, the last its output. `is_valid` keeps the cells of the
    benchmark. Differences from it: a vertex without inputs works on zeros, and inputs are added without 1x1
    projections, also at the output (where the benchmark concatenates).
    """
    edges: dict[str, AnyHyperparameter] = {
        f"{i}-{j}": D([0, 1], name=f"{i}-{j}") for j in range(1, vertices) for i in range(j)
    }
    operations = [D(["conv3x3", "conv1x1", "maxpool3x3"], name=f"op-{j}") for j in range(1, vertices - 1)]
    parts = []
    for number in range(cells):
        width = filters * 2**number
        stride = 2 if number else 1
        parts += [layers.conv_norm_relu(width, 3, stride), _cell(vertices, width, edges, operations)]
    return layers.classifier(siso_sequential(parts), classes)


def is_valid(configuration: Configuration) -> bool:
    """Whether a cell is one of NAS-Bench-101: a path from input to output, and at most 9 edges once pruned."""
    bits = {name: value for name, value in configuration if name[0].isdigit()}
    last = max(int(name.split("-")[1]) for name in bits)
    edges = [(i, j) for j in range(1, last + 1) for i in range(j) if bits.get(f"{i}-{j}")]
    alive = on_paths(edges, last)
    return bool(alive) and sum(i in alive and j in alive for i, j in edges) <= MOST_EDGES


def _cell(
    vertices: int, filters: int, edges: dict[str, AnyHyperparameter], operations: Sequence[AnyHyperparameter]
) -> Part:
    inputs, outputs = identity()
    results = [outputs["out"]]
    for j in range(1, vertices):
        merge_inputs, merge_outputs = _merge(j, {f"{i}-{j}": edges[f"{i}-{j}"] for i in range(j)})
        for i in range(j):
            results[i].connect(merge_inputs[f"in{i}"])
        if j == vertices - 1:
            return inputs, merge_outputs
        part_inputs, part_outputs = _operation(filters, operations[j - 1])
        merge_outputs["out"].connect(part_inputs["in"])
        results.append(part_outputs["out"])
    return inputs, outputs


def _merge(vertex: int, bits: dict[str, AnyHyperparameter]) -> Part:
    """The sum of the earlier vertices whose bit is set."""

    def merged(values: dict[str, Value]) -> Part:
        taken = [i for i in range(vertex) if values[f"{i}-{vertex}"]]
        parts = {f"in{i}": identity() for i in range(vertex)}
        inputs = {name: part[0]["in"] for name, part in parts.items()}
        if not taken:
            zero_inputs, zero_outputs = layers.zero()
            parts["in0"][1]["out"].connect(zero_inputs["in"])
            return inputs, zero_outputs
        sum_inputs, sum_outputs = layers.add(len(taken))
        for k, i in enumerate(taken):
            parts[f"in{i}"][1]["out"].connect(sum_inputs[f"in{k}"])
        return inputs, sum_outputs

    return substitution("merge", merged, bits, [f"in{i}" for i in range(vertex)])


def _operation(filters: int, which: AnyHyperparameter) -> Part:
    def chosen(values: dict[str, Value]) -> Part:
        if values["which"] == "maxpool3x3":
            return layers.max_pool(3)
        return layers.conv_norm_relu(filters, 3 if values["which"] == "conv3x3" else 1)

    return substitution("operation", chosen, {"which": which})

"""Genetic CNN (Xie and Yuille, ICCV 2017): stages of convolutions whose connections are bits."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import D, Output, Part, Value


def genetic(nodes: Sequence[int] = (3, 4, 5), filters: Sequence[int] = (16, 32, 64), classes: int = 10) -> Part:
    """Stages with given numbers of nodes, a pooling after each: 2^(3 + 6 + 10) = 524,288 architectures by default.

    In a stage, a bit says whether a node reads an earlier node. A node that reads none reads the stage's first
    convolution. The last convolution reads all nodes that no other node reads. A node without any bit does not exist.
    """
    stages = []
    for number, width in zip(nodes, filters, strict=True):
        stages += [_stage(number, width), layers.max_pool(2, 2)]
    return layers.classifier(siso_sequential(stages), classes)


def _stage(nodes: int, filters: int) -> Part:
    def connected(bits: dict[str, Value]) -> Part:
        inputs, outputs = layers.conv_norm_relu(filters)
        takes = {j: [i for i in range(j) if bits[f"{i}-{j}"]] for j in range(nodes)}
        alive = [j for j in range(nodes) if takes[j] or any(j in taken for taken in takes.values())]
        results: dict[int, Output] = {}
        for j in alive:
            sources = [results[i] for i in takes[j]] or [outputs["out"]]
            node_inputs, node_outputs = siso_sequential([layers.add(len(sources)), layers.conv_norm_relu(filters)])
            for k, source in enumerate(sources):
                source.connect(node_inputs[f"in{k}"])
            results[j] = node_outputs["out"]
        ends = [results[j] for j in alive if not any(j in taken for taken in takes.values())] or [outputs["out"]]
        end_inputs, end_outputs = siso_sequential([layers.add(len(ends)), layers.conv_norm_relu(filters)])
        for k, end in enumerate(ends):
            end.connect(end_inputs[f"in{k}"])
        return inputs, end_outputs

    bits = {f"{i}-{j}": D([0, 1]) for j in range(nodes) for i in range(j)}
    return substitution("stage", connected, bits) if bits else identity()

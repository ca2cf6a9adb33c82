"""NASNet's cells (Zoph et al., CVPR 2018): blocks that combine two earlier states, a normal and a reduction cell."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_or, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Output, Part, Value

OPERATIONS = ("identity", "sep3x3", "sep5x5", "sep7x7", "avg3x3", "max3x3", "max5x5", "conv1x1", "conv3x3")


def nasnet(blocks: int = 5, normal: int = 1, stages: int = 3, filters: int = 16, classes: int = 10) -> Part:
    """Stages of equal normal cells, with equal reduction cells between the stages.

    A block chooses two earlier states and an operation for each, and adds the results; the output of a cell is the
    concatenation of unused states. Differences from the paper: nine of its 13 operations, blocks always add, and both
    initial states of a cell are the output of the previous cell (strided in a reduction cell), so that shapes fit.
    """
    kinds = {kind: _Choices(kind, blocks) for kind in ("normal", "reduction")}
    parts = [layers.conv_norm_relu(filters)]
    for stage in range(stages):
        width = filters * 2**stage
        if stage:
            parts.append(_cell(kinds["reduction"], blocks, width, stride=2))
        parts += [_cell(kinds["normal"], blocks, width, stride=1) for _ in range(normal)]
    return layers.classifier(siso_sequential(parts), classes)


class _Choices:
    """The choices that all cells of a kind share."""

    def __init__(self, kind: str, blocks: int) -> None:
        sides = [(b, side) for b in range(blocks) for side in ("left", "right")]
        self.states: dict[str, AnyHyperparameter] = {
            f"{b}-{side}": D(range(b + 2), name=f"{kind}-{b}-{side}") for b, side in sides
        }
        self.operations = {f"{b}-{side}": D(range(len(OPERATIONS)), name=f"{kind}-{b}-{side}-op") for b, side in sides}


def _cell(choices: _Choices, blocks: int, filters: int, stride: int) -> Part:
    def connected(values: dict[str, Value]) -> Part:
        inputs, outputs = layers.conv_norm_relu(filters, 1, stride)
        other_inputs, other_outputs = identity()
        outputs["out"].connect(other_inputs["in"])
        states: list[Output] = [outputs["out"], other_outputs["out"]]
        for b in range(blocks):
            sum_inputs, sum_outputs = layers.add(2)
            for k, side in enumerate(("left", "right")):
                part_inputs, part_outputs = _operation(filters, choices.operations[f"{b}-{side}"])
                states[values[f"{b}-{side}"]].connect(part_inputs["in"])
                part_outputs["out"].connect(sum_inputs[f"in{k}"])
            states.append(sum_outputs["out"])
        unused = [state for i, state in enumerate(states) if i not in values.values() and i >= 2]
        end_inputs, end_outputs = layers.concat(len(unused))
        for k, state in enumerate(unused):
            state.connect(end_inputs[f"in{k}"])
        return inputs, end_outputs

    return substitution("cell", connected, choices.states)


def _operation(filters: int, which: AnyHyperparameter) -> Part:
    def separable(size: int) -> Part:
        return siso_sequential([layers.separable_conv2d(filters, size), layers.batch_norm(), layers.relu()])

    return siso_or(
        [
            identity,
            lambda: separable(3),
            lambda: separable(5),
            lambda: separable(7),
            lambda: layers.avg_pool(3),
            lambda: layers.max_pool(3),
            lambda: layers.max_pool(5),
            lambda: layers.conv_norm_relu(filters, 1),
            lambda: layers.conv_norm_relu(filters, 3),
        ],
        which,
    )

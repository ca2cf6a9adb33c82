"""POPNASv3's space (Falanti et al., 2023): one cell of blocks, repeated, each cell beside a shortcut.

The paper's text was not available: this follows its authors' code of that date (popnas 3.0.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import D, Independent, Output, Part, Value, ordinal

LOOKBACKS = 2
OPERATORS = (
    *("identity", "3x3 dconv", "5x5 dconv", "7x7 dconv", "1x3-3x1 conv", "1x5-5x1 conv", "1x7-7x1 conv"),
    *("1x1 conv", "3x3 conv", "5x5 conv", "2x2 maxpool", "2x2 avgpool"),
)
"""The default operators for images, in their order."""


def popnas(
    blocks: int = 5,
    motifs: int = 3,
    normal: int = 2,
    filters: int = 24,
    classes: int = 10,
    operators: Sequence[str] = OPERATORS,
) -> Part:
    """Motifs of equal cells with a strided cell between them; a block of a cell adds the results of two operators.

    A cell has 1 to `blocks` blocks. A block reads the last two cells, or earlier blocks of its cell. Unread blocks are
    concatenated, and the nearest cell that is read is added. If a cell reads only the last but one, every second cell
    is superfluous, and is not built. There is no stem: the first cell reads the image twice. In a random architecture,
    each number of blocks has the same probability. Mirrored blocks are different configurations of the same network.

    Args:
        blocks: largest number of blocks of a cell.
        motifs: groups of normal cells; from one to the next, images halve and channels double.
        normal: cells per motif, 1 or more.
        filters: channels of the first motif.
        classes: number of scores.
        operators: names from `OPERATORS`.
    """
    choices = [_choices(number, operators) for number in range(1, blocks + 1)]

    def network(values: dict[str, Value]) -> Part:
        return _stacked(choices[: values["blocks"]], motifs, normal, filters)

    features = substitution("network", network, {"blocks": ordinal(range(1, blocks + 1), name="blocks")})
    return layers.classifier(features, classes)


def names(number: int) -> tuple[str, str, str, str]:
    """The names of the choices of a block, counted from 1: first input and operator, second input and operator."""
    first, first_operator, second, second_operator = (f"b{number}-{what}" for what in ("in1", "op1", "in2", "op2"))
    return first, first_operator, second, second_operator


def cells_of(motifs: int = 3, normal: int = 2) -> int:
    """Number of cells of a network in which each cell reads the previous one."""
    return motifs * (normal + 1) - 1


def _choices(number: int, operators: Sequence[str]) -> tuple[Independent, ...]:
    """The choices of a block: two inputs, each with its operator."""
    domains = [range(-LOOKBACKS, number - 1), tuple(operators)] * 2
    return tuple(D(domain, name=name) for domain, name in zip(domains, names(number), strict=True))


def _stacked(blocks: Sequence[tuple[Independent, ...]], motifs: int, normal: int, filters: int) -> Part:
    """The chain of all cells; each cell reads the last two."""
    inputs, outputs = identity()
    ends: list[tuple[Output, int]] = [(outputs["out"], -1)] * LOOKBACKS  # (output, motif) of the image, twice
    for number in range(cells_of(motifs, normal)):
        motif = (number + 1) // (normal + 1)
        (skip, skip_motif), (last, last_motif) = ends[-2:]
        part_inputs, part_outputs = _cell(blocks, filters << motif, motif, {-1: last_motif, -2: skip_motif})
        skip.connect(part_inputs["skip"])
        last.connect(part_inputs["last"])
        ends.append((part_outputs["out"], motif))
    return inputs, {"out": ends[-1][0]}


def _cell(blocks: Sequence[tuple[Independent, ...]], filters: int, motif: int, sources: dict[int, int]) -> Part:
    """A cell with `filters` channels; `sources` are the motifs of the cells that it may read (-1: the image)."""

    def connected(values: dict[str, Any]) -> Part:
        (last_inputs, last), (skip_inputs, skip) = identity(), identity()
        states = {-1: last["out"], -2: skip["out"]}
        read = set()
        for number in range(len(blocks)):
            total_inputs, total = layers.add(2)
            for k in (0, 1):
                source, operator = values[f"{number}-{k}-in"], values[f"{number}-{k}-op"]
                part_inputs, part = _operator(operator, filters, *_change(motif, sources.get(source, motif)))
                states[source].connect(part_inputs["in"])
                part["out"].connect(total_inputs[f"in{k}"])
                read.add(source)
            states[number] = total["out"]
        end = _joined([states[number] for number in range(len(blocks)) if number not in read], filters)
        nearest = max(read & {-1, -2})
        shortcut_inputs, shortcut = _shortcut(filters, *_change(motif, sources[nearest]))
        states[nearest].connect(shortcut_inputs["in"])
        sum_inputs, result = layers.add(2)
        end.connect(sum_inputs["in0"])
        shortcut["out"].connect(sum_inputs["in1"])
        return {"last": last_inputs["in"], "skip": skip_inputs["in"]}, result

    keys = [[f"{number}-{k}-{what}" for k in (0, 1) for what in ("in", "op")] for number in range(len(blocks))]
    choices = dict(zip(chain.from_iterable(keys), chain.from_iterable(blocks), strict=True))
    return substitution("cell", connected, choices, ("last", "skip"))


def _change(motif: int, source: int) -> tuple[int, bool]:
    """The stride from one motif to another, and whether the channels change; the image counts as motif 0 in size."""
    return 1 + (motif > max(source, 0)), motif != source


def _operator(name: str, filters: int, stride: int, changes: bool) -> Part:
    """An operator whose output has the shape of the cell's output."""
    size = int(name[name.index("x") + 1]) if "x" in name else 1  # 3 of "3x3 dconv", and of "1x3-3x1 conv"
    if name == "identity":
        return _conv(filters, 1, stride) if changes else identity()
    if name.endswith("pool"):
        return siso_sequential([_pool(stride, "max" in name), *([_conv(filters, 1)] if changes else [])])
    if name.endswith("dconv"):
        return _separable(filters, size, stride)
    if "-" in name:
        return siso_sequential([_conv(filters, size, stride, 1), _conv(filters, 1, 1, size)])
    return _conv(filters, size, stride)


def _joined(ends: Sequence[Output], filters: int) -> Output:
    """The concatenation of outputs, convolved to the channels of the cell; a single output is left as it is."""
    if len(ends) == 1:
        return ends[0]
    inputs, outputs = layers.concat(len(ends))
    for k, end in enumerate(ends):
        end.connect(inputs[f"in{k}"])
    back_inputs, back = _conv(filters, 1)
    outputs["out"].connect(back_inputs["in"])
    return back["out"]


def _shortcut(filters: int, stride: int, changes: bool) -> Part:
    parts = [_pool(2, largest=True)] if stride > 1 else []
    parts += [_conv(filters, 1)] if changes else []
    return siso_sequential(parts) if parts else identity()


def _conv(filters: int, width: int, stride: int = 1, height: int | None = None) -> Part:
    """Convolution, batch normalisation, Swish."""
    return layers.layer(
        "conv_norm_swish",
        lambda torch, shapes, filters, kernel_size, height, stride: torch.nn.Sequential(
            torch.nn.Conv2d(shapes[0][1], filters, (height, kernel_size), stride, (height // 2, kernel_size // 2)),
            torch.nn.BatchNorm2d(filters),
            torch.nn.SiLU(),
        ),
        {"filters": filters, "kernel_size": width, "height": height or width, "stride": stride},
        label="conv",
    )


def _separable(filters: int, size: int, stride: int) -> Part:
    """Depthwise and pointwise convolution, batch normalisation, Swish."""
    return layers.layer(
        "separable_norm_swish",
        lambda torch, shapes, filters, kernel_size, stride: torch.nn.Sequential(
            torch.nn.Conv2d(
                shapes[0][1], shapes[0][1], kernel_size, stride, kernel_size // 2, groups=shapes[0][1], bias=False
            ),
            torch.nn.Conv2d(shapes[0][1], filters, 1),
            torch.nn.BatchNorm2d(filters),
            torch.nn.SiLU(),
        ),
        {"filters": filters, "kernel_size": size, "stride": stride},
        label="conv",
    )


def _pool(stride: int, largest: bool) -> Part:
    return layers.layer(
        "max_pool" if largest else "avg_pool",
        lambda torch, shapes, stride: layers.network_class("SamePool")(stride, largest),
        {"stride": stride},
        label="max-pool" if largest else "avg-pool",
    )

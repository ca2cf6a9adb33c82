"""The example spaces of the language's paper (Negrinho et al., NeurIPS 2019), as its figures print them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import (
    Fn,
    identity,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_sequential,
    substitution,
)
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Dependent, Part, Value
from nasbench.benchmarks.spaces.published.example import figure_4

__all__ = [
    "figure_1",
    "figure_4",
    "figure_10",
    "figure_11",
    "figure_16",
    "figure_18",
    "figure_19_1",
    "figure_19_2",
    "figure_19_3",
    "figure_19_4",
]


def figure_1() -> Part:
    """Dropout of 0.25 or 0.5, then 100, 200 or 300 hidden units: 6 architectures."""
    a_inputs, a_outputs = layers.dropout(D([0.25, 0.5]))
    b_inputs, b_outputs = layers.dense(D([100, 200, 300]))
    c_inputs, c_outputs = layers.relu()
    a_outputs["out"].connect(b_inputs["in"])
    b_outputs["out"].connect(c_inputs["in"])
    return a_inputs, c_outputs


def figure_10() -> Part:
    """Two convolutions with shared filters and stride, kernel sizes chosen separately: 27 architectures."""
    h_filters, h_stride = D([32, 64, 128]), D([1])
    return siso_sequential([layers.conv2d(h_filters, D([1, 3, 5]), h_stride) for _ in range(2)])


def figure_11() -> Part:
    """Three convolutions whose filters are multiples of those before, by a chosen factor: 243 architectures."""
    h_filters, h_factor, h_stride = D([32, 64, 128]), D([1, 2, 4]), D([1])

    def multiple(h: AnyHyperparameter) -> Dependent:
        return Dependent(lambda dh: dh["x"] * dh["factor"], {"x": h, "factor": h_factor})

    first = multiple(h_filters)
    filters: list[AnyHyperparameter] = [h_filters, first, multiple(first)]
    return siso_sequential([layers.conv2d(h, D([1, 3, 5]), h_stride) for h in filters])


def figure_16(nodes: int = 8) -> Part:
    """The recurrent cell of ENAS: each node takes an earlier one, unused ones are averaged; inputs x and ht."""
    h_units = D([32, 64, 128, 256])

    def activation() -> Part:
        return siso_or([layers.relu, layers.tanh, layers.sigmoid, identity], D(range(4)))

    def input_node() -> Part:
        (x_inputs, x_outputs), (h_inputs, h_outputs) = layers.dense(h_units), layers.dense(h_units)
        a_inputs, a_outputs = layers.add(2)
        n_inputs, n_outputs = activation()
        x_outputs["out"].connect(a_inputs["in0"])
        h_outputs["out"].connect(a_inputs["in1"])
        a_outputs["out"].connect(n_inputs["in"])
        return {"x": x_inputs["in"], "ht": h_inputs["in"]}, n_outputs

    def cell(dh: dict[str, Value]) -> Part:
        inputs, first = input_node()
        outputs = [first["out"]]
        for i in range(1, nodes):
            node_inputs, node_outputs = siso_sequential([layers.dense(h_units), activation()])
            outputs[dh[str(i)]].connect(node_inputs["in"])
            outputs.append(node_outputs["out"])
        unused = sorted(set(range(nodes)) - set(dh.values()))
        c_inputs, c_outputs = layers.mean(len(unused))
        for j, i in enumerate(unused):
            outputs[i].connect(c_inputs[f"in{j}"])
        return inputs, {"ht+1": c_outputs["out"]}

    return substitution("cell", cell, {str(i): D(range(i)) for i in range(1, nodes)}, ["x", "ht"], ["ht+1"])


def figure_18(fn: Fn = lambda: layers.conv2d(D([16, 32]))) -> Part:
    """Self-similar: a part, and perhaps the whole again behind it; infinite."""
    return siso_sequential([fn(), siso_optional(lambda: figure_18(fn), D([0, 1]))])


def _a(h: AnyHyperparameter) -> Part:
    return layers.conv2d(Dependent(lambda dh: (8, 16)[dh["x"]], {"x": h}))


def _b(h: AnyHyperparameter) -> Part:
    return layers.max_pool(Dependent(lambda dh: (1, 3)[dh["x"]], {"x": h}))


def _c(h: AnyHyperparameter) -> Part:
    return layers.dropout(Dependent(lambda dh: (0.25, 0.5)[dh["x"]], {"x": h}))


def _each(wrap: Callable[[Callable[[AnyHyperparameter], Part]], Part]) -> list[Fn]:
    return [partial(wrap, fn) for fn in (_a, _b, _c)]


def figure_19_1() -> Part:
    """A choice among three parts, each with a binary hyper-parameter, repeated 1, 2 or 4 times: 6 + 36 + 1,296."""
    return siso_repeat(lambda: siso_or(_each(lambda fn: fn(D([0, 1]))), D([0, 1, 2])), D([1, 2, 4]))


def figure_19_2() -> Part:
    """The choice outside the repetition: 3 (2 + 4 + 16) = 66."""
    return siso_or(_each(lambda fn: siso_repeat(lambda: fn(D([0, 1])), D([1, 2, 4]))), D([0, 1, 2]))


def figure_19_3() -> Part:
    """As the second, with one binary hyper-parameter for all repetitions: 3 × 3 × 2 = 18."""
    h = D([0, 1])
    return siso_or(_each(lambda fn: siso_repeat(lambda: fn(h), D([1, 2, 4]))), D([0, 1, 2]))


def figure_19_4() -> Part:
    """A repetition of one of the three spaces above, which are spaces like any other."""
    spaces = (figure_19_1, figure_19_2, figure_19_3)
    return siso_or([partial(siso_repeat, space, D([1, 2, 4])) for space in spaces], D([0, 1, 2]))

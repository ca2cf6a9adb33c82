"""The search-space language: its algorithms and combinators, and what is said of a space that breaks a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import (
    Fn,
    identity,
    lstm_cell,
    mimo_or,
    rnn_cell,
    siso_optional,
    siso_repeat,
    siso_residual,
    siso_sequential,
    siso_split_combine,
    substitution,
)
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import Basic, D, Dependent, Independent, Part, ProgramError, constant
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.language.traversal import ordered_hyperparameters, ordered_modules
from research import language_figures as figures
from tests.benchmarks.written import op

# Algorithms


def test_the_traversal_is_that_of_algorithms_2_and_5() -> None:
    """Figure 4, before any choice: backwards from concat, inputs by name, then what hyper-parameters depend on."""
    program = Program(figures.figure_4)
    modules = ordered_modules(program.outputs, {})
    assert [m.name for m in modules] == ["concat-0", "repeat-0", "repeat-1", "optional-0", "conv2d-0"]
    found = [h.name for h in ordered_hyperparameters(modules) if not isinstance(h, Dependent)]
    assert found == ["repeat-0.times", "optional-0.present", "conv2d-0.filters"]
    (first,) = program.root.order
    assert first.name == "repeat-0.times"
    after = program.root.after({first: 2})
    assert [h.name for h in after.order][:4] == [
        "repeat-0/conv2d-1.filters",
        "repeat-1/conv2d-3.filters",
        "repeat-0/conv2d-0.filters",
        "repeat-1/conv2d-2.filters",
    ]


def test_dependent_hyperparameters_follow_at_once_and_in_chains() -> None:
    program = Program(figures.figure_11)
    for configuration in program:
        values = dict(configuration)
        filters = [p.values["filters"] for p in program.graph(configuration).modules]
        first, factor = values["conv2d-0.filters"], values["one-of-1-2-4"]
        assert filters == [first, first * factor, first * factor**2]


def test_frame_d_of_figure_5() -> None:
    """h_n = 1, dropout present: five convolutions and a dropout in the order in which they compute."""
    program = Program(figures.figure_4)
    values = {
        "repeat-0.times": 1,
        "repeat-0/conv2d-0.filters": 64,
        "repeat-1/conv2d-1.filters": 128,
        "repeat-1/conv2d-0.filters": 64,
        "optional-0.present": 1,
        "optional-0/dropout-0.rate": 0.5,
        "conv2d-0.filters": 64,
    }
    graph = program.graph(program.from_values(values))
    assert [p.module.kind for p in graph.modules] == ["conv2d", "dropout", "conv2d", "conv2d", "conv2d", "concat"]
    assert graph.modules[-1].sources == ((2, "out"), (4, "out"))
    assert graph.modules[1].values == {"rate": 0.5}
    assert graph.hash == Program(figures.figure_4).graph(tuple(graph_order(program, values))).hash


def graph_order(program: Program, values: dict[str, object]) -> list[tuple[str, object]]:
    return [(name, values[name]) for name, _ in program.from_values(values)]


def test_forward_passes_values_along_the_edges() -> None:
    def write() -> Part:
        a, b = op("a", x=D([1])), op("b", y=2)
        return siso_sequential([a, siso_optional(lambda: op("c"), constant(1)), b])

    program = Program(write)
    (configuration,) = program
    made, outputs = program.graph(configuration).compile({"in": "start"})
    inner = ("c", {}, (("a", {"x": 1}, ("start",)),))
    assert outputs["out"] == ("b", {"y": 2}, (inner,))
    assert len(made) == 3


def test_combinators_build_what_they_say() -> None:
    def kinds(write: Callable[[], Part], values: dict[str, object]) -> Counter[str]:
        program = Program(write)
        return Counter(p.module.kind for p in program.graph(program.from_values(values)).modules)

    merge = lambda n: Basic("merge", {}, lambda v, g: lambda *x: x, [f"in{i}" for i in range(n)]).part  # noqa: E731
    split = partial(siso_split_combine, lambda: op("a"), merge)
    assert kinds(lambda: split(D([1, 3])), {"split-0.splits": 3}) == {"identity": 1, "a": 3, "merge": 1}
    assert kinds(lambda: siso_repeat(lambda: op("a"), D([0, 2])), {"repeat-0.times": 0}) == {"identity": 1}
    assert kinds(lambda: siso_residual(lambda: op("a"), identity, merge), {}) == {"identity": 2, "a": 1, "merge": 1}
    two = lambda kind: Basic(kind, {}, lambda v, g: lambda *x: (kind, x), ["in0", "in1"]).part  # noqa: E731
    assert kinds(lambda: rnn_cell(lambda: two("h"), lambda: op("y")), {}) == {"h": 1, "y": 1}
    gates = [partial(two, name) for name in ("i", "f", "o", "g")]
    memory = lambda: Basic("memory", {}, lambda v, g: lambda *x: ("memory", x), [f"in{k}" for k in range(4)]).part  # noqa: E731
    cell = Program(lambda: lstm_cell(*gates, memory, lambda: two("show")))  # type: ignore[arg-type]
    _, outputs = cell.graph(()).compile({"x": "x", "h": "h", "c": "c"})
    i, f, o, g = (("i", ("x", "h")), ("f", ("x", "h")), ("o", ("x", "h")), ("g", ("x", "h")))
    c_next = ("memory", (f, "c", i, g))
    assert outputs == {"c_next": c_next, "h_next": ("show", (o, c_next))}
    assert kinds(
        lambda: mimo_or([lambda: two("a"), lambda: two("b")], D([0, 1]), ["in0", "in1"], ["out"]), {"or-0.which": 1}
    ) == {"b": 1}


def test_the_functions_of_an_lstm_are_searched() -> None:
    """Figure 15: gates, update and output are search spaces of their own."""

    def one_of(names: Sequence[str], count: int) -> Fn:
        inputs = [f"in{k}" for k in range(count)]
        fns = [lambda name=name: Basic(name, {}, lambda v, g: lambda *x: x, inputs).part for name in names]
        return lambda: mimo_or(fns, D(range(len(names))), inputs, ["out"])

    gate, memory, hidden = one_of("ab", 2), one_of("cde", 4), one_of("fg", 2)
    assert count(Program(lambda: lstm_cell(gate, gate, gate, gate, memory, hidden))) == 2**4 * 3 * 2


@pytest.mark.slow
def test_the_recurrent_space_of_figure_16_has_its_number_of_cells() -> None:
    """ENAS: eight nodes of four functions, each but the first with the output of an earlier one, and four widths."""

    def node(number: int, units: Independent) -> Part:
        function = D(["relu", "tanh", "sigmoid", "identity"], f"function-{number}")
        return Basic("node", {"function": function, "units": units}, lambda v, g: lambda x: x).part

    def cell(units: Independent, values: dict[str, int]) -> Part:
        nodes = [node(number, units) for number in range(8)]
        for number in range(1, 8):
            nodes[values[str(number)]][1]["out"].connect(nodes[number][0]["in"])
        unused = sorted(set(range(8)) - set(values.values()))
        mean = Basic("mean", {}, lambda v, g: lambda *x: x, [f"in{k}" for k in range(len(unused))])
        for k, number in enumerate(unused):
            nodes[number][1]["out"].connect(mean.inputs[f"in{k}"])
        return nodes[0][0], mean.outputs

    def space() -> Part:
        units = D([32, 64, 128, 256], "units")
        return substitution("cell", partial(cell, units), {str(number): D(range(number)) for number in range(1, 8)})

    assert count(Program(space)) == 5040 * 4**8 * 4 == 1_321_205_760


# Errors


def twice() -> Part:
    (a_in, a_out), (b_in, _), (_, c_out) = op("a"), op("b"), op("c")
    a_out["out"].connect(b_in["in"])
    c_out["out"].connect(b_in["in"])
    return a_in, {}


def circle() -> Part:
    two = Basic("two", {}, lambda v, g: None, ["in0", "in1"])  # type: ignore[arg-type,return-value]
    back_in, back_out = op("back")
    two.outputs["out"].connect(back_in["in"])
    back_out["out"].connect(two.inputs["in1"])
    return {"in": two.inputs["in0"]}, two.outputs


def across() -> Part:
    a_in, a_out = op("a")

    def inner(_: dict[str, object]) -> Part:
        b_in, b_out = op("b")
        a_out["out"].connect(b_in["in"])
        return b_in, b_out

    s_in, s_out = substitution("s", inner, {"x": D([1])})
    a_out["out"].connect(s_in["in"])
    return a_in, s_out


def again() -> Part:
    made: list[Part] = []

    def inner(_: dict[str, object]) -> Part:
        made.append(op("b"))
        return made[0]

    return substitution("s", inner, {"x": D([1, 2])})


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (twice, "input in of b-0 is connected twice: to a-0, and to c-0"),
        (circle, "a cycle"),
        (lambda: (op("a")[0], op("b")[1]), "input in of b-0 is not connected"),
        (across, "not made by the same function"),
        (again, "is returned by a function that has not made it"),
        (
            lambda: substitution("s", lambda v: mimo_or([identity], 0, ["in"], ["out"]), {"x": D([1])}, ["x"], ["out"]),
            r"s-0 has the names \['x'\], but its substitution under \{'x': 1\} returns \['in'\]",
        ),
        (lambda: op("a", x=D([1, 2], name="n"), y=D([1, 2], name="n")), "two hyper-parameters .* are called n"),
        (lambda: siso_sequential([]), "one or more parts"),
        (lambda: op("a", x=D([[1, 2], [3]])), r"text, numbers or booleans, not \[1, 2\]"),
    ],
)
def test_what_is_written_wrongly_is_said(write: Callable[[], Part], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        list(Program(write))


def test_the_rest_of_the_rules() -> None:
    with pytest.raises(ProgramError, match="inside the function that writes the search space"):
        D([1, 2])
    with pytest.raises(ProgramError.__mro__[1], match="distinct values"):
        Program(lambda: op("a", x=D([1, 1])))
    with pytest.raises(ProgramError, match="nothing can mutate"):
        Program(lambda: op("a", x=D([1]))).mutate((("a-0.x", 1),), np.random.default_rng(0))


def test_a_shape_that_does_not_fit_names_module_values_and_shapes() -> None:
    pytest.importorskip("torch")
    import torch

    def write() -> Part:
        inputs, outputs = identity()
        sum_inputs, sum_outputs = layers.add(2)
        for name, part in (("in0", layers.conv2d(8, 3, 2)), ("in1", identity())):
            outputs["out"].connect(part[0]["in"])
            part[1]["out"].connect(sum_inputs[name])
        return inputs, sum_outputs

    with pytest.raises(ProgramError, match=r"add-0 \(no hyper-parameters\) cannot take inputs of shape .*8, 14, 14"):
        Program(write).graph(()).compile({"in": torch.zeros(2, 3, 28, 28)})

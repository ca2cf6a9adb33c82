"""The search-space language: its rules, its example spaces, and the views that methods have of a program."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import stats

from benchmarks.architectures import figures
from benchmarks.architectures.flat import flat
from benchmarks.architectures.genetic import genetic
from benchmarks.architectures.nasbench101 import is_valid, nasbench101
from benchmarks.architectures.nasbench201 import nasbench201
from benchmarks.architectures.nasnet import nasnet
from benchmarks.space import ForeignConfiguration, Hashed
from benchmarks.space.language import layers
from benchmarks.space.language.combinators import (
    identity,
    lstm_cell,
    mimo_or,
    rnn_cell,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_residual,
    siso_sequential,
    siso_split_combine,
    substitution,
)
from benchmarks.space.language.counting import count
from benchmarks.space.language.graph import Basic, D, Dependent, Part, ProgramError, constant, integer, real
from benchmarks.space.language.program import Program
from benchmarks.space.language.traversal import ordered_hyperparameters, ordered_modules

COUNTS = {
    figures.figure_1: 6,
    figures.figure_4: 25_008,
    figures.figure_10: 27,
    figures.figure_11: 243,
    figures.figure_19_1: 6 + 6**2 + 6**4,
    figures.figure_19_2: 3 * (2 + 4 + 16),
    figures.figure_19_3: 3 * 3 * 2,
}
SMALL = [figures.figure_1, figures.figure_10, figures.figure_11, figures.figure_19_2, figures.figure_19_3]
FINITE = [*COUNTS, figures.figure_19_4, nasbench201, genetic, flat]
ALL = [*FINITE, figures.figure_16, figures.figure_18, nasbench101, nasnet]


def named(write: Callable[[], Part]) -> str:
    return write.__name__


def op(kind: str, **hyperparameters: object) -> Part:
    return Basic(kind, hyperparameters, lambda values, given: lambda *x: (kind, values, x)).part


# Counts


@pytest.mark.parametrize("write", COUNTS, ids=named)
def test_enumeration_and_counting_give_the_papers_numbers(write: Callable[[], Part]) -> None:
    program = Program(write)
    found = list(program)
    assert len(found) == len(set(found)) == COUNTS[write]
    assert count(Program(write)) == COUNTS[write]
    for configuration in found[:: max(1, len(found) // 50)]:
        program.check(configuration)


def test_counts_of_spaces_too_large_to_enumerate() -> None:
    one, two, three = (COUNTS[f] for f in (figures.figure_19_1, figures.figure_19_2, figures.figure_19_3))
    assert count(Program(figures.figure_19_4)) == sum(n + n**2 + n**4 for n in (one, two)) + three + three**2 + three**4
    assert count(Program(nasbench201)) == 5**6
    assert count(Program(genetic)) == 2**19
    assert count(Program(flat)) == 7**10
    assert count(Program(partial(figures.figure_16, 4))) == 6 * 4 * 4**4  # 3! inputs, 4 units, 4 activations a node
    assert count(Program(partial(nasbench101, 4))) == sum(1 for _ in Program(partial(nasbench101, 4)))


def test_a_space_without_end_has_no_size() -> None:
    program = Program(figures.figure_18)
    with pytest.raises(ProgramError, match="infinite"):
        count(program)
    with pytest.raises(ProgramError, match="infinite"):
        program.as_flat()
    assert len({program.sample(np.random.default_rng(i)) for i in range(20)}) > 5
    with pytest.raises(ProgramError, match="is a real number: its values have no end"):
        count(Program(lambda: op("a", x=real(0, 1))))


def shared_or() -> Part:
    """A hyper-parameter that decides one module and is used, or decides, inside another: no plain product counts it."""
    h = D([0, 1])
    inner: Callable[[], Part] = lambda: siso_or([lambda: op("a", v=h), lambda: siso_repeat(lambda: op("b"), h)], h)  # noqa: E731
    return siso_sequential([siso_or([lambda: op("c", v=h), inner], D([0, 1])), siso_optional(lambda: op("d", v=h), h)])


def dropping() -> Part:
    """A part that may ignore one of its inputs, behind which choices vanish."""

    def left(_: dict[str, object]) -> Part:
        (a_in, a_out), (b_in, _) = identity(), identity()
        return {"in0": a_in["in"], "in1": b_in["in"]}, a_out

    def both(_: dict[str, object]) -> Part:
        inputs, outputs = Basic("both", {}, lambda v, g: lambda *x: x, ["in0", "in1"]).part
        return inputs, outputs

    a_in, a_out = op("a", x=D([1, 2, 3]))
    b_in, b_out = siso_or([lambda: op("b", x=D([1, 2])), identity], D([0, 1]))
    c_in, c_out = substitution("keep", lambda v: both(v) if v["all"] else left(v), {"all": D([0, 1])}, ["in0", "in1"])
    s_in, s_out = identity()
    s_out["out"].connect(a_in["in"])
    s_out["out"].connect(b_in["in"])
    a_out["out"].connect(c_in["in0"])
    b_out["out"].connect(c_in["in1"])
    return s_in, c_out


def late() -> Part:
    """A module that appears late, and waits for a choice made long before."""
    h = D([0, 1])
    inner: Callable[[], Part] = lambda: siso_optional(lambda: op("b"), h)  # noqa: E731
    return siso_sequential([siso_or([inner, lambda: op("c")], D([0, 1])), op("a", v=h)])


def unread() -> Part:
    """A part with two outputs, of which only one is used."""

    def two(_: dict[str, object]) -> Part:
        (a_in, a_out), (b_in, b_out) = identity(), identity()
        return {"in0": a_in["in"], "in1": b_in["in"]}, {"out0": a_out["out"], "out1": b_out["out"]}

    s_in, s_out = substitution("s", two, {"x": D([0, 1])}, ["in0", "in1"], ["out0", "out1"])
    i_in, i_out = identity()
    for name, values in (("in0", [1, 2, 3]), ("in1", [1, 2, 3, 4, 5])):
        p_in, p_out = op("p", x=D(values))
        i_out["out"].connect(p_in["in"])
        p_out["out"].connect(s_in[name])
    return i_in, {"out": s_out["out0"]}


def alike() -> Part:
    """Branches whose parts have the same names inside, with other values."""
    return siso_or([lambda: op("a", x=D([1, 2])), lambda: op("a", x=D([3, 4]))], D([0, 1]))


@pytest.mark.parametrize("write", [shared_or, dropping, late, unread, alike], ids=named)
def test_counting_equals_enumeration_where_choices_are_shared_or_vanish(write: Callable[[], Part]) -> None:
    found = list(Program(write))
    assert count(Program(write)) == len(found) == len(set(found))


# Sampling, mutation, replay


@pytest.mark.parametrize("write", [*ALL, shared_or, dropping, late, unread, alike], ids=named)
def test_samples_and_mutants_belong_to_the_space(write: Callable[[], Part]) -> None:
    program, rng = Program(write), np.random.default_rng(0)
    for _ in range(300):
        configuration = program.sample(rng)
        program.check(configuration)
        assert program.from_values(json.loads(program.to_json(configuration))) == configuration
        mutant = program.mutate(configuration, rng)
        program.check(mutant)
        before, after = dict(configuration), dict(mutant)
        assert sum(before[name] != after[name] for name in before.keys() & after.keys()) == 1


@pytest.mark.parametrize("write", SMALL, ids=named)
def test_every_architecture_is_drawn_with_its_probability(write: Callable[[], Part]) -> None:
    """10,000 draws; the probability of an architecture is the product of those of its choices."""
    program, rng = Program(write), np.random.default_rng(1)
    drawn = Counter(program.sample(rng) for _ in range(10_000))
    chances = {}
    for configuration in program:
        chances[configuration] = np.prod([1 / len(h.values) for _, h in program.choices(configuration)])
    assert sum(chances.values()) == pytest.approx(1)
    assert set(drawn) <= set(chances)
    observed, expected = zip(*((drawn[c], 10_000 * p) for c, p in chances.items()), strict=True)
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_a_fresh_process_replays_the_same_network() -> None:
    code = (
        "import json, sys; from benchmarks.architectures import nasnet, figures;"
        "from benchmarks.space.language.program import Program;"
        "p = Program(nasnet.nasnet); c = p.from_values(json.loads(sys.argv[1]));"
        "print(p.graph(c).hash, [n for n, _ in c])"
    )
    program = Program(nasnet)
    configuration = program.sample(np.random.default_rng(5))
    done = subprocess.run(
        [sys.executable, "-c", code, program.to_json(configuration)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"{program.graph(configuration).hash} {[n for n, _ in configuration]}"


def test_names_do_not_depend_on_what_was_sampled_before() -> None:
    """Expansions are made on demand, in any order: the same choices have the same names."""
    fresh = set(Program(figures.figure_19_3))
    used = Program(figures.figure_19_3)
    for seed in range(20):
        used.sample(np.random.default_rng(seed))
    assert set(used) == fresh


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.space.language.program._MOST_KEPT", 50)
    program, rng = Program(partial(figures.figure_16, 6)), np.random.default_rng(0)
    configurations = [program.sample(rng) for _ in range(100)]
    assert len(program.scope.kept) < 200
    for configuration in configurations:
        program.check(configuration)


def test_foreign_configurations_are_told_apart() -> None:
    program = Program(figures.figure_1)
    rate, units = "dropout-0.rate", "dense-0.units"
    good = ((units, 100), (rate, 0.25))
    program.check(good)
    for bad in (
        [*good],
        good[:1],
        (*good, ("x", 1)),
        ((units, 150), (rate, 0.25)),
        ((rate, 0.25), (units, 100)),
        3,
        (1, 2),
    ):
        with pytest.raises(ForeignConfiguration):
            program.check(bad)
    with pytest.raises(ProgramError.__mro__[1], match=r"dense-0.units cannot be 150; allowed: 100, 200, 300"):
        program.from_values({units: 150, rate: 0.25})
    with pytest.raises(ProgramError.__mro__[1], match="is missing"):
        program.from_values({units: 100})
    with pytest.raises(ProgramError.__mro__[1], match="unknown choice"):
        program.from_values({units: 100, rate: 0.25, "x": 1})


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
        first, factor = values["conv2d-0.filters"], next(v for n, v in configuration if "shared" in n)
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
    cell = Program(lambda: lstm_cell(*gates, lambda: two("times"), lambda: two("plus"), lambda: op("tanh")))  # type: ignore[arg-type]
    _, outputs = cell.graph(()).compile({"x": "x", "h": "h", "c": "c"})
    i, f, o, g = (("i", ("x", "h")), ("f", ("x", "h")), ("o", ("x", "h")), ("g", ("x", "h")))
    c_next = ("plus", (("times", (f, "c")), ("times", (i, g))))
    assert outputs == {"c_next": c_next, "h_next": ("times", (o, ("tanh", {}, (c_next,))))}
    assert kinds(
        lambda: mimo_or([lambda: two("a"), lambda: two("b")], D([0, 1]), ["in0", "in1"], ["out"]), {"or-0.which": 1}
    ) == {"b": 1}


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
    with pytest.raises(ProgramError, match=sentence):
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


# Views


@pytest.mark.parametrize("write", [*FINITE, figures.figure_16, nasbench101, nasnet], ids=named)
def test_the_flat_view_is_the_same_space(write: Callable[[], Part]) -> None:
    program, rng = Program(write), np.random.default_rng(2)
    view = program.as_flat()
    for _ in range(50):
        configuration = program.sample(rng)
        coordinates = view.coordinates(configuration)
        assert sum(x is not None for x in coordinates) == len(configuration)
        assert view.at(coordinates) == configuration
        for x, condition in zip(coordinates, view.conditions, strict=True):
            if x is not None and condition is not None:  # what is present is permitted by its parent
                parent = coordinates[condition.parent]
                assert parent is not None
                assert condition.permitted[int(parent)]


def test_a_condition_says_exactly_when_one_choice_decides() -> None:
    view = Program(figures.figure_4).as_flat()
    names = [h.name for h in view.hyperparameters]
    rate = view.conditions[names.index("optional-0/dropout-0.rate")]
    assert rate == (names.index("optional-0.present"), (False, True))
    third = view.conditions[names.index("repeat-0/conv2d-2.filters")]
    assert third == (names.index("repeat-0.times"), (False, False, True))
    assert len(names) == 1 + 1 + 1 + 1 + 4 + 8


def bits() -> Part:
    """A module that waits for ten choices together: what each brings is seen nevertheless."""

    def chosen(values: dict[str, object]) -> Part:
        return siso_sequential([op(f"k{n}", x=D([1, 2])) for n in sorted(values) if values[n]] or [identity()])

    return substitution("s", chosen, {f"b{i}": D([0, 1]) for i in range(10)})


@pytest.mark.parametrize(
    "write", [bits, late, alike, lambda: siso_repeat(lambda: op("a", x=D([1, 2])), integer(1, 128))]
)
def test_the_flat_view_sees_every_place(write: Callable[[], Part]) -> None:
    program, rng = Program(write), np.random.default_rng(0)
    view = program.as_flat()
    for _ in range(200):
        configuration = program.sample(rng)
        coordinates = view.coordinates(configuration)
        assert view.at(coordinates) == configuration
        for x, condition in zip(coordinates, view.conditions, strict=True):
            assert x is None or condition is None or condition.permitted[int(coordinates[condition.parent] or 0)]


@pytest.mark.parametrize("name", ["mutate", "walked", "choices", "as_sequence"])
def test_memory_is_bounded_on_every_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.space.language.program._MOST_KEPT", 50)
    program, rng = Program(partial(figures.figure_16, 7)), np.random.default_rng(0)
    drawn = [program.sample(rng) for _ in range(60)]
    for configuration in drawn:
        if name == "mutate":
            program.mutate(configuration, rng)
        elif name == "choices":
            program.check(configuration)
        elif name == "walked":
            assert program.from_values(dict(configuration)) == configuration
        else:
            walk = program.as_sequence()
            while walk.options:
                walk = walk.take(int(rng.integers(walk.options)))
            program.check(walk.configuration)
        assert len(program.scope.kept) < 300


def test_integers_and_real_numbers_are_choices_too() -> None:
    def write() -> Part:
        return siso_repeat(lambda: op("a", rate=real(1e-3, 1.0, log=True), n=integer(1, 9)), integer(1, 3))

    program, rng = Program(write), np.random.default_rng(0)
    view = program.as_flat()
    for _ in range(100):
        configuration = program.mutate(program.sample(rng), rng)
        program.check(configuration)
        assert view.at(view.coordinates(configuration)) == configuration
    sizes = Counter(dict(program.sample(rng))["repeat-0.times"] for _ in range(900))
    assert stats.chisquare([sizes[n] for n in (1, 2, 3)]).pvalue > 1e-3


def test_the_sequential_view_walks_every_architecture() -> None:
    program = Program(figures.figure_19_2)
    found, stack = [], [program.as_sequence()]
    while stack:
        walk = stack.pop()
        if walk.options:
            stack += [walk.take(option) for option in range(walk.options)]
        else:
            found.append(walk.configuration)
    assert sorted(found) == sorted(program)


def test_hashed_features_count_tokens() -> None:
    program = Program(figures.figure_10)
    hashed = Hashed(program, 1000)
    configuration = program.sample(np.random.default_rng(0))
    tokens = program.tokens(configuration)
    assert len(tokens) == 4 + 2 + 2  # choices, modules, the input and one pair
    assert len(hashed.of(configuration)) == len(tokens)
    pick, indices = hashed.draw(7, np.random.default_rng(1))
    for i in range(7):
        assert np.array_equal(indices[i][indices[i] < 1000], hashed.of(pick(i)))


def test_the_layer_graph_sees_layers_only() -> None:
    program = Program(partial(genetic, nodes=(2,), filters=(8,), classes=3))
    graph = program.as_graph((("stage-0.0-1", 1),))
    assert graph.labels == ("ip", "conv3", "conv3", "conv3", "conv3", "max-pool", "fc", "op")
    assert graph.units == (None, 8, 8, 8, 8, None, 3, None)
    assert graph.edges == {(i, i + 1) for i in range(7)}
    alone = program.as_graph((("stage-0.0-1", 0),))
    assert alone.labels == ("ip", "conv3", "conv3", "max-pool", "fc", "op")


def test_nasbench_101_has_at_most_nine_edges_and_a_path() -> None:
    program = Program(nasbench101)
    chain = {f"{i}-{j}": int(j == i + 1) for j in range(1, 7) for i in range(j)}
    values = chain | {f"op-{j}": "conv3x3" for j in range(1, 6)}
    assert is_valid(tuple(values.items()))
    assert not is_valid(tuple((values | {"0-1": 0}).items()))
    assert not is_valid(tuple((values | dict.fromkeys(["0-2", "0-3", "0-4", "0-5"], 1)).items()))
    unreached = values | {"0-1": 0, "0-2": 1, "1-3": 1, "1-4": 1, "1-5": 1, "1-6": 1}  # vertex 1 does not count
    assert is_valid(tuple(unreached.items()))
    graph = program.graph(program.from_values(values))
    assert sum(p.module.kind == "conv2d" for p in graph.modules) == 3 * (1 + 5)


def test_the_description_is_a_tree() -> None:
    rows = Program(figures.figure_4).describe()
    assert rows[0] == ("repeat-0.times", "categorical", "1, 2, 4")
    assert ("  repeat-0.times = 1", "", "") in rows
    assert len(Program(figures.figure_18).describe()) <= 61


# Networks


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("write", [genetic, flat, nasbench101, nasnet, nasbench201], ids=named)
def test_spaces_of_the_literature_train_on_small_images(write: Callable[[], Part], channels: int) -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.space.language.network import Network

    program, rng = Program(write), np.random.default_rng(channels)
    for _ in range(3):
        network = Network(program, program.sample(rng), (channels, 28, 28))
        scores = network(torch.randn(4, channels, 28, 28))
        assert scores.shape == (4, 10)
        scores.logsumexp(1).sum().backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_the_figures_compile_and_run_both_ways() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.space.language.network import Network

    for write in (figures.figure_1, figures.figure_4, figures.figure_10, figures.figure_11, figures.figure_18):
        program = Program(write)
        network = Network(program, program.sample(np.random.default_rng(3)), (3, 28, 28))
        network(torch.randn(2, 3, 28, 28)).sum().backward()
    cell = Program(figures.figure_16)
    recurrent = Network(cell, cell.sample(np.random.default_rng(0)), (7,), (1, 28, 28))  # ht, then x
    hidden = recurrent(torch.randn(2, 7), torch.randn(2, 1, 28, 28))
    assert hidden.shape[1] in (32, 64, 128, 256)
    hidden.sum().backward()
    with pytest.raises(ProgramError, match="open inputs ht, x: give a shape for each"):
        Network(cell, cell.sample(np.random.default_rng(0)), (7,))


def test_a_new_network_has_seen_no_data_and_keeps_image_sizes() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.space.language.network import Network

    program = Program(genetic)
    network = Network(program, program.sample(np.random.default_rng(0)), (1, 28, 28))
    assert network.training
    norms = [m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert norms
    assert all(int(m.num_batches_tracked) == 0 and (m.running_var == 1).all() for m in norms)
    sizes = []
    for module in network.modules():
        if isinstance(module, torch.nn.MaxPool2d):
            module.register_forward_hook(lambda m, given, out: sizes.append(out.shape[-1]))
    network(torch.randn(2, 1, 28, 28))
    assert sizes == [14, 7, 3]


def test_modules_with_several_outputs_make_networks() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.space.language.network import Network

    def write() -> Part:
        split = Basic("split", {}, lambda v, g: lambda x: (x, 2 * x), ["in"], ["a", "b"])
        inputs, outputs = layers.relu()
        split.outputs["b"].connect(inputs["in"])
        return split.inputs, {"y": outputs["out"], "z": split.outputs["a"]}

    y, z = Network(Program(write), (), (3,))(torch.ones(2, 3))
    assert y.tolist() == [[2.0] * 3] * 2
    assert z.tolist() == [[1.0] * 3] * 2


def test_a_network_is_repeatable_and_picklable() -> None:
    torch = pytest.importorskip("torch")
    import pickle

    from benchmarks.space.language.network import Network

    program = Program(nasnet)
    configuration = program.sample(np.random.default_rng(0))
    networks = []
    for _ in range(2):
        torch.manual_seed(7)
        networks.append(Network(Program(nasnet), configuration, (1, 28, 28)))
    first, second = (n.state_dict() for n in networks)
    assert list(first) == list(second)
    assert all(torch.equal(first[key], second[key]) for key in first)
    copied = pickle.loads(pickle.dumps(networks[0])).eval()
    x = torch.randn(2, 1, 28, 28)
    assert torch.equal(copied(x), networks[0].eval()(x))


def test_what_an_operation_of_nasbench_201_adds_to_the_parameters() -> None:
    """A 3x3 convolution in place of a 1x1 on one edge of each cell: 8 c c weights at each of the three widths."""
    torch = pytest.importorskip("torch")
    from benchmarks.space.language.network import Network

    del torch
    program = Program(nasbench201)

    def size(operation: str) -> int:
        values = {f"Op{k}": "skip_connect" for k in range(6)} | {"Op0": operation}
        return sum(p.numel() for p in Network(program, program.from_values(values), (3, 28, 28)).parameters())

    assert size("nor_conv_3x3") - size("nor_conv_1x1") == sum(8 * c * c for c in (16, 32, 64))
    assert size("skip_connect") == size("none") == size("avg_pool_3x3")


def test_the_language_is_not_about_networks() -> None:
    """Pipelines of scikit-learn, as examples/pipelines.py writes them."""
    pytest.importorskip("sklearn")
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "examples" / "pipelines.py"
    spec = importlib.util.spec_from_file_location("pipelines", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = Program(module.pipelines)
    assert count(Program(module.pipelines)) == len(list(program)) == module.SIZE
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    for configuration in itertools.islice(program, 0, None, 7):
        pipeline = module.pipeline(program, configuration)
        assert pipeline.fit(images[:300], labels[:300]).score(images[300:600], labels[300:600]) > 0.5

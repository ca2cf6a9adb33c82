"""NASBOT on programs: what their graphs do not show, layers that OTMANN has no number for, merged channels."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation, Metric
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_or, siso_residual, siso_sequential
from nasbench.benchmarks.spaces.language.graph import D, Part
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.nasbot.candidates import Point, candidates_of, encoded
from nasbench.methods.nasbot.families import FAMILIES, family_of
from nasbench.methods.nasbot.otmann import Encoded, distance

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def dropped() -> Part:
    """Three convolutions with a choice of filters each, a dropout, an activation."""
    return layers.classifier(
        siso_sequential(
            [
                *(layers.conv2d(D([8, 16, 32, 64], name=f"filters{k}")) for k in range(3)),
                layers.dropout(D(RATES, name="rate")),
                siso_or([layers.relu, layers.tanh], D([0, 1], name="activation")),
            ]
        ),
        10,
    )


def loss(values: dict[str, float]) -> float:
    """Best at a rate of 0.6, the hyperbolic tangent and 32 filters everywhere."""
    filters = sum(abs(np.log2(values[f"filters{k}"]) - 5) for k in range(3))
    return 4 * abs(values["rate"] - 0.6) + 0.1 * filters + (values["activation"] == 0)


def test_what_the_graph_does_not_show_is_beside_it_and_what_it_shows_is_not() -> None:
    program = Program(dropped)
    values = {"filters0": 8, "filters1": 16, "filters2": 8, "rate": 0.2, "activation": 1}
    found = program.as_scalars(program.from_values(values))
    assert sorted(found) == pytest.approx([2 / 7, 1.0])
    assert program.as_scalars(program.from_values(values | {"filters0": 64})) == found
    assert sorted(program.as_scalars(program.from_values(values | {"rate": 0.7}))) == [1.0, 1.0]


def test_a_toy_whose_best_choices_the_graph_hides_is_solved() -> None:
    program = Program(dropped)
    solved = 0
    for seed in range(1):
        method = MethodSpec.parse("nasbot:initial=8,draws=100").build(
            Problem(program, (Metric("loss", ""),)), np.random.default_rng(seed)
        )
        asked = []
        for _ in range(35):
            configuration = method.ask()
            values = program.values(configuration)
            asked.append((loss(values), configuration, values))
            method.tell(Observation(configuration, Evaluation({"loss": asked[-1][0]}, 1.0, "ok"), True))
        assert len({configuration for _, configuration, _ in asked[8:]}) == 27
        assert len({encoded(program.as_graph(configuration)).graph for _, configuration, _ in asked}) < 35
        best = min(asked, key=lambda one: one[0])[2]
        solved += best["rate"] == 0.6 and best["activation"] == 1
    assert solved == 1


def test_a_sum_brings_the_channels_of_one_branch() -> None:
    """A residual block of 16 filters brings 16 channels to the next convolution: a mass of 16 × 16, not 32 × 16."""

    def residual(merge: object) -> Program:
        block = lambda: siso_residual(lambda: layers.conv2d(16), identity, merge)  # type: ignore[arg-type]  # noqa: E731
        return Program(lambda: siso_sequential([layers.conv2d(16), block(), layers.conv2d(16)]))

    added, beside = (residual(merge).as_graph(()) for merge in (layers.add, layers.concat))
    assert added.incoming == (0, 1, 16, 16, 16)
    assert beside.incoming == (0, 1, 16, 32, 16)
    masses = FAMILIES["program"].masses
    assert masses(added)[1:-1].tolist() == [16, 256, 256]
    assert masses(beside)[1:-1].tolist() == [16, 256, 512]
    assert encoded(added) != encoded(beside)


def test_a_zero_is_no_connection() -> None:
    def either(which: int) -> Program:
        branch = lambda: siso_or([layers.zero, identity], which)  # noqa: E731
        block = lambda: siso_residual(lambda: layers.conv2d(8), branch, layers.add)  # noqa: E731
        return Program(lambda: siso_sequential([layers.conv2d(8), block(), layers.conv2d(8)]))

    cut, connected = (either(which).as_graph(()) for which in (0, 1))
    assert cut.edges == {(0, 1), (1, 2), (2, 3), (3, 4)}
    assert connected.edges == {*cut.edges, (1, 3)}
    dead = Program(lambda: siso_sequential([layers.conv2d(8), layers.zero(), layers.conv2d(8)])).as_graph(())
    assert (dead.labels, dead.edges) == (("ip", "op"), frozenset())


def own(label: str) -> Part:
    return layers.layer("own", lambda torch, shapes: torch.nn.Identity(), label=label)


def chain(*labels: str) -> LayerGraph:
    names = ("ip", *labels, "op")
    units = (None, *[8] * len(labels), None)
    return LayerGraph(names, units, frozenset((i, i + 1) for i in range(len(names) - 1)), kind="program")


def test_layers_without_a_number_are_matched_with_their_like_only() -> None:
    family = FAMILIES["program"]
    one, same, other = (Encoded(chain(label, "conv3"), family) for label in ("attention", "attention", "mixer"))
    assert distance(one, same).distance == pytest.approx(0)
    unmatched = 2 * 8.0  # the strange layer of either network, eight units on one channel
    assert distance(one, other).distance == pytest.approx([unmatched] * 4)
    assert family_of("transformer") is family
    with pytest.raises(ValueError, match="unknown layer 'attention' of a cell"):
        distance(Encoded(chain("attention"), FAMILIES["cell"]), one)


def test_kernels_of_any_size_resemble_each_other_by_size() -> None:
    family = FAMILIES["program"]
    nine = Encoded(chain("conv9"), family)
    apart = [distance(Encoded(chain(f"conv{k}"), family), nine).distance[0] for k in (3, 5, 7, 9, 11)]
    assert apart == [*sorted(apart[:4], reverse=True), apart[2]]
    assert apart[3] == pytest.approx(0)


@pytest.mark.parametrize("name", ["nasbot:initial=3,draws=20", "nasbot-ea:initial=3,brood=4", "nasbot-rand:initial=3"])
def test_kernels_and_layers_that_otmann_does_not_know_are_no_reason_to_stop(name: str) -> None:
    """What the first samples do not show may come up later: the space as a whole fits, or does not."""

    def write() -> Part:
        kernels = [D([3, 9], name=f"kernel{k}") for k in range(4)]
        which = D([0, 1], name="which")
        convolutions = [layers.conv2d(8, kernel) for kernel in kernels]
        return siso_sequential([*convolutions, siso_or([lambda: own("attention"), identity], which)])

    program = Program(write)
    method = MethodSpec.parse(name)
    problem = Problem(program, (Metric("loss", ""),))
    assert method.misfit(problem) == ""
    search = method.build(problem, np.random.default_rng(0))
    for number in range(14):
        configuration = search.ask()
        program.check(configuration)
        search.tell(Observation(configuration, Evaluation({"loss": float(number % 5)}, 1.0, "ok"), True))


def test_spaces_without_graphs_are_refused_by_all_three() -> None:
    problem = Problem(GridSpace([Ordinal("width", (1, 2))]), (Metric("loss", ""),))
    for name in ("nasbot", "nasbot-ea", "nasbot-rand"):
        assert "its space must have them as graphs" in MethodSpec(name).misfit(problem)


def test_isomorphic_cells_are_one_candidate() -> None:
    from nasbench.cli.engine.plan import open_benchmark

    space = open_benchmark("nb201-cifar10").space
    candidates = candidates_of(space)
    assert len(candidates._members) == 8765  # type: ignore[attr-defined]
    one, other = (Point.of(space, choices) for choices in ((1, 1, 0, 0, 1, 2), (1, 1, 0, 0, 2, 1)))
    assert one.identity == other.identity
    assert Point.of(space, (1, 1, 0, 0, 1, 1)).identity != one.identity


def test_isomorphic_networks_of_a_program_are_one_candidate() -> None:
    """Two branches in any order, without anything that the graph does not show."""

    def write() -> Part:
        def branch(name: str) -> Part:
            kinds = [lambda: layers.conv2d(8, 1), lambda: layers.conv2d(8, 3), identity]
            return siso_or(kinds, D([0, 1, 2], name=name))

        block = siso_residual(lambda: branch("one"), lambda: branch("other"), layers.add)
        return layers.classifier(siso_sequential([layers.conv2d(8), block, branch("last")]), 10)

    program = Program(write)
    points = {c: Point.of(program, c) for c in {program.sample(np.random.default_rng(k)) for k in range(200)}}
    assert {point.scalars for point in points.values()} == {()}
    graphs = {encoded(program.as_graph(c)).graph for c in points}
    assert len({point.identity for point in points.values()}) == len(graphs) < len(points)
    for name in ("nasbot-rand", "nasbot"):
        search = MethodSpec.parse(f"{name}:initial=5").build(
            Problem(program, (Metric("loss", ""),)), np.random.default_rng(0)
        )
        asked = []
        for number in range(len(graphs)):
            asked.append(search.ask())
            search.tell(Observation(asked[-1], Evaluation({"loss": float(number % 5)}, 1.0, "ok"), True))
        assert len({encoded(program.as_graph(c)).graph for c in asked}) >= len(graphs) - 2  # the first may repeat


def test_where_a_space_is_infinite_what_its_graph_hides_is_not_known() -> None:
    """A chain of any length, of convolutions with a dropout each: rates make other candidates."""

    def more() -> Part:
        block = siso_sequential([layers.conv2d(8), layers.dropout(D(RATES))])
        return siso_sequential([block, siso_or([identity, more], D([0, 1]))])

    program = Program(lambda: layers.classifier(more(), 10))
    assert not program.shows_all()
    drawn = {program.sample(np.random.default_rng(k)) for k in range(60)}
    points = [Point.of(program, configuration) for configuration in drawn]
    assert {point.scalars for point in points} == {()}
    assert len({point.identity for point in points}) == len(drawn) > len({point.network.graph for point in points})

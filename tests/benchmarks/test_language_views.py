"""The search-space language: the views that methods have of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks.spaces import Hashed
from nasbench.benchmarks.spaces.language.combinators import (
    identity,
    siso_repeat,
    siso_sequential,
    substitution,
)
from nasbench.benchmarks.spaces.language.graph import D, Part, integer, real
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.cells import cells
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.nasbench101 import is_valid, nasbench101
from nasbench.benchmarks.spaces.published.popnas import popnas
from research import language_figures as figures
from tests.benchmarks.written import FINITE, alike, late, named, op


@pytest.mark.parametrize("write", [*FINITE, figures.figure_16, nasbench101], ids=named)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mutate", "walked", "choices", "as_sequence"])
def test_memory_is_bounded_on_every_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.benchmarks.spaces.language.program._MOST_KEPT", 50)
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
    tokens = program.as_tokens(configuration)
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


@pytest.mark.slow
def test_a_tree_whose_ways_bring_nothing_new_is_looked_at_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of blocks: thousands of cells lead to the same next block, a line."""
    looked = count(1)

    def allowed(*_: object) -> bool:
        assert next(looked) < 1000
        return False

    monkeypatch.setattr("nasbench.benchmarks.spaces.language.program.is_forbidden", allowed)
    rows = Program(popnas).describe()
    assert ("blocks", "ordinal", "1, 2, 3, 4, 5") in rows
    assert ("b5-in1", "categorical", "-2, -1, 0, 1, 2, 3   if blocks = 5") in rows


def test_a_tree_that_goes_on_and_on_is_described_as_a_list_with_conditions() -> None:
    """Kernel sizes are shared by the cells of a stage, and are there where the edge has the spatial convolution."""
    program = Program(cells)
    rows = program.describe()
    assert len(rows) == 3 + 18 + 18  # depths, operations, kernel sizes
    assert ("stage2-depth", "ordinal", "1, 2, 3") in rows
    assert ("stage2-kernel4", "ordinal", "3, 5, 7   if stage2-op4 = nor_conv") in rows
    view, rng = program.as_flat(), np.random.default_rng(0)
    for _ in range(30):
        coordinates = view.coordinates(program.sample(rng))
        present = [c is None or c.holds(coordinates) for c in view.conditions]
        assert present == [x is not None for x in coordinates]

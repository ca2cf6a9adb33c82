"""Forbidden combinations, subsets, priors, and what choices are called."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Metric
from nasbench.benchmarks.spaces import Categorical, ForeignConfiguration, GridSpace
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.choices import forbid, subset
from nasbench.benchmarks.spaces.language.combinators import (
    identity,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_sequential,
    substitution,
)
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import D, Dependent, Part, ProgramError, ordinal, real
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.methods import MethodSpec, Problem
from tests.benchmarks.written import across, beside, named, op


def through_a_dependent() -> Part:
    first, second = D([1, 2, 3], name="first"), D([1, 2, 3], name="second")
    total = Dependent(lambda v: v["a"] + v["b"], {"a": first, "b": second})
    forbid(lambda total: total == 4, total=total)
    return siso_sequential([op("a", x=first), op("b", x=second), op("c", x=total)])


def of_a_part_that_may_be_missing() -> Part:
    """Without the optional part its choice does not exist, and nothing is forbidden."""
    shared = D([1, 2, 3], name="shared")

    def inner() -> Part:
        own = D([1, 2, 3], name="own")
        forbid(lambda own, shared: own != shared, own=own, shared=shared)
        return op("inner", x=own)

    return siso_sequential([op("outer", x=shared), siso_optional(inner, D([0, 1], name="there"))])


FORBIDDING = {beside: 9 - 2, across: None, through_a_dependent: 9 - 3, of_a_part_that_may_be_missing: 3 + 3}


def violates(values: dict[str, int]) -> bool:
    """What `across` forbids, written anew."""
    xs = [x for name, x in values.items() if "/x" in name]
    return values["width"] in xs or (values["depth"], values["width"]) == (3, 3)


@pytest.mark.parametrize("write", FORBIDDING, ids=named)
def test_what_is_forbidden_is_neither_listed_counted_drawn_nor_changed_to(write: Callable[[], Part]) -> None:
    program, rng = Program(write), np.random.default_rng(0)
    allowed = set(program)
    expected = FORBIDDING[write] or 2 * (3 * 2 + 3 * 4 + 2 * 8)  # of `across`: depths 1, 2, 3 with the widths left
    assert len(allowed) == expected == count(Program(write)) == count(program)
    drawn = [program.sample(rng) for _ in range(2000)]
    assert set(drawn) == allowed
    for configuration in drawn[:100]:
        program.check(configuration)
        assert program.mutate(configuration, rng) in allowed
        assert program.from_values(program.values(configuration)) == configuration
    if write is across:
        assert not any(violates(dict(configuration)) for configuration in allowed)


def test_samples_of_a_space_with_a_clause_have_the_distribution_of_draws_that_are_allowed() -> None:
    rng = np.random.default_rng(1)
    drawn = Counter(Program(beside).sample(rng) for _ in range(2000))
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-4
    assert len(drawn) == 7


def test_a_forbidden_configuration_is_refused() -> None:
    program = Program(beside)
    both = {"filters": 32, "kernel": 5}
    with pytest.raises(UsageError, match="these choices are forbidden together"):
        program.from_values(both)
    with pytest.raises(ForeignConfiguration, match="forbidden together"):
        program.check((("filters", 32), ("kernel", 5)))


@pytest.mark.parametrize("write", FORBIDDING, ids=named)
def test_coordinates_and_walks_lead_to_what_is_allowed(write: Callable[[], Part]) -> None:
    program, rng = Program(write), np.random.default_rng(2)
    allowed, flat = set(program), program.as_flat()
    for configuration in allowed:
        assert flat.at(flat.coordinates(configuration)) == configuration
    for _ in range(100):
        assert flat.at([int(rng.integers(2)) for h in flat.hyperparameters]) in allowed
    walks, ends = [program.as_sequence()], []
    for walk in walks:
        walks += [walk.take(option) for option in range(walk.options)]
        ends += [] if walk.options else [walk.configuration]
    assert len(ends) == len(allowed)
    assert set(ends) == allowed


def test_a_space_that_forbids_everything_says_so() -> None:
    def nothing() -> Part:
        kernel = D([1, 3], name="kernel")
        forbid(lambda k: True, k=kernel)
        return layers.conv2d(8, kernel)

    program = Program(nothing)
    assert count(program) == 0
    with pytest.raises(ProgramError, match="all are forbidden"):
        program.sample(np.random.default_rng(0))

    def elsewhere() -> Part:
        kernel = D([1, 3])
        return substitution("late", lambda values: forbid(lambda k: False, k=kernel) or identity(), {"k": kernel})

    with pytest.raises(ProgramError, match="made in the same function"):
        Program(elsewhere).sample(np.random.default_rng(0))


def test_a_subset_is_one_choice_of_all_there_are() -> None:
    def write() -> Part:
        taken = subset(["conv", "pool", "skip", "zero"], 2, name="taken")
        return substitution("parts", lambda v: siso_sequential([op(t) for t in v["taken"]]), {"taken": taken})

    program = Program(write)
    assert count(program) == math.comb(4, 2) == len(set(program))
    configuration = program.from_values({"taken": "conv+zero"})
    assert [p.module.kind for p in program.graph(configuration).modules] == ["conv", "zero"]
    unnamed = Program(lambda: op("a", x=subset(range(5), 3)))
    assert count(unnamed) == 10
    assert dict(unnamed.sample(np.random.default_rng(0))).keys() == {"a-0.x"}
    for wrong, sentence in (((range(3), 4), "4 of 3 values"), ((range(40), 20), "too many for one choice")):
        with pytest.raises(ProgramError, match=sentence):
            Program(partial(lambda args: op("a", x=subset(*args)), wrong))


def test_priors_are_what_random_search_draws_by() -> None:
    def write() -> Part:
        which = D(["a", "b"], name="which", prior=[3, 1])
        return siso_sequential(
            [siso_or({"a": lambda: op("a"), "b": lambda: op("b", x=real(0, 1))}, which), op("c", x=ordinal([1, 2, 4]))]
        )

    program, rng = Program(write), np.random.default_rng(0)
    drawn = [dict(program.sample(rng)) for _ in range(2000)]
    assert stats.binomtest(sum(d["which"] == "a" for d in drawn), 2000, 0.75).pvalue > 1e-4
    assert stats.chisquare(list(Counter(d["c-0.x"] for d in drawn).values())).pvalue > 1e-4
    with pytest.raises(UsageError, match="a positive number per value"):
        Program(lambda: op("a", x=D([1, 2], prior=[1, 0])))
    with pytest.raises(UsageError, match="a positive number per value"):
        Program(lambda: op("a", x=ordinal([1, 2], prior=[1])))


@pytest.mark.parametrize("wrong", [2, -1, "a", 0.5])
def test_a_choice_without_a_part_is_one_sentence(wrong: object) -> None:
    with pytest.raises(ProgramError, match=f"there is no part for the choice {wrong!r} among 2 parts"):
        list(Program(lambda: siso_or([lambda: op("a"), lambda: op("b")], D([0, wrong], name="which"))))


def test_names_inside_repeats_and_of_shared_choices_say_what_they_are() -> None:
    def write() -> Part:
        filters = ordinal([8, 16, 32, 64, 128])
        block = lambda: siso_sequential([op("a", x=D([3, 5], name="kernel")), op("b", x=filters)])  # noqa: E731
        return siso_repeat(block, D([2], name="depth"))

    names = set(dict(Program(write).sample(np.random.default_rng(0))))
    assert names == {"depth", "repeat-0/kernel-0", "repeat-0/kernel-1", "one-of-8-16-to-128"}


@pytest.mark.slow
def test_a_module_that_waits_for_many_choices_is_counted_exactly() -> None:
    """A cell of four vertices in one substitution of eight choices, twice: 2^6 × 3^2 assignments, all different."""

    def cell(values: dict[str, int]) -> Part:
        inputs, outputs = identity()
        found = [outputs["out"]]
        for j in range(1, 4):
            sources = [found[i] for i in range(j) if values[f"{i}-{j}"]] or found[:1]
            part = op("last") if j == 3 else op(str(values[f"op-{j}"]))
            merge_inputs, merge_outputs = siso_sequential([layers.add(len(sources)), part])
            for k, source in enumerate(sources):
                source.connect(merge_inputs[f"in{k}"])
            found.append(merge_outputs["out"])
        return inputs, {"out": found[-1]}

    def write() -> Part:
        choices = {f"{i}-{j}": D([0, 1]) for j in range(1, 4) for i in range(j)}
        choices |= {f"op-{j}": D(["a", "b", "c"]) for j in (1, 2)}
        return siso_sequential([substitution("cell", cell, choices), substitution("cell", cell, choices)])

    program = Program(write)
    assert count(program) == 2**6 * 3**2 == sum(1 for _ in program)


def test_walks_and_tree_search_draw_by_priors_as_random_search_does() -> None:
    """And by what is left of them where a value is forbidden."""
    program = Program(lambda: op("a", size=D(["x", "y", "z"], name="size", prior=[6, 3, 1])))
    assert program.as_sequence().weights == [6, 3, 1]
    grid = GridSpace([Categorical("size", ("x", "y", "z"), (6, 3, 1)), Categorical("other", (0, 1))])
    assert (grid.as_sequence().weights, grid.as_sequence().take(0).weights) == ((6, 3, 1), None)
    assert grid.as_sequence().take(0).take(1).weights is None
    for space in (program, grid):
        problem = Problem(space, (Metric("loss", ""),))
        first = [MethodSpec("mcts").build(problem, np.random.default_rng(seed)).ask() for seed in range(2000)]
        drawn = Counter(space.values(configuration)["size"] for configuration in first)  # type: ignore[attr-defined]
        assert stats.chisquare([drawn[v] for v in "xyz"], [1200, 600, 200]).pvalue > 1e-3


def test_numbers_of_numpy_are_values_that_come_back_from_json() -> None:
    program = Program(
        lambda: siso_sequential(
            [
                op("a", rate=D(np.linspace(0.1, 0.5, 5), name="rate")),
                op("b", units=ordinal(2 ** np.arange(3, 7), name="units")),
            ]
        )
    )
    configuration = program.sample(np.random.default_rng(0))
    assert program.from_values(json.loads(program.to_json(configuration))) == configuration
    with pytest.raises(UsageError, match="text, numbers or booleans"):
        ordinal([None, 1])  # type: ignore[list-item]


def test_a_list_may_decide_on_a_substitution() -> None:
    """Values are anything that JSON can hold, lists too."""
    program = Program(lambda: substitution("s", lambda v: D(v["widths"], "w") and identity(), {"widths": [8, 16]}))
    assert len(list(program)) == 1

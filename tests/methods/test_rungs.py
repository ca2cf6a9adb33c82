"""Rungs and brackets by the papers' formulas, and on sparse ladders."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.methods import MethodSpec, Observation, Problem, Proposal
from nasbench.methods.rungs import best, merged, rungs, sizes
from tests.methods.levels import named


def epochs(n: int, first: int = 1) -> Fidelity:
    return Fidelity("epochs", "1 epoch", tuple(range(first, n + 1)))


@pytest.mark.parametrize(
    ("first", "highest", "eta", "levels"),
    [
        (1, 81, 3, [1, 3, 9, 27, 81]),
        (1, 52, 3, [1, 5, 17, 52]),
        (3, 200, 3, [7, 22, 66, 200]),
        (1, 12, 2, [1, 3, 6, 12]),
        (1, 243, 3, [1, 3, 9, 27, 81, 243]),
        (5, 5, 3, [5]),
    ],
)
def test_rungs_are_those_of_the_papers_formula(first: int, highest: int, eta: int, levels: list[int]) -> None:
    assert rungs(epochs(highest, first), eta) == named(levels)


@pytest.mark.parametrize("seed", range(40))
def test_rungs_and_sizes_equal_exact_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    eta, first = int(rng.integers(2, 10)), int(rng.integers(1, 20))
    highest = int(first * eta ** rng.integers(0, 5)) + int(rng.integers(0, 2)) * int(rng.integers(0, 50))
    count = 0
    while Fraction(highest, eta ** (count + 1)) >= first:
        count += 1
    expected = [math.floor(Fraction(highest, eta ** (count - k))) for k in range(count + 1)]
    assert rungs(epochs(highest, first), eta) == named(expected)
    for s in range(count + 1):
        n = math.ceil(Fraction((count + 1) * eta**s, s + 1))
        assert sizes(count + 1, s, eta) == [math.floor(Fraction(n, eta**i)) for i in range(s + 1)]


def test_sizes_are_those_of_the_papers_table() -> None:
    assert [sizes(5, s, 3) for s in (4, 3, 2, 1, 0)] == [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]]


def test_rungs_are_levels_that_exist() -> None:
    sparse = rungs(Fidelity("epochs", "1 epoch", (12, 200), continuable=False), 3)
    assert sparse == named([12, 12, 200])
    assert merged(sparse, [9, 3, 1]) == (named([12, 200]), [9, 1])
    steps = Fidelity("points", "200 steps", (1, 5, 10, 20, 51))
    assert rungs(steps, 3) == [Level(points=value) for value in (1, 5, 10, 51)]
    assert rungs(epochs(52), 3, lowest=5) == named([5, 17, 52])
    with pytest.raises(UsageError, match="lowest must be a level of epochs 1 to 52, or 0 for the first, not 53"):
        rungs(epochs(52), 3, lowest=53)
    with pytest.raises(UsageError, match="lowest must be at most 17, for higher levels have no rung below 52, not 18"):
        rungs(epochs(52), 3, lowest=18)
    with pytest.raises(UsageError, match=r"eta must lie in \[2, 1000\], not 1"):
        rungs(epochs(52), 1)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("successive-halving", [12] * 9 + [200] + [12] * 9 + [200]),
        ("hyperband", [12] * 9 + [200] + [12] * 5 + [200] + [200] * 3 + [12] * 9),
        ("asha", [12] * 9 + [200] + [12] * 9 + [200]),
        ("dehb", [12] * 9 + [200] + [12] * 3 + [200] + [200] * 3 + [12] * 9),
    ],
)
def test_rungs_that_fall_on_one_level_keep_their_elimination(name: str, first: list[int]) -> None:
    """With levels of 12 and 200 epochs, a factor of 17, the best of nine goes on, not the best of three."""
    space = GridSpace([Ordinal("x", tuple(range(200)))])
    problem = Problem(space, (Metric("loss", ""),), fidelity=Fidelity("epochs", "1 epoch", (12, 200)))
    method = MethodSpec.parse(name).build(problem, np.random.default_rng(0))
    asked = []
    for number in range(len(first)):
        proposal = method.ask()
        assert isinstance(proposal, Proposal)
        trial = number if proposal.continues is None else proposal.continues
        asked.append(proposal.level["epochs"])
        evaluation = Evaluation({"loss": float(number)}, 1.0, "ok")  # the first is the best: it goes on at once
        method.tell(Observation(proposal.configuration, evaluation, True, level=proposal.level, trial=trial))
    assert asked == first


def test_of_equal_ranks_the_earlier_goes_on() -> None:
    assert best([(0.0, 2.0), (0.0, 1.0), (1.0, 0.0), (0.0, 1.0)], 2) == [1, 3]

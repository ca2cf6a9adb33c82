"""Every method that fits searches what the language can write: transformers, forbidden combinations, priors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import Evaluation, Metric
from nasbench.benchmarks.spaces import Float, Integer
from nasbench.benchmarks.spaces.language.choices import forbid
from nasbench.benchmarks.spaces.language.graph import D, Part
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import listed
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2
from nasbench.benchmarks.spaces.published.vit import vit
from nasbench.methods import MethodSpec, Observation, Problem
from tests.benchmarks.written import across, named, op

METHODS = [
    *("random", "evolution:population=5,tournament=2", "local:initial=5", "bananas:initial=5", "smbo", "mcts"),
    *("tpe:initial=5", "nasbot:initial=5,draws=50", "nasbot-ea:initial=5", "nasbot-rand:initial=5"),
]


def asked(spec: str, program: Program, count: int, seed: int = 0) -> list[dict[str, object]]:
    """What a method asks for, told how long the text of a configuration is."""
    method = MethodSpec.parse(spec).build(Problem(program, (Metric("length", ""),)), np.random.default_rng(seed))
    found = []
    for _ in range(count):
        configuration = method.ask()
        program.check(configuration)
        found.append(program.values(configuration))
        method.tell(
            Observation(configuration, Evaluation({"length": float(len(program.to_json(configuration)))}, 1.0), True)
        )
    return found


@pytest.mark.parametrize("write", [mobilenetv2, vit, across], ids=named)
@pytest.mark.parametrize("spec", METHODS)
def test_a_method_asks_for_what_is_in_the_space(spec: str, write: Callable[[], Part]) -> None:
    found = asked(spec, Program(write), 12)
    assert len({str(values) for values in found}) > 3


@pytest.mark.parametrize("spec", ["tpe", "scbo"])
def test_what_a_forbidden_combination_stands_for_is_not_repeated(spec: str) -> None:
    """Combinations below the diagonal are forbidden, and the best member lies on it."""

    def above() -> Part:
        a, b = D(list(range(12)), name="a"), D(list(range(12)), name="b")
        forbid(lambda a, b: a > b, a=a, b=b)
        return op("pair", a=a, b=b)

    program = Program(above)
    method = MethodSpec.parse(spec).build(Problem(program, (Metric("loss", ""),)), np.random.default_rng(0))
    found = []
    for _ in range(60):
        found.append(method.ask())
        values = program.values(found[-1])
        loss = float(abs(values["a"] - 6) + abs(values["b"] - 6))
        method.tell(Observation(found[-1], Evaluation({"loss": loss}, 1.0), True))
    assert len(set(found[10:])) >= 49  # random draws at the beginning may coincide; 78 members
    assert not {*found[:10]} & {*found[10:]}


@pytest.mark.parametrize("number", [Float("", 0.0, 1.0), Integer("", 0, 999)], ids=["real", "whole"])
def test_tpe_does_not_remember_numbers_that_are_hardly_ever_drawn_again(number: Float | Integer) -> None:
    """Once all ten rows are evaluated, each ask would add ten combinations, and later asks would read them all."""
    rows = np.random.default_rng(0).random((10, 2)) * number.high
    rows = rows.astype(int) if isinstance(number, Integer) else rows
    space = listed([replace(number, name=name) for name in "xy"], rows)
    method: Any = MethodSpec.parse("tpe:initial=5").build(
        Problem(space, (Metric("loss", ""),)), np.random.default_rng(0)
    )
    for told in range(60):
        method.tell(Observation(method.ask(), Evaluation({"loss": float(told % 7)}, 1.0), True))
    assert not method._sampler._forbidden


@pytest.mark.parametrize("spec", ["random", "tpe:initial=5"])
def test_the_prior_of_a_choice_that_does_not_matter_is_seen_in_what_is_asked_for(spec: str) -> None:
    program = Program(lambda: op("a", x=D([11, 22], name="x", prior=[4, 1]), y=D(list(range(10, 90)), name="y")))
    found = Counter(values["x"] for seed in range(20) for values in asked(spec, program, 5, seed))
    assert stats.binomtest(found[11], found.total(), 0.8).pvalue > 1e-3

"""The search-space language: how many architectures a space has, drawing, changing and replaying them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks.spaces import ForeignConfiguration
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import Part, ProgramError, real
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.flat import flat
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2, once_for_all
from nasbench.benchmarks.spaces.published.nasbench101 import nasbench101
from nasbench.benchmarks.spaces.published.nasbench201 import nasbench201
from nasbench.benchmarks.spaces.published.nasnet import nasnet
from nasbench.benchmarks.spaces.published.vit import vit
from research import language_figures as figures
from tests.benchmarks.written import ALL, COUNTS, SMALL, alike, dropping, late, named, op, shared_or, unread

# Counts


@pytest.mark.parametrize("write", COUNTS, ids=named)
def test_enumeration_and_counting_give_the_papers_numbers(write: Callable[[], Part]) -> None:
    program = Program(write)
    found = list(program)
    assert len(found) == len(set(found)) == COUNTS[write]
    assert count(Program(write)) == COUNTS[write]
    for configuration in found[:: max(1, len(found) // 50)]:
        program.check(configuration)


@pytest.mark.slow
def test_counts_of_spaces_too_large_to_enumerate() -> None:
    one, two, three = (COUNTS[f] for f in (figures.figure_19_1, figures.figure_19_2, figures.figure_19_3))
    assert count(Program(figures.figure_19_4)) == sum(n + n**2 + n**4 for n in (one, two)) + three + three**2 + three**4
    assert count(Program(nasbench201)) == 5**6
    assert count(Program(genetic)) == 2**19
    assert count(Program(flat)) == 7**10
    assert count(Program(mobilenetv2)) == 666_900 == 6 * sum(18**depth for depth in (1, 2, 3, 4))
    assert count(Program(vit)) == 4_394_252_160 == 32 * sum(108**depth for depth in (1, 2, 3, 4))
    assert count(Program(once_for_all)) == (9**2 + 9**3 + 9**4) ** 5  # Cai et al., section 3: about 2 × 10^19
    assert count(Program(partial(once_for_all, stages=1))) == sum(1 for _ in Program(partial(once_for_all, stages=1)))
    assert count(Program(partial(figures.figure_16, 4))) == 6 * 4 * 4**4  # 3! inputs, 4 units, 4 activations a node
    assert count(Program(partial(nasbench101, 4))) == sum(1 for _ in Program(partial(nasbench101, 4)))


def test_a_space_without_end_has_no_size() -> None:
    program, continuous = Program(figures.figure_18), Program(lambda: op("a", x=real(0, 1)))
    with pytest.raises(ProgramError, match="infinite"):
        count(program)
    with pytest.raises(ProgramError, match="infinite"):
        program.as_flat()
    assert len({program.sample(np.random.default_rng(i)) for i in range(20)}) > 5
    with pytest.raises(ProgramError, match="is a real number: its values cannot be listed"):
        count(Program(lambda: op("a", x=real(0, 1))))
    for _ in range(2):  # not the first time alone
        with pytest.raises(ProgramError, match="real number"):
            continuous.as_sequence()


@pytest.mark.parametrize("write", [shared_or, dropping, late, unread, alike], ids=named)
def test_counting_equals_enumeration_where_choices_are_shared_or_vanish(write: Callable[[], Part]) -> None:
    found = list(Program(write))
    assert count(Program(write)) == len(found) == len(set(found))


# Sampling, mutation, replay


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(write, marks=[pytest.mark.slow] * (named(write) in ("nasnet", "once_for_all", "figure_16")))
        for write in (*ALL, shared_or, dropping, late, unread, alike)
    ],
    ids=named,
)
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
        "import json, sys; from nasbench.benchmarks.spaces.published import nasnet;"
        "from nasbench.benchmarks.spaces.language.program import Program;"
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
    monkeypatch.setattr("nasbench.benchmarks.spaces.language.program._MOST_KEPT", 50)
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

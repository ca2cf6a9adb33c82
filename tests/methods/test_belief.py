"""Beliefs: what is drawn from them, their densities, and the two methods that search by them."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks import Evaluation, Fidelity, Level, open_benchmark
from nasbench.benchmarks.knowledge import Experts
from nasbench.benchmarks.spaces import Categorical, Condition, Float, GridSpace, Integer, Ordinal
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spaces.parameters import ParameterSpace
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.methods import MethodSpec, Problem, Proposal
from nasbench.methods.belief import CERTAIN, SPREAD, Belief
from nasbench.methods.fidelity.priorband import PriorBand
from nasbench.methods.problem import Observation
from nasbench.methods.tpe.tpe import CTPE

SPACE = ParameterSpace(
    [
        Categorical("op", ("conv", "pool", "skip", "none")),
        Float("rate", 1e-4, 1.0, log=True),
        Ordinal("width", (8, 16, 32, 64), log=True),
        Integer("layers", 1, 99),
    ]
)
PROBLEM = Problem(SPACE, (Metric("loss", ""),))


def belief(text: str) -> Belief:
    return Belief.of(text, PROBLEM, np.random.default_rng(0))


def test_draws_have_the_stated_distribution() -> None:
    believed, rng = belief("op=pool+rate=0.01"), np.random.default_rng(1)
    drawn = [believed.draw(rng) for _ in range(4000)]
    ops, rates, widths, layers = zip(*(SPACE.as_flat().coordinates(c) for c in drawn), strict=True)
    count = Counter(ops)
    expected = [(1 - CERTAIN) / 4 + CERTAIN * (op == 1) for op in range(4)]
    assert stats.chisquare([count[op] for op in range(4)], [4000 * p for p in expected]).pvalue > 1e-3
    assert stats.chisquare([Counter(widths)[w] for w in range(4)]).pvalue > 1e-3  # nothing is believed: uniform
    assert stats.kstest(np.array(layers, float), stats.uniform(0.5, 99).cdf).statistic < 0.05
    place = np.log(np.array(rates) / 1e-4) / math.log(1e4)  # 0.01 lies at one half
    truncated = stats.truncnorm(-0.5 / SPREAD, 0.5 / SPREAD, 0.5, SPREAD)
    assert stats.kstest(place, truncated.cdf).pvalue > 1e-3


def test_the_density_is_that_of_scipy() -> None:
    believed = belief("op=pool+rate=0.01")
    flat = SPACE.as_flat()
    for op, mass in ((1, (1 - CERTAIN) / 4 + CERTAIN), (0, (1 - CERTAIN) / 4)):
        found = believed.log_density(flat.at((op, 0.1, 2, 50)))
        normal = stats.truncnorm(-0.5 / SPREAD, 0.5 / SPREAD, 0.5, SPREAD).pdf(0.75)
        assert found == pytest.approx(math.log(mass * normal))


def test_a_belief_takes_half_of_a_categorys_probability_and_deviates_by_a_quarter_of_a_numbers_range() -> None:
    """By hand: a normal density, divided by the probability that it gives to the range."""

    def mass(deviations: float) -> float:
        return 0.5 * (1 + math.erf(deviations / math.sqrt(2)))

    flat, peak = SPACE.as_flat(), 1 / (0.25 * math.sqrt(2 * math.pi))
    believed = belief("op=pool+rate=0.001+layers=50")  # at a quarter of the range, and in the middle
    rate, layers = peak / (mass(3) - mass(-1)), peak / (mass(2) - mass(-2))
    for op, share in ((1, 5 / 8), (0, 1 / 8), (3, 1 / 8)):
        for width in (0, 3):
            found = believed.log_density(flat.at((op, 0.001, width, 50)))
            assert found == pytest.approx(math.log(share * rate * layers))
        found = believed.log_density(flat.at((op, 0.01, 2, 50)))
        assert found == pytest.approx(math.log(share * rate * layers) - 1 / 2)


def test_what_is_not_believed_has_a_uniform_density() -> None:
    flat, nothing = SPACE.as_flat(), belief("")
    for coordinates in ((0, 0.5, 1, 7), (3, 1e-4, 3, 99)):
        assert nothing.log_density(flat.at(coordinates)) == pytest.approx(math.log(1 / 4))
    assert belief("width=16").log_density(flat.at((2, 0.5, 1, 7))) == pytest.approx(
        math.log(stats.truncnorm(-1.5, 2.5, 0.375, 0.25).pdf(0.375) / 4)
    )


def test_draws_of_a_belief_are_a_quarter_of_the_range_apart() -> None:
    """The shares of numbers within one deviation, and of the believed category."""
    believed, rng = belief("op=skip+rate=0.01"), np.random.default_rng(3)
    drawn = [SPACE.as_flat().coordinates(believed.draw(rng)) for _ in range(4000)]
    near = np.mean([1e-3 <= rate <= 1e-1 for _, rate, _, _ in drawn if rate is not None])
    assert near == pytest.approx(0.6827 / 0.9545, abs=0.025)
    assert np.mean([op == 2 for op, *_ in drawn]) == pytest.approx(5 / 8, abs=0.025)


def test_values_that_are_kept_are_the_believed_ones() -> None:
    believed, rng = belief("op=pool+rate=0.01+width=16+layers=7"), np.random.default_rng(2)
    assert SPACE.as_flat().coordinates(believed.draw(rng, kept=1.0)) == (1, pytest.approx(0.01), 1, 7)
    ops = Counter(SPACE.as_flat().coordinates(believed.draw(rng, kept=0.5))[0] for _ in range(2000))
    assert ops[1] / 2000 == pytest.approx(0.5 + 0.5 * (CERTAIN + (1 - CERTAIN) / 4), abs=0.04)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("op", "prior must be good, weak, misleading, or NAME=VALUE"),
        ("depth=3", "unknown hyper-parameter 'depth'"),
        ("op=relu", "op cannot be relu; allowed: conv, pool, skip, none"),
        ("rate=2", r"rate cannot be 2; allowed: \[0.0001, 1.0\]"),
        ("rate=fast", "rate cannot be fast"),
        ("layers=1.5", "layers cannot be 1.5"),
        ("layers=--5", "layers cannot be --5"),
        ("op=conv+op=pool", "the prior has two values for op"),
        ("width=9", "width cannot be 9; allowed: 8, 16, 32, 64"),
    ],
)
def test_what_the_space_lacks_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        CTPE(PROBLEM, np.random.default_rng(0), prior=text)


def test_a_name_that_two_hyperparameters_have_is_refused() -> None:
    kernels = (Categorical("kernel", (1, 3)), Categorical("kernel", (3, 5)))
    problem = SimpleNamespace(flat=SimpleNamespace(hyperparameters=(Categorical("op", ("conv", "pool")), *kernels)))
    with pytest.raises(UsageError, match="a prior cannot name kernel: this space has 2 of that name"):
        Belief.of("op=pool+kernel=3", problem, np.random.default_rng(0))  # type: ignore[arg-type]


def test_an_expert_is_simulated_on_tables_only() -> None:
    for name in ("c-tpe", "priorband"):
        spec = MethodSpec.parse(f"{name}:prior=good")
        assert "expert" in spec.method.needs.misfit(PROBLEM, spec.values()) or "fidelity" in spec.misfit(PROBLEM)
        assert not spec.misfit(Problem.of(open_benchmark("sk-boosting-wine")))


def test_absent_hyper_parameters_do_not_count() -> None:
    hyperparameters = (Categorical("op", ("conv", "pool")), Float("rate", 0.0, 1.0))
    conditions = (None, Condition(0, (True, False)))
    flat = SimpleNamespace(hyperparameters=hyperparameters, conditions=conditions, coordinates=tuple)
    believed = Belief(flat, (0, 0.25))  # type: ignore[arg-type]
    assert believed.log_density((1, None)) == pytest.approx(math.log((1 - CERTAIN) / 2))


class TestCTPE:
    def test_the_prior_replaces_the_uniform_one_in_the_densities(self) -> None:
        """Without observations but one bad one, the good density is the prior alone."""
        grid = GridSpace([Categorical("op", ("a", "b", "c")), Ordinal("x", tuple(range(1, 9)))])
        problem = Problem(grid, (Metric("loss", ""),))
        method = CTPE(problem, np.random.default_rng(0), prior="op=b+x=2")
        sampler = method._estimators()
        packed = sampler._dimensions.packed
        prior = packed.prior
        assert prior[:3] == pytest.approx([(1 - CERTAIN) / 3, (1 - CERTAIN) / 3 + CERTAIN, (1 - CERTAIN) / 3])
        start = packed.offsets[1]
        span, edges = 8.0, np.arange(0.5, 9.0)
        masses = np.diff(stats.norm(2, SPREAD * span).cdf(edges))
        assert prior[start : start + 8] == pytest.approx(masses / masses.sum())

    def test_what_is_believed_stands_in_place_of_the_prior_of_the_space(self) -> None:
        grid = GridSpace([Ordinal("x", tuple(range(1, 9)), prior=(8, 1, 1, 1, 1, 1, 1, 1))])
        method = CTPE(Problem(grid, (Metric("loss", ""),)), np.random.default_rng(0), prior="x=6")
        masses = np.diff(stats.norm(6, SPREAD * 8.0).cdf(np.arange(0.5, 9.0)))
        assert method._estimators()._dimensions.packed.prior[:8] == pytest.approx(masses / masses.sum())

    def test_it_begins_with_what_is_believed_and_forgets_it_if_it_is_bad(self) -> None:
        grid = GridSpace([Ordinal(name, tuple(range(20))) for name in "ab"])
        problem = Problem(grid, (Metric("loss", ""),))
        for believed, seeds in (("a=17+b=17", 5), ("a=2+b=2", 5)):
            ends = []
            for seed in range(seeds):
                method = CTPE(problem, np.random.default_rng(seed), prior=believed)
                asked = []
                for _ in range(80):
                    asked.append(method.ask())
                    loss = float((asked[-1][0] - 17) ** 2 + (asked[-1][1] - 17) ** 2)
                    method.tell(Observation(asked[-1], Evaluation({"loss": loss}, 1.0), True))
                assert asked[0] == tuple(int(part[2:]) for part in believed.split("+"))
                assert len(set(asked[:10])) > 1
                ends.append(min((a - 17) ** 2 + (b - 17) ** 2 for a, b in asked[-40:]))
            assert np.median(ends) <= 2  # also from a misleading prior

    def test_without_a_prior_nothing_changes(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        plain, none = (MethodSpec.parse(name) for name in ("c-tpe", "c-tpe:prior="))
        assert plain.parameters() == none.parameters()
        assert ("prior", "good") in MethodSpec.parse("c-tpe:prior=good").parameters()
        assert not plain.misfit(Problem.of(benchmark))


class TestPriorBand:
    def build(self, seed: int = 0, prior: str = "good") -> PriorBand:
        problem = Problem.of(open_benchmark("sk-boosting-wine"))
        return PriorBand(problem, np.random.default_rng(seed), prior=prior)

    def test_uniform_draws_grow_rarer_with_the_rung(self) -> None:
        """Share of draws that are the space's own: 1/2 at the lowest rung, 1 / (1 + 3^r) above."""
        method = self.build()
        method.draw(method._levels[0])  # the believed one
        calls = Counter[Level]()
        sample = method._problem.space.sample
        for level in method._levels:
            with mock.patch.object(method._problem.space, "sample", side_effect=sample) as uniform:
                for _ in range(900):
                    method.draw(level)
            calls[level] = uniform.call_count
        for rung, level in enumerate(method._levels):
            assert calls[level] / 900 == pytest.approx(1 / (1 + 3**rung), abs=0.06)

    def test_the_incumbent_is_trusted_by_the_likelihood_of_the_best(self) -> None:
        method = self.build()
        flat = method._problem.flat
        space, rng = method._problem.space, np.random.default_rng(5)
        assert method._incumbent() is None
        drawn = [space.sample(rng) for _ in range(9)]
        for i, configuration in enumerate(drawn):
            method._ranked[method._levels[-1]].append(((0.0, float(i)), configuration))
        incumbent = method._incumbent()
        assert incumbent is not None and incumbent.mode == tuple(flat.coordinates(drawn[0]))
        weighted = [
            sum(w * math.exp(b.log_density(c)) for w, c in zip((3, 2, 1), drawn[:3], strict=True))
            for b in (method._prior, incumbent)
        ]
        assert method._trust(incumbent) == pytest.approx(weighted[1] / sum(weighted))


@pytest.mark.parametrize("name", ["c-tpe", "priorband"])
def test_what_an_expert_believes_of_a_list_of_numbers_is_proposed_first(name: str) -> None:
    """Coordinates of real numbers come back a little off: the row that is meant is the nearest, and is not used up."""
    rng = np.random.default_rng(0)
    rates, points = Float("rate", 1e-7, 1.0, log=True), np.exp(rng.uniform(math.log(1e-7), 0, (60, 1)))
    momentum = Float("momentum", 1e-4, 1.0, log=True)
    space = ListedSpace([rates, momentum], np.hstack([points, np.exp(rng.uniform(math.log(1e-4), 0, (60, 1)))]))
    loss, seconds = Metric("loss@4", "", epoch=4), Metric("train_time", "s")
    values = np.stack([rng.random((60, 1)), np.ones((60, 1))], axis=2)
    facts = {"source": "", "licence": "", "checksum": "toy:believed", "search_space": "toys"}
    toy = TabularBenchmark("believed", "toys", space, (loss, seconds), lambda: values, cost=1.0, **facts)  # type: ignore[arg-type]
    toy.fidelity = Fidelity("epochs", "1 epoch", (1, 2, 4))
    for seed in range(20):
        believed = Experts(toy).belief("good", np.random.default_rng(seed))
        method = MethodSpec.parse(f"{name}:prior=good").build(Problem.of(toy), np.random.default_rng(seed))
        asked = method.ask()
        proposed = asked.configuration if isinstance(asked, Proposal) else asked
        assert proposed == believed


def test_a_belief_about_a_number_moves_its_prior() -> None:
    packed = CTPE(PROBLEM, np.random.default_rng(0), prior="rate=0.001+layers=7")._estimators()._dimensions.packed
    assert packed.middle[[1, 3]].tolist() == pytest.approx([0.25, 6.5 / 99])
    assert packed.spread[[1, 3]].tolist() == pytest.approx([SPREAD] * 2)


def test_a_number_with_an_exponent_is_one_number() -> None:
    assert belief("rate=1e-3+layers=7").mode == belief("rate=0.1e-2+layers=7").mode
    wide = Problem(ParameterSpace([Float("x", 1.0, 1e9, log=True)]), (Metric("loss", ""),))
    assert Belief.of("x=1e+6", wide, np.random.default_rng(0)).mode == (1e6,)


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_what_is_not_uniform_is_drawn_around_the_incumbent_as_far_as_that_is_trusted(
    trust: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = TestPriorBand().build()
    space, flat = method._problem.space, method._problem.flat
    method.draw(method._levels[0])  # the believed one
    rng = np.random.default_rng(1)
    best = next(c for c in iter(lambda: space.sample(rng), None) if tuple(flat.coordinates(c)) != method._prior.mode)
    method._ranked[method._levels[-1]].append(((0.0, 1.0), best))
    drawn = Counter[tuple[object, float]]()

    def draw(believed: Belief, rng: np.random.Generator, kept: float = 0.0) -> object:
        drawn[tuple(believed.mode), kept] += 1
        return best

    monkeypatch.setattr(Belief, "draw", draw)
    monkeypatch.setattr(method, "_trust", lambda _: trust)
    for _ in range(40):
        method.draw(method._levels[-1])
    around, believed = (tuple(flat.coordinates(best)), 0.5), (tuple(method._prior.mode), 0.0)
    assert set(drawn) == {around if trust else believed}
    assert drawn.total() > 20  # the others are uniform


def test_the_incumbent_is_judged_by_the_highest_rung_with_enough_trainings() -> None:
    """The lowest has as many and the opposite order, and the highest has two, of three that are needed."""
    method = TestPriorBand().build()
    space, rng = method._problem.space, np.random.default_rng(5)
    drawn = [space.sample(rng) for _ in range(9)]
    lowest, second, *_, highest = (method._ranked[level] for level in method._levels)
    for i, configuration in enumerate(drawn):
        lowest.append(((0.0, float(-i)), configuration))
        second.append(((0.0, float(i)), configuration))
    highest += [((0.0, float(i)), configuration) for i, configuration in enumerate(drawn[:2])]
    incumbent = method._incumbent()
    assert incumbent is not None
    weighted = [
        sum(w * math.exp(b.log_density(c)) for w, c in zip((3, 2, 1), drawn[:3], strict=True))
        for b in (method._prior, incumbent)
    ]
    assert method._trust(incumbent) == pytest.approx(weighted[1] / sum(weighted))

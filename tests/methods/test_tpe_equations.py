"""c-TPE's ratio, splits and bandwidth, against what we did not write: numpy, and cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nasbench.benchmarks.spaces import Integer, Ordinal
from nasbench.methods.tpe import compiled, dimensions
from nasbench.methods.tpe.splits import BAD, GOOD, OUT, split_constraint, split_objective
from nasbench.methods.tpe.tpe import evaluations_that_bar, good_by_share, good_by_square_root

positive = st.floats(1e-6, 1e6)
quantiles = st.floats(0.001, 0.999)


def log_ratio(good: float, bad: float, quantile: float) -> float:
    found: float = compiled.log_relative_ratio(math.log(good), math.log(bad), quantile)
    return found


# Relative density ratio, section 3.2.1


@given(positive, positive, quantiles)
def test_the_relative_ratio_is_its_definition(good: float, bad: float, quantile: float) -> None:
    expected = 1 / (quantile + (1 - quantile) * bad / good)
    assert log_ratio(good, bad, quantile) == pytest.approx(math.log(expected), rel=1e-9, abs=1e-9)


def test_the_relative_ratio_at_the_ends() -> None:
    assert log_ratio(3.0, 7.0, 1.0) == 0.0  # satisfied everywhere: no say (corollary 2)
    assert log_ratio(3.0, 7.0, 0.0) == pytest.approx(math.log(3 / 7))  # nothing good yet: the plain ratio
    assert compiled.log_relative_ratio(-800.0, -5.0, 0.1) == pytest.approx(-795 - math.log(0.9))


@given(positive, positive, positive, quantiles)
def test_the_relative_ratio_ranks_as_the_plain_one(a: float, b: float, bad: float, quantile: float) -> None:
    assume(abs(math.log(a / b)) > 1e-6)
    first, second = log_ratio(a, bad, quantile), log_ratio(b, bad, quantile)
    assert (first >= second) == (a > b) or first == pytest.approx(second, abs=1e-9)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=9), quantiles)
def test_with_every_configuration_feasible_the_product_ranks_as_the_objective(
    ratios: list[tuple[float, float]], quantile: float
) -> None:
    """Corollary 2: Γ = 1 gives every constraint γ̂ = 1, and the product ranks candidates as r_0 does."""
    product = [log_ratio(good, bad, quantile) + log_ratio(bad, good, 1.0) for good, bad in ratios]
    objective = [math.log(good / bad) for good, bad in ratios]
    best = int(np.argmax(product))
    assert objective[best] >= max(objective) - 1e-6 * (1 + abs(max(objective)))


@given(positive, positive, quantiles, quantiles)
def test_theorem_1(r_i: float, r_j: float, gamma_i: float, gamma_j: float) -> None:
    """The derivative of the product in r_i is at least that in r_j, under the theorem's premise."""
    gamma_i, gamma_j = sorted((gamma_i, gamma_j))
    assume(r_i + gamma_i / (1 - gamma_i) * r_i**2 <= r_j + gamma_j / (1 - gamma_j) * r_j**2)

    def slope(r: float, gamma: float, other: float, other_gamma: float) -> float:
        step = 1e-4 * r
        values = (math.exp(log_ratio(x, 1.0, gamma)) for x in (r - step, r + step))
        low, high = values
        return (high - low) / (2 * step) * math.exp(log_ratio(other, 1.0, other_gamma))

    left, right = slope(r_i, gamma_i, r_j, gamma_j), slope(r_j, gamma_j, r_i, gamma_i)
    assert left >= right - 1e-4 * abs(right) - 1e-12
    assert right >= -1e-12


# Splits, appendix B


def groups(values: list[float], feasible: list[bool], needed: int) -> list[int]:
    return split_objective(np.array(values), np.array(feasible), needed).tolist()


def test_good_are_all_up_to_the_needed_best_feasible_one() -> None:
    values, feasible = [5.0, 1.0, 3.0, 2.0, 4.0], [True, False, True, False, True]
    assert groups(values, feasible, 1) == [BAD, GOOD, GOOD, GOOD, BAD]
    assert groups(values, feasible, 2) == [BAD, GOOD, GOOD, GOOD, GOOD]


def test_the_papers_figure_5() -> None:
    """N = 9, ⌈√9 / 4⌉ = 1: black 1 lies before the best white one, and is good with it."""
    values, feasible = [1.0, 2.0, 3.0, 4.0], [False, True, False, True]
    assert good_by_square_root(9) == 1
    assert groups(values, feasible, 1) == [GOOD, GOOD, BAD, BAD]


def test_with_too_few_feasible_ones_all_are_good() -> None:
    for feasible in ([False, False, False], [True, False, False]):
        assert groups([3.0, 1.0, 2.0], feasible, 2) == [GOOD, GOOD, GOOD]


def test_with_all_feasible_it_is_the_ordinary_split() -> None:
    assert groups([4.0, 1.0, 3.0, 2.0], [True] * 4, 2) == [BAD, GOOD, BAD, GOOD]


def test_ties_rank_by_age() -> None:
    assert groups([1.0, 1.0, 1.0], [True, True, True], 2) == [GOOD, GOOD, BAD]
    assert groups([1.0, 1.0, 1.0], [False, True, True], 1) == [GOOD, GOOD, BAD]
    assert groups([2.0, 1.0, 1.0, 1.0], [True, False, True, False], 1) == [BAD, GOOD, GOOD, BAD]


def test_observations_without_an_objective_are_out() -> None:
    assert groups([math.nan, 1.0, 2.0], [False, True, True], 1) == [OUT, GOOD, BAD]
    assert groups([math.nan, math.nan], [False, False], 1) == [OUT, OUT]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12), st.integers(1, 4))
def test_the_split_equals_a_plain_walk(observations: list[tuple[int, bool]], needed: int) -> None:
    values, feasible = zip(*observations, strict=True)
    order = sorted(range(len(values)), key=lambda j: (values[j], j))
    expected = [GOOD] * len(values)
    if sum(feasible) >= needed:
        met = 0
        for j in order:
            expected[j] = GOOD if met < needed else BAD
            met += feasible[j]
    assert groups(list(map(float, values)), list(feasible), needed) == expected


def constraint(values: list[float], limit: float, oldest: bool = False) -> list[int]:
    return split_constraint(np.array(values), limit, np.ones(len(values), bool), oldest).tolist()


def test_a_constraint_splits_by_its_own_values() -> None:
    assert constraint([3.0, 1.0, 2.0, 2.0], 2.0) == [BAD, GOOD, GOOD, GOOD]
    assert constraint([3.0, math.nan], 5.0) == [GOOD, BAD]


def test_where_nothing_satisfies_it_the_smallest_are_good() -> None:
    assert constraint([3.0, 1.5, 2.0, 1.5], 1.0) == [BAD, GOOD, BAD, GOOD]  # the paper: ties of the minimum all in
    assert constraint([3.0, 1.5, 2.0, 1.5], 1.0, oldest=True) == [BAD, GOOD, BAD, BAD]  # the scripts
    assert constraint([math.nan, math.nan], 1.0) == [BAD, BAD]


VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan])


@given(
    st.lists(st.tuples(VALUES, st.booleans()), min_size=1, max_size=10),
    st.sampled_from([-1.0, 1.0, 2.0]),
    st.booleans(),
)
def test_a_constraints_split_equals_its_definition(
    observations: list[tuple[float, bool]], limit: float, oldest: bool
) -> None:
    """Among those that are observations of it; where none satisfies it, the smallest value, or its oldest."""
    values, present = (list(column) for column in zip(*observations, strict=True))
    expected = [(GOOD if value <= limit else BAD) if here else OUT for value, here in observations]
    if GOOD not in expected:
        least = min((v for v, here in observations if here and not math.isnan(v)), default=None)
        smallest = [j for j, (value, here) in enumerate(observations) if here and value == least]
        for j in smallest[:1] if oldest else smallest:
            expected[j] = GOOD
    found = split_constraint(np.array(values), limit, np.array(present), oldest)
    assert found.tolist() == expected


@given(st.lists(st.tuples(VALUES, st.booleans()), min_size=1, max_size=12), st.integers(1, 4))
def test_what_has_no_objective_does_not_change_the_split_of_the_others(
    observations: list[tuple[float, bool]], needed: int
) -> None:
    known = [(value, feasible) for value, feasible in observations if not math.isnan(value)]
    found = groups([value for value, _ in observations], [ok and not math.isnan(v) for v, ok in observations], needed)
    others = iter(groups([value for value, _ in known], [ok for _, ok in known], needed) if known else [])
    assert found == [OUT if math.isnan(value) else next(others) for value, _ in observations]


def test_the_rules_for_how_many_are_good() -> None:
    assert [good_by_square_root(n) for n in (1, 16, 17, 64, 65, 144, 145, 200)] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert [good_by_share(n) for n in (1, 10, 11, 249, 251, 10_000)] == [1, 1, 2, 25, 25, 25]


def test_the_rule_for_how_many_evaluations_bar_a_configuration() -> None:
    assert [evaluations_that_bar(n) for n in (0, 1, 64, 65, 144, 145, 256, 257)] == [1, 1, 1, 2, 2, 3, 3, 4]


# Bandwidth


@given(st.lists(st.integers(0, 5), min_size=0, max_size=30))
def test_the_bandwidth_is_scotts_rule_guarded(levels: list[int]) -> None:
    z = np.log([16.0, 32, 64, 128, 256, 512])
    lower, upper = z[0] - 0.1, z[-1] + 0.1
    values = np.append(z[levels] if levels else [], 0.5 * (lower + upper))
    spread = 0.0
    if len(values) > 1:
        iqr = np.subtract(*np.percentile(values, [75, 25]))
        spread = 1.059 * min(iqr / 1.34, values.std(ddof=1)) * len(values) ** -0.2
    expected = np.clip(spread, (upper - lower) / 6, 0.5 * (upper - lower))
    found = compiled.bandwidth(np.bincount(levels, minlength=6), z, lower, upper, 1 / 6)
    assert found == pytest.approx(expected)


def test_candidates_that_differ_by_rounding_are_equal_and_the_first_drawn_is_proposed() -> None:
    scores = np.array([-1.0, 0.3, 0.1 + 0.2, 0.3 + 1e-7])
    assert compiled.first_of_best(scores[:3]) == 1  # 0.1 + 0.2 is the larger one in the last bit
    assert compiled.first_of_best(scores) == 3


def test_a_member_is_drawn_by_its_weight_and_the_prior_by_one() -> None:
    rng = np.random.default_rng(0)
    drawn = np.bincount([compiled._member(np.array([3.0, 0.0, 1.0]), 3, rng) for _ in range(5000)], minlength=4)
    assert drawn[1] == 0
    assert drawn / 5000 == pytest.approx([3 / 5, 0.0, 1 / 5, 1 / 5], abs=0.03)
    alike = np.bincount([compiled._member(np.empty(0), 3, rng) for _ in range(5000)], minlength=4)
    assert alike / 5000 == pytest.approx(np.full(4, 0.25), abs=0.03)


def test_blocks_hold_as_many_combinations_as_they_may_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimensions, "MOST_COMBINATIONS", 12)
    assert dimensions._blocks([2, 3, 2]).tolist() == [0, 2, 3]  # (2 + 1) (3 + 1) = 12 fit
    assert dimensions._blocks([2, 4, 2]).tolist() == [0, 1, 2, 3]  # (2 + 1) (4 + 1) = 15 do not
    assert dimensions._blocks([40, 2]).tolist() == [0, 1, 2]


def test_a_logarithmic_scale_of_two_levels_is_continuous_and_one_level_is_not() -> None:
    assert dimensions._levels(Integer("n", 1, 2, log=True), continuous_log=True, is_parent=False) is None
    assert dimensions._levels(Integer("n", 1, 2, log=True), continuous_log=False, is_parent=False) is not None
    assert dimensions._levels(Ordinal("n", (4,), log=True), continuous_log=True, is_parent=False) is not None
    assert dimensions._levels(Integer("n", 1, 2, log=True), continuous_log=True, is_parent=True) is not None

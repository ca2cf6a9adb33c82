"""Pairs, ranks and places of one comparison, and what the corner cases make of them."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from nasbench.results import Store
from nasbench.results.statistics import verdicts
from nasbench.results.statistics.comparison import CLAIMS, CONSTRAINTS, SETTINGS, Comparison, _common
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.improvement import MISSING, linear_parts, places
from nasbench.results.statistics.moderation import moderated
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field, expected_ranks
from nasbench.results.statistics.verdicts import Pair, compare, corrected, judge, smallest_p
from tests.results.conftest import SETTING, load_all, make_run, make_setup
from tests.results.drawn_runs import Fill, Values, compared, drawn, one_family_of_four, setups

FIRST = ("x", "x1", "none")


class Literal(NamedTuple):
    """A pair, written out: seed scores of each setting, their nested weights, and means of spaces."""

    scores: np.ndarray
    weights: np.ndarray
    spaces: dict[str, float]

    @property
    def value(self) -> float:
        return float(self.weights @ self.scores.mean(axis=1))

    def estimate(self, least: float = 0.0, extra: float = 0.0) -> tuple[float, float]:
        """Standard error and degrees of freedom, stratified by setting."""
        count = self.scores.shape[1]
        parts = self.weights**2 * self.scores.var(axis=1, ddof=1) / count
        squares = np.sum(self.weights**2) / (count * (count - 1))
        freedom = parts.sum() ** 2 / np.sum(parts**2 / (count - 1))
        return float(np.sqrt(max(parts.sum(), least * squares) + extra * squares)), float(freedom)


def literal(values: Values, a: str, b: str) -> Literal:
    """A pair of `values`, whose families are spaces."""
    places = list(values[a])
    families = {family: {bench for f, bench, _ in places if f == family} for family, _, _ in places}
    scores, weights = [], []
    for place in places:
        x, y = np.array(values[a][place]), np.array(values[b][place])
        h = (x[:, None] < y) + 0.5 * (x[:, None] == y)
        scores.append(h.mean(axis=1) + h.mean(axis=0) - h.mean())
        settings = sum(place[:2] == other[:2] for other in places)
        weights.append(1 / len(families) / len(families[place[0]]) / settings)
    found = Literal(np.array(scores), np.array(weights), {})
    for family in families:
        rows = [i for i, place in enumerate(places) if place[0] == family]
        found.spaces[family] = float(found.weights[rows] @ found.scores[rows].mean(axis=1)) * len(families)
    return found


SHARE = 1 - CLAIMS - CONSTRAINTS - SETTINGS
"""What is left for the averages of a report with several constraints."""


def test_pairs_are_what_their_formulas_say_and_scipy_tests(filled: Fill) -> None:
    values = drawn()
    overall = compared(filled, values).overall
    raw, variances, errors = [], [], []
    for (i, a), (j, b) in combinations(enumerate("abc"), 2):
        pair = overall.pair(i, j)
        assert pair is not None
        expected = literal(values, a, b)
        assert pair.these.value == pytest.approx(expected.value)
        decides = np.sum(expected.weights**4) / np.sum(expected.weights**2) ** 2
        error, freedom = expected.estimate(least=0.5, extra=decides / 4)
        half = stats.t.ppf(0.975, freedom) * error
        assert pair.these.interval() == pytest.approx((max(0, expected.value - half), min(1, expected.value + half)))
        wide = stats.t.ppf(1 - 0.05 * SHARE / 3 / 2, freedom) * error
        low, high = max(0, expected.value - wide), min(1, expected.value + wide)
        assert pair.interval == pytest.approx((max(low, 0.5) if pair.verdict > 0 else min(low, 0.5), max(high, 0.5)))
        means = [*expected.spaces.values()]
        half = stats.t.ppf(0.975, 1) * max(stats.sem(means), error)
        assert pair.new.interval() == pytest.approx((max(0, expected.value - half), min(1, expected.value + half)))
        raw.append(2 * stats.t.sf(abs(expected.value - 0.5) / error, freedom))
        variances.append(np.var(means, ddof=1))
        errors.append(error)
        assert (pair.ahead, pair.behind, pair.units) == (sum(v > 0.5 for v in means), 0, 2)
        assert [own.value for own in pair.by_space.values()] == pytest.approx(means)
    assert [p.p_these for p in overall.pairs.values()] == pytest.approx(np.minimum(holm(np.array(raw)) / SHARE, 1))
    drawn_together, freedom = moderated(np.array(variances), np.ones(3), 3)
    errors = np.maximum(np.sqrt(drawn_together / 2), errors)
    distances = np.array([abs(p.these.value - 0.5) for p in overall.pairs.values()])
    new = np.maximum(raw, 2 * stats.t.sf(distances / errors, freedom))
    alone = [pair.new.p() for pair in overall.pairs.values()]
    assert [p.p_new for p in overall.pairs.values()] == pytest.approx(np.fmax(np.minimum(holm(new) / SHARE, 1), alone))


def test_one_setting_is_judged_by_permutations(filled: Fill) -> None:
    values = {m: {FIRST: own[FIRST]} for m, own in drawn("ab", seeds=12).items()}
    (pair,) = compared(filled, values).overall.pairs.values()
    test = stats.mannwhitneyu(values["a"][FIRST], values["b"][FIRST], method="exact")
    assert pair.these.p() == pytest.approx(test.pvalue, rel=0.1)
    assert pair.p_these == pytest.approx(pair.these.p() / (1 - CLAIMS))  # neither other constraints nor other settings
    least = stats.mannwhitneyu(range(12), range(12, 24), method="exact").pvalue
    assert pair.floor == pytest.approx(least / (1 - CLAIMS))


def test_expected_ranks_are_one_and_the_chances_of_all_others(filled: Fill) -> None:
    values = drawn()
    overall = compared(filled, values).overall
    for rank in overall.ranks:
        name = "abc"[rank.method]
        others = [literal(values, name, other) for other in "abc" if other != name]
        own = Literal(1 + sum(1 - other.scores for other in others), others[0].weights, {})
        assert rank.these.value == pytest.approx(own.value)
        assert (rank.these.error, rank.these.freedom) == pytest.approx(own.estimate(least=0.25 * 3 * 2, extra=0.25 * 2))
    assert sum(rank.these.value for rank in overall.ranks) == pytest.approx(6.0)
    assert [rank.these.value for rank in overall.ranks] == sorted(rank.these.value for rank in overall.ranks)


def test_ranks_over_the_budget_end_at_the_ranks(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    values = comparison.ranks(comparison.curves.at((1,)))[:, 0]
    assert values[[r.method for r in comparison.overall.ranks]].tolist() == pytest.approx(
        [r.these.value for r in comparison.overall.ranks]
    )
    chances = comparison.improvements(comparison.curves.at((1,)))[:, 0]
    for pair in comparison.against_baseline(comparison.overall):
        assert chances[pair.b] == pytest.approx(pair.these.value)


def test_ranks_from_all_runs_together_are_those_from_pairs() -> None:
    """With ties, and where some runs are missing (by pairs alone)."""
    rng = np.random.default_rng(0)
    joined = rng.integers(0, 9, size=(3, 20)).astype(np.int32).reshape(3, 4, 5)
    weights = np.array([0.5, 0.3, 0.2])
    expected = np.ones(4)
    for a, b in permutations(range(4), 2):
        x, y = joined[:, a, :, None], joined[:, b, None, :]
        expected[a] += weights @ ((x > y) + 0.5 * (x == y)).mean(axis=(1, 2))
    assert expected_ranks(joined, weights) == pytest.approx(expected)
    wider = np.concatenate([joined, np.full((3, 4, 2), -1, np.int32)], axis=2)
    assert expected_ranks(wider, weights) == pytest.approx(expected)


def test_a_pair_turned_says_the_same_from_the_other_side(filled: Fill) -> None:
    overall = compared(filled, drawn()).overall
    one, other = overall.pair(0, 2), overall.pair(2, 0)
    assert one is not None and other is not None
    assert other.these.value == pytest.approx(1 - one.these.value)
    assert other.these.interval() == pytest.approx(tuple(1 - end for end in reversed(one.these.interval())))
    assert (other.wins, other.losses, other.ahead, other.behind) == (one.losses, one.wins, one.behind, one.ahead)
    assert (other.p_these, other.verdict, other.verdict_new) == (one.p_these, -one.verdict, -one.verdict_new)


@pytest.mark.parametrize(("p", "verdict"), [(0.05, 0), (np.nextafter(0.05, 0), 1)])
def test_five_percent_is_not_significant_and_less_is(filled: Fill, p: float, verdict: int) -> None:
    one = compared(filled, drawn()).overall.pair(0, 2)
    assert one is not None
    pair = dataclasses.replace(one, these=dataclasses.replace(one.these, value=0.7), p_these=p, p_new=p)
    assert (pair.verdict, pair.verdict_new) == (verdict, verdict)


def test_a_pair_does_not_depend_on_who_else_takes_part(filled: Fill, tmp_path_factory: pytest.TempPathFactory) -> None:
    values = drawn("abcd")
    every = compared(filled, values).overall.pair(0, 1)
    store = Store.create(tmp_path_factory.mktemp("two") / "store")
    for setup, runs in setups({m: values[m] for m in "ab"}).items():
        store.commit(setup, runs, {"versions": {}, "commit": "", "machine": {}})
    two = Comparison(load_all(store), 0, (1.0,)).overall.pair(0, 1)
    assert every is not None and two is not None
    assert (every.these, every.new, every.wins) == (two.these, two.new, two.wins)


def test_where_the_interval_on_new_tasks_holds_one_half_nothing_is_significant_there(filled: Fill) -> None:
    """`a` is far better on one space and better on the other; the other methods do not differ, on either."""
    rng = np.random.default_rng(0)
    places = [("f0", "f0b", "none"), ("f1", "f1b", "none")]
    values = {m: {place: rng.normal(size=20).tolist() for place in places} for m in "abcdefg"}
    values["a"] = {
        place: rng.normal(better, size=20).tolist() for place, better in zip(places, (-1.3, -6), strict=True)
    }
    pair = compared(filled, values).overall.pair(0, 1)
    assert pair is not None
    low, high = pair.new.interval()
    assert low < 0.5 < high
    assert pair.verdict == 1
    assert pair.shared.p() < 0.001  # by the variances of the others it is significant
    assert pair.p_new == pair.new.p() > 0.05
    assert pair.verdict_new == 0


def test_new_tasks_are_never_surer_than_these(filled: Fill) -> None:
    """More spaces than seeds, and all the same: over spaces there would be more degrees of freedom."""
    places = [(f"f{i}", f"f{i}b", "none") for i in range(9)]
    ends = {"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": [3.0, 1.5, 6.0, 2.5, 7.0]}
    (pair,) = compared(filled, {m: dict.fromkeys(places, own) for m, own in ends.items()}).overall.pairs.values()
    assert pair.new.freedom == 8 < pair.these.freedom
    assert pair.new.error == pair.these.error
    assert pair.p_new >= pair.p_these


def test_p_on_new_tasks_is_at_least_that_on_these(filled: Fill) -> None:
    """Runs differ on one space of twelve alone: t has 4 degrees of freedom over seeds, 11 over spaces."""
    places = [(f"f{i}", f"f{i}b", "none") for i in range(12)]
    values = {m: {place: [1.0 + s for s in range(5)] for place in places} for m in "ab"}
    values["b"][places[0]] = [9.0] * 4 + [1.5]
    (pair,) = compared(filled, values).overall.pairs.values()
    assert pair.shared.p() < pair.these.p()
    assert pair.p_new == pair.p_these < 1


def test_the_budget_of_error_is_spent_once(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    single = [p for v in comparison.by_constraint.values() for p in v.pairs.values()]
    raw = np.array([p.these.p() for p in single])
    assert [p.p_these for p in single] == pytest.approx(np.minimum(holm(raw) / CONSTRAINTS, 1))
    assert comparison.share + CONSTRAINTS + CLAIMS + SETTINGS == pytest.approx(1)


def test_under_one_constraint_the_average_is_that_constraint(filled: Fill) -> None:
    comparison = compared(filled, drawn(constraints=("none",)))
    assert comparison.by_constraint["none"] is comparison.overall
    raw = np.array([p.these.p() for p in comparison.overall.pairs.values()])
    share = 1 - CLAIMS - SETTINGS
    assert [p.p_these for p in comparison.overall.pairs.values()] == pytest.approx(np.minimum(holm(raw) / share, 1))


def test_intervals_agree_with_the_tests_beside_them(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    places = [(f"f{i}", f"f{i}b", "none") for i in range(3)]
    values = {m: {place: rng.normal(i / 2, 1, 15).tolist() for place in places} for i, m in enumerate("abcdefgh")}
    overall = compared(filled, values).overall
    assert {pair.verdict for pair in overall.tested} >= {0, 1}
    for pair in (*overall.tested, *(p.turned() for p in overall.tested)):
        low, high = pair.interval
        assert (pair.verdict == 0) == (low < 0.5 < high)
        assert low <= pair.these.interval(level=pair.level)[0] or pair.verdict > 0
        assert low <= pair.these.value <= high


def test_an_interval_reaches_one_half_where_the_permutation_test_does_not_exclude_it(filled: Fill) -> None:
    values = {"a": [1.0, 12, 0, 11, 4, 6, 2, 5], "b": [10.0, 13, 3, 9, 14, 7, 8, 15]}
    (pair,) = compared(filled, {m: {FIRST: [1 + v for v in own]} for m, own in values.items()}).overall.pairs.values()
    assert pair.these.interval(level=pair.level)[0] > 0.5
    assert (pair.verdict, pair.interval[0]) == (0, 0.5)


def test_equivalent_needs_every_space_and_equal_on_average_does_not() -> None:
    """The second is ahead by as much in one space as it is behind in the other; the third does as the first."""
    rng = np.random.default_rng(0)
    bench = np.arange(160)
    space = bench // 80
    values = rng.normal(size=(160, 3, 40))
    values[:, 1] += np.where(space == 0, 0.6, -0.6)[:, None]
    ranked = places(values.reshape(160, -1).T).T.reshape(values.shape)
    field = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), Tasks(space, space, bench))
    (overall,) = corrected([judge(field, bench, 0)])
    even, same = overall.pairs[0, 1], overall.pairs[0, 2]
    assert (even.is_equivalent, even.is_equivalent_on_average, even.verdict) == (False, True, 0)
    assert (same.is_equivalent, same.is_equivalent_on_average, same.verdict) == (True, False, 0)
    assert [round(own.value, 1) for own in even.by_space.values()] == [0.7, 0.3]
    inside = [max(own.p_outside(0.45, 0.55) for own in p.by_space.values()) for p in overall.pairs.values()]
    assert [p.p_equivalent for p in overall.pairs.values()] == pytest.approx(holm(np.array(inside)))
    on_average = np.array([p.these.p_outside(0.45, 0.55) for p in overall.pairs.values()])
    found = [p.p_equivalent_on_average for p in overall.pairs.values()]
    assert found == pytest.approx(holm(on_average), abs=0)  # they are tiny


def test_the_pairs_of_the_same_settings_are_compared_once(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundred methods that is most of a report's time: a scope may have the settings of the whole."""
    compared_pairs = []

    def counted(runs: Field, settings: np.ndarray, a: int, b: int) -> Pair | None:
        compared_pairs.append((len(settings), a, b))
        return compare(runs, settings, a, b)

    monkeypatch.setattr(verdicts, "compare", counted)
    comparison = compared(filled, drawn()).led()
    assert comparison.by_scope["out of sample"].settings.tolist() == comparison.overall.settings.tolist()
    assert compared_pairs == [(6, 0, 1), (6, 0, 2), (6, 1, 2)]


def test_methods_that_found_nothing_feasible_are_not_the_same_for_that(filled: Fill) -> None:
    found = {
        make_setup(name): [make_run(seed, [1.0 + seed, 2.0, 3.0], feasible) for seed in range(6)]
        for name, feasible in (("a", None), ("b", [False] * 3), ("c", [False] * 3))
    }
    curves = load_all(filled(found))
    assert Comparison(curves, 0, (curves.end,)).overall.kinds == ((0,), (1,), (2,))


def test_the_smallest_p_that_seeds_allow_is_said_for_the_share_that_verdicts_have(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    raw = judge(comparison.field, np.arange(len(comparison.curves.settings)), 0)
    floors = [pair.floor for pair in comparison.overall.pairs.values()]
    assert floors == pytest.approx([min(pair.floor / SHARE, 1.0) for pair in raw.pairs.values()])


def test_the_smallest_p_of_one_setting_is_that_of_its_permutations_and_of_more_that_of_their_t() -> None:
    alone = [smallest_p(np.array([seeds]), np.ones(1)) for seeds in (4, 5, 20)]
    assert alone == pytest.approx([1.0, 2 / math.comb(10, 5), 2 / math.comb(40, 20)])
    few, many = (smallest_p(np.array([seeds, seeds]), np.full(2, 0.5)) for seeds in (5, 20))
    assert many < 1e-6
    assert 2 / math.comb(10, 5) ** 2 < few < alone[1]  # all permutations, and those of one setting alone


def test_a_clean_sweep_is_at_least_as_significant_as_a_win_that_lacks_two_runs() -> None:
    """Three benchmarks of one family, five seeds; of 25 pairs of runs the second wins none, or two in each."""
    bench, nothing = np.arange(3), np.zeros(3, int)

    def pair(ours: list[int]) -> Pair:
        ranked = np.broadcast_to(np.array([ours, [5, 6, 7, 8, 9]]), (3, 2, 5)).copy()
        field = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), Tasks(nothing, nothing, bench))
        found = judge(field, bench, 0).pair(0, 1)
        assert found is not None
        return found

    clean, torn = pair([0, 1, 2, 3, 4]), pair([0, 1, 2, 3, 7])
    assert (clean.these.value, torn.these.value) == (1.0, pytest.approx(22.5 / 25))  # one is a tie
    assert clean.these.freedom == pytest.approx(12)
    assert clean.these.p() == pytest.approx(2 * stats.t.sf(0.5 / math.sqrt((0.5 + 0.25 / 3) / 60), 12))
    assert clean.floor == clean.these.p() < torn.these.p()


def test_no_result_goes_below_the_smallest_p() -> None:
    """One table of a space beside forty of another: these may vary where that is swept, with freedom of their own."""
    space, bench = np.array([0] + [1] * 40), np.arange(41)
    ranked = np.tile(np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]), (41, 1, 1))
    ranked[1:, 0, 4], ranked[1:, 1, 0] = 7, 4  # one run of each is lost
    field = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), Tasks(space, space, bench))
    pair = judge(field, bench, 0).pair(0, 1)
    assert pair is not None
    assert pair.floor < pair.these.p()


def test_variances_are_moderated_by_those_over_members_of_the_same_kind() -> None:
    """A third method that has runs on the benchmarks of one space lends nothing to a pair over four spaces."""
    rng = np.random.default_rng(0)
    space, bench = np.repeat(np.arange(4), 12), np.arange(48)
    runs = np.stack([rng.normal(shift, 1, (48, 6)) for shift in (0.0, 1.0, 0.5)], axis=1)
    ranked = np.array([places(row.reshape(-1, 1)).reshape(3, 6) for row in runs])
    alone = Field(ranked[:, :2], 1 + np.arange(48 * 12).reshape(48, 2, 6), Tasks(space, space, bench))
    ranked[12:, 2] = MISSING
    identity = np.where(ranked >= 0, 1 + np.arange(ranked.size).reshape(ranked.shape), MISSING)
    beside = Field(ranked, identity, Tasks(space, space, bench))
    pairs = [judge(field, bench, 0).pair(0, 1) for field in (alone, beside)]
    assert [pair.unit for pair in pairs if pair] == ["spaces", "spaces"]
    assert pairs[0] is not None and pairs[1] is not None
    assert pairs[0].shared == pairs[1].shared


def test_methods_are_not_equivalent_where_the_seeds_of_one_setting_are_too_few() -> None:
    """Twenty settings of one space, where the two are alike, and one of another with four seeds in common."""
    rng = np.random.default_rng(0)
    bench, space = np.arange(21), np.array([0] * 20 + [1])
    values = rng.normal(size=(21, 2, 40))
    ranked = places(values.reshape(21, -1).T).T.reshape(values.shape)
    field = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), Tasks(space, space, bench))
    (whole,) = corrected([judge(field, bench, 0)])[0].pairs.values()
    assert not np.isnan(whole.p_equivalent)
    ranked = ranked.copy()
    ranked[20, 0, 4:] = MISSING
    field = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), Tasks(space, space, bench))
    (pair,) = corrected([judge(field, bench, 0)])[0].pairs.values()
    assert not any(own.known for own in pair.by_space.values())
    assert np.isnan([pair.p_these, pair.p_equivalent]).all()
    assert not pair.is_equivalent


def test_the_rank_of_a_method_is_that_of_its_twin(filled: Fill) -> None:
    values = drawn("ab", constraints=("none",))
    overall = compared(filled, {**values, "twin": values["a"]}, baseline=2).overall
    own = {method: overall.rank_of(method) for method in range(3)}
    assert own[0] is own[2] is not own[1]
    assert all(
        rank is not None and rank.method == expected for rank, expected in zip(own.values(), (2, 1, 2), strict=True)
    )


def test_seeds_of_all_methods_count_where_there_are_five() -> None:
    """Two methods in one setting; the second lacks some seeds."""
    places_ = np.zeros((1, 2, 8), int)
    for lacking, expected in ((3, 5), (4, 8)):
        places_[0, 1] = np.where(np.arange(8) < lacking, MISSING, 1)
        assert _common(places_).sum() == expected


def test_in_one_setting_p_is_that_of_all_permutations_the_best_run_included(filled: Fill) -> None:
    values = {"a": {FIRST: [float(s) for s in range(1, 9)]}, "b": {FIRST: [0.5, *(s + 4.25 for s in range(7))]}}
    pair = judge(compared(filled, values).field, np.arange(1), 0).pair(0, 1)
    a, b = (np.array(own[FIRST]) for own in values.values())
    assert pair is not None
    assert pair.these.p() == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)


def test_identical_methods_are_one_in_ranks_and_not_counted_by_holm(filled: Fill) -> None:
    values = drawn("ab", constraints=("none",))
    comparison = compared(filled, {**values, "twin": values["a"]}, baseline=2)
    overall = comparison.overall
    assert overall.kinds == ((2, 0), (1,))  # the baseline stands for its class
    assert [rank.method for rank in overall.ranks] == [2, 1]
    twins = overall.pair(0, 2)
    assert twins is not None
    assert (twins.is_identical, twins.verdict, twins.is_equivalent) == (True, 0, True)
    assert (twins.these.value, np.isnan(twins.p_these)) == (0.5, True)
    others = [p for p in overall.pairs.values() if not p.is_identical]
    share = 1 - CLAIMS - SETTINGS
    assert [p.p_these for p in others] == pytest.approx([min(2 * others[0].these.p() / share, 1)] * 2)
    found = comparison.ranks(comparison.curves.at((1,)))[:, 0]
    assert found[0] == found[2]
    assert found[0] + found[1] == pytest.approx(3.0)


def test_methods_that_differ_under_one_constraint_are_identical_without_it(filled: Fill) -> None:
    values = drawn("ab")
    same = {place: own if place[2] == "none" else [v + 1 for v in own] for place, own in values["a"].items()}
    comparison = compared(filled, {"a": values["a"], "c": same})
    assert len(comparison.overall.kinds) == 2
    assert comparison.by_constraint["none"].kinds == ((0, 1),)
    assert comparison.by_constraint["size@0.1"].kinds == ((0,), (1,))


def test_the_twin_of_a_method_lends_no_variance_to_the_other_pairs(filled: Fill) -> None:
    values = drawn("abc", constraints=("none",))
    alone = compared(filled, values).overall.pair(0, 1)
    beside = Comparison(load_all(filled(setups({**values, "twin": values["a"]}))), 0, (1.0,)).overall
    for pair in (beside.pair(0, 1), beside.pair(3, 1)):
        assert alone is not None
        assert pair is not None
        assert pair.shared == alone.shared


def by_setting(comparison: Comparison) -> np.ndarray:
    """The probability that method 0 is better than method 1 in each setting."""
    return linear_parts(comparison.field.places[:, 0], comparison.field.places[:, 1]).means


def test_a_method_that_wins_one_space_of_four_does_not_differ_on_new_tasks(filled: Fill) -> None:
    comparison = compared(filled, one_family_of_four())
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    assert by_setting(comparison).tolist() == [1.0, 0.5, 0.5, 0.5]
    assert (pair.ahead, pair.behind, pair.units) == (1, 0, 4)
    assert pair.verdict == 1
    assert pair.verdict_new == 0


def test_unequal_seeds_are_judged_on_those_that_both_have_in_a_setting(filled: Fill) -> None:
    values = drawn("ab", seeds=9, constraints=("none",))
    values["b"]["x", "x1", "none"] = values["b"]["x", "x1", "none"][:6]
    comparison = compared(filled, values)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    expected = []
    for place in values["a"]:
        x, y = (np.array(values[m][place][: len(values["b"][place])]) for m in "ab")
        expected.append(((x[:, None] < y) + 0.5 * (x[:, None] == y)).mean())
    assert (pair.seeds, by_setting(comparison).tolist()) == (6, pytest.approx(expected))
    assert pair.these.value == pytest.approx(np.array([0.25, 0.25, 0.5]) @ expected)
    ranks = comparison.ranks(comparison.curves.at((1,)))[:, 0]
    assert ranks.tolist() == pytest.approx([2 - pair.these.value, 1 + pair.these.value])
    assert comparison.improvements(comparison.curves.at((1,)))[1, 0] == pytest.approx(pair.these.value)


def test_fewer_than_five_common_seeds_give_values_and_no_verdict(filled: Fill) -> None:
    values = drawn("ab", seeds=9, constraints=("none",))
    values["b"]["x", "x1", "none"] = values["b"]["x", "x1", "none"][:4]
    comparison = compared(filled, values)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    x, y = (np.array(values[m]["x", "x1", "none"]) for m in "ab")
    assert by_setting(comparison)[0] == pytest.approx((x[:, None] < y).mean())  # all runs that there are
    assert (pair.these.known, pair.new.known, pair.verdict, comparison.overall.tested) == (False, False, 0, [])
    assert [(r.first, r.last) for r in comparison.overall.ranks] == [(1, 2), (1, 2)]


def test_settings_that_a_method_lacks_are_left_out_of_ranks_but_not_of_pairs(filled: Fill) -> None:
    values = drawn("abc", constraints=("none",))
    del values["c"]["y", "y1", "none"]
    overall = compared(filled, values).overall
    assert len(overall.complete) == 2
    assert [len(overall.pairs[key].settings) for key in ((0, 1), (0, 2))] == [3, 2]
    assert overall.unit == "benchmarks"  # of the one family that is left


def test_places_are_open_where_nothing_is_told_and_closed_where_all_is(filled: Fill) -> None:
    place = ("x", "b", "none")
    clear = {m: {place: [i + s / 100 for s in range(20)]} for i, m in enumerate("abc", 1)}
    assert [(r.first, r.last) for r in compared(filled, clear).overall.ranks] == [(1, 1), (2, 2), (3, 3)]


def test_the_interval_of_a_single_setting_is_a_little_wider_than_its_seeds_say(filled: Fill) -> None:
    values = {m: {FIRST: own[FIRST]} for m, own in drawn("ab", seeds=12).items()}
    (pair,) = compared(filled, values).overall.pairs.values()
    squares = np.sum((literal(values, "a", "b").scores[0] - pair.these.value) ** 2)
    assert pair.these.error**2 == pytest.approx((max(squares, 0.5) + 0.25) / (12 * 11))


def test_one_data_set_in_two_spaces_is_evidence_of_two_spaces(filled: Fill) -> None:
    runs = {
        make_setup(method, bench=space, setting=dataclasses.replace(SETTING, family="digits", space=space)): [
            make_run(k, [1.0 + i + k / 10]) for k in range(6)
        ]
        for space in ("one", "two")
        for i, method in enumerate("ab")
    }
    (pair,) = Comparison(load_all(filled(runs)), 0, (1.0,)).overall.pairs.values()
    assert (pair.unit, pair.units) == ("spaces", 2)


def test_methods_with_the_same_incumbents_and_other_feasibility_are_not_the_same(filled: Fill) -> None:
    found = {
        make_setup(name): [make_run(seed, [1.0 + seed, 5.0 + seed], [True, feasible]) for seed in range(6)]
        for name, feasible in (("a", True), ("b", False))
    }
    assert Comparison(load_all(filled(found)), 0, (2.0,)).overall.kinds == ((0,), (1,))


def test_p_on_new_tasks_is_at_least_that_on_these_where_some_pairs_say_nothing_about_new_tasks(filled: Fill) -> None:
    """Under twelve constraints there is one benchmark each: Holm counts these pairs on these benchmarks alone."""
    rng = np.random.default_rng(0)
    values: Values = {m: {} for m in "ab"}
    for i in range(12):
        for name in ("none", f"size@0.{i + 10}"):
            for k, m in enumerate("ab"):
                values[m][f"f{i}", f"f{i}b", name] = (rng.normal(size=6) + 0.8 * k).tolist()
    comparison = compared(filled, values)
    pairs = [pair for v in comparison.by_constraint.values() for pair in v.pairs.values()]
    (known,) = (pair for pair in pairs if pair.shared.known)
    assert len(pairs) == 13
    assert max(known.shared.p(), known.these.p()) / CONSTRAINTS < known.p_these == known.p_new


def test_a_clear_winner_is_in_no_sense_equal_and_its_benchmarks_are_counted(filled: Fill) -> None:
    """It wins on two benchmarks, ties on one, and loses on one."""
    ends = {"w1": (1.0, 2.0), "w2": (1.0, 2.0), "even": (1.0, 1.0), "lost": (2.0, 1.0)}
    values: Values = {
        m: {("x", bench, "none"): [end[k] + s / 1000 for s in range(12)] for bench, end in ends.items()}
        for k, m in enumerate("ab")
    }
    pair = compared(filled, values).overall.pair(0, 1)
    assert pair is not None
    assert (pair.wins, pair.ties, pair.losses, pair.units) == (2, 1, 1, 4)
    assert (pair.is_equivalent, pair.is_equivalent_on_average) == (False, False)


def test_with_too_few_seeds_every_place_is_possible(filled: Fill) -> None:
    """Four seeds: no interval, and no pair is tested."""
    overall = compared(filled, drawn(seeds=4)).overall
    assert [(rank.first, rank.last) for rank in overall.ranks] == [(1, 3)] * 3
    assert not overall.tested

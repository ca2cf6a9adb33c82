"""Pairs, ranks and places of one comparison, and what the corner cases make of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from nasbench.results import Cell, Store
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.verdicts import expected_ranks, judge
from nasbench.results.store.trajectory import Trajectory
from tests.results.conftest import SETTING, load_all, make_cell, make_run

Fill = Callable[..., Store]
Values = dict[str, dict[tuple[str, str, str], list[float]]]


def cells(values: Values) -> dict[Cell, list[Trajectory]]:
    """Method → (family, benchmark, constraint) → final values of its seeds."""
    return {
        make_cell(method, bench=bench, constraint=constraint, setting=dataclasses.replace(SETTING, family=family)): [
            make_run(seed, [value]) for seed, value in enumerate(own)
        ]
        for method, settings in values.items()
        for (family, bench, constraint), own in settings.items()
    }


def compared(filled: Fill, values: Values, baseline: int = 0) -> Comparison:
    """The comparison of such runs."""
    curves = load_all(filled(cells(values)))
    return Comparison(curves, baseline, (curves.end,))


def drawn(methods: str = "abc", seeds: int = 8, constraints: tuple[str, ...] = ("none", "size@0.1")) -> Values:
    """Three benchmarks of two families; later methods are a little worse."""
    rng = np.random.default_rng(3)
    places = [(f, b, c) for f, b in (("x", "x1"), ("x", "x2"), ("y", "y1")) for c in constraints]
    return {
        m: {place: (5 + i * 0.7 + rng.normal(size=seeds)).tolist() for place in places} for i, m in enumerate(methods)
    }


def one_family_of_four() -> Values:
    """One method wins every run on one family, and does as the other on three."""
    places = [(f"f{i}", f"f{i}b", "none") for i in range(4)]
    values = {m: {place: [9 + s / 10 for s in range(20)] for place in places} for m in "ab"}
    values["a"][places[0]] = [0.1 + s / 100 for s in range(20)]
    return values


def literal(values: Values, a: str, b: str) -> tuple[np.ndarray, dict[str, float]]:
    """Seed scores of a pair, averaged with nested weights, and family means: written out."""
    families: dict[str, dict[str, list[np.ndarray]]] = {}
    for (family, bench, constraint), ours in values[a].items():
        x, y = np.array(ours), np.array(values[b][family, bench, constraint])
        h = (x[:, None] < y) + 0.5 * (x[:, None] == y)
        families.setdefault(family, {}).setdefault(bench, []).append(h.mean(axis=1) + h.mean(axis=0) - h.mean())
    by_family = {
        f: np.mean([np.mean(own, axis=0) for own in benches.values()], axis=0) for f, benches in families.items()
    }
    return np.mean([*by_family.values()], axis=0), {f: float(own.mean()) for f, own in by_family.items()}


def test_pairs_are_what_their_formulas_say_and_scipy_tests(filled: Fill) -> None:
    values = drawn()
    overall = compared(filled, values).overall
    raw, alike = [], []
    for (i, a), (j, b) in combinations(enumerate("abc"), 2):
        pair = overall.pair(i, j)
        assert pair is not None
        seeds, families = literal(values, a, b)
        assert pair.here.value == pytest.approx(seeds.mean())
        # The floor 1/2 Σ w², of two families, of two benchmarks and one, of two constraints each.
        squares = max(np.sum((seeds - seeds.mean()) ** 2), 0.5 * (4 / 8**2 + 2 / 4**2))
        here = np.sqrt(squares / (8 * 7))
        half = stats.t.ppf(0.975, 7) * here
        assert pair.here.interval() == pytest.approx((max(0, seeds.mean() - half), min(1, seeds.mean() + half)))
        error = max(stats.sem([*families.values()]), here)
        half = stats.t.ppf(0.975, 1) * error
        assert pair.alike.interval() == pytest.approx((max(0, seeds.mean() - half), min(1, seeds.mean() + half)))
        raw.append(2 * stats.t.sf(abs(seeds.mean() - 0.5) / here, 7))
        alike.append(max(raw[-1], 2 * stats.t.sf(abs(seeds.mean() - 0.5) / error, 1)))
        assert (pair.ahead, pair.behind, pair.families) == (sum(v > 0.5 for v in families.values()), 0, 2)
    assert [p.p_here for p in overall.pairs.values()] == pytest.approx(np.minimum(holm(np.array(raw)) / 0.8, 1))
    assert [p.p_alike for p in overall.pairs.values()] == pytest.approx(np.minimum(holm(np.array(alike)) / 0.8, 1))


def test_expected_ranks_are_one_and_the_chances_of_all_others(filled: Fill) -> None:
    values = drawn()
    overall = compared(filled, values).overall
    weight = 1 / np.array([8, 8, 8, 8, 4, 4])  # two families; two benchmarks and one; two constraints
    for rank in overall.ranks:
        name = "abc"[rank.method]
        seeds = 1 + sum(1 - literal(values, name, other)[0] for other in "abc" if other != name)
        assert rank.here.value == pytest.approx(seeds.mean())
        squares = np.sum((seeds - seeds.mean()) ** 2) + 0.25 * 2 * np.sum(weight**2)
        assert rank.here.error == pytest.approx(np.sqrt(squares / (8 * 7)))
    assert sum(rank.here.value for rank in overall.ranks) == pytest.approx(6.0)
    assert [rank.here.value for rank in overall.ranks] == sorted(rank.here.value for rank in overall.ranks)


def test_ranks_over_the_budget_end_at_the_ranks(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    values = comparison.ranks(comparison.curves.at((1,)))[:, 0]
    assert values[[r.method for r in comparison.overall.ranks]].tolist() == pytest.approx(
        [r.here.value for r in comparison.overall.ranks]
    )
    chances = comparison.improvements(comparison.curves.at((1,)))[:, 0]
    for pair in comparison.against_baseline(comparison.overall):
        assert chances[pair.b] == pytest.approx(pair.here.value)


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
    assert other.here.value == pytest.approx(1 - one.here.value)
    assert other.here.interval() == pytest.approx(tuple(1 - end for end in reversed(one.here.interval())))
    assert (other.wins, other.losses, other.ahead, other.behind) == (one.losses, one.wins, one.behind, one.ahead)
    assert (other.p_here, other.verdict, other.verdict_alike) == (one.p_here, -one.verdict, -one.verdict_alike)


def test_a_pair_does_not_depend_on_who_else_takes_part(filled: Fill, tmp_path_factory: pytest.TempPathFactory) -> None:
    values = drawn("abcd")
    every = compared(filled, values).overall.pair(0, 1)
    store = Store.create(tmp_path_factory.mktemp("two") / "store")
    for cell, runs in cells({m: values[m] for m in "ab"}).items():
        store.commit(cell, runs, {"versions": {}, "commit": "", "machine": {}})
    two = Comparison(load_all(store), 0, (1.0,)).overall.pair(0, 1)
    assert every is not None and two is not None
    assert (every.here, every.alike, every.wins) == (two.here, two.alike, two.wins)


def test_tasks_like_these_are_never_surer_than_the_listed_ones(filled: Fill) -> None:
    """More families than seeds, and all families alike: over families there would be more degrees of freedom."""
    places = [(f"f{i}", f"f{i}b", "none") for i in range(9)]
    ends = {"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": [3.0, 1.5, 6.0, 2.5, 7.0]}
    (pair,) = compared(filled, {m: dict.fromkeys(places, own) for m, own in ends.items()}).overall.pairs.values()
    assert (pair.here.freedom, pair.alike.freedom) == (4, 8)
    assert pair.alike.p() < pair.here.p() < 0.5
    assert pair.p_alike == pair.p_here == pytest.approx(pair.here.p())


def test_the_averages_have_four_of_the_five_percent_and_constraints_one_together(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    single = [p for v in comparison.by_constraint.values() for p in v.pairs.values()]
    raw = np.array([p.here.p() for p in single])
    assert [p.p_here for p in single] == pytest.approx(np.minimum(5 * holm(raw), 1))


def test_under_one_constraint_the_average_is_that_constraint(filled: Fill) -> None:
    comparison = compared(filled, drawn(constraints=("none",)))
    assert comparison.by_constraint["none"] is comparison.overall
    raw = np.array([p.here.p() for p in comparison.overall.pairs.values()])
    assert [p.p_here for p in comparison.overall.pairs.values()] == pytest.approx(holm(raw))


def test_methods_that_found_nothing_feasible_are_not_the_same_for_that(filled: Fill) -> None:
    found = {
        make_cell(name): [make_run(seed, [1.0 + seed, 2.0, 3.0], feasible) for seed in range(6)]
        for name, feasible in (("a", None), ("b", [False] * 3), ("c", [False] * 3))
    }
    curves = load_all(filled(found))
    assert Comparison(curves, 0, (curves.end,)).overall.kinds == ((0,), (1,), (2,))


def test_the_smallest_p_that_seeds_allow_is_said_for_the_share_that_verdicts_have(filled: Fill) -> None:
    comparison = compared(filled, drawn())
    raw = judge(comparison.field, np.arange(len(comparison.curves.settings)), 0)
    floors = [pair.floor for pair in comparison.overall.pairs.values()]
    assert floors == pytest.approx([min(pair.floor / 0.8, 1.0) for pair in raw.pairs.values()])


def test_identical_methods_are_one_in_ranks_and_not_counted_by_holm(filled: Fill) -> None:
    values = drawn("ab", constraints=("none",))
    comparison = compared(filled, {**values, "twin": values["a"]}, baseline=2)
    overall = comparison.overall
    assert overall.kinds == ((2, 0), (1,))  # the baseline stands for its class
    assert [rank.method for rank in overall.ranks] == [2, 1]
    twins = overall.pair(0, 2)
    assert twins is not None
    assert (twins.is_identical, twins.verdict, twins.is_equivalent) == (True, 0, True)
    assert (twins.here.value, np.isnan(twins.p_here)) == (0.5, True)
    others = [p for p in overall.pairs.values() if not p.is_identical]
    assert [p.p_here for p in others] == pytest.approx([2 * others[0].here.p()] * 2)
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


def test_a_method_that_wins_one_family_of_four_is_not_told_apart_on_tasks_like_these(filled: Fill) -> None:
    pair = compared(filled, one_family_of_four()).overall.pair(0, 1)
    assert pair is not None
    assert pair.by_setting.tolist() == [1.0, 0.5, 0.5, 0.5]
    assert (pair.ahead, pair.behind, pair.families) == (1, 0, 4)
    assert pair.verdict == 1
    assert pair.verdict_alike == 0


def test_unequal_seeds_are_judged_on_those_that_all_settings_of_a_pair_have(filled: Fill) -> None:
    values = drawn("ab", seeds=9, constraints=("none",))
    values["b"]["x", "x1", "none"] = values["b"]["x", "x1", "none"][:6]
    pair = compared(filled, values).overall.pair(0, 1)
    assert pair is not None
    cut = {m: {place: own[:6] for place, own in settings.items()} for m, settings in values.items()}
    assert (pair.seeds, pair.here.value) == (6, pytest.approx(literal(cut, "a", "b")[0].mean()))


def test_fewer_than_five_common_seeds_give_values_and_no_verdict(filled: Fill) -> None:
    values = drawn("ab", seeds=9, constraints=("none",))
    values["b"]["x", "x1", "none"] = values["b"]["x", "x1", "none"][:4]
    comparison = compared(filled, values)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    x, y = (np.array(values[m]["x", "x1", "none"]) for m in "ab")
    assert pair.by_setting[0] == pytest.approx((x[:, None] < y).mean())  # all runs that there are
    assert (pair.here.known, pair.alike.known, pair.verdict, comparison.overall.tested) == (False, False, 0, [])
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

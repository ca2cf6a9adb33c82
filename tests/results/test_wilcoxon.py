"""Wilcoxon signed-rank tables: every number beside scipy and scikit-posthocs, and where they disagree with verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nasbench.results.parts import wilcoxon as part
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics import wilcoxon
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.wilcoxon import signed_rank
from nasbench.results.verdict.limits import limits
from tests.conftest import Printed
from tests.results.conftest import Fill
from tests.results.drawn_runs import Values, compared, setups

NAN = math.nan


def levels(values: np.ndarray) -> tuple[wilcoxon.Level, ...]:
    """A benchmark and a space for each setting."""
    own = np.arange(len(values))
    return wilcoxon.levels(values, Tasks(own, own, own))


@given(arrays(float, 8, elements=st.integers(-6, 6)))
@settings(max_examples=40)
def test_the_signed_rank_test_is_scipys_with_zeros_dropped(differences: np.ndarray) -> None:
    found = signed_rank(differences)
    kept = differences[differences != 0]
    if len(kept) == 0:
        assert (found.p, found.floor, found.pairs) == (1.0, 1.0, 0)
        assert np.isnan(found.effect)
    else:
        test = stats.wilcoxon(differences, zero_method="wilcox") if len(kept) == 8 else stats.wilcoxon(kept)
        assert (found.p, found.statistic) == (pytest.approx(test.pvalue), test.statistic)
        assert found.p >= found.floor or found.p == pytest.approx(found.floor)
        assert found.plus + found.minus == len(kept) * (len(kept) + 1) / 2
        assert found.effect == pytest.approx((found.plus - found.minus) / (found.plus + found.minus))


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_many_tests_at_once_are_those_of_scipy_row_by_row(
    alternative: wilcoxon.Alternative, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with ties, without, of zeros alone, and with fewer differences left than others."""
    monkeypatch.setattr(wilcoxon, "_AT_ONCE", 7)
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(size=(6, 7)), rng.integers(-3, 5, (12, 7)), np.zeros((1, 7))])
    rows[2:4, :2] = 0.0
    for row, found in zip(rows, wilcoxon.signed_ranks(rows, alternative), strict=True):
        assert found == signed_rank(row, alternative)
        if row.any():
            assert found.p == pytest.approx(stats.wilcoxon(row[row != 0], alternative=alternative).pvalue)
            assert found.floor == pytest.approx(stats.wilcoxon(np.abs(row[row != 0]), alternative=alternative).pvalue)


def test_exact_tests_with_ties_are_counted_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """scipy took half a second for each of thirteen differences with ties: hours for a hundred methods."""
    monkeypatch.setattr(stats, "permutation_test", None)
    monkeypatch.setattr(stats, "wilcoxon", None)
    found = signed_rank(np.array([1.0] * 12 + [-1.0]))
    assert (found.p, found.floor) == (pytest.approx(2 * 14 / 2**13), pytest.approx(2 / 2**13))


def test_zeros_do_not_change_the_test() -> None:
    differences = np.arange(1.0, 9.0)
    assert signed_rank(np.append(differences, np.zeros(6))) == signed_rank(differences)
    found = signed_rank(np.append(np.arange(1.0, 6.0), np.zeros(9)))
    assert found.p == found.floor == pytest.approx(0.0625)


def test_the_floor_is_the_p_of_a_clean_sweep() -> None:
    for n in range(1, 30):
        assert signed_rank(np.arange(1.0, n + 1)).floor == pytest.approx(stats.wilcoxon(np.arange(1.0, n + 1)).pvalue)
    assert signed_rank(np.arange(1.0, 6.0)).p > 0.05  # five pairs can never reach 0.05


def test_wilcoxons_example() -> None:
    """Darwin's maize, a textbook example: the rank sum is 24, the exact two-sided p 0.0413."""
    darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    found = signed_rank(darwin)
    assert (found.statistic, found.is_exact) == (24, True)
    assert found.p == pytest.approx(0.0413, abs=5e-4)


@pytest.mark.parametrize(("count", "exact"), [(8, True), (50, True), (51, False)])
def test_it_is_exact_up_to_fifty_differences_without_ties(count: int, exact: bool) -> None:
    differences = np.random.default_rng(count).normal(0.3, 1, count)
    found = signed_rank(differences)
    assert found.is_exact == exact
    method = "exact" if exact else "approx"
    assert found.p == pytest.approx(stats.wilcoxon(differences, method=method).pvalue)
    one_sided = signed_rank(differences, "greater")
    assert one_sided.p == pytest.approx(stats.wilcoxon(differences, alternative="greater", method=method).pvalue)
    assert signed_rank(np.append(differences, differences[:1])).is_exact == (count < 13)  # a tie


def test_the_floor_is_that_of_these_very_differences() -> None:
    """With ties in |d| p can lie below what as many distinct differences could give."""
    equal = np.full(60, 0.25)
    found = signed_rank(equal)
    assert found.p == found.floor == pytest.approx(stats.wilcoxon(equal).pvalue)
    assert signed_rank(np.arange(1.0, 61.0)).floor > 100 * found.p


def test_without_a_difference_p_is_one_and_without_a_pair_it_is_unknown() -> None:
    assert signed_rank(np.zeros(3)) == (0, 0.0, 0.0, 1.0, 1.0, True)
    found = signed_rank(np.zeros(0))
    assert np.isnan([found.p, found.floor]).all()
    assert found.is_exact


def test_relative_differences_do_not_depend_on_the_unit() -> None:
    values, baseline = np.array([3.0, 2.0, 0.0, 1.0]), np.array([2.0, 3.0, 0.0, 1.0 + 1e-12])
    found = wilcoxon.relative_differences(values, baseline)
    assert found.tolist() == pytest.approx([1 / 3, -1 / 3, 0.0, 0.0])
    assert np.allclose(found, wilcoxon.relative_differences(1e6 * values, 1e6 * baseline))


def test_every_pair_is_that_of_scikit_posthocs_and_of_scipy() -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    values = np.random.default_rng(3).normal(5, 1, size=(14, 4)) + np.arange(4) * 0.6
    settings, benchmarks, spaces = levels(values)
    assert settings.chi_square == pytest.approx(stats.friedmanchisquare(*values.T).statistic)
    assert settings.p == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)
    assert np.allclose(settings.nemenyi, posthocs.posthoc_nemenyi_friedman(values).to_numpy(), atol=1e-6)
    raw = []
    for a, b in combinations(range(4), 2):
        own = wilcoxon.relative_differences(values[:, b], values[:, a])
        test = stats.wilcoxon(own)
        found = settings.pairs[a, b]
        assert (found.p, found.statistic) == (pytest.approx(test.pvalue), test.statistic)
        raw.append(test.pvalue)
    assert settings.holm[np.triu_indices(4, 1)] == pytest.approx(holm(np.array(raw)))
    for level in (benchmarks, spaces):  # one setting each
        assert (level.pairs, level.count) == (settings.pairs, 14)
        assert np.allclose(level.ranks, settings.ranks)


def test_the_table_of_p_is_that_of_scikit_posthocs() -> None:
    """Which takes plain differences: on values of nearly one size, relative ones are in the same order."""
    posthocs = pytest.importorskip("scikit_posthocs")
    values = 1e3 + np.random.default_rng(4).normal(size=(20, 5)) + np.arange(5) * 0.4
    expected = posthocs.posthoc_wilcoxon(list(values.T), p_adjust="holm").to_numpy()
    assert np.allclose(levels(values)[0].holm, expected, atol=1e-9)


def test_a_benchmark_and_a_space_have_one_difference_and_one_rank_each() -> None:
    """Two spaces: one of two benchmarks (2 and 1 settings), one of one benchmark with 3."""
    space, bench = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 2])
    rng = np.random.default_rng(1)
    values = rng.normal(10, 1, (6, 3))
    _, benchmarks, spaces = wilcoxon.levels(values, Tasks(space, space, bench))
    relative = (values[:, 1] - values[:, 0]) / np.maximum(values[:, 1], values[:, 0])
    means = [relative[:2].mean(), relative[2], relative[3:].mean()]
    assert benchmarks.pairs[0, 1].plus == sum(
        r for r, d in zip(stats.rankdata(np.abs(means)), means, strict=True) if d > 0
    )
    assert (benchmarks.count, spaces.count) == (3, 2)
    ranks = stats.rankdata(values, axis=1)
    of_benches = np.array([ranks[:2].mean(axis=0), ranks[2], ranks[3:].mean(axis=0)])
    assert benchmarks.ranks == pytest.approx(stats.rankdata(of_benches, axis=1).mean(axis=0))
    of_spaces = np.array([of_benches[:2].mean(axis=0), of_benches[2]])
    assert spaces.ranks == pytest.approx(stats.rankdata(of_spaces, axis=1).mean(axis=0))


def test_nemenyis_critical_difference_is_demsars() -> None:
    """Demšar (JMLR 2006, section 3.2.2): four classifiers on 14 data sets, CD = 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25."""
    values = np.random.default_rng(0).normal(size=(14, 4))
    assert levels(values)[0].critical_difference == pytest.approx(1.25, abs=0.005)


def test_demsars_friedman_example() -> None:
    """Demšar (JMLR 2006, table 6): average ranks 3.143, 2.000, 2.893, 1.964 of four classifiers on 14 data sets."""
    auc = np.array(
        [
            [0.763, 0.768, 0.771, 0.798],
            [0.599, 0.591, 0.590, 0.569],
            [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657],
            [0.882, 0.888, 0.886, 0.898],
            [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685],
            [0.583, 0.583, 0.563, 0.625],
            [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000],
            [0.940, 0.962, 0.965, 0.962],
            [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975],
            [0.957, 0.978, 0.946, 0.970],
        ]
    )
    found = levels(-auc)[0]
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.p == pytest.approx(stats.chi2.sf(9.28, 3), abs=0.01)  # his 9.28 is without the correction for ties
    assert found.p == pytest.approx(stats.chi2.sf(found.chi_square, 3))


def test_five_percent_is_not_significant_and_less_is() -> None:
    found = levels(np.arange(20.0)[:, None] + np.array([[0.0, 1.0, 2.0]]))[0]
    for p, verdict in ((0.05, 0), (float(np.nextafter(0.05, 0)), 1)):
        assert replace(found, holm=np.full_like(found.holm, p)).verdict(0, 1) == verdict


def test_ties_everywhere_and_too_little_to_test_are_no_error() -> None:
    tied = levels(np.ones((5, 3)))[0]
    assert np.isnan(tied.p)
    assert (tied.nemenyi == 1).all()
    assert (tied.holm == 1).all()
    assert tied.verdict(0, 1) == 0
    assert np.isnan(levels(np.array([[1.0, 2.0], [1.0, 3.0]]))[0].p)
    for nothing in levels(np.full((2, 3), NAN)):
        assert (nothing.count, nothing.pairs) == (0, {})
        assert np.isnan(nothing.holm).all()
    assert np.isnan(signed_rank(np.array([])).p)


def test_cliques_are_the_longest_stretches_without_a_difference() -> None:
    apart = np.zeros((4, 4), bool)
    apart[0, 2] = apart[2, 0] = apart[0, 3] = apart[3, 0] = apart[1, 3] = apart[3, 1] = True
    assert wilcoxon.cliques(np.array([1.0, 2.0, 3.0, 4.0]), apart) == [(0, 1), (1, 2), (2, 3)]
    assert wilcoxon.cliques(np.array([4.0, 3.0, 2.0, 1.0]), np.zeros((4, 4), bool)) == [(3, 2, 1, 0)]
    assert wilcoxon.cliques(np.array([1.0, 2.0]), np.ones((2, 2), bool)) == []


def crowded() -> Values:
    """`a` is better on all 12 settings of space x, `b` on the one of y: `a` leads by settings, not by spaces."""
    rng = np.random.default_rng(0)
    places = [("x", f"x{i}", "none") for i in range(12)] + [("y", "y", "none")]
    return {
        m: {p: rng.normal(5 + (0.9 if (m == "a") == (p[0] == "y") else 0), 1, 10).tolist() for p in places}
        for m in "ab"
    }


def test_where_it_disagrees_with_the_verdict_that_is_said_with_the_reason(filled: Fill) -> None:
    comparison = compared(filled, crowded())
    (pair,) = comparison.overall.pairs.values()
    assert pair.verdict == 0
    found = comparison.rank_tests
    assert (found[0].verdict(0, 1), found[0].verdict(1, 0)) == (1, -1)
    (said,) = [text for text in limits(comparison) if "Wilcoxon" in text]
    assert said.startswith("Wilcoxon's test over 13 settings judges otherwise on b. It counts a median per setting")


def test_levels_on_which_nothing_can_be_significant_are_named(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    places = [("x", "b", f"size@{i}") for i in range(8)]
    values = {m: {p: rng.normal(shift, 1, 10).tolist() for p in places} for m, shift in (("a", 5.0), ("b", 5.0))}
    comparison = compared(filled, values)
    found = part.pairs(comparison, comparison.rank_tests)
    assert "Over 1 space no pair can be significant: before correction p is at least 1." in found.marks
    assert found.data["over"].tolist() == ["settings", "benchmarks", "spaces"]


def test_the_tables_are_on_the_page_and_in_files_and_on_request_on_the_terminal(
    filled: Fill, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    store = filled(setups(crowded()))
    formats = ["--format", "csv,html,latex,svg,md"]
    printed = nasbench("report", store.folder, "--out", tmp_path / "out", *formats)
    assert printed.code == 0, printed.err
    assert "Wilcoxon: p of the signed-rank test over 13 settings (Holm)." in " ".join(printed.out.split())
    assert "R+" not in printed.out
    assert '<section id="wilcoxon">' in (tmp_path / "out" / "index.html").read_text()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"wilcoxon.csv", "wilcoxon.tex", "wilcoxon-ranks.csv"}
    rows = pd.read_csv(tmp_path / "out" / "wilcoxon.csv")
    assert rows["over"].tolist() == ["settings", "benchmarks", "spaces"]
    assert rows["blocks"].tolist() == [13, 13, 2]
    assert (rows["W"] == rows[["R_plus", "R_minus"]].min(axis=1)).all()
    assert rows["test"].tolist() == ["exact"] * 3
    printed = nasbench("report", store.folder, "--out", tmp_path / "out", *formats, "--wilcoxon")
    assert "R+" in printed.out
    assert "Average ranks of medians" in printed.out


def test_one_method_has_no_such_tables(filled: Fill, tmp_path: Path) -> None:
    values = {"a": {("x", "b", "none"): [1.0 + s for s in range(6)]}}
    report.write([filled(setups(values))], Request(tmp_path / "out", formats=("csv",)))
    assert not (tmp_path / "out" / "wilcoxon.csv").exists()


def test_with_ties_it_is_exact_up_to_thirteen_differences() -> None:
    assert [signed_rank(np.ones(count)).is_exact for count in (13, 14)] == [True, False]


def test_differences_that_cancel_inside_a_benchmark_are_a_tie() -> None:
    """0.1 + 0.2 - 0.3 is no zero in floating point."""
    values, one = np.array([[0.9, 1.0], [0.8, 1.0], [1.0, 0.7]]), np.zeros(3, int)
    settings, benchmarks, spaces = wilcoxon.levels(values, Tasks(one, one, one))
    assert [level.pairs[0, 1].pairs for level in (settings, benchmarks, spaces)] == [3, 0, 0]

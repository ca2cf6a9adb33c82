from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from results import Store, statistics
from results.curves import Curves, load
from tests.results.conftest import SETTING, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


@pytest.fixture
def curves(filled: Fill) -> Curves:
    """Two methods, two settings; oracle 1, worst 100."""
    return load(
        filled(
            {
                make_cell("a", constraint="size@0.1"): [
                    make_run(0, [5.0, 4.0, 2.0], [False, True, True]),
                    make_run(1, [9.0, 9.0, 3.0], [False, False, True]),
                    make_run(2, [9.0, 9.0, 9.0], [False, False, False]),
                ],
                make_cell("b", constraint="size@0.1"): [make_run(s, [8.0, 8.0, 8.0 - s]) for s in (0, 1, 2)],
                make_cell("a"): [make_run(0, [2.0, 2.0, 1.5])],
                make_cell("b"): [make_run(0, [2.0, 2.0, 1.5 * (1 + 1e-12)])],
            }
        )
    )


def test_performance_pads_with_the_worst_value_and_says_how_many_runs_found_something(curves: Curves) -> None:
    table = statistics.performance(curves, (1, 2, 3))
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a = table[(table["setting"] == setting) & (table["method"] == 0)].set_index("evaluations")
    assert a["median"].tolist() == [100.0, 100.0, 3.0]
    assert a["found"].tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert a["mean"].tolist() == pytest.approx([100, (4 + 200) / 3, (2 + 3 + 100) / 3])
    assert a["regret"].tolist() == pytest.approx([9900, 9900, 200])
    assert (a["q1"].tolist(), a["q3"].tolist()) == ([100.0, 52.0, 2.5], [100.0, 100.0, 51.5])


def test_an_oracle_of_zero_has_no_relative_regret(filled: Fill) -> None:
    zero = dataclasses.replace(SETTING, oracle=0.0)
    curves = load(filled({make_cell(setting=zero): [make_run(0, [2.0])]}))
    assert statistics.performance(curves, (1,))["regret"].isna().all()


def test_without_a_table_the_worst_incumbent_seen_pads(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None)
    curves = load(
        filled({make_cell(setting=unknown): [make_run(0, [7.0, 3.0]), make_run(1, [9.0, 4.0], [False, True])]})
    )
    assert curves.padded().tolist() == [[7.0, 3.0], [7.0, 4.0]]


def test_feasibility_counts_proposals_and_the_wait_for_the_first(curves: Curves) -> None:
    table = statistics.feasibility(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a, b = (table[(table["setting"] == setting) & (table["method"] == m)].iloc[0] for m in (0, 1))
    assert (a["feasible_share"], a["first_feasible"], a["never"]) == (pytest.approx(3 / 9), 3, 1)
    assert (b["feasible_share"], b["first_feasible"], b["never"]) == (1.0, 1, 0)


def test_a_run_that_ended_early_keeps_its_last_incumbent(filled: Fill) -> None:
    failed = make_run(0, [5.0, NAN], failure="ask: boom")
    curves = load(filled({make_cell(): [failed, make_run(1, [6.0, 5.0, 4.0])]}))
    assert curves.incumbent.tolist() == [[5.0, 5.0, 5.0], [6.0, 5.0, 4.0]]
    assert curves.runs["evaluations"].tolist() == [1, 3]
    assert statistics.feasibility(curves)["failed_runs"].tolist() == [1]


def test_wins_losses_and_ties_are_the_baselines(curves: Curves) -> None:
    table = statistics.compare(curves, baseline=0, checkpoints=(1, 3))
    assert table[["method", "evaluations", "pairs", "wins", "losses", "ties"]].values.tolist() == [
        [1, 1, 2, 0, 1, 1],  # 100 against 8 lost; 2 against 2 tied
        [1, 3, 2, 1, 0, 1],  # 3 against 7 won; rounding noise of 1e-12 tied
    ]


@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 5), st.integers(1, 4)), elements=st.integers(0, 6)))
def test_average_ranks_equal_those_of_pandas(values: np.ndarray) -> None:
    ranks, settings = statistics.average_ranks(values)
    expected = np.mean([pd.DataFrame(v).rank().to_numpy() for v in values], axis=0)
    assert settings == len(values)
    assert np.allclose(ranks, expected)


def test_settings_without_every_method_do_not_rank() -> None:
    values = np.array([[[1.0], [2.0]], [[NAN], [2.0]]])
    ranks, settings = statistics.average_ranks(values)
    assert (ranks.tolist(), settings) == ([[1.0], [2.0]], 1)
    assert np.isnan(statistics.average_ranks(values[1:])[0]).all()


def test_rounding_noise_does_not_rank() -> None:
    noisy = np.array([[[0.1 * 3], [0.3]], [[1e-20 * (1 + 1e-13)], [1e-20]], [[0.0], [-0.0]], [[-2.5], [-2.5 - 1e-15]]])
    assert statistics.average_ranks(noisy)[0].tolist() == [[1.5], [1.5]]


@given(arrays(float, 8, elements=st.integers(-6, 6)))
def test_the_signed_rank_test_is_scipys_with_zeros_dropped(differences: np.ndarray) -> None:
    p, floor = statistics.signed_rank(differences)
    kept = differences[differences != 0]
    if len(kept) == 0:
        assert (p, floor) == (1.0, 1.0)
    else:
        assert p == pytest.approx(stats.wilcoxon(kept).pvalue)
        assert p >= floor or p == pytest.approx(floor)


def test_zeros_do_not_change_the_test() -> None:
    differences = np.arange(1.0, 9.0)
    assert statistics.signed_rank(np.append(differences, np.zeros(6))) == statistics.signed_rank(differences)
    p, floor = statistics.signed_rank(np.append(np.arange(1.0, 6.0), np.zeros(9)))
    assert p == floor == pytest.approx(0.0625)


def test_the_floor_is_the_p_of_a_clean_sweep() -> None:
    for n in range(1, 30):
        assert statistics.signed_rank(np.arange(1.0, n + 1))[1] == pytest.approx(
            stats.wilcoxon(np.arange(1.0, n + 1)).pvalue
        )
    assert statistics.signed_rank(np.arange(1.0, 6.0))[0] > 0.05  # five pairs can never reach 0.05


def test_wilcoxons_example() -> None:
    """Darwin's maize, a textbook example: the rank sum is 24, the exact two-sided p 0.0413."""
    darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    assert statistics.signed_rank(darwin)[0] == pytest.approx(0.0413, abs=5e-4)


def test_holms_correction_on_a_worked_example() -> None:
    """0.01, 0.04, 0.03, 0.005 → 0.03, 0.06, 0.06, 0.02: multiply by 4, 3, 2, 1 in ascending order, keep the maximum."""
    assert statistics.holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(statistics.holm(np.array([]))) == 0


def test_relative_differences_do_not_depend_on_the_unit() -> None:
    values, baseline = np.array([3.0, 2.0, 0.0, 1.0]), np.array([2.0, 3.0, 0.0, 1.0 + 1e-12])
    found = statistics.relative_differences(values, baseline)
    assert found.tolist() == pytest.approx([1 / 3, -1 / 3, 0.0, 0.0])
    assert np.allclose(found, statistics.relative_differences(1e6 * values, 1e6 * baseline))


def test_medians_are_over_seeds(curves: Curves) -> None:
    medians = statistics.medians(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    assert medians[setting, 1].tolist() == [8.0, 8.0, 7.0]
    assert medians.shape == (2, 2, 3)

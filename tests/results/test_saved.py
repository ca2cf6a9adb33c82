"""Evaluations saved, held against searches whose speeds are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.parts.saved import part
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics import saving
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.saving import needed
from nasbench.results.subject import Subject
from tests.results.conftest import Fill, load_all, make_run, make_setup

BENCHES = ("x1", "x2", "x3", "x4")
SPEEDS = {"plain": 1, "twin": 1, "double": 2, "half": 0.5, "fast": 20}


@pytest.fixture
def stored(filled: Fill) -> Store:
    """Random searches of 60 evaluations; where `plain` looks at one value, `double` looks at two, `half` at a half."""
    rng = np.random.default_rng(5)

    def objectives(speed: float) -> list[float]:
        steps = [int((i + 1) * speed) - int(i * speed) for i in range(60)]
        return [float(rng.random(n).min()) if n else 1.0 for n in steps]

    return filled(
        {
            make_setup(method, bench=bench): [make_run(seed, objectives(speed)) for seed in range(20)]
            for method, speed in SPEEDS.items()
            for bench in BENCHES
        }
    )


def subject_of(store: Store) -> Subject:
    chosen = select([store])
    curves = load(chosen)
    baseline = curves.methods.index("plain")
    return Subject(Comparison(curves, baseline, (10.0, 20.0)), chosen)


@pytest.mark.parametrize(("method", "expected"), [("twin", 20), ("double", 40), ("half", 10)])
def test_the_baseline_needs_as_long_as_the_speeds_say(stored: Store, method: str, expected: float) -> None:
    comparison = subject_of(stored).comparison
    found = needed(comparison, comparison.methods.index(method), 20)
    assert found is not None
    assert found.needed == pytest.approx(expected, rel=0.35)
    assert found.these[0] <= expected <= found.these[1]
    assert found.these[0] < found.needed < found.these[1]
    assert found.new[0] < found.these[0]
    assert found.these[1] < found.new[1]


def test_a_budget_that_does_not_suffice_is_said(stored: Store) -> None:
    subject = subject_of(stored)
    comparison = subject.comparison
    found = needed(comparison, comparison.methods.index("fast"), 20)
    assert found is not None
    assert math.isinf(found.needed)
    (table,) = part(subject).tables
    row = table.shown[(table.shown["method"] == "fast") & (table.shown["after"] == "20")]
    assert row["plain needs"].item() == "> 60"
    assert list(table.data["after"]) == [10.0, 20.0] * 4
    with pytest.raises(StoreError, match="the part saved takes no options"):
        report.requested("saved:x")


@pytest.mark.slow
def test_intervals_cover_the_truth_of_equal_methods(filled: Fill) -> None:
    """Forty pairs of equal random searches: the baseline needs as long as the method, within 95 % intervals."""
    rng = np.random.default_rng(0)
    names = [f"m{i:02}" for i in range(41)]
    store = filled(
        {
            make_setup(name, bench=bench): [make_run(seed, rng.random(40).tolist()) for seed in range(10)]
            for name in names
            for bench in BENCHES[:2]
        }
    )
    curves = load(select([store]))
    comparison = Comparison(curves, 0, (20.0, 40.0))
    found = [needed(comparison, method, 20) for method in range(1, 41)]
    covered = [one is not None and one.these[0] <= 20 <= one.these[1] for one in found]
    # All forty share the baseline's runs, so misses come together: far more than two of forty are needed for a doubt.
    assert np.mean(covered) >= 0.85


def test_the_report_has_it_on_request(stored: Store, tmp_path: Path) -> None:
    report.write([stored], Request(tmp_path / "out", formats=("csv",), optional=("saved",), baseline="plain"))
    text = (tmp_path / "out" / "saved.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "method,after,needed,low,high,low_new,high_new"


def test_one_half_is_passed_where_a_line_between_points_reaches_it() -> None:
    points = np.array([1.0, 2.0, 3.0, 4.0])
    at = {(0.2, 0.4, 0.6, 0.7): 2.5, (0.2, 0.5, 0.5, 0.5): 2, (0.7, 0.8, 0.9, 1): 1, (0.4, 0.4, 0.4, 0.4): math.inf}
    for curve, expected in at.items():
        assert saving._passes(points, np.array(curve)) == pytest.approx(expected)


def test_of_a_budget_in_seconds_what_is_needed_is_in_seconds(filled: Fill) -> None:
    runs = {
        make_setup(name, evals=None, seconds=1.0): [make_run(seed, [3.0, 2.0, 1.0]) for seed in range(5)]
        for name in "ab"
    }
    for run in (run for own in runs.values() for run in own):
        run.columns["finished"][:] = [0.1, 0.2, 0.3]
    comparison = Comparison(load_all(filled(runs)), 0, (1.0,))
    assert needed(comparison, 1, 0.2).needed == pytest.approx(0.2, abs=0.011)


@pytest.mark.parametrize("seeds", [4, 5])
def test_what_cannot_be_told_has_no_interval(seeds: int, filled: Fill) -> None:
    """One benchmark says nothing about new tasks, and four seeds nothing about this one."""
    runs = {make_setup(name): [make_run(seed, [3.0, 2.0, 1.0]) for seed in range(seeds)] for name in "ab"}
    found = needed(Comparison(load_all(filled(runs)), 0, (3.0,)), 1, 2)
    assert found is not None
    assert np.isnan(found.new).all()
    assert np.isnan(found.these).all() == (seeds < 5)


def test_methods_that_share_no_setting_are_not_compared(filled: Fill) -> None:
    runs = {make_setup(m, bench=m): [make_run(seed, [3.0, 2.0, 1.0]) for seed in range(5)] for m in "ab"}
    assert needed(Comparison(load_all(filled(runs)), 0, (3.0,)), 1, 2) is None


def test_one_evaluation_may_suffice(filled: Fill) -> None:
    """The grid of a budget of 300 has steps of three evaluations."""
    ends = {"plain": 1.0, "slow": 2.0}
    setups = {
        make_setup(m, evals=300): [make_run(s, [end + s / 100] * 300) for s in range(6)] for m, end in ends.items()
    }
    found = needed(Comparison(load_all(filled(setups)), 0, (300.0,)), 1, 300.0)
    assert found is not None
    assert (found.needed, found.these[0]) == (1.0, 1.0)

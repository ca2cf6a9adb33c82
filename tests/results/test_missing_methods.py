"""Reports of stores in which a method lacks settings, and of ties: what the sentences count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict.headline import headline
from nasbench.results.verdict.limits import limits
from nasbench.results.verdict.scopes import standings
from tests.results.conftest import SETTING, Fill, make_run, make_setup

Values = Mapping[str, Mapping[tuple[str, str], Mapping[int, float]]]
"""Method → (search space, benchmark) → seed → the value that the run ends with."""


def subject(filled: Fill, values: Values) -> Subject:
    setups = {
        make_setup(m, bench=bench, setting=replace(SETTING, family=space)): [
            make_run(seed, [value]) for seed, value in own.items()
        ]
        for m, settings in values.items()
        for (space, bench), own in settings.items()
    }
    chosen = select([filled(setups)])
    curves = load(chosen)
    return Subject(Comparison(curves, 0, (curves.end,)), chosen)


def drawn(means: Mapping[str, Mapping[str, float]], benches: Mapping[str, int], seeds: int = 10) -> Values:
    """Normal values around means by method and search space, on some benchmarks of each space that a method has."""
    rng = np.random.default_rng(0)
    return {
        m: {
            (space, f"{space}{i}"): {s: mean + float(rng.normal()) for s in range(seeds)}
            for space, mean in own.items()
            for i in range(benches[space])
        }
        for m, own in means.items()
    }


@pytest.fixture
def lacking(filled: Fill) -> Subject:
    """Two spaces; c lacks the larger one, on which a wins, and b wins on the other."""
    means = {"a": {"x": 5.0, "y": 6.0}, "b": {"x": 6.0, "y": 5.5}, "c": {"y": 9.0}}
    return subject(filled, drawn(means, {"x": 12, "y": 8}))


def test_a_space_without_runs_of_every_method_is_no_scope(lacking: Subject) -> None:
    assert [scope.name for scope in standings(lacking.comparison) if scope.kind == "space"] == ["y"]


def test_wilcoxons_reasons_count_the_settings_of_its_test(lacking: Subject) -> None:
    assert lacking.comparison.rank_tests[0].count == 8


def test_a_first_place_by_settings_that_another_method_lacks_says_so(filled: Fill) -> None:
    """On the four benchmarks that all have a and b do not differ; on twelve others a wins."""
    values = {m: dict(own) for m, own in drawn({"a": {"x": 5.0}, "b": {"x": 7.0}}, {"x": 12}).items()} | {"c": {}}
    for i in range(4):
        for m, shift in (("a", 0.0), ("b", 0.001 if i else 0.15), ("c", 4.0)):
            values[m]["y", f"y{i}"] = {s: 5.0 + 0.1 * s + shift for s in range(10)}
    said = headline(subject(filled, values).comparison)
    assert said.startswith(
        "On these 4 benchmarks a is first (by pairs, on up to 16 settings; 4 of them have runs of every method)"
    )


def test_no_difference_on_settings_that_another_method_lacks_says_so(filled: Fill) -> None:
    rng = np.random.default_rng(1)
    values: dict[str, dict[tuple[str, str], dict[int, float]]] = {m: {} for m in "abc"}
    for i in range(6):
        for m in "abc" if i == 0 else "ab":
            values[m]["x", f"x{i}"] = dict(enumerate(rng.normal(5, 1, 10).tolist()))
    said = headline(subject(filled, values).comparison)
    assert said.startswith("On x0 no method differs significantly from ")
    assert "(by pairs, on up to 6 settings; 1 of them has runs of every method)" in said


def test_one_benchmark_with_every_method_cannot_be_left_out(filled: Fill) -> None:
    found = subject(filled, drawn({"a": {"x": 5.0, "y": 5.0}, "b": {"y": 7.0}}, {"x": 3, "y": 1}))
    assert not [text for text in limits(found.comparison) if "left out" in text]


def test_where_no_setting_has_every_method_a_report_is_made(filled: Fill, tmp_path: Path) -> None:
    means = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 5.0}, "c": {"y": 5.0}}
    found = subject(filled, drawn(means, {"x": 6, "y": 6}, seeds=12))
    assert found.comparison.overall.tested
    text = report.write([found.fragments[0][0]], Request(tmp_path / "out", formats=("html", "csv"))).text
    assert "No setting has runs of every method" in " ".join(text.split())

"""The facts of a report: pairs, scopes, limits, and the same as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.report.warnings import warnings_of
from nasbench.results.selection import Selection
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store.archive import Archive
from nasbench.results.subject import Subject
from nasbench.results.verdict import verdict
from nasbench.results.verdict.limits import limits
from nasbench.results.verdict.pairs import table as pairs_table
from nasbench.results.verdict.ranks import over_budget
from nasbench.results.verdict.scopes import figure, standings, table
from tests.results.conftest import SETTING, Fill, make_run, make_setup
from tests.results.drawn_runs import CONTRADICTING, PLACE, Values, clear, compared

# Where it holds


def two_by_two() -> Values:
    """a wins in space f where there is no constraint, b everywhere else."""
    values: Values = {"a": {}, "b": {}}
    for family, bench in (("f", "x"), ("g", "y")):
        for constraint in ("none", "size@0.1"):
            a_wins = family == "f" and constraint == "none"
            for method in "ab":
                better = (method == "a") == a_wins
                values[method][family, bench, constraint] = [(0.0 if better else 5.0) + s / 100 for s in range(12)]
    return values


def test_each_constraint_and_space_is_a_row_and_the_leader_is_set_against_the_best_other(filled: Fill) -> None:
    comparison = compared(filled, two_by_two())
    found = {scope.name: scope for scope in standings(comparison)}
    assert list(found) == ["all together", "size@0.1", "no constraint", "g", "f"]
    assert {name: scope.first for name, scope in found.items()} == {
        "all together": "b",
        "size@0.1": "b",
        "no constraint": "a and b",
        "g": "b",
        "f": "a and b",
    }
    assert found["size@0.1"].pair.these.value == 1.0
    assert found["no constraint"].pair.these.value == pytest.approx(0.5)
    assert found["g"].ends == found["g"].pair.these.interval() != found["g"].pair.interval  # of this row alone
    assert found["size@0.1"].ends == found["size@0.1"].pair.interval
    rows = table(comparison)
    assert rows is not None
    assert rows.shown["better"].tolist() == ["0.75*", "1.00*", "0.50", "1.00", "0.50"]
    assert rows.data["p_holm"].notna().tolist() == [True, True, True, False, False]  # single spaces have no verdict
    assert rows.data["settings"].tolist() == [4, 2, 2, 2, 2]


def test_one_kind_of_setting_has_no_such_table(filled: Fill) -> None:
    comparison = compared(filled, clear())
    assert table(comparison) is None
    assert figure(comparison) is None


def test_where_another_is_first_its_rows_come_last_and_name_it(filled: Fill) -> None:
    values: Values = {m: {} for m in "ab"}
    for number, space in enumerate("fghi"):
        for m in "ab":
            better = (m == "a") == (space != "i")
            values[m][space, f"{space}{number}", "none"] = [(0.0 if better else 5.0) + s / 100 for s in range(12)]
    (*_, last) = standings(compared(filled, values))
    assert (last.kind, last.name, last.first, last.against, last.pair.these.value) == ("space", "i", "b", "b", 0.0)


def test_a_leader_leads_where_another_method_stands_for_its_class(filled: Fill) -> None:
    """Without a constraint two methods are one, and the baseline stands for both; under one, the other is better."""
    free, bound = ("x", "b", "none"), ("x", "b", "size@0.1")
    values = {
        "leader": {free: [1 + s / 100 for s in range(20)], bound: [1 + s / 100 for s in range(20)]},
        "twin": {free: [1 + s / 100 for s in range(20)], bound: [2 + s / 100 for s in range(20)]},
        "last": {place: [3 + s / 100 for s in range(20)] for place in (free, bound)},
    }
    comparison = compared(filled, values, baseline=2)
    names = list(comparison.methods)
    assert names[comparison.overall.ranks[0].method] == "leader"
    assert names[comparison.by_constraint["none"].ranks[0].method] == "twin"
    found = {scope.name: scope for scope in standings(comparison)}
    assert found["no constraint"].first == "leader (=)"
    assert found["no constraint"].against == "last"


def test_samples_are_rows_where_a_default_was_chosen_on_a_space_that_is_here(filled: Fill) -> None:
    own = {}
    for bench, sealed in (("one", False), ("two", True)):
        for m, end in (("a", 1.0), ("b", 2.0)):
            setting = replace(SETTING, space=bench, family=bench, sealed=sealed)
            setup = make_setup(m, bench, setting=setting, tuned_on=("one",) if m == "a" else ())
            own[setup] = [make_run(s, [9.0, end + s / 100]) for s in range(8)]
    chosen = select([filled(own)])
    kinds = {scope.name: scope.kind for scope in standings(Comparison(load(chosen), 0, (2.0,)))}
    assert kinds == {
        "all together": "all",
        "in sample": "sample",
        "out of sample": "sample",
        "sealed": "sample",
        "one": "space",
        "two": "space",
    }


# Pairs


def test_what_is_equivalent_is_marked_and_what_is_equal_on_average_is_not(filled: Fill) -> None:
    """b is ahead in one space as it is behind in another, on 2 x 40 settings; c has the runs of a in another order."""
    rng = np.random.default_rng(2)
    values: Values = {m: {} for m in "abc"}
    for i in range(40):
        for space, shift in (("x", 0.8), ("y", -0.8)):
            own = rng.normal(5, 1, 20)
            values["a"][space, f"{space}{i}", "none"] = own.tolist()
            values["b"][space, f"{space}{i}", "none"] = rng.normal(5 + shift, 1, 20).tolist()
            values["c"][space, f"{space}{i}", "none"] = rng.permutation(own).tolist()
    found = pairs_table(compared(filled, values))
    assert found is not None
    cells = dict(zip(found.shown["against"], found.shown["better"], strict=True))
    assert cells["c"].endswith("≈")
    assert not cells["b"].endswith("≈")
    assert found.data.set_index("against").loc["b", "equal_on_average"]
    assert "≈ equivalent: between 0.45 and 0.55 in every search space" in found.marks


def test_seeds_that_can_tell_nothing_are_said_to_be_too_few(filled: Fill) -> None:
    """Five seeds on one benchmark: p is 0.008 at best, times 10 pairs, by 0.8."""
    found = pairs_table(compared(filled, clear("abcde", seeds=5)))
    assert found is not None
    assert "As few seeds as these cannot give p < 0.05 among 10 pairs" in found.marks


def test_the_bands_of_the_rank_plot_are_the_intervals_of_the_table(filled: Fill) -> None:
    rng = np.random.default_rng(1)
    values = {m: {("f", b, "none"): rng.normal(i, 2, 15).tolist() for b in "xy"} for i, m in enumerate("abcd")}
    comparison = compared(filled, values)
    panel = over_budget(comparison, 5)
    assert len(panel.series) == 4
    for series in panel.series:
        rank = comparison.overall.rank_of(series.method)
        assert rank is not None
        assert series.low is not None
        assert series.high is not None
        assert series.y[-1] == pytest.approx(rank.these.value)
        assert (series.low[-1], series.high[-1]) == pytest.approx(rank.these.interval(1.0, 4))


# Limits


def test_halves_of_the_seeds_that_disagree_are_named(filled: Fill) -> None:
    """a wins with every even seed, b with every odd one."""
    values = {m: {PLACE: [float((s + i) % 2) + s / 1000 for s in range(20)]} for i, m in enumerate("ab")}
    assert (
        limits(compared(filled, values))[0]
        == "Each half of the seeds alone has its own lowest rank: that of a, and that of b."
    )


def test_halves_of_the_seeds_that_agree_are_said_to(filled: Fill) -> None:
    assert limits(compared(filled, clear()))[0] == "Either half of the seeds alone gives a the lowest expected rank."


def test_halves_are_of_the_seeds_that_all_methods_have(filled: Fill) -> None:
    """b has every seed and is better; a has every other one."""
    rng = np.random.default_rng(0)
    own = {
        make_setup(m, bench=f"x{i}"): [make_run(s, [mean + float(rng.normal())]) for s in seeds]
        for i in range(3)
        for m, mean, seeds in (("a", 6.0, range(0, 20, 2)), ("b", 3.0, range(20)))
    }
    said = limits(Comparison(load(select([filled(own)])), 0, (1.0,)))
    assert said[0] == "Either half of the seeds alone gives b the lowest expected rank."


def test_a_benchmark_on_which_the_first_place_rests_is_named(filled: Fill) -> None:
    """y alone makes a the first: without it, b is."""
    noise = np.random.default_rng(0).normal(0, 1, (2, 3, 10))
    means = {"a": (5.0, 1.0, 5.0), "b": (4.9, 9.0, 4.9)}
    values = {
        m: {("f", bench, "none"): (own[j] + noise[i, j]).tolist() for j, bench in enumerate("xyz")}
        for i, (m, own) in enumerate(means.items())
    }
    assert "Another method has the lowest expected rank without one benchmark: b without y." in limits(
        compared(filled, values)
    )


def test_leaving_a_benchmark_out_counts_the_seeds_that_ranks_count(filled: Fill) -> None:
    """a is better on the five seeds that both have, and worse on the seven that it has alone."""
    values: Values = {"a": {}, "b": {}}
    for bench in ("x", "y"):
        values["a"]["f", bench, "none"] = [s / 100 for s in range(5)] + [9.0 + s for s in range(7)]
        values["b"]["f", bench, "none"] = [1 + s / 100 for s in range(5)]
    said = limits(compared(filled, values))
    assert "Whichever benchmark is left out, a has the lowest expected rank." in said


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_ties_without_a_benchmark_do_not_depend_on_names(filled: Fill, names: str) -> None:
    values: Values = {m: {("x", f"x{i}", "none"): [1.0] * 10 for i in range(3)} for m in names}
    for m, shift in zip(names, (0.0, 0.5), strict=True):
        values[m]["x", "x0", "none"] = [1.0 + shift + 0.01 * s for s in range(10)]
    assert any(text.startswith("Whichever benchmark is left out") for text in limits(compared(filled, values)))


def test_two_settings_are_too_few_for_wilcoxon_and_that_is_the_reason(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    means = {"a": 1.0, "b": 9.0}
    values = {m: {(f, f"{f}0", "none"): rng.normal(mean, 1, 10).tolist() for f in "xy"} for m, mean in means.items()}
    (said,) = [text for text in limits(compared(filled, values)) if "Wilcoxon" in text]
    assert said.startswith("Wilcoxon's test over 2 settings cannot be significant: its smallest p is 0.500, before")


def test_where_wilcoxons_test_agrees_nothing_is_said_of_it(filled: Fill) -> None:
    assert not [text for text in limits(compared(filled, clear())) if "Wilcoxon" in text]


def test_what_failed_is_counted_and_nothing_is_said_where_nothing_did(filled: Fill) -> None:
    own = {
        make_setup("a"): [
            make_run(s, [3.0, 2.0 + s if s else np.nan], failure="" if s else "ask: no") for s in range(6)
        ],
        make_setup("b"): [make_run(s, [3.0, 2.5 + s], [s > 0, s > 0]) for s in range(6)],
    }
    said = limits(Comparison(load(select([filled(own)])), 0, (2.0,)))
    assert "Of 12 runs: 1 stopped early; 1 found nothing feasible, which loses to any that did." in said


def test_where_nothing_failed_nothing_is_said_of_it(filled: Fill) -> None:
    assert not [text for text in limits(compared(filled, clear())) if text.startswith("Of ")]


# A method whose runs failed


def failing(filled: Fill, failed: int) -> Store:
    runs = {m: [make_run(s, [9.0, shift + s / 10]) for s in range(8)] for m, shift in (("a", 1.0), ("b", 2.0))}
    runs["bad"] = [make_run(s, [9.0, np.nan], failure="KeyError: 'x'") for s in range(failed)]
    runs["bad"] += [make_run(s, [9.0, 8.0]) for s in range(failed, 8)]
    return filled({make_setup(m): own for m, own in runs.items()})


@pytest.mark.parametrize(("failed", "is_out"), [(4, False), (5, True), (8, True)])
def test_a_method_most_of_whose_runs_failed_is_left_out_and_the_first_sentence_says_so(
    filled: Fill, tmp_path: Path, failed: int, is_out: bool
) -> None:
    store = failing(filled, failed)
    written = report.write([store], Request(tmp_path / "out"))
    said = f"{failed} of 8 runs of bad failed (KeyError: 'x'): it is left out. On toy a is first."
    assert written.verdict.headline.startswith(said) == is_out
    assert ("bad" in written.tables["ranks"]["method"].tolist()) != is_out


# Words


@pytest.mark.parametrize("archive", ["quick", pytest.param("wide", marks=pytest.mark.slow), "sealed"])
def test_no_sentence_has_more_than_25_words(archive: str) -> None:
    """But for the list of search spaces."""
    stored = Archive(Path("suites/archives") / f"{archive}.zip")
    chosen = select([stored])
    curves = load(chosen)
    subject = Subject(Comparison(curves, 0, (curves.end,)).led(), chosen)
    found = verdict(subject, warnings_of(subject.comparison, [fragment for _, fragment in chosen]), names_baseline=True)
    for text in (found.headline, found.compared, *found.limits, *found.warnings, found.protocol):
        for sentence in re.split(r"(?<=[.:;])\s", text):
            assert len(sentence.split()) <= 25, sentence


# One object


def test_json_has_the_facts_of_the_tables_and_null_where_nothing_is_known(filled: Fill) -> None:
    comparison = compared(filled, CONTRADICTING)
    found = verdict(Subject(comparison, select([filled({})])), ["a warning"])
    facts = json.loads(found.as_json())
    assert facts["headline"] == found.headline
    assert facts["warnings"] == ["a warning."]
    assert found.ranks is not None
    assert [row["method"] for row in facts["ranks"]] == found.ranks.data["method"].tolist()
    assert facts["pairs"][0]["better"] == pytest.approx(comparison.overall.pairs[0, 1].these.value, abs=1e-14)
    assert facts["pairs"][0]["p_new"] is not None
    assert facts["scopes"] is None
    assert "What is compared is the" in facts["protocol"]


def test_more_methods_than_can_be_compared_are_refused_unless_some_are_chosen(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup(f"m{i}"): [make_run(0, [1.0 + i])] for i in range(201)})
    with pytest.raises(StoreError, match="201 methods are more than the 200 of a report"):
        report.write([store], Request(tmp_path / "out"))
    chosen = report.write([store], Request(tmp_path / "out", selection=Selection(methods=("m1", "m2"))))
    assert chosen.tables["settings"] is not None


def test_a_baseline_that_was_left_out_is_refused_with_the_reason(filled: Fill, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"'bad' has no runs here.*\(8 of 8 runs of bad failed \(KeyError: 'x'\)"):
        report.write([failing(filled, 8)], Request(tmp_path / "out", baseline="bad"))

"""Reports of stores that are not as usual: selections, archives, failures, changed code, and names that collide."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.results import Setup, Store, StoreError
from nasbench.results.reading import load, select
from nasbench.results.report import export, report
from nasbench.results.report.page import runs
from nasbench.results.report.request import Request
from nasbench.results.report.single_run import evaluations
from nasbench.results.selection import Selection
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import pack
from nasbench.results.verdict import citation
from tests.results.conftest import FACTS, SETTING, Fill, begin, make_run, make_setup
from tests.results.test_searches import live, log, searched_run


def few(seed: int, shift: float = 0.0) -> list[float]:
    return [9.0, 5.0 + shift, 2.0 + shift + seed / 10]


def page_of(stores: list[Store], folder: Path, **changes: object) -> str:
    report.write(stores, Request(folder / "out", **changes))  # type: ignore[arg-type]
    return (folder / "out" / "index.html").read_text()


def test_what_is_not_selected_may_have_other_data(filled: Fill, tmp_path: Path) -> None:
    old = make_setup("b", data="sha256:old")
    store = filled({make_setup("a"): [make_run(s, few(s)) for s in range(3)], old: [make_run(0, few(0))]})
    chosen = report.write([store], Request(tmp_path / "out", formats=("csv",), selection=Selection(methods=("a",))))
    assert "a selection by hand" in " ".join(chosen.text.split())
    with pytest.raises(StoreError, match="two versions of the data"):
        report.write([store], Request(tmp_path / "both", formats=("csv",)))


def test_a_selection_of_a_store_whose_runs_are_under_way_says_so(store: Store, tmp_path: Path) -> None:
    begin(store, make_setup("a"), 0, [3.0, 2.0])
    with pytest.raises(StoreError, match="holds no finished run"):
        report.write([store], Request(tmp_path / "out", selection=Selection(methods=("a",))))


def test_searches_are_reported_beside_an_archive(store: Store, tmp_path: Path) -> None:
    other = Store.create(tmp_path / "theirs")
    metrics = [[5.0, 6.0, 7.0, 100.0, 100.0]] * 3
    other.commit(live("random"), [searched_run(s, [], metrics) for s in range(2)], FACTS)
    pack(other, tmp_path / "theirs.zip")
    searches = [searched_run(s, log([1, 0, 0, 0, 0]), metrics) for s in range(2)]
    store.commit(live("zo-darts"), searches, FACTS)
    chosen = [store, Archive(tmp_path / "theirs.zip")]
    report.write(chosen, Request(tmp_path / "out", formats=("csv",), score="observed"))
    assert (tmp_path / "out" / "searches.csv").read_text().count("zo-darts") == 1


def test_of_two_copies_of_a_run_the_one_without_a_failure_counts(tmp_path: Path) -> None:
    good, bad = Store.create(tmp_path / "good"), Store.create(tmp_path / "bad")
    good.commit(make_setup("a"), [make_run(0, few(0))], FACTS)
    bad.commit(make_setup("a"), [make_run(0, [9.0], failure="no memory")], FACTS)
    for stores in ([good, bad], [bad, good]):
        (run,) = load(select(stores)).runs.to_dict("records")
        assert (run["evaluations"], run["failure"]) == (3, "")


def test_the_page_of_an_archive_has_no_chooser_of_runs_and_says_how_to_compute_them(
    filled: Fill, tmp_path: Path
) -> None:
    store = filled({make_setup(m): [make_run(s, few(s, i)) for s in range(3)] for i, m in enumerate("ab")})
    pack(store, tmp_path / "packed up.zip")
    page = page_of([Archive(tmp_path / "packed up.zip", "packed up.zip")], tmp_path, score="observed")
    assert 'id="runs-data"' not in page
    assert "run-choice" not in page[page.index('<section id="runs"') : page.index('<section id="cite"')]
    assert "Archives keep no single evaluations" in page
    assert "<code>nasbench archive check &#39;packed up.zip&#39; --share 1</code>" in page
    assert 'id="runs-data"' in page_of([store], tmp_path)


def test_figures_are_written_where_no_setting_has_all_methods(filled: Fill, tmp_path: Path) -> None:
    apart = [make_setup("random", bench="a"), make_setup("c-tpe", bench="b")]
    store = filled({setup: [make_run(s, few(s)) for s in range(6)] for setup in apart})
    report.write([store], Request(tmp_path / "out", formats=("svg",), paper=tmp_path / "paper"))
    assert list((tmp_path / "out").glob("*.svg"))
    assert (tmp_path / "paper" / "README.md").exists()


def test_search_spaces_of_one_family_have_their_table(filled: Fill, tmp_path: Path) -> None:
    def of(space: str, method: str) -> Setup:
        return make_setup(method, bench=space, setting=replace(SETTING, family="digits", space=space))

    store = filled({of(space, m): [make_run(s, few(s)) for s in range(5)] for space in ("one", "two") for m in "ab"})
    report.write([store], Request(tmp_path / "out", formats=("csv",), optional=("families",)))
    assert (tmp_path / "out" / "spaces.csv").read_text().startswith("space,")
    assert not (tmp_path / "out" / "families.csv").exists()


def test_measured_times_on_the_clock_are_not_repeated_bit_for_bit(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup(m, charge_thinking=True): [make_run(s, few(s)) for s in range(5)] for m in "ab"})
    page = page_of([store], tmp_path)
    assert "Not repeatable bit for bit" in page
    assert "give the same bits" not in page


def test_the_commit_of_changed_code_is_not_cited_as_a_clean_one(store: Store) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    for method, suffix in (("a", ""), ("b", "-dirty")):
        store.commit(make_setup(method), [make_run(0, few(0))], FACTS | {"commit": commit + suffix})
    chosen = select([store])
    subject = report.Subject(None, chosen)  # type: ignore[arg-type]
    assert citation.commits(subject) == ["0123456789ab", "0123456789ab-dirty"]


def test_the_closing_row_of_a_failed_run_is_no_evaluation_anywhere(filled: Fill) -> None:
    failed = make_run(0, [3.0, 2.0, math.nan], failure="the method raised")
    store = filled({make_setup("a"): [failed, make_run(1, [5.0, 4.0, 3.0])]})
    ((_, fragment),) = select([store])
    assert [(run.seed, span.start, span.stop) for run, span in fragment.spans()] == [(0, 0, 2), (1, 3, 6)]
    (setup,) = json.loads(runs.as_json([(store, fragment)], {"a": 0}, ["a"]))["setups"]
    assert setup["rows"] == [2, 3]
    assert setup["y"] == [3.0, 2.0, 5.0, 4.0, 3.0]
    assert setup["steps"] == [0, 1, 2, 3, 4]
    assert evaluations((fragment, fragment.runs[0]))["objective"].tolist() == [3.0, 2.0]
    assert evaluations((fragment, fragment.runs[1]))["objective"].tolist() == [5.0, 4.0, 3.0]
    assert load(select([store])).runs["evaluations"].tolist() == [2, 3]


def test_of_two_methods_the_first_is_better_than_the_other(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup(m): [make_run(s, few(s, 3 * i)) for s in range(12)] for i, m in enumerate("ab")})
    assert "On toy a is first." in page_of([store], tmp_path)


def test_constraints_whose_names_hold_none_keep_them(filled: Fill, tmp_path: Path) -> None:
    constraints = ("none", "nonempty_cells@0.1")
    store = filled(
        {make_setup(m, constraint=c): [make_run(s, few(s)) for s in range(5)] for m in "ab" for c in constraints}
    )
    page = page_of([store], tmp_path)
    assert "no constraintmpty" not in page
    assert "no constraint" in page


def test_files_of_names_that_look_alike_do_not_replace_each_other(filled: Fill) -> None:
    store = filled({make_setup(m): [make_run(s, few(s)) for s in range(2)] for m in ("a", "b")})
    curves = replace(load(select([store])), labels=("x/y", "x y"))
    described = [name for name in export.ioh(curves) if name.endswith(".json")]
    assert len(described) == 2

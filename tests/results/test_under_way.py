"""Runs that are under way: their journals as runs that a report can read, cut where the shortest of them is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.reading import load, select
from nasbench.results.report.report import write
from nasbench.results.report.request import Request
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.journal import Record
from nasbench.results.store.under_way import BegunRun, beginning, under_way
from tests.results.conftest import FACTS, SETTING, begin, described, make_run, make_setup


@pytest.fixture
def asked(store: Store) -> Callable[..., Store]:
    """A store with runs of 5 evaluations of `a` and `b`, of which some plan asks for two seeds each."""

    def ask(**changes: object) -> Store:
        setups = [make_setup(name, **{"evals": 5} | changes) for name in "ab"]
        store.save_plan("c", [(setup, [0, 1]) for setup in setups], {})
        for setup in setups:
            store.commit(setup, [make_run(0, [9.0, 8.0, 7.0, 6.0, 5.0])], FACTS)
        begin(store, setups[0], 1, [4.0, math.nan, 3.0])
        begin(store, setups[1], 1, [2.0, 1.0])
        return store

    return ask


def test_a_journal_gives_the_rows_that_the_run_would_have_in_the_store(asked: Callable[..., Store]) -> None:
    a, _ = under_way(asked())
    table = a.fragment().table()
    stored = make_run(1, [4.0, math.nan, 3.0])
    assert table.schema.names == asked().fragments()[0].table().schema.names
    for name in ("evaluation", "objective", "feasible", "incumbent", "started", "finished", "status", "reason"):
        np.testing.assert_array_equal(table[name].to_numpy(), stored.columns[name])
    assert table["spent"].to_pylist() == [1.0, 2.0, 3.0]
    assert (a.spent, a.clock, a.incumbent, a.share) == (3.0, 3.0, 3.0, 0.6)


def test_of_continued_trainings_the_incumbent_is_the_best_at_the_highest_level() -> None:
    setup = make_setup(evals=5, setting=replace(SETTING, highest=3))
    rows = [(0, 0, 1, 5.0), (1, 1, 1, 2.0), (2, 0, 3, 4.0), (3, 3, 1, 1.0)]
    records = [Record(n, "{}", (y, 1.0), 1.0, "ok", "", n, n + 1, trial, level, True) for n, trial, level, y in rows]
    run = BegunRun(Path("j"), setup, 0, records)
    assert [row.incumbent for row in run.rows] == [5.0, 2.0, 4.0, 4.0]
    assert [row.spent * 3 for row in run.rows] == [1.0, 2.0, 4.0, 5.0]


def test_trainings_in_parts_are_cut_at_the_last_whole_evaluations_worth(store: Store) -> None:
    """(Trial, level) of each part, of 3 levels: a third, two, four, five; and a third, two, three, five, eight."""
    setup, found = make_setup(evals=5, setting=replace(SETTING, highest=3)), []
    for seed, parts in enumerate([[(0, 1), (1, 1), (0, 3), (3, 1)], [(0, 1), (1, 1), (2, 1), (0, 3), (4, 3)]]):
        records = [Record(n, "{}", (1.0, 1.0), 1.0, "ok", "", n, n + 1, *part, True) for n, part in enumerate(parts)]
        found.append((store, BegunRun(Path("j"), setup, seed, records).fragment()))
    cut = beginning(found)
    assert cut is not None
    assert (cut.end, [len(f.table()) for _, f in cut.fragments]) == (1.0, [2, 3])


def test_what_violates_a_constraint_is_no_incumbent(store: Store) -> None:
    store.save_plan("c", [(make_setup(), [0])], {})
    begin(store, make_setup(), 0, [2.0, 1.0], feasible=False)
    (run,) = under_way(store)
    assert math.isnan(run.incumbent)
    assert "No feasible evaluation among 2." in described(store, "random", "toy", None, 0)


def test_stored_runs_and_strange_journals_are_not_under_way(store: Store) -> None:
    setup = make_setup()
    store.save_plan("c", [(setup, [0, 1, 2])], {})
    store.commit(setup, [make_run(0, [1.0])], FACTS)
    begin(store, setup, 0, [1.0])  # as --retry-failed keeps it
    begin(store, setup, 3, [1.0])  # asked for by nobody
    (store.journals / f"{setup.run_id(2)}.jsonl").write_bytes(
        (store.journals / f"{setup.run_id(3)}.jsonl").read_bytes()
    )
    assert under_way(store) == []


def test_a_run_that_is_under_way_is_shown_as_partial(asked: Callable[..., Store]) -> None:
    page = described(asked(), "a", "toy", "none", 1)
    assert "a on toy, none, seed 1" in page
    assert "(partial)" in page.splitlines()[0]
    assert "Under way: 3 evaluations so far." in page
    assert "Best valid-error@1: 3 %" in page
    assert "1 failed evaluation, the first: boom" in page
    assert "(partial)" not in described(asked(), "a", "toy", "none", 0)


def test_every_run_counts_with_what_the_shortest_under_way_has_done(asked: Callable[..., Store]) -> None:
    cut = beginning(select([asked()], partial=True))
    assert cut is not None
    assert (cut.end, cut.protocol, cut.under_way) == (2.0, "the first 2 of 5 evaluations on 1 worker", 2)
    curves = load(cut.fragments)
    assert curves.evaluations == 2
    assert curves.incumbent.tolist() == [[9.0, 8.0], [9.0, 8.0], [4.0, 4.0], [2.0, 1.0]]


def test_a_budget_in_seconds_is_cut_by_the_clock(asked: Callable[..., Store]) -> None:
    cut = beginning(select([asked(evals=None, seconds=5.0)], partial=True))
    assert cut is not None
    assert (cut.end, cut.protocol) == (2.0, "the first 2 of 5 seconds on 1 worker")
    assert [f.table()["finished"].to_pylist() for _, f in cut.fragments] == [[1, 2]] * 4


def test_what_finishes_after_the_seconds_does_not_count(asked: Callable[..., Store]) -> None:
    """`a` has one at 5 s and one at 6 s, where the budget ends at 5.5."""
    store = asked(evals=None, seconds=5.5)
    setup = make_setup("late", evals=None, seconds=5.5)
    store.save_plan("d", [(setup, [0])], {})
    begin(store, setup, 0, [9.0, 8.0, 7.0, 6.0, 5.0, 4.0])
    late = [(s, f) for s, f in select([store], partial=True) if f.setup.method == "late"]
    cut = beginning(late)
    assert cut is not None
    assert cut.end == 5.5
    assert load(cut.fragments).incumbent[:, -1].tolist() == [5.0]


@pytest.mark.parametrize(("end", "rows", "failure"), [(1, 1, ""), (2, 3, "boom"), (9, 3, "boom")])
def test_a_run_that_stopped_early_has_stopped_once_its_last_evaluation_is_reached(
    store: Store, end: int, rows: int, failure: str
) -> None:
    setup = make_setup(evals=9)
    store.save_plan("c", [(setup, [0, 1, 2])], {})
    stopped, whole = make_run(0, [3.0, 2.0, math.nan], failure="boom"), make_run(2, [5.0] * 9)
    store.commit(setup, [stopped, whole], FACTS)
    begin(store, setup, 1, [1.0] * end)
    cut = beginning(select([store], partial=True))
    assert cut is not None
    found = {run.seed: run for _, f in cut.fragments for run in f.runs}
    assert (found[0].rows, found[0].failure) == (rows, failure)
    assert [sum(run.rows for run in f.runs) for _, f in cut.fragments] == [len(f.table()) for _, f in cut.fragments]
    curves = load(cut.fragments)
    assert sorted(curves.runs["evaluations"]) == sorted([min(end, 2), end, end])


def test_without_runs_under_way_nothing_is_cut(curves: object, store: Store) -> None:
    assert beginning(select([store], partial=True)) is None


def test_a_report_takes_what_is_under_way_on_request_and_says_so(asked: Callable[..., Store], tmp_path: Path) -> None:
    store = asked()

    def said(partial: bool) -> str:
        report = write([store], Request(tmp_path / "r", formats=["md"], partial=partial))
        assert (tmp_path / "r" / "report.md").read_text().startswith("# nasbench report (partial)\n")
        return " ".join(report.text.split())

    finished, partial = said(False), said(True)
    assert "2 of the 4 runs asked for are missing" in finished
    assert "2 of them under way (--partial)" in finished
    assert "2 runs of 5 evaluations on 1 worker" in finished
    assert "2 runs are under way (partial): every run counts with the first 2 of 5 evaluations on 1 worker" in partial
    assert "4 runs of the first 2 of 5 evaluations on 1 worker" in partial


def test_what_another_of_the_stores_has_is_neither_missing_nor_under_way(
    asked: Callable[..., Store], tmp_path: Path
) -> None:
    one, other = asked(), Store.create(tmp_path / "other")
    for name in "ab":
        other.commit(make_setup(name, evals=5), [make_run(1, [9.0, 8.0, 7.0, 6.0, 5.0])], FACTS)
    report = write([one, other], Request(tmp_path / "r", formats=["md"], partial=True))
    assert (tmp_path / "r" / "report.md").read_text().startswith("# nasbench report\n")
    assert "4 runs of 5 evaluations on 1 worker" in " ".join(report.text.split())


@pytest.mark.parametrize(("maximised", "best"), [((), 1.0), (("speed",), 3.0)])
def test_of_several_objectives_the_first_is_the_objective(maximised: tuple[str, ...], best: float) -> None:
    setting = replace(SETTING, maximised=maximised)
    names = {"metrics": ("error", "speed", "hypervolume"), "objectives": ("speed", "error")}
    records = [Record(n, "{}", (5.0, y), 1.0, "ok", "", n, n + 1, n, 1, True) for n, y in enumerate((2.0, 3.0, 1.0))]
    run = BegunRun(Path("j"), make_setup(evals=5, setting=setting, **names), 0, records)
    assert ([row.objective for row in run.rows], run.incumbent) == ([2.0, 3.0, 1.0], best)


def test_runs_of_less_than_one_whole_evaluation_are_left_out(store: Store) -> None:
    setup = make_setup(setting=replace(SETTING, highest=3))
    store.save_plan("c", [(setup, [0, 1])], {})
    begin(store, setup, 0, [1.0], level=2)
    with pytest.raises(StoreError, match=r"holds no finished run: .* says what is missing$"):
        select([store], partial=True)
    begin(store, setup, 1, [1.0], level=3)
    with pytest.raises(StoreError, match="--partial reports the 1 under way"):
        select([store])
    (found,) = select([store], partial=True)
    assert isinstance(found[1], Fragment)

"""`nasbench status --watch`, and terminals of 80 columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.base.layout import filled, in_columns, prose, span, terminal_width
from nasbench.cli.commands.status import follow
from nasbench.cli.commands.status import under_way as shown
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.under_way import described
from nasbench.results import Store
from nasbench.results.store.journal import Journal, Record
from nasbench.results.store.status import status as status_of
from nasbench.results.store.under_way import under_way
from tests.conftest import Printed
from tests.results.conftest import FACTS, SETTING, begin, make_run, make_setup

Command = Callable[..., Printed]


def test_what_is_under_way_is_shown_until_nothing_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.create(tmp_path / "s")
    setup = make_setup("a", evals=50)
    store.save_plan("c", [(setup, [0, 1, 2])], {})
    store.commit(setup, [make_run(0, [1.0])], FACTS)
    journal = Journal(store.journals / f"{setup.run_id(1)}.jsonl", setup.run_id(1))
    for i, value in enumerate((7.0, 4.0, 5.0)):
        journal.append(Record(i, "{}", (value, 1.0), 60.0, "ok", "", 60.0 * i, 60.0 * (i + 1), i, 1, i != 1))
    journal.close()
    times = iter([0.0, 0.0, 60.0])

    def pause(_: float) -> None:
        store.commit(setup, [make_run(seed, [1.0]) for seed in (1, 2)], FACTS)

    follow(store, pause, lambda: next(times))
    first, second = capsys.readouterr().out.split("3 of 3 runs")
    assert "1 of 3 runs (partial)" in first
    assert (
        "a on toy, none, seed 1 (partial): 3 of 50 evaluations, 3.0 min on its clock, best valid-error@1 5 %; about "
        "47.0 min left"
    ) in first
    assert "partial" not in second


def test_the_time_that_is_left_is_that_of_the_pace_since_the_watching_began(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of ten runs are there at first; then come two in the first minute, and four in the second."""
    store = Store.create(tmp_path / "s")
    setup = make_setup("a")
    store.save_plan("c", [(setup, list(range(10)))], {})
    store.commit(setup, [make_run(seed, [1.0]) for seed in range(2)], FACTS)
    times, added = iter([0.0, 0.0, 60.0, 120.0, 180.0]), iter([range(2, 4), range(4, 8), range(8, 10)])

    def pause(_: float) -> None:
        store.commit(setup, [make_run(seed, [1.0]) for seed in next(added)], FACTS)

    follow(store, pause, lambda: next(times))
    lines = [line for line in capsys.readouterr().out.splitlines() if " of 10 runs" in line]
    assert lines == [
        "2 of 10 runs (partial)",
        "4 of 10 runs (partial); about 3.0 min left",
        "8 of 10 runs (partial); about 40 s left",
        "10 of 10 runs",
    ]


def test_runs_under_way_are_those_that_are_missing_and_have_a_journal(tmp_path: Path) -> None:
    """The journal of a stored run may have been left behind; what has none has not begun. Lines are at most 24."""
    store = Store.create(tmp_path / "s")
    one, other = make_setup("a"), make_setup("b")
    store.save_plan("c", [(one, [0, 1, 2]), (other, list(range(30)))], {})
    store.commit(one, [make_run(0, [1.0])], FACTS)
    for seed in (0, 2):
        begin(store, one, seed, [4.0])
    for seed in range(26):
        begin(store, other, seed, [4.0])
    text = shown(store, status_of(store, is_current))
    assert [line.split() for line in text.splitlines()[1:3]] == [["a", "1/3", "1"], ["b", "0/30", "26"]]
    lines = [line for line in text.splitlines() if "seed" in line]
    assert lines[0].startswith("a on toy, none, seed 2 (partial): 1 of 3 evaluations")
    assert sum(line.startswith("a on") for line in lines) == 1
    assert len(lines) == 24
    assert text.endswith("… and 3 more")


def test_watching_what_is_finished_ends_at_once(nasbench: Command, small_store: Store) -> None:
    printed = nasbench("status", small_store.folder, "--watch")
    assert printed.code == 0
    assert "6 of 6 runs\n" in printed.out


def test_watching_says_what_is_damaged(small_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = small_store.folder.glob("random.*.parquet")
    path.write_bytes(path.read_bytes()[:-9])

    class Stopped(Exception):
        pass

    def pause(_: float) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        follow(Store.open(small_store.folder), pause)
    assert "is set aside" in capsys.readouterr().err


def test_damage_is_said_where_an_archive_has_no_run_of_the_settings(nasbench: Command, small_store: Store) -> None:
    paths = list(small_store.folder.glob("*.parquet"))
    for path in paths:
        path.write_bytes(path.read_bytes()[:-9])
    printed = nasbench("report", small_store.folder, "--against", "quick")
    assert printed.code == 2
    assert "(no run)" in printed.err
    assert printed.err.count("is set aside") == len(paths)


def test_a_report_of_what_is_not_finished_is_called_partial(
    nasbench: Command, small_store: Store, tmp_path: Path
) -> None:
    def title() -> str:
        nasbench("report", small_store.folder, "--out", tmp_path / "r", "--format", "md")
        return (tmp_path / "r" / "report.md").read_text().partition("\n")[0]

    assert title() == "# nasbench report"
    (path,) = small_store.folder.glob("random.*.parquet")
    path.unlink()
    assert title() == "# nasbench report (partial)"


@pytest.mark.parametrize("words", [("list",), ("list", "--matrix"), ("show", "nb201-cifar10"), ("show", "digits")])
def test_lists_fit_80_columns(nasbench: Command, words: tuple[str, ...]) -> None:
    out = nasbench(*words).out
    assert max(map(len, out.splitlines())) <= 80


def test_a_table_that_is_too_wide_is_split_by_columns() -> None:
    rows = [("name", "a" * 30, "b" * 30, "c" * 30), ("row", "1", "2", "3")]
    first, second = in_columns(rows, 80).split("\n\n")
    assert first.split() == ["name", "a" * 30, "b" * 30, "row", "1", "2"]
    assert second.split() == ["name", "c" * 30, "row", "3"]


def test_words_wrap_under_themselves() -> None:
    assert prose([("x", "one two three"), ("long", "four")], 26) == "x     one two three\nlong  four"
    assert prose([("x", "one two three four five")], 24) == "x  one two three four\n   five"


def test_of_several_objectives_the_first_is_shown_by_its_name(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    scales = (("time", "s", False, True), ("valid-error@1", "%", False, False))
    setting = replace(SETTING, objective="time and valid-error@1", unit="", scales=scales)
    setup = make_setup("a", objectives=("time", "valid-error@1"), setting=setting)
    store.save_plan("c", [(setup, [0])], {})
    begin(store, setup, 0, [7.0, 4.0])
    (line,) = described(under_way(store), 3)
    assert "best time 1 s" in line


def test_a_value_at_a_low_level_is_said_to_be_one(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    setups = [make_setup(name, setting=replace(SETTING, highest=27)) for name in ("a", "b")]
    store.save_plan("c", [(setup, [0]) for setup in setups], {})
    begin(store, setups[0], 0, [7.0, 4.0], level=3)
    begin(store, setups[1], 0, [7.0, 4.0], level=27)
    low, whole = described(under_way(store), 3)
    assert "best valid-error@1 4 % at level 3 of 27" in low
    assert "best valid-error@1 4 %" in whole
    assert "level" not in whole


def test_runs_that_python_asked_for_are_finished_from_python(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    store.save_plan("nasbench.run(…)", [(make_setup("a"), [0])], {})
    assert f"nasbench.run(…) with store {store.folder}" in nasbench("status", store.folder).out


def test_a_path_is_never_broken() -> None:
    path = "/home/somebody/a-long-name/" + "deep/" * 10
    assert filled(f"its file is {path}", 30).splitlines() == ["its file is", f"    {path}"]
    assert path in prose([("name", f"of {path}")], 30)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (1, "1 s"),
        (59, "59 s"),
        (60, "1.0 min"),
        (3599, "60.0 min"),
        (3600, "1.0 h"),
        (86399, "24.0 h"),
        (86400, "1.0 days"),
    ],
)
def test_a_duration_has_the_largest_unit_that_fits(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_a_terminal_without_a_width_has_80_columns_and_a_narrow_one_20(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert terminal_width() == 80
    monkeypatch.setenv("COLUMNS", "7")
    assert terminal_width() == 20

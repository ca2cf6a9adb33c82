"""Archives: what is packed, where it is written, and what the commands say."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nasbench import report, run
from nasbench.cli.engine.archives import open_archive, recompute
from nasbench.results import Store, StoreError
from nasbench.results.store import content_hash
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import kept_rows, pack
from tests.conftest import Printed
from tests.nasbench_cli.archived import SEEDS, exchanged, forged
from tests.results.conftest import FACTS, make_run, make_setup


def test_an_archive_is_small_and_the_same_bytes_each_time(packed: Path) -> None:
    size = pack(Store.open(packed / "store"), packed / "again.zip")
    assert (packed / "again.zip").read_bytes() == (packed / "store.zip").read_bytes()
    assert size < sum(path.stat().st_size for path in (packed / "store").glob("*.parquet")) / 3


def test_rows_are_kept_where_an_incumbent_or_its_score_changes_and_at_the_end() -> None:
    nan = np.nan
    columns = {
        "incumbent": np.array([nan, nan, 3.0, 3.0, 3.0, 2.0, 2.0]),
        "hidden": np.array([nan, nan, 5.0, 5.0, nan, 1.0, 1.0]),
        "hidden_feasible": np.array([-1, -1, 1, 1, -1, 1, 1]),
    }
    assert kept_rows(columns)["row"].tolist() == [0, 2, 4, 5, 6]
    assert kept_rows(columns | {"incumbent": np.array([nan, nan, 3.0, 3.0, 3.0, 3.0, 3.0])}, stopped=True)[
        "row"
    ].tolist()[-2:] == [5, 6]
    assert kept_rows(columns | {"level": np.ones(7)})["row"].tolist() == list(range(7))


def test_a_store_whose_archive_would_be_refused_is_not_packed(tmp_path: Path) -> None:
    """Suites refuse such titles; a store of an earlier version may have one."""
    store = Store.create(tmp_path / "store")
    store.save_plan("c", [(make_setup(), [0])], {"title": "two\nlines"})
    store.commit(make_setup(), [make_run(0, [1.0])], FACTS)
    with pytest.raises(StoreError, match="a title, a label or a name with a control character"):
        pack(store, tmp_path / "store.zip")
    assert not (tmp_path / "store.zip").exists()
    half = Store.create(tmp_path / "half")
    half.commit(make_setup(), [make_run(0, [1.0])], FACTS | {"origin": "half a character: \ud83d"})
    with pytest.raises(StoreError, match="a control character"):
        pack(half, tmp_path / "half.zip")
    whole = Store.create(tmp_path / "whole")
    whole.commit(make_setup(), [make_run(0, [1.0])], FACTS | {"origin": "a whole one: \U0001f600"})
    pack(whole, tmp_path / "whole.zip")
    other = Store.create(tmp_path / "other")
    other.commit(make_setup(), [make_run(0, [1.0])], FACTS | {"origin": "runs\u202evsc.exe"})
    with pytest.raises(StoreError, match="a control character"):
        pack(other, tmp_path / "other.zip")


def test_what_is_missing_is_said_when_an_archive_is_made_and_in_its_reports(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = ("--method", "random", "--method", "local", "--bench", "hpolib-naval", "--seeds", 5, "--evals", 9)
    assert nasbench("run", *asked, "--store", tmp_path / "store").code == 0
    next((tmp_path / "store").glob("local.*.parquet")).unlink()
    made = nasbench("archive", "make", tmp_path / "store")
    assert (made.code, "notice: 5 runs that were asked for are missing" in made.err) == (0, True)
    said = nasbench("report", "--against", tmp_path / "store.zip", "--out", tmp_path / "out").out
    assert "5 of the 10 runs asked for are missing" in " ".join(said.split())


def test_a_damaged_file_of_a_store_is_named_when_an_archive_is_made(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    run(["random", "local"], "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    path = next((tmp_path / "store").glob("local.*.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    made = nasbench("archive", "make", tmp_path / "store")
    assert (made.code, f"notice: {path} is set aside" in made.err) == (0, True)
    path = next((tmp_path / "store").glob("random.*.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    refused = nasbench("archive", "make", tmp_path / "store")
    assert (refused.code, f"notice: {path} is set aside" in refused.err) == (2, True)


def test_the_hash_of_an_archive_is_that_of_the_runs_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command adds runs, or takes one out, while a store is packed."""
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    store = Store.open(tmp_path / "store")
    before, listed = content_hash(store), store.fragments()
    run("local", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    assert content_hash(store) != before
    monkeypatch.setattr(store, "fragments", lambda: listed)
    pack(store, tmp_path / "store.zip")
    assert Archive(tmp_path / "store.zip").contents == before
    listed[0].path.unlink()
    with pytest.raises(StoreError, match=r"cannot be read now .*give the same command again"):
        pack(store, tmp_path / "store.zip")


def test_an_archive_is_written_beside_its_store_and_over_nothing_else(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    inside = nasbench("archive", "make", tmp_path / "store", "--out", tmp_path / "store" / "all.zip")
    assert (inside.code, "lies inside the store" in inside.err) == (2, True)
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "second")
    beside = nasbench("archive", "make", tmp_path / "store", "--out", tmp_path / "second" / "all.zip")
    assert (beside.code, f"{tmp_path / 'second'} is a store" in beside.err) == (2, True)
    with zipfile.ZipFile(tmp_path / "store.zip", "w") as file:
        file.writestr("notes.txt", "mine")
    over = nasbench("archive", "make", tmp_path / "store")
    assert (over.code, "is there already, and no archive" in over.err) == (2, True)
    (tmp_path / "store.zip").unlink()
    assert nasbench("archive", "make", tmp_path / "store").code == 0
    assert nasbench("archive", "make", tmp_path / "store").code == 0  # its own it writes again
    run("local", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    assert nasbench("archive", "make", tmp_path / "store").code == 0  # also with more runs
    run("random", "hpolib-naval", seeds="1:3", evals=5, store=tmp_path / "another")
    others = nasbench("archive", "make", tmp_path / "another", "--out", tmp_path / "store.zip")
    assert (others.code, "an archive with 3 runs that" in others.err) == (2, True)
    assert len(Archive(tmp_path / "store.zip").fragments()) == 2


def test_runs_without_an_evaluation_are_archived_and_shown(tmp_path: Path) -> None:
    run("random", "nb201-cifar10", seeds=6, seconds=2000.0, store=tmp_path / "short")
    pack(Store.open(tmp_path / "short"), tmp_path / "short.zip")
    archive = Archive(tmp_path / "short.zip")
    assert min(record.rows for f in archive.fragments() for record in f.runs) == 0
    assert all(one.same for one in recompute(archive, 1.0, 0))
    page = report(tmp_path / "short", out=tmp_path / "page", format="html")  # with all evaluations in the page
    assert [path.name for path in page.files] == ["index.html"]


ADVICE = "--out names the file to write, in a folder that exists\n"


def test_the_commands(nasbench: Callable[..., Printed], packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    made = nasbench("archive", "make", packed / "store", "--out", path)
    assert made.code == 0
    assert f"{5 * SEEDS} runs of {packed / 'store'} in {round(path.stat().st_size / 1e3)} kB: {path}" in made.out
    checked = nasbench("archive", "check", path, "--share", 0.2)
    assert checked.code == 0
    assert f"{SEEDS} runs computed again with the same bits, 0 with others" in checked.out
    assert Archive(path).contents in checked.out
    assert nasbench("archive", "check", path, "--share", 2).code == 2
    assert nasbench("archive", "check", "nothing").err.startswith("nasbench: unknown archive 'nothing'")
    missing = nasbench("archive", "check", "nothing.zip")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.startswith("nasbench: there is no file nothing.zip; archives that come with nasbench: card")
    nowhere = nasbench("archive", "make", packed / "store", "--out", tmp_path / "no" / "a.zip")
    assert (nowhere.code, nowhere.err) == (2, f"nasbench: there is no folder {tmp_path / 'no'}: {ADVICE}")
    on_it = nasbench("archive", "make", packed / "store", "--out", tmp_path)
    assert (on_it.code, on_it.err) == (2, f"nasbench: {tmp_path} is a folder: {ADVICE}")
    assert nasbench("report").code == 2


def test_a_suite_runs_with_other_methods(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    suite = tmp_path / "few.toml"
    suite.write_text(
        'title = "few"\nmethods = ["random"]\nbenchmarks = ["nb201-cifar10"]\nseeds = 2\nevals = 5\nworkers = 3\n'
    )
    printed = nasbench("run", "--suite", suite, "--method", "evolution:population=3", "--store", tmp_path / "mine")
    assert printed.code == 0
    setups = {(f.setup.method, f.setup.protocol) for f in Store.open(tmp_path / "mine").fragments()}
    assert setups == {("evolution:population=3", "5 evaluations on 3 workers")}
    assert nasbench("run", "--suite", suite, "--evals", 9).code == 2
    assert nasbench("run", "--suite", suite, "--method", "local", "--without", "random").code == 2


def test_the_name_of_an_archive_that_comes_with_the_project_is_not_taken_by_a_file(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quick").write_bytes((packed / "store.zip").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert len(open_archive("./quick").fragments()) < 10 < len(open_archive("quick").fragments())


def test_the_command_names_each_run_that_differs_and_ends_with_1(
    nasbench: Callable[..., Printed], packed: Path
) -> None:
    checked = nasbench("archive", "check", forged(packed, exchanged), "--share", 1)
    assert checked.code == 1
    different = re.findall(r"^DIFFERENT  (\S+) on \S+, \S+, seed \d+$", checked.out, re.MULTILINE)
    assert len(different) == 5 * 4
    assert "5 runs computed again with the same bits, 20 with others" in checked.out


def test_a_check_takes_a_fiftieth_unless_it_is_told_otherwise(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    run("random", "hpolib-naval", seeds=100, evals=1, store=tmp_path / "s")
    pack(Store.open(tmp_path / "s"), tmp_path / "s.zip")
    assert "2 of 100 runs, chosen by" in nasbench("archive", "check", tmp_path / "s.zip").out


def test_the_contents_of_a_store_have_one_line_wherever_it_is_printed(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "s")
    line = f"contents sha256:{content_hash(Store.open(tmp_path / 's'))}"
    for words in (
        ["status", tmp_path / "s"],
        ["archive", "make", tmp_path / "s"],
        ["archive", "check", tmp_path / "s.zip"],
    ):
        assert line in nasbench(*words).out, words


def test_runs_with_several_objectives_are_not_archived(tmp_path: Path) -> None:
    run("random", "nb201-cifar10", objectives=["x-valid-error", "latency"], seeds=1, evals=5, store=tmp_path / "s")
    with pytest.raises(
        StoreError, match="runs with several objectives cannot be archived yet, and those on nb201-cifar10"
    ):
        pack(Store.open(tmp_path / "s"), tmp_path / "s.zip")
    assert not (tmp_path / "s.zip").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--part", "importance"],
        ["--part", "thinking"],
        ["--part", "pareto:valid-mse,model_size"],
        ["--score", "average"],
    ],
)
def test_what_needs_the_store_is_refused_of_an_archive(
    options: list[str], nasbench: Callable[..., Printed], packed: Path, tmp_path: Path
) -> None:
    asked = (
        "report",
        "--against",
        packed / "store.zip",
        "--protocol",
        "30 evaluations on 2 workers",
        "--out",
        tmp_path / "r",
    )
    done = nasbench(*asked, *options)
    assert (done.code, "archives keep scores, and neither configurations" in done.err) == (2, True), done.err
    assert not (tmp_path / "r").exists()

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.store import content_hash, disk, fragment
from nasbench.results.store import store as store_module
from nasbench.results.store.status import status
from tests.results.conftest import FACTS, make_cell, make_run

Fill = Callable[..., Store]


def files(store: Store) -> list[Path]:
    return [p for p in sorted(store.folder.glob("*.parquet")) if p.name != "0-schema.parquet"]


def data_of(store: Store) -> dict[Path, bytes]:
    """Every file but the lock, which names the process that had it last."""
    return {p: p.read_bytes() for p in store.folder.rglob("*") if p.is_file() and p.name != ".lock"}


def test_pandas_reads_the_whole_folder_with_the_metrics_of_all_benchmarks(filled: Fill) -> None:
    store = filled(
        {
            make_cell("z", metrics=("valid-error@1", "time")): [make_run(0, [3.0, 2.0])],
            make_cell("a", metrics=("valid-error@1", "latency")): [make_run(0, [4.0])],
        }
    )
    frame = pd.read_parquet(store.folder)
    assert len(frame) == 3
    assert {"metric.time", "metric.latency", "metric.valid-error@1"} <= set(frame.columns)
    assert frame.loc[frame["method"] == "z", "metric.time"].tolist() == [1.0, 1.0]
    assert frame.loc[frame["method"] == "a", "metric.time"].isna().all()
    assert frame.loc[frame["method"] == "z", "incumbent"].tolist() == [3.0, 2.0]


def test_the_incumbent_is_nan_before_the_first_feasible_evaluation(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(0, [3.0, 4.0, 2.0], [False, True, True])]})
    incumbent = pd.read_parquet(store.folder)["incumbent"].tolist()
    assert math.isnan(incumbent[0])
    assert incumbent[1:] == [4.0, 2.0]


def test_many_seeds_make_one_file(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(seed, [1.0]) for seed in range(100)]})
    assert len(files(store)) == 1
    assert list(store.runs()[make_cell().id]) == list(range(100))


def test_what_is_stored_is_not_stored_twice(store: Store) -> None:
    cell = make_cell()
    assert [r.seed for r in store.commit(cell, [make_run(s, [1.0]) for s in (0, 1)], FACTS)] == [0, 1]
    assert [r.seed for r in store.commit(cell, [make_run(s, [1.0]) for s in (1, 2)], FACTS)] == [2]
    assert store.commit(cell, [make_run(0, [9.0])], FACTS) == []
    assert sorted(pd.read_parquet(store.folder)["seed"]) == [0, 1, 2]
    assert store.has(cell, 2)
    assert not store.has(cell, 3)


def test_provenance_travels_in_the_file(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(5, [1.0])]})
    (found,) = store.fragments()
    assert found.provenance == FACTS
    assert found.cell == make_cell()
    assert found.runs[0].began.startswith("2026-01-01")
    assert b"c0ffee" in pq.read_metadata(found.path).metadata[b"nasbench"]


def test_the_content_hash_sees_every_value_but_neither_files_nor_order_nor_thinking(tmp_path: Path) -> None:
    def hashed(name: str, parts: list[list[int]], objective: float = 1.0, thinking: float = 0.5) -> str:
        store = Store.create(tmp_path / name)
        for seeds in parts:
            runs = [make_run(seed, [3.0, objective]) for seed in seeds]
            for run in runs:
                run.columns["thinking"][:] = thinking
            store.commit(make_cell(), runs, FACTS)
        return content_hash(store)

    reference = hashed("a", [[0, 1, 2]])
    assert hashed("b", [[2], [0, 1]]) == reference
    assert hashed("c", [[0, 1, 2]], thinking=0.7) == reference
    assert hashed("d", [[0, 1]]) != reference
    assert hashed("e", [[0, 1, 2]], objective=np.nextafter(1.0, 2)) != reference


def damage_tail(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize(
    "make_foreign",
    [
        lambda folder: (folder / "notes.txt").write_text("mine"),
        lambda folder: (folder / "table.parquet").write_bytes(b"PAR1 not really"),
        lambda folder: pq.write_table(pa.table({"seed": [1]}), folder / "others.parquet"),
        lambda folder: pq.write_table(
            pa.table({"a": [1]}).replace_schema_metadata({"nasbench": "{"}), folder / "x.parquet"
        ),
        lambda folder: (folder / "empty.parquet").touch(),
    ],
)
def test_foreign_files_are_set_aside_with_a_notice(filled: Fill, make_foreign: Callable[[Path], object]) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})
    before = set(store.folder.iterdir())
    make_foreign(store.folder)
    (foreign,) = set(store.folder.iterdir()) - before
    content = foreign.read_bytes()
    assert len(store.fragments()) == 1
    assert len(store.notices) == 1
    assert foreign.name in store.notices[0]
    assert not foreign.exists()
    assert (store.folder / "_aside" / foreign.name).read_bytes() == content
    assert len(pd.read_parquet(store.folder)) == 1


@pytest.mark.parametrize("damage", [damage_tail, damage_middle])
def test_a_torn_fragment_is_set_aside_and_its_runs_are_missing(filled: Fill, damage: Callable[[Path], None]) -> None:
    cell = make_cell()
    store = filled({cell: [make_run(0, [1.0])], make_cell("other"): [make_run(0, [2.0])]})
    intact = content_hash(store)
    (torn,) = [p for p in files(store) if p.name.startswith("random")]
    damage(torn)
    reopened = Store.open(store.folder)
    assert content_hash(reopened) != intact
    assert not torn.exists()
    assert (store.folder / "_aside" / torn.name).exists()
    assert cell.id not in reopened.runs()
    reopened.commit(cell, [make_run(0, [1.0])], FACTS)
    assert content_hash(reopened) == intact


def test_two_files_of_one_name_are_both_kept_aside(store: Store) -> None:
    for text in ("first", "second"):
        (store.folder / "notes.txt").write_text(text)
        store.fragments()
    kept = sorted(p.read_text() for p in (store.folder / "_aside").iterdir())
    assert kept == ["first", "second"]


def test_a_damaged_header_is_written_anew(filled: Fill) -> None:
    store = filled({make_cell(metrics=("valid-error@1", "latency")): [make_run(0, [1.0])]})
    damage_tail(store.folder / "0-schema.parquet")
    reopened = Store.open(store.folder)
    assert "header" in reopened.notices[0]
    assert "metric.latency" in pd.read_parquet(store.folder).columns


def test_a_store_that_lost_its_header_is_still_one(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})
    for access in (Store.open, Store.create):
        (store.folder / "0-schema.parquet").unlink()
        reopened = access(store.folder)
        assert "was missing; it is written anew" in reopened.notices[0]
        assert "metric.time" in pd.read_parquet(store.folder).columns


def test_trouble_of_the_system_sets_nothing_aside(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})

    def refuse(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(disk.system, "read", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            Store(store.folder).fragments()
    assert len(store.fragments()) == 1
    assert list((store.folder / "_aside").iterdir()) == []


def test_a_foreign_folder_is_set_aside_but_a_store_within_is_left(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})
    (store.folder / "sub").mkdir()
    (store.folder / "sub" / "y").write_text("x")
    Store.create(store.folder / "inner")
    assert len(store.fragments()) == 1
    assert (store.folder / "_aside" / "sub" / "y").exists()
    assert (store.folder / "inner").is_dir()
    assert len(pd.read_parquet(store.folder)) == 1


def test_runs_of_an_older_schema_are_not_todays(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled({make_cell(schema=0): [make_run(0, [1.0])]})
    today = make_cell()
    assert today.id not in store.runs()
    store.supersede([today])
    assert store.runs() == {}


def test_a_store_of_a_newer_schema_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = {"schema": 99, "metrics": []}
    table = pa.table({"a": [1]}).replace_schema_metadata({"nasbench": json.dumps(newer)})
    pq.write_table(table, store.folder / "0-schema.parquet")
    for access in (Store.open, Store.create):
        with pytest.raises(StoreError, match=r"newer nasbench \(schema 99"):
            access(store.folder)
    assert pq.read_metadata(store.folder / "0-schema.parquet").metadata[b"nasbench"] == json.dumps(newer).encode()


def test_a_folder_that_is_not_a_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match="neither empty nor a trajectory store"):
        Store.create(tmp_path)
    with pytest.raises(StoreError, match="is not a trajectory store"):
        Store.open(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(StoreError, match="cannot use"):
        Store.create(tmp_path / "thesis.txt")


def test_the_folder_above_some_stores_names_them(tmp_path: Path) -> None:
    Store.create(tmp_path / "demo")
    with pytest.raises(StoreError, match="it holds the stores demo"):
        Store.open(tmp_path)


def test_a_full_disk_leaves_nothing_half_written(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})
    before = content_hash(store)
    kept = data_of(store)
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from nasbench.results import Store, StoreError\n"
        "from tests.results.conftest import FACTS, make_cell, make_run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try: store.commit(make_cell(), [make_run(1, [1.0] * 500)], FACTS)\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, store.folder], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert "cannot use the store" in done.stdout
    assert done.stdout.count("\n") == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 2000
    assert content_hash(store) == before
    assert data_of(store) == kept
    assert store.notices == []


def test_a_read_only_store_can_be_read_but_says_that_it_cannot_be_written(
    filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, whom no permission stops: the system's answers are played here.
    monkeypatch.setattr(disk.system, "write", refuse)
    monkeypatch.setattr(disk.system, "rename", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        store.commit(make_cell(), [make_run(1, [1.0])], FACTS)
    (store.folder / "foreign.txt").write_text("x")
    assert len(store.fragments()) == 1
    assert "is ignored" in store.notices[0]


def test_stale_runs_are_set_aside_when_asked_for_again(filled: Fill) -> None:
    old, new, other = (
        make_cell(data="sha256:old"),
        make_cell(data="sha256:new"),
        make_cell("evolution", data="sha256:old"),
    )
    store = filled({old: [make_run(0, [1.0])], other: [make_run(0, [1.0])]})
    store.supersede([new])
    assert set(store.runs()) == {other.id}
    assert "stale" in store.notices[0]


def test_failed_runs_can_be_forgotten_and_a_copy_stays(filled: Fill) -> None:
    cell = make_cell()
    store = filled({cell: [make_run(0, [1.0]), make_run(1, [1.0, math.nan], failure="ask: boom"), make_run(2, [2.0])]})
    record = store.runs()[cell.id][1]
    assert (record.failed, record.failed_evaluations, record.first_reason) == (True, 0, "ask: boom")
    store.forget(cell, {1})
    assert sorted(store.runs()[cell.id]) == [0, 2]
    assert sorted(pd.read_parquet(store.folder)["seed"].unique()) == [0, 2]
    store.forget(cell, {0, 2})
    assert store.runs() == {}
    assert len(list((store.folder / "_aside").iterdir())) == 2


def test_scratch_of_this_host_goes_and_that_of_another_stays(store: Store) -> None:
    zombie = subprocess.Popen(["true"])  # killed, and not yet waited for: to the system its number still lives
    gone = store.folder / f".a.parquet.{os.uname().nodename}.{zombie.pid}.tmp"
    elsewhere = store.folder / f".a.parquet.other-host.{zombie.pid}.tmp"
    for path in (gone, elsewhere):
        path.touch()
    Store.create(store.folder)
    zombie.wait()
    assert not gone.exists()
    assert elsewhere.exists()


def hold(folder: Path, begun: Any, finish: Any) -> None:
    with Store(folder)._writing():
        (scratch,) = (folder / "_plans" / f".held.json.{os.uname().nodename}.{os.getpid()}.tmp",)
        scratch.touch()
        begun.set()
        assert finish.wait(60)
        scratch.rename(folder / "_plans" / "held.json")


def create_when_free(folder: Path, waiting: Any) -> None:
    disk.sleep = lambda _: waiting.set()  # type: ignore[attr-defined]
    Store.create(folder)


def test_scratch_of_a_living_writer_is_not_touched(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    begun, finish, waiting = context.Event(), context.Event(), context.Event()
    writer = context.Process(target=hold, args=(store.folder, begun, finish))
    writer.start()
    assert begun.wait(60)
    opener = context.Process(target=create_when_free, args=(store.folder, waiting))
    opener.start()
    assert waiting.wait(60)
    finish.set()
    for process in (writer, opener):
        process.join()
        assert process.exitcode == 0
    assert (store.folder / "_plans" / "held.json").exists()


def test_who_waits_for_a_lock_says_for_whom_and_not_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("spawn")
    begun, finish = context.Event(), context.Event()
    writer = context.Process(target=hold, args=(store.folder, begun, finish))
    writer.start()
    assert begun.wait(60)
    monkeypatch.setattr(store_module, "_PATIENCE", 0.1)
    with pytest.raises(StoreError, match=f"process {writer.pid} on .* has been using it for"):
        store.commit(make_cell(), [make_run(0, [1.0])], FACTS)
    finish.set()
    writer.join()
    assert len(store.commit(make_cell(), [make_run(0, [1.0])], FACTS)) == 1


def commit_some(folder: Path, seeds: range) -> None:
    store = Store(folder)
    for seed in seeds:
        cell = make_cell(metrics=("valid-error@1", f"metric{seed % 3}"))
        store.commit(cell, [make_run(seed, [float(seed)])], FACTS)


def test_processes_that_write_at_the_same_time_lose_and_double_nothing(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=commit_some, args=(store.folder, range(i, i + 20))) for i in (0, 10, 5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    frame = pd.read_parquet(store.folder)
    assert sorted(frame["seed"]) == list(range(30))
    assert {"metric.metric0", "metric.metric1", "metric.metric2"} <= set(frame.columns)


def test_status_holds_the_store_against_its_plans(filled: Fill) -> None:
    done, half, none, broken = (make_cell(name) for name in ("done", "half", "none", "broken"))
    store = filled(
        {
            done: [make_run(0, [1.0]), make_run(1, [1.0])],
            half: [make_run(0, [1.0])],
            broken: [make_run(0, [1.0]), make_run(1, [math.nan])],
            make_cell("stale", data="sha256:old"): [make_run(0, [1.0])],
        }
    )
    store.save_plan("nasbench run …", [(cell, [0, 1]) for cell in (done, half, none, broken)], {})
    found = {c.cell.method: c for c in status(store, lambda cell: cell.data == "sha256:0")}
    states = {name: c.state for name, c in found.items()}
    assert states == {"done": "complete", "half": "partial", "none": "missing", "broken": "failed", "stale": "stale"}
    assert found["half"].missing == [1]
    assert found["none"].missing == [0, 1]
    assert [run.seed for run in found["broken"].failed] == [1]
    assert found["half"].commands == ("nasbench run …",)
    assert found["done"].commands == ()


def test_a_newer_plan_of_the_same_cell_replaces_the_older(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make_cell(data="sha256:old"), make_cell(data="sha256:new")
    monkeypatch.setattr(store_module, "_now", lambda: "2000-01-01")
    store.save_plan("first", [(old, [0])], {})
    monkeypatch.undo()
    store.save_plan("second", [(new, [1])], {})
    (only,) = status(store, lambda _: True)
    assert (only.cell, only.missing, only.commands) == (new, [0, 1], ("first", "second"))


def test_a_plan_that_is_asked_again_is_one_plan(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("2000-01-01", "2000-01-02"):
        monkeypatch.setattr(store_module, "_now", lambda day=day: day)
        store.save_plan("again", [(make_cell(), [0])], {})
    assert [plan["saved"] for plan in store.plans()] == ["2000-01-02"]


def test_a_damaged_plan_is_set_aside(store: Store) -> None:
    for i, text in enumerate(('{"cells": [', "{}", "[]", '{"cells": [{"cell": {}, "seeds": []}]}', "[" * 10**5)):
        (store.folder / "_plans" / f"{'0' * 16}.json").write_text(text)
        assert store.plans() == []
        assert "not a readable plan" in store.notices[i]


def test_odd_files_stop_nothing(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes, folders and loops where files should be, and files that vanish or cannot be read."""
    store = filled({make_cell(): [make_run(0, [1.0])], make_cell("other"): [make_run(0, [2.0])]})
    intact = content_hash(store)
    unreadable = files(store)[0]
    os.link(unreadable, os.fsencode(store.folder) + b"/\xff.parquet")
    os.mkfifo(store.folder / "pipe.parquet")
    os.mkfifo(store.folder / "_plans" / f"{'0' * 16}.json")
    (store.folder / "_plans" / f"{'1' * 16}.json").mkdir()
    (store.folder / "loop.parquet").symlink_to("loop.parquet")
    (store.folder / "nowhere.parquet").symlink_to("nothing")
    reopened = Store.create(store.folder)
    assert reopened.plans() == []
    assert content_hash(reopened) == intact
    said = "\n".join(reopened.notices)
    assert said.count("no regular file") == 3
    assert "loop.parquet is ignored: it cannot be read" in said
    assert "?.parquet is set aside" in said
    plain = disk.system.open

    def refuse(path: Path, flags: int) -> int:
        if path == unreadable:
            raise PermissionError(13, "Permission denied")
        return plain(path, flags)

    monkeypatch.setattr(disk.system, "open", refuse)
    without = Store.open(store.folder)
    assert len(without.fragments()) == 1
    assert f"{unreadable} is ignored: it cannot be read (Permission denied)" in without.notices


def test_runs_that_lie_in_two_fragments_are_kept_once(filled: Fill) -> None:
    """What a crash in the middle of `forget` leaves is undone by the next command."""
    cell = make_cell()
    store = filled({cell: [make_run(seed, [1.0]) for seed in range(3)]})
    intact = content_hash(store)
    (f,) = store.fragments()
    fragment.write_without(f, {1})
    assert len(Store.open(store.folder).fragments()) == 2
    assert content_hash(Store.open(store.folder)) == intact
    again = Store.create(store.folder)
    assert [g.seeds for g in again.fragments()] == [[0, 1, 2]]
    assert len(pd.read_parquet(store.folder)) == 3


def test_a_fragment_under_another_name_or_with_rows_of_another_run_is_none(filled: Fill) -> None:
    store = filled({make_cell(): [make_run(0, [1.0])]})
    (path,) = files(store)
    path.rename(path.with_name(path.name.replace("random", "other")))  # the words are for people
    assert len(store.fragments()) == 1
    (path,) = files(store)
    other = make_cell("other").id
    path.rename(path.with_name(path.name.replace(make_cell().id, other)))
    assert store.fragments() == []
    assert "its name is not that of its contents" in store.notices[-1]


def test_a_store_that_is_begun_twice_at_once_says_nothing_false(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for attempt in range(2):
        folder = tmp_path / f"store{attempt}"
        writers = [context.Process(target=begin_and_commit, args=(folder, seed)) for seed in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
            assert writer.exitcode == 0
        assert {f"metric.metric{seed}" for seed in range(4)} <= set(pd.read_parquet(folder).columns)


def begin_and_commit(folder: Path, seed: int) -> None:
    store = Store.create(folder)
    store.commit(make_cell(metrics=("valid-error@1", f"metric{seed}")), [make_run(seed, [1.0])], FACTS)
    assert store.notices == []

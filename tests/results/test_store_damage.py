"""What is wrong in a store's folder, damaged, foreign, odd or full, is said, and stops nothing."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.reading import load, select
from nasbench.results.store import content_hash, disk, fragment
from tests.results.conftest import FACTS, Fill, make_run, make_setup


def files(store: Store) -> list[Path]:
    return [p for p in sorted(store.folder.glob("*.parquet")) if p.name != "0-schema.parquet"]


def data_of(store: Store) -> dict[Path, bytes]:
    """Every file but the lock, which names the process that had it last."""
    return {p: p.read_bytes() for p in store.folder.rglob("*") if p.is_file() and p.name != ".lock"}


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
    store = filled({make_setup(): [make_run(0, [1.0])]})
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
    setup = make_setup()
    store = filled({setup: [make_run(0, [1.0])], make_setup("other"): [make_run(0, [2.0])]})
    intact = content_hash(store)
    (torn,) = [p for p in files(store) if p.name.startswith("random")]
    damage(torn)
    reopened = Store.open(store.folder)
    assert content_hash(reopened) != intact
    assert not torn.exists()
    assert (store.folder / "_aside" / torn.name).exists()
    assert setup.id not in reopened.runs()
    reopened.commit(setup, [make_run(0, [1.0])], FACTS)
    assert content_hash(reopened) == intact


def test_two_files_of_one_name_are_both_kept_aside(store: Store) -> None:
    for text in ("first", "second"):
        (store.folder / "notes.txt").write_text(text)
        store.fragments()
    kept = sorted(p.read_text() for p in (store.folder / "_aside").iterdir())
    assert kept == ["first", "second"]


def test_a_damaged_header_is_written_anew(filled: Fill) -> None:
    store = filled({make_setup(metrics=("valid-error@1", "latency")): [make_run(0, [1.0])]})
    damage_tail(store.folder / "0-schema.parquet")
    reopened = Store.open(store.folder)
    assert "header" in reopened.notices[0]
    assert "metric.latency" in pd.read_parquet(store.folder).columns


def test_a_store_that_lost_its_header_is_still_one(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})
    for access in (Store.open, Store.create):
        (store.folder / "0-schema.parquet").unlink()
        reopened = access(store.folder)
        assert "was missing; it is written anew" in reopened.notices[0]
        assert "metric.time" in pd.read_parquet(store.folder).columns


def test_trouble_of_the_system_sets_nothing_aside(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})

    def refuse(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(disk.system, "read", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            Store(store.folder).fragments()
    assert len(store.fragments()) == 1
    assert list((store.folder / "_aside").iterdir()) == []


def test_a_foreign_folder_is_set_aside_but_a_store_within_is_left(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})
    (store.folder / "sub").mkdir()
    (store.folder / "sub" / "y").write_text("x")
    Store.create(store.folder / "inner")
    assert len(store.fragments()) == 1
    assert (store.folder / "_aside" / "sub" / "y").exists()
    assert (store.folder / "inner").is_dir()
    assert len(pd.read_parquet(store.folder)) == 1


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
    with pytest.raises(StoreError, match=f"there is no such folder; {tmp_path} holds the stores demo"):
        Store.open(tmp_path / "dmeo")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "one.txt").touch()
    with pytest.raises(StoreError, match="not a trajectory store; it holds no runs"):
        Store.open(tmp_path / "papers")
    with pytest.raises(StoreError, match=r"one\.txt is not a trajectory store; it is a file"):
        Store.open(tmp_path / "papers" / "one.txt")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="pipe is not a trajectory store; it is a file"):
        Store.open(tmp_path / "pipe")


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half_written(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})
    before = content_hash(store)
    kept = data_of(store)
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from nasbench.results import Store, StoreError\n"
        "from tests.results.conftest import FACTS, make_setup, make_run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try: store.commit(make_setup(), [make_run(1, [1.0] * 500)], FACTS)\n"
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
    store = filled({make_setup(): [make_run(0, [1.0])]})

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, whom no permission stops: the system's answers are played here.
    monkeypatch.setattr(disk.system, "write", refuse)
    monkeypatch.setattr(disk.system, "rename", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        store.commit(make_setup(), [make_run(1, [1.0])], FACTS)
    (store.folder / "foreign.txt").write_text("x")
    assert len(store.fragments()) == 1
    assert "is ignored" in store.notices[0]


def test_a_damaged_plan_is_set_aside(store: Store) -> None:
    endless = json.dumps({"setups": [{"setup": make_setup().to_json(), "seeds": [math.inf]}]})
    lacking = ('{"setups": [', "{}", "[]", '{"setups": [{"setup": {}, "seeds": []}]}')
    for i, text in enumerate((*lacking, "[" * 10**5, endless)):
        (store.folder / "_plans" / f"{'0' * 16}.{disk.digest(text.encode())}.json").write_text(text)
        assert store.plans() == []
        assert "not a readable plan" in store.notices[i]


def test_odd_files_stop_nothing(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes, folders and loops where files should be, and files that vanish or cannot be read."""
    store = filled({make_setup(): [make_run(0, [1.0])], make_setup("other"): [make_run(0, [2.0])]})
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
    setup = make_setup()
    store = filled({setup: [make_run(seed, [1.0]) for seed in range(3)]})
    intact = content_hash(store)
    (f,) = store.fragments()
    fragment.write_without(f, {1}, store.folder)
    assert len(Store.open(store.folder).fragments()) == 2
    assert content_hash(Store.open(store.folder)) == intact
    again = Store.create(store.folder)
    assert [g.seeds for g in again.fragments()] == [[0, 1, 2]]
    assert len(pd.read_parquet(store.folder)) == 3


def test_a_fragment_under_another_name_or_with_rows_of_another_run_is_none(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})
    (path,) = files(store)
    path.rename(path.with_name(path.name.replace("random", "other")))  # the words are for people
    assert len(store.fragments()) == 1
    (path,) = files(store)
    other = make_setup("other").id
    path.rename(path.with_name(path.name.replace(make_setup().id, other)))
    assert store.fragments() == []
    assert "its name is not that of its contents" in store.notices[-1]


def test_a_folder_whose_path_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "s\udcff"
    with pytest.raises(StoreError, match="its path is not UTF-8 text"):
        Store.create(folder)
    assert list(tmp_path.iterdir()) == []
    (folder / "_plans").mkdir(parents=True)
    with pytest.raises(StoreError, match="its path is not UTF-8 text"):
        Store.open(folder)


def test_what_one_call_of_the_system_cannot_write_is_written_by_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_MOST_AT_ONCE", 3)
    disk.write(tmp_path / "x", b"0123456789")
    disk.write(tmp_path / "empty", b"")
    assert ((tmp_path / "x").read_bytes(), (tmp_path / "empty").read_bytes()) == (b"0123456789", b"")


def test_a_fragment_that_another_command_moves_while_it_is_read_ends_the_report_with_a_sentence(store: Store) -> None:
    """Its runs would be missing from the report without a word."""
    for name in ("a", "b"):
        store.commit(make_setup(name), [make_run(0, [3.0, 2.0, 1.0])], FACTS)
    fragments = select([store])
    store.forget(make_setup("a"), {0})
    with pytest.raises(StoreError, match="is being changed by another command: give the same command again"):
        load(fragments)

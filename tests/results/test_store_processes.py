"""Several processes on one store: who waits, who writes, and what a killed one leaves."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nasbench.results import Store, StoreError, Trajectory
from nasbench.results.store import disk
from nasbench.results.store import store as store_module
from tests.results.conftest import FACTS, make_run, make_setup
from tests.results.faults import SHORT, Failing


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


@pytest.mark.parametrize("folder", [".", "_plans", "_searches"])
def test_scratch_goes_from_every_folder_in_which_files_are_written(folder: str, store: Store) -> None:
    scratch = store.folder / folder / f".a.parquet.{os.uname().nodename[:40]}.1.tmp"
    scratch.touch()
    Store.create(store.folder)
    assert not scratch.exists()


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_who_waits_for_a_lock_says_for_whom_and_not_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("spawn")
    begun, finish = context.Event(), context.Event()
    writer = context.Process(target=hold, args=(store.folder, begun, finish))
    writer.start()
    assert begun.wait(60)
    assert store_module._PATIENCE == 300  # docs/notebook/reliability.md
    monkeypatch.setattr(store_module, "_PATIENCE", 0.1)
    with pytest.raises(StoreError, match=f"process {writer.pid} on .* has been using it for"):
        store.commit(make_setup(), [make_run(0, [1.0])], FACTS)
    finish.set()
    writer.join()
    assert len(store.commit(make_setup(), [make_run(0, [1.0])], FACTS)) == 1


def commit_some(folder: Path, seeds: range) -> None:
    store = Store(folder)
    for seed in seeds:
        setup = make_setup(metrics=("valid-error@1", f"metric{seed % 3}"))
        store.commit(setup, [make_run(seed, [float(seed)])], FACTS)


@pytest.mark.slow
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


@pytest.mark.slow
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
    store.commit(make_setup(metrics=("valid-error@1", f"metric{seed}")), [make_run(seed, [1.0])], FACTS)
    assert store.notices == []


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.zip").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        disk.write(tmp_path / "a.zip", b"x")
    assert raised.value.filename == str(tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == [tmp_path / "a.zip"]


def test_what_is_moved_is_safe_in_its_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronised: list[Path] = []
    monkeypatch.setattr(disk, "sync_folder", synchronised.append)
    (tmp_path / "aside").mkdir()
    (tmp_path / "a").touch()
    disk.move(tmp_path / "a", tmp_path / "aside" / "a")
    assert synchronised == [tmp_path, tmp_path / "aside"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_whose_file_was_deleted_in_the_meantime_excludes_nobody_and_is_not_taken(
    is_replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process deletes the file, or puts another one in its place, after this one has opened it."""
    path, meddled = tmp_path / ".lock", list[Path]()

    class Meddling(disk.System):
        def lock(self, handle: int) -> bool:
            if not meddled:
                meddled.append(path)
                path.unlink()
                if is_replaced:
                    (tmp_path / "kept").touch()  # or the new file might get the number of the old one
                    path.touch()
            return super().lock(handle)

    monkeypatch.setattr(disk, "system", Meddling())
    monkeypatch.setattr(disk, "sleep", lambda _: None)
    lock = disk.Lock(path)
    lock.acquire(patience=60)
    assert meddled
    with pytest.raises(disk.Held, match=f"process {os.getpid()} on"):
        disk.Lock(path).acquire(patience=0)
    lock.release()
    disk.Lock(path).acquire(patience=0)


def test_who_waits_in_vain_for_a_lock_leaves_its_file_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "sleep", lambda _: None)
    lock = disk.Lock(tmp_path / ".lock")
    with lock.held(patience=0):
        before = set(os.listdir("/dev/fd"))
        for patience in (0.0, 0.01):
            with pytest.raises(disk.Held):
                disk.Lock(tmp_path / ".lock").acquire(patience)
        assert set(os.listdir("/dev/fd")) <= before


def on_runs(folder: Path) -> None:
    store, run = Store(folder), make_run(0, [1.0])
    store.commit(make_setup(), [Trajectory(**vars(run) | {"log": ((1, "found", 1.0, None, "a", None, 0),)})], FACTS)
    for f in store.fragments():
        store.search_log(f, 0)
    store.forget(make_setup(), {0})


def on_lines(folder: Path) -> None:
    with disk.begun(folder / "lines", "is adding to it") as file:
        file.begin(len(file.content()))
        file.append(b"line\n")
    file.close()


def on_what_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(disk.Irregular):
        disk.read(folder / "pipe")


@pytest.mark.parametrize(
    ("work", "code"), [(on_runs, errno.EIO), (on_lines, errno.EIO), (on_lines, SHORT), (on_what_is_no_file, errno.EIO)]
)
def test_whichever_operation_fails_no_file_stays_open(
    work: Callable[[Path], None], code: int, in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, hit = 0, "the first"
    while hit:
        monkeypatch.undo()
        monkeypatch.setattr(store_module, "_PATIENCE", 0.0)  # there is nobody to wait for
        folder, failing, before = in_memory / str(number), Failing(number, code), set(os.listdir("/dev/fd"))
        Store.create(folder)
        monkeypatch.setattr(disk, "system", failing)
        with suppress(StoreError, OSError):
            work(folder)
        assert set(os.listdir("/dev/fd")) <= before, (number, failing.hit)
        number, hit = number + 1, failing.hit
    assert number > 1

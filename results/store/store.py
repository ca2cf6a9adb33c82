"""The trajectory store: a folder of Parquet fragments that any reader of Parquet can open.

    STORE/0-schema.parquet      no rows, but every metric column of the store, for readers of the folder
    STORE/<method>.<bench>.<constraint>.<setup>.<digest>.parquet     finished runs of one setup
    STORE/_plans/<grid>.<digest>.json       requested setups and seeds, and the command
    STORE/_journals/*.jsonl     unfinished runs whose evaluations are expensive
    STORE/_searches/*.parquet   the search log of each run whose method keeps one
    STORE/_aside/               torn, foreign, stale and retried files: never read, never deleted

The names of fragments and plans contain the digest of their bytes, a run's record that of its search log, and each line
of a journal its digest. Readers of Parquet folders skip names that begin with `_` or `.`.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from nasbench.base.errors import Interrupted, StoreError, not_utf8
from nasbench.base.numbers import count, listed
from nasbench.results.store import disk, fragment, plans
from nasbench.results.store.folder import HEADER, is_inner, is_store, said, what_is_there
from nasbench.results.store.fragment import Fragment, RunRecord, Torn
from nasbench.results.store.plans import PlanShard
from nasbench.results.store.trajectory import Setup, Trajectory, log_table

T = TypeVar("T")

_PATIENCE = 300.0  # seconds to wait for a process that writes
_FOLDERS = ("_plans", "_journals", "_searches", "_aside")
_OF_THE_FILE = {errno.EACCES, errno.EPERM, errno.EIO, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}
"""Errors of a single file; any other error (no memory, no descriptor) would also affect the next file."""


class Store:
    """A folder of trajectories. All writes are atomic; several processes may use one store at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.abspath(folder))  # a method may change the working directory
        if any("\ud800" <= c <= "\udfff" for c in str(self.folder)):  # Arrow can write there, but not read
            raise StoreError(f"cannot use the store {folder}: {not_utf8('its path')}, or give another --store")
        self.notices: list[str] = []
        """Problems with the folder's files so far, one sentence each."""
        self._lock = disk.Lock(self.folder / ".lock")
        self._read_already: dict[Path, tuple[tuple[int, ...], Any]] = {}
        self._columns: set[str] = set()  # metrics in the header

    @classmethod
    def open(cls, folder: Path) -> Store:
        """An existing store. Raises StoreError if there is none, or if it is of another schema."""
        if not is_store(folder):
            raise StoreError(f"{folder} is not a trajectory store; {what_is_there(folder)}")
        store = cls(folder)
        with said(folder, _PATIENCE):
            try:
                fragment.read_header(store.folder / HEADER)
                return store
            except (Torn, FileNotFoundError, disk.Irregular):
                pass
        try:
            with store._writing():
                store._mend_header()
        except Interrupted as error:  # the fragments of a read-only store can still be read
            store._notice(f"{folder / HEADER} is missing or damaged: {error}")
        return store

    @classmethod
    def create(cls, folder: Path) -> Store:
        """A store at `folder`, made if absent. Raises StoreError if it is another kind of folder or not writable.

        The remains of interrupted commands are cleared up.
        """
        store = cls(folder)
        with said(folder, _PATIENCE, is_new=not folder.is_dir()):
            if os.path.lexists(folder) and not folder.is_dir():
                raise StoreError(f"cannot use the store {folder}: it is no folder; give another --store")
            # Another process may be creating this store right now; its first files are allowed.
            known = is_store(folder) or not folder.is_dir()
            if not known and any(name[0] not in "._" and name != HEADER for name in os.listdir(folder)):
                raise StoreError(f"{folder} is neither empty nor a trajectory store: give another --store")
            disk.make_folder(store.folder)
        with store._writing():
            for name in _FOLDERS:
                disk.make_folder(store.folder / name)
            store._remove_scratch()
            store._mend_header()
            store._drop_doubles()
            for f in store.fragments():
                store._check_logs(f)
        return store

    @property
    def journals(self) -> Path:
        """The folder of the journals of unfinished runs."""
        return self.folder / "_journals"

    # Reading

    def fragments(self) -> list[Fragment]:
        """All readable fragments, sorted by name; other files are set aside with a notice."""
        return list(self._readable(self._entries(), fragment.read))

    def runs(self) -> dict[str, dict[int, RunRecord]]:
        """All finished runs: id of the setup → seed → record."""
        records: dict[str, dict[int, RunRecord]] = {}
        for f in self.fragments():
            records.setdefault(f.setup.id, {}).update({run.seed: run for run in f.runs})
        return records

    def search_log(self, f: Fragment, seed: int) -> pa.Table | None:
        """The search log of a run; None if its method keeps none.

        If the log is damaged, the run is removed from the store with a notice, so that both are computed anew.
        """
        record = f.by_seed[seed]
        if not record.log:
            return None
        return self._of_log(f, record, fragment.read_log)

    def plans(self) -> list[dict[str, Any]]:
        """The plans of this store, oldest first (`plans.read`)."""
        return sorted(self._readable(self._plan_files(), plans.read), key=lambda plan: str(plan["saved"]))

    def display(self) -> dict[str, Any]:
        """What the last suite says of its report: title, checkpoints, baseline, score, labels."""
        return next((plan["display"] for plan in reversed(self.plans()) if plan["display"]), {})

    def has(self, setup: Setup, seed: int) -> bool:
        """Whether a run is stored now; another process may have stored it since `runs` was called."""
        return self.record(setup, seed) is not None

    def record(self, setup: Setup, seed: int) -> RunRecord | None:
        """The record of a run that is stored now; None if it is not."""
        return next((f.by_seed[seed] for f in self._fragments_of(setup) if seed in f.by_seed), None)

    # Writing

    def save_plan(
        self,
        command: str,
        grid: Iterable[tuple[Setup, list[int]]],
        display: dict[str, Any],
        shard: PlanShard | None = None,
    ) -> None:
        """Records the requested setups and seeds, so that `status` can list what is missing.

        Args:
            command: the command line of the request.
            display: what the suite says of its report; empty without a suite.
            shard: the place of these runs in a whole of which they are a shard.
        """
        setups = [{"setup": setup.to_json(), "seeds": seeds} for setup, seeds in grid]
        asked = disk.digest(json.dumps([display, setups, *(shard or ())], sort_keys=True).encode())[:16]
        facts = {"command": command, "saved": _now(), "display": display, "setups": setups, "shard": shard}
        content = json.dumps(facts).encode()
        with self._writing():
            earlier = list((self.folder / "_plans").glob(f"{asked}*.json"))
            path = self.folder / "_plans" / f"{asked}.{disk.digest(content)}.json"
            disk.write(path, content)
            for other in earlier:
                if other != path and other.is_file():
                    disk.remove(other)

    def commit(self, setup: Setup, trajectories: list[Trajectory], provenance: dict[str, Any]) -> list[RunRecord]:
        """Stores finished runs of one setup as a new fragment; returns the records of those not stored before.

        Raises StoreError, without leaving partial files, if the disk is full or the store is read-only.
        """
        with self._writing():
            present = {seed for f in self._fragments_of(setup) for seed in f.seeds}
            if not (fresh := [t for t in trajectories if t.seed not in present]):
                return []
            if not self._columns.issuperset(setup.metrics):
                self._mend_header(setup.metrics)
            logged = [t for t in fresh if t.log]
            logs = {t.seed: fragment.write_log(self._search(setup, t.seed), log_table(setup, t)) for t in logged}
            return fragment.write(self.folder, setup, fresh, provenance, logs)

    def adopt(self, source: Store, f: Fragment, seeds: set[int]) -> int:
        """Copies runs of another store's fragment that this one lacks, with their search logs; returns how many.

        Raises StoreError if the fragment or a log is damaged.
        """
        with self._writing():
            present = {seed for own in self._fragments_of(f.setup) for seed in own.seeds}
            if not (fresh := [run for run in f.runs if run.seed in seeds - present]):
                return 0
            if not self._columns.issuperset(f.setup.metrics):
                self._mend_header(f.setup.metrics)
            for run in fresh:
                if run.log:
                    log = fragment.log_bytes(source._search(f.setup, run.seed), run.log)
                    disk.write(self._search(f.setup, run.seed), log)
            fragment.write_without(f, {*f.seeds} - {run.seed for run in fresh}, self.folder)
            return len(fresh)

    def adopt_plans(self, source: Store) -> None:
        """Copies the plans of another store."""
        with self._writing():
            for path in source._plan_files():
                with suppress(Torn):
                    plans.read(path)
                    disk.write(self.folder / "_plans" / path.name, disk.read(path))

    def supersede(self, setups: Iterable[Setup]) -> None:
        """Sets aside runs of these setups that were made with other data or rules, or another version of the method."""
        current = {setup.key: setup.id for setup in setups}
        ours = [f for f in self.fragments() if not f.setup.is_elsewhere]
        stale = [f for f in ours if current.get(f.setup.key, f.setup.id) != f.setup.id]
        if stale:  # an edited method may have thousands
            with self._writing():
                for f in stale:
                    with suppress(FileNotFoundError):  # another process was faster
                        disk.move(f.path, self.free_aside(f.path))
                        self._set_logs_aside(f.setup, f.seeds)
            runs, methods = sum(len(f.seeds) for f in stale), sorted({f.setup.method for f in stale})
            what = f"{count(runs, 'stale run')} of {listed(methods)} (other data, options or version)"
            self._notice(f"{what} set aside in {self.folder / '_aside'}")

    def forget(self, setup: Setup, seeds: set[int]) -> None:
        """Removes the runs of some seeds from the store, so that they are computed anew; a copy is set aside."""
        with self._writing():
            for f in self._fragments_of(setup):
                if not seeds.isdisjoint(f.seeds):
                    self._take_out(f, seeds.intersection(f.seeds))
                    self._set_logs_aside(setup, seeds.intersection(f.seeds))

    def set_aside(self, path: Path, reason: str) -> None:
        """Moves a file into `_aside/` with a notice; in a read-only store it stays and is ignored."""
        try:
            with self._lock.held(_PATIENCE):
                target = self.free_aside(path)
                disk.move(path, target)
            self._notice(f"{path} is set aside as {target}: {reason}")
        except FileNotFoundError:
            pass  # another process was faster
        except (OSError, disk.Held):
            self._notice(f"{path} is ignored: {reason}")

    # Inside

    def _notice(self, text: str) -> None:
        printable = "".join(c if c.isprintable() else "?" for c in text)  # names of files need not be text
        self.notices.append(printable)

    def _readable(self, paths: Iterable[Path], read: Callable[[Path], T]) -> Iterator[T]:
        """The results of `read` on the readable files; other files are set aside or ignored with a notice."""
        for path in paths:
            try:
                yield self._unless_changed(path, read)
            except (Torn, disk.Irregular) as error:
                self.set_aside(path, str(error) if isinstance(error, Torn) else "it is no regular file")
            except FileNotFoundError:
                continue  # another process has just set it aside
            except OSError as error:
                if error.errno not in _OF_THE_FILE:
                    raise
                self._notice(f"{path} is ignored: it cannot be read ({error.strerror})")

    def _unless_changed(self, path: Path, read: Callable[[Path], T]) -> T:
        """The result of `read` on a file, from a cache unless the file has changed."""
        facts = path.stat()
        stamp = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
        known = self._read_already.get(path)
        if known is None or known[0] != stamp:
            known = self._read_already[path] = stamp, read(path)
        return cast("T", known[1])

    def _of_log(self, f: Fragment, run: RunRecord, read: Callable[[Path, str], T]) -> T | None:
        """The result of `read` on a search log and its digest; if the log is damaged, the run is removed: None."""
        try:
            return read(self._search(f.setup, run.seed), run.log)
        except (Torn, FileNotFoundError, disk.Irregular) as error:
            reason = "it is missing" if isinstance(error, FileNotFoundError) else str(error)
        self._notice(
            f"the search log of {f.setup.title}, seed {run.seed}, is damaged: {reason}; its run "
            "is missing now, and the same command computes it anew"
        )
        with suppress(Interrupted):  # a read-only store stays as it is
            self.forget(f.setup, {run.seed})
        return None

    def _entries(self) -> list[Path]:
        """The paths in the folder that should be data; stores inside the store are left out."""
        with said(self.folder, _PATIENCE), os.scandir(self.folder) as entries:
            names = sorted(e.name for e in entries if e.name[0] not in "._" and e.name != HEADER and not is_inner(e))
        return [self.folder / name for name in names]

    def _plan_files(self) -> list[Path]:
        return sorted((self.folder / "_plans").glob("*.json"))

    def _fragments_of(self, setup: Setup) -> list[Fragment]:
        return list(self._readable(sorted(self.folder.glob(f"*.{setup.id}.*.parquet")), fragment.read))

    def _search(self, setup: Setup, seed: int) -> Path:
        return self.folder / "_searches" / f"{setup.run_id(seed)}.parquet"

    # Inside, under the lock

    def _take_out(self, f: Fragment, seeds: set[int]) -> None:
        """Sets a fragment aside after writing one of its other runs; a crash in between leaves both."""
        if not seeds.issuperset(f.seeds):
            fragment.write_without(f, seeds, self.folder)
        disk.move(f.path, self.free_aside(f.path))

    def _set_logs_aside(self, setup: Setup, seeds: Iterable[int]) -> None:
        """Sets aside the search logs of removed runs."""
        for path in (self._search(setup, seed) for seed in seeds):
            if path.exists():
                disk.move(path, self.free_aside(path))

    def _check_logs(self, f: Fragment) -> None:
        for run in f.runs:
            if run.log:
                self._of_log(f, run, fragment.log_bytes)

    def _drop_doubles(self) -> None:
        """Removes duplicate runs, left by a crash in `_take_out` or by a fragment that was unreadable for a while.

        The fragment with the most runs stays, which undoes an interrupted `_take_out`.
        """
        setups: dict[str, list[Fragment]] = {}
        for f in self.fragments():
            setups.setdefault(f.setup.id, []).append(f)
        for fragments in setups.values():
            seen: set[int] = set()
            for f in sorted(fragments, key=lambda f: -len(f.runs)):
                duplicates = seen.intersection(f.seeds)
                if duplicates:
                    self._take_out(f, duplicates)
                seen.update(f.seeds)

    def free_aside(self, path: Path) -> Path:
        """A free name in `_aside/` for a file of this store."""
        folder = self.folder / "_aside"
        disk.make_folder(folder)
        names = (folder / f"{path.name}{f'.{n}' if n else ''}" for n in range(10**6))
        return next(name for name in names if not os.path.lexists(name))

    def _mend_header(self, metrics: Iterable[str] = ()) -> None:
        """Writes the header if it lacks some metrics; a missing or damaged one is rebuilt from all fragments."""
        path = self.folder / HEADER
        known, damage = None, ""
        try:
            known = fragment.read_header(path)
        except FileNotFoundError:
            damage = "was missing"
        except (Torn, disk.Irregular) as error:
            damage = f"was damaged ({error})"
            self.set_aside(path, str(error))
        fragments = self.fragments() if damage else []
        names = {*metrics, *(known.metrics if known else ()), *(name for f in fragments for name in f.setup.metrics)}
        if known is None or names != set(known.metrics):
            fragment.write_header(path, sorted(names))
        if fragments:
            self._notice(f"{path} {damage}; it is written anew from the fragments")
        self._columns = names

    def _remove_scratch(self) -> None:
        """Removes temporary files of this host whose writers died.

        Writers hold the lock, so a temporary file seen under the lock has lost its writer. (Testing whether the process
        lives would not do: a killed process lingers until its parent has waited for it.)
        """
        for folder in (self.folder, self.folder / "_plans", self.folder / "_searches"):
            for path in disk.scratch(folder):
                disk.remove(path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Holds the store's lock (the system releases it if the process dies) and turns its errors into sentences."""
        with said(self.folder, _PATIENCE), self._lock.held(_PATIENCE):
            yield


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")  # the later plan counts

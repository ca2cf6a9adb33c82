"""The trajectory store: a folder of Parquet fragments that any reader of Parquet can open.

    STORE/0-schema.parquet      no rows, but every metric column of the store, so that readers of the folder see all
    STORE/<method>.<bench>.<constraint>.<cell>.<seeds>.parquet      finished runs of one cell
    STORE/_plans/*.json         what was asked for, by which command
    STORE/_journals/*.jsonl     unfinished runs whose evaluations are expensive
    STORE/_searches/*.parquet   the search log of each run whose method keeps one
    STORE/_aside/               torn, foreign, stale and retried files: never read, never deleted

Readers of Parquet folders skip names that begin with `_` or `.`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from nasbench.results.errors import Interrupted, StoreError
from nasbench.results.store import fragment
from nasbench.results.store.fragment import Fragment, RunRecord, Torn
from nasbench.results.store.trajectory import Cell, Trajectory, log_table, schema

_HEADER = "0-schema.parquet"


class Store:
    """A folder of trajectories. All writes are atomic; several processes may use one store at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []
        """What was found wrong with the folder's files so far, a sentence each."""

    @classmethod
    def open(cls, folder: Path) -> Store:
        """An existing store. Raises StoreError if there is none, or it is from a newer schema."""
        if not _is_store(folder):
            inside = sorted(path.parent.name for path in folder.glob(f"*/{_HEADER}"))
            if folder.is_file():
                advice = "it is a file"
            else:
                advice = (
                    f"it holds the stores {', '.join(inside)}"
                    if inside
                    else f"`nasbench run --store {folder}` makes one"
                )
            raise StoreError(f"{folder} is not a trajectory store; {advice}")
        store = cls(folder)
        with _said(folder):
            try:
                fragment.read_facts(folder / _HEADER)
            except (Torn, FileNotFoundError):
                store._repair_header()
        return store

    @classmethod
    def create(cls, folder: Path) -> Store:
        """A store at `folder`, made if absent. Raises StoreError if it is another kind of folder or not writable."""
        if _is_store(folder):
            store = cls.open(folder)
        else:
            with _said(folder):
                # Another process may be creating this store at this instant: its first files are no foreigners.
                if folder.is_dir() and any(name[0] not in "._" and name != _HEADER for name in os.listdir(folder)):
                    raise StoreError(f"{folder} is neither empty nor a trajectory store: give another --store")
                folder.mkdir(parents=True, exist_ok=True)
            store = cls(folder)
        with store._writing():
            for name in ("_plans", "_journals", "_searches", "_aside"):
                (folder / name).mkdir(exist_ok=True)
            store._remove_scratch()
            if not (folder / _HEADER).is_file():
                store._write_header([], ())
        return store

    @property
    def journals(self) -> Path:
        """Where the journals of unfinished runs lie."""
        return self.folder / "_journals"

    # Reading

    def fragments(self) -> list[Fragment]:
        """All readable fragments, sorted by name; the rest is set aside, with a notice."""
        return self._read(self._entries())

    def _read(self, paths: Iterable[Path]) -> list[Fragment]:
        found = []
        for path in paths:
            try:
                found.append(fragment.read(path))
            except Torn as error:
                self.set_aside(path, str(error))
            except FileNotFoundError:
                continue  # another process has set it aside at this instant
        return found

    def runs(self) -> dict[str, dict[int, RunRecord]]:
        """All finished runs: id of the cell → seed → record."""
        found: dict[str, dict[int, RunRecord]] = {}
        for f in self.fragments():
            found.setdefault(f.cell.id, {}).update({run.seed: run for run in f.runs})
        return found

    def search_log(self, cell: Cell, seed: int) -> pa.Table | None:
        """What the method of a run had to say of its search; None where it said nothing, or the file is damaged."""
        path = self._search(cell, seed)
        if not path.exists():
            return None  # as of most runs: asking Parquet would take a hundred times as long
        try:
            return pq.read_table(path)
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            self.set_aside(path, f"not a readable search log ({type(error).__name__})")
            return None

    def plans(self) -> list[dict[str, Any]]:
        """What was asked of this store, oldest first: command, saved, wishes, and cells (pairs of cell and seeds)."""
        plans: list[dict[str, Any]] = []
        for path in sorted((self.folder / "_plans").glob("*.json")):
            try:
                plan = json.loads(path.read_text())
                cells = [(Cell.from_json(c["cell"]), list(c["seeds"])) for c in plan["cells"]]
                plans.append({name: plan[name] for name in ("command", "saved", "wishes")} | {"cells": cells})
            except (ValueError, KeyError, TypeError) as error:
                self.set_aside(path, f"not a readable plan ({type(error).__name__})")
        return sorted(plans, key=lambda plan: str(plan["saved"]))

    def wishes(self) -> dict[str, Any]:
        """What the suite that was last asked for wishes its report to show: title, checkpoints, baseline."""
        return next((plan["wishes"] for plan in reversed(self.plans()) if plan["wishes"]), {})

    def has(self, cell: Cell, seed: int) -> bool:
        """Whether a run is stored, now: another process may have stored it since `runs` was asked."""
        return any(seed in f.seeds for f in self._fragments_of(cell))

    # Writing

    def save_plan(self, command: str, grid: Iterable[tuple[Cell, list[int]]], wishes: dict[str, Any]) -> None:
        """Records a grid of cells and seeds that was asked for, so that `status` can tell what is missing.

        Args:
            command: the command line that asks for it.
            wishes: of the suite, for its report; empty where no suite asked.
        """
        cells = [{"cell": cell.to_json(), "seeds": seeds} for cell, seeds in grid]
        name = hashlib.sha256(json.dumps([wishes, cells], sort_keys=True).encode()).hexdigest()[:16]
        plan = {"command": command, "saved": _now(), "wishes": wishes, "cells": cells}
        with self._writing(), fragment.written_aside(self.folder / "_plans" / f"{name}.json") as temporary:
            temporary.write_text(json.dumps(plan))

    def commit(self, cell: Cell, trajectories: list[Trajectory], provenance: dict[str, Any]) -> list[RunRecord]:
        """Stores finished runs of one cell as a new fragment; returns those that were not there already.

        Raises StoreError, leaving nothing half-written, if the disk is full or the store read-only.
        """
        with self._writing():
            present = {seed for f in self._fragments_of(cell) for seed in f.seeds}
            fresh = [t for t in trajectories if t.seed not in present]
            if not fresh:
                return []
            self._widen_header(cell.metrics)
            for trajectory in fresh:
                if trajectory.log:
                    fragment.write_table(self._search(cell, trajectory.seed), log_table(cell, trajectory), {})
            return fragment.write(self.folder / _name(cell, fresh), cell, fresh, provenance)

    def supersede(self, cells: Iterable[Cell]) -> None:
        """Sets aside the runs of these very cells made with other data, another version of the method or schema."""
        current = {cell.key: cell.id for cell in cells}
        for f in self.fragments():
            if current.get(f.cell.key, f.cell.id) != f.cell.id:
                self.set_aside(f.path, "stale: made with other data or another version of the method")
                self._set_searches_aside(f.cell, f.seeds)

    def forget(self, cell: Cell, seeds: set[int]) -> None:
        """Takes the runs of some seeds out of the store, so that they are computed anew; a copy is set aside."""
        with self._writing():
            for f in self._fragments_of(cell):
                if seeds.isdisjoint(f.seeds):
                    continue
                self._set_searches_aside(cell, seeds.intersection(f.seeds))
                if seeds.issuperset(f.seeds):
                    f.path.replace(self._aside(f.path))
                else:
                    os.link(f.path, self._aside(f.path))
                    fragment.rewrite(f, f.path, without=seeds)

    def set_aside(self, path: Path, reason: str) -> None:
        """Moves a file into `_aside/` with a notice; in a read-only store it is left where it is, and ignored."""
        try:
            target = self._aside(path)
            path.replace(target)
            self.notices.append(f"{path} is set aside as {target}: {reason}")
        except FileNotFoundError:
            pass  # another process was faster
        except OSError:
            self.notices.append(f"{path} is ignored: {reason}")

    # Inside

    def _search(self, cell: Cell, seed: int) -> Path:
        return self.folder / "_searches" / f"{cell.run_id(seed)}.parquet"

    def _set_searches_aside(self, cell: Cell, seeds: Iterable[int]) -> None:
        """The logs of runs that are no longer here go with them."""
        for path in (self._search(cell, seed) for seed in seeds):
            if path.exists():
                path.replace(self._aside(path))

    def _entries(self) -> list[Path]:
        """What lies in the folder as if it were data; a store inside the store is none of its business."""
        with _said(self.folder):
            entries = sorted(p for p in self.folder.iterdir() if p.name[0] not in "._" and p.name != _HEADER)
        return [p for p in entries if not _is_store(p)]

    def _fragments_of(self, cell: Cell) -> list[Fragment]:
        return self._read(sorted(self.folder.glob(f"*.{cell.id}.*.parquet")))

    def _aside(self, path: Path) -> Path:
        """A free name in `_aside/` for a file of this store."""
        folder = self.folder / "_aside"
        folder.mkdir(exist_ok=True)
        names = (folder / f"{path.name}{f'.{n}' if n else ''}" for n in range(10**6))
        return next(name for name in names if not name.exists())

    def _write_header(self, known: list[str], metrics: Iterable[str]) -> None:
        """Replaces the header, which has the columns `known`, by one that has `metrics` too."""
        widened = sorted({*known, *metrics})
        fragment.write_table(self.folder / _HEADER, schema(tuple(widened)).empty_table(), {"metrics": widened})

    def _widen_header(self, metrics: Iterable[str]) -> None:
        known = fragment.read_facts(self.folder / _HEADER)["metrics"]
        if not set(metrics) <= set(known):
            self._write_header(known, metrics)

    def _repair_header(self) -> None:
        """Writes a missing or damaged header anew from the fragments; a copy of a damaged one is set aside."""
        path = self.folder / _HEADER
        metrics = [name for f in self.fragments() for name in f.cell.metrics]
        with self._writing():
            if path.exists():
                os.link(path, self._aside(path))
            self._write_header([], metrics)
        self.notices.append(f"{path} was missing or damaged; it is written anew from the fragments")

    def _remove_scratch(self) -> None:
        """Removes this host's temporary files, which never became data; the caller holds the lock.

        Whoever writes holds the lock, so a temporary file seen under it has lost its writer. Asking whether the
        writer's process lives would be no test: a killed process lingers until its parent has taken note.
        """
        folders = (self.folder, self.folder / "_plans", self.folder / "_searches")
        for path in (path for folder in folders for path in folder.glob(".*.tmp")):
            if f".{os.uname().nodename}." in path.name:  # on some shared disks locks do not reach other hosts
                path.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Holds the store's lock (the system releases it if the process dies) and words its errors."""
        with _said(self.folder), FileLock(self.folder / ".lock"):
            yield


def _is_store(folder: Path) -> bool:
    """Whether a folder is, or was before it lost its header, a trajectory store."""
    return (folder / _HEADER).is_file() or (folder / "_plans").is_dir()


def content_hash(store: Store) -> str:
    """SHA-256 of all trajectories of a store: every column but `thinking`, which is measured and never repeats.

    It does not depend on how the runs are spread over fragments, nor on the order in which they were made. Every byte
    of every fragment is read and verified on the way; what is damaged is set aside and does not count.
    """
    digests = []
    for f in store.fragments():
        try:
            table = f.table().drop_columns(["thinking", "method", "bench", "constraint"])  # the last three: in the id
        except Torn as error:
            store.set_aside(f.path, str(error))
            continue
        columns = [_plain(table[name]) for name in table.column_names]
        start = 0
        for run in f.runs:
            rows = slice(start, start + run.rows)
            digest = hashlib.sha256(f"{f.cell.run_id(run.seed)}\0{run.failure}".encode())
            for column in columns:
                part = column[rows]
                digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
            digests.append(digest.hexdigest())
            start += run.rows
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


def _plain(column: pa.ChunkedArray) -> np.ndarray | list[str | None]:
    """Numbers as an array, text as a list."""
    is_text: bool = pa.types.is_string(column.type)
    return column.to_pylist() if is_text else column.to_numpy()  # type: ignore[no-any-return]


@contextmanager
def _said(folder: Path) -> Iterator[None]:
    """Words an error of the file system as one sentence."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise Interrupted(
            f"cannot use the store {folder}: {cause}; what was stored before is intact, "
            "so once that is mended, give the same command again"
        ) from None


def _name(cell: Cell, trajectories: list[Trajectory]) -> str:
    words = re.sub(r"[^\w.+-]", "_", f"{cell.method}.{cell.bench}.{cell.constraint}")[:120]
    seeds = hashlib.sha256(repr([t.seed for t in trajectories]).encode()).hexdigest()[:8]
    return f"{words}.{cell.id}.{seeds}.parquet"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

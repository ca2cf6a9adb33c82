"""One Parquet file of a store: runs of one cell, with their identity and provenance in the file's metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nasbench.results.errors import StoreError
from nasbench.results.store.trajectory import SCHEMA_VERSION, Cell, Trajectory, to_table

_KEY = b"nasbench"


class Torn(Exception):
    """A file that is not, or no longer, a readable fragment; the message says why."""


@dataclass(frozen=True)
class RunRecord:
    """What a fragment's metadata says of one of its runs."""

    seed: int
    rows: int
    failure: str
    """Why the method could not use up its budget; empty if it did."""
    failed_evaluations: int
    first_reason: str
    """The reason of the first failed row; empty if none failed."""
    began: str
    ended: str

    @property
    def failed(self) -> bool:
        return bool(self.failure) or self.failed_evaluations > 0


@dataclass(frozen=True)
class Fragment:
    """A readable fragment: its rows stay on disk until `table` is called."""

    path: Path
    cell: Cell
    runs: tuple[RunRecord, ...]
    """In the order of their rows."""
    provenance: dict[str, Any]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """The rows (of some columns). Raises Torn if the bytes do not match their checksums."""
        with _torn_if_invalid("unreadable rows"):
            return pq.ParquetFile(self.path, page_checksum_verification=True).read(columns)

    def first(self, column: str) -> Any:
        """A column's value in the first row, without reading the others; None where there is no row."""
        with _torn_if_invalid("unreadable rows"):
            batches = pq.ParquetFile(self.path).iter_batches(1, columns=[column])
            return next((batch.column(0)[0].as_py() for batch in batches if len(batch)), None)


def write(path: Path, cell: Cell, trajectories: list[Trajectory], provenance: dict[str, Any]) -> list[RunRecord]:
    """Writes the runs of one cell as a fragment, atomically and durably; returns what its metadata says of them."""
    records = [_record(t) for t in trajectories]
    _write(path, to_table(cell, trajectories), cell, records, provenance)
    return records


def rewrite(fragment: Fragment, path: Path, without: set[int]) -> None:
    """Writes at `path`, atomically, what `fragment` holds except the runs of the seeds in `without`."""
    table = fragment.table()
    kept = table.filter(pc.invert(pc.is_in(table["seed"], pa.array(sorted(without)))))
    runs = [run for run in fragment.runs if run.seed not in without]
    _write(path, kept, fragment.cell, runs, fragment.provenance)


def read(path: Path) -> Fragment:
    """Reads a fragment's metadata. Raises Torn if it is damaged or foreign, StoreError if it is from the future."""
    facts = read_facts(path)
    try:
        runs = tuple(RunRecord(**run) for run in facts["runs"])
        fragment = Fragment(path, Cell.from_json(facts["cell"]), runs, facts["provenance"])
    except (KeyError, TypeError) as error:
        raise Torn(f"incomplete metadata ({error})") from None
    if sum(run.rows for run in runs) != pq.read_metadata(path).num_rows:
        raise Torn("its metadata and its rows disagree")
    return fragment


def read_facts(path: Path) -> dict[str, Any]:
    """The metadata this project put into a Parquet file. Raises Torn or StoreError, as `read` does."""
    with _torn_if_invalid("not a readable Parquet file"):
        metadata = pq.read_metadata(path).metadata or {}
    if _KEY not in metadata:
        raise Torn("not written by nasbench")
    try:
        facts: dict[str, Any] = json.loads(metadata[_KEY])
        version = int(facts["schema"])
    except (ValueError, KeyError, TypeError) as error:
        raise Torn(f"unreadable metadata ({error})") from None
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer nasbench (schema {version}, this one reads up to "
            f"{SCHEMA_VERSION}): upgrade nasbench or choose another store"
        )
    return facts


def write_table(path: Path, table: pa.Table, facts: dict[str, Any]) -> None:
    """Writes a table with our metadata aside, flushes it to the disk, and renames it into place."""
    text = json.dumps({"schema": SCHEMA_VERSION, **facts})
    words = [column.name for column in table.schema if pa.types.is_string(column.type)]
    with written_aside(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata({_KEY: text.encode()}),
            temporary,
            compression="zstd",
            use_dictionary=words,
            dictionary_pagesize_limit=1 << 22,  # configurations repeat, but a million bytes of them do not fit
            write_statistics=[name for name in table.column_names if name not in words],
            write_page_checksum=True,
        )


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; on leaving it is flushed to the disk and renamed to `path`, or removed.

    The name tells the writer's host and process: writers do not collide, and what a killed one left can be recognised.
    """
    temporary = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.tmp")
    try:
        yield temporary
        for target in (temporary, path.parent):
            if target == path.parent:
                temporary.replace(path)
            handle = os.open(target, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, rows: pa.Table, cell: Cell, runs: list[RunRecord], provenance: dict[str, Any]) -> None:
    facts = {"cell": cell.to_json(), "runs": [vars(run) for run in runs], "provenance": provenance}
    write_table(path, rows, facts)


def _record(trajectory: Trajectory) -> RunRecord:
    reasons = trajectory.columns["reason"][trajectory.columns["status"] == "failed"]
    return RunRecord(
        seed=trajectory.seed,
        rows=len(trajectory),
        failure=trajectory.failure,
        failed_evaluations=len(reasons) - bool(trajectory.failure),
        first_reason=trajectory.failure or str(next(iter(reasons), "")),
        began=trajectory.began,
        ended=trajectory.ended,
    )


@contextmanager
def _torn_if_invalid(what: str) -> Iterator[None]:
    """Invalid content is torn; trouble of the system (no memory, no descriptor, no permission) is not the file's fault.

    Arrow reports both as OSError; only the system's carry a number.
    """
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Torn(f"{what} ({text})") from None

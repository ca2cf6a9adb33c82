"""One Parquet file of a store: runs of one setup, with their identity and provenance in the file's metadata.

The name of a fragment ends in the digest of its bytes, so that every change of them is detected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nasbench.base.errors import StoreError
from nasbench.results.store import disk
from nasbench.results.store.decoding import decoded
from nasbench.results.store.setups import setup_of
from nasbench.results.store.trajectory import (
    SCHEMA_VERSION,
    Setup,
    Trajectory,
    are_refused,
    identifies,
    schema,
    to_table,
)

_KEY = b"nasbench"
_NAME = re.compile(r"\.([0-9a-f]{16})\.([0-9a-f]{32})\.parquet")
_LONGEST_WORDS = 80  # letters of a name before the digest: the temporary file's name stays below 255 bytes


class Torn(Exception):
    """A file is damaged, or is not a fragment; the message says why."""


class Gone(Torn):
    """A file is no longer there: another process has moved it since it was found."""


@dataclass(frozen=True)
class RunRecord:
    """A run in a fragment's metadata."""

    seed: int
    rows: int
    failure: str
    """The reason why the method stopped before the end of its budget; empty if it did not."""
    failed_evaluations: int
    first_reason: str
    """The reason of the first failed row; empty if none failed."""
    began: str
    ended: str
    log: str = ""
    """Digest of the file of its search log; empty if it has none."""
    refused: int = 0
    """Number of rows that were refused at no part of the budget."""

    @property
    def evaluations(self) -> int:
        """Number of its evaluations, full or partial: of rows that are neither refused nor close a failed run."""
        return self.rows - self.refused - bool(self.failure)

    @property
    def failed(self) -> bool:
        return bool(self.failure) or self.failed_evaluations > 0


@dataclass(frozen=True)
class Fragment:
    """A readable fragment: its rows stay on disk until `table` is called."""

    path: Path
    setup: Setup
    runs: tuple[RunRecord, ...]
    """The runs, in the order of their rows."""
    provenance: dict[str, Any]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    @property
    def counts_spending(self) -> bool:
        """Whether rows use other parts of the budget than one evaluation each: a part of a training, or nothing."""
        return self.setup.setting.highest > 1 or any(run.refused for run in self.runs)

    @cached_property
    def by_seed(self) -> dict[int, RunRecord]:
        """The run of each seed."""
        return {run.seed: run for run in self.runs}

    def spans(self) -> Iterator[tuple[RunRecord, slice]]:
        """Each run with the place of its evaluations; the closing row of a failed run is none."""
        end = 0
        for run in self.runs:
            start, end = end, end + run.rows
            yield run, slice(start, end - bool(run.failure))

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """The rows, optionally of some columns only. Raises Torn if the bytes do not match their checksums."""
        with _torn_if_invalid("unreadable rows"):
            return decoded(self.path, columns)

    def whole(self, columns: list[str]) -> pa.Table:
        """The rows, in some columns, of evaluations at the highest level of the fidelity.

        Raises Torn as `table` does.
        """
        highest = self.setup.setting.highest
        if highest == 1:
            return self.table(columns)
        table = self.table([*columns, "level"])
        return table.filter(pc.equal(table["level"], highest)).drop_columns("level")

    def checked_table(self) -> pa.Table:
        """All rows. Raises Torn if their runs or columns are not those of the metadata."""
        table = self.table()
        if not table.schema.equals(schema(self.setup.metrics)):
            raise Torn("its columns are not those of its schema")
        if not identifies(table, self.setup, self.seeds, [run.rows for run in self.runs]):
            raise Torn("its metadata and its rows disagree")
        return table

    def first(self, column: str) -> Any:
        """A column's value in the first row, without reading the others; None if there is no row."""
        with _torn_if_invalid("unreadable rows"):
            batches = pq.ParquetFile(self.path).iter_batches(1, columns=[column])
            return next((batch.column(0)[0].as_py() for batch in batches if len(batch)), None)


def checked(provenance: object) -> dict[str, Any]:
    """A provenance as reports read it. Raises ValueError for anything else."""
    if not isinstance(provenance, dict) or "commit" not in provenance:
        raise ValueError("a provenance without a commit")
    for name in ("versions", "machine"):
        known = provenance.get(name)
        if not isinstance(known, dict) or not all(isinstance(text, str) for text in known.values()):
            raise ValueError(f"a provenance without {name}")
    return provenance


def write(
    folder: Path, setup: Setup, trajectories: list[Trajectory], provenance: dict[str, Any], logs: dict[int, str]
) -> list[RunRecord]:
    """Writes the runs of one setup as a fragment, atomically and durably; returns their records.

    Args:
        logs: the digest of each search log, by seed.
    """
    records = [record(t, logs.get(t.seed, "")) for t in trajectories]
    _write(folder, to_table(setup, trajectories), setup, records, provenance)
    return records


def write_without(fragment: Fragment, seeds: set[int], folder: Path) -> None:
    """Writes a copy of a fragment into a folder, without the runs of some seeds."""
    table = fragment.table()
    kept = table.filter(pc.invert(pc.is_in(table["seed"], pa.array(sorted(seeds)))))
    runs = [run for run in fragment.runs if run.seed not in seeds]
    _write(folder, kept, fragment.setup, runs, fragment.provenance)


def record_of(facts: dict[str, Any]) -> RunRecord:
    """A run's record. Raises ValueError for one that no run can have, TypeError or KeyError for anything else."""
    run = RunRecord(**facts)
    counts = (run.seed, run.rows, run.failed_evaluations, run.refused)
    texts = (run.failure, run.first_reason, run.began, run.ended, run.log)
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in counts):
        raise ValueError(f"a run with the seed {run.seed!r} and {run.rows!r} rows")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"the run with the seed {run.seed} says something else than text")
    return run


def read(path: Path) -> Fragment:
    """Reads a fragment's metadata, and checks the digest of the whole file.

    Raises Torn if it is damaged or foreign, StoreError if it is of another schema.
    """
    content = disk.read(path)
    named = _NAME.search(path.name)
    if named and named[2] != disk.digest(content):
        raise Torn("its bytes do not match the digest in its name")
    with _torn_if_invalid("not a readable Parquet file"):
        metadata = pq.read_metadata(pa.BufferReader(content))
    facts = _facts(metadata)
    _check_version(path, facts)
    try:
        runs = tuple(map(record_of, facts["runs"]))
        fragment = Fragment(path, setup_of(facts["setup"]), runs, checked(facts["provenance"]))
        rows = sum(run.rows for run in runs)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Torn(f"incomplete metadata ({error})") from None
    if named is None or named[1] != fragment.setup.id:
        raise Torn("its name is not that of its contents")
    if rows != metadata.num_rows:
        raise Torn("its metadata and its rows disagree")
    return fragment


class Header(NamedTuple):
    """The contents of the file that shows readers of a store's folder all its columns."""

    metrics: list[str]
    schema: int


def write_header(path: Path, metrics: list[str]) -> None:
    """Writes the file that shows readers of a store's folder all its columns: it has every metric and no rows."""
    facts = {"metrics": metrics, "digest": _digest_of(metrics, SCHEMA_VERSION)}
    disk.write(path, _parquet(schema(tuple(metrics)).empty_table(), facts))


def read_header(path: Path) -> Header:
    """Reads the header file. Raises Torn if it is damaged, StoreError if it is of another schema."""
    content = disk.read(path)
    with _torn_if_invalid("not a readable Parquet file"):
        metadata = pq.read_metadata(pa.BufferReader(content))
        columns = pq.read_schema(pa.BufferReader(content))
    facts = _facts(metadata)
    try:
        header = Header([str(name) for name in facts["metrics"]], facts["schema"])
    except (KeyError, TypeError) as error:
        _check_version(path, facts)
        raise Torn(f"incomplete metadata ({error})") from None
    if "digest" in facts and facts["digest"] != _digest_of(*header):
        raise Torn("its metadata does not match its digest")
    _check_version(path, facts)
    if "digest" not in facts:
        raise Torn("its metadata has no digest")
    if not columns.equals(schema(tuple(header.metrics))):
        raise Torn("its columns are not those that it names")
    return header


def write_log(path: Path, table: pa.Table) -> str:
    """Writes a search log; returns its digest."""
    content = _parquet(table, {})
    disk.write(path, content)
    return disk.digest(content)


def log_bytes(path: Path, digest: str) -> bytes:
    """The bytes of a search log. Raises Torn if its digest differs."""
    content = disk.read(path)
    if disk.digest(content) != digest:
        raise Torn("its bytes do not match the digest that was recorded with its run")
    return content


def read_log(path: Path, digest: str) -> pa.Table:
    """A search log. Raises Torn if it is damaged or its digest differs."""
    content = log_bytes(path, digest)
    with _torn_if_invalid("not a readable search log"):
        return decoded(content)


def _write(folder: Path, rows: pa.Table, setup: Setup, runs: list[RunRecord], provenance: dict[str, Any]) -> None:
    facts = {"setup": setup.to_json(), "runs": [vars(run) for run in runs], "provenance": provenance}
    content = _parquet(rows, facts)
    words = re.sub(r"[^\w.+-]", "_", f"{setup.method}.{setup.bench}.{setup.constraint}", flags=re.ASCII)
    words = words if words[0].isalnum() else f"x{words}"  # a name that begins with _ or . is no fragment's
    disk.write(folder / f"{words[:_LONGEST_WORDS]}.{setup.id}.{disk.digest(content)}.parquet", content)


def _parquet(table: pa.Table, facts: dict[str, Any]) -> memoryview:
    """The bytes of a Parquet file of a table, with our metadata."""
    text = json.dumps({"schema": SCHEMA_VERSION, **facts})
    words = [column.name for column in table.schema if pa.types.is_string(column.type)]
    content = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({_KEY: text.encode()}),
        content,
        compression="zstd",
        use_dictionary=words,
        dictionary_pagesize_limit=1 << 22,  # configurations repeat, but exceed the default of 1 MiB
        write_statistics=[name for name in table.column_names if name not in words],
        write_page_checksum=True,
    )
    return memoryview(content.getvalue())


def _facts(file: pq.FileMetaData) -> dict[str, Any]:
    """The metadata this project put into a Parquet file. Raises Torn."""
    metadata = file.metadata or {}
    if _KEY not in metadata:
        raise Torn("not written by nasbench")
    try:
        facts: dict[str, Any] = json.loads(metadata[_KEY])
        version = int(facts["schema"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Torn(f"unreadable metadata ({type(error).__name__})") from None
    return facts | {"schema": version}


def _check_version(path: Path, facts: dict[str, Any]) -> None:
    if facts["schema"] != SCHEMA_VERSION:
        raise of_another_schema(path, facts["schema"])


def of_another_schema(path: Path, schema: int) -> StoreError:
    """The error of a file that another version of nasbench wrote."""
    age = "a newer" if schema > SCHEMA_VERSION else "an earlier"
    return StoreError(
        f"{path} was written by {age} nasbench (schema {schema}, this one reads {SCHEMA_VERSION}): read it with that "
        "version, or run its command again into another store"
    )


def _digest_of(metrics: list[str], version: int) -> str:
    return disk.digest(json.dumps([version, metrics]).encode())


def record(trajectory: Trajectory, log: str = "") -> RunRecord:
    """The record of a run for a fragment's metadata."""
    reasons = trajectory.columns["reason"][trajectory.columns["status"] == "failed"]
    return RunRecord(
        seed=trajectory.seed,
        rows=len(trajectory),
        failure=trajectory.failure,
        failed_evaluations=len(reasons) - bool(trajectory.failure),
        first_reason=trajectory.failure or str(next(iter(reasons), "")),
        began=trajectory.began,
        ended=trajectory.ended,
        log=log,
        refused=int(are_refused(trajectory.columns["spent"]).sum()),
    )


@contextmanager
def _torn_if_invalid(what: str) -> Iterator[None]:
    """Turns errors of invalid content into Torn, and lets system errors (no memory, no permission) pass.

    Arrow reports both as OSError; only system errors have an errno.
    """
    try:
        yield
    except MemoryError:
        raise
    except FileNotFoundError:
        raise Gone("it is no longer there") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Torn(f"{what} ({text})") from None

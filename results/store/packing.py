"""Writes archives, and compares runs with what an archive keeps of them (`archive.py` reads them)."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nasbench.base.errors import StoreError
from nasbench.results.store import disk
from nasbench.results.store._contents import hash_of
from nasbench.results.store.archive import (
    BITS,
    FACTS,
    FEASIBLE,
    OF_LEVELS,
    STEPS,
    ArchivedFragment,
    Columns,
    check_member,
    check_rows,
    check_versions,
    has_control_characters,
)
from nasbench.results.store.fragment import Fragment, Torn, record
from nasbench.results.store.status import shards, status
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import SCHEMA_VERSION, Trajectory, to_table

_MOMENT = (2026, 1, 1, 0, 0, 0)  # of every member, so that equal contents are equal bytes
_KEPT = ("incumbent", "finished", "score", "score_feasible", "hidden", "hidden_feasible")
_CHANGES = ("incumbent", "hidden", "hidden_feasible")


def pack(store: Store, path: Path, name: str = "") -> int:
    """Writes an archive of a store, atomically; returns its bytes.

    Args:
        name: how messages call the store; by its folder by default.

    Raises StoreError if the store holds no run, runs with several objectives, several versions of
    a method, a run twice, a name with a control character, or more than archives may hold.
    """
    shown = name or store.folder
    fragments = sorted(store.fragments(), key=lambda f: (f.setup.bench, f.setup.constraint, f.setup.method, f.setup.id))
    if not fragments:
        raise StoreError(f"{shown} holds no finished run")
    if several := sorted({f.setup.bench for f in fragments if f.setup.objectives}):
        raise StoreError(f"runs with several objectives cannot be archived yet, and those on {several[0]} have them")
    check_versions(shown, [f.setup for f in fragments])
    check_rows(shown, fragments)
    runs = [(f.setup.id, seed) for f in fragments for seed in f.seeds]
    if len(set(runs)) < len(runs):
        raise StoreError(f"{shown} has a run twice, which an interrupted command left: give that command again")
    if has_control_characters([store.display(), *((f.setup.to_json(), f.provenance) for f in fragments)]):
        raise StoreError(
            f"{shown} has a title, a label or a name with a control character, such as a line end: change "
            "it (for a title or a label give the suite's command again), for archives have none"
        )
    try:
        contents = hash_of(store, fragments)  # of these runs: another process may add some meanwhile
        parts, bits = _rows_of(fragments)
    except Torn as error:
        raise StoreError(
            f"{shown} has a file that cannot be read now ({error}): see `nasbench status`, and give the same "
            "command again"
        ) from None
    members = _parquet(_joined(parts)), _parquet(pa.table({FEASIBLE: bits}))
    facts = {
        "schema": SCHEMA_VERSION,
        "contents": contents,
        "display": store.display(),
        "missing": [(c.setup.to_json(), c.missing) for c in status(store, lambda _: None) if c.missing],
        "shards": shards(store),
        "digests": list(map(disk.digest, members)),
        "setups": [
            {"setup": f.setup.to_json(), "runs": [vars(run) for run in f.runs], "provenance": f.provenance}
            for f in fragments
        ],
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for part, member in {FACTS: json.dumps(facts).encode(), STEPS: members[0], BITS: members[1]}.items():
            check_member(path, part, member)
            kind = zipfile.ZIP_DEFLATED if part == FACTS else zipfile.ZIP_STORED  # Parquet is compressed
            file.writestr(zipfile.ZipInfo(part, _MOMENT), member, kind, 9)
    disk.write(path, memoryview(content.getvalue()))
    return content.tell()


def _rows_of(fragments: Iterable[Fragment]) -> tuple[list[Columns], list[bytes]]:
    """The kept rows of every run, and a bit for each of its rows. Raises Torn as `Fragment.table` does."""
    parts, bits = list[Columns](), list[bytes]()
    for f in fragments:
        test_metrics = [f"metric.{name}" for name in f.setup.setting.test_metrics]
        table = f.table([*_KEPT, FEASIBLE, *OF_LEVELS, *test_metrics])
        columns = {name: _plain(table[name]) for name in table.column_names}
        if (columns["level"] == f.setup.setting.highest).all() and not any(run.refused for run in f.runs):
            del columns["level"], columns["spent"]
        feasible, ends = columns.pop(FEASIBLE).astype(bool), np.cumsum([run.rows for run in f.runs]).tolist()
        for run, (start, end) in zip(f.runs, pairwise([0, *ends]), strict=True):
            bits.append(np.packbits(feasible[start:end]).tobytes())
            own = {name: values[start:end] for name, values in columns.items()}
            parts.append(kept_rows(own, bool(run.failure)))
    return parts, bits


def kept_rows(columns: Columns, stopped: bool = False) -> Columns:
    """The rows of a run that an archive keeps, with their numbers in `row`.

    Args:
        stopped: whether the run stopped early: its last row is no evaluation, so the one before is kept, too.
    """
    length = len(columns["incumbent"])
    changes = np.ones(length, bool)
    if not any(name in columns for name in OF_LEVELS):  # with levels every row is kept
        changes[1:-1] = np.any([_differs(columns[name]) for name in _CHANGES], axis=0)[:-1]
        changes[-2:] |= stopped
    row = np.flatnonzero(changes)
    return {name: values[row] for name, values in columns.items()} | {"row": row.astype(np.int32)}


def _differs(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value but the first differs from the one before; NaN equals NaN."""
    before, after = values[:-1], values[1:]
    different: NDArray[np.bool_] = (before != after) & ~((before != before) & (after != after))  # noqa: PLR0124
    return different


def _plain(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column as an array; a Boolean one as 1, 0 and, where it is unknown, -1."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8()).fill_null(-1)
    plain: NDArray[Any] = column.to_numpy()
    return plain


def _joined(parts: Sequence[Columns]) -> pa.Table:
    """One table of the kept rows of all runs; a column that a run lacks is NaN there, or 0."""
    names = dict.fromkeys(name for part in parts for name in part)
    lengths = [len(part["row"]) for part in parts]
    kinds = {name: next(part[name].dtype for part in parts if name in part) for name in names}
    joined = {"run": np.repeat(np.arange(len(parts), dtype=np.int32), lengths)}
    for name, kind in kinds.items():
        absent = np.nan if kind == np.float64 else 0
        own = [part[name] if name in part else np.full(n, absent, kind) for part, n in zip(parts, lengths, strict=True)]
        joined[name] = np.concatenate(own)
    return pa.table(joined)


def _parquet(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    times = [name for name in table.column_names if name == "finished"]  # no two are equal: no dictionary helps
    pq.write_table(
        table,
        content,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table.column_names if name not in times],
        use_byte_stream_split=times or False,
        dictionary_pagesize_limit=1 << 22,
        write_statistics=False,
    )
    written: bytes = content.getvalue().to_pybytes()
    return written


def same_rows(fragment: ArchivedFragment, found: Trajectory) -> bool:
    """Whether a run that was computed again has the rows that an archive keeps of it, bit for bit, and its failures."""
    names = [*_KEPT, FEASIBLE, *OF_LEVELS, *(f"metric.{name}" for name in fragment.setup.setting.test_metrics)]
    place = fragment.seeds.index(found.seed)
    stated, made = fragment.runs[place], record(found)
    if (bool(stated.failure), stated.failed_evaluations) != (bool(made.failure), made.failed_evaluations):
        return False
    lengths = [run.rows for run in fragment.runs]
    kept, new = fragment.table(names).slice(sum(lengths[:place]), lengths[place]), to_table(fragment.setup, [found])
    if len(new) != len(kept):
        return False
    in_parts = stated.refused > 0 or bool((_plain(kept["level"]) < fragment.setup.setting.highest).any())
    names = [name for name in names if in_parts or name not in OF_LEVELS]
    ours, theirs = ({name: _plain(table[name]) for name in names} for table in (kept, new))
    if ours.pop(FEASIBLE).tolist() != theirs.pop(FEASIBLE).tolist():
        return False
    steps, again = (kept_rows(columns, bool(found.failure)) for columns in (ours, theirs))
    return all(np.array_equal(steps[name], again[name], equal_nan=True) for name in steps)

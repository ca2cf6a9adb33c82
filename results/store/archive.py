"""Archives: a store in one file, for reading only, with what reports read of each run and nothing else.

    facts.json        the setups with their runs and provenance, the seeds that were asked for and are missing, the last
                      suite's wishes, and the contents' hash
    steps.parquet     the rows of each run at which its incumbent or the incumbent's score changes, and its last row
    feasible.parquet  a bit for every row of each run

So an archive gives the same verdicts, tables and curves as its store, in about one per cent of the bytes. It has no
configurations (so no pictures of networks), no measured times and no search logs. Between two kept rows, a row counts
as finished when the first of them was.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nasbench.results.errors import StoreError
from nasbench.results.store import disk
from nasbench.results.store.contents import hash_of
from nasbench.results.store.fragment import Fragment, RunRecord, Torn, record
from nasbench.results.store.status import status
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import SCHEMA_VERSION, Setup, Trajectory, to_table

VERSION = 1
_FACTS, _STEPS, _BITS, _FEASIBLE = "facts.json", "steps.parquet", "feasible.parquet", "feasible"
_MOMENT = (2026, 1, 1, 0, 0, 0)  # of every member, so that equal contents are equal bytes
_KEPT = ("incumbent", "finished", "score", "score_feasible", "unseen", "unseen_feasible")
_OF_LEVELS = ("level", "spent")
_CHANGES = ("incumbent", "unseen", "unseen_feasible")
_MOST_BYTES = 1 << 28  # of all members, unpacked; those that come with the project have 8 MiB at most
_MOST_ROWS = 10_000_000  # of a run
_CONTROL = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[bfnrt]|u00[01][0-9a-f]|u007f|u00[89][0-9a-f])")  # in JSON

_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or forged archive may raise."""

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ArchivedFragment(Fragment):
    """The runs of one setup in an archive."""

    archive: Archive
    number: int
    """The number of its first run in the archive."""

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """The rows in some columns; a metric that its runs do not have is left out, as Parquet does.

        Raises StoreError for a column that archives do not keep, and for all columns.
        """
        metrics = {f"metric.{name}" for name in self.setup.metrics}
        asked = ["configuration"] if columns is None else columns
        return self.archive.rows(self, [name for name in asked if not name.startswith("metric.") or name in metrics])


class Archive(Store):
    """A store in one file. Nothing can be written to it.

    Args:
        name: how users call it; its path by default.
    """

    def __init__(self, path: Path, name: str = "") -> None:
        super().__init__(path)
        self._name = name or str(path)
        try:
            with zipfile.ZipFile(path) as file:
                if sum(member.file_size for member in file.infolist()) > _MOST_BYTES:
                    raise StoreError(
                        f"{path} would unpack to more than {_MOST_BYTES >> 20} MiB: no archive is so large"
                    )
                facts = json.loads(file.read(_FACTS))
                if facts["archive"] > VERSION or facts["schema"] > SCHEMA_VERSION:
                    raise StoreError(f"{path} was written by a newer nasbench: upgrade nasbench")
                steps, feasible = (file.read(name) for name in (_STEPS, _BITS))
            if facts["digests"] != [disk.digest(steps), disk.digest(feasible)]:
                raise StoreError(f"{path} is damaged: its rows do not match their digests")
            self.contents: str = facts["contents"]
            """The hash of the contents of the store that it was made of."""
            if not re.fullmatch("[0-9a-f]{64}", self.contents):
                raise ValueError(f"contents: no SHA-256, {self.contents!r}")
            for told in (facts["wishes"], *(setup["cell"] for setup in facts["setups"])):
                if _CONTROL.search(json.dumps(told)):
                    raise ValueError("a name with a control character")  # it would reach the terminal
            self._wishes = _wishes(facts["wishes"])
            self._missing = [(Setup.from_json(cell), seeds) for cell, seeds in facts.get("missing", ())]
            self._fragments = list(self._read(facts["setups"]))
            if not self._fragments:
                raise StoreError(f"{path} holds no runs")
            _check_labels(path, [f.setup for f in self._fragments])
            self.protocols = sorted({f.setup.protocol for f in self._fragments})
            """Budgets and workers of all its runs, as text."""
            self._members = steps, feasible
        except _DAMAGE as error:
            raise StoreError(f"{path} is no archive of nasbench ({type(error).__name__}: {error})") from None

    def _read(self, setups: list[dict[str, Any]]) -> Iterator[ArchivedFragment]:
        number = 0
        for facts in setups:
            runs = tuple(_record(run) for run in facts["runs"])
            if not runs or len({run.seed for run in runs}) < len(runs):
                raise ValueError("a setup without runs, or with two of one seed")
            yield ArchivedFragment(self.folder, Setup.from_json(facts["cell"]), runs, facts["provenance"], self, number)
            number += len(runs)

    def fragments(self) -> list[Fragment]:
        return list(self._fragments)

    def limited(self, to: Iterable[Setup]) -> Archive:
        """Restricts this archive to the runs in the settings and under the protocols of some setups; returns itself."""
        wanted = {(setup.bench, setup.constraint, setup.protocol) for setup in to}

        def is_wanted(setup: Setup) -> bool:
            return (setup.bench, setup.constraint, setup.protocol) in wanted

        self._fragments = [f for f in self._fragments if is_wanted(f.setup)]
        self._missing = [(setup, seeds) for setup, seeds in self._missing if is_wanted(setup)]
        return self

    @property
    def missing(self) -> int:
        """Number of runs that were asked for and missing when it was made."""
        return sum(len(seeds) for _, seeds in self._missing)

    def plans(self) -> list[dict[str, Any]]:
        """Its suite as a plan, so that the suite's labels are known, and what was missing when it was made."""
        cells = [*((f.setup, f.seeds) for f in self._fragments), *self._missing]
        command = f"nasbench archive check {shlex.quote(self._name)} --share 1"  # computes its runs again
        return [{"command": command, "saved": "", "wishes": self._wishes, "cells": cells}]

    def search_log(self, f: Fragment, seed: int) -> pa.Table | None:
        """None: archives keep no search logs."""
        return None

    def set_aside(self, path: Path, reason: str) -> None:
        raise StoreError(f"{self.folder} is damaged: {reason}")

    @cached_property
    def _steps(self) -> tuple[Columns, NDArray[np.intp]]:
        """The kept rows, and where those of each run begin, with their end."""
        table = pq.read_table(pa.BufferReader(self._members[0]))
        columns = {name: table[name].to_numpy() for name in table.column_names}
        return columns, np.searchsorted(columns["run"], np.arange(len(self._bits) + 1))

    @cached_property
    def _bits(self) -> list[bytes]:
        bits: list[bytes] = pq.read_table(pa.BufferReader(self._members[1]))[_FEASIBLE].to_pylist()
        return bits

    def rows(self, fragment: ArchivedFragment, names: Sequence[str]) -> pa.Table:
        """All rows of a fragment in some columns.

        Raises StoreError for a column that archives do not keep, and for rows that do not fit the facts.
        """
        try:
            return self._unpacked(fragment, names)
        except _DAMAGE as error:
            raise StoreError(
                f"{self.folder} is damaged: its rows do not fit its facts ({type(error).__name__}: {error})"
            ) from None

    def _unpacked(self, fragment: ArchivedFragment, names: Sequence[str]) -> pa.Table:
        steps, starts = self._steps
        lengths = np.array([run.rows for run in fragment.runs])
        runs = slice(fragment.number, fragment.number + len(lengths))
        own = slice(starts[runs.start], starts[runs.stop])
        levels = steps["level"][own] if "level" in steps else np.zeros(1)
        made = {_FEASIBLE, *(() if levels.any() else _OF_LEVELS)}
        for name in names:
            if name not in made and name not in steps:
                raise StoreError(
                    f"archives keep scores, and neither configurations nor measured times nor other metrics: {name} of "
                    f"single evaluations is not in {self.folder}; report the store of its runs"
                )
        ends = np.cumsum(lengths)
        first = np.repeat(ends - lengths, np.diff(starts[runs.start : runs.stop + 1]))
        repeats = np.diff(np.append(first + steps["row"][own], ends[-1]))
        if (repeats < 1).any() or any(
            len(bits) != -(-n // 8) for bits, n in zip(self._bits[runs], lengths, strict=True)
        ):
            raise ValueError("their numbers differ")
        found: dict[str, Any] = {name: np.repeat(steps[name][own], repeats) for name in names if name not in made}
        for name in ("score_feasible", "unseen_feasible"):
            if name in found:
                found[name] = pa.array(found[name] == 1, pa.bool_(), mask=found[name] < 0)
        if "level" in made:  # everything was trained to the end
            found["level"] = np.full(ends[-1], fragment.setup.setting.highest)
            found["spent"] = np.concatenate([np.arange(1.0, n + 1) for n in lengths])
        bits = zip(self._bits[runs], lengths.tolist(), strict=True)
        parts = [np.unpackbits(np.frombuffer(packed, np.uint8), count=n) for packed, n in bits]
        found[_FEASIBLE] = np.concatenate(parts).astype(bool)
        return pa.table({name: found[name] for name in names})


def _record(facts: dict[str, Any]) -> RunRecord:
    """A run's record. Raises ValueError for one that no run can have, TypeError or KeyError for anything else."""
    run = RunRecord(**facts)
    counts = (run.seed, run.rows, run.failed_evaluations)
    texts = (run.failure, run.first_reason, run.began, run.ended, run.log)
    if not all(type(n) is int and n >= 0 for n in counts) or run.rows > _MOST_ROWS:
        raise ValueError(f"a run with the seed {run.seed!r} and {run.rows!r} rows")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"the run with the seed {run.seed} says something else than text")
    return run


def _wishes(facts: dict[str, Any]) -> dict[str, Any]:
    """A suite's wishes. Raises TypeError or AttributeError if they are none."""
    kinds = {"title": str, "labels": dict, "checkpoints": list, "baseline": str, "score": str}
    for name, value in facts.items():
        if name not in kinds or not (value is None or isinstance(value, kinds[name])):
            raise TypeError(f"the wish {name}: {value!r}")
    if not all(isinstance(text, str) for label in (facts.get("labels") or {}).items() for text in label):
        raise TypeError("labels that are no text")
    if not all(type(point) in (int, float) for point in facts.get("checkpoints") or ()):
        raise TypeError("checkpoints that are no numbers")
    return facts


def _check_labels(path: Path, setups: Iterable[Setup]) -> None:
    """Raises StoreError if a method stands for several versions or options, of which its author could choose."""
    known: dict[str, tuple[Any, ...]] = {}
    for setup in setups:
        stated = setup.method_version, setup.parameters
        if known.setdefault(setup.method, stated) != stated:
            raise StoreError(f"{path} has runs of several versions of {setup.method}, as if they were one method")


def pack(store: Store, path: Path) -> int:
    """Writes an archive of a store, atomically; returns its bytes.

    Raises StoreError if the store holds no run, runs with several objectives, or runs of an earlier schema.
    """
    fragments = sorted(store.fragments(), key=lambda f: (f.setup.bench, f.setup.constraint, f.setup.method, f.setup.id))
    if not fragments:
        raise StoreError(f"{store.folder} holds no finished run")
    if any(f.setup.schema != SCHEMA_VERSION for f in fragments):
        raise StoreError(f"{store.folder} has runs of an earlier nasbench, which cannot be archived: run them again")
    if several := sorted({f.setup.bench for f in fragments if f.setup.objectives}):
        raise StoreError(f"runs with several objectives cannot be archived yet, and those on {several[0]} have them")
    try:
        contents = hash_of(store, fragments)  # of these runs: another process may add some meanwhile
        parts, bits = _rows_of(fragments)
    except Torn as error:
        raise StoreError(
            f"{store.folder} has a file that cannot be read now ({error}): see `nasbench status`, and give the same "
            "command again"
        ) from None
    members = _parquet(_joined(parts)), _parquet(pa.table({_FEASIBLE: bits}))
    facts = {
        "archive": VERSION,
        "schema": SCHEMA_VERSION,
        "contents": contents,
        "wishes": store.wishes(),
        "missing": [(c.setup.to_json(), c.missing) for c in status(store, lambda _: None) if c.missing],
        "digests": list(map(disk.digest, members)),
        "setups": [
            {"cell": f.setup.to_json(), "runs": [vars(run) for run in f.runs], "provenance": f.provenance}
            for f in fragments
        ],
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        text = zipfile.ZipInfo(_FACTS, _MOMENT)
        file.writestr(text, json.dumps(facts), zipfile.ZIP_DEFLATED, 9)
        for name, member in zip((_STEPS, _BITS), members, strict=True):
            file.writestr(zipfile.ZipInfo(name, _MOMENT), member)  # Parquet is compressed
    disk.write(path, memoryview(content.getvalue()))
    return content.tell()


def _rows_of(fragments: Iterable[Fragment]) -> tuple[list[Columns], list[bytes]]:
    """The kept rows of every run, and a bit for each of its rows. Raises Torn as `Fragment.table` does."""
    parts, bits = list[Columns](), list[bytes]()
    for f in fragments:
        held_out = [f"metric.{name}" for name in f.setup.setting.held_out]
        table = f.table([*_KEPT, _FEASIBLE, *_OF_LEVELS, *held_out])
        columns = {name: _plain(table[name]) for name in table.column_names}
        if (columns["level"] == f.setup.setting.highest).all():
            del columns["level"], columns["spent"]
        feasible, ends = columns.pop(_FEASIBLE).astype(bool), np.cumsum([run.rows for run in f.runs]).tolist()
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
    if not any(name in columns for name in _OF_LEVELS):  # with levels every row is kept
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
    names = [*_KEPT, _FEASIBLE, *_OF_LEVELS, *(f"metric.{name}" for name in fragment.setup.setting.held_out)]
    place = fragment.seeds.index(found.seed)
    stated, made = fragment.runs[place], record(found)
    if (bool(stated.failure), stated.failed_evaluations) != (bool(made.failure), made.failed_evaluations):
        return False
    lengths = [run.rows for run in fragment.runs]
    kept, new = fragment.table(names).slice(sum(lengths[:place]), lengths[place]), to_table(fragment.setup, [found])
    if len(new) != len(kept):
        return False
    in_parts = bool((_plain(kept["level"]) < fragment.setup.setting.highest).any())
    names = [name for name in names if in_parts or name not in _OF_LEVELS]
    ours, theirs = ({name: _plain(table[name]) for name in names} for table in (kept, new))
    if ours.pop(_FEASIBLE).tolist() != theirs.pop(_FEASIBLE).tolist():
        return False
    steps, again = (kept_rows(columns, bool(found.failure)) for columns in (ours, theirs))
    return all(np.array_equal(steps[name], again[name], equal_nan=True) for name in steps)

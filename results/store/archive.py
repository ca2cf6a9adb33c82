"""Archives: a store in one file, for reading only, with what reports read of each run and nothing else.

    facts.json        the setups with their runs and provenance, the seeds that were asked for and are missing, the last
                      suite's display, and the contents' hash
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
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nasbench.base.errors import StoreError
from nasbench.base.textfile import integer
from nasbench.results.store import disk, plans
from nasbench.results.store.decoding import decoded
from nasbench.results.store.fragment import Fragment, checked, of_another_schema, record_of
from nasbench.results.store.setups import setup_of
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import SCHEMA_VERSION, Setup

FACTS, STEPS, BITS, FEASIBLE = "facts.json", "steps.parquet", "feasible.parquet", "feasible"
OF_LEVELS = ("level", "spent")
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_FACTS, _MOST_BYTES = 24 << 20, 64 << 20  # of the facts and of other members; those of the project's have 6 MiB
_MOST_VALUES = 3 << 23  # of all runs, each as long as the longest of its protocol; the project's have 15,568,000
_CONTROL = re.compile(
    r"(?<!\\)(?:\\\\)*\\(?:[bfnrt]|u00[01])|[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""In JSON: a line's end, a control code, a mark that turns the direction of what follows, or half of a character."""

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
            with zipfile.ZipFile(io.BytesIO(_packed(path))) as file:
                if any(member.compress_type not in _COMPRESSIONS for member in file.infolist()):
                    raise ValueError("a compression that archives do not have")
                facts = json.loads(_unpacked(path, file, FACTS), parse_int=integer)
                if type(facts["schema"]) is not int:
                    raise ValueError(f"schema: no whole number, {facts['schema']!r}")
                if facts["schema"] != SCHEMA_VERSION:
                    raise of_another_schema(path, facts["schema"])
                steps, feasible = (_unpacked(path, file, name) for name in (STEPS, BITS))
            if facts["digests"] != [disk.digest(steps), disk.digest(feasible)]:
                raise StoreError(f"{path} is damaged: its rows do not match their digests")
            self.contents: str = facts["contents"]
            """The hash of the contents of the store that it was made of."""
            if not re.fullmatch("[0-9a-f]{64}", self.contents):
                raise ValueError(f"contents: no SHA-256, {self.contents!r}")
            if has_control_characters([facts["display"], *((f["setup"], f["provenance"]) for f in facts["setups"])]):
                raise ValueError("a name with a control character")  # it would reach the terminal
            self._display = _display(facts["display"])
            self._missing = [(setup_of(setup), _seeds(seeds)) for setup, seeds in facts["missing"]]
            self._shards = _shards(facts.get("shards", []))
            self._fragments = list(self._read(facts["setups"]))
            if not self._fragments:
                raise StoreError(f"{path} holds no runs")
            check_versions(path, [f.setup for f in self._fragments])
            check_rows(path, self._fragments)
            self.protocols = sorted({f.setup.protocol for f in self._fragments})
            """Budgets and workers of all its runs, as text."""
            self._members = steps, feasible
            self._runs = sum(len(f.runs) for f in self._fragments)
            self._rows_there = sum(run.rows for f in self._fragments for run in f.runs)
        except _DAMAGE as error:
            raise StoreError(f"{path} is no archive of nasbench ({type(error).__name__}: {error})") from None

    def _read(self, setups: list[dict[str, Any]]) -> Iterator[ArchivedFragment]:
        number = 0
        for facts in setups:
            runs = tuple(map(record_of, facts["runs"]))
            if not runs or len({run.seed for run in runs}) < len(runs):
                raise ValueError("a setup without runs, or with two of one seed")
            setup, made_by = setup_of(facts["setup"]), checked(facts["provenance"])
            yield ArchivedFragment(self.folder, setup, runs, made_by, self, number)
            number += len(runs)

    def fragments(self) -> list[Fragment]:
        return list(self._fragments)

    def restrict(self, setups: Iterable[Setup]) -> None:
        """Keeps only the runs in the settings and under the protocols of some setups."""
        wanted = {(setup.bench, setup.constraint, setup.protocol) for setup in setups}

        def is_wanted(setup: Setup) -> bool:
            return (setup.bench, setup.constraint, setup.protocol) in wanted

        self._fragments = [f for f in self._fragments if is_wanted(f.setup)]
        self._missing = [(setup, seeds) for setup, seeds in self._missing if is_wanted(setup)]

    @property
    def missing(self) -> int:
        """Number of runs that were asked for and missing when it was made."""
        return sum(len(seeds) for _, seeds in self._missing)

    def plans(self) -> list[dict[str, Any]]:
        """Its suite as a plan, so that the suite's labels are known, and what was missing when it was made."""
        setups = [*((f.setup, f.seeds) for f in self._fragments), *self._missing]
        command = f"nasbench archive check {shlex.quote(self._name)} --share 1"  # computes its runs again
        plan = {"command": command, "saved": "", "display": self._display}
        return [plan | {"setups": setups, "shard": None}, *(plan | {"setups": [], "shard": p} for p in self._shards)]

    def search_log(self, f: Fragment, seed: int) -> pa.Table | None:
        """None: archives keep no search logs."""
        return None

    def set_aside(self, path: Path, reason: str) -> None:
        raise StoreError(f"{self.folder} is damaged: {reason}")

    @cached_property
    def _steps(self) -> tuple[Columns, NDArray[np.intp]]:
        """The kept rows, and where those of each run begin, with their end."""
        table = decoded(self._members[0], most_rows=self._rows_there)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        if strange := [name for name, values in columns.items() if values.dtype.kind not in "iufb"]:
            raise TypeError(f"{strange[0]} holds no numbers")
        return columns, np.searchsorted(columns["run"], np.arange(len(self._bits) + 1))

    @cached_property
    def _bits(self) -> list[bytes]:
        table = decoded(self._members[1], most_rows=self._runs)
        if len(table) != self._runs:
            raise ValueError("their numbers differ")
        bits: list[bytes] = table[FEASIBLE].to_pylist()
        return bits

    def rows(self, fragment: ArchivedFragment, names: Sequence[str]) -> pa.Table:
        """All rows of a fragment in some columns.

        Raises StoreError for a column that archives do not keep, and for rows that do not fit the facts.
        """
        try:
            return self._rows(fragment, names)
        except _DAMAGE as error:
            raise StoreError(
                f"{self.folder} is damaged: its rows do not fit its facts ({type(error).__name__}: {error})"
            ) from None

    def _rows(self, fragment: ArchivedFragment, names: Sequence[str]) -> pa.Table:
        steps, starts = self._steps
        lengths = np.array([run.rows for run in fragment.runs])
        runs = slice(fragment.number, fragment.number + len(lengths))
        own = slice(starts[runs.start], starts[runs.stop])
        levels = steps["level"][own] if "level" in steps else np.zeros(1)
        made = {FEASIBLE, *(() if levels.any() else OF_LEVELS)}
        for name in names:
            if name not in made and name not in steps:
                raise StoreError(
                    f"archives keep scores, and neither configurations nor measured times nor other metrics: {name} of "
                    f"single evaluations is not in {self.folder}; report the store of its runs"
                )
        ends, kept = np.cumsum(lengths), np.diff(starts[runs.start : runs.stop + 1])
        first = np.repeat(ends - lengths, kept)
        if steps["row"][starts[runs][kept > 0]].any() or ((kept > 0) != (lengths > 0)).any():
            raise ValueError("runs without their first rows")
        if levels.any() and not (steps["spent"][own] <= steps["row"][own] + 1.001).all():
            raise ValueError("runs that have spent more than they have rows")
        repeats = np.diff(np.append(first + steps["row"][own], ends[-1]))
        if (repeats < 1).any() or any(
            len(bits) != -(-n // 8) for bits, n in zip(self._bits[runs], lengths, strict=True)
        ):
            raise ValueError("their numbers differ")
        found: dict[str, Any] = {name: np.repeat(steps[name][own], repeats) for name in names if name not in made}
        for name in ("score_feasible", "hidden_feasible"):
            if name in found:
                found[name] = pa.array(found[name] == 1, pa.bool_(), mask=found[name] < 0)
        if "level" in made:  # everything was trained to the end
            found["level"] = np.full(ends[-1], fragment.setup.setting.highest)
            found["spent"] = np.concatenate([np.arange(1.0, n + 1) for n in lengths])
        bits = zip(self._bits[runs], lengths.tolist(), strict=True)
        parts = [np.unpackbits(np.frombuffer(packed, np.uint8), count=n) for packed, n in bits]
        found[FEASIBLE] = np.concatenate(parts).astype(bool)
        return pa.table({name: found[name] for name in names})


def _seeds(facts: list[Any]) -> list[int]:
    """Seeds. Raises TypeError or ValueError for anything else."""
    if any(type(seed) is not int for seed in facts) or len(set(facts)) < len(facts) or min(facts, default=0) < 0:
        raise ValueError(f"seeds: {facts!r}")
    return list(facts)


def _shards(facts: list[Any]) -> list[plans.PlanShard]:
    """Shards of plans. Raises TypeError or ValueError for anything else, and for two numbers of runs of one plan."""
    shards = list(map(plans.checked, facts))
    if len({(shard.whole, shard.runs) for shard in shards}) > len({shard.whole for shard in shards}):
        raise ValueError("shards of one plan with other numbers of runs")
    return shards


def _display(facts: dict[str, Any]) -> dict[str, Any]:
    """What a suite says of its report. Raises TypeError or AttributeError if it is something else."""
    kinds = {"title": str, "labels": dict, "checkpoints": list, "baseline": str, "score": str}
    for name, value in facts.items():
        if name not in kinds or not (value is None or isinstance(value, kinds[name])):
            raise TypeError(f"{name}: {value!r}")
    known = {name: value for name, value in facts.items() if value is not None}
    if not all(isinstance(text, str) for label in known.get("labels", {}).items() for text in label):
        raise TypeError("labels that are no text")
    if not all(type(point) is int and point > 0 for point in known.get("checkpoints", ())):
        raise TypeError("checkpoints that are no numbers of evaluations")
    return known


def has_control_characters(value: Any) -> bool:
    """Whether a text in a JSON value has a control character, such as a line's end, or half of a character."""
    return bool(_CONTROL.search(json.dumps(value, ensure_ascii=False)))


def _packed(path: Path) -> bytes:
    """The bytes of an archive. Raises StoreError for a file that is too large for one."""
    if path.stat().st_size > 3 * _MOST_BYTES:
        raise _too_large(path, 3 * _MOST_BYTES)
    return disk.read(path)


def _unpacked(path: Path, file: zipfile.ZipFile, name: str) -> bytes:
    """A member of an archive. Raises StoreError if it is too large; what it states of its size is not believed."""
    with file.open(name) as member:
        content = member.read(_most(name) + 1)
    check_member(path, name, content)
    return content


def check_member(path: Path, name: str, content: bytes) -> None:
    """Raises StoreError if a member is more than archives may hold."""
    if len(content) > _most(name):
        raise _too_large(path, _most(name), f": {name}")


def _most(name: str) -> int:
    return _MOST_FACTS if name == FACTS else _MOST_BYTES


def _too_large(path: Path, most: int, what: str = "") -> StoreError:
    return StoreError(f"{path} unpacks to more than {most >> 20} MiB{what}, the most that an archive may have")


def check_rows(name: object, fragments: Iterable[Fragment]) -> None:
    """Raises StoreError for more than reports can hold: a rectangle of the runs of a protocol for each metric.

    Two are there without a test metric: what was observed, and what it is worth.
    """
    runs: dict[str, list[int]] = {}
    metrics: dict[str, int] = {}
    for f in fragments:
        protocol = f.setup.protocol
        runs.setdefault(protocol, []).extend(run.rows for run in f.runs)
        metrics[protocol] = max(metrics.get(protocol, 0), 2 + len(f.setup.setting.test_metrics))
    if sum(len(rows) * max(rows) * metrics[protocol] for protocol, rows in runs.items()) > _MOST_VALUES:
        raise StoreError(f"{name} unpacks to more than {_MOST_VALUES:,} values, the most that an archive may have")


def check_versions(name: object, setups: Iterable[Setup]) -> None:
    """Raises StoreError if a method stands for several versions or options, of which its author could choose."""
    known: dict[str, tuple[Any, ...]] = {}
    for setup in setups:
        stated = setup.method_version, setup.parameters
        if known.setdefault(setup.method, stated) != stated:
            raise StoreError(
                f"{name} has runs of several versions of {setup.method}, as if they were one method; the same "
                "`nasbench run` replaces old ones"
            )

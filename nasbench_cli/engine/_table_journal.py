"""Journals of a table that is being made: append-only files with one JSON line per evaluation.

Each line has a checksum. Lines need no order, so journals of several machines can lie side by side
(`TABLE.1-of-2.jsonl`), or be joined into one file. The first line names the benchmark. The checksum of an evaluation
also covers that first line: evaluations prove by themselves which benchmark they belong to, even if the line is lost.
"""

from __future__ import annotations

import json
import logging
import math
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.base.numbers import count
from nasbench.benchmarks import Benchmark, Evaluation, abilities
from nasbench.cli.engine.provenance import provenance
from nasbench.results import StoreError
from nasbench.results.store import disk

_LOG = logging.getLogger("nasbench")
_FORMAT = 1  # version of the rule that derives training seeds
_MOST_NAMED = 5  # damaged lines in a message
_PREFIX = len(b'{"check":"00000000",')


class TableRecord(NamedTuple):
    """One evaluation for a table."""

    configuration: str
    """The configuration as JSON (`Space.to_json`)."""
    repetition: int
    """Number of the repetition, from 0: it determines the training seed."""
    evaluation: Evaluation


class TableJournal:
    """A journal to which this process adds evaluations. An incomplete last line, left by a crash, is dropped.

    Damaged lines are moved to a file beside the journal, and a warning says so.

    Raises StoreError if another process is adding to the journal, or it belongs to another benchmark.
    """

    def __init__(self, path: Path, benchmark: Benchmark) -> None:
        self._path, self._benchmark, self._signed = path, benchmark, False
        with disk.begun(path, f"is adding to {path}") as self._file:
            self._begin(benchmark)

    def _begin(self, benchmark: Benchmark) -> None:
        header = _line(_header(benchmark))
        self._seed = zlib.crc32(header)
        content = self._file.content()
        if header.startswith(content):  # nothing, or what a crash left of the first line
            content = b""
        path, lines = self._path, _Lines(self._path, content, benchmark) if content else None
        self.entries = [] if lines is None else lines.entries
        """The evaluations that it held when it was opened."""
        if lines is not None and lines.damaged:
            damaged = path.with_suffix(".damaged")
            before = disk.read(damaged) if damaged.exists() else b""
            disk.write(damaged, b"".join([before, *lines.damaged.values()]))
            content = b"".join([header, *lines.good])
            disk.write(path, content)
            _LOG.warning("%s, and the damaged lines are kept in %s", lines.damage, damaged)
        self._file.begin(content.rfind(b"\n") + 1)
        if not content:
            self._file.append(header)

    def append(self, entry: TableRecord) -> None:
        """Adds an evaluation; returns only when it is on the disk. Raises Interrupted if it cannot be written."""
        configuration, repetition, (metrics, cost, status, reason, *_) = entry
        facts: dict[str, Any] = {"configuration": configuration, "repetition": repetition, "status": status}
        facts |= {"metrics": [*metrics.values()], "cost": cost} if status == "ok" else {"reason": reason}
        try:
            if not self._signed:
                self._file.append(_line({"by": provenance(abilities.device(self._benchmark))}))
                self._signed = True
            self._file.append(_line(facts, self._seed))
        except OSError as error:
            raise disk.cannot_write(self._path, error) from None

    def close(self) -> None:
        """Closes the file, which stays on the disk for a later attempt."""
        self._file.close()


def entries_in(path: Path, benchmark: Benchmark) -> list[TableRecord]:
    """The evaluations in a journal. Damaged lines are left out with a warning: they can be made again.

    Raises StoreError if the file belongs to another benchmark, or is no journal of a table.
    """
    content = disk.read(path)
    if _line(_header(benchmark)).startswith(content):  # another process begins it now
        return []
    lines = _Lines(path, content, benchmark)
    if lines.damaged:
        _LOG.warning("%s", lines.damage)
    return lines.entries


class _Lines:
    """The lines of a journal."""

    def __init__(self, path: Path, content: bytes, benchmark: Benchmark) -> None:
        self._path, header = path, _header(benchmark)
        self.entries: list[TableRecord] = []
        self.good: list[bytes] = []
        """Undamaged lines, without the first line of a journal."""
        self.damaged: dict[int, bytes] = {}
        """Damaged lines by their number, from 1."""
        seed, is_ours = zlib.crc32(_line(header)), False
        *whole, rest = content.split(b"\n")
        for number, line in enumerate((text + b"\n" for text in whole), 1):
            by_itself = _is_good(line, seed)
            if not by_itself and not _is_good(line):
                self.damaged[number] = line
                continue
            facts = json.loads(b"{" + line[_PREFIX:])
            if "table" in facts and facts != header:
                raise StoreError(
                    f"{path} holds evaluations of {facts['table']} with other data, training or metrics than "
                    f"{benchmark.name} has here: move it away"
                )
            is_ours = is_ours or by_itself or "table" in facts
            if "table" not in facts:
                self.good.append(line)
            if "configuration" in facts:
                self.entries.append(_entry(facts, benchmark))
        mended = rest[:-1] + b"\n"  # a crash leaves less than a line: of a whole one, the end was changed
        if _is_good(mended, seed) or _is_good(mended):
            self.damaged[len(whole) + 1] = rest
        if not is_ours:
            raise StoreError(self._strange(benchmark))

    @property
    def damage(self) -> str:
        """The damaged and the undamaged lines in words: a sentence without its full stop."""
        numbers = [str(number) for number in list(self.damaged)[:_MOST_NAMED]]
        more = len(self.damaged) - len(numbers)
        named = ", ".join(numbers) + (f" and {more:,} more" if more else "")
        kept = f"{count(len(self.entries), 'other evaluation')} in it {'is' if len(self.entries) == 1 else 'are'} used"
        lines = f"line{'s' if len(self.damaged) > 1 else ''} {named}"
        return f"{self._path} is damaged in {lines}: {kept}, and the lost ones are made again"

    def _strange(self, benchmark: Benchmark) -> str:
        if not self.entries:
            return f"{self._path} is no journal of a table of {benchmark.name}: move it away"
        return (
            f"line 1 of {self._path} is damaged, and the {count(len(self.entries), 'evaluation')} after it, from an "
            f"older nasbench, do not name their benchmark: if it is {benchmark.name} as installed here, put "
            f"{_line(_header(benchmark)).decode().rstrip()} there; else move the file away"
        )


def _entry(facts: dict[str, Any], benchmark: Benchmark) -> TableRecord:
    values = facts.get("metrics", [math.nan] * len(benchmark.metrics))
    metrics = {metric.name: value for metric, value in zip(benchmark.metrics, values, strict=True)}
    evaluation = Evaluation(metrics, facts.get("cost", 0.0), facts["status"], facts.get("reason", ""))
    return TableRecord(facts["configuration"], facts["repetition"], evaluation)


def _line(facts: dict[str, Any], seed: int = 0) -> bytes:
    text = json.dumps(facts, separators=(",", ":"))[1:] + "\n"
    return f'{{"check":"{_check(text.encode(), seed)}",{text}'.encode()


def _is_good(line: bytes, seed: int = 0) -> bool:
    return line[:_PREFIX] == f'{{"check":"{_check(line[_PREFIX:], seed)}",'.encode()


def _header(benchmark: Benchmark) -> dict[str, Any]:
    names = [metric.name for metric in benchmark.metrics]
    return {"table": benchmark.name, "format": _FORMAT, "identity": benchmark.checksum, "metrics": names}


def _check(text: bytes, seed: int) -> str:
    return f"{zlib.crc32(text, seed):08x}"

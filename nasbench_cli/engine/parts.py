"""Parts of a table that is being made: append-only files, a JSON line per evaluation, each with a check of its own.

Lines need no order, so parts of several machines lie side by side (`TABLE.1-of-2.jsonl`), or one after the other in one
file. The first line says which benchmark the evaluations are of. The check of an evaluation covers that line, too: so
evaluations say by themselves whose they are, and outlive it.
"""

from __future__ import annotations

import json
import logging
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.benchmarks import Benchmark, Evaluation
from nasbench.cli.engine.provenance import provenance
from nasbench.results import Interrupted, StoreError
from nasbench.results.display.numbers import count
from nasbench.results.store import disk

_LOG = logging.getLogger("nasbench")
_FORMAT = 1  # of the seeds that evaluations were made with
_MOST_NAMED = 5  # of the damaged lines
_PREFIX = len(b'{"check":"00000000",')


class Row(NamedTuple):
    """One evaluation for a table."""

    configuration: str
    """What was evaluated, as the space writes it (`to_json`)."""
    repetition: int
    """From 0: it determines the training seed."""
    evaluation: Evaluation


class Part:
    """A part that this process adds to. What a crash in mid-write left of the last line is dropped.

    Damaged lines are moved into a file beside it, and that is said.

    Raises StoreError if another process is adding to it, or it is of another benchmark.
    """

    def __init__(self, path: Path, benchmark: Benchmark) -> None:
        self._path, self._benchmark, self._signed = path, benchmark, False
        try:
            self._file = disk.Appended(path)
        except disk.Held as error:
            raise StoreError(f"{error} is adding to {path}") from None
        except OSError as error:
            raise _cannot_write(path, error) from None
        try:
            self._begin(benchmark)
        except OSError as error:
            self.close()
            raise _cannot_write(path, error) from None
        except BaseException:
            self.close()
            raise

    def _begin(self, benchmark: Benchmark) -> None:
        header = _line(_header(benchmark))
        self._seed = zlib.crc32(header)
        content = self._file.content()
        if header.startswith(content):  # nothing, or what a crash left of the first line
            content = b""
        path, lines = self._path, _Lines(self._path, content, benchmark) if content else None
        self.rows = [] if lines is None else lines.rows
        """What it held when it was opened."""
        if lines is not None and lines.damaged:
            damaged = path.with_suffix(".damaged")
            before = disk.read(damaged) if damaged.exists() else b""
            disk.write(damaged, b"".join([before, *lines.damaged.values()]))
            content = b"".join([header, *lines.good])
            disk.write(path, content)
            _LOG.warning("%s, and what is damaged is kept in %s", lines.damage, damaged)
        self._file.begin(content.rfind(b"\n") + 1)
        if not content:
            self._file.append(header)

    def append(self, row: Row) -> None:
        """Returns only when the row is on the disk. Raises Interrupted if it cannot be put there."""
        metrics, cost, status, reason, *_ = row.evaluation
        facts: dict[str, Any] = {"configuration": row.configuration, "repetition": row.repetition, "status": status}
        facts |= {"metrics": metrics, "cost": cost} if status == "ok" else {"reason": reason}
        try:
            if not self._signed:
                self._file.append(_line({"by": provenance(self._benchmark.device)}))
                self._signed = True
            self._file.append(_line(facts, self._seed))
        except OSError as error:
            raise _cannot_write(self._path, error) from None

    def close(self) -> None:
        """Leaves the part on the disk, for a later attempt."""
        self._file.close()


def rows_in(path: Path, benchmark: Benchmark) -> list[Row]:
    """The evaluations that a part holds; damaged lines are left out, which is said: they can be made again.

    Raises StoreError if it is of another benchmark, or no part at all.
    """
    lines = _Lines(path, disk.read(path), benchmark)
    if lines.damaged:
        _LOG.warning("%s", lines.damage)
    return lines.rows


class _Lines:
    """The lines of a part."""

    def __init__(self, path: Path, content: bytes, benchmark: Benchmark) -> None:
        self._path, header = path, _header(benchmark)
        self.rows: list[Row] = []
        self.good: list[bytes] = []
        """All that are neither damaged nor the first of a part."""
        self.damaged: dict[int, bytes] = {}
        """The damaged ones by number, from 1."""
        seed, is_ours = zlib.crc32(_line(header)), False
        *whole, _ = content.split(b"\n")  # the last is empty, or what a crash in mid-write left
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
                self.rows.append(_row(facts, benchmark))
        if not is_ours:
            raise StoreError(self._strange(benchmark))

    @property
    def damage(self) -> str:
        """What is damaged, and what is not: a sentence without its full stop."""
        numbers = [str(number) for number in list(self.damaged)[:_MOST_NAMED]]
        more = len(self.damaged) - len(numbers)
        named = ", ".join(numbers) + (f" and {more:,} more" if more else "")
        return (
            f"{self._path} is damaged in line{'s' if len(self.damaged) > 1 else ''} {named}: "
            f"its {count(len(self.rows), 'other evaluation')} {'is' if len(self.rows) == 1 else 'are'} used, what is "
            "lost is made again"
        )

    def _strange(self, benchmark: Benchmark) -> str:
        if not self.rows:
            return f"{self._path} is no part of a table of {benchmark.name}: move it away"
        return (
            f"line 1 of {self._path} is damaged, and the {count(len(self.rows), 'evaluation')} after it, of an older "
            f"nasbench, do not say of which benchmark they are: if it is {benchmark.name} as it is here, put "
            f"{_line(_header(benchmark)).decode().rstrip()} there; else move the file away"
        )


def _row(facts: dict[str, Any], benchmark: Benchmark) -> Row:
    nothing = (float("nan"),) * len(benchmark.metrics)
    metrics, cost = tuple(facts.get("metrics", nothing)), facts.get("cost", 0.0)
    evaluation = Evaluation(metrics, cost, facts["status"], facts.get("reason", ""))
    return Row(facts["configuration"], facts["repetition"], evaluation)


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


def _cannot_write(path: Path, error: OSError) -> Interrupted:
    return Interrupted(
        f"cannot write {path}: {error.strerror}; what it holds is intact, so once that is mended, give the same "
        "command again"
    )

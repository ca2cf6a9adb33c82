"""Parts of a table that is being made: append-only files, a JSON line per evaluation, each with a check of its own.

Lines need no order, so parts of several machines lie side by side (`TABLE.1-of-2.jsonl`), or one after the other in one
file. The first line says which benchmark the evaluations are of.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.benchmarks import Benchmark, Evaluation
from nasbench.cli.engine.provenance import provenance
from nasbench.results import Interrupted, StoreError
from nasbench.results.store import disk

_FORMAT = 1  # of the lines, and of the seeds that evaluations were made with


class Row(NamedTuple):
    """One evaluation for a table."""

    configuration: str
    """What was evaluated, as the space writes it (`to_json`)."""
    repetition: int
    """From 0: it determines the training seed."""
    evaluation: Evaluation


class Part:
    """A part that this process adds to. What a crash in mid-write left of the last line is dropped.

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
            content, header = self._file.content(), _line(_header(benchmark))
            if header.startswith(content):  # nothing, or what a crash left of the first line
                content = b""
            self.rows = rows_in(path, benchmark) if content else []
            """What it held when it was opened."""
            self._file.begin(content.rfind(b"\n") + 1)
            if not content:
                self._file.append(header)
        except OSError as error:
            self.close()
            raise _cannot_write(path, error) from None
        except BaseException:
            self.close()
            raise

    def append(self, row: Row) -> None:
        """Returns only when the row is on the disk. Raises Interrupted if it cannot be put there."""
        metrics, cost, status, reason, *_ = row.evaluation
        facts: dict[str, Any] = {"configuration": row.configuration, "repetition": row.repetition, "status": status}
        facts |= {"metrics": metrics, "cost": cost} if status == "ok" else {"reason": reason}
        try:
            if not self._signed:
                self._file.append(_line({"by": provenance(self._benchmark.device)}))
                self._signed = True
            self._file.append(_line(facts))
        except OSError as error:
            raise _cannot_write(self._path, error) from None

    def close(self) -> None:
        """Leaves the part on the disk, for a later attempt."""
        self._file.close()


def rows_in(path: Path, benchmark: Benchmark) -> list[Row]:
    """The evaluations that a part holds; damaged lines are left out, for they can be made again.

    Raises StoreError if it is of another benchmark, or no part at all.
    """
    header, found, ours = _header(benchmark), [], False
    nothing = (float("nan"),) * len(benchmark.metrics)
    for facts in _good_lines(disk.read(path)):
        if "by" in facts:  # who made what follows
            continue
        if "table" in facts:
            if facts != header:
                raise StoreError(
                    f"{path} holds evaluations of {facts['table']} with other data, training or metrics than "
                    f"{benchmark.name} has here: move it away"
                )
            ours = True
            continue
        metrics, cost = tuple(facts.get("metrics", nothing)), facts.get("cost", 0.0)
        evaluation = Evaluation(metrics, cost, facts["status"], facts.get("reason", ""))
        found.append(Row(facts["configuration"], facts["repetition"], evaluation))
    if not ours:
        raise StoreError(f"{path} is no part of a table, or is of an older nasbench: move it away")
    return found


def _line(facts: dict[str, Any]) -> bytes:
    text = json.dumps(facts, separators=(",", ":"))[1:] + "\n"
    return f'{{"check":"{_check(text.encode())}",{text}'.encode()


def _good_lines(content: bytes) -> Iterator[dict[str, Any]]:
    prefix = len(b'{"check":"00000000",')
    for line in content.splitlines(keepends=True):
        if line[:prefix] == f'{{"check":"{_check(line[prefix:])}",'.encode():
            yield json.loads(b"{" + line[prefix:])


def _header(benchmark: Benchmark) -> dict[str, Any]:
    names = [metric.name for metric in benchmark.metrics]
    return {"table": benchmark.name, "format": _FORMAT, "identity": benchmark.checksum, "metrics": names}


def _check(text: bytes) -> str:
    return f"{zlib.crc32(text):08x}"


def _cannot_write(path: Path, error: OSError) -> Interrupted:
    return Interrupted(
        f"cannot write {path}: {error.strerror}; what it holds is intact, so once that is mended, give the same "
        "command again"
    )

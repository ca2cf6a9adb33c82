"""The journal of one unfinished run whose evaluations are expensive: a line each, on disk at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from nasbench.results.errors import Interrupted, StoreError
from nasbench.results.store.trajectory import SCHEMA_VERSION


class Record(NamedTuple):
    """A finished evaluation, with what is needed to tell it again."""

    ask: int
    """From 0: which ask of the run this evaluation answers."""
    configuration: str
    metrics: tuple[float, ...]
    cost: float
    status: str
    reason: str
    started: float
    finished: float


class Journal:
    """Append-only JSON lines. A torn last line (a crash in mid-write) is dropped; nothing before it can be torn.

    Opening locks the journal for this process; the system releases the lock if the process dies.
    """

    def __init__(self, path: Path, run: str) -> None:
        """Opens or begins the journal of the run with identity `run`.

        Raises StoreError if another process is computing this run, or the journal is not this run's.
        """
        self._path, self._lock = path, FileLock(path.with_suffix(".lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(f"another process is computing the run of {path.name}") from None
        header = {"schema": SCHEMA_VERSION, "run": run}
        lines = _whole_lines(path)
        try:
            foreign = bool(lines) and json.loads(lines[0]) != header
            self.records = [_parse(line) for line in lines[1:]]
            """What an earlier, interrupted attempt has finished, in that order."""
        except (ValueError, TypeError, KeyError):
            foreign = True
        if foreign:
            self._lock.release()
            raise StoreError(f"{path} is damaged, or the journal of another run than {run}: move it away to begin anew")
        self._file = path.open("ab", buffering=0)
        self._file.truncate(sum(map(len, lines)))
        if not lines:
            self._write(header)

    @property
    def advice(self) -> str:
        """What to do with a journal that no longer fits its run."""
        return f"move {self._path} away to begin anew"

    def state(self, whose: int | str) -> Path:
        """Where the evaluation of an ask (its number), or the method, may keep what it has done so far."""
        return self._path.with_suffix(f".{whose}.state")

    def append(self, record: Record) -> None:
        """Returns only when the record is on the disk."""
        self._write(record._asdict())

    def close(self) -> None:
        """Leaves the journal on disk, for a later attempt."""
        self._file.close()
        self._lock.release()

    def _write(self, facts: dict[str, object]) -> None:
        try:
            self._file.write(json.dumps(facts).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            raise Interrupted(
                f"cannot write the journal {self._path}: {error.strerror}; what it holds is intact, "
                "so once that is mended, run the same command again"
            ) from None


def forget(path: Path) -> None:
    """Deletes a closed journal, and the states of evaluations and of the method beside it: its run is stored."""
    for part in path.parent.glob(f"{path.stem}.*"):
        part.unlink(missing_ok=True)


def drop_failed(path: Path) -> None:
    """Takes back the first failed evaluation of a journal, and all after it: what came before stays done.

    One that is damaged is left as it is: opening it says so.
    """
    lines = _whole_lines(path)
    try:
        failed = [number for number, line in enumerate(lines[1:], 1) if _parse(line).status == "failed"]
    except (ValueError, TypeError, KeyError):
        return
    kept = lines[: failed[0]] if failed else lines
    if len(kept) < len(lines):
        aside = path.with_suffix(".tmp")
        aside.write_bytes(b"".join(kept))
        aside.replace(path)


def _whole_lines(path: Path) -> list[bytes]:
    """The lines that end as a line does; an unfinished last one is left out."""
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def _parse(line: bytes) -> Record:
    facts = json.loads(line)
    return Record(**facts | {"metrics": tuple(facts["metrics"])})

"""The journal of one unfinished run with expensive evaluations: one line per evaluation, on disk at once.

Each line is JSON and begins with a check: the length of the rest of the line, and the digest of it and all lines
before. So a torn, changed, lost or moved line is always detected.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from nasbench.base.errors import StoreError
from nasbench.results.store import disk
from nasbench.results.store.trajectory import SCHEMA_VERSION

_CHECK = '{"check": "%08x-%s", '


class Record(NamedTuple):
    """A finished evaluation, with everything needed to tell it to the method again."""

    ask: int
    """Number of the ask that this evaluation answers, from 0."""
    configuration: str
    metrics: tuple[float, ...]
    cost: float
    status: str
    reason: str
    started: float
    finished: float
    trial: int
    """Number of the training: that of its first ask."""
    level: int
    """The level of the fidelity up to which it was trained."""
    feasible: bool
    """Whether it succeeded and satisfied the constraints."""
    curve: tuple[float, ...] | None = None
    """The objective at each level up to `level`; None if unknown."""
    refused: bool = False
    """Whether it was refused by what is known before training, and used none of the budget of evaluations."""


class Journal:
    """A file of append-only JSON lines. A last line that a crash left incomplete is dropped.

    Lines from a damaged one on are not used and are moved to a file beside the journal (see `damage`); earlier lines
    stay valid. Opening locks the journal for this process; the system releases the lock if the process dies.
    """

    def __init__(self, path: Path, run: str) -> None:
        """Opens or begins the journal of the run with identity `run`.

        Raises StoreError if another process is computing this run, or the journal is not this run's.
        """
        self._path = path
        self.damage = ""
        """A sentence about damage of the file; empty if it is intact."""
        self.records: list[Record] = []
        """Evaluations that an interrupted attempt finished, in order."""
        with disk.begun(path, f"is computing the run of {path.name}") as self._file:
            self._begin(run)

    @property
    def advice(self) -> str:
        """Advice for a journal that no longer fits its run."""
        return f"move {self._path} away to begin anew"

    def state(self, owner: str) -> Path:
        """The file for the state of a training (`NUMBER-…`, by the ask that began it) or of the method."""
        return self._path.with_suffix(f".{owner}.state")

    def append(self, record: Record) -> None:
        """Writes a record and returns when it is on the disk. Raises Interrupted if it cannot be written."""
        try:
            self._write(record._asdict())
        except OSError as error:
            raise disk.cannot_write(self._path, error) from None

    def close(self) -> None:
        """Closes the journal, which stays on the disk for a later attempt."""
        self._file.close()

    def _begin(self, run: str) -> None:
        header = _header(run)
        content = self._file.content()
        lines, rest = _good_lines(content)
        if lines and lines[0].facts != header:
            raise StoreError(f"{self._path} is the journal of another run than {run}: {self.advice}")
        self.records = [_record(line.facts) for line in lines[1:]]
        self._digest = lines[-1].digest if lines else ""
        if b"\n" in rest or _is_whole(rest):
            damaged = self._path.with_suffix(".damaged")
            before = disk.read(damaged) if damaged.exists() else b""
            disk.write(damaged, before + rest)
            self.damage = (
                f"{self._path} is damaged after {len(self.records)} evaluations: these are used, and what follows is "
                f"kept in {damaged}"
            )
        self._file.begin(len(content) - len(rest))
        if not lines:
            self._write(header)

    def _write(self, facts: dict[str, object]) -> None:
        line, digest = _framed(facts, self._digest)
        self._file.append(line)
        self._digest = digest


def peek(path: Path, run: str) -> list[Record] | None:
    """The evaluations in the journal of a run at this moment, without locking it; None if it is not its journal."""
    try:
        lines, _ = _good_lines(disk.read(path))
    except OSError:
        return None  # the run has just been stored
    if not lines or lines[0].facts != _header(run):
        return None
    return [_record(line.facts) for line in lines[1:]]


def forget(path: Path) -> None:
    """Deletes a closed journal, whose run is stored, with the states of its trainings and its method."""
    for part in path.parent.glob("*"):  # a pattern per run would be compiled for each
        if part.name.startswith(f"{path.stem}.") and part.suffix != ".damaged":
            disk.remove(part)


def set_aside(path: Path, free: Callable[[Path], Path]) -> None:
    """Moves a closed journal, with the states of its trainings and its method, away, so that its run begins anew.

    A journal that another process uses stays.

    Args:
        free: gives the new path of a file.
    """
    lock = path.with_suffix(".lock")
    with suppress(disk.Held), disk.Lock(lock).held(patience=0):
        for part in path.parent.glob(f"{path.stem}.*"):
            if part != lock:
                disk.move(part, free(part))


def keep_for_retry(path: Path) -> None:
    """Deletes the states of a closed journal, whose run is stored, that --retry-failed does not need.

    It needs only the states of trainings with a record before the first failed evaluation: these may be continued.
    """
    lines, _ = _good_lines(disk.read(path))
    facts = [line.facts for line in lines[1:]]
    before = itertools.takewhile(lambda record: record["status"] != "failed", facts)
    kept = {str(record["trial"]) for record in before}
    for state in path.parent.glob(f"{path.stem}.*-*.state"):
        if state.name.removeprefix(f"{path.stem}.").partition("-")[0] not in kept:
            disk.remove(state)


def drop_failed(path: Path) -> None:
    """Removes the first failed evaluation of a journal and everything after it.

    A journal that another process uses is left unchanged.
    """
    if not path.exists():
        return
    lock = disk.Lock(path.with_suffix(".lock"))
    try:
        with lock.held(patience=0):
            content = disk.read(path)
            lines, rest = _good_lines(content)
            failed = [number for number, line in enumerate(lines) if line.facts.get("status") == "failed"]
            if failed and b"\n" not in rest and not _is_whole(rest):  # a torn last line is no evaluation; damage stays
                kept = sum(line.length for line in lines[: failed[0]])
                disk.write(path, content[:kept])
    except (disk.Held, FileNotFoundError):
        return


class _Line(NamedTuple):
    facts: dict[str, object]
    digest: str
    """Digest of this line and all lines before it."""
    length: int
    """Length in bytes."""


def _framed(facts: dict[str, object], before: str) -> tuple[bytes, str]:
    """A line with its check, and its digest."""
    text = json.dumps(facts)[1:] + "\n"
    digest = disk.digest(f"{before}{text}".encode())
    return (_CHECK % (len(text), digest) + text).encode(), digest


def _good_lines(content: bytes) -> tuple[list[_Line], bytes]:
    """The lines before the first torn or damaged one, and the rest of the content."""
    lines: list[_Line] = []
    begin, digest = 0, ""
    prefix = len(_CHECK % (0, "0" * 32))
    while begin < len(content):
        end = content.find(b"\n", begin) + 1
        text = content[begin + prefix : end]
        expected = disk.digest(digest.encode() + text)
        if not end or content[begin : begin + prefix] != (_CHECK % (len(text), expected)).encode():
            break
        digest = expected
        lines.append(_Line(json.loads(b"{" + text), digest, end - begin))
        begin = end
    return lines, content[begin:]


def _is_whole(rest: bytes) -> bool:
    """Whether a last line without its end is as long as it says: a crash leaves less, so the end was changed."""
    return rest.startswith(f'{{"check": "{len(rest) - len(_CHECK % (0, "0" * 32)):08x}-'.encode())


def _header(run: str) -> dict[str, object]:
    return {"schema": SCHEMA_VERSION, "run": run}


def _record(facts: dict[str, object]) -> Record:
    lists = {name: tuple(value) for name, value in facts.items() if isinstance(value, list)}
    return Record(**facts | lists)  # type: ignore[arg-type]

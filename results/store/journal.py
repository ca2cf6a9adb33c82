"""The journal of one unfinished run whose evaluations are expensive: a line each, on disk at once.

Each line is JSON and begins with a check: the length of what follows it, and the digest of that and of all lines
before. So no line can be torn, changed, lost or moved unseen.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import NamedTuple

from nasbench.results.errors import Interrupted, StoreError
from nasbench.results.store import disk
from nasbench.results.store.trajectory import SCHEMA_VERSION

_CHECK = '{"check": "%08x-%s", '


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
    trial: int = 0
    """The training that was continued, or begun: the number of its first ask."""
    level: int = 1
    """The level of the fidelity up to which it was trained."""
    feasible: bool | None = None
    """Whether it was done and satisfied the constraints; None in journals of before this was noted."""
    curve: tuple[float, ...] | None = None
    """The objective at each level up to there; None where that is not known."""


class Journal:
    """Append-only JSON lines. What a crash in mid-write left of the last line is dropped.

    From a damaged line on nothing is used, and all of it is kept in a file beside (`damage` says so): what comes before
    is still good. Opening locks the journal for this process; the system releases the lock if the process dies.
    """

    def __init__(self, path: Path, run: str) -> None:
        """Opens or begins the journal of the run with identity `run`.

        Raises StoreError if another process is computing this run, or the journal is not this run's.
        """
        self._path = path
        self.damage = ""
        """What was found wrong with the file; empty if nothing."""
        self.records: list[Record] = []
        """What an earlier, interrupted attempt has finished, in that order."""
        try:
            self._file = disk.Appended(path)
        except disk.Held as error:
            raise StoreError(f"{error} is computing the run of {path.name}") from None
        except OSError as error:
            raise _cannot_write(path, error) from None
        try:
            self._begin(run)
        except OSError as error:
            self.close()
            raise _cannot_write(path, error) from None
        except BaseException:
            self.close()
            raise

    @property
    def advice(self) -> str:
        """What to do with a journal that no longer fits its run."""
        return f"move {self._path} away to begin anew"

    def state(self, whose: str) -> Path:
        """Where a training (`NUMBER-…`, by the ask that began it), or the method, may keep what it has done so far."""
        return self._path.with_suffix(f".{whose}.state")

    def append(self, record: Record) -> None:
        """Returns only when the record is on the disk. Raises Interrupted if it cannot be put there."""
        try:
            self._write(record._asdict())
        except OSError as error:
            raise _cannot_write(self._path, error) from None

    def close(self) -> None:
        """Leaves the journal on disk, for a later attempt."""
        self._file.close()

    def _begin(self, run: str) -> None:
        header = _header(run)
        content = self._file.content()
        lines, rest = _good_lines(content)
        if lines and lines[0].facts != header:
            raise StoreError(f"{self._path} is the journal of another run than {run}: {self.advice}")
        if not lines and _is_older(content):
            raise StoreError(f"{self._path} is of an older nasbench, and cannot be read: {self.advice}")
        self.records = [_record(line.facts) for line in lines[1:]]
        self._digest = lines[-1].digest if lines else ""
        if b"\n" in rest or _is_whole(rest):
            damaged = self._path.with_suffix(".damaged")
            disk.write(damaged, rest)
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
    """The evaluations that the journal of a run holds at this moment, without opening it; None where it is not one."""
    try:
        lines, _ = _good_lines(disk.read(path))
    except (OSError, disk.Irregular):
        return None  # its run is being stored at this instant
    if not lines or lines[0].facts != _header(run):
        return None
    return [_record(line.facts) for line in lines[1:]]


def forget(path: Path) -> None:
    """Deletes a closed journal, and the states of evaluations and of the method beside it: its run is stored."""
    for part in path.parent.glob(f"{path.stem}.*"):
        if part.suffix != ".damaged":
            disk.remove(part)


def keep_for_retry(path: Path) -> None:
    """Deletes the states beside a closed journal that --retry-failed has no use for: its run is stored.

    These are the trainings of which nothing was recorded before the first failed evaluation. The others may be
    continued by what is then asked for.
    """
    lines, _ = _good_lines(disk.read(path))
    facts = [line.facts for line in lines[1:]]
    before = itertools.takewhile(lambda record: record["status"] != "failed", facts)
    kept = {str(record["trial"]) for record in before}
    for state in path.parent.glob(f"{path.stem}.*-*.state"):
        if state.name.removeprefix(f"{path.stem}.").partition("-")[0] not in kept:
            disk.remove(state)


def drop_failed(path: Path) -> None:
    """Takes back the first failed evaluation of a journal, and all after it: what came before stays done.

    One that another process is computing is left as it is.
    """
    lock = disk.Lock(path.with_suffix(".lock"))
    try:
        with lock.held(patience=0):
            content = disk.read(path)
            lines, rest = _good_lines(content)
            failed = [number for number, line in enumerate(lines) if line.facts.get("status") == "failed"]
            if failed and not rest:
                kept = sum(line.length for line in lines[: failed[0]])
                disk.write(path, content[:kept])
    except (disk.Held, FileNotFoundError):
        return


class _Line(NamedTuple):
    facts: dict[str, object]
    digest: str
    """Of this line and all before it."""
    length: int
    """In bytes."""


def _framed(facts: dict[str, object], before: str) -> tuple[bytes, str]:
    """A line, and its digest."""
    text = json.dumps(facts)[1:] + "\n"
    digest = disk.digest(f"{before}{text}".encode())
    return (_CHECK % (len(text), digest) + text).encode(), digest


def _good_lines(content: bytes) -> tuple[list[_Line], bytes]:
    """The lines up to the first one that is torn or damaged, and what follows them."""
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


def _is_older(content: bytes) -> bool:
    return content.startswith(b'{"schema": 1, "run"')


def _record(facts: dict[str, object]) -> Record:
    lists = {name: tuple(value) for name, value in facts.items() if isinstance(value, list)}
    return Record(**facts | lists)  # type: ignore[arg-type]


def _cannot_write(path: Path, error: OSError) -> Interrupted:
    return Interrupted(
        f"cannot write the journal {path}: {error.strerror}; what it holds is intact, so once that is mended, give the "
        "same command again"
    )

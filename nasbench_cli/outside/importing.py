"""Reads runs that were made elsewhere, and puts them into a store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.foreign import errors_named
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.outside._failures import check_marks
from nasbench.cli.outside.readers import READERS, reader_of
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.runs import described, runs_of
from nasbench.cli.outside.table import read as read_table
from nasbench.cli.outside.texts import numbers_of
from nasbench.results import Store
from nasbench.results.store.folder import is_store
from nasbench.results.store.trajectory import Setup, Trajectory

Source = Path | pd.DataFrame


def import_runs(sources: Sequence[Source], store: Path, asked: Asked, reader: str = "", command: str = "") -> list[str]:
    """Puts the runs of files, folders or frames into a store, all of them or none; returns what was read.

    Args:
        reader: name of the reader of files; by default the one that knows them.
        command: the command line, for the report.

    Raises UsageError, naming the file, for what cannot be read, or may be read in two ways.
    """
    notes: list[str] = []
    together: list[tuple[str, str, Rows]] = []
    for source in sources:
        name = "the frame" if isinstance(source, pd.DataFrame) else str(source)
        try:
            known, rows = _read(source, asked, reader)
        except UsageError as error:
            raise UsageError(f"{name}: {error}" if name not in str(error) else str(error)) from None
        together.append((name, known, rows))
        notes.append("; ".join(filter(None, (f"{name}: read as {known}", rows.note))))
    rows = joined([rows for _, _, rows in together])
    notes += filter(None, [check_marks(rows, asked)])
    made = runs_of(rows, asked)
    named = zip(together, sources, strict=True)
    origin = "; ".join(f"{Path(name).name} ({known}, {_digest(source)})" for (name, known, _), source in named)
    facts = provenance() | {"origin": origin}
    target = Store.create(store)
    _check_new(target, made)
    for setup, trajectories in made:
        target.commit(setup, trajectories, facts)
    target.save_plan(command, [(setup, [t.seed for t in runs]) for setup, runs in made], {})
    return [*notes, "; ".join(described(made))]


@contextmanager
def as_stores(sources: Sequence[Source], asked: Asked, command: str = "") -> Iterator[tuple[list[Path], list[str]]]:
    """Folders of stores, of which one, for the time of a `with`, has the runs of sources that are no stores; and what
    was read of these."""
    stores = [source for source in sources if isinstance(source, Path) and not _is_elsewhere(source)]
    others = [source for source in sources if not isinstance(source, Path) or _is_elsewhere(source)]
    with TemporaryDirectory() as scratch:
        if not others:
            yield stores, []
            return
        folder = Path(scratch) / "elsewhere"
        try:
            notes = import_runs(others, folder, asked, command=command)
        except UsageError as error:
            more = "--" in str(error).replace("--direction", "")
            how = "; `nasbench import runs FILE --store DIR` takes these options, and `nasbench report DIR` reports it"
            raise UsageError(f"{error}{how * more}") from None
        yield [*stores, folder], notes


def _is_elsewhere(path: Path) -> bool:
    """Whether a path is a file, or a folder that a reader knows and that is no store."""
    if path.is_file():
        return path.suffix != ".zip"
    return path.is_dir() and not is_store(path) and any(READERS.get(name).knows(path) for name in READERS.names())


def _check_new(store: Store, made: Sequence[tuple[Setup, list[Trajectory]]]) -> None:
    """Raises UsageError if a store has one of these runs."""
    present = store.runs()
    for setup, trajectories in made:
        if twice := sorted(present.get(setup.id, {}).keys() & {t.seed for t in trajectories}):
            raise UsageError(
                f"{store.folder} has {setup.title}, seed {twice[0]}, already: give another --store, or leave it out"
            )


def _read(source: Source, asked: Asked, reader: str) -> tuple[str, Rows]:
    """The name of the reader, and the rows."""
    known, rows = _read_as_it_is(source, asked, reader)
    values = numbers_of(rows.frame["value"], rows.name)  # a journal of Optuna may hold anything
    return known, replace(rows, frame=rows.frame.assign(value=values))


def _read_as_it_is(source: Source, asked: Asked, reader: str) -> tuple[str, Rows]:
    if isinstance(source, pd.DataFrame):
        return "a frame", read_table(source, asked, "the frame")
    if not source.exists():
        raise UsageError("there is no such file or folder")
    found = reader_of(source, reader)
    with errors_named(f"{source} cannot be read as {found.title}", OSError):
        return found.title, found.read(source, asked)


def joined(every: Sequence[Rows]) -> Rows:
    """The rows of several files. Raises UsageError if their values are not one quantity."""
    first = every[0]
    for other in every[1:]:
        if (other.name, other.shape, other.sense, other.unit) != (first.name, first.shape, first.sense, first.unit):
            raise UsageError(
                f"{first.name} and {other.name} of two files are not one quantity, or their rows are of other kinds: "
                "import them into stores of their own"
            )
    tests = {rows.test_sense for rows in every if "test" in rows.frame}
    if len(tests) > 1:
        raise UsageError(
            "less is better of the test values of one file, and not of another's: bring them to one measure"
        )
    known: dict[str, Any] = {"status": "ok", "feasible": True, "constraint": "none"}  # of a file that does not say them
    filled = []
    for frame in (rows.frame for rows in every):
        filled.append(frame.assign(**{name: own for name, own in known.items() if name not in frame}))
    frame = pd.concat(filled, ignore_index=True)
    left = tuple(dict.fromkeys(column for rows in every for column in rows.left))
    return Rows(frame, first.name, first.shape, first.sense, first.unit, left=left, test_sense=next(iter(tests), None))


def _digest(source: Source) -> str:
    """The digest of what was read; of a folder, that of its files' names and bytes."""
    if isinstance(source, pd.DataFrame):
        return f"{len(source)} rows"
    sums = hashlib.sha256()
    for path in _files(source):
        sums.update(f"{path.relative_to(source.parent)}\0".encode(errors="surrogateescape"))
        with path.open("rb") as file:
            sums.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{sums.hexdigest()[:32]}"


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    else:
        yield from sorted(path for path in source.rglob("*") if path.is_file() and not path.is_symlink())

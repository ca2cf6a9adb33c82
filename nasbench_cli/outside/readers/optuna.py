"""Optuna's storages: journal files and SQLite databases."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.direction import Sense
from nasbench.cli.outside._names import PLAIN, check_sense, marks_of, named_so
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import MARKS, Asked, Rows
from nasbench.cli.outside.texts import beginning

_JOURNAL, _DATABASE = b'{"op_code":', b"SQLite format 3\0"
_OURS = re.compile(r"(?P<method>.+) on (?P<benchmark>.+?), (?P<constraint>.+), seed (?P<seed>\d+)")
"""Names of the studies of `nasbench report --optuna`."""
_COMPUTED = re.compile(r"\b(?:virtual|generated|as)\b", re.IGNORECASE)
"""Words of SQL by which a table or a column is computed when it is read."""


class OptunaStorage(Reader):
    """A study is a run, named METHOD/BENCHMARK/SEED, or with the user attributes method, benchmark and seed."""

    title = "studies of Optuna"

    def knows(self, path: Path) -> bool:
        return beginning(path, 16).startswith(_JOURNAL) or _has_studies(path)

    def read(self, path: Path, asked: Asked) -> Rows:
        storage = _opened(path)
        try:
            studies = [(study, storage.get_all_trials(study._study_id)) for study in storage.get_all_studies()]
        except Exception as error:
            raise _unreadable(path, error) from None
        studies = [(study, ended) for study, trials in studies if (ended := _ended(trials))]
        if not studies:
            raise UsageError(f"{path} has no study with a trial that has ended")
        if several := [study.study_name for study, _ in studies if len(study.directions) > 1]:
            raise UsageError(f"study {several[0]} of {path} has several objectives: runs with one can be imported")
        senses: list[Sense] = [_sense(study) for study, _ in studies]
        if len(set(senses)) > 1:
            raise UsageError(f"{path} has studies that minimise and others that maximise: import them from two files")
        check_sense(asked, senses[0], f"the studies of {path} {senses[0]}")
        frame = pd.DataFrame([row for study, trials in studies for row in _rows(study, trials, path.stem)])
        plain = any(_is_plain(study) for study, _ in studies)
        constrained = bool((frame["constraint"] != "none").any())
        notes = [
            "a study is a run",
            "trials that were pruned or failed have no value, those that run or wait are left out",
            *["feasible are the trials with no constraint above 0"] * constrained,
            *[f"{PLAIN} {path.stem}"] * plain,
        ]
        return Rows(frame, _value(studies[0][0]), "trajectory", senses[0], "", "; ".join(notes))


def _has_studies(path: Path) -> bool:
    """Whether a file is a database with a table of studies."""
    if not beginning(path, 16).startswith(_DATABASE):
        return False
    try:
        with closing(_connected(path)) as database:
            return bool(database.execute("select 1 from sqlite_master where name = 'studies'").fetchall())
    except sqlite3.Error:
        return False


def _check_plain(path: Path) -> None:
    """Raises UsageError if a database has more than stored tables: what computes its rows may do so without an end.

    Nor may a page of it stand in two places, which multiplies its rows.
    """
    with closing(_connected(path)) as database:
        for kind, name, sql in database.execute("select type, name, sql from sqlite_master"):
            if kind not in ("table", "index") or _COMPUTED.search(sql or ""):
                raise UsageError(
                    f"{path} computes rows ({kind} {name!r}), as no database of Optuna does: it is not read"
                )
        database.execute("pragma ignore_check_constraints = on")  # they compute, too
        (found,) = database.execute("pragma quick_check(1)").fetchone()
        if found != "ok":
            raise UsageError(f"{path} is damaged: {found.splitlines()[-1]}")


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)


def _opened(path: Path) -> Any:
    """The storage in a file, which is only read. Raises UsageError without Optuna, or if it is damaged."""
    try:
        from optuna.storages import JournalStorage, RDBStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise UsageError("Optuna reads its files, and is not installed: `pip install optuna`") from None
    try:
        if beginning(path, 16).startswith(_DATABASE):
            _check_plain(path)
            return RDBStorage(f"sqlite:///file:{quote(str(path.resolve()))}?mode=ro&uri=true")
        with path.open("rb") as file:
            file.seek(-1, 2)
            if file.read(1) != b"\n":  # Optuna passes over such a line
                raise UsageError(f"the last line of {path} is cut off: delete it if the rest is whole")
        return JournalStorage(JournalFileBackend(str(path)))
    except UsageError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> UsageError:
    text = (str(error).splitlines() or [""])[0]
    return UsageError(f"{path} is damaged, or of another version of Optuna: {type(error).__name__}: {text}")


def _ended(trials: list[Any]) -> list[Any]:
    """The trials that have ended, in the order in which they did where all know their time."""
    ended = [trial for trial in trials if trial.state.is_finished()]
    if all(trial.datetime_start and trial.datetime_complete for trial in ended):
        ended.sort(key=lambda trial: trial.datetime_complete)
    return ended


def _sense(study: Any) -> Sense:
    return "maximise" if study.directions[0].name == "MAXIMIZE" else "minimise"


def _value(study: Any) -> str:
    """The name of a study's objective."""
    names = study.system_attrs.get("study:metric_names") or ["value"]
    return str(study.user_attrs.get("objective", names[0]))


def _is_ours(study: Any) -> bool:
    return "protocol" in study.user_attrs and _OURS.fullmatch(study.study_name) is not None


def _is_plain(study: Any) -> bool:
    return not (_is_ours(study) or named_so(study.study_name) or "method" in study.user_attrs)


def _marks(study: Any, inside: str, is_constrained: bool) -> dict[str, str]:
    """The marks of a run, by the study's attributes, or else by its name."""
    stated = {mark: str(study.user_attrs[mark]) for mark in MARKS if mark in study.user_attrs}
    ours = _OURS.fullmatch(study.study_name) if _is_ours(study) else None
    named = ours.groupdict() if ours else marks_of(study.study_name, inside)
    return {"constraint": "constrained" if is_constrained else "none"} | named | stated


def _rows(study: Any, trials: list[Any], inside: str) -> list[dict[str, Any]]:
    """A row for each trial of a study."""
    is_constrained = any(trial.constraints for trial in trials)
    marks = _marks(study, inside, is_constrained)
    starts = [trial.datetime_start for trial in trials]
    is_timed = all(starts) and all(trial.datetime_complete for trial in trials)
    rows = []
    for number, trial in enumerate(trials, 1):
        bounds = trial.constraints.values()
        is_ok = trial.state.name == "COMPLETE"
        row = marks | {
            "evaluation": number,
            "value": trial.value if is_ok else None,
            "status": "ok" if is_ok else "failed",
            "feasible": all(bound <= 0 for bound in bounds) and (bool(bounds) or not is_constrained),
            "configuration": trial.params,
        }
        seconds = (trial.datetime_complete - min(starts)).total_seconds() if is_timed else None
        rows.append(row | {"seconds": seconds})
    return rows


READERS.add("optuna", OptunaStorage())

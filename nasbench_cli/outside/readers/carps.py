"""CARP-S: logs of trials beside the settings of a run, and what it gathers of many runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.benchmarks.tabular.frames import column_names, read_columns
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import check_asked, files_below, frame_of_objects, near, numbers_of, text_of, values_of

_LOG, _GATHERED = "trial_logs.jsonl", "logs.parquet"
_MARKS = {"optimizer_id": "method", "task_id": "benchmark", "problem_id": "benchmark", "seed": "seed"}
_COST = b"trial_value__cost"
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_SUCCESS = 1


class CarpS(Reader):
    """A log is a run, and a trial an evaluation; in tasks with budgets, one at the highest."""

    title = "logs of CARP-S"

    def knows(self, path: Path) -> bool:
        if path.is_dir():
            return any(near(path, _LOG)) or _is_gathered(path / _GATHERED)
        return path.name == _LOG or _is_gathered(path)

    def read(self, path: Path, asked: Asked) -> Rows:
        check_asked(asked, ["trajectory"], ["method"])
        logs = list(files_below(path, _LOG)) if path.is_dir() else [path] * (path.suffix == ".jsonl")
        if logs:
            every = pd.concat([_log(file) for file in logs], ignore_index=True)
        else:
            every = _gathered(path / _GATHERED if path.is_dir() else path)
        return _rows(every.assign(**asked.columns))


def _is_gathered(path: Path) -> bool:
    """Whether a Parquet file has CARP-S's columns: its footer, at the end, names them."""
    if not path.is_file() or path.suffix.lower() != ".parquet":
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 17)))
        return _COST in file.read()


def _gathered(path: Path) -> pd.DataFrame:
    header = column_names(path)
    named = [c for c in header if c in _MARKS or c.startswith(("n_", "trial_", "task_type"))]
    frame = read_columns(path, dict.fromkeys(named, "of CARP-S"), set(), header)
    frame = frame.rename(columns=_MARKS)
    if lacking := {*_MARKS.values(), "trial_value__cost"} - {*frame}:
        raise UsageError(f"{path} is none of CARP-S: it has no column for {min(lacking)}")
    if "task_type" in frame and frame["task_type"].astype(str).str.contains("objective").any():
        raise _several(path)
    return frame


def _log(path: Path) -> pd.DataFrame:
    """The trials of a run, with what its settings say. Raises UsageError for damaged files."""
    trials = list(values_of(path))
    if not trials or not all(isinstance(t, dict) and isinstance(t.get("trial_value"), dict) for t in trials):
        raise UsageError(f"{path} is damaged, or of another tool: it has lines without trial_value")
    frame = frame_of_objects(path, [_flat(trial) for trial in trials])
    if "trial_value__cost" not in frame:
        raise UsageError(f"{path} is damaged: its trials have no cost")
    if frame["trial_value__cost"].map(lambda cost: isinstance(cost, list)).any():
        raise _several(path)
    settings = _settings(path.parent / ".hydra" / "config.yaml")
    said = {role: settings[key] for key, role in _MARKS.items() if key in settings}
    if lacking := {*_MARKS.values()} - {*said}:
        raise UsageError(f"{path.parent / '.hydra' / 'config.yaml'} is damaged: it states no {min(lacking)}")
    if "trial_info__config" in frame:
        frame["configuration"] = frame["trial_info__config"].map(_named)
    return frame.assign(**said)


def _flat(trial: dict[str, Any]) -> dict[str, Any]:
    """A trial whose objects are taken apart: `trial_value__cost`."""
    parts = {name: value if isinstance(value, dict) else {"": value} for name, value in trial.items()}
    return {f"{name}__{key}" if key else name: value for name, part in parts.items() for key, value in part.items()}


def _named(config: object) -> object:
    """A configuration, of which CARP-S keeps the values in their order, without names."""
    return {f"x{number}": value for number, value in enumerate(config)} if isinstance(config, list) else config


def _several(path: Path) -> UsageError:
    return UsageError(f"{path} has runs with several objectives, which are no runs with one value")


def _settings(path: Path) -> dict[str, str]:
    """The plain values of a YAML file as Hydra writes it, by their keys (`task.name`), references resolved."""
    found: dict[str, str] = {}
    outer: list[tuple[int, str]] = []
    for line in text_of(path).splitlines():
        if not (match := re.fullmatch(r"( *)([\w.]+):(?: (.*))?", line)):
            continue
        depth, key, value = len(match[1]), match[2], (match[3] or "").strip()
        outer = [(d, k) for d, k in outer if d < depth]
        name = ".".join([*(k for _, k in outer), key])
        outer.append((depth, key))
        if value not in ("", "null"):
            found.setdefault(name, value[1:-1] if value[0] == value[-1] in "'\"" and len(value) > 1 else value)
    resolved = {key: _resolved(value, found) for key, value in found.items()}
    return {key: value for key, value in resolved.items() if not _REFERENCE.search(value)}


def _resolved(text: str, found: dict[str, str]) -> str:
    """A value in which references, which may lead to others, are replaced by what they lead to, where it is known."""
    for _ in range(5):
        text = _REFERENCE.sub(lambda match: found.get(match[1], match[0])[:1000], text)[:1000]
    return text


def _rows(every: pd.DataFrame) -> Rows:
    marks = ["method", "benchmark", "seed"]
    notes = ["the value is cost"]
    every = every.assign(value=numbers_of(every["trial_value__cost"], "cost"))
    if "trial_value__status" in every:
        every["status"] = np.where(every["trial_value__status"] == _SUCCESS, "ok", "failed")
    every = _timed(every, marks)
    budgets = pd.to_numeric(every.get("trial_info__budget", pd.Series(np.nan, every.index)), errors="coerce")
    order = next((c for c in ("n_function_calls", "n_trials") if c in every), None)
    if order is None:
        raise UsageError("its trials have no n_function_calls or n_trials")
    every["evaluation"] = every[order]
    if budgets.notna().any():
        most = budgets.groupby(every["benchmark"]).transform("max")
        kept = every[budgets == most].sort_values("evaluation", kind="stable")
        short = every[~every.set_index(marks).index.isin(kept.set_index(marks).index)]
        if len(short):
            method, bench, seed = short.iloc[0][marks]
            raise UsageError(
                f"{method} on {bench}, seed {seed}, has no trial at the highest budget, {most[short.index[0]]:g}"
            )
        notes.append(f"an evaluation is one at the highest budget; {count(len(every) - len(kept), 'other')} left out")
        every = kept.assign(evaluation=kept.groupby(marks).cumcount() + 1)
    facts = [c for c in (*marks, "value", "evaluation", "seconds", "status", "configuration") if c in every]
    return Rows(every[facts], "cost", "trajectory", "minimise", "", "; ".join(notes))


def _timed(every: pd.DataFrame, marks: list[str]) -> pd.DataFrame:
    """The trials with the seconds at which they ended, by the clock and the simulated time, if they state them."""
    starts, ends, virtual = (f"trial_value__{name}" for name in ("starttime", "endtime", "virtual_time"))
    if not {starts, ends} <= {*every} or not (every[ends] > 0).all():
        return every
    runs = every.groupby(marks, sort=False)
    simulated = runs[virtual].cumsum() if virtual in every else 0.0
    return every.assign(seconds=every[ends] - runs[starts].transform("min") + simulated)


READERS.add("carps", CarpS())

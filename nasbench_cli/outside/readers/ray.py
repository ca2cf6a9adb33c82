"""Ray Tune's experiment folders: a folder for each trial, with `result.json` or `progress.csv`, and `params.json`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.cli.outside._tracked import Tracked, metric_of, rows_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import beginning, frame_of, object_of, objects_of

_RESULTS, _PROGRESS, _PARAMS = "result.json", "progress.csv", "params.json"
_ERRORS = ("error.txt", "error.pkl")
_OWN = {
    "timestamp",
    "checkpoint_dir_name",
    "done",
    "training_iteration",
    "trial_id",
    "date",
    "pid",
    "hostname",
    "node_ip",
}
_OWN |= {"time_this_iter_s", "time_total_s", "time_since_restore", "iterations_since_restore", "timesteps_total"}
_OWN |= {"timesteps_since_restore", "episodes_total", "experiment_id", "experiment_tag", "should_checkpoint"}
_OWN |= {"warmup_time", "time", "timesteps_this_iter", "episodes_this_iter"}
"""What Ray itself reports of a trial."""


class RayExperiment(Reader):
    """An experiment is a run, and its trials are the evaluations, in the order of their first reports."""

    title = "an experiment of Ray Tune"

    def knows(self, path: Path) -> bool:
        return path.is_dir() and bool(_trials(path))

    def read(self, path: Path, asked: Asked) -> Rows:
        reports = {trial: _reports(trial) for trial in _trials(path)}
        numbers = {name for own in reports.values() for report in own for name in report if _is_metric(name, report)}
        metric = metric_of(numbers, asked)
        name, kept, began = path.resolve().name, [], 0.0
        firsts = [own[0] for own in reports.values() if own]
        for trial, own in reports.items():
            began = _number(own[0] if own else {}, "timestamp", trial, began or _earliest(firsts))
            last = own[-1] if own else {}
            kept.append(
                Tracked(
                    experiment=name,
                    started=began,
                    finished=_number(last, "timestamp", trial, began),
                    facts={},
                    configuration=object_of(trial / _PARAMS),
                    value=_number(last, metric, trial, None),
                    is_ok=not any((trial / error).exists() for error in _ERRORS),
                    cost=_number(last, "time_total_s", trial, 0.0),
                )
            )
        rows = rows_of(kept, metric, path.resolve().parent.name, asked)
        sizes = sorted({len(own) for own in reports.values()})
        reported = count(f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else sizes[0], "time")
        note = f"{rows.note}; trials reported {reported}; all are taken to have ended, those with an error failed"
        return replace(rows, note=note)


def _trials(folder: Path) -> list[Path]:
    """The folders of trials, in the order of their names."""
    found = {path.parent for name in (_RESULTS, _PROGRESS) for path in folder.glob(f"*/{name}")}
    return sorted(trial for trial in found if (trial / _PARAMS).is_file() and _is_of_ray(trial))


def _is_of_ray(trial: Path) -> bool:
    """Whether a trial has a report of Ray, or none at all."""
    first = beginning(trial / _RESULTS) or beginning(trial / _PROGRESS)
    return not first or b"training_iteration" in first


def _reports(trial: Path) -> list[dict[str, Any]]:
    """What a trial reported, in its order, with a name for each number."""
    if (trial / _RESULTS).is_file():
        return [_flat(report) for report in objects_of(trial / _RESULTS)]
    if not beginning(trial / _PROGRESS, 1):
        return []
    return [{str(k): v for k, v in row.items()} for row in frame_of(trial / _PROGRESS).to_dict("records")]


def _flat(report: dict[str, Any], before: str = "") -> dict[str, Any]:
    """The entries of nested objects, named as Ray names them in tables: `info/loss`."""
    flat: dict[str, Any] = {}
    for name, value in report.items():
        flat |= _flat(value, f"{before}{name}/") if isinstance(value, dict) else {f"{before}{name}": value}
    return flat


def _is_metric(name: str, report: dict[str, Any]) -> bool:
    is_number = isinstance(report[name], int | float) and not isinstance(report[name], bool)
    return is_number and name not in _OWN and not name.startswith("config/")


def _earliest(firsts: list[dict[str, Any]]) -> float:
    return min((float(first["timestamp"]) for first in firsts if "timestamp" in first), default=0.0)


def _number(report: dict[str, Any], name: str, trial: Path, otherwise: Any) -> Any:
    """A number of a report, or what stands for it if it is not there."""
    value = report.get(name)
    if value is None:
        return otherwise
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} of {trial} is {value!r}: not a number") from None


READERS.add("ray", RayExperiment())

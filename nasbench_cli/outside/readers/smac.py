"""SMAC3's output folders: `runhistory.json`, and `scenario.json` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.cli.outside._names import check_sense, marks_of, named_so
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import beginning, object_of

_HISTORY, _SCENARIO = "runhistory.json", "scenario.json"
_RUNNING, _SUCCESS = 0, 1
"""Statuses of a trial; every other one is a failure (crashed, out of time, out of memory)."""


class SmacHistory(Reader):
    """A folder is a run; its trials are evaluations, and their cost is minimised."""

    title = "run histories of SMAC3"

    def knows(self, path: Path) -> bool:
        if path.is_dir():
            return bool(_histories(path))
        return path.suffix == ".json" and beginning(path, 64).replace(b" ", b"").lstrip(b"{\n").startswith(b'"stats":')

    def read(self, path: Path, asked: Asked) -> Rows:
        check_sense(asked, "minimise", "SMAC minimises")
        names, rows, notes = set(), [], dict[str, None]()
        for history in _histories(path) if path.is_dir() else [path]:
            name, own, said = _run(history)
            names.add(name)
            rows += own
            notes |= dict.fromkeys(said)
        if not rows:
            raise UsageError(f"{path} has no trial that has ended")
        if len(names) > 1:
            raise UsageError(f"runs of {path} have the objectives {' and '.join(sorted(names))}: import them apart")
        return Rows(pd.DataFrame(rows), names.pop(), "trajectory", "minimise", "", "; ".join(notes))


def _histories(folder: Path) -> list[Path]:
    """The histories in a run's folder, in that of a scenario with a run for each seed, or in one of scenarios."""
    return sorted(path for depth in ("", "*/", "*/*/") for path in folder.glob(depth + _HISTORY))


def _run(path: Path) -> tuple[str, list[dict[str, Any]], list[str]]:
    """The objective of a run, its rows, and what is to be said of them."""
    history, beside = object_of(path), path.parent / _SCENARIO
    scenario = object_of(beside) if beside.is_file() else {}
    try:
        trials = [trial for trial in history["data"] if trial["status"] != _RUNNING]
        configs = history["configs"]
        _check(path, trials)
        marks, notes = _marks(scenario, path)
        budgets = [trial["budget"] for trial in trials if trial["budget"] is not None]
        if budgets:
            kept = [trial for trial in trials if trial["budget"] == max(budgets)]
            if lower := len(trials) - len(kept):
                notes.append(f"{count(lower, 'trial')} at budgets below {max(budgets):g} left out, whose time counts")
        else:
            kept = trials
        is_timed = all((trial["endtime"] or 0) > 0 for trial in trials)
        began = min((trial["starttime"] for trial in trials), default=0.0)
        if is_timed:
            kept = sorted(kept, key=lambda trial: trial["endtime"])
        if len({trial["config_id"] for trial in kept}) < len(kept):
            notes.append("a configuration that was evaluated with several seeds has an evaluation for each")
        rows = []
        for number, trial in enumerate(kept, 1):
            is_ok = trial["status"] == _SUCCESS
            row = marks | {"evaluation": number, "value": float(trial["cost"]) if is_ok else None}
            row |= {"seconds": trial["endtime"] - began if is_timed else None, "cost": float(trial["time"])}
            row |= {"status": "ok" if is_ok else "failed", "feasible": True}
            rows.append(row | {"configuration": configs[str(trial["config_id"])]})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is not as SMAC3 2.x writes it: {type(error).__name__}: {error}") from None
    objectives = scenario.get("objectives", "cost")
    return objectives if isinstance(objectives, str) else str(objectives[0]), rows, notes


def _check(path: Path, trials: list[dict[str, Any]]) -> None:
    """Raises UsageError for trials whose costs are not values of one function."""
    if any(isinstance(trial["cost"], list) for trial in trials):
        raise UsageError(f"{path} has several objectives: runs with one can be imported")
    if len(instances := {trial["instance"] for trial in trials}) > 1:
        raise UsageError(f"{path} has trials on {len(instances)} instances, whose costs are not comparable")


def _marks(scenario: dict[str, Any], path: Path) -> tuple[dict[str, str], list[str]]:
    """The marks of a run, and where they are from."""
    if not scenario:
        folder = path.resolve().parent.name
        return marks_of("SMAC", folder), [f"no {_SCENARIO} beside it: the benchmark is its folder {folder}, the seed 0"]
    seed, name = str(scenario["seed"]), str(scenario["name"])
    if named_so(name):
        return marks_of(name, ""), []
    facade = (scenario.get("_meta") or {}).get("facade", {}).get("name", "")
    method = f"SMAC {facade.removesuffix('Facade')}".rstrip()
    return {"method": method, "benchmark": name, "seed": seed}, [
        "the method is SMAC and its facade, benchmark and seed are the scenario's"
    ]


READERS.add("smac", SmacHistory())

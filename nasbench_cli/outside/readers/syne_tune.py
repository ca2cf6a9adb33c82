"""Syne Tune: folders of experiments, each with a table of results and its metadata."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError, unknown
from nasbench.base.numbers import count, listed
from nasbench.benchmarks.tabular.direction import Sense
from nasbench.benchmarks.tabular.frames import LINE_END, MOST_CELLS, line_ends
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import check_asked, files_below, near, numbers_of, object_of, text_of

_SENSES: dict[str, Sense] = {"min": "minimise", "max": "maximise"}
_MOST_BYTES = 1 << 28


class SyneTune(Reader):
    """An experiment is a run, and a trial an evaluation, whose value is that of its last row."""

    title = "experiments of Syne Tune"

    def knows(self, path: Path) -> bool:
        return any(_results(facts.parent) for facts in near(path, "metadata.json"))

    def read(self, path: Path, asked: Asked) -> Rows:
        check_asked(asked, ["trajectory"], ["value", "method", "benchmark", "seed"])
        folders = [facts.parent for facts in files_below(path, "metadata.json") if _results(facts.parent)]
        if not folders:
            raise UsageError("no folder in it has both results.csv.zip (or results.csv) and metadata.json")
        notes: dict[str, None] = {}
        runs = [_experiment(folder, asked, notes) for folder in folders]
        if len(metrics := sorted({name for name, _, _ in runs})) > 1:
            raise UsageError(f"its experiments are of {listed(metrics)}: import those of each by themselves")
        if len({sense for _, sense, _ in runs}) > 1:
            raise UsageError(f"less of {metrics[0]} is better in some of its experiments, and more in others")
        unsaid = [frame for _, _, frame in runs if "seed" not in frame]
        if unsaid and len(unsaid) < len(runs):
            raise UsageError("some of its experiments state a seed, and others none: import them by themselves")
        for number, frame in enumerate(unsaid):
            frame["seed"] = number
            notes["seeds are the order of the folders"] = None
        frame = pd.concat([frame for _, _, frame in runs], ignore_index=True)
        return Rows(frame, metrics[0], "trajectory", runs[0][1], "", "; ".join(notes))


def _results(folder: Path) -> Path | None:
    found = [folder / name for name in ("results.csv.zip", "results.csv") if (folder / name).is_file()]
    return found[0] if found else None


def _experiment(folder: Path, asked: Asked, notes: dict[str, None]) -> tuple[str, Sense | None, pd.DataFrame]:
    """The metric of an experiment, its direction, and the last row of each trial; adds to `notes`."""
    facts, table = object_of(folder / "metadata.json"), _table(folder)
    metric, sense = _metric(folder, facts, asked)
    for column in ("trial_id", metric):
        if column not in table:
            raise unknown(f"column of {folder.name}/results.csv", column, map(str, table.columns))
    trials = numbers_of(table["trial_id"], "trial_id")
    if not len(trials) or np.isnan(trials).any():
        raise UsageError(f"{_results(folder)} is damaged, or empty: it has no rows, or one of no trial")
    last = table.groupby("trial_id", sort=False).tail(1)
    notes[f"the value is {metric}"] = None
    if len(last) < len(table):
        notes["the value of a trial is that of its last row, wherever it was stopped"] = None
    if lacking := int(trials.max()) + 1 - len(last):
        notes[f"{count(lacking, 'trial')} of {folder.name} without results left out"] = None
    names = [str(c) for c in table if str(c).startswith("config_")]
    settings = last[names].set_axis([name.removeprefix("config_") for name in names], axis=1)
    lines = settings.to_json(orient="records", lines=True, double_precision=15).splitlines() if names else []
    frame = pd.DataFrame({"value": numbers_of(last[metric], metric), "evaluation": np.arange(1, len(last) + 1)})
    frame = frame.assign(configuration=[json.loads(line) for line in lines] or None)
    if "st_tuner_time" in last:
        frame["seconds"] = numbers_of(last["st_tuner_time"], "st_tuner_time")
    for role, value in _marks(facts).items():
        if (said := asked.columns.get(role, value)) is not None:
            frame[role] = said
        elif role != "seed":
            raise UsageError(f"{folder.name} states no {role}: --column {role}=NAME says it")
    if not facts.get("benchmark") and "benchmark" not in asked.columns:
        notes[f"the benchmark is the name of the script, {facts['entrypoint']}"] = None
    return metric, sense, frame


def _marks(facts: dict[str, Any]) -> dict[str, Any]:
    """What the metadata say of method, benchmark and seed; a scheduler's own seed is among its arguments."""
    arguments = facts.get("scheduler_kwargs")
    own = arguments.get("random_seed") if isinstance(arguments, dict) else None
    return {
        "method": facts.get("algorithm") or facts.get("scheduler_name"),
        "benchmark": facts.get("benchmark") or facts.get("entrypoint"),
        "seed": facts.get("seed", own),
    }


def _metric(folder: Path, facts: dict[str, Any], asked: Asked) -> tuple[str, Sense | None]:
    """The metric and its direction, where the metadata state it."""
    names = facts.get("metric_names")
    modes = facts.get("metric_mode", facts.get("metric_modes"))
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{folder / 'metadata.json'} is damaged: it states no metric_names")
    if len(names) > 1 and "value" not in asked.columns:
        raise UsageError(f"{folder.name} has the metrics {listed(names)}: --column value={names[0]} says which")
    metric = str(asked.columns.get("value") or names[0])
    each = modes if isinstance(modes, list) else [modes] * len(names)
    return metric, _SENSES.get(str(dict(zip(names, each, strict=False)).get(metric)))


def _table(folder: Path) -> pd.DataFrame:
    """The table of results. Raises UsageError if it is damaged, or too large."""
    path = _results(folder)
    assert path is not None
    try:
        if path.suffix != ".zip":
            return _parsed(path, text_of(path).encode())
        with zipfile.ZipFile(path) as archive:
            member = archive.infolist()[0]
            if member.file_size > _MOST_BYTES:
                raise UsageError(f"{path} has more than {_MOST_BYTES:,} bytes unpacked, which is the limit")
            return _parsed(path, archive.read(member))
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, IndexError, EOFError, RuntimeError) as error:
        raise UsageError(f"{path} is damaged or cut off: {str(error).splitlines()[0] or 'empty'}") from None


def _parsed(path: Path, content: bytes) -> pd.DataFrame:
    """A CSV. Raises UsageError if it has more values than fit into memory: each takes more there than in the file."""
    columns, rows = LINE_END.split(content, maxsplit=1)[0].count(b",") + 1, line_ends(content) + 1
    if max(columns * rows, content.count(b",")) > MOST_CELLS:
        raise UsageError(f"{path} has more than {MOST_CELLS:,} values, which is the limit")
    return pd.read_csv(io.BytesIO(content))


READERS.add("syne_tune", SyneTune())

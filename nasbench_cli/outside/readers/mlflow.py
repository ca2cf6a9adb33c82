"""MLflow's `mlruns` folders (its file store), and `mlflow.search_runs().to_csv(FILE)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.cli.outside._tracked import Tracked, metric_of, rows_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import beginning, frame_of, header_of, member, text_of

_META = "meta.yaml"
_STATUSES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
_UNDER_WAY = ("RUNNING", "SCHEDULED")
_PARENT = "mlflow.parentRunId"
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = dict(zip('0abtnvfre "/\\N_LP', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))
"""Letter after a backslash of YAML → what both stand for."""


class MlflowRuns(Reader):
    """A run of MLflow is an evaluation of its experiment's run, or of the method, benchmark and seed that it names."""

    title = "runs of MLflow"

    def knows(self, path: Path) -> bool:
        if path.is_dir():
            return bool(_experiments(path))
        return {"run_id", "experiment_id", "status"} <= {*header_of(path)}

    def read(self, path: Path, asked: Asked) -> Rows:
        kept = list(_stored(path) if path.is_dir() else _exported(path))
        parents = {run["tags"].get(_PARENT) for run in kept}
        if len({run["id"] for run in kept} & parents) > 1 and not any(
            "method" in run["tags"] | run["params"] for run in kept
        ):
            raise UsageError(f"{path} has several parent runs: a tag method (and benchmark, seed) must tell them apart")
        ended = [run for run in kept if run["id"] not in parents and run["status"] not in _UNDER_WAY]
        plain = {k: v.removeprefix("metrics.") if k == "value" else v for k, v in asked.columns.items()}
        asked = replace(asked, columns=plain)
        metric = metric_of({name for run in ended for name in run["metrics"]}, asked)
        several = path.is_dir() or len({run["experiment"] for run in kept}) > 1
        inside = path.resolve().stem if several else path.resolve().parent.name
        rows = rows_of([_tracked(run, metric) for run in ended], metric, inside, asked)
        left = [f"{count(n, 'run')} left out: parents of others, or under way"] if (n := len(kept) - len(ended)) else []
        return replace(rows, note="; ".join([rows.note, *left]))


def _tracked(run: dict[str, Any], metric: str) -> Tracked:
    values = run["metrics"].get(metric, [])
    return Tracked(
        experiment=run["experiment"],
        started=run["started"],
        finished=run["finished"],
        facts=run["tags"] | run["params"],
        configuration=run["params"],
        value=values[-1][1] if values else None,
        is_ok=run["status"] == "FINISHED",
        history=values,
    )


def _experiments(folder: Path) -> list[Path]:
    """The experiments in a folder, or the folder itself if it is one."""
    metas = [folder / _META] if (folder / _META).is_file() else sorted(folder.glob(f"*/{_META}"))
    return [meta.parent for meta in metas if b"experiment_id" in beginning(meta)]


def _stored(folder: Path) -> Iterator[dict[str, Any]]:
    """The runs of a file store that were not deleted."""
    for experiment in _experiments(folder):
        name = _facts(experiment / _META).get("name", experiment.name)
        for meta in sorted(experiment.glob(f"*/{_META}")):
            facts, run = _facts(meta), meta.parent
            if facts.get("lifecycle_stage") == "deleted" or "run_id" not in facts:
                continue
            try:
                began, end = int(facts["start_time"]) / 1000, facts.get("end_time", "null")
                finished = None if end in ("null", "") else int(end) / 1000
                metrics = {metric: _steps(path) for metric, path in _named(run / "metrics")}
                status = _STATUSES[facts["status"]]
            except (KeyError, ValueError, OverflowError) as error:
                raise UsageError(f"{meta} is damaged, or of another version of MLflow: {error}") from None
            texts = {kind: {key: text_of(path) for key, path in _named(run / kind)} for kind in ("params", "tags")}
            facts_of_run = {"id": facts["run_id"], "experiment": name, "started": began, "finished": finished}
            yield facts_of_run | {"status": status, "metrics": metrics, **texts}


def _named(folder: Path) -> Iterator[tuple[str, Path]]:
    """The names of metrics, parameters or tags (which may have slashes), and their files."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if member(folder, name).is_file():
            yield name, path


def _steps(path: Path) -> list[tuple[float, float]]:
    """The seconds and values in a metric's file, in the order of their steps."""
    try:
        lines = [line.split()[:3] for line in text_of(path).splitlines()]
        steps = sorted((int(step), int(milliseconds) / 1000, float(value)) for milliseconds, value, step in lines)
    except (ValueError, OverflowError):
        raise UsageError(f"{path} is damaged: a line is not `timestamp value step`") from None
    return [(seconds, value) for _, seconds, value in steps]


def _facts(path: Path) -> dict[str, str]:
    """The entries of a YAML file of texts and numbers. Raises UsageError for what MLflow does not write."""
    entries: dict[str, list[str]] = {"": [""]}
    key = ""
    for line in text_of(path).replace("\r\n", "\n").split("\n"):
        if line[:1].isspace() or not line:  # an entry goes on, folded at 80 letters
            entries[key].append(line.strip())
        else:
            key, _, text = line.partition(":")
            entries[key] = [text]
    if entries[""] == [""]:
        del entries[""]
    try:
        return {key: _scalar(_joined(lines).strip()) for key, lines in entries.items()}
    except ValueError as error:
        raise UsageError(f"{path} is damaged, or not written by MLflow: {error}") from None


def _joined(lines: list[str]) -> str:
    """The lines of a text of YAML: an empty one is a line break; after a backslash there is no space between."""
    text = lines[:1]
    is_quoted = next((line.strip() for line in lines if line.strip()), "").startswith('"')
    for more in lines[1:]:
        if is_quoted and text[-1].endswith("\\"):
            text[-1:] = [part for part in (text[-1][:-1], more) if part]
        else:
            text.append((" " if more and not text[-1].endswith("\n") else "") + (more or "\n"))
    return "".join(text)


def _scalar(text: str) -> str:
    """What a text of YAML stands for. Raises ValueError for one that is not a text or a number."""
    if text[:1] == "'":
        inner = text[1:-1]
        if text[-1:] != "'" or "'" in inner.replace("''", ""):
            raise ValueError(f"{text[:60]!r} does not end")
        return inner.replace("''", "'")
    if text[:1] == '"':
        if not _DOUBLE.fullmatch(text):
            raise ValueError(f"{text[:60]!r} does not end")
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if text[:1] in tuple("&*!|>{[%@`") and text not in ("[]", "{}"):
        raise ValueError(f"{text[:60]!r} is neither a text nor a number")
    return text


def _unescaped(escape: re.Match[str]) -> str:
    code, letter = escape[1] or escape[2] or escape[3], escape[4]
    if code:
        number = int(code, 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise ValueError(f"{escape[0]!r} is no character")
        return chr(number)
    if letter not in _ESCAPED:
        raise ValueError(f"{escape[0]!r} is no escape of YAML")
    return _ESCAPED[letter]


def _exported(path: Path) -> Iterator[dict[str, Any]]:
    """The runs of a CSV export, where experiments have numbers in place of names."""
    frame = frame_of(path)
    times = {}
    for name in ("start_time", "end_time"):
        try:
            column = frame[name] if name in frame else pd.Series([None] * len(frame))
            times[name] = pd.to_datetime(column, utc=True)
        except (ValueError, TypeError):
            raise UsageError(f"{name} of {path} is no date") from None
    if times["start_time"].isna().any():
        raise UsageError(f"a run of {path} has no start_time, which orders them")
    is_one = frame["experiment_id"].nunique() == 1
    for number, row in enumerate(frame.to_dict("records")):
        known = {str(name): value for name, value in row.items() if not pd.isna(value)}
        began, end = times["start_time"].iloc[number], times["end_time"].iloc[number]
        finished = None if pd.isna(end) else end.timestamp()
        reported = finished or began.timestamp()
        yield {
            "id": str(row["run_id"]),
            "experiment": path.stem if is_one else f"experiment {row['experiment_id']}",
            "started": began.timestamp(),
            "finished": finished,
            "status": str(row["status"]),
            "params": _below("params.", known),
            "tags": _below("tags.", known),
            "metrics": {k: [(reported, _number(v, path))] for k, v in _below("metrics.", known).items()},
        }


def _below(prefix: str, row: dict[str, Any]) -> dict[str, Any]:
    """The entries whose names have a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


def _number(value: object, path: Path) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise UsageError(f"a metric of {path} is {value!r}: not a number") from None


READERS.add("mlflow", MlflowRuns())

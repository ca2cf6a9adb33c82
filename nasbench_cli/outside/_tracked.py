"""Evaluations that trackers of experiments keep (MLflow, Weights & Biases, Ray Tune), as rows of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from nasbench.base.errors import UsageError, unknown
from nasbench.base.numbers import listed
from nasbench.cli.outside._names import PLAIN, marks_of, named_so
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.table import read

_MARKS = {"method": ("method",), "benchmark": ("benchmark", "task"), "seed": ("seed",)}
"""Mark of a run → the parameters or tags that may state it."""


@dataclass(frozen=True)
class Tracked:
    """What a tracker calls a run or a trial."""

    experiment: str
    """Name of the experiment that it is of."""
    started: float
    """Seconds, since any date."""
    finished: float | None
    facts: Mapping[str, object]
    """Parameters and tags, which may state a method, a benchmark and a seed."""
    configuration: Mapping[str, object]
    value: float | None
    is_ok: bool
    cost: float | None = None
    """Seconds of computation."""
    history: Sequence[tuple[float, float]] = ()
    """The seconds and values that were reported in the course of it."""


def metric_of(names: Iterable[str], asked: Asked) -> str:
    """The metric that is the value. Raises UsageError if it is not known, or none is named and there are several."""
    known = sorted(names)
    wanted = asked.columns.get("value", "")
    if wanted and wanted not in known:
        raise unknown("metric", wanted, known)
    if len(known) == 1 or wanted:
        return wanted or known[0]
    if not known:
        raise UsageError("it has no metric, so no value")
    raise UsageError(f"{listed(known, 'or')} may be the value: --column value={known[0]} says which")


def rows_of(kept: Sequence[Tracked], metric: str, inside: str, asked: Asked) -> Rows:
    """The rows of what a tracker has kept.

    Those of one method, benchmark and seed are the evaluations of a run, in the order of their starts. Where each is
    the only one of its run, what it reported in its course are the evaluations, or else its value is that of the run.

    Args:
        inside: the name of the file or folder, which is the benchmark where nothing else names one.

    Raises UsageError if a mark is known of some only, or the columns asked for are not there.
    """
    if not kept:
        raise UsageError("it has no run that has ended")
    named = _stated(kept, asked)
    kept, marks = zip(*sorted(zip(kept, named, strict=True), key=lambda pair: pair[0].started), strict=True)
    frame = pd.DataFrame([_row(own, stated, inside) for own, stated in zip(kept, marks, strict=True)])
    groups = frame.groupby(["method", "benchmark", "seed"], sort=False)
    is_single = groups.size().max() == 1
    notes = []
    if is_single and any(len(own.history) > 1 for own in kept):
        frame, shape = _steps(frame, kept), asked.shape
        notes.append("each is a run, and the steps of the metric are its evaluations")
    elif is_single:
        shape = "final"
        notes.append("each is a run, with its last value")
    else:
        frame["evaluation"] = groups.cumcount() + 1
        frame["seconds"] = frame["finished"] - groups["started"].transform("min")
        shape = "trajectory"
        notes.append("each is an evaluation, in the order of their starts, with its last value")
    if not any(named) and not all(named_so(own.experiment) for own in kept):
        notes.append(f"{PLAIN} {inside}")
    frame = frame.drop(columns=["started", "finished"]).dropna(axis=1, how="all")
    if frame.get("seconds", pd.Series([0.0])).isna().any():
        frame = frame.drop(columns="seconds")
    if "value" not in frame:
        raise UsageError(f"nothing of it that has ended has a value of {metric}")
    roles = {str(role): metric if role == "value" else f"of {role}" for role in frame}
    frame = frame.rename(columns=roles)
    rows = read(frame, replace(asked, columns=roles, shape=shape), inside)
    return replace(rows, note="; ".join([f"the value is {metric}", *notes]))


def _stated(kept: Sequence[Tracked], asked: Asked) -> list[dict[str, str]]:
    """The marks that facts state, none where they name no method: a seed alone may be that of a training."""
    if strange := [role for role in asked.columns if role not in {*_MARKS, "value"}]:
        raise unknown("role of a column", strange[0], [*_MARKS, "value"])
    names = {mark: (asked.columns[mark],) if mark in asked.columns else usual for mark, usual in _MARKS.items()}
    for mark, name in asked.columns.items():
        if mark != "value" and not any(name in own.facts for own in kept):
            raise unknown("parameter or tag", name, {fact for own in kept for fact in own.facts})
    found = []
    for own in kept:
        stated = {mark: [str(own.facts[name]) for name in usual if name in own.facts] for mark, usual in names.items()}
        found.append({mark: values[0] for mark, values in stated.items() if values})
    methods = sum("method" in stated for stated in found)
    if 0 < methods < len(found):
        raise UsageError(f"{methods} of {len(found)} runs name a method ({names['method'][0]}), the others do not")
    if not methods and set(asked.columns) & {"benchmark", "seed"}:
        raise UsageError("no run names its method: --column method=NAME names the parameter or tag that does")
    return found if methods else [{} for _ in kept]


def _row(own: Tracked, stated: Mapping[str, str], inside: str) -> dict[str, object]:
    """The row of an evaluation, or of a run."""
    marks = marks_of(own.experiment, inside)
    if stated:
        named = marks["benchmark"] if named_so(own.experiment) else own.experiment
        marks = {"benchmark": named, "seed": marks["seed"], **stated}
    return marks | {
        "started": own.started,
        "finished": own.finished,
        "value": own.value if own.is_ok else None,
        "status": "ok" if own.is_ok and own.value is not None else "failed",
        "feasible": True,
        "cost": own.cost,
        "configuration": dict(own.configuration),
    }


def _steps(frame: pd.DataFrame, kept: Sequence[Tracked]) -> pd.DataFrame:
    """A row for each value that was reported in the course of a run."""
    rows = []
    for row, own in zip(frame.drop(columns=["cost"]).to_dict("records"), kept, strict=True):
        steps = own.history or [(own.finished or 0.0, float("nan"))]
        for number, (seconds, value) in enumerate(steps, 1):
            step = {"evaluation": number, "seconds": seconds - own.started, "value": value, "status": "ok"}
            rows.append(row | step)
    return pd.DataFrame(rows)

"""IOHprofiler: JSON files of runs with their data beside them, also those of `nasbench report --ioh`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.cli.outside._steps import Array, LoggedRun, blocks, columns, frame_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows, Shape
from nasbench.cli.outside.texts import beginning, check_asked, files_below, member, near, object_of

_OURS = "nasbench, "
_DIGITS = 1e-9
"""Data files round what the JSON file states in full."""


class Ioh(Reader):
    """A run on an instance: its improvements, or every evaluation where all are logged."""

    title = "files of IOHprofiler"

    def knows(self, path: Path) -> bool:
        return any(map(_is_ioh, near(path, "*.json") if path.is_dir() else [path]))

    def read(self, path: Path, asked: Asked) -> Rows:
        check_asked(asked, ["trajectory", "best", "final"], ["method"])
        files = list(filter(_is_ioh, files_below(path, "*.json"))) if path.is_dir() else [path]
        every = [(file, object_of(file)) for file in files]
        if len(senses := {facts.get("maximization") for _, facts in every}) != 1 or not senses <= {True, False}:
            raise UsageError("some of its functions are maximised and others minimised: give each .json file by itself")
        sign = -1.0 if True in senses else 1.0
        runs = [run for file, facts in every for run in _runs(file, facts, asked.columns.get("method", ""), sign)]
        if not runs:
            raise UsageError("its files name no runs")
        shape, note = _shape(runs, asked, all(map(_is_ours, (facts for _, facts in every))))
        frame, said = frame_of(runs, shape)
        return Rows(frame, "raw_y", shape, "minimise" if sign > 0 else "maximise", "", f"{note}; {said}")


def _is_ioh(path: Path) -> bool:
    text = beginning(path) if path.suffix == ".json" else b""
    return b'"function_id"' in text and b'"maximization"' in text and b'"algorithm"' in text


def _runs(file: Path, facts: dict[str, Any], method: str, sign: float) -> Iterator[LoggedRun]:
    """The runs of a function. Raises UsageError for damaged files."""
    try:
        for scenario in facts["scenarios"]:
            marks = (method or str(facts["algorithm"]["name"]), *_function(facts, scenario["dimension"]))
            data = member(file.parent, scenario["path"])
            logged = list(blocks(data))
            if len(logged) != len(scenario["runs"]):
                raise UsageError(
                    f"{data} has {len(logged)} runs, and {file.name} {len(scenario['runs'])}: one is damaged"
                )
            for run, (header, rows) in zip(scenario["runs"], logged, strict=True):
                names = header.replace('"', "").split()
                places = names.index("raw_y"), names.index("raw_y_best" if "raw_y_best" in names else "raw_y")
                evaluations, values, reached = columns(data, rows, 0, *places)
                best = sign * np.fmin.accumulate(sign * reached)
                evals, stated = int(run["evals"]), float(run["best"]["y"])
                if evals < evaluations[-1] or not abs(best[-1] - stated) <= _DIGITS * (1 + abs(stated)):
                    raise UsageError(
                        f"{data} does not reach the best value in {file.name}, {stated:g}, or goes on after its end: "
                        "one is damaged, or improvements were not logged"
                    )
                ends = values if _is_ours(facts) and _rises(values) else best
                yield LoggedRun(marks, int(run["instance"]), evals, evaluations, values, ends)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise UsageError(
            f"{file} is damaged, or not of this version of IOHprofiler: a fact of a run is missing"
        ) from None


def _function(facts: dict[str, Any], dimension: int) -> tuple[str, str]:
    """The benchmark and the constraint: our own files name both, and have no dimension."""
    name = str(facts["function_name"])
    if _is_ours(facts):
        bench, _, constraint = name.rpartition(" ") if name.endswith(" none") else name.partition(" ")
        return bench, constraint
    return f"f{facts['function_id']}_{name}_d{dimension}", "none"


def _is_ours(facts: dict[str, Any]) -> bool:
    return str(facts.get("suite")).startswith(_OURS)


def _rises(values: Array) -> bool:
    """Whether an incumbent is ever replaced by one with a larger value."""
    return bool((np.diff(values) > 0).any())


def _shape(runs: Sequence[LoggedRun], asked: Asked, is_ours: bool) -> tuple[Shape, str]:
    """What rows are read as, and why. Raises UsageError if they cannot be what is asked for."""
    if is_ours and any(_rises(run.values) for run in runs):
        if asked.shape not in (None, "final"):
            raise UsageError(
                "values of incumbents rise in it, since reports scored them by what did not select them: leave out "
                f"--shape {asked.shape}, or export with --score observed"
            )
        return "final", "values of incumbents by the report's score, which rise and fall: the end of each run is read"
    is_full = not is_ours and all(len(run.evaluations) == run.evals for run in runs)
    if asked.shape == "trajectory" and not is_full:
        raise UsageError("not every evaluation is logged in it: leave out --shape trajectory")
    shape = asked.shape or ("trajectory" if is_full else "best")
    return shape, "every evaluation is logged" if is_full else "improvements are logged"


READERS.add("ioh", Ioh())

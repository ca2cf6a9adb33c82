"""Runs of which improvements are known, as benchmarks of functions log them: a run is on an instance of a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.cli.outside.rows import Shape
from nasbench.cli.outside.texts import text_of

Array: TypeAlias = NDArray[np.float64]
_REPEATED = 1000


@dataclass(frozen=True)
class LoggedRun:
    """The logged evaluations of a run."""

    marks: tuple[str, str, str]
    """Method, benchmark and constraint."""
    instance: int
    evals: int
    """Evaluations of the whole run."""
    evaluations: Array
    """Numbers of the logged evaluations, from 1, increasing."""
    values: Array
    """As logged, of the same shape."""
    best: Array
    """The best values so far, of the same shape."""

    def rows(self, shape: Shape) -> pd.DataFrame:
        """The columns evaluation and value, the latter as logged in a trajectory, and else the best so far."""
        if shape == "trajectory":
            return pd.DataFrame({"evaluation": self.evaluations, "value": self.values})
        frame = pd.DataFrame({"evaluation": [*self.evaluations, self.evals], "value": [*self.best, self.best[-1]]})
        return frame.tail(1) if shape == "final" else frame.drop_duplicates("evaluation")


def blocks(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """The runs in a file of data: a header, which does not begin with a digit, and the fields of each row below it."""
    header, rows = "", list[list[str]]()
    for line in map(str.strip, text_of(path).splitlines()):
        if line and not line[0].isdigit():
            if header:
                yield header, rows
            header, rows = line, []
        elif line:
            rows.append(line.split())
            if not header:
                raise UsageError(f"{path} is damaged: it does not begin with a header")
    if header:
        yield header, rows


def columns(path: Path, rows: Sequence[Sequence[str]], *places: int) -> tuple[Array, ...]:
    """Columns of a run's rows as numbers; the first has its evaluations. Raises UsageError if a row is damaged."""
    try:
        found = np.array([[float(row[place]) for place in places] for row in rows])
    except (IndexError, ValueError):
        raise UsageError(f"{path} is damaged or cut off: a row is not of numbers, or too short") from None
    if not len(found) or found[0, 0] < 1 or (np.diff(found[:, 0]) <= 0).any():
        raise UsageError(f"{path} is damaged or cut off: a run has no rows, or its evaluations do not increase")
    return tuple(found.T)


def frame_of(runs: Sequence[LoggedRun], shape: Shape) -> tuple[pd.DataFrame, str]:
    """The rows of all runs, and what is said of seeds.

    A run's seed is its instance, or, where several runs of a method are on one, 1000 times that and the run's number.
    """
    counts = Counter((run.marks, run.instance) for run in runs)
    is_repeated = max(counts.values()) > 1
    numbers: Counter[tuple[tuple[str, str, str], int]] = Counter()
    parts = []
    for run in runs:
        numbers[key := (run.marks, run.instance)] += 1
        seed = _REPEATED * run.instance + numbers[key] if is_repeated else run.instance
        parts.append(
            run.rows(shape).assign(
                seed=seed, **dict(zip(("method", "benchmark", "constraint"), run.marks, strict=True))
            )
        )
    said = f"seed {_REPEATED + 1} is instance 1, run 1" if is_repeated else "seeds are instances"
    return pd.concat(parts, ignore_index=True), said

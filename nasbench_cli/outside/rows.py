"""Rows of runs that were made elsewhere, as every reader answers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pandas as pd

from nasbench.benchmarks.tabular.direction import Sense

SENSES: tuple[Sense, ...] = ("minimise", "maximise")
Shape: TypeAlias = Literal["trajectory", "best", "final"]
SHAPES: tuple[Shape, ...] = ("trajectory", "best", "final")
"""What a row is: an evaluation with what was observed; an evaluation with the best value so far, where rows may be left
out that improve nothing; or the end of a run, or of a method on a benchmark."""

MARKS = ("method", "benchmark", "constraint", "seed")
"""Columns that say of which run a row is."""
SPACE = "space"
"""The column that names the search space of a benchmark: benchmarks of one space are not independent evidence."""
FACTS = ("evaluation", "seconds", "value", "feasible", "status", "configuration", "test", "cost")
"""Columns of a row: `evaluation` counts from 1 within a run, `seconds` is the time on a run's clock when it finished,
`status` is ok or failed, `test` the value on data that selected nothing."""


@dataclass(frozen=True)
class Asked:
    """What a user says of rows; a reader looks for the rest."""

    sense: Sense | None = None
    """Whether less or more of the value is better."""
    shape: Shape | None = None
    columns: dict[str, str] = field(default_factory=dict)
    """Role (of `MARKS` and `FACTS`) → column of a table; for a tool's files: value → metric, a mark → what it is."""
    budget: int | None = None
    """Evaluations at which longer runs are cut."""
    seconds: float | None = None
    """Seconds at which runs are cut, in place of evaluations."""


@dataclass(frozen=True)
class Rows:
    """Rows of runs, and what is known of their value."""

    frame: pd.DataFrame
    """The columns `MARKS`, `value`, and those of `FACTS` that are known."""
    name: str
    """Name of the value: accuracy."""
    shape: Shape
    sense: Sense | None = None
    """Whether less or more of the value is better, where the file says so."""
    unit: str = ""
    note: str = ""
    """What was taken for what, as clauses."""
    left: tuple[str, ...] = ()
    """The columns that are not read."""
    test_sense: Sense | None = None
    """Whether less or more of `test` is better, where its own name says so; None: as of the value."""

"""The request for a report: the runs to select, and the files to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from nasbench.results.literature import NOTHING, Literature
from nasbench.results.selection import EVERYTHING, Selection

Format: TypeAlias = Literal["html", "md", "csv", "json", "tidy", "latex", "longtable", "svg"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True)
class Request:
    """The options of one report, except its stores."""

    out: Path
    """The folder of its files."""
    baseline: str | None = None
    """The method that is compared with the others; by default the last suite's, or else the first."""
    checkpoints: tuple[int, ...] | None = None
    """Points of comparison in addition to the end of the budget: evaluations, or seconds if the budget is in seconds.
    By default those of the last suite that the runs reach."""
    protocol: str | None = None
    """The protocol of the runs, if the stores mix budgets or numbers of workers."""
    formats: tuple[Format, ...] = ("html", "csv", "json", "svg")
    score: str | None = None
    """Name of the score by which incumbents are compared; by default the last suite's, or else `hidden`, or with
    several objectives `share`."""
    metric: str | None = None
    """Name of a stored metric by which incumbents are compared instead of a score."""
    selection: Selection = EVERYTHING
    """The methods, benchmarks, families and constraints to select."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of methods: name with options → label; by default those of suites."""
    optional: tuple[str, ...] = ()
    """Parts to add, as `name` or `name:word,…`."""
    paper: Path | None = None
    """A folder for the figures, tables and captions of a paper."""
    figure_width: float = 3.3
    """Width of the paper's figures in inches."""
    ioh: Path | None = None
    """A folder for the runs in the format of IOHprofiler."""
    optuna: Path | None = None
    """A new file for the runs as Optuna's studies."""
    partial: bool = False
    """Whether to include runs under way, and to cut all runs at the end of the shortest of them."""
    wilcoxon: bool = False
    """Whether a terminal shows the Wilcoxon signed-rank tables, which are always on the page and in files."""
    full: bool = False
    """Whether a terminal shows every part, as the page does."""
    literature: Literature = NOTHING
    """Claims and numbers of papers about the methods."""
    command: str = "nasbench.report(…)"
    """The command that makes the report."""

"""What a report is to be about, and which files it is to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from nasbench.results.parts.literature import NOTHING, Literature
from nasbench.results.selection import EVERYTHING, Selection

Format: TypeAlias = Literal["html", "md", "csv", "tidy", "latex", "longtable", "png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True)
class Request:
    """The wishes for one report; its stores are named beside it."""

    out: Path
    """The folder of its files."""
    baseline: str | None = None
    """The method held against the others; by default the last suite's, or else `random`, or the first."""
    checkpoints: tuple[int, ...] | None = None
    """Points of comparison before the end of the budget, which is always one: evaluation counts, or seconds where the
    budget is in seconds; by default those the last suite names that the runs reach."""
    protocol: str | None = None
    """Which runs, where the stores mix budgets or numbers of workers."""
    formats: tuple[Format, ...] = ("html", "csv", "latex", "svg")
    score: str | None = None
    """Name of the score that incumbents are compared by; by default the last suite's, or else `unseen`."""
    selection: Selection = EVERYTHING
    """Which methods, benchmarks, families and constraints."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What to call methods: name with options → label; by default what suites say."""
    optional: tuple[str, ...] = ()
    """Parts to add: `importance`, `pareto:METRIC,METRIC`, `thinking`."""
    paper: Path | None = None
    """A folder for what a paper needs: figures, tables, captions."""
    figure_width: float = 3.3
    """Width of its figures in inches."""
    ioh: Path | None = None
    """A folder for the runs in the format of IOHprofiler."""
    optuna: Path | None = None
    """A new file for the runs as Optuna's studies."""
    partial: bool = False
    """Whether to take runs that are under way too, and compare all where the shortest of them is."""
    wilcoxon: bool = False
    """Whether a terminal shows the Wilcoxon signed-rank tables, which are on the page and in files anyway."""
    full: bool = False
    """Whether a terminal shows every sentence, and the tables that are else on the page and in files alone."""
    literature: Literature = NOTHING
    """What papers say of the methods."""

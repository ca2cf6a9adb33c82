"""In sample and out of sample: ranks on spaces where defaults were chosen, on the others, and on sealed ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed, interval, listed
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.verdicts import Verdicts
from nasbench.results.subject import Subject
from nasbench.results.verdict.leading import full_name, tuned_on

_NOTE = (
    "A method's defaults (also rules and numbers of its code) can be chosen on results of search spaces; its verdicts "
    "there are in sample, and flatter it. tuned: on how many of the spaces of this report they were. in sample: "
    "expected rank over the spaces on which defaults of any method here were chosen; out of sample: over those on "
    "which none were; sealed: over those of these that are kept from such choices (suites/sealed/spaces.toml). CI: "
    "95 % confidence interval for these benchmarks. These are estimates of parts, without verdicts: spaces and "
    "constraints differ between the columns, so a difference between them proves no overfitting."
)


@PARTS.register("in-sample")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if no default was chosen on a space of this report, and no space is sealed."""
    comparison = subject.comparison
    scopes = comparison.by_scope
    if set(scopes) <= {"out of sample"}:
        return None
    title, tables = "In sample and out of sample", [_table(comparison, scopes)]
    return Part("in-sample", title, tables, sentences=_sentences(comparison))


def _table(comparison: Comparison, scopes: dict[str, Verdicts]) -> Table:
    order = [rank.method for rank in comparison.overall.ranks] or list(range(len(comparison.methods)))
    rows, lines = [], []
    for method in order:
        tuned = tuned_on(comparison, method)
        row: dict[str, object] = {"method": comparison.methods[method], "tuned_on": " ".join(tuned)}
        line = {
            "method": full_name(comparison, comparison.overall, method),
            "tuned": f"{len(tuned)} of {len(comparison.spaces)}",
        }
        for name, verdicts in scopes.items():
            rank = verdicts.rank_of(method)
            value = np.nan if rank is None else rank.these.value
            ends = (np.nan, np.nan) if rank is None else rank.these.interval(1.0, len(verdicts.ranks))
            column = name.replace(" ", "_")
            row |= {column: value, f"{column}_low": ends[0], f"{column}_high": ends[1]}
            line |= {name: fixed(value), f"CI {name}": interval(ends)}
        rows.append(row)
        lines.append(line)
    shown = pd.DataFrame(lines)
    title = "Expected rank in sample and out of sample"
    return Table("in-sample", title, _NOTE, pd.DataFrame(rows), shown)


def _sentences(comparison: Comparison) -> list[str]:
    by_spaces: dict[tuple[str, ...], list[str]] = {}
    for method, name in enumerate(comparison.methods):
        by_spaces.setdefault(tuple(tuned_on(comparison, method)), []).append(name)
    return [
        f"Defaults of {listed(names)} were chosen on {listed(list(spaces))}, "
        + (
            f"{len(spaces)} of the {len(comparison.spaces)} search spaces here: verdicts on these are in sample."
            if len(comparison.spaces) > 1
            else "the only search space here: verdicts on it are in sample."
        )
        for spaces, names in by_spaces.items()
        if spaces
    ]

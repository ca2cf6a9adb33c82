"""Guessed specifications of tables, from the header and the values of a file; doubts become comments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count, number, some
from nasbench.benchmarks.tabular import EMBEDDED
from nasbench.benchmarks.tabular._left_out import asked_of_left_out
from nasbench.benchmarks.tabular._lines import Line, doubts_among, plain, quoted, text_of
from nasbench.benchmarks.tabular._metric_lines import better_of, metric_lines, named
from nasbench.benchmarks.tabular._roles import CELL, Roles, objectives_of, roles_of
from nasbench.benchmarks.tabular._texts import WRITTEN
from nasbench.benchmarks.tabular._trainings import combined
from nasbench.benchmarks.tabular.column import FEW, Column, gathered
from nasbench.benchmarks.tabular.digits import codes
from nasbench.benchmarks.tabular.direction import is_score, matches, strange_words, words_of
from nasbench.benchmarks.tabular.exports import Export, export_of
from nasbench.benchmarks.tabular.frames import check_separator, column_names, nested_columns, read_columns, stem_of
from nasbench.benchmarks.tabular.meaning import split_of
from nasbench.benchmarks.tabular.specification import PLACE

_MOST_REASONS = 30  # columns that a refusal names
_MOST_NAMED = 12  # columns of one role that are named
_SUMMARY = r"(?:the )?(?:mean|avg|average|median|std|sd|stdev|sem|min|max|best|worst|total|sum|all|overall)\W*"
"""Words for a row that sums up others."""
_OF_A_PART = re.compile(
    "costs?|infer(?:ence)?|ep|episode|rollout|epoch|step|iter(?:ation)?|batch|sample|image|token|forward"
)
"""Words of times that are hardly those of a whole evaluation."""
_BARE = re.compile(
    r"time|elapsed|wall(?:clock|time)?|clock|since|start|total|cum\w*|relative|search|cpu|gpu|run|trial|process|s|secs?|seconds?|runtime"
)
"""Words of times that, alone, do not say what took them: it may be the search so far."""
_NO_SCORES = {"seconds": "a time", "resource": "a resource (used, or gained?)", "size": "a size"}
_MANY = 10  # rows that hardly ever are in the order of their values by chance
_LISTED_FROM = 2  # a larger ratio of grid size to configurations in the file makes the space listed


@dataclass(frozen=True)
class Guess:
    """A guessed specification."""

    text: str
    """The specification as TOML."""
    roles: dict[str, str]
    """What the columns were taken for: a role, and its columns in words."""
    doubts: tuple[str, ...]
    """The comments that are doubts, each behind the column that it is about."""


def guess(data: Path) -> Guess:
    """Guesses the specification of a CSV (also compressed) or Parquet file from its header and its values.

    Raises UsageError if the file cannot be read, or no column can be an objective or a hyper-parameter.
    """
    names, nested = column_names(data), nested_columns(data)
    header = [name for name in names if name not in nested]
    if nested and len(header) < 2:
        raise UsageError(
            f"{data} has {count(len(header), 'column')} of numbers or texts, and lists or structs in {some(nested)}: "
            "make columns of their parts"
        )
    check_separator(data, header)
    if all(map(_is_number, header)):
        raise UsageError(f"the first line of {data} holds numbers ({header[0]}, …): it must name the columns")
    frame = read_columns(data, dict.fromkeys(header, "to guess what it is"), set(), header)
    export = export_of(header)
    frame = frame.assign(**codes(frame, data, header))
    columns = gathered(frame, export)
    _check_long(data, columns)
    roles = roles_of(columns, export)
    roles.left_out += [(name, "holds lists or structs") for name in nested]
    roles.doubts |= dict.fromkeys(nested, "are hyper-parameters among their parts? make columns of them")
    _check_roles(data, roles, export)
    if roles.cell:
        _leave_beside_cells(roles)
    objective, *rivals = objectives_of(roles.metrics, export)
    if not export.objective:
        rivals += [c for c in roles.choices if c.name == header[-1] and _may_be_result(c)]
        rivals += _behind(objective, roles.metrics)
    metrics = metric_lines(roles, objective, rivals, frame)
    choices = list(_cell() if roles.cell else map(_choice, roles.choices))
    top = list(_top(data, roles, objective, metrics))
    lines = [
        f"# What the columns of {plain(data.name)} are, guessed from its header and its values. A comment that begins",
        '# with "?" is a doubt. Read it, and correct what is wrong: docs/tables.md lists all keys.',
        *([f"# By its header, {export.tool} wrote it."] if export.tool else []),
        *map(text_of, top),
    ]
    if roles.cell:
        lines += ["", "[extract]", f"{quoted(roles.cell.name)} = '{CELL}'"]
    for section, entries in (("hyperparameter", choices), ("metric", metrics.values())):
        for entry in entries:
            lines += ["", f"[[{section}]]", *map(text_of, entry)]
    left_out = _left_out(roles, columns, objective, export)
    lines += ["", "# Left out:", *map(text_of, left_out)] if left_out else []
    about = [("", top), *((_name(str(entry[0][1])), entry) for entry in choices), *metrics.items(), ("", left_out)]
    doubts = [doubt for name, entry in about for doubt in doubts_among(name, entry)]
    return Guess("\n".join(lines) + "\n", _in_words(roles, objective, metrics), tuple(doubts))


def _leave_beside_cells(roles: Roles) -> None:
    """Leaves out what varies beside the operations of cells, whose space has these alone."""
    roles.left_out += [(c.name, "the space of cells has six operations alone") for c in roles.choices]
    roles.doubts |= {c.name: "was it chosen, too? Then keep the rows of one value" for c in roles.choices}
    roles.choices = []


def _behind(objective: Column, metrics: list[Column]) -> list[Column]:
    """The metrics without a known name behind an objective whose name says no split: `mean`, after `loss_gap`."""
    at = next(place for place, metric in enumerate(metrics) if metric is objective)
    return [metric for metric in metrics[at + 1 :] if metric.meaning is None and split_of(objective.name) is None]


def _may_be_result(column: Column) -> bool:
    """Whether a hyper-parameter of unknown name has numbers that most rows share with no other, as a result has."""
    return column.is_number and column.meaning is None and not column.has_few


def _left_out(roles: Roles, columns: list[Column], objective: Column, export: Export) -> list[Line]:
    """A comment on each column without a role."""
    asked = asked_of_left_out(columns, dict(roles.left_out), objective, export) | roles.doubts
    asked |= dict.fromkeys(roles.perhaps, "or is it a hyper-parameter?")
    lines: list[Line] = []
    for name, why in roles.left_out:
        mark, doubt = ("?", f"; {asked[name]}") if name in asked else (" ", "")
        lines.append(("", None, f"{mark} {_name(name)}: {why}{doubt}"))
    return lines


def _in_words(roles: Roles, objective: Column, metrics: dict[str, list[Line]]) -> dict[str, str]:
    """What the columns were taken for, each metric with its direction."""
    better: dict[str, list[str]] = {}
    for name, lines in metrics.items():
        better.setdefault(better_of(lines), []).append(name)
    others = [(_names([n for n in names if n != objective.name]), sense) for sense, names in better.items()]
    return {
        "hyper-parameters": "six operations of a cell" if roles.cell else _names([c.name for c in roles.choices]),
        "objective": f"{plain(objective.name)}, {_with_ends(objective, metrics[objective.name])}",
        "other metrics": "; ".join(f"{names}, {sense}" for names, sense in others if names) or "none",
        **{what: plain(c.name) for what, c in (("repetition", roles.repetition), ("epoch", roles.epoch)) if c},
        "cost in seconds": _names([column.name for column in roles.times[:1]]) or "none",
        "left out": _names([name for name, _ in roles.left_out]) or "none",
    }


def _with_ends(objective: Column, lines: list[Line]) -> str:
    """What its lines say is better, with the best and the worst value, by which a wrong direction is seen."""
    better, marks = better_of(lines), [value for key, value, _ in lines if key == "missing_value"]
    numbers = pd.Series(objective.numbers)
    known = numbers[np.isfinite(numbers) & ~numbers.isin(marks)]
    if better.endswith("?") or not len(known):
        return better
    low, high = number(known.min()), number(known.max())
    best, worst = (high, low) if better.startswith("more") else (low, high)
    return f"{better}: {best} is the best value, {worst} the worst"


def _name(column: str) -> str:
    """A column's name for a comment; pandas writes the numbers of its rows under none."""
    return plain(column).strip() or "the column without a name"


def _names(columns: list[str]) -> str:
    """The names of columns; of many, the first. Empty without any."""
    return some([_name(column) for column in columns], most=_MOST_NAMED) if columns else ""


def _check_long(data: Path, columns: list[Column]) -> None:
    """Raises UsageError for a file with a row per metric, whose names stand in a column."""
    for column in columns:
        if re.fullmatch(r"\W*(metric|measure|score)s?(_?name)?", column.name, re.IGNORECASE) and not column.is_number:
            named = [name for name in map(str, column.values.dropna().unique()) if is_score(name)]
            if named and column.distinct > 1:
                raise UsageError(
                    f"{data} has a row for each metric, named in column {plain(column.name)} ({plain(named[0])}, …): "
                    "write a column for each metric"
                )


def _check_roles(data: Path, roles: Roles, export: Export) -> None:
    """Raises UsageError where no column can be the objective, or a tool's own cannot, or none a hyper-parameter."""
    lost = [(name, why) for name, why in roles.left_out if export.objective and re.fullmatch(export.objective, name)]
    if lost and not any(re.fullmatch(export.objective, metric.name) for metric in roles.metrics):
        raise UsageError(f"{lost[0][0]} of {data}, the objective of {export.tool}, is {lost[0][1]}")
    if not roles.metrics:
        raise UsageError(f"no column of {data} can be the objective, which needs different numbers: {_reasons(roles)}")
    if not roles.choices and not roles.cell:
        raise UsageError(f"no column of {data} can be a hyper-parameter: {_reasons(roles)}")


def _reasons(roles: Roles) -> str:
    """What each column was taken for, in one line; of many columns the first."""
    texts = [f"{plain(name)} ({why})" for name, why in roles.reasons()]
    more = f", and {len(texts) - _MOST_REASONS:,} more" if len(texts) > _MOST_REASONS else ""
    return ", ".join(texts[:_MOST_REASONS]) + more


def _top(data: Path, roles: Roles, objective: Column, metrics: dict[str, list[Line]]) -> Iterator[Line]:
    """The lines above the sections; `metrics` has the lines of each metric by its column."""
    yield "name", _slug(stem_of(data)), "what --bench calls it"
    if times := roles.times:
        strange = strange_words(times[0].name) or _strange_in_times(times[0], roles)
        others = f"; or is it {named(times[1:])}?" if times[1:] else f"; or something else ({strange})?" * bool(strange)
        line = f"{'? ' if others else ''}the seconds that an evaluation takes{others}"
        yield "cost", metrics[times[0].name][0][1], line
    else:
        yield "cost", 1.0, "? the seconds that an evaluation takes: no column says it"
    if _is_best_so_far(objective):
        yield "", None, f"? {plain(objective.name)} never gets worse from row to row: is it the best so far?"
    if objective.meaning in _NO_SCORES:
        what = _NO_SCORES[objective.meaning]
        yield "", None, f"? no column looks like a score, so the objective is {what}: {_reasons(roles)}"
    unknown = [c for c in roles.choices if c.meaning != "choice" and not c.doubt]
    if unknown:
        said = f"taken for {'hyper-parameters' if unknown[1:] else 'a hyper-parameter'}, though no known word says so"
        yield "", None, f"? {said}: {', '.join(plain(c.name) for c in unknown[:_MOST_REASONS])}"
    if roles.repetition:
        said, odd = "numbers the repetitions of a configuration", _not_counted(roles.repetition)
        if odd:
            said = f"? {said}; but {plain(odd)}: is that a row of means, which is no training?"
        elif words := _words(roles.repetition):
            said = f"? {said}, by its name; but {plain(words)}: or is it a hyper-parameter?"
        yield "repetition", roles.repetition.name, said
    if roles.epoch:
        yield "epoch", roles.epoch.name, "? counts the epochs of a training; or is it a hyper-parameter?"
    if roles.first_epoch == 0:
        yield "first_epoch", 0, "? epochs are counted from 0 here, and from 1 by nasbench; or is 0 before the training?"
    if roles.cell:
        yield "space", "nasbench201", "cells of six operations"
        return
    there = combined(roles.choices).nunique()
    span = math.prod(column.distinct for column in roles.choices)
    is_listed = span > _LISTED_FROM * there or any(_kind(c) in ("float", "integer") for c in roles.choices)
    if is_listed:
        yield "space", "listed", f"the rows are the space: {there:,} configurations"
    if objective.missing or (there < span and not is_listed):
        yield (
            "missing",
            "invalid",
            '? a configuration without a value counts as failed; or "infeasible": as one that cannot be evaluated',
        )
    numbered = [column for column in (roles.repetition, roles.epoch) if column]
    twice = int(combined([*roles.choices, *numbered]).duplicated().sum())
    if twice:
        lack = roles.repetition.name if roles.repetition else "no column that numbers repetitions"
        yield "", None, f"? {twice:,} rows repeat a configuration (with {lack}): was a hyper-parameter left out?"


def _is_best_so_far(column: Column) -> bool:
    """Whether a column has the name and the course of the best value so far: it never gets worse, and often stays."""
    steps = np.diff(column.numbers)
    is_steady = len(steps) >= _MANY and ((steps <= 0).all() or (steps >= 0).all()) and (steps == 0).any()
    return bool(is_steady and re.search("best|so_?far|incumbent|running", column.name, re.IGNORECASE))


def _strange_in_times(column: Column, roles: Roles) -> str:
    """Why a time may not be that of an evaluation; empty if nothing says so."""
    if column.has_few:
        return f"a hyper-parameter of {column.distinct} values"
    is_bare = all(map(_BARE.fullmatch, (part for _, *parts in words_of(column.name) for part in parts)))
    is_explained = roles.repetition or roles.epoch or any(column.rises for column in roles.choices)
    if is_bare and column.rises and not is_explained:
        return "it rises from row to row, as if counted from the beginning of the search"
    return column.name if matches(column.name.replace(PLACE, ""), _OF_A_PART) else ""


def _not_counted(column: Column) -> str:
    """The texts among the numbers of repetitions, or those that are words for a summary; empty if there are none."""
    texts = sorted({value for value in map(str, column.values.dropna()) if not _is_number(value)})
    summaries = [text for text in texts if re.fullmatch(_SUMMARY, text.strip(), re.IGNORECASE)]
    return ", ".join(texts[:3] if len(texts) < column.distinct else summaries[:3])


def _words(column: Column) -> str:
    """The first values of a column of which some have no number, as each of `fold1`, `fold2` has; else empty."""
    texts = sorted({str(value) for value in column.values.dropna()})
    return ", ".join(texts[:3]) if not all(re.search(r"\d", text) for text in texts) else ""


def _choice(column: Column) -> list[Line]:
    """The lines of a hyper-parameter."""
    values = sorted(column.values.unique().tolist())
    lines: list[Line] = [("name", column.name, ""), ("kind", _kind(column), _seen(column, values))]
    if column.is_number and _is_logarithmic(values):
        lines.append(("log", True, "ratios matter"))
    return lines


def _seen(column: Column, values: list[Any]) -> str:
    """The comment on a hyper-parameter: its values, and what is doubtful about them."""
    seen = ", ".join(map(str, values)) if len(values) <= 6 else f"{values[0]} to {values[-1]}"
    remark = f"{len(values)} values: {plain(seen)}"
    texts = [] if column.is_number else [value for value in map(str, values) if not _is_number(value)]
    if texts and len(texts) < len(values) / 2:
        return f"? numbers, but for {plain(', '.join(texts))}: an empty field says that a measurement is missing"
    if texts and all(map(WRITTEN.fullmatch, map(str, values))):
        return f"? {remark}; numbers written as text? [extract], or a file with plain numbers, gives them their order"
    doubt = column.doubt or _alike(texts) or _of_splits(texts)
    if not doubt and not column.is_number and 1 < len(values) == len(column.values):
        doubt = "a text of its own in every row: does it name the rows?"
    if not doubt and len(values) > FEW and not column.is_number:
        doubt = "[extract] makes columns of a text's parts"
    is_many = not column.has_few if column.is_number else len(values) > FEW
    if not doubt and is_many and column.meaning is None:
        doubt = "or is it a measurement?"
    if not doubt and column.meaning is None and column.is_counted:
        doubt = "or does it number repetitions?"
    return f"? {remark}; {doubt}" if doubt else remark


def _alike(texts: list[str]) -> str:
    """A question about two texts that differ in letters' case or spaces alone; empty if there are none."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault("".join(text.split()).casefold(), []).append(text)
    two = next((group for group in groups.values() if len(group) > 1), None)
    return f"are {two[0]!r} and {two[1]!r} one?" if two else ""


def _of_splits(texts: list[str]) -> str:
    """A question about texts that are names of splits of the data; empty if they are not."""
    if len(texts) > 1 and all(map(split_of, texts)):
        return "splits of the data? Then keep the rows of one: the others are scores of the same trainings"
    return ""


def _cell() -> Iterator[list[Line]]:
    for place in range(6):
        yield [("name", f"Op{place}", ""), ("kind", "categorical", "")]


def _kind(column: Column) -> str:
    if not column.is_number:
        return "categorical"
    if column.distinct <= FEW:
        return "ordinal"
    return "integer" if (column.numbers == np.floor(column.numbers)).all() else "float"


def _is_logarithmic(values: list[Any]) -> bool:
    """Whether the median of ascending, positive numbers is nearer to the geometric than to the arithmetic middle."""
    low, high, median = values[0], values[-1], float(np.median(values))
    if low <= 0 or high < 4 * low or len(values) < 3:
        return False
    middles = np.array([np.sqrt(float(low)) * np.sqrt(float(high)), (low + high) / 2])
    return bool(np.abs(np.log(median / middles)).argmin() == 0)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _slug(stem: str) -> str:
    """The name of a table: that of its file, in allowed characters."""
    name = re.sub(r"[^a-z0-9+_-]+", "-", stem.lower()).strip("-")[:50] or "table"
    taken = name in EMBEDDED
    return f"my-{name}" if taken or not name[0].isalpha() else name

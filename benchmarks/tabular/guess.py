"""Guessed specifications of tables, from the header and the values of a file; doubts become comments."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular import EMBEDDED
from nasbench.benchmarks.tabular._roles import CELL, WRITTEN, Roles, mixed_outcomes, objectives_of, roles_of
from nasbench.benchmarks.tabular.column import FEW, Column, gathered
from nasbench.benchmarks.tabular.direction import (
    doubt_of_values,
    falls,
    is_reversed,
    is_score,
    looks_like_accuracy,
    matches,
    scale_of,
    strange_words,
)
from nasbench.benchmarks.tabular.exports import export_of
from nasbench.benchmarks.tabular.frames import check_separator, column_names, nested_columns, read_columns, stem_of
from nasbench.benchmarks.tabular.meaning import other_unit, split_of
from nasbench.benchmarks.tabular.specification import PLACE
from nasbench.benchmarks.tabular.table import Array

_Line: TypeAlias = tuple[str, object, str]
"""A key, its value, and a comment. A comment that begins with `?` is a doubt; a key that begins with `#` a proposal."""

_WIDTH = 40  # characters before a comment
_MOST_REASONS = 30  # columns that a refusal names
_SUMMARY = r"(?:the )?(?:mean|avg|average|median|std|sd|stdev|sem|min|max|best|worst|total|sum|all|overall)\W*"
"""Words for a row that sums up others."""
_LISTED_FROM = 2  # a larger ratio of grid size to configurations in the file makes the space listed


@dataclass(frozen=True)
class Guess:
    """A guessed specification."""

    text: str
    """The specification as TOML."""
    hyperparameters: int
    """Number of hyper-parameters."""
    metrics: int
    """Number of metrics."""
    objective: str
    """The column of the objective."""
    doubts: int
    """Number of comments that are doubts."""


def guess(data: Path) -> Guess:
    """Guesses the specification of a CSV (also compressed) or Parquet file from its header and its values.

    Raises UsageError if the file cannot be read, or no column can be an objective or a hyper-parameter.
    """
    names, nested = column_names(data), nested_columns(data)
    header = [name for name in names if name not in nested]
    check_separator(data, header)
    if all(map(_is_number, header)):
        raise UsageError(f"the first line of {data} holds numbers ({header[0]}, …): it must name the columns")
    frame = read_columns(data, dict.fromkeys(header, "to guess what it is"), set(), header)
    export = export_of(header)
    columns = gathered(frame, export)
    _check_long(data, columns)
    roles = roles_of(columns, export)
    roles.left_out += [(name, "holds neither numbers nor texts") for name in nested]
    if not roles.metrics:
        raise UsageError(f"no column of {data} can be the objective, which needs different numbers: {_reasons(roles)}")
    if not roles.choices and not roles.cell:
        raise UsageError(f"no column of {data} can be a hyper-parameter: {_reasons(roles)}")
    objective, *rivals = objectives_of(roles.metrics, export)
    metrics = _metrics(roles, objective, rivals, frame)
    choices = list(_cell() if roles.cell else map(_choice, roles.choices))
    lines = [
        f"# What the columns of {_plain(data.name)} are, guessed from its header and its values. A comment that begins",
        '# with "?" is a doubt. Read it, and correct what is wrong: docs/tables.md lists all keys.',
        *([f"# By its header, {export.tool} wrote it."] if export.tool else []),
        *map(_text, _top(data, frame, roles, objective, metrics)),
    ]
    if roles.cell:
        lines += ["", "[extract]", f"{_quoted(roles.cell.name)} = '{CELL}'"]
    for section, entries in (("hyperparameter", choices), ("metric", metrics.values())):
        for entry in entries:
            lines += ["", f"[[{section}]]", *map(_text, entry)]
    lines += ["", "# Left out:"] if roles.left_out else []
    asked = roles.doubts | mixed_outcomes(columns, objective)
    asked |= dict.fromkeys(roles.perhaps, "or is it a hyper-parameter?")
    for name, why in roles.left_out:
        mark, doubt = ("?", f"; {asked[name]}") if name in asked else (" ", "")
        lines.append(f"# {mark} {_plain(name).strip() or 'the column without a name'}: {why}{doubt}")
    doubts = sum(" # ? " in line or line.startswith("# ? ") for line in lines)
    return Guess("\n".join(lines) + "\n", len(choices), len(metrics), _plain(objective.name), doubts)


def _check_long(data: Path, columns: list[Column]) -> None:
    """Raises UsageError for a file with a row per metric, whose names stand in a column."""
    for column in columns:
        if re.fullmatch(r"\W*(metric|measure|score)s?(_?name)?", column.name, re.IGNORECASE) and not column.is_number:
            named = [name for name in map(str, column.values.dropna().unique()) if is_score(name)]
            if named and column.distinct > 1:
                raise UsageError(
                    f"{data} has a row for each metric, named in column {_plain(column.name)} ({_plain(named[0])}, …): "
                    "write a column for each metric"
                )


def _reasons(roles: Roles) -> str:
    """What each column was taken for, in one line; of many columns the first."""
    texts = [f"{_plain(name)} ({why})" for name, why in roles.reasons()]
    more = f", and {len(texts) - _MOST_REASONS:,} more" if len(texts) > _MOST_REASONS else ""
    return ", ".join(texts[:_MOST_REASONS]) + more


def _top(
    data: Path, frame: pd.DataFrame, roles: Roles, objective: Column, metrics: dict[str, list[_Line]]
) -> Iterator[_Line]:
    """The lines above the sections; `metrics` has the lines of each metric by its column."""
    yield "name", _slug(stem_of(data)), "what --bench calls it"
    times = [column for column in roles.metrics if column.meaning == "seconds"]
    if times:
        is_few, strange = times[0].has_few, strange_words(times[0].name)
        if not strange and (is_few or matches(times[0].name, re.compile("costs?"))):
            strange = f"{times[0].distinct} values" if is_few else times[0].name
        others = (
            f"; or is it {_listed(times[1:])}?" if times[1:] else f"; or something else ({strange})?" * bool(strange)
        )
        line = f"{'? ' if others else ''}the seconds that an evaluation takes{others}"
        yield "cost", metrics[times[0].name][0][1], line
    else:
        yield "cost", 1.0, "? the seconds that an evaluation takes: no column says it"
    if objective.meaning == "seconds":
        yield "", None, f"? no column looks like a score, so the objective is a time: {_reasons(roles)}"
    unknown = [c for c in roles.choices if c.meaning != "choice" and not c.doubt]
    if unknown:
        said = f"taken for {'hyper-parameters' if unknown[1:] else 'a hyper-parameter'}, though no known word says so"
        yield "", None, f"? {said}: {', '.join(_plain(c.name) for c in unknown[:_MOST_REASONS])}"
    if roles.repetition:
        said, odd = "numbers the repetitions of a configuration", _not_counted(roles.repetition)
        said = f"? {said}; but {_plain(odd)}: is that a row of means, which is no training?" if odd else said
        yield "repetition", roles.repetition.name, said
    if roles.epoch:
        yield "epoch", roles.epoch.name, "? counts the epochs of a training; or is it a hyper-parameter?"
    if roles.first_epoch == 0:
        yield "first_epoch", 0, "? epochs are counted from 0 here, and from 1 by nasbench; or is 0 before the training?"
    if roles.cell:
        yield "space", "nasbench201", "cells of six operations"
        return
    rows = frame[[column.name for column in roles.choices]]
    there, span = len(rows.drop_duplicates()), math.prod(column.distinct for column in roles.choices)
    is_listed = span > _LISTED_FROM * there or any(_kind(c) in ("float", "integer") for c in roles.choices)
    if is_listed:
        yield "space", "listed", f"the rows are the space: {there:,} configurations"
    if objective.missing or (there < span and not is_listed):
        yield (
            "missing",
            "invalid",
            '? a configuration without a value counts as failed; or "infeasible": as one that cannot be evaluated',
        )
    numbered = [column.name for column in (roles.repetition, roles.epoch) if column]
    twice = int(frame[[*rows.columns, *numbered]].duplicated().sum())
    if twice:
        lack = roles.repetition.name if roles.repetition else "no column that numbers repetitions"
        yield "", None, f"? {twice:,} rows repeat a configuration (with {lack}): was a hyper-parameter left out?"


def _not_counted(column: Column) -> str:
    """The texts among the numbers of repetitions, or those that are words for a summary; empty if there are none."""
    texts = sorted({value for value in map(str, column.values.dropna()) if not _is_number(value)})
    summaries = [text for text in texts if re.fullmatch(_SUMMARY, text.strip(), re.IGNORECASE)]
    return ", ".join(texts[:3] if len(texts) < column.distinct else summaries[:3])


def _listed(columns: list[Column]) -> str:
    return " or ".join(_plain(column.name) for column in columns[:3])


def _choice(column: Column) -> list[_Line]:
    """The lines of a hyper-parameter."""
    values = sorted(column.values.unique().tolist())
    lines: list[_Line] = [("name", column.name, ""), ("kind", _kind(column), _seen(column, values))]
    if column.is_number and _is_logarithmic(values):
        lines.append(("log", True, "ratios matter"))
    return lines


def _seen(column: Column, values: list[Any]) -> str:
    """The comment on a hyper-parameter: its values, and what is doubtful about them."""
    seen = ", ".join(map(str, values)) if len(values) <= 6 else f"{values[0]} to {values[-1]}"
    remark = f"{len(values)} values: {_plain(seen)}"
    texts = [] if column.is_number else [value for value in map(str, values) if not _is_number(value)]
    if texts and len(texts) < len(values) / 2:
        return f"? numbers, but for {_plain(', '.join(texts))}: an empty field says that a measurement is missing"
    if texts and all(map(WRITTEN.fullmatch, map(str, values))):
        return f"? {remark}; numbers written as text? [extract], or a file with plain numbers, gives them their order"
    doubt = column.doubt
    if not doubt and not column.is_number and 1 < len(values) == len(column.values):
        doubt = "a text of its own in every row: does it name the rows?"
    if not doubt and len(values) > FEW and not column.is_number:
        doubt = "[extract] makes columns of a text's parts"
    is_many = not column.has_few if column.is_number else len(values) > FEW
    if not doubt and is_many and column.meaning is None:
        doubt = "or is it a measurement?"
    if not doubt and column.meaning is None and len(values) > 2 and _are_counted(values):
        doubt = "or does it number repetitions?"
    return f"? {remark}; {doubt}" if doubt else remark


def _are_counted(values: list[Any]) -> bool:
    """Whether ascending values are the whole numbers from 0 or from 1 on."""
    return values in (list(range(len(values))), list(range(1, len(values) + 1)))


def _cell() -> Iterator[list[_Line]]:
    for number in range(6):
        yield [("name", f"Op{number}", ""), ("kind", "categorical", "")]


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


def _metrics(roles: Roles, objective: Column, rivals: list[Column], frame: pd.DataFrame) -> dict[str, list[_Line]]:
    """The lines of each metric by its column, the objective first; `rivals` might be it as well."""
    first_line = "the first metric is the objective"
    if rivals:
        first_line = f"? {first_line}: or should {_listed(rivals)} be it?"
    is_last = np.full(len(frame), True)
    if roles.epoch:
        is_last = roles.epoch.numbers == roles.epoch.numbers.max()
    sizes = [column.numbers[is_last] for column in roles.metrics if column.meaning == "size"]
    has_test = any(split_of(column.name) == "test" for column in roles.metrics if column is not objective)
    entries: dict[str, list[_Line]] = {}
    names: set[str] = set()
    for column in sorted(roles.metrics, key=lambda column: column is not objective):
        is_score = column.meaning == "score" or column is objective
        split, doubt = _split(column, column is objective, has_test) if is_score else (_test_split(column), "")
        first = None if column.first is None else column.first.to_numpy(np.float64)
        values = column.numbers[is_last]
        if roles.epoch:
            first = column.numbers[roles.epoch.numbers == roles.epoch.numbers.min()]
        why = looks_like_accuracy(column.name, values, first, sizes) if is_score else ""
        direction = _direction(column, why, values, column is objective)
        epoch = _epoch(roles, column) if split else 0
        name = _name(column, split, any(key == "complement_of" for key, *_ in direction), epoch)
        while name in names:
            name = name.replace("@", "-also@") if "@" in name else f"{name}-also"
        names.add(name)
        lines: list[_Line] = [("name", name, first_line if column is objective else "")]
        lines += [("column", column.name, "")] if column.name != name else []
        lines += [*direction, ("split", split, doubt)] if split else direction
        lines += [("epoch", epoch, "")] if epoch else []
        if roles.epoch and (is_score or pd.Series(first).mean() < pd.Series(values).mean()):
            lines.append(("curve", True, "its value at every epoch counts"))
        elif roles.epoch and column.meaning == "seconds":
            lines.append(("", None, "? it does not rise with the epochs: are these the seconds of one epoch?"))
        lines += [("", None, f"? {column.doubt}")] if column.doubt else []
        entries[column.name] = [*lines, *_remarks(column)]
    return entries


def _split(column: Column, is_objective: bool, has_test: bool) -> tuple[str, str]:
    """The split of a score, and a comment."""
    split = split_of(column.name)
    if is_objective and split == "test":
        return "only", "a table without validation scores: it is selected and reported on the same data"
    if split is None and is_objective:
        return (
            ("valid", "? of the validation data, for there is a test score")
            if has_test
            else (
                "only",
                '? measured on which split? "valid" if a test score stands beside it; "only" both selects and scores',
            )
        )
    return split or "valid", "" if split else "? measured on which split?"


def _test_split(column: Column) -> str | None:
    """The split of a measurement that is no score: a time of the test is told to no method, as a score is not."""
    return "test" if split_of(column.name) == "test" else None


def _epoch(roles: Roles, column: Column) -> int:
    """The last epoch at which a score is known, counted from 1; 0 if there are none."""
    if roles.epoch:
        return int(roles.epoch.numbers.max()) + 1 - roles.first_epoch
    return column.epoch + (1 - roles.first_epoch if column.epochs else 0)


def _direction(column: Column, why: str, values: Array, is_objective: bool) -> list[_Line]:
    """The line that states the direction of a score; `why` is the reason for maximising, empty if there is none."""
    scale, contradiction = scale_of(values), doubt_of_values(column.name, values)
    strange = strange_words(column.name)

    def said(remark: str) -> str:
        return f"? {remark}; or does {strange} change that?" if strange else remark

    if contradiction:
        return [("direction", "?", f"? {contradiction}: minimise or maximise; import waits for it")]
    if why and column.sense == "maximise" and scale and not is_reversed(column.name):
        return [("complement_of", scale, said(f"more is better, by its name: {scale} - value is minimised"))]
    if column.sense == "maximise" and falls(column.name):
        return [("direction", "maximise", "? more is better for the tool that wrote it, and less by its name")]
    if column.sense == "maximise":
        remark = "more is better, by its name" + ("; its negative is minimised" if is_objective else "")
        return [("direction", "maximise", said(remark))]
    if column.sense == "minimise":
        remark = "less is better, by its name"
        if is_reversed(column.name):
            return [("direction", "minimise", said(remark))]
        return [("", None, said(remark))] if strange else []
    if is_objective:
        of_scale = f", or complement_of = {scale}" if scale else ""
        doubt = f"{why}: maximise{of_scale}" if why else "its name does not say: minimise or maximise"
        return [("direction", "?", f"? {doubt}; import waits for it")]
    is_open = column.meaning in (None, "score", "seconds", "resource")
    return [("# direction", "maximise", "? if more is better, which its name does not say")] if is_open else []


def _name(column: Column, split: str | None, is_error: bool, epoch: int) -> str:
    """The name of a metric in allowed characters: `split-quantity@epoch` for a score, otherwise that of the column."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", column.name.replace(PLACE, "")) if word]
    words = [word for word in words if not (epoch and re.fullmatch(r"\d*ep(ochs?)?", word))]
    if split:
        words = [word for word in words if not split_of(word)] or ["score"]
    if is_error:
        words = [word for word in words if not re.fullmatch("acc|accuracy", word, re.IGNORECASE)] + ["error"]
    separator = "-" if split else "_"
    name = separator.join([*([split] if split else []), *words]) or "metric"
    return (name if name[0].isalpha() else f"m{separator}{name}") + (f"@{epoch}" if epoch else "")


def _remarks(column: Column) -> Iterator[_Line]:
    """The last lines of a metric: unit, cheap and missing values."""
    if column.meaning == "seconds":
        odd = other_unit(column.name)
        yield "unit", "s", f"? not in {odd}? A cost is in seconds" if odd else ""
    if column.meaning == "size":
        yield "# cheap", True, "? if it is known before training"
    negative = set(column.numbers[column.numbers < 0])
    if len(negative) == 1 and float(min(negative)).is_integer() and not is_reversed(column.name):
        mark = int(min(negative))  # where nothing else is negative, it is a mark: -1, -999
        yield "missing_value", mark, f"? {mark} stands for none"


def _text(line: _Line) -> str:
    key, value, comment = line
    if not key:
        return f"# {comment}"
    written = f"{key} = {_quoted(value) if isinstance(value, str) else json.dumps(value)}"
    return f"{written.ljust(_WIDTH)} # {comment}" if comment else written


def _quoted(text: str) -> str:
    """A text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    """A text for a comment: printable, at most 80 characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:80]


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

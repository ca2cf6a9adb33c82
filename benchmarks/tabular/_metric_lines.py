"""The metrics of a guessed specification."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from nasbench.benchmarks.tabular._lines import Line, plain
from nasbench.benchmarks.tabular._roles import Roles
from nasbench.benchmarks.tabular.column import Column, says_epochs
from nasbench.benchmarks.tabular.direction import (
    doubt_of_values,
    falls,
    is_reversed,
    looks_like_accuracy,
    says_top_alone,
    scale_of,
    strange_words,
)
from nasbench.benchmarks.tabular.failures import mark_of_failure
from nasbench.benchmarks.tabular.meaning import may_be_other_than_seconds, other_unit, split_of
from nasbench.benchmarks.tabular.specification import PLACE
from nasbench.benchmarks.tabular.table import Array


def metric_lines(roles: Roles, objective: Column, rivals: list[Column], frame: pd.DataFrame) -> dict[str, list[Line]]:
    """The lines of each metric by its column, the objective first; `rivals` might be it as well."""
    first_line = "the first metric is the objective"
    if rivals:
        first_line = f"? {first_line}: or should {named(rivals)} be it?"
    is_last = np.full(len(frame), True)
    if roles.epoch:
        is_last = roles.epoch.numbers == roles.epoch.numbers.max()
    sizes = [column.numbers[is_last] for column in roles.metrics if column.meaning == "size"]
    has_test = any(split_of(column.name) == "test" for column in roles.metrics if column is not objective)
    entries: dict[str, list[Line]] = {}
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
        lines: list[Line] = [("name", name, first_line if column is objective else "")]
        lines += [("column", column.name, "")] if column.name != name else []
        lines += [*direction, ("split", split, doubt)] if split else direction
        is_said = roles.epoch is not None or column.epochs or says_epochs(column.name)
        asked = "" if is_said else f"? or is {epoch} a cutoff or a horizon, and no epoch?"
        lines += [("epoch", epoch, asked)] if epoch else []
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
    if is_objective and split == "train":
        return split, "? of the training data: or is another column the score?"
    if split is None and is_objective:
        return (
            ("valid", "? of the validation data, for there is a test score")
            if has_test
            else (
                "only",
                '? measured on which split? "valid" if a test score stands beside it; "only" both selects and scores',
            )
        )
    return split or "valid", "" if split else "? measured on which split? Or is it a hyper-parameter?"


def _test_split(column: Column) -> str | None:
    """The split of a measurement that is no score: a time of the test is told to no method, as a score is not."""
    return "test" if split_of(column.name) == "test" else None


def _epoch(roles: Roles, column: Column) -> int:
    """The last epoch at which a score is known, counted from 1; 0 if there are none."""
    if roles.epoch:
        return int(roles.epoch.numbers.max()) + 1 - roles.first_epoch
    return column.epoch + (1 - roles.first_epoch if column.epochs else 0)


def _direction(column: Column, why: str, values: Array, is_objective: bool) -> list[Line]:
    """The line that states the direction of a score; `why` is the reason for maximising, empty if there is none."""
    scale, contradiction = scale_of(values), doubt_of_values(column.name, values)
    strange = strange_words(column.name)

    def said(remark: str) -> str:
        if says_top_alone(column.name):
            return f"? {remark}; or is it an error, as tables of networks have?"
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


def _remarks(column: Column) -> Iterator[Line]:
    """The last lines of a metric: unit, cheap and missing values."""
    if column.meaning == "seconds" and not may_be_other_than_seconds(column.name):
        odd = other_unit(column.name)
        yield "unit", "s", f"? not in {odd}? A cost is in seconds" if odd else ""
    if column.meaning == "size":
        yield "# cheap", True, "? if it is known before training"
    if (mark := mark_of_failure(column.name, column.numbers)) is not None:
        yield (
            "missing_value",
            int(mark) if mark.is_integer() and abs(mark) < 2**53 else mark,
            f"? {mark:g} stands for none",
        )


def named(columns: list[Column]) -> str:
    """The names of the first three columns, of which any may be meant."""
    return " or ".join(plain(column.name) for column in columns[:3])


def better_of(lines: list[Line]) -> str:
    """What the lines of a metric say about its direction."""
    stated = {key: value for key, value, _ in lines}
    if stated.get("direction") == "?":
        return "more or less is better?"
    return f"{'more' if 'complement_of' in stated or stated.get('direction') == 'maximise' else 'less'} is better"

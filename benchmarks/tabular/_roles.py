"""Guessed roles of a file's columns: hyper-parameter, metric, repetition, epoch, or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from nasbench.benchmarks.tabular._texts import mark_of_failure, names_products, text_for_numbers
from nasbench.benchmarks.tabular._trainings import changes, counts_epochs, following, follows
from nasbench.benchmarks.tabular.column import FEW, Column
from nasbench.benchmarks.tabular.direction import is_score, matches
from nasbench.benchmarks.tabular.exports import Export
from nasbench.benchmarks.tabular.meaning import MEASURED, is_label, may_count_epochs, split_of
from nasbench.benchmarks.tabular.table import MOST_REPETITIONS

NEITHER = "holds neither numbers nor texts"
NO_PREFIX = "has no prefix, as the hyper-parameters of this file have"
LACKING = "no value in"
"""Reasons, or their beginnings, why a column has no role."""
CELL = r"\|(?P<Op0>\w+)~0\|\+\|(?P<Op1>\w+)~0\|(?P<Op2>\w+)~1\|\+\|(?P<Op3>\w+)~0\|(?P<Op4>\w+)~1\|(?P<Op5>\w+)~2\|"
"""Pattern of the official string of a NAS-Bench-201 cell."""
_DIGEST = r"(?=.*[a-f])(?=.*\d)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})"
"""A sum of a file, or a commit: of MD5, SHA-1 or SHA-256."""
_FRACTIONS = "a word of its name is that of labels, and its values are fractions: is it a score?"
_AMONG = "it stands among hyper-parameters: or is it one?"
_FOLLOWS = "it follows from the others, which are a whole grid: or is it a measurement?"
_MADE = "names of files, or digests: were they chosen, or did a training make them?"
_OF_A_MODEL = re.compile(r"depth|leaf|leaves|nodes?|n?features?|coef\w*|nonzero|trees|n?estimators|rounds|splits")
"""Words for what a person chooses, or a trained model came to have."""
_MOST_ASKED = 20_000
"""Pairs of columns of which one may follow from the other that are looked at."""
_SUMMED = re.compile("mean|avg|average|total|median|final")
"""Words before them of what only a trained model has."""
_COUNTS_EPOCHS = "or does it count the epochs of a training?"
_NOT_ALIKE = 'not all alike: does it count the epochs (epoch = "{}")? Else these scores are hardly comparable'
_REASONS = {
    "identity": "names a row or a configuration",
    "outcome": "says how a training ended, which nobody chooses",
    "spread": "a spread, which no method is told",
    "rank": "a rank, which follows from a score",
}


@dataclass
class Roles:
    """The role of each column."""

    choices: list[Column] = field(default_factory=list)
    """The hyper-parameters."""
    metrics: list[Column] = field(default_factory=list)
    repetition: Column | None = None
    epoch: Column | None = None
    cell: Column | None = None
    """The column with official strings of NAS-Bench-201's cells."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Names of columns without a role, and the reasons."""
    perhaps: set[str] = field(default_factory=set)
    """Those of `left_out` that may be hyper-parameters: `lora_rank`, `drop_path`, `noise_std`."""
    doubts: dict[str, str] = field(default_factory=dict)
    """What else is doubtful about those of `left_out`: a question by the name of the column."""

    @property
    def times(self) -> list[Column]:
        """The metrics that are times; the first one is the cost."""
        return [column for column in self.metrics if column.meaning == "seconds"]

    @property
    def first_epoch(self) -> int:
        """The number of the first epoch, 0 or 1, as the file counts."""
        epochs = [self.epoch.numbers.min()] if self.epoch else [c.epochs[0] for c in self.metrics if c.epochs]
        return 0 if 0 in epochs else 1

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Each column, and what it was taken for."""
        yield from self.left_out
        yield from ((c.name, f"a measurement{f': {c.meaning}' if c.meaning else ''}") for c in self.metrics)
        yield from ((c.name, "a hyper-parameter") for c in self.choices)
        yield from ((c.name, "numbers the repetitions") for c in [self.repetition] if c)
        yield from ((c.name, "counts the epochs") for c in [self.epoch] if c)


def roles_of(columns: Sequence[Column], export: Export) -> Roles:
    """The role of each column, by its name, its values and its place among other columns."""
    roles = Roles()
    rest = [c for c in map(_with_fractions, columns) if not _has_its_role(roles, c, columns, export)]
    rest = _without_epochs(roles, rest, export)
    if export.is_prefixed:
        rest = _without_others(roles, rest, export)
    places = {column.name: place for place, column in enumerate(columns)}
    _choose(roles, rest, places, export)
    roles.choices, roles.metrics = _asked(roles, export), _asked_among(columns, roles, places, export)
    numbers = [column for column in roles.choices if column.is_number and column.meaning != "choice"]
    if not roles.metrics and numbers:  # the result is usually the last column
        roles.metrics.append(numbers[-1])
        roles.choices.remove(numbers[-1])
    roles.metrics.sort(key=lambda metric: places[metric.name])
    return roles


def _has_its_role(roles: Roles, column: Column, columns: Sequence[Column], export: Export) -> bool:
    """Whether a column's own name and values say its role, which it then gets."""
    if why := _useless(column, export):
        roles.left_out.append((column.name, why))
        if _may_be_chosen(column, columns, export):
            roles.perhaps.add(column.name)
    elif mark := mark_of_failure(column):
        roles.left_out.append((column.name, f"numbers, but for {mark!r}: leave that field empty"))
        roles.doubts[column.name] = "is it the score?"
    elif column.meaning == "repetition":
        _number(roles, column)
    elif not column.is_number and column.values.astype(str).str.fullmatch(CELL).all():
        roles.cell = column
    elif (column.doubt == _FRACTIONS and split_of(column.name)) or (column.meaning in MEASURED and column.is_number):
        roles.metrics.append(replace(column, doubt=column.doubt or _doubt_of_measure(column, columns, export)))
    else:
        return False
    return True


def _doubt_of_measure(column: Column, columns: Sequence[Column], export: Export) -> str:
    """Why a column of measurements may hold what is chosen; empty if nothing says so."""
    if export.knows(column.name):
        return ""
    if column.meaning == "score" and split_of(column.name) and not is_score(column.name):
        return "its name says a split, and no score: or is it a hyper-parameter?"
    if _may_be_chosen(column, columns, export):
        return f"{column.distinct} values, before the score: or is it a hyper-parameter?"
    return ""


def _asked_among(columns: Sequence[Column], roles: Roles, places: dict[str, int], export: Export) -> list[Column]:
    """The metrics, with a doubt about those between two hyper-parameters; of scores the split is asked for already."""
    chosen = [places[column.name] for column in columns if column.meaning == "choice"]
    if not chosen or export.is_prefixed:
        return roles.metrics

    def is_among(metric: Column) -> bool:
        is_asked = metric.doubt or metric.meaning == "score" or export.knows(metric.name)
        return not is_asked and chosen[0] < places[metric.name] < chosen[-1]

    return [replace(metric, doubt=_AMONG) if is_among(metric) else metric for metric in roles.metrics]


def _asked(roles: Roles, export: Export) -> list[Column]:
    """The hyper-parameters, with doubts about those that may count epochs, follow from the others, or name files."""
    choices = roles.choices
    if roles.epoch is None:
        choices = [_asked_for_epochs(column, roles, export) for column in choices]
    follow = following(choices, [c for c in (roles.repetition, roles.epoch) if c], export)
    summed = [c.name for c in choices if matches(c.name, _OF_A_MODEL) and matches(c.name, _SUMMED)]
    doubts = dict.fromkeys(summed, "of a trained model: or is it a measurement?") | dict.fromkeys(follow, _FOLLOWS)
    doubts |= dict.fromkeys((c.name for c in choices if names_products(c)), _MADE)
    return [  # those of unknown names are in doubt already
        replace(c, doubt=c.doubt or doubts[c.name]) if c.name in doubts and c.meaning == "choice" else c
        for c in choices
    ]


def objectives_of(metrics: Sequence[Column], export: Export) -> list[Column]:
    """The objective, and the metrics that could as well be it.

    It is the tool's; else a score on the validation split, at the last epoch; else any score, or the last metric
    without a known name.
    """
    named = [c for c in metrics if export.objective and re.fullmatch(export.objective, c.name)]
    unknown = [c for c in metrics if c.meaning is None] or metrics
    scores = [c for c in metrics if c.meaning == "score"] or unknown[-1:]
    order = ("valid", None, "test", "train")

    def rank(column: Column) -> tuple[int, int]:
        return order.index(split_of(column.name)), -column.epoch

    candidates = sorted(named or scores, key=rank)
    return [column for column in candidates if rank(column) == rank(candidates[0])]


def _useless(column: Column, export: Export) -> str:
    """Why a column is left out in any place; empty if it is not."""
    if column.meaning == "record":
        return f"a note of {export.tool}"
    if column.meaning in _REASONS:
        return _REASONS[column.meaning]
    is_time = pd.api.types.is_datetime64_any_dtype(column.values)  # its values may be none of Python's
    if is_time or not (column.is_number or all(isinstance(value, str | bool) for value in column.values.dropna())):
        return NEITHER
    if column.distinct == 0:
        return "empty"
    if not column.is_number and column.values.dropna().astype(str).str.fullmatch(_DIGEST).all():
        return "holds digests, which nobody chooses"
    return text_for_numbers(column) or ("the same in every row" if column.distinct == 1 and not column.missing else "")


def _with_fractions(column: Column) -> Column:
    """A column whose name is that of labels, in doubt where its values are fractions, as a `c_index` has."""
    if column.meaning != "identity" or not column.is_number or not column.distinct:
        return column
    return replace(column, meaning=None, doubt=_FRACTIONS) if column.has_fractions else column


def _may_be_chosen(column: Column, columns: Sequence[Column], export: Export) -> bool:
    """Whether a column that its name leaves out, or takes for a measurement, may be chosen.

    It holds numbers and stands before the first score, as a replay `memory` does, or all that is chosen stands behind
    that score. A score or a size has few values where it is chosen: EEGNet's `F1`, the `size` of a layer.
    """
    if column.meaning in ("score", "size"):
        if not column.has_few or split_of(column.name):
            return False
    elif column.meaning not in ("identity", "rank", "spread", "resource"):
        return False
    if export.knows(column.name):
        return False
    is_text = not (column.is_number or pd.api.types.is_bool_dtype(column.values))
    if column.distinct < 2 or (is_text and not column.has_few):  # a `model_id` or a `pretrained_path` has few
        return False
    if column.meaning == "identity" and (_names_rows(column) or _names_configurations(column, columns)):
        return False
    if column.meaning in MEASURED and export.is_prefixed:
        return False
    scores = [place for place, other in enumerate(columns) if other.meaning == "score" and other is not column]
    first = next((place for place in scores if not columns[place].has_few or split_of(columns[place].name)), None)
    if first is None:
        return column.meaning not in ("score", "size")
    score_leads = not any(other.meaning == "choice" for other in columns[:first])
    is_of_choices = score_leads and column.meaning in ("rank", "spread", "identity")
    return is_of_choices or any(column is other for other in columns[:first])


def _names_configurations(column: Column, columns: Sequence[Column]) -> bool:
    """Whether a column has the name of labels, and those of few values stand for one configuration each.

    So far as hyper-parameters are known by their names: a `layer_index` is chosen where others vary beside it.
    """
    if not is_label(column.name) or not column.has_few:
        return is_label(column.name)
    chosen = [other for other in columns if other.meaning == "choice"]
    chosen = chosen[: max(10, _MOST_ASKED // len(columns))]
    is_told = bool(chosen) or column.is_number
    return is_told and all(follows(other, column.values.to_numpy()) for other in chosen)


def _number(roles: Roles, column: Column) -> None:
    """Takes a column for the one that numbers repetitions, if it can be."""
    known = roles.repetition
    if known and _names_rows(known) and not _names_rows(column):
        roles.left_out.append((known.name, "names a row: each has its own"))
        roles.repetition = column
    elif not column.is_number and _names_rows(column):
        roles.left_out.append((column.name, "names a row: each has its own"))
    elif column.distinct > MOST_REPETITIONS:
        roles.left_out.append((column.name, f"more than {MOST_REPETITIONS} repetitions"))
    elif known is not None:
        roles.left_out.append((column.name, f"{known.name} numbers the repetitions already"))
    else:
        roles.repetition = column


def _names_rows(column: Column) -> bool:
    """Whether each row has a value of its own."""
    return column.distinct == len(column.values)


def _without_epochs(roles: Roles, columns: list[Column], export: Export) -> list[Column]:
    """The columns without the one that counts epochs, and without those that change within a training."""
    named = [column for column in columns if column.meaning == "epoch"]
    others = [column for column in columns if column.meaning != "epoch"]
    known = [*others, *([roles.repetition] if roles.repetition else [])]
    roles.epoch = next((column for column in named if counts_epochs(column, known)), None)
    if roles.epoch is None and named:
        fixed = [column for column in named if export.is_prefixed or export.knows(column.name)]
        roles.left_out += [(column.name, "says how long each configuration was trained") for column in fixed]
        roles.doubts |= {c.name: _NOT_ALIKE.format(c.name) for c in fixed if c.distinct > 1}
        return [replace(c, doubt=_counted(c)) if c in named else c for c in columns if c not in fixed]
    if roles.epoch is None:
        return columns
    rest, epochs = [], roles.epoch.numbers
    for column in columns:
        if column is roles.epoch:
            continue
        if not changes(column, epochs):
            rest.append(column)
        elif column.is_number and column.meaning is None and not follows(column, epochs):
            roles.metrics.append(replace(column, doubt="no known name; it changes within a training: a measurement?"))
        else:
            roles.left_out.append((column.name, "changes within a training, as no hyper-parameter does"))
            if export.is_choice(column.name):
                roles.doubts[column.name] = "is it a schedule, or was it perturbed?"
    return rest


def _without_others(roles: Roles, columns: list[Column], export: Export) -> list[Column]:
    """The columns with the prefix of hyper-parameters; other numbers without a known name are metrics."""
    chosen = []
    for column in columns:
        if export.is_choice(column.name):
            chosen.append(column)
        elif column.is_number and column.meaning is None:
            roles.metrics.append(
                replace(column, doubt="no known name, and no prefix of a hyper-parameter: what is it?")
            )
        else:
            roles.left_out.append((column.name, NO_PREFIX))
    return chosen


def _choose(roles: Roles, columns: list[Column], places: dict[str, int], export: Export) -> None:
    """Takes the rest for hyper-parameters, or for metrics if their place says so."""
    first = min((places[metric.name] for metric in roles.metrics), default=len(places))
    unfit = {column.name: _unfit(column) for column in columns}
    some_lead = any(places[column.name] < first and not unfit[column.name] for column in columns)
    for column in columns:
        why, is_behind = unfit[column.name], places[column.name] > first and not export.is_choice(column.name)
        is_unknown = is_behind and column.meaning is None
        if is_unknown and some_lead and column.is_number and not column.has_few:
            doubt = "no known name; it stands behind a measurement: or is it a hyper-parameter?"
            roles.metrics.append(replace(column, doubt=doubt))
        elif why:
            roles.left_out.append((column.name, why))
        elif (is_unknown and (some_lead or column.is_number)) or (is_behind and _may_be_measured(column, some_lead)):
            roles.choices.append(replace(column, doubt="it stands behind a measurement: or is it one?"))
        else:
            roles.choices.append(column)
    measured = {_family(metric.name) for metric in roles.metrics}
    families = {_family(column.name) for column in roles.choices} - measured - {""}
    for column in columns:
        if unfit[column.name] and (column.meaning == "choice" or _family(column.name) in families):
            roles.doubts[column.name] = "without it, configurations may look alike"


def _family(name: str) -> str:
    """What stands before the last part of a name: `misc.vals` of `misc.vals.lr`; empty if it has one part."""
    return name[: max(0, *map(name.rfind, "./:"))]


def _asked_for_epochs(column: Column, roles: Roles, export: Export) -> Column:
    """A hyper-parameter, in doubt if configurations that differ in nothing else have several of its steps."""
    if column.doubt or export.is_choice(column.name) or not may_count_epochs(column.name):
        return column
    others = [other for other in (*roles.choices, roles.repetition) if other and other is not column]
    return replace(column, doubt=_counted(column)) if counts_epochs(column, others) else column


def _counted(column: Column) -> str:
    """What a column that has the name of epochs may count."""
    return "or does it number the trainings, or count the epochs of one?" if _names_rows(column) else _COUNTS_EPOCHS


def _may_be_measured(column: Column, some_lead: bool) -> bool:
    """Whether numbers behind a score are many, or such as a trained model has: its depth, its leaves."""
    return column.is_number and (column.distinct > FEW or (some_lead and matches(column.name, _OF_A_MODEL)))


def _unfit(column: Column) -> str:
    """Why a column cannot be a hyper-parameter; empty if it can."""
    if column.missing:
        rows = "1 row" if column.missing == 1 else f"{column.missing} rows"
        return f"{LACKING} {rows}: fill it in if it is a hyper-parameter; a metric may lack some"
    if not column.is_number and column.distinct == len(column.values) > FEW:
        return "a text of its own in every row: [extract] makes columns of its parts"
    return ""

"""Questions about columns that a guess leaves out: without them, trainings that differ may look alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from nasbench.benchmarks.tabular._roles import LACKING, NEITHER, NO_PREFIX
from nasbench.benchmarks.tabular._texts import IN_ONE
from nasbench.benchmarks.tabular.column import Column
from nasbench.benchmarks.tabular.exports import Export
from nasbench.benchmarks.tabular.meaning import split_of

_ALIKE = "without it, configurations may look alike"
_ENDED = r"completed?|finished|success(?:ful)?|succeeded|ok|done|terminated|converged|true|1(?:\.0)?|status\w*\.success"
"""Values of a column of outcomes for a training that ended as usual."""
_UNHARMED = r"false|no|none|0(?:\.0)?"
"""The same, where the column's name says what went wrong, or is that of an exit code."""
_HARMS = re.compile(r".*(?:fail|crash|diverg|exit|return)", re.IGNORECASE)
_OF_DATA = re.compile(
    r"(?:.*[./:])?(?:open_?ml_?)?(?:data|data_?sets?|tasks?|problems?|instances?|did|tid)_?(?:id|name|key|index|number)?",
    re.IGNORECASE,
)
"""Names of the data that a row is about: `data_id`, `config/dataset`, `openml_task_id`."""
_HARMLESS = re.compile(
    r"(?:.*[\W_])?(?:users?|authors?|owners?|creators?|sweeps?|tags?|notes?|names?|groups?|jobs?_?types?|hosts?|commits?"
    r"|branch|entity|projects?|experiments?|versions?|descriptions?|messages?|errors?|reasons?)",
    re.IGNORECASE,
)
"""Names of texts that say nothing of a training."""


def asked_of_left_out(
    columns: Sequence[Column], left_out: Mapping[str, str], objective: Column, export: Export
) -> dict[str, str]:
    """A question for each column that may matter though it is left out.

    Args:
        columns: all columns in the order of the file.
        left_out: the names of those without a role, and the reasons.
    """
    asked, is_before = dict[str, str](), True
    for column in columns:
        is_before = is_before and column.name != objective.name
        if column.name in left_out and column.distinct > 1:
            asked[column.name] = _question(column, left_out[column.name], objective, export, is_before)
    return {name: question for name, question in asked.items() if question} | _mixed_outcomes(columns, objective)


def _question(column: Column, why: str, objective: Column, export: Export, is_before: bool) -> str:
    """What is asked about a column that is left out; empty if nothing is.

    Args:
        is_before: whether it stands before the objective.
    """
    is_chosen, is_shared = export.is_choice(column.name), column.distinct < len(column.values)
    if _OF_DATA.fullmatch(column.name) and is_shared and not is_chosen:
        return "are several data sets in one table? Import each by itself"
    if (IN_ONE in why or why == NEITHER) and (is_chosen or column.meaning == "choice"):
        return _ALIKE
    if why == NEITHER and column.has_few and column.meaning in (None, "score"):
        return "or is it a hyper-parameter? Write it as text"
    is_selecting = column.meaning == "score" and split_of(column.name) not in ("test", "train")
    if is_selecting and not column.is_number and split_of(objective.name) in ("test", "train"):
        return "is it the score to select by? Then write plain numbers"
    if why == NO_PREFIX and not column.is_number and column.has_few and not _HARMLESS.fullmatch(column.name):
        return "is it a hyper-parameter, too?"
    if is_before and why.startswith(LACKING) and column.is_number and column.meaning is None:
        return _ALIKE
    return ""


def _mixed_outcomes(columns: Sequence[Column], objective: Column) -> dict[str, str]:
    """A question for each column of outcomes by which rows that did not end as usual have a value of the objective."""
    asked = {}
    known = ~np.isnan(objective.numbers)
    for column in columns:
        if column.meaning == "outcome":
            values = column.values[known].dropna().astype(str)
            usual = _UNHARMED if _HARMS.match(column.name) else _ENDED
            odd = values[~values.str.fullmatch(usual, case=False)]
            if len(odd) and values.nunique() > 1:
                first = odd.value_counts().index[0]
                rows = "1 row has" if len(odd) == 1 else f"{len(odd):,} rows have"
                asked[column.name] = f"{rows} a score and another end, such as {first!r}: of a shorter training?"
    return asked

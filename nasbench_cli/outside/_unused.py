"""Columns of a table of runs that are not read: what must be asked about, since it changes what is compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import listed
from nasbench.benchmarks.tabular.direction import is_score, sense_of

_MEASURES = re.compile("metrics?|measures?|scores?_?names?|quantit(?:y|ies)|metric_?names?|criteri(?:on|a)")
_LENGTHS = re.compile(
    "(?:train(?:ing|ed)?_?|sample_?|max_?|n_?|num_?)?"
    "(?:budgets?|fidelit(?:y|ies)|epochs?|resources?|rungs?|steps?|iters?|sizes?)"
    "|sub_?sample|(?:train_?)?(?:size|fraction|frac)"
)
_MOST_MEASURES = 20
_VIOLATIONS = re.compile(r"(?:\w+_)?(?:infeasib(?:le|ility)|feasibility|violat(?:ed|es|ions?)|unsafe)(?:_\w+)?")
_ENDS = re.compile(
    r"(?:is_|has_)?(?:finished|done|completed?|success(?:ful)?|succeeded|converged|failed|failure|crashed|diverged"
    r"|timed_?out)"
)
_TRUTHS = {"true", "false", "yes", "no", "1", "0", "1.0", "0.0"}
_HARMLESS = re.compile(
    r"(?:\w+_)?(?:host(?:name)?|node|machine|user|gpu|cpu|device|version|commit|branch|date|day|time\w*|timestamp|start\w*"
    r"|end\w*|ids?|uuid|name|path|file|folder|dir|url|notes?|comments?|tags?|error|exception|message|reason|hash|index)"
)
_MOMENTS = re.compile(
    r"(?:\w+_)?(?:creat(?:ed|ion)|start(?:ed)?|submitted|finished|end(?:ed)?|completed?|date_?time|date|time_?stamp)"
    r"(?:_?(?:at|on|time|date))?"
)
_NO_METHOD = re.compile(
    r"(?:n|num|no|nr|number)_(?:of_)?\w+|(?:\w+_)?(?:std|stdev|stddev|sd|se|sem|stderr|var|variance|ci|rank|ranks|pvalue"
    r"|p_value|p|wins?|losses|ties)|(?:avg|average|mean|median|best|worst|max|min)"
    r"(?:_(?:rank|score|value|acc|accuracy|error|result|all|of_all))?"
    r"|instances|attributes|length|features|classes|samples|rows|columns|count|size|n|d|p|dims?|dimensions?"
)
_NO_BENCHMARK = re.compile(
    r"(?:(?:grand|overall|total|macro|micro|geometric|arithmetic)_)?(?:avg|average|mean|gmean|median|total|sum|overall|all)"
    r"(?:_\w+)?|(?:avg|average|mean|median)?_?ranks?|(?:n_|num_)?(?:wins?|losses|ties)(?:_\w+)?|w_t_l|win_tie_loss"
    r"|std|stdev|sd|stderr|p_?values?|count"
)


def check_unused(frame: pd.DataFrame, left: Iterable[str], setting: Sequence[str], runs: pd.Series[Any]) -> None:
    """Asks about columns that are not read.

    Args:
        left: these columns.
        setting: those that name a method and what it ran on.
        runs: what tells the runs of a setting apart, for each row.

    Raises UsageError where such a column says that rows are of several measures or lengths of training, or that runs of
    one method are of several variants.
    """
    for column in left:
        is_number, name = pd.api.types.is_numeric_dtype(frame[column]), plain(column)
        is_rare = not is_number and frame[column].isna().mean() > 0.5  # as what went wrong is
        values = frame[column] if is_number else frame[column].map(str)  # of JSON it may be a list
        values = values.where(frame[column].notna()) if is_rare else values
        is_measure, is_length = _MEASURES.fullmatch(name), is_number and _LENGTHS.fullmatch(name)
        if not (is_measure or is_length) and (is_number or _HARMLESS.fullmatch(name)):
            continue
        texts = [str(value) for value in values.dropna().drop_duplicates()]
        is_mixed = bool((values.groupby([frame[mark] for mark in setting]).nunique(dropna=is_rare) > 1).any())
        by_benchmark = [] if is_number else [frame[mark] for mark in setting[1:]]
        are_scores = is_measure or _name_scores(texts, values, by_benchmark)
        if (is_measure and is_mixed) or (are_scores and _may_differ(texts)):
            raise UsageError(
                f"{column} names several measures ({listed(texts[:3])}): import those of each by themselves"
            )
        if is_length and is_mixed:
            raise UsageError(
                f"{column} differs from row to row ({listed(texts[:3])}): if trainings were of several lengths, keep "
                "the rows of one; if methods chose it, call it config_…, or leave the column out"
            )
        if is_mixed and not is_number:
            _check_variants(values, column, [frame[mark] for mark in setting], runs)


def _name_scores(texts: Sequence[str], values: pd.Series[Any], benchmarks: list[pd.Series[Any]]) -> bool:
    """Whether texts are what each benchmark was measured by: a score's name among them, and one for each benchmark."""
    is_score_named = 1 < len(texts) <= _MOST_MEASURES and any(map(is_score, texts))
    return is_score_named and bool(benchmarks) and bool((values.groupby(benchmarks).nunique() == 1).all())


def _may_differ(measures: Sequence[str]) -> bool:
    """Whether less may be better of one of these, and more of another."""
    return len(measures) > 1 and {sense_of(measure) for measure in measures} not in ({"minimise"}, {"maximise"})


def _check_variants(texts: pd.Series[Any], column: str, setting: list[pd.Series[Any]], runs: pd.Series[Any]) -> None:
    """Raises UsageError if a text is one within each run, and several runs of a method have one and others another."""
    if (texts.groupby([*setting, runs]).nunique() > 1).any():
        return  # it changes within a run, as a configuration does
    variants, every = texts.groupby(setting).nunique(), runs.groupby(setting).nunique()
    if ((variants > 1) & (variants < every)).any():
        raise UsageError(
            f"{column} differs between runs of one method ({listed([*texts.dropna().unique()[:3]])}): if they are "
            f"variants, --column method={setting[0].name}+{column} keeps them apart; if not, leave the column out"
        )


def check_order(frame: pd.DataFrame, left: Iterable[str], runs: Sequence[pd.Series[Any]]) -> None:
    """Asks about rows that no column numbers where they stand in another order than that of the times they state.

    Args:
        left: the columns that are not read.
        runs: what tells runs apart, for each row.

    Raises UsageError if every column of times goes back within a run, as in exports with the newest row first.
    """
    times = {column: _times(frame[column]) for column in left if _is_moment(frame[column])}
    back = [column for column, time in times.items() if (time.groupby(list(runs), dropna=False).diff() < 0).any()]
    if back and len(back) == len(times):
        raise UsageError(
            f"evaluations are taken in the order of rows, and {back[0]} says another order: sort the rows by it, or "
            "leave the column out if they stand in their order"
        )


def check_outcomes(frame: pd.DataFrame, left: Iterable[str]) -> None:
    """Raises UsageError where a column that is not read seems to say which evaluations did not end as usual."""
    for column in left:
        if not _ENDS.fullmatch(plain(column)):
            continue
        words = set(frame[column].map(str).str.lower())
        if len(words) > 1 and words <= _TRUTHS:
            raise UsageError(
                f"{column} seems to say which rows did not end as usual, and all would count: a column status with ok "
                "or failed says it; leave the column out if they should count"
            )


def check_violations(frame: pd.DataFrame, left: Iterable[str]) -> None:
    """Raises UsageError where a column that is not read seems to say which evaluations violate a constraint."""
    for column in left:
        if _VIOLATIONS.fullmatch(plain(column)) and frame[column].map(str).nunique() > 1:
            raise UsageError(
                f"{column} seems to say which evaluations violate a constraint, and they would count: a column "
                "feasible with true or false says it; leave the column out if they should count"
            )


def _is_moment(column: pd.Series[Any]) -> bool:
    is_named = bool(_MOMENTS.fullmatch(plain(str(column.name)))) and not pd.api.types.is_bool_dtype(column)
    return is_named or pd.api.types.is_datetime64_any_dtype(column)


def _times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Moments as numbers; NaN for what is none, and for days in an order of their own (01.02. is of two months)."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    times = pd.to_datetime(column.map(str), errors="coerce", utc=True, format="ISO8601")
    return (times - times.min()).dt.total_seconds()


def check_named(methods: Sequence[str], benchmarks: Sequence[str]) -> None:
    """Raises UsageError for a column or a row of a printed table that its name says to be something else."""
    if odd := next((name for name in methods if _NO_METHOD.fullmatch(plain(name))), None):
        raise UsageError(f"the column {odd} is no method, by its name: leave it out, or rename it if it is one")
    if odd := next((name for name in benchmarks if _NO_BENCHMARK.fullmatch(plain(name))), None):
        raise UsageError(f"the row {odd} is no benchmark, by its name: leave it out, or rename it if it is one")


def plain(name: str) -> str:
    """A name in lower case, its words joined by underscores."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()

"""Tables of runs: a row an evaluation, a row a run, or a row a benchmark with a column a method."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError, unknown
from nasbench.base.numbers import count, listed, some
from nasbench.benchmarks.tabular.direction import Sense, is_score, sense_of, strange_words
from nasbench.benchmarks.tabular.meaning import meaning_of, split_of
from nasbench.cli.outside._unused import (
    check_named,
    check_order,
    check_outcomes,
    check_unused,
    check_violations,
    plain,
)
from nasbench.cli.outside.rows import FACTS, MARKS, SPACE, Asked, Rows, Shape
from nasbench.cli.outside.texts import numbers_of

_NO_SCORES = ("seconds", "resource", "size")
"""Meanings of what is no value beside a score on test data."""
_LISTED = 20
"""Largest number of columns that a note names."""
_NAMES = {
    "method": "methods?|algorithms?|algo|optimi[sz]ers?|searcher|sampler|solver|tuner|strategy|approach|policy",
    "benchmark": "bench(?:mark)?s?|tasks?|problems?|instances?|functions?(?:_?name)?|data_?sets?|scenarios?"
    "|env(?:ironment)?s?",
    "constraint": "constraints?",
    "space": "(?:search_?)?space|family",
    "seed": "seeds?|random_?(?:seed|state)|rep(?:eat|etition|lication|licate)?s?|runs?|run_?id|trial_?seed|fold",
    "evaluation": "(?:n_?)?eval(?:uation)?s?(?:_?(?:number|count))?|steps?|iter(?:ation)?s?"
    "|(?:n_?)?trials?(?:_?(?:number|id))?|number|fes?|fevals|generations?|t",
    "seconds": "seconds|secs?|time|times|elapsed|runtime|wall_?(?:clock|time)?_?(?:time|s)?|st_tuner_time|finished",
    "feasible": "(?:is_)?feasible",
    "status": "status|state",
    "configuration": "config(?:uration)?s?|params|hyper_?parameters",
    "test": "test(?:_?(?:value|score|error|loss|acc(?:uracy)?|performance))?",
    "cost": "costs?",
}
"""Patterns of the names of columns by their roles; the value is the number that is left, or has a name for a score."""
_ELSE = {
    "method": "framework",
    "benchmark": "(?:task|problem|data_?set|instance|env(?:ironment)?)_?(?:id|name)",
    "evaluation": "(?:global|env)_?steps?|timesteps",
}
"""The same, where no column has one of these names."""
_VALUE = re.compile(
    "values?|objectives?|results?|performance|y|f|fx|fitness|best(?:_?(?:so_?far|value|y))?|regret|incumbent"
)
_BEST = re.compile("best|so_?far|incumbent|running")
_FOLDS = re.compile("resampl|fold|split|(?:^|_)cv(?:_|$)")
"""Names of columns beside which an iteration may number the parts of a cross-validation."""
_FINISHED = re.compile("ok|complete[d]?|success(?:ful)?|succeeded|finished|done|terminated", re.IGNORECASE)
_OURS = {"bench", "evaluation", "objective", "feasible", "incumbent", "thinking"}
"""Columns of a store's rows, as `nasbench.run` returns them: they minimise the column objective."""
_PRINTED = re.compile(r"[-+]?\d*[.,]?\d+\s?%?\s?(?:(?:±|\+/?-|[(\[]).*)?", re.DOTALL)
"""A number as papers print it, without the marks of bold print: `93.1±0.2`, `0.71 (0.02)`."""
_MOST_PRINTED = 1_000  # rows of a printed table that are looked at
_NO_CELL = {"", "-", "–", "—", "n/a", "na", "oom"}
_LEAST = 10
"""Rows of a run from which values that never get worse are taken for the best so far."""


def read(frame: pd.DataFrame, asked: Asked, title: str) -> Rows:
    """The rows of a table.

    Args:
        title: what a table without a column for benchmarks is of.

    Raises UsageError for a table that is none of runs, or may be read in two ways.
    """
    frame = frame.rename(columns=str)
    names = _header(frame)
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise UsageError(f"two columns are called {twice[0]}: rename one")
    if not len(frame):
        raise UsageError("the table has no rows")
    is_ours = set(names) >= _OURS
    frame = _with_joined(frame, asked)
    if is_ours:
        asked = replace(asked, sense="minimise", shape="trajectory", columns={"value": "objective"} | asked.columns)
    roles = _roles(frame, asked)
    if "method" not in roles:
        return _wide(frame, roles, asked)
    value = roles.get("value") or _value(frame, roles)
    kept = {role: column for role, column in roles.items() if role != "value"}
    rows = frame[list(kept.values())].set_axis(list(kept), axis=1)
    rows = rows.assign(value=numbers_of(frame[value], value))
    for role in ("seconds", "test", "cost"):
        if role in rows:
            rows[role] = numbers_of(rows[role], roles[role])
    if "benchmark" not in rows:
        rows["benchmark"] = title
    others = ", ".join(f"{role} {column}" for role, column in kept.items() if column.lower() != role)
    notes = [f"the value is {value}"] + [f"taken for {others}"] * bool(others)
    left = [column for column in _header(frame) if column not in (*roles.values(), value)]
    shape = _shape(rows, roles, value, asked, left)
    if shape == "final" and "evaluation" in rows:
        notes += _length(rows, roles["evaluation"])
    if not is_ours:
        setting = [roles[mark] for mark in MARKS if mark in roles and mark != "seed"]
        alone = pd.Series(range(len(frame)) if shape == "final" else 0, frame.index)  # each row a run, or one run
        if "feasible" not in roles:
            check_violations(frame, left)
        if "status" not in roles:
            check_outcomes(frame, left)
        run = frame[roles["seed"]] if "seed" in roles else alone
        check_unused(frame, left, setting, run)
        if shape == "trajectory" and not {"evaluation", "seconds"} & set(rows):
            check_order(frame, left, [*(frame[mark] for mark in setting), run])
            notes.append("evaluations are in the order of rows")
        notes += [f"not read: {some(left, most=_LISTED)}"] * bool(left)
    sense = asked.sense if is_ours else _sense(value)
    test = None if is_ours or "test" not in roles else _sense(roles["test"])
    if test not in (None, sense):
        notes.append(f"{'less' if test == 'minimise' else 'more'} of {roles['test']} is better")
    return Rows(rows, value, shape, sense, "", "; ".join(notes), () if is_ours else tuple(left), test)


def _with_joined(frame: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """The table with a column for each role that was said to be several, as `method=optimiser+acquisition`."""
    for said in asked.columns.values():
        parts = said.split("+")
        if said not in frame and len(parts) > 1 and set(parts) <= set(_header(frame)):
            texts = frame[parts].map(str).where(frame[parts].notna(), "-")
            joined = pd.Series(map(", ".join, zip(*(texts[part] for part in parts), strict=True)), frame.index)
            is_named = frame[parts].notna().any(axis=1)
            frame = frame.drop(columns=parts).assign(**{said: joined.where(is_named)})
    return frame


def _roles(frame: pd.DataFrame, asked: Asked) -> dict[str, str]:
    """Role → column. Raises UsageError if two columns may have a role, or a named one is not there."""
    for role, column in asked.columns.items():
        if role not in (*MARKS, SPACE, *FACTS):
            raise unknown("role of a column", role, (*MARKS, SPACE, *FACTS))
        if column not in frame:
            raise unknown("column", column, _header(frame))
    roles, taken = dict(asked.columns), set(asked.columns.values())
    for role, pattern in _NAMES.items():
        free = [column for column in _header(frame) if column not in taken]
        if role == "seconds":  # `finished` may say that a run has
            free = [column for column in free if not pd.api.types.is_bool_dtype(frame[column])]
        found = [column for column in free if re.fullmatch(pattern, plain(column))]
        found = found or [column for column in free if re.fullmatch(_ELSE.get(role, "(?!)"), plain(column))]
        exact = [c for c in found if plain(c) == role]
        if role in roles or not found:
            continue
        if len(found) > 1 and not exact:
            raise UsageError(
                f"{listed(found, 'or')} may be the {role}: --column {role}={found[0]} says which, or leave one out"
            )
        roles[role] = (exact or found)[0]
    return roles


def _header(frame: pd.DataFrame) -> list[str]:
    return list(map(str, frame.columns))


def _value(frame: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """The column of the value. Raises UsageError if there is none, or several may be."""
    free = [c for c in _header(frame) if c not in roles.values() and frame[c].notna().any()]
    rest = [c for c in free if pd.api.types.is_numeric_dtype(frame[c])]
    named = [c for c in free if _VALUE.fullmatch(plain(c)) or (c in rest and is_score(c))]
    texts = [c for c in free if is_score(c)]  # a score that is no number in some row: that row is named
    found = [c for c in named if plain(c) == "value"] or named or texts or (rest if len(rest) == 1 else [])
    if "test" in roles and all(split_of(c) == "train" or meaning_of(c) in _NO_SCORES for c in found):
        found = [roles["test"], *(found or rest)]  # a paper's table: what was selected by is not in it
    elif len(found) == 1:
        return str(found[0])
    if found:
        raise UsageError(f"{listed(found, 'or')} may be the value: --column value={found[0]} says which")
    columns = ", ".join(_header(frame))
    raise UsageError(f"no column is the value that was reached: --column value=NAME names it; there are {columns}")


def _shape(rows: pd.DataFrame, roles: Mapping[str, str], value: str, asked: Asked, left: Sequence[str]) -> Shape:
    """What a row is. Raises UsageError where the best so far cannot be told from what was observed.

    Args:
        left: the columns that are not read.
    """
    if asked.shape:
        return asked.shape
    marks = [mark for mark in MARKS if mark in rows]
    sizes = rows.groupby(marks, sort=False, dropna=False).size()
    if sizes.max() == 1:
        _check_labels(rows, roles)
        return "final"
    if "seed" not in rows and "evaluation" not in asked.columns:
        _check_one_run(roles, int(sizes.max()), left)
    if not {"evaluation", "seconds"} & set(roles):
        return "final"
    if _BEST.search(plain(value)):
        return "best"
    order = "evaluation" if "evaluation" in rows else "seconds"
    steps = rows.sort_values(order, kind="stable").groupby(marks, sort=False, dropna=False)["value"].diff().dropna()
    if sizes.max() >= _LEAST and len(steps) and ((steps <= 0).all() or (steps >= 0).all()):
        raise UsageError(
            f"{value} never gets worse in any run, as the best value so far does: --shape best says that it is, "
            "--shape trajectory that each row has what its evaluation gave"
        )
    return "trajectory"


def _length(rows: pd.DataFrame, column: str) -> list[str]:
    """What a column of evaluations says where each row is a run. Raises UsageError if runs to be compared differ in it.

    A number that no two runs of a method share on a benchmark counts the runs.
    """
    numbers, setting = rows["evaluation"], [rows["method"], rows["benchmark"]]
    of_method = numbers.groupby(setting)
    if (of_method.nunique() == of_method.size()).all() and (of_method.size() > 1).any():
        return []
    found = [str(value) for value in numbers.drop_duplicates()]
    if (numbers.groupby(rows["benchmark"]).nunique() > 1).any():
        raise UsageError(
            f"each row is the result of a run, and {column} differs from run to run ({listed(found[:3])}): keep the "
            "runs of one length, or leave the column out if it says something else"
        )
    return [f"each row is the result of a run, with {column} {listed(found[:3])}"]


def _check_labels(rows: pd.DataFrame, roles: Mapping[str, str]) -> None:
    """Raises UsageError where each row has a seed of its own, and another column counts the rows of each method."""
    if not {"seed", "evaluation"} <= set(rows) or not rows["seed"].is_unique:
        return
    numbers = pd.to_numeric(rows["evaluation"], errors="coerce").groupby([rows["method"], rows["benchmark"]])
    sizes, spans = numbers.size(), numbers.max() - numbers.min() + 1
    if sizes.min() >= _LEAST and (numbers.nunique() == sizes).all() and (spans == sizes).all():
        raise UsageError(
            f"{roles['seed']} is another in each row, and {roles['evaluation']} counts the rows of a method: leave "
            f"{roles['seed']} out if these are evaluations of one run; --shape final says that each row is a run"
        )


def _check_one_run(roles: Mapping[str, str], size: int, left: Sequence[str]) -> None:
    """Raises UsageError where rows of one method on one benchmark may be evaluations of a run, or runs."""
    numbers = roles.get("evaluation", "")
    if not numbers:
        raise UsageError(
            f"a method has {size} rows on a benchmark, and no column is the seed: --shape trajectory says that they "
            "are evaluations of one run, --shape final that each is a run"
        )
    if "trial" in plain(numbers) or any(_FOLDS.search(plain(column)) for column in left):
        raise UsageError(
            f"no column is the seed, and {numbers} may be either: --column evaluation={numbers} says that it numbers "
            f"evaluations, --column seed={numbers} --shape final that it numbers runs"
        )


def _sense(name: str) -> Sense | None:
    """What the name of a value says by itself."""
    return None if strange_words(name) else sense_of(name)


def _wide(frame: pd.DataFrame, roles: dict[str, str], asked: Asked) -> Rows:
    """A table with a column for each method, as papers print it: a row for each benchmark, perhaps for each seed."""
    texts = [c for c in _header(frame) if not pd.api.types.is_numeric_dtype(frame[c])]
    marks = {role: column for role, column in roles.items() if role in (*MARKS, SPACE)}
    if "benchmark" not in marks and len(texts) == 1:
        marks["benchmark"] = texts[0]
    methods = [c for c in _header(frame) if c not in marks.values() and pd.api.types.is_numeric_dtype(frame[c])]
    others = [c for c in _header(frame) if c not in marks.values() and c not in methods]
    scores = [c for c in methods if is_score(c) or _VALUE.fullmatch(plain(c)) or c in roles.values()]
    _check_cells(frame, [c for c in others if c in texts and (marks or c != texts[0])])
    if "benchmark" in marks and not others:
        check_named(methods, [str(name) for name in frame[marks["benchmark"]].unique()])
    if "benchmark" not in marks or len(methods) < 2 or others or scores or asked.shape not in (None, "final"):
        raise UsageError(
            "no column is the method: --column method=NAME names it; a table with a row for each benchmark has a "
            f"column benchmark, perhaps seed, and a column for each method; the columns are {', '.join(_header(frame))}"
        )
    kept = frame[[*marks.values(), *methods]].rename(columns={column: role for role, column in marks.items()})
    rows = kept.melt([*marks], methods, "method", "value").dropna(subset=["value"])
    said = f"each column is a method: {listed(methods)}; each row a benchmark: {count(len(frame), 'row')}"
    return Rows(rows, "result", "final", None, "", said)


def _check_cells(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raises UsageError for columns of numbers as papers print them, with spreads or in bold."""
    for column in columns:
        cells = frame[column].head(_MOST_PRINTED).fillna("").astype(str)
        bare = [re.sub(r"\\(?:text|math)bf", "", cell[:60]).replace("\\pm", "±").strip(" *_${}") for cell in cells]
        is_none = [text.lower() in _NO_CELL for text in bare]
        odd = pd.to_numeric(cells, errors="coerce").isna().to_numpy() & ~np.array(is_none)
        if odd.any() and all(none or _PRINTED.fullmatch(text) for text, none in zip(bare, is_none, strict=True)):
            row = int(odd.argmax())
            raise UsageError(
                f"{column} is {cells.iloc[row][:60]!r} in row {row + 1}, which is no number: write the means alone"
            )


def is_finished(status: str) -> bool:
    """Whether a word for the end of an evaluation says that it has a value."""
    return bool(_FINISHED.fullmatch(status.strip()))

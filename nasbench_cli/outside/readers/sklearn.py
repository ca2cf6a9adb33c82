"""scikit-learn's searches: `pd.DataFrame(search.cv_results_).to_csv(FILE)`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError, unknown
from nasbench.base.numbers import listed
from nasbench.cli.outside._names import PLAIN, check_sense, marks_of, named_so
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import frame_of, header_of, numbers_of

_MEAN, _PARAMETER = "mean_test_", "param_"
_ROLES = ("method", "benchmark", "seed", "value")


class SearchResults(Reader):
    """The rows of `cv_results_` are the evaluations of one run; a score is maximised."""

    title = "cv_results_ of scikit-learn"

    def knows(self, path: Path) -> bool:
        header = header_of(path)
        return {"params", "mean_fit_time"} <= {*header} and any(name.startswith(_MEAN) for name in header)

    def read(self, path: Path, asked: Asked) -> Rows:
        frame = frame_of(path)
        check_sense(asked, "maximise", "a score of scikit-learn is maximised")
        for role, column in asked.columns.items():
            if role not in _ROLES:
                raise unknown("role of a column", role, _ROLES)
            if column not in frame:
                raise unknown("column", column, [str(name) for name in frame])
        value = asked.columns.get("value") or _value(frame)
        notes = [f"the value is {value}", "the cost of an evaluation is mean_fit_time"]
        if "n_resources" in frame and frame["n_resources"].nunique() > 1:
            most = frame["n_resources"].max()
            notes.append(f"{(frame['n_resources'] < most).sum()} evaluations on less than {most} resources left out")
            frame = frame[frame["n_resources"] == most].reset_index(drop=True)
        inside = path.resolve().parent.name
        rows = pd.DataFrame(marks_of(path.stem, inside), index=frame.index)
        for role in ("method", "benchmark", "seed"):
            if role in asked.columns:
                rows[role] = frame[asked.columns[role]]
        if "method" not in asked.columns and not named_so(path.stem):
            notes.append(f"{PLAIN} {inside}, its folder")
        rows["evaluation"] = rows.groupby(["method", "benchmark", "seed"], sort=False).cumcount() + 1
        rows["value"] = numbers_of(frame[value], value)
        rows["cost"] = numbers_of(frame["mean_fit_time"], "mean_fit_time")
        rows["status"], rows["feasible"] = np.where(rows["value"].notna(), "ok", "failed"), True
        rows["configuration"] = pd.Series(_configurations(frame), dtype=object)
        return Rows(rows, value.removeprefix(_MEAN), "trajectory", "maximise", "", "; ".join(notes))


def _value(frame: pd.DataFrame) -> str:
    """The column of the only score. Raises UsageError if there are several."""
    scores = [str(name) for name in frame if str(name).startswith(_MEAN)]
    if len(scores) > 1:
        raise UsageError(f"{listed(scores, 'or')} may be the value: --column value={scores[0]} says which")
    return scores[0]


def _configurations(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The hyper-parameters of each row, without those that it does not have."""
    own = frame[[name for name in frame if str(name).startswith(_PARAMETER)]]
    named = own.rename(columns=lambda name: name.removeprefix(_PARAMETER)).astype(object)
    return [{str(k): v for k, v in row.items() if not pd.isna(v)} for row in named.to_dict("records")]


READERS.add("sklearn", SearchResults())

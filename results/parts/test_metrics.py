"""Test metrics of the incumbents, and single networks for orientation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nasbench.base.numbers import between, number
from nasbench.results.curves import Curves
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.parts.settings import named
from nasbench.results.statistics import summaries
from nasbench.results.subject import Subject


@PARTS.register("test-metrics")
@plain(80)
def part(subject: Subject) -> Part | None:
    """Test metrics; None if no benchmark has any."""
    summary = summaries.test_metrics(subject.curves)
    if not len(summary):
        return None
    title = "Test metrics of the incumbents"
    return Part("test-metrics", title, [_test_metrics(named(subject.curves, summary), title)])


@PARTS.register("references")
@plain(81)
def references(subject: Subject) -> Part | None:
    """Reference networks; None if the stores have none."""
    table = _references(subject.references)
    return Part("references", "Reference networks", [table]) if table is not None else None


def _test_metrics(data: pd.DataFrame, title: str) -> Table:
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "metric": data["metric"],
            "runs": data["runs"].astype(str),
            "median": data["median"].map(number),
            "quartiles": [between(number(a), number(b)) for a, b in zip(data["q1"], data["q3"], strict=True)],
            "mean": data["mean"].map(number),
        }
    )
    note = (
        "Measured on a test split at each run's last incumbent, which the objective (on its own split) chose: no "
        "method sees these numbers, and none can be constrained or minimised. Runs without a feasible full "
        "evaluation are left out."
    )
    return Table("test-metrics", title, note, data, shown)


def _references(every: Sequence[Curves]) -> Table | None:
    rows = []
    for curves in every:
        for (setting, _), runs in curves.groups.items():
            known = curves.settings.iloc[setting]
            values = [(known["objective"], curves.incumbent[runs, -1])]
            tested = pd.DataFrame([facts for facts in curves.runs["test_metrics"].iloc[runs] if facts])
            values += [(metric, tested[metric].to_numpy(float)) for metric in tested.columns]
            for metric, metric_values in values:
                kept = metric_values[np.isfinite(metric_values)]
                if len(kept):
                    rows.append((known["bench"], metric, len(kept), np.median(kept), kept.min(), kept.max()))
    if not rows:
        return None
    data = pd.DataFrame(rows, columns=["benchmark", "metric", "runs", "median", "smallest", "largest"])
    shown = data.astype({"runs": str})
    for column in ("median", "smallest", "largest"):
        shown[column] = data[column].map(number)
    note = (
        "Single networks, for orientation: nothing is searched, so they take no part in ranks and tests. Each run is "
        "one training; the epoch is chosen on the validation split."
    )
    return Table("references", "Reference networks", note, data, shown)

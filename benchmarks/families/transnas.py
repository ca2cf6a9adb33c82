"""TransNAS-Bench-101 (Duan et al., CVPR 2021) with zero-cost proxies (Krishnakumar et al., NeurIPS 2022): samples.

The tables hold 711 cells (micro) and 725 networks (macro) on seven tasks. A proxy costs its mean recorded time.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import Family, frame, rows_of
from nasbench.benchmarks.spaces import Categorical
from nasbench.benchmarks.tabular.imported import TableData

if TYPE_CHECKING:
    import pandas as pd

_OPERATIONS = ("none", "skip", "conv1x1", "conv3x3")
_MODULES = ("none", "plain", "double-channels", "half-resolution", "both")
# Name and unit of the objective, number from which the value is subtracted, and meaning of the value.
_TASKS = {
    "class_scene": ("error", "%", 100, "top-1 accuracy"),
    "class_object": ("error", "%", 100, "top-1 accuracy"),
    "jigsaw": ("error", "%", 100, "top-1 accuracy"),
    "segmentsemantic": ("error", "%", 100, "accuracy of pixels"),
    "autoencoder": ("dissimilarity", "", 1, "structural similarity (SSIM)"),
    "normal": ("dissimilarity", "", 1, "structural similarity (SSIM)"),
    "room_layout": ("loss", "", 0, "minus the loss"),
}
_PROXIES = ("grasp", "fisher", "grad_norm", "l2_norm", "plain", "nwot", "jacov", "snip")
_COST = Metric("cost", "s", description="1 hour per training is assumed: no time is recorded")
_APART = "autoencoder"  # the only task that ranks cells differently


def _tables(
    family: Family, folder: Path, *, kind: str, names: tuple[str, ...], values: tuple[str, ...]
) -> list[TableData]:
    data = frame(folder / f"{kind}.parquet")
    return [_table(family, task, data[data["task"] == task], names, values) for task in _TASKS]


def _table(family: Family, task: str, data: pd.DataFrame, names: tuple[str, ...], values: tuple[str, ...]) -> TableData:
    codes = [ast.literal_eval(text) for text in data["arch"]]
    rows = rows_of({Categorical(name, values): [values[code[k]] for code in codes] for k, name in enumerate(names)})
    quantity, unit, top, words = _TASKS[task]
    objective = Metric(f"only-{quantity}", unit, description=f"{top or ''} - {words}".strip(" -"), split="only")
    columns = {
        objective: top - data["val"],
        Metric("params", "M", description="number of parameters", cheap=True): data["params"],
        Metric("flops", "M", description="operations, as the source counts them", cheap=True): data["flops"],
        _COST: 0 * data["val"] + 3600,
    } | {
        Metric(
            proxy, "", False, "zero-cost proxy", cheap=True, seconds=round(float(data[f"{proxy}_seconds"].mean()), 3)
        ): data[proxy]
        for proxy in _PROXIES
    }
    return family.table(
        f"{family.name}-{task.replace('_', '-')}",
        rows.space,
        {metric: rows.filled(column.to_numpy(float)) for metric, column in columns.items()},
        family=f"{family.name}-{_APART}" if (family.name, task) == ("transnas-micro", _APART) else family.name,
    )


def _family(kind: str, what: str, digest: str, names: tuple[str, ...], values: tuple[str, ...]) -> Family:
    return Family(
        name=f"transnas-{kind}",
        what=what,
        repository="automl/NASLib",
        commit="e5a821c2dadf608042e4e046e386006cf6bd0564",
        path=f"naslib/data/zc_transbench101_{kind}.json",
        licence="Apache-2.0 (NASLib); MIT (TransNAS-Bench-101)",
        citation="TransNAS-Bench-101 (Duan et al., CVPR 2021); NAS-Bench-Suite-Zero (Krishnakumar et al., 2022)",
        files={f"{kind}.parquet": digest},
        tables=partial(_tables, kind=kind, names=names, values=values),
    )


FAMILIES = (
    _family(
        "micro",
        "711 of 4,096 cells, 7 tasks of vision, 8 zero-cost proxies",
        "d4c4ebd2f7a051f344457cacffa5171a63bc80bd6d8178b24f283895c8dd3af3",
        ("edge_0_1", "edge_0_2", "edge_1_2", "edge_0_3", "edge_1_3", "edge_2_3"),
        _OPERATIONS,
    ),
    _family(
        "macro",
        "662 to 725 of 3,256 networks, 7 tasks of vision, 8 zero-cost proxies",
        "58c17c73ca3793c6199bb3f1e18a8abc2f2271ec711299f71c9b1d2a74a20aee",
        tuple(f"module_{k}" for k in range(1, 7)),
        _MODULES,
    ),
)

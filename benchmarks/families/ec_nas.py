"""EC-NAS-Bench (Bakhtiarifard et al., ICASSP 2024): cells of up to five vertices, with the energy of their training."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import Family, FileRows, frame, numbered
from nasbench.benchmarks.spaces.nasbench101 import OPERATIONS, ListedCells, Point, compact, point_of
from nasbench.benchmarks.tabular.imported import TableData

_FILE = "ec_nas_4epochs_measured.parquet"
_EPOCHS = 4


def _tables(family: Family, folder: Path) -> list[TableData]:
    data = frame(folder / _FILE)
    cells = [_cell(*texts) for texts in zip(data["adjacency"], data["labels"], strict=True)]
    points, row = np.unique(np.array(cells, np.int8), axis=0, return_inverse=True)
    rows = FileRows(ListedCells(points), row.ravel(), numbered(row.ravel()))
    after = f"after {_EPOCHS} epochs"
    columns = {
        Metric(f"{split}-error@{_EPOCHS}", "%", True, f"100 - accuracy {after}", split, _EPOCHS): (
            100 * (1 - data[f"{split}_{_EPOCHS}"])
        )
        for split in ("valid", "test")
    } | {
        Metric("seconds", "s", description=f"training time of {_EPOCHS} epochs"): data[f"seconds_{_EPOCHS}"],
        Metric("energy", "kWh", description=f"measured energy of {_EPOCHS} epochs"): data[f"kwh_{_EPOCHS}"],
        Metric("params", "M", description="number of parameters", cheap=True): data["params"] / 1e6,
    }
    filled = {metric: rows.filled(column.to_numpy(float)) for metric, column in columns.items()}
    return [family.table("ec-nas", rows.space, filled, cost="seconds")]


def _cell(adjacency: str, labels: str) -> Point:
    matrix, numbers = ast.literal_eval(adjacency), ast.literal_eval(labels)
    bits = "".join(str(int(bit)) for line in matrix for bit in line)
    return compact(point_of(bits, ["input", *(OPERATIONS[k] for k in numbers[1:-1]), "output"]))


FAMILY = Family(
    name="ec-nas",
    what="2,532 cells of up to 5 vertices (91 of them trained 4 times), 4 epochs on CIFAR-10, measured energy",
    repository="PedramBakh/EC-NAS-Bench",
    commit="1a82fdde59bf61cb6a2b9d41bc984c3edbd2b2bf",
    path="ecnas/vendors/ec_nasbench/nasbench/data/train_model_results/energy/{4V9E,5V9E}/4_epochs",
    licence="MIT (its copy of NAS-Bench-101's code: Apache-2.0)",
    citation="EC-NAS-Bench (Bakhtiarifard et al., ICASSP 2024)",
    files={_FILE: "a6e5e4955eec16f6550fb6f47fa54d85a7d64f4b459ed3f9a727931f5fdba399"},
    tables=_tables,
)

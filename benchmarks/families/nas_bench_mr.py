"""NAS-Bench-MR (Ding et al., ICLR 2022): 2,507 multi-resolution networks on eight tasks of vision."""

from __future__ import annotations

from pathlib import Path

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import UNTIMED, Family, frame, ordinal, rows_of
from nasbench.benchmarks.tabular.imported import TableData

_FILE = "nas_bench_mr.parquet"
_CODE = 27  # the first columns are the network's code
# Accuracies of each task, the objective first; tasks that rank networks alike (average linkage of Spearman's
# coefficient of the objective at 0.4) are a group.
_TASKS = {
    "cls-50-1000": (1, ("top1", "top5")),
    "cls-50-100": (2, ("top1", "top5")),
    "cls-10-1000": (2, ("top1", "top5")),
    "cls-10c": (2, ("top1", "top5")),
    "seg": (1, ("mIoU", "mAcc", "aAcc")),
    "seg-4x": (1, ("mIoU", "mAcc", "aAcc")),
    "video": (2, ("top1", "top5")),
    "video-p": (2, ("top1", "top5")),
}


def _tables(family: Family, folder: Path) -> list[TableData]:
    data = frame(folder / _FILE)
    code = data.columns[:_CODE]
    rows = rows_of({ordinal(name, data[name].tolist()): data[name].tolist() for name in code})
    sizes = {
        Metric("flops", "G", description="multiply-accumulates for one image of 224 x 224", cheap=True): "flops",
        Metric("params", "M", description="number of parameters", cheap=True): "params",
    }
    tables = []
    for task, (group, names) in _TASKS.items():
        columns = {
            Metric(f"only-{name.lower()}-error", "%", description=f"100 - {name}", split="only"): rows.filled(
                100 - data[f"{task}:{name}"].to_numpy(float)
            )
            for name in names
        }
        columns |= {metric: rows.filled(data[name].to_numpy(float)) for metric, name in sizes.items()}
        columns[UNTIMED] = 0 * columns[next(iter(columns))] + 1
        tables.append(family.table(f"nas-bench-mr-{task}", rows.space, columns, family=f"nas-bench-mr-group-{group}"))
    return tables


FAMILY = Family(
    name="nas-bench-mr",
    what="2,507 multi-resolution networks, 8 tasks (ImageNet subsets, Cityscapes, HMDB51)",
    repository="dingmyu/NCP",
    commit="5259acdf9876c3adf4b8b1133afc3ac0d1077d65",
    path="data/*/trainval.pkl",
    licence="BSD-2-Clause for academic use; the authors ask to be contacted for commercial use",
    citation="NAS-Bench-MR (Ding et al., ICLR 2022)",
    files={_FILE: "bee8bcbb6e47a21ad86ee6fdfaf5797010f85737fd49ab78593ccd020ec7103d"},
    tables=_tables,
)

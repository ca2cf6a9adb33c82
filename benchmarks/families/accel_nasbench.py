"""Accel-NASBench (Ahmad et al., DAC 2024): 5,125 networks on ImageNet, with measurements on accelerators."""

from __future__ import annotations

from pathlib import Path

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import Family, frame, ordinal, rows_of
from nasbench.benchmarks.spaces import Categorical
from nasbench.benchmarks.tabular.imported import TableData

_FILE = "accel_nasbench.parquet"
_CODE = 28  # the first columns: expansion, kernel, layers, squeeze-and-excitation of seven blocks
_METRICS = {
    Metric("train_time", "s", description="recorded training time under the training proxy"): "train_time",
    Metric("macs", "M", description="multiply-accumulates for one image", cheap=True): "macs",
    Metric("params", "M", description="number of parameters", cheap=True): "params",
} | {
    Metric(name, unit, minimize=unit == "ms", description=f"measured on {name.partition('_')[2]}"): name
    for unit, names in {
        "ms": ("latency_zcu102", "latency_vck190"),
        "images/s": tuple(f"throughput_{d}" for d in ("a100", "3090", "tpuv2", "tpuv3", "zcu102", "vck190")),
    }.items()
    for name in names
}


def _tables(family: Family, folder: Path) -> list[TableData]:
    data = frame(folder / _FILE)
    code = {name: data[name].tolist() for name in data.columns[:_CODE]}
    rows = rows_of({Categorical(n, (False, True)) if n.endswith("_se") else ordinal(n, v): v for n, v in code.items()})
    errors = {
        Metric(f"only-top{k}-error", "%", description=f"100 - top-{k} accuracy", split="only"): 100
        - data[f"val_top{k}"]
        for k in (1, 5)
    }
    columns = errors | {metric: data[name] for metric, name in _METRICS.items()}
    filled = {metric: rows.filled(column.to_numpy(float)) for metric, column in columns.items()}
    return [family.table("accel-nasbench", rows.space, filled, cost="train_time")]


FAMILY = Family(
    name="accel-nasbench",
    what="5,125 networks on ImageNet (13 of them trained twice), 28 choices; latency and throughput on accelerators",
    repository="afzalxo/Accel-NASBench",
    commit="42603572d530310e6bac7191d00cf45625a6b197",
    path="anb_dataset/anb_dataset_jsons.tar.gz",
    licence="Apache-2.0",
    citation="Accel-NASBench (Ahmad et al., DAC 2024)",
    files={_FILE: "d0762997160f6d9afa34cf8a80b502b9cbfb9bc73bc94b6d1446c8ea1387c61e"},
    tables=_tables,
)

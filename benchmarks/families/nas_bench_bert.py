"""NAS-Bench-BERT (Serianni and Kalita, ACL 2023): 491 encoders of text on eight tasks of GLUE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nasbench.base.metrics import Metric
from nasbench.benchmarks.families._family import Family, frame, ordinal, rows_of
from nasbench.benchmarks.spaces import Categorical, Hyperparameter
from nasbench.benchmarks.tabular.imported import TableData

_FILE = "nas_bench_bert.parquet"
_TASKS = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst", "sts")
_NOISE = "rte"  # ranks encoders in an order of its own
_LAYERS = 4
_SIZES = ("num_operation_heads", "feed_forward_dimension", "num_feed_forward")
_ABSENT = "none"  # in place of the operation of a layer that an encoder does not have


def _tables(family: Family, folder: Path) -> list[TableData]:
    data = frame(folder / _FILE)
    hyperparameters: dict[Hyperparameter, list[Any]] = {
        ordinal("hidden_size", data["hidden_size"].tolist()): data["hidden_size"].tolist()
    }
    for layer in range(_LAYERS):
        operations = data[f"l{layer}_operation_type"] + "-" + data[f"l{layer}_operation_parameter"]
        written = operations.fillna(_ABSENT).astype(str).tolist()
        hyperparameters[Categorical(f"l{layer}_operation", tuple(sorted(set(written))))] = written
        for name in _SIZES:
            column = data[f"l{layer}_{name}"]
            sizes = column.fillna(column.min()).astype(int).tolist()
            hyperparameters[ordinal(f"l{layer}_{name}", sizes)] = sizes
    rows = rows_of(hyperparameters)
    seconds = rows.filled(data["seconds"].to_numpy(float))
    tables = []
    for task in ("glue", *_TASKS):
        # The mean has a name of its own: it is no task beside those that it is made of, and no knowledge of them.
        is_mean = task == "glue"
        words = "mean of the eight scores" if is_mean else f"score of {task}"
        name = "only-mean-error" if is_mean else "only-error"
        error = Metric(name, "%", description=f"100 - {words} (GLUE's development split)", split="only")
        columns = {
            error: rows.filled(100 - data[task].to_numpy(float)),
            Metric("seconds", "s", description="time of pretraining on a TPU"): seconds,
        }
        group = f"nas-bench-bert-{_NOISE}" if task == _NOISE else "nas-bench-bert"
        tables.append(family.table(f"nas-bench-bert-{task}", rows.space, columns, cost="seconds", family=group))
    return tables


FAMILY = Family(
    name="nas-bench-bert",
    what="491 encoders (9 of them trained twice), GLUE and its 8 tasks",
    repository="aaronserianni/training-free-nas",
    commit="2d76e01b9586cad7340e8268dadba3056efd070b",
    path="data/BERT_benchmark.json",
    licence="CC BY 4.0",
    citation="NAS-Bench-BERT (Serianni and Kalita, ACL 2023)",
    files={_FILE: "36ae78d037123be3aa0c0596a1fdbb200c7ee99b4ee46f84ced378cfcb39c888"},
    tables=_tables,
)

"""Published columns that a user fetches, as more metrics of embedded tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nasbench.benchmarks.sources import Source
from nasbench.benchmarks.tabular import columns, open_table
from nasbench.benchmarks.tabular.added import Columns


@dataclass(frozen=True, kw_only=True)
class Addition(Source):
    """A file with a row per configuration, whose columns become metrics."""

    tables: tuple[str, ...]
    """Names of the tables that get the metrics."""
    key: str
    """The column that identifies the configuration of a row."""
    prefix: str
    """Prefix of the metrics' names."""
    unit: str
    """Unit of all metrics."""

    def columns(self, folder: Path) -> Iterator[tuple[str, Columns]]:
        """The metrics of each table, from a folder with the file. Raises UsageError if it cannot be read."""
        (file,) = self.files
        said = f"{self.citation}, licence {self.licence}"
        for name in self.tables:
            new = columns.read(open_table(name), folder / file, self.key, (), self.prefix, self.unit)
            metrics = tuple(replace(metric, description=f"{metric.description}: {said}") for metric in new.metrics)
            yield name, new._replace(metrics=metrics)


_LATENCY = Addition(
    name="nas-bench-201-latency",
    what="latency of the 15,625 cells of NAS-Bench-201 on 27 devices",
    repository="HayeonLee/HELP",
    commit="11970ec72b43a2500a2eb00a8436bd05eb14e776",
    path="data/nasbench201/latency",
    licence="MIT",
    citation="HELP (Lee et al., NeurIPS 2021)",
    files={"latencies.csv.gz": "c76c8863431a7d6930db04e3e6cd195d509333ac306a71290d506e87e0f1d09a"},
    tables=("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16"),
    key="arch_str",
    prefix="latency-",
    unit="ms",
)
ADDITIONS = {_LATENCY.name: _LATENCY}
"""Additions by their names for `nasbench data fetch`."""

"""Published columns that a user fetches, as more metrics of embedded tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.benchmarks.sources import Source
from nasbench.benchmarks.tabular import added, open_table
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

    def convert(self, folder: Path, every: bool = False) -> Iterator[tuple[str, Columns]]:
        """The metrics of each table, from a folder with the file. Raises UsageError if it cannot be read."""
        from nasbench.benchmarks.tabular import columns  # takes a while to import

        (file,) = self.files
        said = f"{self.citation}, licence {self.licence}"
        for name in self.tables:
            new = columns.read(open_table(name), folder / file, self.key, (), self.prefix, self.unit)
            metrics = tuple(replace(metric, description=f"{metric.description}: {said}") for metric in new.metrics)
            yield name, new._replace(metrics=metrics)

    def made(self, here: Sequence[str]) -> str:
        """The number of metrics that the tables have of it, in words."""
        try:
            metrics = {name for table in self.tables for name in added.names(table) if name.startswith(self.prefix)}
        except UsageError:
            return "damaged"
        return count(len(metrics), "metric") if metrics else ""


LATENCY = Addition(
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

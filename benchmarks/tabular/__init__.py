"""Benchmarks whose every configuration has been evaluated beforehand."""

from functools import partial

from nasbench.benchmarks.base import BENCHMARKS
from nasbench.benchmarks.tabular import embedded, imported
from nasbench.benchmarks.tabular.table import TabularBenchmark

__all__ = ["TabularBenchmark", "open_table"]


def open_table(name: str) -> TabularBenchmark:
    """Opens a table; one that the user imported stands in for the embedded one of its name."""
    return imported.open_imported(name) if name in imported.names() else embedded.open_embedded(name)


def _imported() -> dict[str, partial[TabularBenchmark]]:
    """The tables in the user's data folder, but for those that stand in for an embedded one."""
    return {name: partial(open_table, name) for name in imported.names() if name not in embedded.NAMES}


for _name in embedded.NAMES:
    BENCHMARKS.add(_name, partial(open_table, _name))
BENCHMARKS.add_later(_imported)

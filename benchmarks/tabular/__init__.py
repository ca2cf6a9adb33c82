"""Benchmarks whose every configuration has been evaluated beforehand."""

from functools import partial

from nasbench.benchmarks.base import BENCHMARKS
from nasbench.benchmarks.tabular import added, embedded, imported, nasbench_graph
from nasbench.benchmarks.tabular.table import TabularBenchmark

__all__ = ["EMBEDDED", "TabularBenchmark", "open_table"]


EMBEDDED = (*embedded.NAMES, *nasbench_graph.NAMES)
"""Names of the tables that come with the packages that are installed."""


def open_table(name: str) -> TabularBenchmark:
    """Opens a table; one that the user imported stands in for the embedded one of its name.

    Metrics that the user imported for it are added.
    """
    if name in imported.names():
        table: TabularBenchmark = imported.open_imported(name)
    elif name in embedded.NAMES:
        table = embedded.open_embedded(name)
    else:
        table = nasbench_graph.open_graph_table(name)
    added.add_to(table)
    return table


def _imported() -> dict[str, partial[TabularBenchmark]]:
    """The tables in the user's data folder, but for those that stand in for an embedded one."""
    return {name: partial(open_table, name) for name in imported.names() if name not in EMBEDDED}


for _name in EMBEDDED:
    BENCHMARKS.add(_name, partial(open_table, _name))
BENCHMARKS.add_later(_imported)
BENCHMARKS.advice["taskset-"] = "import the files of its task, nasbench import taskset FILE…"

"""Tabular benchmarks: all configurations have been evaluated beforehand."""

import logging
from collections.abc import Collection
from functools import partial

from nasbench.benchmarks.contract import BENCHMARKS
from nasbench.benchmarks.tabular import added, embedded, imported, learners, nasbench_graph
from nasbench.benchmarks.tabular.table import TabularBenchmark

__all__ = ["EMBEDDED", "TabularBenchmark", "open_table"]

_LOG = logging.getLogger("nasbench")

EMBEDDED = (*embedded.NAMES, *nasbench_graph.NAMES, *learners.NAMES)
"""Names of the tables that need no download: they come with this package, or with those that it depends on."""


def open_table(name: str) -> TabularBenchmark:
    """Opens a table, with the metrics that the user has added to it.

    An imported table replaces the embedded table of the same name.
    """
    if name in imported.names():
        table: TabularBenchmark = imported.open_imported(name)
    elif name in embedded.NAMES:
        table = embedded.open_embedded(name)
    elif name in learners.NAMES:
        table = learners.open_learner_table(name)
    else:
        table = nasbench_graph.open_graph_table(name)
    added.add_to(table)
    return table


def _imported(taken: Collection[str]) -> dict[str, partial[TabularBenchmark]]:
    """The tables in the user's data folder, except those that replace an embedded table.

    A table that was imported before another benchmark got its name is left out, with a warning.
    """
    tables = {}
    for name in imported.names():
        if name not in taken:
            tables[name] = partial(open_table, name)
        elif name not in EMBEDDED:
            _LOG.warning(
                "the imported table in %s is left out: %s is another benchmark's name; import it again under a name of "
                "its own, and delete that folder",
                imported.place_of(name),
                name,
            )
    return tables


for _name in EMBEDDED:
    BENCHMARKS.add(_name, partial(open_table, _name))
BENCHMARKS.add_last(_imported)
BENCHMARKS.advice["taskset-"] = "import the files of its task", "nasbench import taskset FILE…"

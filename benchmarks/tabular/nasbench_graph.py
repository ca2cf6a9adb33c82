"""The nine tables inside the PyPI package `nas-bench-graph`: networks for graphs on nine data sets.

The package stores one pickle per table, `{key: {metric: value}}`, with means over three seeds. A pickle is checked
against a recorded SHA-256 sum, read as plain data, and converted once.
"""

from __future__ import annotations

import io
from functools import cache, partial

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks.spaces.nasbench_graph import OPERATIONS, OPERATIONS_OF_PROTEINS, GraphNetworks
from nasbench.benchmarks.tabular import cache as converted
from nasbench.benchmarks.tabular import plain_pickle
from nasbench.benchmarks.tabular.embedded import package_folder, read_checked
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark

_LAYOUT = 1  # of the converted array; a new number makes all caches invalid
_SECONDS = 1.0
_PACKAGE = "nas-bench-graph==1.4.0"

# Name → SHA-256 of the package's file, digest of the converted array, family.
_TABLES = {
    "cora": (
        "5e69b2f9bb08d8927d9ffd4921f8494a3cea349c9c3a461334cb9dc9e11701a8",
        "ef8120bcd164fa810217e5c924d82003cb96ea6589b0e3ed2f5f38248aab8c7f",
        "nbgraph-cora-citeseer-pubmed",
    ),
    "citeseer": (
        "99c7f79b73372636305bf73fb32a58b63c57bd1871a152dd62ec72d984c8c50f",
        "dc4baf60436c1753432f13b3f02ea208239e8cd127c90728d2c14cd90f38706b",
        "nbgraph-cora-citeseer-pubmed",
    ),
    "pubmed": (
        "10b4dcf6cfd3a24f6059f7d541a4a872960b4adac0b3dba26abed1bb9a3d904d",
        "6b7b94375c02e0cb60da367e2053e03716c454c6354671e54a86646ad550d702",
        "nbgraph-cora-citeseer-pubmed",
    ),
    "cs": (
        "71ae8469930517160b024f52db6000a4897f1aff5d765beb27bb60952ed5bd31",
        "2712fc502af84640e19bf24319c2e2ecf0c2c2e251b1b4e0849d245ae9ade8ac",
        "nbgraph-cs-physics-photo",
    ),
    "physics": (
        "1e309bafee0b832c8b84fa3c039c36992bc0a910238b128f26b7e9190d7f2aea",
        "7f0c94f26d28dc7f2fe747b15e16b948773a2a56eaaab31bf12a11da605c8af4",
        "nbgraph-cs-physics-photo",
    ),
    "photo": (
        "5511b4dc3f63fa988792177227db7901290fb9b27fc6c02e3036b29e134ed6df",
        "a1b3bc1d641ab1669885832c56c9410a338ba5caa53b32ce98b26ae64abf1f1d",
        "nbgraph-cs-physics-photo",
    ),
    "computers": (
        "fdb3dc0cf405d62322f0ab9614b2083c2a5e6576c2f43e4f2214be64bc62b1b3",
        "fa13613c931feb82282a148d096db170c1a4137a6cae82982aef2bb3b9934adb",
        "nbgraph-computers-arxiv",
    ),
    "arxiv": (
        "7ee21a7653297a806c0ed1be3efe6ecc06acc84e48e942da0bfde0e5d287debe",
        "da8742d32d096c87024bbfaa5173b0ba67024442460dee961aafa892921ad774",
        "nbgraph-computers-arxiv",
    ),
    "proteins": (
        "b9e7fb0902bda44fec32c948e5fde822fb22d38d674c52e43ace5197378f2d21",
        "a516fd47a90796d3e81b93ca0e8756f85ef7fd9fd5db316f908c2720962cab66",
        "nbgraph-proteins",
    ),
}

NAMES = tuple(f"nbgraph-{data}" for data in _TABLES)
"""Names of all tables of NAS-Bench-Graph."""


def open_graph_table(name: str) -> TabularBenchmark:
    """Opens one table. Its values are read when they are needed, and converted into the cache once.

    Reading them raises UsageError if the package is not installed, or its file is not the recorded one.
    """
    data = name.removeprefix("nbgraph-")
    checksum, digest, family = _TABLES[data]
    space = _space(data == "proteins")
    return TabularBenchmark(
        name,
        family,
        space,
        _metrics("ROC AUC" if data == "proteins" else "accuracy"),
        partial(converted.load, f"{name}-{checksum[:12]}-v{_LAYOUT}", partial(_convert, data), digest),
        cost=_SECONDS,
        source=(
            "NAS-Bench-Graph (Qin, Zhang, Wang, Zhang and Zhu, NeurIPS 2022, datasets and benchmarks), as embedded in "
            "nas-bench-graph 1.4.0; means over 3 seeds; no training time is recorded: every evaluation costs "
            f"{_SECONDS:g} s"
        ),
        licence="Apache-2.0",
        checksum=f"sha256:{checksum}{space.revision}",
        absent="infeasible",
        search_space="nas-bench-graph",
    )


@cache
def _space(proteins: bool) -> GraphNetworks:
    return GraphNetworks(OPERATIONS_OF_PROTEINS if proteins else OPERATIONS)


def _metrics(score: str) -> tuple[Metric, ...]:
    return (
        Metric("valid-error", "%", description=f"100 x (1 - validation {score}), mean over 3 seeds", split="valid"),
        Metric("test-error", "%", description=f"100 x (1 - test {score}), mean over 3 seeds", split="test"),
        Metric("latency", "s", description="latency of the whole graph, as recorded"),
        Metric("model_size", "M parameters", description="number of parameters", cheap=True),
    )


def _convert(data: str) -> Array:
    """The package's pickle as an array (configurations, 1, metrics)."""
    path = package_folder("nas_bench_graph", _PACKAGE) / "light" / f"{data}.bench"
    records = plain_pickle.load(io.BytesIO(read_checked(path, _TABLES[data][0], _PACKAGE)))
    keys = _space(data == "proteins").keys.tolist()
    if set(keys) != set(records):
        raise UsageError(f"{path} does not list the networks of its space: reinstall {_PACKAGE}")
    columns = {name: np.array([records[key][name] for key in keys], float) for name in records[keys[0]]}
    errors = [100.0 * (1.0 - columns[name]) for name in ("valid_perf", "perf")]
    return np.stack([*errors, columns["latency"], columns["para"]], axis=1)[:, None]

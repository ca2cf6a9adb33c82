"""Published tables that a user fetches, one module per family."""

from nasbench.benchmarks.contract import BENCHMARKS
from nasbench.benchmarks.families import (
    accel_nasbench,
    additions,
    arlbench,
    channel_bench,
    ec_nas,
    nas_bench_bert,
    nas_bench_macro,
    nas_bench_mr,
    transnas,
)
from nasbench.benchmarks.families._family import Family
from nasbench.benchmarks.sources import SOURCES

__all__ = ["Family"]

for _family in (
    nas_bench_mr.FAMILY,
    arlbench.FAMILY,
    accel_nasbench.FAMILY,
    *transnas.FAMILIES,
    nas_bench_bert.FAMILY,
    ec_nas.FAMILY,
    nas_bench_macro.FAMILY,
    *channel_bench.FAMILIES,
):
    SOURCES.add(_family.name, _family)
    _from = "" if _family.can_be_downloaded else " --from FOLDER"
    BENCHMARKS.advice[_family.name] = "it is a published table", f"nasbench data fetch {_family.name}{_from}"
SOURCES.add(additions.LATENCY.name, additions.LATENCY)

"""Published tables that a user fetches, one module per family."""

from nasbench.benchmarks.tabular.families import (
    accel_nasbench,
    arlbench,
    channel_bench,
    ec_nas,
    nas_bench_bert,
    nas_bench_macro,
    nas_bench_mr,
    transnas,
)
from nasbench.benchmarks.tabular.families.family import Family

__all__ = ["FAMILIES", "Family"]

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        nas_bench_mr.FAMILY,
        arlbench.FAMILY,
        accel_nasbench.FAMILY,
        *transnas.FAMILIES,
        nas_bench_bert.FAMILY,
        ec_nas.FAMILY,
        nas_bench_macro.FAMILY,
        *channel_bench.FAMILIES,
    )
}
"""Families by their names for `nasbench data fetch`."""

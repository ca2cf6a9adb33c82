"""The critical-difference diagram of expected ranks."""

from __future__ import annotations

import numpy as np

from nasbench.base.numbers import count
from nasbench.results.display.diagrams import Bar, critical_differences
from nasbench.results.display.look import looks
from nasbench.results.display.scene import Scene
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.statistics.wilcoxon import cliques
from nasbench.results.verdict.leading import full_name


def critical_difference(comparison: Comparison, width: float | None = None) -> Scene | None:
    """Expected ranks with both intervals; None without ranks of two methods.

    Thick bars join methods without a significant difference on these benchmarks, thin bars on new tasks.

    Args:
        width: see `critical_differences`.
    """
    overall = comparison.overall
    size = len(overall.ranks)
    if size < 2:
        return None
    methods = [rank.method for rank in overall.ranks]
    values = np.array([rank.these.value for rank in overall.ranks])
    pair_of = [[overall.pair(a, b) if a != b else None for b in methods] for a in methods]
    bars = []
    if overall.ranks[0].these.known:
        for is_thick in (True, False):
            if is_thick or overall.unit:
                differ = np.array([[p is not None and _differ(p, is_thick) for p in row] for row in pair_of])
                bars += [Bar(clique, is_thick) for clique in cliques(values, differ)]
    whiskers = [
        np.array([estimate.interval(1.0, size) for estimate in estimates])
        for estimates in ([r.these for r in overall.ranks], [r.new for r in overall.ranks])
    ]
    title = (
        f"expected rank, {count(len(overall.complete), 'setting')}; bars: no significant difference, thick on these "
        "benchmarks, thin on new tasks"
    )
    names = tuple(full_name(comparison, overall, m) for m in methods)
    every = looks(comparison.curves.methods)
    return critical_differences(values, bars, names, title, [every[m] for m in methods], whiskers, width=width)


def _differ(pair: Pair, on_these: bool) -> bool:
    return (pair.verdict if on_these else pair.verdict_new) != 0

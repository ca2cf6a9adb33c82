"""Expected ranks with their intervals and places."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed, interval, listed, point
from nasbench.results.display.panels import Panel, Series, span
from nasbench.results.display.table import Table
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.ranks import Rank


def table(comparison: Comparison) -> Table:
    """Expected rank of each method at the checkpoints, with both intervals and the possible places at the end."""
    curves, methods = comparison.curves, comparison.methods
    points = [point(p, curves.unit) for p in comparison.checkpoints]
    values = comparison.ranks(curves.at(comparison.checkpoints))
    ranks = [comparison.overall.rank_of(m) for m in range(len(methods))]
    data = pd.DataFrame({"method": methods} | {name: values[:, i] for i, name in enumerate(points)})
    count = len(comparison.overall.kinds)
    unknown = np.nan, np.nan
    data[["low", "high"]] = [unknown if r is None else r.these.interval(1.0, count) for r in ranks]
    data[["low_new", "high_new"]] = [unknown if r is None else r.new.interval(1.0, count) for r in ranks]
    data["first"] = [np.nan if r is None else r.first for r in ranks]
    data["last"] = [np.nan if r is None else r.last for r in ranks]
    data["same_as"] = [methods[kind[0]] if m != kind[0] else "" for m, kind in _kinds(comparison)]
    kinds = comparison.overall.kinds
    rows = sorted(kinds, key=lambda kind: (np.nan_to_num(values[kind[0], -1], nan=np.inf), kind[0]))
    firsts = [kind[0] for kind in rows]
    shown = pd.DataFrame({"method": [" = ".join(methods[m] for m in kind) for kind in rows]})
    for i, name in enumerate(points):
        shown[name] = [fixed(values[m, i]) for m in firsts]
    shown["CI (these)"] = [interval((data["low"][m], data["high"][m])) for m in firsts]
    shown["CI (new)"] = [interval((data["low_new"][m], data["high_new"][m])) for m in firsts]
    shown["place"] = [_place(ranks[m]) for m in firsts]
    bold = np.zeros(shown.shape, bool)
    if firsts and np.isfinite(values).any():
        bold[:, len(points)] = np.isclose(values[firsts, -1], np.nanmin(values[:, -1]), rtol=0, atol=1e-9)
    title = f"Which method is first? Expected rank after a number of {curves.unit} (1 is best)"
    return Table("ranks", title, _note(comparison), data, shown, bold, _marks(comparison))


def over_budget(comparison: Comparison, points: int) -> Panel:
    """Expected rank of each method against the budget."""
    curves = comparison.curves
    at = comparison.along(points)
    values = comparison.ranks(curves.at(at))
    kinds = comparison.overall.kinds
    bands = comparison.rank_bands(curves.at(at))
    series = tuple(
        Series(m, values[m], bands[m, :, 0], bands[m, :, 1]) for m, *_ in kinds if np.isfinite(values[m]).any()
    )
    label = f"expected rank over {count(len(comparison.overall.complete), 'setting')}"
    return Panel(f"Over {curves.unit}", curves.unit, label, at, series, span(series), best_on_top=True)


def _kinds(comparison: Comparison) -> list[tuple[int, tuple[int, ...]]]:
    """Each method with its class of identical methods."""
    return sorted((m, kind) for kind in comparison.overall.kinds for m in kind)


def _place(rank: Rank | None) -> str:
    if rank is None or not rank.these.known:
        return "-"
    return f"{rank.first}" if rank.first == rank.last else f"{rank.first}-{rank.last}"


def _note(comparison: Comparison) -> str:
    curves = comparison.curves
    what = comparison.score.note
    if curves.compared is not comparison.score:
        what = "What is compared is the incumbent's observed objective, for no means over repetitions are known"
    return (
        f"{what}. Expected rank: 1 + the sum of the probabilities that a run of each other method is better, over "
        f"{count(len(comparison.overall.complete), 'setting')} that have all methods; search spaces weigh the same. A "
        f"run that has found nothing feasible loses to any that has. place: what significant "
        "differences leave open."
    )


def _marks(comparison: Comparison) -> str:
    names = [[comparison.methods[m] for m in kind] for kind in comparison.overall.kinds if len(kind) > 1]
    told = [f"{listed(kind)} are one method here: their incumbents are always the same." for kind in names]
    overall = comparison.overall
    if overall.complete.size and not overall.ranks[0].these.known:
        told.append("Fewer than five seeds are common to all: no intervals.")
    if not overall.unit and overall.complete.size and overall.ranks[0].these.known:
        told.append("One benchmark says nothing about new tasks.")
    told.append("CI: 95 % confidence interval, (these) on these benchmarks, (new) on new tasks.")
    return " ".join(told)

"""The search logs of a report's runs and the networks drawn from them, and their statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nasbench.results.curves import Curves
from nasbench.results.display.look import Look, looks
from nasbench.results.parts.logged import groups, logged
from nasbench.results.store import Store
from nasbench.results.store.archive import ArchivedFragment
from nasbench.results.store.fragment import Fragment
from nasbench.results.subject import rows_of

DECIDED = 0.99
"""Probability from which a choice counts as decided."""
KEPT = 0.9
"""A search with at least this cosine between α at the end and α after the first epoch has kept its direction."""
_NEEDED = {"seconds", "drawn_parameters"}


@dataclass(frozen=True, eq=False)
class Searches:
    """The searches of a report's runs; settings and methods are numbered as in its curves."""

    settings: pd.DataFrame
    """One row per setting: bench, constraint, family."""
    methods: tuple[str, ...]
    """Their names: the labels that a report or a suite gives."""
    specs: tuple[str, ...]
    """Their specifications, name and options."""
    looks: tuple[Look, ...]
    log: pd.DataFrame
    """Setting, method, seed, and the columns of `trajectory.LOG`; seeds in order, epochs ascending."""
    networks: pd.DataFrame
    """One row per evaluation that is ok: setting, method, seed, parameters, parameters_paper, accuracy (on the test
    split, at the epoch with the best validation), optimistic (the best of all epochs; NaN if not recorded)."""


def load(chosen: Sequence[tuple[Store, Fragment]], curves: Curves) -> Searches | None:
    """The one-shot searches of some fragments (`select`); None if there are none.

    Other methods also have logs: one-shot searches are recognised by logged seconds and sizes of drawn networks.
    """
    log = logged(chosen, curves, _NEEDED)
    if log.empty:
        return None
    networks, seen = [], set[tuple[str, int]]()
    for _, f in chosen:
        place = curves.place_of(f.setup)
        if place is None or isinstance(f, ArchivedFragment):  # archives keep no evaluations
            continue
        fresh = [run.seed for run in f.runs if (f.setup.id, run.seed) not in seen]
        seen |= {(f.setup.id, seed) for seed in fresh}
        of_fragment = _networks(f)
        networks.append(of_fragment[of_fragment["seed"].isin(fresh)].assign(setting=place[0], method=place[1]))
    log = log.sort_values(["setting", "method", "seed", "epoch"], kind="stable", ignore_index=True)
    settings = curves.settings[["bench", "constraint", "family"]]
    return Searches(
        settings, curves.names, curves.methods, looks(curves.methods), log, pd.concat(networks, ignore_index=True)
    )


def _networks(f: Fragment) -> pd.DataFrame:
    columns = {"parameters": "metric.parameters", "parameters_paper": "metric.parameters_paper"}
    for name in f.setup.setting.test_metrics:
        columns |= {"accuracy": f"metric.{name}"} if name.startswith("test-error@") else {}
        columns |= {"optimistic": f"metric.{name}"} if name.startswith("test-error-optimistic@") else {}
    known = {f"metric.{name}" for name in f.setup.metrics}
    present = {name: column for name, column in columns.items() if column in known}
    names = ["seed", "status", *present.values()]
    rows = rows_of(f, names, full_only=False)
    table = pd.DataFrame(columns=names) if rows is None else rows.to_pandas()
    table = table[table["status"] == "ok"]
    networks = pd.DataFrame({"seed": table["seed"]})
    for name in ("parameters", "parameters_paper", "accuracy", "optimistic"):
        networks[name] = table[present[name]] if name in present else np.nan
    networks[["accuracy", "optimistic"]] = 100 - networks[["accuracy", "optimistic"]]
    return networks


def probabilities(searches: Searches, quantity: str) -> pd.DataFrame:
    """The rows of the log that are distributions over `operation`, `kernel` or `depth`."""
    return searches.log[searches.log["quantity"] == quantity]


def sharpness(searches: Searches) -> pd.DataFrame:
    """Sharpness of the distributions over operations: setting, method, seed, epoch, entropy, decided.

    entropy: entropy of an edge's distribution, as a share of the uniform one's, averaged over edges; decided: share of
    edges with an operation of probability 0.99 or more.
    """
    rows = probabilities(searches, "operation")
    keys = ["setting", "method", "seed", "epoch"]
    p = rows["value"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, -p * np.log(p), 0.0)
    edges = rows[[*keys, "stage", "edge"]].assign(entropy=terms, most=p, choices=1)
    by_edge = edges.groupby([*keys, "stage", "edge"]).agg({"entropy": "sum", "most": "max", "choices": "sum"})
    by_edge["entropy"] /= np.log(by_edge["choices"])
    by_edge["decided"] = by_edge["most"] >= DECIDED
    return by_edge.groupby(keys)[["entropy", "decided"]].mean().reset_index()


def summary(searches: Searches) -> pd.DataFrame:
    """One row per setting and method with searches.

    Columns: setting, method, seeds, epochs, seconds (median of the searches), seconds_epoch (median of all epochs),
    parameters (expected at the end, median), entropy and decided (at the end, mean; these three are NaN if no
    architecture was trained), drawn (parameters of drawn networks, median), within (their share within the bounds; NaN
    without bounds), direct and implicit (medians of the absolute terms of the zeroth-order estimate; NaN for other
    methods), first_s and later_s (|s| of the first estimate, median over seeds, and median after the first epoch), kept
    (cosine between α at the end and after the first epoch, median over seeds; NaN in logs that lack it).
    """
    last = sharpness(searches).groupby(["setting", "method", "seed"]).tail(1)
    rows = []
    for (setting, method), group in groups(searches.log, "setting", "method"):
        values = {str(name): rows for name, rows in group.groupby("quantity")}
        end = last[(last["setting"] == setting) & (last["method"] == method)]
        seconds = values["seconds"].groupby("seed")["value"].sum()
        drawn = values["drawn_parameters"] if "drawn_parameters" in values else group[:0]
        row = {"setting": setting, "method": method, "seeds": len(seconds), "epochs": values["seconds"]["epoch"].max()}
        row |= {"seconds": seconds.median(), "seconds_epoch": values["seconds"]["value"].median()}
        sizes = values["expected_parameters"] if "expected_parameters" in values else group[:0]
        row |= {"parameters": sizes.groupby("seed")["value"].last().median()}
        row |= {"entropy": end["entropy"].mean(), "decided": end["decided"].mean()}
        limits = bounds(searches, setting, method)
        row |= {"drawn": drawn["value"].median(), "within": np.nan}
        if limits is not None and len(drawn):
            row["within"] = drawn["value"].between(*limits).mean()
        for name in ("direct", "implicit"):
            row[name] = values[name]["value"].abs().median() if name in values else np.nan
        row["first_s"], row["later_s"] = _sizes_of_estimates(values)
        row["kept"] = np.nan
        if "kept_direction" in values:
            row["kept"] = values["kept_direction"].groupby("seed")["value"].last().median()
        rows.append(row)
    return pd.DataFrame(rows)


def _sizes_of_estimates(values: dict[str, pd.DataFrame]) -> tuple[float, float]:
    """|s| of the first zeroth-order estimate, and median |s| after the first epoch; NaN without estimates."""
    if not {"direct", "implicit"} <= values.keys():
        return math.nan, math.nan
    direct, implicit = (values[name].set_index(["seed", "epoch", "step"])["value"] for name in ("direct", "implicit"))
    s = (direct + implicit).abs().sort_index().reset_index(name="s")
    return s.groupby("seed")["s"].first().median(), s[s["epoch"] > 1]["s"].median()


def bounds(searches: Searches, setting: int, method: int) -> tuple[float, float] | None:
    """The bounds on the number of parameters of a method's networks; None without bounds."""
    log = searches.log
    rows = log[(log["setting"] == setting) & (log["method"] == method)]
    ends = [rows[rows["quantity"] == name]["value"] for name in ("lower_bound", "upper_bound")]
    return None if ends[0].empty else (float(ends[0].iloc[0]), float(ends[1].iloc[0]))

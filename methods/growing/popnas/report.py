"""Searches that grow networks level by level: predicted and measured fronts, and published results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nasbench.base.fronts import nondominated
from nasbench.base.numbers import number
from nasbench.results.display.table import Table
from nasbench.results.literature import Paper
from nasbench.results.parts.logged import groups, logged
from nasbench.results.parts.part import PARTS, Drawn, Part, plain
from nasbench.results.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEEDED = {"candidates", "front_objective", "front_seconds"}
_SHOWN = 0.9  # of the objectives of a figure: those that are worse lie above it


@PARTS.register("levels")
@plain(61)
def part(subject: Subject) -> Part | None:
    """The part; None if no method logs levels with their fronts."""
    log = logged(subject.fragments, subject.curves, _NEEDED)
    if log.empty:
        return None
    papers = [paper for paper in subject.literature.papers if "progressive" in paper]
    tables = [levels(subject, log), *(table for paper in papers for table in beside_published(subject, log, paper))]
    title = "Searches that grow level by level"
    return Part("levels", title, tables, figures=partial(drawn, subject, log))


def levels(subject: Subject, log: pd.DataFrame) -> Table:
    """The candidates of each level, the evaluated networks, and the rank correlations of predictions."""
    rows = []
    for (setting, method, level), group in groups(log, "setting", "method", "stage"):
        values = {str(name): part["value"] for name, part in group.groupby("quantity")}
        nothing = pd.Series(dtype=float)
        rounds = group[group["quantity"] == "candidates"].groupby("seed").size()
        evaluated = group[group["quantity"] == "front_objective"].groupby("seed").size()
        facts = subject.curves.settings.iloc[setting]
        rows.append(
            {
                "bench": facts["bench"],
                "constraint": facts["constraint"],
                "method": subject.curves.names[method],
                "level": level,
                "seeds": group["seed"].nunique(),
                "rounds": rounds.median(),
                "candidates": values["candidates"].median(),
                "front": values["front"].median(),
                "exploration": values["exploration"].median(),
                "evaluated": evaluated.median(),
                "spearman_objective": values.get("spearman_objective", nothing).median(),
                "spearman_seconds": values.get("spearman_seconds", nothing).median(),
            }
        )
    data = pd.DataFrame(rows)
    shown = data.drop(columns="exploration").rename(columns={"bench": "benchmark"})
    for column in ("rounds", "candidates", "front", "evaluated"):
        shown[column] = data[column].map("{:,.0f}".format)
    for column, name in (("spearman_objective", "ρ objective"), ("spearman_seconds", "ρ seconds")):
        shown[name] = data[column].map(lambda value: number(value, 2) if np.isfinite(value) else "-")
        shown = shown.drop(columns=column)
    note = (
        "rounds: fits of the predictors; the last level goes on until the budget ends. candidates: networks that a "
        "round predicted; front: those of them on the predicted Pareto front; evaluated: trained to the end in all "
        "rounds of the level. ρ: Spearman's rank correlation between predicted and measured, over what a round "
        "evaluated. Medians over rounds and seeds."
    )
    return Table("levels", "Levels of progressive searches", note, data, shown.astype({"level": str, "seeds": str}))


def drawn(subject: Subject, log: pd.DataFrame) -> Iterator[Drawn]:
    """One figure per setting and method: the first seed's networks by level."""
    for (setting, method), every in groups(log, "setting", "method"):
        facts = subject.curves.settings.iloc[setting]
        name = subject.curves.methods[method]
        search = every[every["seed"] == every["seed"].min()]
        yield (
            (f"levels-{name}", facts["bench"], facts["constraint"]),
            _figure(search, facts, subject.curves.names[method]),
        )


def points(search: pd.DataFrame, suffix: str = "") -> pd.DataFrame:
    """The networks of one search as rows: epoch, stage, choice, seconds, objective; measured, or `_predicted`."""
    keys = ["epoch", "step"]
    both = [search[search["quantity"] == f"front_{name}{suffix}"].set_index(keys) for name in ("seconds", "objective")]
    rows = both[0][["stage", "choice"]].assign(seconds=both[0]["value"], objective=both[1]["value"])
    return rows.dropna(subset=["seconds", "objective"]).reset_index()


def _figure(search: pd.DataFrame, facts: pd.Series, method: str) -> Figure:
    from matplotlib.figure import Figure  # which is heavy

    from nasbench.results.display.look import numbered
    from nasbench.results.display.plots import styled

    measured, predicted = points(search), points(search, "_predicted")
    stages = sorted(set(measured["stage"].astype(int)))
    with styled():
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        axes = figure.subplots()
        for look, stage in zip(numbered(len(stages)), stages, strict=True):
            at = measured[measured["stage"] == stage]
            axes.scatter(
                at["seconds"], at["objective"], s=14, color=look.colour, marker=look.marker, label=f"level {stage}"
            )
            first = predicted[(predicted["stage"] == stage) & (predicted["choice"] == "front")]
            first = first[first["epoch"] == first["epoch"].min()].sort_values("seconds")
            if len(first):
                axes.plot(first["seconds"], first["objective"], "--", color=look.colour, linewidth=1)
        front = nondominated(measured[["seconds", "objective"]].to_numpy(float))
        axes.step(front[:, 0], front[:, 1], where="post", color="black", linewidth=1.2, label="front")
        low, high = front[:, 1].min(), max(np.quantile(measured["objective"], _SHOWN), front[:, 1].max())
        margin = 0.05 * (high - low) or 1.0
        axes.set(xlabel="seconds of a training", ylabel=facts["objective"], ylim=(low - margin, high + margin))
        constraint = "" if facts["constraint"] == "none" else f", {facts['constraint']}"
        axes.set_title(
            f"{method} on {facts['bench']}{constraint}, seed {search['seed'].iloc[0]}; dashed: predicted", fontsize=8
        )
        figure.legend(loc="outside lower center", ncols=len(stages) + 1, frameon=False)
        return figure


def beside_published(subject: Subject, log: pd.DataFrame, paper: Paper) -> list[Table]:
    """Published results of these methods beside the final networks of our runs; empty for papers on other methods."""
    curves, rows = subject.curves, []
    for (setting, method), runs in curves.groups.items():
        facts, name = curves.settings.iloc[setting], curves.methods[method].partition(":")[0]
        searches = log[(log["setting"] == setting) & (log["method"] == method)]
        if searches.empty or name not in paper["progressive"] or facts["family"] not in paper["benchmarks"]:
            continue
        known, title = paper["progressive"][name], paper["benchmarks"][facts["family"]]
        tested = pd.DataFrame([metrics for metrics in curves.runs["test_metrics"].iloc[runs] if metrics])
        errors = [c for c in tested.columns if c.startswith("test-error@")]
        accuracy = 100 - tested[errors[0]].to_numpy(float) if errors else np.array([np.nan])
        rows.append(
            {
                "bench": facts["bench"],
                "constraint": facts["constraint"],
                "method": curves.names[method],
                "published_as": f"{known}, {title}",
                "accuracy_published": paper["accuracy"][known][title][0],
                "accuracy_published_std": paper["accuracy"][known][title][1],
                "parameters_published": paper["parameters"][known][title][0],
                "seconds_published": paper["seconds"][known][title],
                "accuracy": float(np.nanmean(accuracy)) if np.isfinite(accuracy).any() else np.nan,
                "runs": len(runs),
                "evaluations": curves.evaluations,
            }
        )
    if not rows:
        return []
    data = pd.DataFrame(rows)
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "paper %": [f"{m:g}±{s:g}" for m, s in data[["accuracy_published", "accuracy_published_std"]].to_numpy()],
            "paper M": data["parameters_published"].map("{:g}".format),
            "paper s": data["seconds_published"].map("{:,.0f}".format),
            "ours %": data["accuracy"].map(lambda value: number(value, 3)),
            "runs": data["runs"].astype(str),
        }
    )
    note = (
        f"{paper['source']}{paper['progressive_note']} Paper: test accuracy, millions of parameters, seconds of a "
        f"search. Ours: mean over runs of the test accuracy, after {curves.evaluations} evaluations, of the network "
        "that validation chose, as the search trained it, without a training of its own afterwards."
    )
    return [
        Table(
            "published-levels",
            "Published progressive searches, of a protocol that is not told, beside ours",
            note,
            data,
            shown,
        )
    ]

"""Published numbers beside ours for the same comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, number
from nasbench.results.curves import Array, Curves
from nasbench.results.display.table import Table
from nasbench.results.literature import Paper
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.summaries import medians as medians_of
from nasbench.results.statistics.wilcoxon import relative_differences
from nasbench.results.subject import Subject


@PARTS.register("published")
@plain(55)
def part(subject: Subject) -> Part | None:
    """The part; None if no paper has numbers of these methods and settings, or another metric is compared."""
    if not subject.curves.score.is_of_objective:
        return None
    papers = subject.literature.papers
    tables = _wins(subject.curves, subject.comparison.baseline, papers) + _scores(subject.curves, papers)
    return Part("published", "Published beside reproduced", tables) if tables else None


def beside(curves: Curves, baseline: int, papers: Sequence[Paper]) -> list[tuple[Paper, pd.DataFrame]]:
    """The papers with our baseline and some of our settings, each with one row per row of the paper.

    Columns: method, published_as, table, settings, evaluations, published_pairs, published (wins/losses/ties), pairs,
    wins, losses, ties (ours; zero without runs of the method on these settings).
    """
    matches = []
    for paper in papers:
        if paper.get("baseline") == curves.methods[baseline]:
            at = {n: curves.incumbent[:, n - 1] for n in paper["evaluations"] if n <= curves.evaluations}
            medians = {n: medians_of(curves, values[:, None])[:, :, 0] for n, values in at.items()}
            rows = [row for published in paper["rows"] for row in _rows(curves, medians, baseline, published, paper)]
            if any(row["pairs"] for row in rows):
                matches.append((paper, pd.DataFrame(rows)))
    return matches


def scores(curves: Curves, papers: Sequence[Paper]) -> list[tuple[Paper, pd.DataFrame]]:
    """The papers with scores of our methods and data sets, each with one row per score.

    Columns: benchmark, published_as, method, published_method, published, published_std, ours (the median over seeds of
    the final objective without a constraint), evaluations.
    """
    matches = []
    medians = medians_of(curves, curves.incumbent[:, -1:])
    places = curves.settings[["bench", "constraint"]].to_numpy().tolist()
    for paper in papers:
        rows = [
            {
                "benchmark": bench,
                "published_as": paper["benchmarks"][bench],
                "method": name,
                "published_method": paper["methods"][name],
                **dict(zip(("published", "published_std"), _score(paper, bench, name), strict=True)),
                "ours": float(medians[setting, method, -1]),
                "evaluations": curves.evaluations,
            }
            for setting, (bench, constraint) in enumerate(places)
            for method, name in enumerate(curves.methods)
            if constraint == "none" and "scores" in paper and bench in paper["benchmarks"] and name in paper["methods"]
        ]
        if rows:
            matches.append((paper, pd.DataFrame(rows)))
    return matches


def _score(paper: Paper, bench: str, method: str) -> tuple[float, float]:
    mean, deviation = paper["scores"][paper["methods"][method]][paper["benchmarks"][bench]]
    return mean, deviation


def _rows(
    curves: Curves, medians: dict[int, Array], baseline: int, published: dict[str, Any], paper: Paper
) -> list[dict[str, Any]]:
    names = curves.settings[["bench", "constraint"]].to_numpy().tolist()
    settings = [i for i, (bench, c) in enumerate(names) if bench in paper["ours"] and _is_meant(c, published)]
    rows = []
    for evaluations, numbers in zip(paper["evaluations"], published["wins_losses_ties"], strict=True):
        row = {name: published[name] for name in ("method", "published_as", "table", "settings")}
        row |= {"evaluations": evaluations, "published_pairs": published["pairs"]}
        row |= {"published": "/".join(map(str, numbers)), "pairs": 0, "wins": 0, "losses": 0, "ties": 0}
        if published["method"] in curves.methods and evaluations in medians and settings:
            pair = medians[evaluations][np.ix_(settings, [curves.methods.index(published["method"]), baseline])]
            of_method, of_baseline = pair[~np.isnan(pair).any(axis=1)].T
            differences = relative_differences(of_method, of_baseline)
            wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
            pairs = len(differences)
            row |= {"pairs": pairs, "wins": wins, "losses": losses, "ties": pairs - wins - losses}
        rows.append(row)
    return rows


def _is_meant(label: str, published: dict[str, Any]) -> bool:
    """Whether a constraint's label belongs to the settings of a published row."""
    if label == "none" or "<=" in label or ">=" in label:
        return False
    parts = [part.rpartition("@") for part in label.split("+")]
    if "quantile" in published:
        return {float(quantile) for _, _, quantile in parts} == {published["quantile"]}
    wanted: list[str] = published["metrics"]
    return sorted(metric for metric, _, _ in parts) == wanted


def differences(curves: Curves, paper: Paper) -> str:
    """The differences between our protocol and the paper's, derived from the runs."""
    benches = curves.settings["bench"].nunique()
    splits = ", ".join(sorted({f"{f}: {s or 'unnamed'}" for f, s in curves.settings[["family", "split"]].to_numpy()}))
    parts = [
        f"Reproduced: {curves.protocol} a run, {count(curves.seeds, 'seed')} (published: {paper['seeds']})",
        f"{count(benches, 'benchmark')} (published: {paper['benchmarks']})",
        f"splits of the objective: {splits}",
        "counted the same way on the settings here that the row is about",
    ]
    return "; ".join(parts) + "."


def _wins(curves: Curves, baseline: int, papers: Sequence[Paper]) -> list[Table]:
    """Published wins, losses and ties, and ours for the same method and settings: one table per paper."""
    tables = []
    for paper, data in beside(curves, baseline, papers):
        ours = [f"{r['wins']}/{r['losses']}/{r['ties']}" if r["pairs"] else "no runs" for r in data.to_dict("records")]
        shown = pd.DataFrame(
            {
                "method": data["method"],
                "table": data["table"].astype(str),
                "settings": data["settings"],
                "evals": data["evaluations"].astype(str),
                "published": data["published"],
                "of": data["published_pairs"].astype(str),
                "reproduced": ours,
                "pairs": data["pairs"].astype(str),
            }
        )
        title = f"Published beside reproduced: {paper['baseline']}"
        note = f"{paper['source']}. {paper['note']} {differences(curves, paper)}"
        tables.append(Table("published", title, note, data, shown))
    return tables


def _scores(curves: Curves, papers: Sequence[Paper]) -> list[Table]:
    """Published scores, and ours of the same method on data of the same name: one table per paper."""
    made = []
    for paper, data in scores(curves, papers):
        shown = pd.DataFrame(
            {
                "benchmark": data["benchmark"],
                "method": data["method"],
                "published as": data["published_method"] + ", " + data["published_as"],
                "published": [f"{m:g} ± {s:g}" for m, s in data[["published", "published_std"]].to_numpy()],
                "ours": data["ours"].map(number),
            }
        )
        note = (
            f"{paper['source']}. {paper['note']} Ours: the objective after {curves.evaluations} evaluations, median "
            "over seeds."
        )
        title = "Published scores, of another protocol, beside ours"
        made.append(Table("published-scores", title, note, data, shown))
    return made

"""Tables of searches, and of published results beside ours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed, number
from nasbench.methods.oneshot.report.logs import DECIDED, KEPT, Searches, summary
from nasbench.results.display.table import Table
from nasbench.results.literature import Paper
from nasbench.results.parts.logged import groups


def searched(searches: Searches) -> Table:
    """Costs and results of each method's searches."""
    data = _named(searches, summary(searches))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "seeds": data["seeds"].astype(str),
            "epochs": data["epochs"].astype(str),
            "s": data["seconds"].map(_seconds),
            "s/epoch": data["seconds_epoch"].map(_seconds),
            "entropy": data["entropy"].map(fixed),
            "decided %": (100 * data["decided"]).map(lambda value: fixed(value, 0)),
            "drawn": data["drawn"].map("{:,.0f}".format),
            "within %": (100 * data["within"]).map(lambda value: number(value, 3)),
        }
    )
    note = (
        "s: of a search's epochs, on the run's clock, median over seeds, without scoring after them; s/epoch: of an "
        "epoch. entropy: of the operations of an "
        "edge at the end, 1 where all are alike, 0 where one is left; decided: edges on which one operation has "
        f"{DECIDED:g} or more; both - where no architecture was trained. drawn: median parameters of up to 300 "
        "networks drawn from each search, dead ones aside, whatever their size (where it ranks paths within the "
        "bounds: of the best); within: how many of them lie between "
        "the bounds, - where the search had none. The file "
        "also has the expected parameters at the end, and the medians of the parts of the zeroth-order estimate."
    )
    return Table("searches", "Searches of one-shot methods", note, data, shown)


def directions(searches: Searches) -> list[Table]:
    """Whether searches kept the direction of their first epoch; empty if no log has it."""
    data = _named(searches, summary(searches))
    data = data[data["kept"].notna()].reset_index(drop=True)
    if data.empty:
        return []
    kept = data["kept"] >= KEPT
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "first |s|": data["first_s"].map(lambda value: number(value, 3)),
            "later |s|": data["later_s"].map(lambda value: number(value, 3)),
            "cosine": data["kept"].map("{:.2f}".format),
            "α": ["kept its first direction" if is_kept else "left its first direction" for is_kept in kept],
        }
    )
    note = (
        "|s|: size of the zeroth-order estimate: the first one (median over seeds), and the median of those after the "
        f"first epoch. cosine: between α at the end and α after the first epoch, median over seeds; from {KEPT:g} on, "
        "what the search draws from is what its first estimates happened to say, and it has learned nothing later. A "
        "search that left its first direction has moved, which noise does too: that it learned can only be said where "
        "its networks are better than those of estimate=noise and of one-shot-random in the same report."
    )
    columns = ["bench", "constraint", "method", "seeds", "first_s", "later_s", "kept"]
    return [Table("search-directions", "What searches learned after their first epoch", note, data[columns], shown)]


def beside_published(searches: Searches, paper: Paper) -> list[Table]:
    """Published searches beside our runs of the same methods, data sets and recipes; empty without such runs.

    The other methods of their settings are there too, without published numbers: what a search must beat is among them.
    """
    times = summary(searches).set_index(["setting", "method"])["seconds"].to_dict()
    names = {
        (setting, method): _published_name(searches, setting, method, paper)
        for (setting, method), _ in groups(searches.networks, "setting", "method")
        if searches.settings["family"].iloc[setting] in paper["benchmarks"]
        and searches.settings["bench"].iloc[setting].partition("/")[2] in paper["recipes"]
    }
    settings = {setting for (setting, _), name in names.items() if name is not None}
    rows = []
    for (setting, method), networks in groups(searches.networks, "setting", "method"):
        if setting not in settings:
            continue
        name = names[setting, method]
        title = paper["benchmarks"][searches.settings["family"].iloc[setting]]
        accuracy_published = paper["accuracy"][name][title] if name else (np.nan, np.nan)
        is_optimistic = bool(networks["optimistic"].notna().all())
        accuracy = networks["optimistic" if is_optimistic else "accuracy"]
        paid = networks["parameters_paper"] / 1e6
        rows.append(
            {
                "setting": setting,
                "method": method,
                "published_as": f"{name}, {title}" if name else "",
                "networks": len(networks),
                "accuracy_published": accuracy_published[0],
                "accuracy_published_std": accuracy_published[1],
                "accuracy": accuracy.mean(),
                "accuracy_std": accuracy.std(),
                "optimistic": is_optimistic,
                "accuracy_by_validation": networks["accuracy"].mean(),
                "parameters_published": paper["parameters"][name][title][0] if name else np.nan,
                "parameters": paid.mean(),
                "parameters_std": paid.std(),
                "seconds_published": paper["seconds"].get(name or "", {}).get(title, np.nan),
                "seconds": times.get((setting, method), np.nan),
            }
        )
    if not rows:
        return []
    data = _named(searches, pd.DataFrame(rows))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "paper %": _spread(data["accuracy_published"], data["accuracy_published_std"], "{:.1f}"),
            "ours %": [
                text + ("" if best else "*")
                for text, best in zip(
                    _spread(data["accuracy"], data["accuracy_std"], "{:.1f}"), data["optimistic"], strict=True
                )
            ],
            "paper M": data["parameters_published"].map(lambda value: fixed(value, 2)),
            "ours M": _spread(data["parameters"], data["parameters_std"], "{:.3f}"),
            "paper s": data["seconds_published"].map(_seconds),
            "ours s": data["seconds"].map(_seconds),
        }
    )
    note = (
        f"{paper['source']}: test accuracy, millions of parameters, seconds of a search. {paper['note']} Ours: "
        "accuracy is the best of all epochs on the test split where that was recorded, as published, else the one at "
        "the epoch that validation chose; mean and standard deviation over all networks of all seeds; the benchmark's "
        "name says with which recipe and for how many epochs they were trained; seconds on the machine named under "
        "provenance. A method that the paper does not have has - there: what a search must beat is among them."
    )
    marks = (
        "* at the epoch that validation chose, not the best one on the test split."
        if "*" in "".join(shown["ours %"])
        else ""
    )
    title = f"{paper['title']}: published beside reproduced"
    return [Table("published-searches", title, note, data, shown, marks=marks)]


_UNPUBLISHED = ("order", "estimate", "directions")
"""Options that make another method of a published one."""


def _published_name(searches: Searches, setting: int, method: int, paper: Paper) -> str | None:
    """The paper's name of a method under a constraint; None if it has no such method, such as another estimate."""
    name, _, options = searches.specs[method].partition(":")
    if name not in paper["methods"] or any(f"{option}=" in options for option in _UNPUBLISHED):
        return None
    constraint = searches.settings["constraint"].iloc[setting]
    sizes = [option.removeprefix("size=") for option in options.split(",") if option.startswith("size=")]
    sizes += [constraint.removeprefix("parameters@")] if constraint != "none" else []
    label = " ".join([paper["methods"][name], *sizes])
    return label if label in paper["accuracy"] else None


def _named(searches: Searches, data: pd.DataFrame) -> pd.DataFrame:
    """The table with names of settings and methods in place of their numbers."""
    settings = searches.settings.iloc[data["setting"]]
    named = data.drop(columns="setting").assign(method=[searches.methods[m] for m in data["method"]])
    named.insert(0, "constraint", settings["constraint"].to_numpy())
    named.insert(0, "bench", settings["bench"].to_numpy())
    return named


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else number(value, 3)


def _spread(mean: pd.Series, deviation: pd.Series, form: str) -> list[str]:
    return [
        form.format(m) + (f"±{form.format(d)}" if np.isfinite(d) else "") if np.isfinite(m) else "-"
        for m, d in zip(mean.astype(float), deviation.astype(float), strict=True)
    ]

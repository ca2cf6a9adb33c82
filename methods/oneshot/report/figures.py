"""Figures of searches: probabilities over epochs, and sizes and accuracies of networks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nasbench.base.numbers import constraint_name
from nasbench.methods.oneshot.report.logs import Searches, bounds, probabilities, sharpness
from nasbench.results.curves import Array
from nasbench.results.display.look import numbered
from nasbench.results.display.panels import Panel, Series
from nasbench.results.display.plots import charts, legend, styled
from nasbench.results.parts.logged import groups
from nasbench.results.parts.part import Drawn

_FEWEST = 4  # networks for a density
_LABEL = 16  # letters per line of a violin's name


def drawn(searches: Searches) -> Iterator[Drawn]:
    """Every figure with the words of its name."""
    panels = entropies(searches)
    if panels:
        yield ("search-entropy",), charts(panels, searches.methods, searches.looks, "How sharp searches become")
    for bench in dict.fromkeys(searches.settings["bench"]):
        figure = sizes(searches, bench)
        if figure is not None:
            yield (f"search-sizes-{bench}",), figure
    places = searches.settings[["bench", "constraint"]].to_numpy().tolist()
    for number, (bench, constraint) in enumerate(places):
        figure = accuracies(searches, number)
        if figure is not None:
            yield (f"search-accuracies-{bench}", constraint), figure
    for (setting, method), quantity, evolution in evolutions(searches):
        yield (f"search-{quantity}s-{searches.methods[method]}", *places[setting]), evolution


def entropies(searches: Searches) -> list[Panel]:
    """Entropy of the distributions over operations by epoch, mean over seeds, one panel per setting."""
    rows = sharpness(searches)
    panels = []
    for (setting,), group in groups(rows, "setting"):
        mean = group.groupby(["method", "epoch"])["entropy"].mean().unstack("epoch")
        series = tuple(Series(int(m), row) for m, row in zip(mean.index, mean.to_numpy(float), strict=True))
        x = mean.columns.to_numpy(float)
        panels.append(
            Panel(_title(searches, setting), "epoch of the search", "entropy of an edge", x, series, (0.0, 1.05))
        )
    return panels


def evolutions(searches: Searches) -> Iterator[tuple[tuple[int, int], str, Figure]]:
    """The probabilities of the first seed's search, epoch by epoch (figures 5 to 7).

    Yields (setting, method), `operation`, `kernel` or `depth`, and the figure with one panel per edge or stage.
    """
    for quantity in ("operation", "kernel", "depth"):
        rows = probabilities(searches, quantity)
        for (setting, method), every in groups(rows, "setting", "method"):
            first_seed = every[every["seed"] == every["seed"].min()]
            yield (setting, method), quantity, _evolution(searches, first_seed, quantity)


def sizes(searches: Searches, bench: str) -> Figure | None:
    """Violins of the parameters of networks drawn from a benchmark's searches, with their bounds (figures 2 and 4)."""
    drawn = searches.log[searches.log["quantity"] == "drawn_parameters"]
    shown = [
        (setting, method, group["value"].to_numpy(float) / 1e6)
        for (setting, method), group in groups(drawn, "setting", "method")
        if searches.settings["bench"].iloc[setting] == bench
    ]
    if not shown:
        return None
    constraints = [searches.settings["constraint"].iloc[setting] for setting, _, _ in shown]
    names = [_wrapped(searches.methods[method]) for _, method, _ in shown]
    labels = [n if c == "none" else f"{n}\n{c}" for n, c in zip(names, constraints, strict=True)]
    with styled():
        figure = Figure(figsize=(max(4.5, 1.2 + 1.1 * len(shown)), 3.6), layout="constrained")
        axes = figure.subplots()
        are_bound = False
        for place, (setting, method, values) in enumerate(shown, 1):
            violin: Any = axes.violinplot([values], [place], widths=0.8, showextrema=False)["bodies"]
            violin[0].set_facecolor(searches.looks[method].colour)
            axes.boxplot([values], positions=[place], widths=0.12, showfliers=False, medianprops={"color": "black"})
            for bound, colour in zip(bounds(searches, setting, method) or (), ("tab:blue", "tab:red"), strict=False):
                if 0 < bound < np.inf:
                    are_bound = True
                    axes.hlines(bound / 1e6, place - 0.4, place + 0.4, color=colour, linewidth=1.5, label="bound")
        axes.set_xticks(range(1, len(shown) + 1), labels, fontsize=6)
        axes.set(ylabel="parameters of drawn networks [M]")
        axes.set_title(bench + (": bounds in blue (lower) and red (upper)" if are_bound else ""), fontsize=8)
        return figure


def accuracies(searches: Searches, setting: int) -> Figure | None:
    """Test accuracy against parameters of all trained networks of a setting, with marginal densities (figure 3)."""
    of_setting = searches.networks[searches.networks["setting"] == setting]
    networks = of_setting.dropna(subset=["parameters", "accuracy"])
    if networks.empty:
        return None
    with styled():
        figure = Figure(figsize=(6.2, 5.2), layout="constrained")
        (top, corner), (middle, right) = figure.subplots(
            2, 2, width_ratios=(4, 1), height_ratios=(1, 4), sharex="col", sharey="row"
        )
        corner.remove()
        for (method,), rows in groups(networks, "method"):
            colour, marker = searches.looks[method].colour, searches.looks[method].marker
            x, y = rows["parameters"].to_numpy(float) / 1e6, rows["accuracy"].to_numpy(float)
            middle.scatter(x, y, s=14, color=colour, marker=marker, alpha=0.7, linewidths=0)
            _density(top, x, colour)
            _density(right, y, colour, sideways=True)
        middle.set(xlabel="parameters [M]", ylabel="test accuracy [%]")
        middle.set_xlim(left=0)
        top.set_ylim(bottom=0)
        right.set_xlim(left=0)
        for axes in (top, right):
            axes.set_axis_off()
        top.set_title(_title(searches, setting), fontsize=8)
        legend(figure, searches.methods, searches.looks, only=set(networks["method"]))
        return figure


def _evolution(searches: Searches, log: pd.DataFrame, quantity: str) -> Figure:
    """One row of panels per stage (one row if stages share a cell), one panel per edge; for depths one per stage."""
    choices = tuple(dict.fromkeys(log["choice"]))
    stages: list[int] = sorted(log["stage"].astype(int).unique().tolist())
    edges: list[str | None] = list(dict.fromkeys(log["edge"]))
    one_cell = quantity == "operation" and _is_one_cell(log)
    colours = numbered(len(choices))
    rows = stages[:1] if one_cell or quantity == "depth" else stages
    columns = [(stage, None) for stage in stages] if quantity == "depth" else [(None, edge) for edge in edges]
    last = int(log["epoch"].max())
    facts = searches.settings.iloc[int(log["setting"].iloc[0])]
    constraint = "" if facts["constraint"] == "none" else f", {facts['constraint']}"
    method, seed = searches.methods[int(log["method"].iloc[0])], log["seed"].iloc[0]
    with styled():
        size = (1.5 * len(columns) + 0.6, 1.3 * len(rows) + 1.0)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
        for r, row in enumerate(rows):
            for c, (stage, edge) in enumerate(columns):
                there = (log["stage"] == (stage or row)) & (log["edge"].isna() if edge is None else log["edge"] == edge)
                lines = log[there].pivot(index="epoch", columns="choice", values="value")
                axes = grid[r, c]
                for i, choice in enumerate(choices):
                    marker = "." if len(lines) == 1 else ""
                    axes.plot(lines.index, lines[choice], color=colours[i].colour, linewidth=1.2, marker=marker)
                axes.set(ylim=(-0.03, 1.03), xlim=(1, max(last, 2)))
                axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
                if r == 0:
                    axes.set_title(f"stage {stage}" if edge is None else f"edge {edge}", fontsize=8)
                if c == 0:
                    axes.set_ylabel("probability" if len(rows) == 1 else f"stage {row}", fontsize=8)
                if r == len(rows) - 1:
                    axes.set_xlabel("epoch", fontsize=8)
        what = {"operation": "operations", "kernel": "kernel sizes", "depth": "depths"}[quantity]
        title = f"{what} of {method}\non {facts['bench']}{constraint}, seed {seed}"
        figure.suptitle(title, fontsize=8)
        legend(figure, choices, colours, markers=False)
        return figure


def _wrapped(method: str) -> str:
    """A method's name with line breaks between its options."""
    return "\n".join(textwrap.wrap(method.replace(":", ": ").replace(",", ", "), _LABEL, break_long_words=False))


def _title(searches: Searches, setting: int) -> str:
    facts = searches.settings.iloc[setting]
    return f"{facts['bench']}: {constraint_name(facts['constraint'])}"


def _is_one_cell(log: pd.DataFrame) -> bool:
    """Whether the stages share one cell: their probabilities are the same throughout."""
    stages = [rows["value"].to_numpy() for _, rows in log.groupby("stage")]
    return all(np.array_equal(stages[0], other) for other in stages[1:])


def _density(axes: Axes, values: Array, colour: str, sideways: bool = False) -> None:
    from scipy.stats import gaussian_kde

    if len(values) < _FEWEST or np.ptp(values) == 0:
        return  # too few values for a density
    margin = 0.4 * np.ptp(values)
    at = np.linspace(values.min() - margin, values.max() + margin, 100)
    heights = gaussian_kde(values)(at)
    axes.plot(*((heights, at) if sideways else (at, heights)), color=colour, linewidth=1.2)

"""A store's report: tables and figures in files, one page that shows them all, and the tables as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from results import plots, tables
from results.curves import Curves, load
from results.errors import StoreError
from results.fragment import written_aside
from results.store import Store
from results.tables import Table

_DEFAULT_CHECKPOINTS = (50, 100, 150, 200)
_TERMINAL_ROWS = 30


@dataclass(frozen=True)
class Report:
    """What was written, and the tables for a terminal."""

    files: list[Path]
    text: str


def write(
    store: Store,
    out: Path,
    baseline: str | None = None,
    checkpoints: tuple[int, ...] | None = None,
    protocol: str | None = None,
) -> Report:
    """Writes the report of a store into the folder `out`.

    Args:
        baseline: the method held against the others; by default the last suite's, or else `random`, or the first.
        checkpoints: evaluation counts; by default those the last suite names that the runs reach.
        protocol: which runs, where the store mixes budgets or numbers of workers.

    Raises StoreError if the store is empty or mixed, the baseline is not in it, a checkpoint lies beyond the runs, or
    `out` cannot be written.
    """
    if out.resolve().is_relative_to(store.folder.resolve()):
        raise StoreError(f"--out {out} lies inside the store, whose folder holds trajectories only: choose another")
    curves = load(store, protocol)
    plan: dict[str, Any] = next(iter(reversed(store.plans())), {})
    points = _checkpoints(curves, checkpoints, plan)
    reference = _baseline(curves, baseline, plan)
    made = [
        tables.ranks(curves, points),
        *([tables.comparison(curves, reference, points)] if len(curves.methods) > 1 else []),
        tables.performance(curves, points),
        tables.feasibility(curves),
    ]
    rank_figure = plots.to_svg(plots.rank_curves(curves))
    benches = list(dict.fromkeys(curves.settings["bench"]))
    curve_figures = {bench: plots.to_svg(plots.performance_curves(curves, bench)) for bench in benches}
    contents = {"ranks.svg": rank_figure}
    contents |= {f"curves-{_slug(bench)}.svg": svg for bench, svg in curve_figures.items()}
    for table in made:
        contents |= {f"{table.name}.csv": table.csv(), f"{table.name}.tex": table.latex()}
    contents["index.html"] = _page(store, curves, plan, made, rank_figure, list(curve_figures.values()))
    return Report(_write_all(out, contents), _text(curves, made))


def _checkpoints(curves: Curves, asked: tuple[int, ...] | None, plan: dict[str, Any]) -> tuple[int, ...]:
    longest = curves.evaluations
    if asked is not None:
        if max(asked) > longest:
            raise StoreError(f"checkpoint {max(asked)} lies beyond the {longest} evaluations of these runs")
        return asked
    reached = [c for c in plan.get("checkpoints", _DEFAULT_CHECKPOINTS) if c <= longest]
    return tuple(reached) or (longest,)


def _baseline(curves: Curves, asked: str | None, plan: dict[str, Any]) -> int:
    if asked is not None and asked not in curves.methods:
        raise StoreError(f"the baseline {asked!r} has no runs here; allowed: {', '.join(curves.methods)}")
    wishes = [asked, plan.get("baseline"), "random", curves.methods[0]]
    return next(curves.methods.index(name) for name in wishes if name in curves.methods)


def _page(
    store: Store, curves: Curves, plan: dict[str, Any], made: list[Table], rank_figure: str, figures: list[str]
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    fragments = [f for f in store.fragments() if f.cell.protocol == curves.protocol]
    methods = {
        f.cell.method: {
            "version": f.cell.method_version,
            "parameters": ", ".join(f"{name}={value}" for name, value in f.cell.parameters),
        }
        for f in fragments
    }
    counts = curves.runs.groupby(["setting", "method"]).size()
    failed = curves.runs[curves.runs["failure"] != ""]
    names = curves.settings[["bench", "constraint"]].agg(", ".join, axis=1)
    return environment.get_template("report.html.j2").render(
        title=plan.get("title") or "nasbench report",
        tables=made,
        rank_figure=_inline(rank_figure),
        curve_figures=list(map(_inline, figures)),
        settings=len(curves.settings),
        families=curves.settings["family"].nunique(),
        runs=len(curves.runs),
        protocol=curves.protocol,
        seeds=f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}",
        setting_table=_settings(curves),
        methods=sorted(methods.items()),
        provenance=sorted({_provenance(f.provenance) for f in fragments}),
        failures=[
            f"{curves.methods[run['method']]} on {names[run['setting']]}, seed {run['seed']}: {run['failure']}"
            for run in failed.to_dict("records")
        ],
    )


def _settings(curves: Curves) -> str:
    settings = curves.settings
    shown = pd.DataFrame(
        {
            "benchmark": settings["bench"],
            "family": settings["family"],
            "objective": settings["objective"] + settings["unit"].map(lambda unit: f" [{unit}]" if unit else ""),
            "split": settings["split"],
            "constraint": settings["constraint"],
            "means": settings["bounds"].map(", ".join),
            "oracle": settings["oracle"].map("{:.6g}".format),
            "worst": settings["worst"].map("{:.6g}".format),
        }
    )
    return shown.to_html(index=False, border=0, escape=True)


def _provenance(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    machine = ", ".join(filter(None, facts["machine"].values()))
    return f"{versions}; commit {facts['commit'] or 'unknown'}; {machine}"


def _inline(svg: str) -> str:
    """An SVG file as an element of a page."""
    return svg[svg.index("<svg") :]


def _text(curves: Curves, made: list[Table]) -> str:
    parts = []
    for table in made:
        if len(table.shown) <= _TERMINAL_ROWS:
            parts.append(table.text())
        else:
            parts.append(f"{table.title}: {len(table.shown)} rows, in {table.name}.csv and index.html.")
    families = curves.settings["family"].nunique()
    parts.append(
        f"{len(curves.runs)} runs of {curves.protocol}; {len(curves.settings)} settings of {families} "
        f"benchmark famil{'y' if families == 1 else 'ies'} (settings of one family are not independent)."
    )
    return "\n\n".join(parts)


def _write_all(out: Path, contents: dict[str, str]) -> list[Path]:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            with written_aside(out / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write the report to {out}: {error.strerror}") from None
    return [out / name for name in contents]


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)

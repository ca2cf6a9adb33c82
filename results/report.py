"""A store's report: tables and figures in files, one page that shows them all, and the tables as text."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from results import plots, tables
from results.curves import Curves, load
from results.errors import Interrupted, StoreError
from results.fragment import written_aside
from results.status import status
from results.store import Store
from results.tables import Table

_DEFAULT_CHECKPOINTS = (50, 100, 150, 200)
_TERMINAL_ROWS = 30
_MANIFEST = ".nasbench-report"  # names the files of a report, so that the next one can clear them away


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
    wishes, warnings = store.wishes(), _warnings(store, curves)
    points = _checkpoints(curves, checkpoints, wishes)
    reference = _baseline(curves, baseline, wishes)
    made = [
        tables.ranks(curves, points),
        *([tables.comparison(curves, reference, points)] if len(curves.methods) > 1 else []),
        *tables.beside_published(curves, reference),
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
    contents["index.html"] = _page(store, curves, wishes, warnings, made, rank_figure, list(curve_figures.values()))
    return Report(_write_all(out, contents), _text(curves, warnings, made))


def _warnings(store: Store, curves: Curves) -> list[str]:
    """What keeps the report from being the whole story."""
    found = []
    cells = [c for c in status(store, lambda _: True) if c.cell.protocol == curves.protocol]
    missing, asked = sum(len(c.missing) for c in cells), sum(len(c.asked) for c in cells)
    if missing:
        found.append(
            f"{missing} of the {asked} runs asked for are missing: `nasbench status {store.folder}` says which"
        )
    counts = curves.runs.groupby(["setting", "method"]).size()
    if counts.min() != counts.max():
        found.append(f"medians rest on unequal numbers of seeds, {counts.min()} to {counts.max()}")
    absent = len(curves.settings) * len(curves.methods) - len(counts)
    if absent:
        found.append(f"{absent} pairs of method and setting have no run; ranks use the settings where none is missing")
    failed = int(((curves.runs["failure"] != "") | (curves.runs["failed_evaluations"] > 0)).sum())
    if failed:
        found.append(f"{failed} runs have failures; a run that stopped early keeps its last incumbent")
    return found


def _checkpoints(curves: Curves, asked: tuple[int, ...] | None, wishes: dict[str, Any]) -> tuple[int, ...]:
    longest = curves.evaluations
    if asked is not None:
        if max(asked) > longest:
            raise StoreError(f"checkpoint {max(asked)} lies beyond the {longest} evaluations of these runs")
        return asked
    reached = [c for c in wishes.get("checkpoints", _DEFAULT_CHECKPOINTS) if c <= longest]
    return tuple(reached) or (longest,)


def _baseline(curves: Curves, asked: str | None, wishes: dict[str, Any]) -> int:
    if asked is not None and asked not in curves.methods:
        nearest = difflib.get_close_matches(asked, curves.methods, n=1, cutoff=0.4)
        suggestion = f" (did you mean {nearest[0]}?)" if nearest else ""
        raise StoreError(f"the baseline {asked!r} has no runs here{suggestion}; allowed: {', '.join(curves.methods)}")
    candidates = [asked, wishes.get("baseline"), "random", curves.methods[0]]
    return next(curves.methods.index(name) for name in candidates if name in curves.methods)


def _page(
    store: Store,
    curves: Curves,
    wishes: dict[str, Any],
    warnings: list[str],
    made: list[Table],
    rank_figure: str,
    figures: list[str],
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
        title=wishes.get("title") or "nasbench report",
        warnings=warnings,
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
            "feasible %": (100 * settings["feasible_share"]).map("{:.3g}".format),
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


def _text(curves: Curves, warnings: list[str], made: list[Table]) -> str:
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
    parts += [f"Warning: {warning}." for warning in warnings]
    return "\n\n".join(parts)


def _write_all(out: Path, contents: dict[str, str]) -> list[Path]:
    """Writes the files of a report; those of an earlier report in the same folder that it no longer has are removed."""
    manifest = out / _MANIFEST
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not manifest.exists():
            raise StoreError(f"{out} is neither empty nor an earlier report: choose another --out")
        earlier = set(manifest.read_text().splitlines()) if manifest.exists() else set()
        _replace(manifest, "\n".join(sorted({*earlier, *contents})))
        for name, text in contents.items():
            _replace(out / name, text)
        for name in earlier - contents.keys():
            (out / Path(name).name).unlink(missing_ok=True)
        _replace(manifest, "\n".join(contents))
    except OSError as error:
        raise Interrupted(f"cannot write the report to {out}: {error.strerror}") from None
    return [out / name for name in contents]


def _replace(path: Path, text: str) -> None:
    with written_aside(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)

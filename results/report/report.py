"""A report on the runs of some stores: tables and figures in files, one page that shows them all, and text."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nasbench.results.curves import Curves, load, references, select
from nasbench.results.errors import Interrupted, StoreError, nearest
from nasbench.results.parts import graphs, searches
from nasbench.results.parts.part import Part
from nasbench.results.report import page, panels, plots, tables, verdicts
from nasbench.results.report.table import Table
from nasbench.results.statistics import ranking, summaries
from nasbench.results.store import Store, disk
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.status import status
from nasbench.results.store.trajectory import Cell

Format: TypeAlias = Literal["html", "md", "csv", "latex", "png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
DEFAULT_FORMATS: tuple[Format, ...] = ("html", "csv", "latex", "svg")

_DEFAULT_CHECKPOINTS = (50, 100, 150, 200)
_TERMINAL = (
    "ranks",
    "comparison",
    "practical",
    "published",
    "published-scores",
    "searches",
    "published-searches",
    "performance",
    "held-out",
    "references",
    "feasibility",
)
_TERMINAL_ROWS = 40
_PAGE_POINTS, _FILE_POINTS = 41, 101  # of a line: more cannot be seen
_MOST_FIGURES = 12  # of a part on the page; the files have them all
_LONGEST_SLUG = 150
_MANIFEST = ".nasbench-report"  # names the files of a report, so that the next one can clear them away


@dataclass(frozen=True)
class Report:
    """What was written, and the tables for a terminal."""

    files: list[Path]
    text: str


def write(
    stores: Sequence[Store],
    out: Path,
    baseline: str | None = None,
    checkpoints: tuple[int, ...] | None = None,
    protocol: str | None = None,
    formats: Sequence[Format] = DEFAULT_FORMATS,
    is_current: Callable[[Cell], bool | None] = lambda _: True,
) -> Report:
    """Writes the report of some stores, taken together, into the folder `out`.

    Args:
        baseline: the method held against the others; by default the last suite's, or else `random`, or the first.
        checkpoints: evaluation counts; by default those the last suite names that the runs reach.
        protocol: which runs, where the stores mix budgets or numbers of workers.
        formats: of the files.
        is_current: whether a cell's data and method are those of this installation; the others are warned of.

    Raises StoreError if the stores are empty or mixed, the baseline is not in them, a checkpoint lies beyond the runs,
    or `out` cannot be written.
    """
    for store in stores:
        if out.resolve().is_relative_to(store.folder.resolve()):
            raise StoreError(f"--out {out} lies inside the store, whose folder holds trajectories only: choose another")
    chosen = select(stores, protocol)
    curves = load(chosen)
    wishes = next((w for w in (store.wishes() for store in reversed(stores)) if w), {})
    warnings = _warnings(stores, curves, is_current)
    points = _checkpoints(curves, checkpoints, wishes)
    reference = _baseline(curves, baseline, wishes)
    made = _tables(curves, reference, points) | {t.name: t for t in tables.references(references(stores))}
    parts = [part for make in (searches.part, graphs.part) if (part := make(chosen, curves)) is not None]
    made |= {table.name: table for part in parts for table in part.tables}
    made["settings"] = _settings(curves)
    words = verdicts.sentences(curves)
    contents: dict[str, bytes] = {}
    for form in sorted(set(plots.FORMATS) & set(formats)):
        own = ((_slug(".".join(words)), figure) for part in parts for words, figure in part.figures())
        drawn = chain(_figures(curves, reference, points[-1]), own)
        contents |= {f"{name}.{form}": plots.render(figure, form) for name, figure in drawn}
    if "csv" in formats:
        contents |= {f"{name}.csv": table.csv().encode() for name, table in made.items()}
        told = {"winners": verdicts.winners(curves), "claims": verdicts.claims(curves)}
        contents |= {f"{n}.csv": data.to_csv(index=False).encode() for n, data in told.items() if len(data)}
    if "latex" in formats:
        contents |= {f"{name}.tex": table.latex().encode() for name, table in made.items() if name != "settings"}
    if "md" in formats:
        contents["report.md"] = _markdown(wishes, warnings, words, made).encode()
    if "html" in formats:
        fragments = [f for _, f in chosen]
        linked = "csv" in formats
        text = _page(curves, fragments, wishes, warnings, made, reference, points[-1], linked, words, parts)
        contents["index.html"] = text.encode()
    return Report(_write_all(out, contents), _text(curves, warnings, words, made, contents))


def _tables(curves: Curves, baseline: int, points: tuple[int, ...]) -> dict[str, Table]:
    """Every table by name, in the order of the page."""
    made = [tables.ranks(curves, points), tables.ranks_over_seconds(curves)]
    if len(curves.methods) > 1:
        made += tables.comparison(curves, baseline, points)
        made.append(tables.posthoc(curves, points[-1]))
        made += tables.beside_published(curves, baseline)
        made.append(tables.within(curves, baseline, points[-1]))
    made += [*tables.published_scores(curves), *tables.targets(curves, points)]
    made += [tables.medians(curves, baseline, points[-1]), tables.performance(curves, points)]
    made += tables.held_out(curves)
    made.append(tables.feasibility(curves))
    return {table.name: table for table in made}


def _figures(curves: Curves, baseline: int, checkpoint: int) -> Iterator[tuple[str, Figure]]:
    """Every figure by name, drawn one at a time."""
    methods = curves.methods
    yield "ranks", plots.chart(panels.ranks(curves, _FILE_POINTS), methods)
    yield "ranks-seconds", plots.chart(panels.ranks_over_seconds(curves, _FILE_POINTS), methods)
    reached = panels.targets(curves, _FILE_POINTS)
    if reached is not None:
        yield "targets", plots.chart(reached, methods)
    yield "found", plots.chart(panels.found(curves, _FILE_POINTS), methods)
    if len(methods) > 1:
        yield "net-wins", plots.chart(panels.net_wins(curves, baseline, _FILE_POINTS), methods)
        yield from zip(("cd-nemenyi", "cd-wilcoxon"), _diagrams(curves, checkpoint), strict=True)
    for bench, settings in _by_bench(curves).items():
        drawn = [panels.performance(curves, setting, _FILE_POINTS) for setting in settings]
        yield f"curves-{_slug(bench)}", plots.charts(drawn, methods, bench)


def _diagrams(curves: Curves, checkpoint: int) -> tuple[Figure, Figure]:
    """Critical-difference diagrams: Nemenyi's, and Wilcoxon's with Holm's correction."""
    found = ranking.omnibus(summaries.medians(curves)[:, :, checkpoint - 1])
    at = f"average rank at {checkpoint} evaluations, {found.settings} settings"
    nemenyi = plots.critical_differences(
        found.ranks, found.nemenyi, curves.methods, f"Nemenyi: {at}", found.critical_difference
    )
    return nemenyi, plots.critical_differences(found.ranks, found.wilcoxon, curves.methods, f"Wilcoxon, Holm: {at}")


def _by_bench(curves: Curves) -> dict[str, list[int]]:
    """The settings of each benchmark."""
    found: dict[str, list[int]] = {}
    for setting, bench in enumerate(curves.settings["bench"]):
        found.setdefault(bench, []).append(setting)
    return found


def _warnings(stores: Sequence[Store], curves: Curves, is_current: Callable[[Cell], bool | None]) -> list[str]:
    """What keeps the report from being the whole story."""
    found = []
    for store in stores:
        cells = [c for c in status(store, is_current) if c.cell.protocol == curves.protocol]
        missing, asked = sum(len(c.missing) for c in cells), sum(len(c.asked) for c in cells)
        if missing:
            found.append(
                f"{missing} of the {asked} runs asked for are missing: `nasbench status {store.folder}` says which"
            )
        stale = sorted({c.cell.bench for c in cells if c.stale})
        if stale:
            found.append(
                f"{store.folder} has stale runs on {', '.join(stale)}: made with other data, or another version of a "
                f"method, than this installation has; `nasbench status {store.folder}` says which"
            )
    counts = curves.runs.groupby(["setting", "method"]).size()
    if counts.max() == 1:
        found.append("every method has one seed: there is nothing to average, and no test over seeds")
    elif counts.min() != counts.max():
        found.append(f"medians rest on unequal numbers of seeds, {counts.min()} to {counts.max()}")
    absent = len(curves.settings) * len(curves.methods) - len(counts)
    if absent:
        found.append(f"{absent} pairs of method and setting have no run; ranks use the settings where none is missing")
    empty = int((curves.runs["evaluations"] == 0).sum())
    if empty:
        found.append(f"{_count(empty, 'run')} have no evaluation at all: the budget is too small for one")
    for method, name in enumerate(curves.methods):
        if not np.isfinite(curves.incumbent[curves.runs["method"] == method]).any():
            found.append(f"{name} has no feasible evaluation in any run: it counts with the worst value everywhere")
    failed = int(((curves.runs["failure"] != "") | (curves.runs["failed_evaluations"] > 0)).sum())
    if failed:
        found.append(
            f"{_count(failed, 'run')} with failed evaluations, or stopped early (and then keeping the last incumbent)"
        )
    for method, name in enumerate(curves.methods):
        own = curves.runs[curves.runs["method"] == method]
        stopped = int((own["failure"] != "").sum())
        if 2 * stopped >= len(own):
            found.append(f"{stopped} of the {len(own)} runs of {name} stopped early: its numbers mean little")
    return found


def _checkpoints(curves: Curves, asked: tuple[int, ...] | None, wishes: dict[str, Any]) -> tuple[int, ...]:
    """Evaluation counts that some run of every setting reaches."""
    longest = int(curves.reached.min())
    if asked is not None:
        if max(asked) > longest:
            slowest = curves.settings["bench"][int(curves.reached.argmin())]
            raise StoreError(f"checkpoint {max(asked)} lies beyond the {longest} evaluations of the runs on {slowest}")
        return asked
    reached = [c for c in wishes.get("checkpoints", _DEFAULT_CHECKPOINTS) if c <= longest]
    return tuple(reached) or (longest,)


def _baseline(curves: Curves, asked: str | None, wishes: dict[str, Any]) -> int:
    if asked is not None and asked not in curves.methods:
        suggestion = nearest(asked, curves.methods)
        raise StoreError(f"the baseline {asked!r} has no runs here{suggestion}; allowed: {', '.join(curves.methods)}")
    candidates = [asked, wishes.get("baseline"), "random", curves.methods[0]]
    return next(curves.methods.index(name) for name in candidates if name in curves.methods)


def _page(
    curves: Curves,
    fragments: list[Fragment],
    wishes: dict[str, Any],
    warnings: list[str],
    made: dict[str, Table],
    baseline: int,
    checkpoint: int,
    linked: bool,
    words: Sequence[str],
    parts: Sequence[Part],
) -> str:
    methods = {
        f.cell.method: {
            "version": f.cell.method_version,
            "parameters": ", ".join(f"{name}={value}" for name, value in f.cell.parameters),
        }
        for f in fragments
    }
    failed = curves.runs[curves.runs["failure"] != ""]
    names = curves.settings[["bench", "constraint"]].agg(", ".join, axis=1)
    return page.render(
        list(_sections(curves, made, baseline, checkpoint, parts)),
        curves.methods,
        title=wishes.get("title") or "nasbench report",
        warnings=warnings,
        settings=len(curves.settings),
        families=curves.families,
        runs=len(curves.runs),
        protocol=curves.protocol,
        seeds=curves.seeds,
        linked=linked,
        words=words,
        has_within="within" in made,
        setting_table=made["settings"],
        versions=sorted(methods.items()),
        provenance=sorted({_provenance(f.provenance) for f in fragments}),
        failures=[
            f"{curves.methods[run['method']]} on {names[run['setting']]}, seed {run['seed']}: {run['failure']}"
            for run in failed.to_dict("records")
        ],
    )


def _sections(
    curves: Curves,
    made: dict[str, Table],
    baseline: int,
    checkpoint: int,
    parts: Sequence[Part],
) -> Iterator[page.Section]:
    """The page's claims in order, each with its charts beside its tables."""
    drawn = [panels.ranks(curves, _PAGE_POINTS), panels.ranks_over_seconds(curves, _PAGE_POINTS)]
    yield page.Section("ranks", "Average ranks", [made["ranks"], made["ranks-seconds"]], drawn)
    if "comparison" in made:
        won = [panels.net_wins(curves, baseline, _PAGE_POINTS)]
        yield page.Section("baseline", "Against the baseline", [made["comparison"], made["practical"]], won)
        diagrams = [_inline(plots.render(figure, "svg")) for figure in _diagrams(curves, checkpoint)]
        yield page.Section("pairs", "Every pair of methods", [made["posthoc"]], diagrams=diagrams)
    reached = panels.targets(curves, _PAGE_POINTS)
    if reached is not None:
        yield page.Section("targets", "Targets reached", [made["targets"]], [reached])
    if printed := [made[name] for name in ("published", "published-scores") if name in made]:
        yield page.Section("published", "Published beside reproduced", printed)
    for part in parts:
        first = islice(part.figures(), _MOST_FIGURES)
        diagrams = [_inline(plots.render(figure, "svg")) for _, figure in first]
        yield page.Section(part.name, part.title, part.tables, diagrams=diagrams)
    yield page.Section("medians", "Medians of every setting", [made["medians"]])
    if "held-out" in made:
        yield page.Section("held-out", "Test metrics of the incumbents", [made["held-out"]])
    if "references" in made:
        yield page.Section("references", "Reference networks", [made["references"]])
    own = [panels.performance(curves, s, _PAGE_POINTS, named=True) for s in range(len(curves.settings))]
    yield page.Section("curves", "Curves of every setting", (), own, small=True)
    yield page.Section("feasibility", "Feasible proposals", [made["feasibility"]], [panels.found(curves, _PAGE_POINTS)])


def _provenance(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    machine = ", ".join(filter(None, facts["machine"].values()))
    return f"{versions}; commit {facts['commit'] or 'unknown'}; {machine}"


def _inline(svg: bytes) -> str:
    """An SVG file as an element of a page."""
    text = svg.decode()
    return text[text.index("<svg") :]


def _settings(curves: Curves) -> Table:
    settings = curves.settings
    shown = pd.DataFrame(
        {
            "benchmark": settings["bench"],
            "family": settings["family"],
            "objective": settings["objective"] + settings["unit"].map(lambda unit: f" [{unit}]" if unit else ""),
            "split": settings["split"],
            "constraint": settings["constraint"],
            "means": settings["bounds"].map(", ".join),
            "oracle": settings["oracle"].map(lambda value: tables.number(value, 6)),
            "median": settings["median"].map(lambda value: tables.number(value, 6)),
            "worst": settings["worst"].map(lambda value: tables.number(value, 6)),
            "noise": settings["noise"].map(lambda value: tables.number(value, 3)),
            "feasible %": (100 * settings["feasible_share"]).map(lambda value: tables.number(value, 3)),
        }
    )
    note = (
        "oracle, median, worst: of the objective over every feasible (configuration, repetition) of the table; noise: "
        "standard deviation between the repetitions of one good configuration; feasible: share of the table's rows; - "
        "where there is no table."
    )
    return Table("settings", "Settings", note, settings.drop(columns=["bounds", "held_out"]), shown)


def _text(curves: Curves, warnings: list[str], words: list[str], made: dict[str, Table], files: Iterable[str]) -> str:
    """The tables for a terminal, those that are short enough."""
    parts = []
    in_seconds = "evaluations" not in curves.protocol  # then it is at equal seconds that runs are comparable
    wanted = ("ranks-seconds", *_TERMINAL) if in_seconds else _TERMINAL
    for table in (made[name] for name in wanted if name in made):
        if len(table.shown) <= _TERMINAL_ROWS:
            parts.append(table.text())
        else:
            where = next((f" in {n}" for n in (f"{table.name}.csv", "report.md", "index.html") if n in files), "")
            parts.append(f"{table.title}: {len(table.shown)} rows,{where or ' for --format csv'}.")
    parts += words
    counts = f"{_count(len(curves.runs), 'run')} of {curves.protocol}; {_count(len(curves.settings), 'setting')}"
    parts.append(
        f"{counts} of {curves.families} "
        f"benchmark famil{'y' if curves.families == 1 else 'ies'} (settings of one family are not independent)."
    )
    explained = [name for name in ("index.html", "report.md") if name in files]
    if explained:
        parts.append(f"How each number is computed stands below its table in {' and '.join(explained)}.")
    parts += [f"Warning: {warning}." for warning in warnings]
    return "\n\n".join(part if "\n" in part else textwrap.fill(part, 80, break_long_words=False) for part in parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _markdown(wishes: dict[str, Any], warnings: list[str], words: list[str], made: dict[str, Table]) -> str:
    parts = [f"# {wishes.get('title') or 'nasbench report'}", *(f"**{warning}.**" for warning in warnings), *words]
    for table in made.values():
        parts += [f"## {table.title}", table.markdown(), " ".join(filter(None, (table.marks, table.note)))]
    return "\n\n".join(parts) + "\n"


def _write_all(out: Path, contents: dict[str, bytes]) -> list[Path]:
    """Writes the files of a report; those of an earlier report in the same folder that it no longer has are removed."""
    manifest = out / _MANIFEST
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not manifest.exists():
            raise StoreError(f"{out} is neither empty nor an earlier report: choose another --out")
        earlier = set(manifest.read_text().splitlines()) if manifest.exists() else set()
        disk.write(manifest, "\n".join(sorted({*earlier, *contents})).encode())
        for name, content in contents.items():
            disk.write(out / name, content)
        for name in earlier - contents.keys():
            (out / Path(name).name).unlink(missing_ok=True)
        disk.write(manifest, "\n".join(contents).encode())
    except OSError as error:
        raise Interrupted(f"cannot write the report to {out}: {error.strerror}") from None
    return [out / name for name in contents]


def _slug(text: str) -> str:
    """Text as part of a file's name: long ones end in a hash."""
    plain = re.sub(r"[^\w.+-]", "_", text.replace("<=", "-le-").replace(">=", "-ge-"))
    if len(plain) <= _LONGEST_SLUG:
        return plain
    return f"{plain[:_LONGEST_SLUG]}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"

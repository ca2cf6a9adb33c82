"""A report on the runs of some stores: tables and figures as files, a page with all of them, and text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nasbench.base.errors import StoreError, suggestion
from nasbench.base.foreign import errors_named
from nasbench.results.curves import Curves
from nasbench.results.display import svg
from nasbench.results.display.look import looks
from nasbench.results.display.panels import POINTS
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, MakePart, Part, Plain
from nasbench.results.reading import load, references, select
from nasbench.results.report import export, page, text
from nasbench.results.report.files import refuse_inside, refuse_other, refuse_strange, slug, write_all, write_single
from nasbench.results.report.request import Format, Request
from nasbench.results.report.studies import BEGINNING, studies
from nasbench.results.report.warnings import of_stores, warnings_of
from nasbench.results.scores import AVERAGE, DEFAULT, HIDDEN, MEAN, OBSERVED, SHARE, Score, score_of
from nasbench.results.scores.metric import of_metric
from nasbench.results.scores.observed import ObservedShare
from nasbench.results.selection import EVERYTHING, check_versions, labelled, without_failed
from nasbench.results.sources import Sources
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store import Store
from nasbench.results.store.archive import Archive
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.trajectory import Setup
from nasbench.results.store.under_way import beginning
from nasbench.results.subject import Subject
from nasbench.results.verdict import Verdict, scopes, verdict
from nasbench.results.verdict.diagram import critical_difference
from nasbench.results.verdict.leading import leaders

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_DEFAULT_CHECKPOINTS = (50, 100, 150, 200)
_MOST_METHODS = 200
"""The 31,125 pairs of 250 methods took 54 s, and 11 MB of the page."""
_SHARES = (0.25, 0.5, 0.75, 1.0)  # checkpoints as shares of a budget in seconds


@dataclass(frozen=True)
class Report:
    """A written report; as a string, it is its text."""

    folder: Path
    """The folder of its files."""
    files: list[Path] = field(repr=False)
    tables: dict[str, pd.DataFrame] = field(repr=False)
    """Every table by its name (that of its CSV file), in full precision."""
    verdict: Verdict = field(repr=False)
    """What it says, as facts."""
    styled: str = field(repr=False)
    """The text for a terminal, with bold print as escape codes."""

    @property
    def text(self) -> str:
        """The tables and sentences for a terminal, without escape codes."""
        return click.unstyle(self.styled).replace("\x1b", "")

    def __str__(self) -> str:
        return self.text


def write(
    stores: Sequence[Store],
    request: Request,
    is_current: Callable[[Setup], bool | None] = lambda _: True,
    sources: Sources = lambda _: (),
) -> Report:
    """Writes the report of some stores, taken together, into the folder `request.out`.

    Args:
        request: the runs to select and the files to write.
        is_current: whether a setup's data and method are those of this installation; stale runs cause a warning.
        sources: the source files of a setup's method and benchmark in this installation; changed ones do, too.

    Raises StoreError if the stores are empty or mixed, the baseline is not in them, a checkpoint lies beyond the runs,
    or `out` cannot be written.
    """
    _refuse_what_is_there(stores, request)
    names = [text.partition(":")[0] for text in request.optional]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise StoreError(f"--part {twice} is given twice: a report has each part once")
    asked = [requested(text) for text in request.optional]
    subject, warnings, is_partial = _subject(stores, request, is_current, sources)
    parts, absent = _parts(subject, asked)
    found = verdict(subject, [*warnings, *absent], names_baseline=request.baseline is not None)
    title = _display(_own(stores)).get("title") or "nasbench report"
    if is_partial:
        title, found = f"{title} (partial)", replace(found, headline=f"(partial) {found.headline}")
    folders = [(request.out, _contents(request, subject, found, parts, title))]
    if request.paper is not None:
        from nasbench.results.report._paper import contents as for_a_paper  # with matplotlib, which is heavy

        folders.append((request.paper, for_a_paper(subject, found, request.figure_width, request.command)))
    if request.ioh is not None:
        folders.append((request.ioh, export.ioh(subject.curves)))
    lines = b"" if request.optuna is None else studies(subject.curves, subject.fragments)
    if request.optuna is not None:
        refuse_other(request.optuna, lambda content: content == lines)
    wanted = {*names, *["wilcoxon"] * request.wilcoxon, *["settings"] * (found.ranks is None)}
    shown = [part for part in parts if request.full or part.name in wanted]
    files, *_ = [write_all(folder, its_files) for folder, its_files in folders]
    if request.optuna is not None:
        write_single(request.optuna, lines)
    tables = {table.name: table.data for table in _tables(found, parts)}
    return Report(request.out, files, tables, found, text.terminal(found, shown))


def _parts(subject: Subject, asked: Sequence[tuple[str, MakePart, Sequence[str]]]) -> tuple[list[Part], list[str]]:
    """The parts in the order of the page, those that are asked for first; and which of these do not apply."""
    made = [(name, make(subject, words)) for name, make, words in asked]
    absent = [f"--part {name}: these runs have nothing for it" for name, part in made if part is None]
    plain = [make for name in PARTS.names() if isinstance(make := PARTS.get(name), Plain) and make.place is not None]
    regular = [make(subject, ()) for make in sorted(plain, key=lambda make: make.place or 0)]
    every = [*(part for _, part in made), *regular]
    return list({part.name: part for part in every if part is not None}.values()), absent


def requested(text: str) -> tuple[str, MakePart, Sequence[str]]:
    """The part that `name` or `name:word,…` asks for, as its name, its function and the words.

    Raises UsageError, with the nearest name, if there is no such part or it cannot be loaded; StoreError for words of a
    part that has no options.
    """
    name, _, rest = text.partition(":")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    make = PARTS.get(name)
    if words and isinstance(make, Plain):
        raise StoreError(f"the part {name} takes no options: --part {name}")
    return name, _guarded(name, make) if PARTS.is_foreign(name) else make, words


def _guarded(name: str, make: MakePart) -> MakePart:
    """A third party's function, wrapped so that its errors become one sentence."""

    def made(subject: Subject, words: Sequence[str]) -> Part | None:
        with errors_named(f"part {name!r} fails"):
            part = make(subject, words)
        if part is not None and not isinstance(part, Part):
            raise StoreError(f"part {name!r} returns {type(part).__name__!r}, which is no Part")
        return part

    return made


def _tables(found: Verdict, parts: Sequence[Part]) -> list[Table]:
    return [*found.tables, *(table for part in parts for table in part.tables)]


def _refuse_what_is_there(stores: Sequence[Store], request: Request) -> None:
    """Raises StoreError if files of the report would be written into a store, or among other files."""
    for folder, store in product(filter(None, (request.out, request.paper, request.ioh, request.optuna)), stores):
        refuse_inside(folder, store)
    for folder in filter(None, (request.out, request.paper, request.ioh)):
        refuse_strange(folder)
    if request.optuna is not None:
        refuse_other(request.optuna, lambda content: content.startswith(BEGINNING))


def _subject(
    stores: Sequence[Store], request: Request, is_current: Callable[[Setup], bool | None], sources: Sources
) -> tuple[Subject, list[str], bool]:
    """The subject of the report, its warnings, and whether runs that were asked for are missing."""
    every, failed = without_failed(select(stores, request.protocol, request.selection, request.partial))
    cut = beginning(every)
    chosen = every if cut is None else cut.fragments
    display = _display(stores)
    score = _score(chosen, request, display)
    check_versions([f.setup for _, f in every], score is OBSERVED)
    curves, warnings = load(chosen, score), []
    if len(curves.methods) > _MOST_METHODS:
        raise StoreError(
            f"{len(curves.methods)} methods are more than the {_MOST_METHODS} of a report, which compares each with "
            "each other: choose some with --method or --without"
        )
    if request.metric:
        warnings.append(f"compared by {request.metric} of the incumbents, which the objective chose")
    if cut is not None:
        warnings = [cut.warning, *warnings]
        curves = replace(curves, protocol=cut.protocol, seconds=None if curves.seconds is None else cut.end)
    of_suites = [plan["display"].get("labels") or {} for store in _own(stores) for plan in store.plans()]
    curves = replace(curves, labels=labelled(curves.methods, of_suites, request.labels))
    points = _checkpoints(curves, request.checkpoints, display)
    baseline = _baseline(curves, request.baseline, display, failed)
    comparison = Comparison(curves, baseline or 0, points)
    comparison = comparison.led() if baseline is None else comparison
    asked_for, selected = every[0][1].setup.protocol, ""
    if request.selection != EVERYTHING:
        selected = request.selection.summary(select(stores, asked_for, partial=request.partial))
    if selected:
        warnings.append(f"a selection by hand: {selected}; a selection made after the runs can decide the verdict")
    missing, stale = of_stores(stores, asked_for, is_current, sources)
    warnings += [*missing, *stale, *warnings_of(comparison, [f for _, f in chosen])]
    subject = Subject(comparison, chosen, references(stores, curves.score), request.literature, selected, failed)
    return subject, warnings, bool(missing)


def _own(stores: Sequence[Store]) -> list[Store]:
    """The stores that name what the report is about: not archives beside others."""
    return [store for store in stores if len(stores) == 1 or not isinstance(store, Archive)]


def _display(stores: Sequence[Store]) -> dict[str, Any]:
    """What the last suite says of its report."""
    return next((display for store in reversed(stores) if (display := store.display())), {})


def _score(chosen: Sequence[tuple[Store, Fragment]], request: Request, display: dict[str, Any]) -> Score:
    """The requested score, or else the suite's, or the default. Raises StoreError for one that the runs cannot have."""
    several = all(f.setup.objectives for _, f in chosen)
    if request.metric:
        if request.score:
            raise StoreError("--score and --metric exclude each other: each says what is compared")
        if several:
            raise StoreError("runs with several objectives have no single incumbent; allowed: --score share, observed")
        return of_metric(request.metric, [f.setup for _, f in chosen])
    score = score_of(request.score or display.get("score") or (SHARE if several else DEFAULT).name)
    if several and score in {HIDDEN, MEAN, AVERAGE}:
        raise StoreError(f"with several objectives there is no score {score.name!r}; allowed: share, observed")
    if not several and score is SHARE:
        raise StoreError("the score 'share' is one of several objectives, and these runs have one")
    return ObservedShare() if several and score is OBSERVED else score


def _contents(
    request: Request, subject: Subject, found: Verdict, parts: Sequence[Part], title: str
) -> dict[str, bytes]:
    """The files of a report by name."""
    formats: Sequence[Format] = request.formats
    tables = _tables(found, parts)
    contents: dict[str, bytes] = {}
    if "svg" in formats:
        contents |= {f"{slug(name)}.svg": drawn for name, drawn in _drawn(parts, subject.comparison)}
    if "csv" in formats:
        contents |= {f"{table.name}.csv": table.csv().encode() for table in tables}
    if "latex" in formats:
        contents |= {f"{table.name}.tex": table.latex().encode() for table in tables if table.name != "settings"}
    if "longtable" in formats:
        contents |= {f"{t.name}.long.tex": t.longtable().encode() for t in tables if t.name != "settings"}
    if "json" in formats:
        contents["verdict.json"] = found.as_json().encode()
    if "md" in formats:
        contents["report.md"] = text.markdown(title, found, parts).encode()
    if "html" in formats:
        contents["index.html"] = page.write(title, found, subject, parts, "csv" in formats, request.command).encode()
    if "tidy" in formats:
        contents["tidy.csv"] = export.tidy(subject.curves).encode()
    return contents


def _drawn(parts: Sequence[Part], comparison: Comparison) -> Iterator[tuple[str, bytes]]:
    """Every figure as SVG by name, drawn one at a time."""
    names, method_looks, leading = comparison.methods, looks(comparison.curves.methods), leaders(comparison)
    for name, scene in (("cd", critical_difference(comparison)), ("scopes", scopes.figure(comparison))):
        if scene is not None:
            yield name, scene.file()
    for part in parts:
        for chart in part.charts:
            yield chart.name, svg.document(chart.panels(POINTS), names, method_looks, chart.title, leading)
        for words, figure in part.figures():
            yield ".".join(words), figure.file() if isinstance(figure, Scene) else _rendered(figure)


def _rendered(figure: Figure) -> bytes:
    from nasbench.results.display import plots  # matplotlib is heavy

    return plots.render(figure, "svg")


def _checkpoints(curves: Curves, asked: tuple[int, ...] | None, display: dict[str, Any]) -> tuple[float, ...]:
    """Points of comparison: the requested ones and the end of the budget."""
    if asked is not None:
        if min(asked, default=0) < 1:
            raise StoreError(f"checkpoints are numbers from 1, not {list(asked)}")
        if max(asked) > curves.end:
            raise StoreError(f"checkpoint {max(asked)} lies beyond the {curves.end:g} {curves.unit} of the runs")
        points: Sequence[float] = asked
    elif curves.seconds is not None:
        points = [share * curves.end for share in _SHARES]
    else:
        points = [c for c in display.get("checkpoints", _DEFAULT_CHECKPOINTS) if c <= curves.end]
    return tuple(sorted({*map(float, points), curves.end}))


def _baseline(curves: Curves, asked: str | None, display: dict[str, Any], failed: Sequence[str]) -> int | None:
    """The baseline that is asked for, or the suite's; None if neither is among the methods."""
    known = (*curves.methods, *curves.names)
    if asked is not None and asked not in known:
        meant = suggestion(asked, known)
        told = f" ({' '.join(failed)})" if failed else ""
        raise StoreError(f"the baseline {asked!r} has no runs here{meant}; allowed: {', '.join(curves.names)}{told}")
    place = next((known.index(name) for name in (asked, display.get("baseline")) if name in known), None)
    return None if place is None else place % len(curves.methods)

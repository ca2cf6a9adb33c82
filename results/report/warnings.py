"""The warnings of a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nasbench.base.numbers import count, listed, some
from nasbench.results.sources import Sources, changed
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.status import absent, status
from nasbench.results.store.trajectory import Setup
from nasbench.results.store.under_way import under_way


def warnings_of(comparison: Comparison, fragments: Sequence[Fragment]) -> list[str]:
    """The warnings about a comparison, one sentence each, without its full stop."""
    phases = _initial_phases(comparison, fragments)
    return [
        *_of_cautions(comparison),
        *_of_splits(comparison),
        *_of_fronts(comparison),
        *_of_seeds(comparison),
        *_of_methods(comparison),
        *_of_identical_methods(comparison, phases),
        *_of_initial_phases(comparison, phases),
    ]


def _of_cautions(comparison: Comparison) -> Iterator[str]:
    settings = comparison.curves.settings
    cautioned = settings[settings["caution"].fillna("") != ""]
    for caution, benches in cautioned.groupby("caution")["bench"]:
        yield f"{listed(benches.unique().tolist())}: {caution}"


def of_stores(
    stores: Sequence[Store], protocol: str, is_current: Callable[[Setup], bool | None], sources: Sources
) -> tuple[list[str], list[str]]:
    """Warnings about runs that are missing in stores, and about runs of other versions or of code that has changed.

    Args:
        protocol: protocol of the requested runs; in a partial report the comparison has another one.
    """
    of_missing, of_stale = [], []
    stored = {(f.setup.id, seed) for store in stores for f in store.fragments() for seed in f.seeds}
    of_missing += [f"{lacking}: this is no report of the whole" for lacking in absent(stores)]
    for store in stores:
        setups = [c for c in status(store, is_current) if c.setup.protocol == protocol]
        missing = sum((c.setup.id, seed) not in stored for c in setups for seed in c.missing)
        asked = sum(len(c.asked) for c in setups)
        if missing:
            begun = sum(r.setup.protocol == protocol and (r.setup.id, r.seed) not in stored for r in under_way(store))
            of_them = f"; {begun} of them under way (--partial)" if begun else ""
            says = f"`nasbench status {shlex.quote(str(store.folder))}` says which"
            which = f"the archive {store.folder.name} was made without them" if store.folder.is_file() else says
            of_missing.append(f"{missing:,} of the {asked:,} runs asked for are missing: {which}{of_them}")
        stale = sorted({c.setup.bench for c in setups if c.stale})
        which = f"; `nasbench status {shlex.quote(str(store.folder))}` says which"
        if stale:
            of_stale.append(
                f"{store.folder} has stale runs on {', '.join(stale)}: made with other data, other rules, or another "
                f"version of a method than this installation has{'' if store.folder.is_file() else which}"
            )
        if not store.folder.is_file():  # an archive's runs are computed again to check them, and not replaced
            current = {c.setup.id for c in setups if not c.stale}
            of_stale += changed([f for f in store.fragments() if f.setup.id in current], sources)
    return of_missing, of_stale


def _of_splits(comparison: Comparison) -> Iterator[str]:
    """Warns of benchmarks whose tables have a single data split, called `only`."""
    settings = comparison.curves.settings
    benches = sorted(set(settings["bench"][settings["split"] == "only"]))
    if benches:
        yield (
            f"{some(benches)}: selected and reported on the same split, the only one of the table. No number here says "
            "how good the chosen configurations are on other data"
        )


def _of_fronts(comparison: Comparison) -> Iterator[str]:
    """Warns of settings with several objectives whose exact front no table knows."""
    settings = comparison.curves.settings
    unknown = [
        len(scales) > 0 and not front for scales, front in zip(settings["scales"], settings["front"], strict=True)
    ]
    if benches := sorted(set(settings["bench"][unknown])):
        yield (
            f"{listed(benches)}: no table knows the exact front, so shares of the hypervolume are of the front that "
            "all runs here have observed together, and change when runs are added"
        )


def _of_seeds(comparison: Comparison) -> Iterator[str]:
    curves = comparison.curves
    counts = curves.runs.groupby(["setting", "method"]).size()
    if counts.max() < FEWEST:
        seeds = count(int(counts.max()), "seed")
        yield f"no method has more than {seeds}: with fewer than {FEWEST} there are no intervals, p-values or verdicts"
    elif counts.min() != counts.max():
        least: Any = counts.idxmin()
        setting, method = curves.settings.loc[least[0]], curves.methods[least[1]]
        where = f"{setting['bench']}, {setting['constraint']}".removesuffix(", none")
        yield (
            f"the numbers of seeds differ, {counts.min()} ({method} on {where}) to {counts.max()}: each setting of a "
            "pair is judged on the seeds that both methods have there, or without a test on all runs if these are "
            f"fewer than {FEWEST}; medians, and Wilcoxon's test over settings, are of each method's own seeds"
        )
    by_setting = curves.runs.groupby(["setting", "method"])["seed"].agg(frozenset).groupby(level=0).agg(list)
    fewest = min(len(frozenset.intersection(*own)) for own in by_setting)
    if fewest < counts.min():
        yield (
            f"methods have other seeds, in one setting only {fewest} in common: a pair is judged on those that "
            "both have there"
        )
    absent = len(curves.settings) * len(curves.methods) - len(counts)
    if absent:
        complete = len(comparison.overall.complete)
        yield (
            f"{count(absent, 'pair')} of method and setting {'has' if absent == 1 else 'have'} no run; "
            + (
                f"ranks use the {count(complete, 'setting')} where none is missing"
                if complete
                else "there are no ranks"
            )
        )


def _of_methods(comparison: Comparison) -> Iterator[str]:
    curves = comparison.curves
    empty = int((curves.runs["evaluations"] == 0).sum())
    if empty:
        verb = "has" if empty == 1 else "have"
        yield f"{count(empty, 'run')} {verb} no evaluation at all: the budget is too small for one, or the run failed"
    for method, name in enumerate(curves.names):
        of_method = curves.runs["method"] == method
        if not np.isfinite(curves.incumbent[of_method]).any():
            if not curves.runs["feasible_rows"][of_method].any():
                lacks = "has found nothing feasible"
            elif not np.isfinite(curves.observed[of_method]).any():
                lacks = "has trained nothing feasible to the end"
            else:
                lacks = f"has no incumbent with a value by the score {curves.score.name}"
            yield f"{name} {lacks} in any run: it loses to every method that has"
    failed = int(((curves.runs["failure"] != "") | (curves.runs["failed_evaluations"] > 0)).sum())
    if failed:
        yield f"{count(failed, 'run')} with failed evaluations, or stopped early (and then keeping the last incumbent)"
    for method, name in enumerate(curves.names):
        runs = curves.runs[curves.runs["method"] == method]
        stopped = int((runs["failure"] != "").sum())
        if 2 * stopped >= len(runs):
            yield f"{stopped} of the {len(runs)} runs of {name} stopped early: its numbers mean little"


def _of_identical_methods(comparison: Comparison, phases: dict[int, int]) -> Iterator[str]:
    """Warns of methods whose runs are all the same, with the reason if the runs show it, or those it can have.

    Args:
        phases: see `_initial_phases`.
    """
    names, without = comparison.curves.names, comparison.by_constraint.get("none")
    for kind in comparison.overall.kinds:
        if len(kind) == 1:
            continue
        if _is_explained(kind, phases):
            random = listed([f"{phases[m]} of {names[m]}" for m in kind if m in phases])
            why = f". Their budget ends before they learn: the first {random} are random"
        elif set(comparison.by_constraint) == {"none"}:
            why = (
                ". Perhaps they differ only under constraints, and no setting has one; or they draw by the same "
                "random streams, and have learnt nothing yet"
            )
        else:
            why = ""
        same = listed([names[m] for m in kind])
        yield f"{same} have the same incumbents after every evaluation, so they count as one method in ranks{why}"
    for kind in without.kinds if without else ():
        if len(kind) > 1 and kind not in comparison.overall.kinds:
            same = listed([names[m] for m in kind])
            yield f"{same} are identical where there is no constraint: they differ only under constraints"


def _is_explained(kind: Sequence[int], phases: dict[int, int]) -> bool:
    """Whether methods are identical because all of them, except perhaps one, are still in their initial phase."""
    return len(kind) > 1 and sum(m in phases for m in kind) >= len(kind) - 1


def _of_initial_phases(comparison: Comparison, phases: dict[int, int]) -> Iterator[str]:
    """Warns of methods whose budget ends in their initial phase, unless a warning on identical methods says so."""
    longest = comparison.curves.runs.groupby("method")["evaluations"].max()
    said = [m for kind in comparison.overall.kinds if _is_explained(kind, phases) for m in kind]
    for method, size in phases.items():
        if method not in said:
            yield (
                f"{comparison.methods[method]} made at most {count(int(longest[method]), 'evaluation')}, and its first "
                f"{size} are random: what is compared here is its initial phase"
            )


def _initial_phases(comparison: Comparison, fragments: Sequence[Fragment]) -> dict[int, int]:
    """Methods whose runs are all within their initial phase, with its length in configurations."""
    longest = comparison.curves.runs.groupby("method")["evaluations"].max()
    initial = {f.setup.method: f.setup.initial for f in fragments}
    sizes = {method: initial.get(spec, 0) for method, spec in enumerate(comparison.curves.methods)}
    return {method: size for method, size in sizes.items() if size > 0 and size >= longest.get(method, size + 1)}

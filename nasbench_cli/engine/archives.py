"""Archives of stores: those that come with the project, and computing some of their runs again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, unknown
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import BenchmarkSpec, abilities, open_benchmark, parse_constraints
from nasbench.cli.engine.batches import trajectory_of
from nasbench.cli.engine.plan import Grid, PlannedSetup, Protocol, expand
from nasbench.methods import MethodSpec
from nasbench.results import Store
from nasbench.results.report.request import Request
from nasbench.results.selection import EVERYTHING
from nasbench.results.store.archive import Archive, ArchivedFragment
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.packing import same_rows
from nasbench.results.store.trajectory import Setup

_MOST_NAMED = 3
_EMBEDDED = Path(__file__).parents[2] / "suites" / "archives"


def embedded() -> tuple[str, ...]:
    """Names of the archives that come with the project."""
    return tuple(sorted(path.stem for path in _EMBEDDED.glob("*.zip")))


def open_archive(name: str) -> Archive:
    """An archive that comes with the project by its name (a file of that name as ./NAME), another one by its path.

    Raises UsageError if there is none, StoreError if it is damaged.
    """
    path = Path(name)
    if name in embedded():
        path = _EMBEDDED / f"{name}.zip"
    if path.is_dir():
        raise UsageError(f"{name} is a folder: `nasbench archive make {shlex.quote(name)}` makes an archive of a store")
    if path.is_file():
        return Archive(path, name)
    if path.suffix or path.parent.name:
        raise UsageError(f"there is no file {name}; archives that come with nasbench: {', '.join(embedded())}")
    raise unknown("archive", name, embedded())


def opened_stores(folders: Sequence[str | Path], names: Sequence[str]) -> list[Store]:
    """Stores for a report, and archives with their runs in the settings of these stores; all of them without a store.

    Raises UsageError if there is neither, or if an archive has no run in these settings, or other versions of them.
    """
    if not folders and not names:
        raise UsageError(f"give a store, or --against an archive: {', '.join((*embedded(), 'the path of a file'))}")
    stores = [Store.open(Path(folder)) for folder in folders]
    if not stores:
        return _agreeing(list(map(open_archive, names)), [])
    setups = [f.setup for store in stores for f in store.fragments()]
    archives = list(map(open_archive, names))
    for name, archive in zip(names, archives, strict=True):
        archive.restrict(setups)
        if not archive.fragments():
            protocols = sorted({setup.protocol for setup in setups})
            places = sorted({f"{setup.bench}, {setup.constraint}" for setup in setups})
            which = f"{'; '.join(protocols)}; {'; '.join(places[:_MOST_NAMED])}" if setups else "no run"
            damage = "".join(f"; {notice}" for store in stores for notice in store.notices[:_MOST_NAMED])
            raise UsageError(
                f"the archive {name} has no run in the settings of these stores ({which}): it holds "
                f"{', '.join(archive.protocols)}; `nasbench report --against {shlex.quote(name)}` shows on what{damage}"
            )
    own = {setup.key: setup.id for setup in setups}
    data = {setup.bench: setup.data for setup in setups}
    for name, archive in zip(names, archives, strict=True):
        for setup in (f.setup for f in archive.fragments()):
            if setup.data != data[setup.bench] or setup.id != own.get(setup.key, setup.id):
                raise UsageError(
                    f"the archive {name} has runs of {setup.method} on {setup.bench} with other data or by another "
                    "version than these stores: leave it out, or take one that was made with the "
                    "versions that are here; columns that were added to a table (`nasbench import columns`) are other "
                    "data: use another --data-dir"
                )
    return _agreeing(archives, stores)


def _agreeing(archives: Sequence[Archive], stores: Sequence[Store]) -> list[Store]:
    """Archives and stores. Raises UsageError if an archive contradicts a store, or an archive before it."""
    before = list(stores)
    for archive in archives:
        _check_results(archive, before)
        before.append(archive)
    _check_settings(before)
    return [*archives, *stores]


def _check_settings(stores: Sequence[Store]) -> None:
    """Raises UsageError if an archive states other facts of a setting than the stores before it."""
    known: dict[tuple[Any, ...], tuple[Setup, Store]] = {}
    for store in stores:
        for setup in (f.setup for f in store.fragments()):
            before, of = known.setdefault((setup.bench, setup.constraint, setup.data, setup.objectives), (setup, store))
            if isinstance(store, Archive) and (differ := _differing(before, setup)):
                raise UsageError(
                    f"{of.folder} and {store.folder} state different facts of {setup.bench} with the same data "
                    f"({', '.join(differ)}): leave one of them out"
                )


def _differing(one: Setup, other: Setup) -> list[str]:
    """Names of the facts on which two setups of one setting disagree; `caution` does not count."""
    facts = ((name, value, getattr(other.setting, name)) for name, value in vars(one.setting).items())
    return [name for name, ours, theirs in facts if name != "caution" and not _same(ours, theirs)]


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-6, atol=1e-12, equal_nan=True))  # means, by other versions of NumPy
    return one == other


def _check_results(archive: Archive, stores: Sequence[Store]) -> None:
    """Raises UsageError if an archive has another result of a run than these stores, by the same version.

    Where training or time is measured, runs differ, and those of the stores count.
    """
    fragments = [f for store in stores for f in store.fragments()]
    own = {(f.setup.id, seed): i for i, f in enumerate(fragments) for seed in f.seeds}
    for theirs in archive.fragments():
        setup, shared = theirs.setup, {s: own[theirs.setup.id, s] for s in theirs.seeds if (theirs.setup.id, s) in own}
        if not shared or setup.charge_thinking or _is_live(setup.bench):
            continue
        ours, found = {i: _results(fragments[i]) for i in set(shared.values())}, _results(theirs)
        for seed, i in shared.items():
            for mine, other in zip(ours[i].get(seed, found[seed]), found[seed], strict=True):
                if not np.array_equal(mine, other, equal_nan=True):
                    raise UsageError(
                        f"{archive.folder} has another result of {setup.title}, seed {seed}, than a store or "
                        "archive beside it, by the same version: give the method another name or another version, or "
                        "leave the archive out"
                    )


def _results(fragment: Fragment) -> dict[int, list[NDArray[np.float64]]]:
    """The incumbents of each run by its seed, and the scores that repetitions gave them; nothing if it is damaged."""
    try:
        table = fragment.table(["incumbent", "hidden"])
    except Torn:
        return {}  # the report sets it aside
    return {run.seed: [table[name].to_numpy()[span] for name in table.column_names] for run, span in fragment.spans()}


def _is_live(bench: str) -> bool:
    try:
        return open_benchmark(bench).live
    except UsageError:  # its table is not here; live benchmarks are
        return False


def with_own_baseline(request: Request, stores: Sequence[Store]) -> Request:
    """The request with the stores' method as its baseline, if they have one method and archives stand beside it.

    Not where the request names a baseline or selects runs.
    """
    methods = {f.setup.method for store in stores if not isinstance(store, Archive) for f in store.fragments()}
    is_chosen = request.baseline is not None or request.selection != EVERYTHING
    if is_chosen or len(methods) != 1 or not any(isinstance(store, Archive) for store in stores):
        return request
    return replace(request, baseline=methods.pop())


@dataclass(frozen=True)
class Recomputed:
    """A run of an archive that was computed again, or that could not be."""

    setup: Setup
    seed: int
    same: bool | None
    """Whether all its rows are the same, bit for bit; None if it was not computed."""
    why: str = ""
    """The reason why it was not computed, or why it may differ."""


def recompute(archive: Archive, share: float, seed: int) -> Iterator[Recomputed]:
    """Computes a random share of an archive's runs again, and compares them with it.

    Args:
        share: share of the runs, in (0, 1]; at least one run is computed.
        seed: seed of the choice.
    """
    runs = [(f, s) for f in archive.fragments() for s in f.seeds]
    count = max(1, round(share * len(runs)))
    for i in sorted(np.random.default_rng(seed).choice(len(runs), count, replace=False).tolist()):
        fragment, own = runs[i]
        assert isinstance(fragment, ArchivedFragment)
        yield _recompute(fragment, own)


def _recompute(fragment: ArchivedFragment, seed: int) -> Recomputed:
    setup = fragment.setup
    if setup.is_elsewhere:
        return Recomputed(setup, seed, None, "it was made elsewhere: nobody can compute it again here")
    try:
        files = ["its data are a file"] if BenchmarkSpec.parse(setup.bench).opens_a_file else []
        files += [f"its option {option} names a file" for option in MethodSpec.parse(setup.method).files]
        if files:
            raise UsageError(f"{files[0]}, and an archive does not choose which files are opened or run")
        planned = _planned(setup, seed)
    except UsageError as error:
        return Recomputed(setup, seed, None, str(error))
    if planned.live:
        return Recomputed(setup, seed, None, "it trains networks")
    if setup.charge_thinking:
        return Recomputed(setup, seed, None, "its clock has measured times")
    if planned.setup.id != setup.id:
        return Recomputed(setup, seed, None, f"this installation has another version of {setup.method} or of the data")
    stated = _differing(planned.setup, setup)
    stated += [n for n in ("metrics", "initial", "tuned_on") if getattr(planned.setup, n) != getattr(setup, n)]
    if stated:
        return Recomputed(setup, seed, False, f"the archive states other facts: {', '.join(stated)}")
    benchmark = open_benchmark(setup.bench)
    try:
        abilities.make_ready(benchmark)
    except UsageError as error:
        return Recomputed(setup, seed, None, str(error))
    found = trajectory_of(planned, seed)
    if same_rows(fragment, found):
        return Recomputed(setup, seed, True)
    if found.failure:
        return Recomputed(setup, seed, False, f"here it failed: {found.failure}")
    level = Repeatable.both(planned.spec.repeatable, benchmark.repeatable)
    return Recomputed(
        setup, seed, False, "" if level is Repeatable.ANY_PROCESSOR else "it may differ on another processor"
    )


def _planned(setup: Setup, seed: int) -> PlannedSetup:
    """The setup as this installation would run it. Raises UsageError if it cannot."""
    limits = parse_constraints([setup.constraint])
    protocol = Protocol(setup.evals, setup.seconds, setup.workers, setup.charge_thinking, setup.train_infeasible)
    grid = Grid((MethodSpec.parse(setup.method),), (setup.bench,), (limits,), (seed,), protocol)
    (planned,) = expand([grid])
    return planned

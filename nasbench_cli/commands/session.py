"""What the commands do with a store: compute what is missing, tell its state, report on it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from nasbench.benchmarks import UsageError, label, parse_constraints
from nasbench.benchmarks.spaces.errors import unknown
from nasbench.cli.commands.catalogue import table
from nasbench.cli.engine import executors, on_ray
from nasbench.cli.engine.batches import batches
from nasbench.cli.engine.costs import Costs, span
from nasbench.cli.engine.on_ray import Cluster
from nasbench.cli.engine.plan import PlannedCell, expand, is_current, open_benchmark, provenance
from nasbench.cli.engine.progress import Progress
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.methods import MethodSpec
from nasbench.results import Store, StoreError
from nasbench.results.store import content_hash
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import drop_failed
from nasbench.results.store.status import CellStatus
from nasbench.results.store.status import status as status_of

_MOST_LINES = 24
_WORTH_SAYING = 30.0  # seconds


def run(
    suite: Suite,
    folder: Path,
    jobs: int,
    retry_failed: bool,
    shard: Shard | None = None,
    cluster: Cluster | None = None,
) -> bool:
    """Computes the runs of a suite that the store lacks; returns whether any run of it failed or is missing.

    Args:
        shard: a part of the suite; the others are some other machine's.
        cluster: where to compute it; by default in processes of this machine.
    """
    planned = expand(suite.grids)
    if shard is not None:
        planned = shard.of(planned)
    _make_ready(planned, folder, retry_failed)
    store = Store.create(folder)
    store.supersede(p.cell for p in planned)
    if retry_failed:
        _forget_failed(store, planned)
    grid = [(p.cell, list(p.seeds)) for p in planned]
    store.save_plan(_command(), grid, suite.wishes)
    stored = store.runs()
    missing = [(p, [seed for seed in p.seeds if seed not in stored.get(p.cell.id, {})]) for p in planned]
    _say_plan(missing)
    todo = [(p, seeds) for p, seeds in missing if seeds]
    _say_long_beginnings([p for p, _ in todo])
    if cluster is None:
        _say_cost(missing, jobs, Costs(store))
        _say_crowd([p for p, _ in todo], jobs)
        runs = executors.execute(batches(todo, jobs), store, provenance(), jobs)
    else:
        runs = on_ray.execute(todo, store, jobs, cluster)
    begin, evaluations, computed = perf_counter(), 0, 0
    with Progress(sum(len(seeds) for _, seeds in todo)) as progress, closing(runs):
        for records in runs:
            evaluations += sum(record.rows for record in records)
            computed += len(records)
            progress.advance(len(records))
    seconds = perf_counter() - begin
    if todo:
        fast = evaluations > 10 * seconds
        rate = f"{evaluations / seconds:,.0f}/s" if fast else f"{seconds / max(evaluations, 1):.1f} s each"
        click.echo(
            f"{computed} runs computed, {evaluations:,} evaluations in {seconds:.1f} s ({rate}), stored in {folder}"
        )
    _say_notices(store)
    stored = store.runs()
    failures = [
        (p.cell.method, p.cell.bench, p.cell.constraint, found[seed])
        for p, found in ((p, stored.get(p.cell.id, {})) for p in planned)
        for seed in p.seeds
        if seed in found and found[seed].failed
    ]
    _say_failures(failures)
    absent = sum(seed not in stored.get(p.cell.id, {}) for p in planned for seed in p.seeds)
    if absent:
        click.echo(f"{absent} runs are still missing: give the same command again", err=True)
    return bool(failures or absent)


def status(folder: Path, as_json: bool) -> None:
    """Prints the state of every cell of a store, what is wrong with its files, and how to finish it."""
    store = Store.open(folder)
    digest = content_hash(store)  # reads and verifies every row: what is torn is missing from here on
    cells = status_of(store, is_current)
    if as_json:
        facts = {"cells": [_facts(c) for c in cells], "contents": digest, "notices": store.notices}
        click.echo(json.dumps(facts, indent=2))
        return
    rows = [("method", "benchmark", "constraint", "protocol", "runs", "state")]
    for c in cells:
        details = [f"{len(c.failed)} failed"] if c.failed else []
        details += [f"{c.begun} begun"] if c.begun else []
        state = f"{c.state} ({', '.join(details)})" if details else c.state
        runs = f"{len(c.stored)}/{len(c.asked)}"
        rows.append((c.cell.method, c.cell.bench, c.cell.constraint, c.cell.protocol, runs, state))
    click.echo(table(rows))
    counts = Counter(c.state for c in cells)
    states = ", ".join(f"{n} {state}" for state, n in counts.items()) or "nothing asked for"
    click.echo(f"\n{len(cells)} cells: {states}; contents sha256:{digest}")
    _say_notices(store)
    _say_failures([(c.cell.method, c.cell.bench, c.cell.constraint, run) for c in cells for run in c.failed])
    _say_finish(cells, folder)


def report(
    folders: Sequence[Path],
    out: Path,
    baseline: str | None,
    checkpoints: tuple[int, ...] | None,
    protocol: str | None,
    formats: str,
) -> None:
    """Writes the report of some stores, taken together, and prints its tables."""
    from nasbench.results.report.report import FORMATS, write  # draws plots: heavy

    wanted = [f for f in FORMATS if f in formats.split(",")]
    strange = [f for f in formats.split(",") if f not in FORMATS]
    if strange:
        raise unknown("format", strange[0], FORMATS)
    stores = [Store.open(folder) for folder in folders]
    written = write(
        stores, out, None if baseline is None else _label(baseline), checkpoints, protocol, wanted, is_current
    )
    click.echo(written.text)
    for store in stores:
        _say_notices(store)
    page = f"; open {out / 'index.html'}" if "html" in wanted else ""
    click.echo(f"{len(written.files)} files in {out}{page}")


def run_page(folder: str, method: str, bench: str, seed: str, constraint: str | None, svg: Path | None) -> str:
    """One stored run as text; its network, if it has one, also as a picture in a file."""
    from nasbench.results.report.single_run import describe, incumbent

    if not seed.isdecimal():
        raise UsageError(f"a seed is an integer, 0 or more, not {seed!r}")
    wanted = constraint if constraint in (None, "none") else label(parse_constraints([constraint]))
    run = Store.open(Path(folder)), _label(method), bench, wanted, int(seed)
    if svg is not None:
        from nasbench.results.report.plots import render

        svg.write_bytes(render(incumbent(*run), "svg"))
    return describe(*run)


def _label(method: str) -> str:
    """A method as stores name it; one that is no longer installed may still be in a store."""
    try:
        return MethodSpec.parse(method).label
    except UsageError:
        return method


def _facts(status: CellStatus) -> dict[str, Any]:
    cell = status.cell
    names = {"method": cell.method, "bench": cell.bench, "constraint": cell.constraint, "protocol": cell.protocol}
    runs = {"asked": len(status.asked), "stored": len(status.stored), "missing": status.missing, "begun": status.begun}
    return {**names, "state": status.state, **runs, "failed": [run.seed for run in status.failed]}


def _make_ready(planned: list[PlannedCell], folder: Path, retry_failed: bool) -> None:
    """Readies the live benchmarks that are to be run, before anything is written."""
    live = [p for p in planned if _is_live(p)]
    if not live:
        return  # the others are made ready as their runs begin: to look for what is stored twice would not be worth it
    try:
        known = Store.open(folder).runs()
    except StoreError:
        known = {}  # there is none yet, or `Store.create` will say what is wrong
    missing = (p for p in live if retry_failed or set(p.seeds) - known.get(p.cell.id, {}).keys())
    for name in dict.fromkeys(p.cell.bench for p in missing):
        open_benchmark(name).make_ready()


def _forget_failed(store: Store, planned: list[PlannedCell]) -> None:
    stored = store.runs()
    for p in planned:
        failed = {seed for seed in p.seeds if seed in stored.get(p.cell.id, {}) and stored[p.cell.id][seed].failed}
        if failed:
            store.forget(p.cell, failed)
        for seed in failed:
            drop_failed(store.journals / f"{p.cell.run_id(seed)}.jsonl")


def _say_plan(missing: list[tuple[PlannedCell, list[int]]]) -> None:
    wanted = sum(len(p.seeds) for p, _ in missing)
    todo = sum(len(seeds) for _, seeds in missing)
    if len(missing) <= _MOST_LINES:
        for p, seeds in missing:
            cached = len(p.seeds) - len(seeds)
            state = "(cached)" if not seeds else f"{cached} (cached), {len(seeds)} to run" if cached else "to run"
            click.echo(f"{p.cell.method} on {p.cell.bench}, {p.cell.constraint}: {len(p.seeds)} runs, {state}")
    state = f"{wanted - todo} (cached), {todo} to run" if todo else "all (cached)"
    click.echo(f"{wanted} runs in {len(missing)} cells: {state}")


def _say_cost(missing: list[tuple[PlannedCell, list[int]]], jobs: int, costs: Costs) -> None:
    """An estimate of the time, where it is worth a coffee: a method's own, and that of its evaluations."""
    seconds: dict[str, float] = {}
    for p, seeds in missing:
        if not seeds:
            continue
        own = len(seeds) * costs.of(p).seconds / jobs
        seconds[p.spec.name] = seconds.get(p.spec.name, 0.0) + own
    total = sum(seconds.values())
    if total > _WORTH_SAYING:
        longest_first = sorted(seconds.items(), key=lambda item: -item[1])
        parts = ", ".join(f"{name} {span(own)}" for name, own in longest_first if own > 1)
        trained = any(_is_live(p) for p, seeds in missing if seeds)
        cores = f"--jobs {jobs}, a CPU core each" if trained else f"--jobs {jobs}"
        click.echo(f"estimated: {span(total)} with {cores} ({parts}); --without NAME leaves a method out")


def _say_long_beginnings(planned: list[PlannedCell]) -> None:
    """Warns of budgets that a method's first ask will probably use up: it is not interrupted."""
    for p in planned:
        if p.cell.seconds is not None and p.beginning > p.cell.seconds:
            click.echo(
                f"{p.cell.method} on {p.cell.bench} searches for about {span(p.beginning)} before its first "
                f"evaluation, and is not interrupted: of {p.cell.seconds:g} s nothing will be left",
                err=True,
            )


def _say_crowd(planned: list[PlannedCell], jobs: int) -> None:
    """Warns of more evaluations at a time than cores: each takes longer, on a clock that is the wall's."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    at_a_time = jobs * max((p.cell.workers for p in planned if _is_live(p)), default=0)
    if at_a_time > cores:
        click.echo(
            f"notice: {at_a_time} evaluations at a time (--jobs x --workers) on {cores} cores: on a CPU each takes "
            "longer, and their clock is the wall's",
            err=True,
        )


def _is_live(planned: PlannedCell) -> bool:
    return open_benchmark(planned.cell.bench).live


def _say_failures(failures: list[tuple[str, str, str, RunRecord]]) -> None:
    """Names runs that stopped, one by one; runs that went on after failed evaluations, a line a cell."""
    stopped = [failure for failure in failures if failure[3].failure]
    for method, bench, constraint, record in stopped[:_MOST_LINES]:
        where = f"{method} on {bench}, {constraint}, seed {record.seed}"
        click.echo(f"failed: {where}: stopped: {record.first_reason}", err=True)
    if len(stopped) > _MOST_LINES:
        click.echo(f"… and {len(stopped) - _MOST_LINES} more runs that stopped", err=True)
    cells: dict[tuple[str, str, str], list[RunRecord]] = {}
    for method, bench, constraint, record in failures:
        if not record.failure:
            cells.setdefault((method, bench, constraint), []).append(record)
    for (method, bench, constraint), records in list(cells.items())[:_MOST_LINES]:
        evaluations = sum(record.failed_evaluations for record in records)
        click.echo(
            f"failed: {method} on {bench}, {constraint}: {evaluations} failed evaluations in {len(records)} runs, "
            f"seed {records[0].seed} first: {records[0].first_reason}",
            err=True,
        )
    if len(cells) > _MOST_LINES:
        click.echo(f"… and failed evaluations in {len(cells) - _MOST_LINES} more cells", err=True)
    if failures:
        click.echo(f"{len(failures)} runs with failures; once mended, the same command with --retry-failed", err=True)


def _say_notices(store: Store) -> None:
    for notice in dict.fromkeys(store.notices):
        click.echo(f"notice: {notice}", err=True)


def _command() -> str:
    """This command line, without its store, and with the suite's path made good for any folder."""
    words = ["nasbench", *sys.argv[1:]]
    kept = []
    for before, word in zip(["", *words], words, strict=False):
        if before == "--store" or word == "--store" or word.startswith("--store="):
            continue
        option, equals, value = word.partition("=")
        if option == "--data-dir" and equals:
            kept.append(f"--data-dir={Path(value).resolve()}")
        elif before == "--data-dir" or (before == "--suite" and Path(word).exists()):
            kept.append(str(Path(word).resolve()))
        else:
            kept.append(word)
    return shlex.join(kept)


def _say_finish(cells: list[CellStatus], folder: Path) -> None:
    """How to get what is missing or stale: the commands that asked for it."""
    commands = dict.fromkeys(command for c in cells for command in c.commands)
    if commands:
        click.echo("To finish it:")
    for command in commands:
        click.echo(f"  {command} --store {shlex.quote(str(folder))}")
    if any(c.stale and not c.commands for c in cells):
        click.echo("Some stale runs belong to no recorded command; they are superseded when asked for again.")

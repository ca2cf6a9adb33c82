"""`nasbench status`: says what a store holds, what is wrong with it, and how to finish it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click

from nasbench.cli.commands.messages import MOST_LINES, say_failures, say_notices
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.under_way import said_of
from nasbench.cli.layout import span, table
from nasbench.results import Store
from nasbench.results.display.numbers import count
from nasbench.results.store import content_hash
from nasbench.results.store.status import CellStatus
from nasbench.results.store.status import status as status_of
from nasbench.results.store.under_way import begun

_SECONDS = 5.0  # between two looks


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", is_flag=True, help="Show what is under way, anew every few seconds, until nothing is missing.")
@takes_data_dir
def status(store: Path, as_json: bool, watch: bool) -> None:
    """Say what a store holds, what is missing, torn, stale or failed, and how to finish it.

    Reads and verifies every row; what is torn or foreign is moved to STORE/_aside.
    """
    if watch:
        follow(Store.open(store))
    else:
        print_status(store, as_json)


def follow(store: Store, pause: Callable[[float], object] = sleep, clock: Callable[[], float] = monotonic) -> None:
    """Prints how far a store is, again and again, until nothing is missing or the user stops it.

    Args:
        pause: waits for so many seconds.
        clock: tells seconds.
    """
    begin, first = clock(), -1
    while True:
        cells = status_of(store, is_current)
        done, asked = sum(len(c.stored) for c in cells), sum(len(c.asked) for c in cells)
        first = done if first < 0 else first
        seconds = clock() - begin
        rate = (done - first) / seconds if seconds > 0 else 0.0
        left = f"; about {span((asked - done) / rate)} left" if rate > 0 and done < asked else ""
        click.clear()
        click.echo(f"{done} of {count(asked, 'run')}{' (partial)' if done < asked else ''}{left}\n")
        click.echo(under_way(store, cells))
        if done >= asked:
            return
        pause(_SECONDS)


def under_way(store: Store, cells: list[CellStatus]) -> str:
    """What is done by method, and each run that has begun and is not finished, with its best so far."""
    rows = [("method", "runs", "begun")]
    for method in dict.fromkeys(c.cell.method for c in cells):
        own = [c for c in cells if c.cell.method == method]
        done, asked = sum(len(c.stored) for c in own), sum(len(c.asked) for c in own)
        rows.append((method, f"{done}/{asked}", str(sum(c.begun for c in own))))
    missing = [(c.cell, seed) for c in cells if c.begun for seed in c.missing]
    lines = said_of(begun(store.journals, missing), MOST_LINES)
    return "\n".join([table(rows), "", *lines]).rstrip()


def print_status(folder: Path, as_json: bool) -> None:
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
        details += [] if c.is_known else ["its benchmark or method is not installed here"]
        state = f"{c.state} ({', '.join(details)})" if details else c.state
        runs = f"{len(c.stored)}/{len(c.asked)}"
        rows.append((c.cell.method, c.cell.bench, c.cell.constraint, c.cell.protocol, runs, state))
    click.echo(table(rows))
    counts = Counter(c.state for c in cells)
    states = ", ".join(f"{n} {state}" for state, n in counts.items()) or "nothing asked for"
    click.echo(f"\n{count(len(cells), 'cell')}: {states}; contents sha256:{digest}")
    say_notices(store)
    say_failures([(c.cell.method, c.cell.bench, c.cell.constraint, run) for c in cells for run in c.failed])
    _say_finish(cells, folder)


def _facts(status: CellStatus) -> dict[str, Any]:
    cell = status.cell
    names = {"method": cell.method, "bench": cell.bench, "constraint": cell.constraint, "protocol": cell.protocol}
    runs = {"asked": len(status.asked), "stored": len(status.stored), "missing": status.missing, "begun": status.begun}
    return {**names, "state": status.state, **runs, "failed": [run.seed for run in status.failed]}


def _say_finish(cells: list[CellStatus], folder: Path) -> None:
    """Prints the commands that compute what is missing or stale: those that asked for it."""
    commands = dict.fromkeys(command for c in cells for command in c.commands)
    if commands:
        click.echo("To finish it:")
    for command in commands:
        click.echo(f"  {command} --store {shlex.quote(str(folder))}")
    if any(c.stale and not c.commands for c in cells):
        click.echo("Some stale runs belong to no recorded command; they are superseded when asked for again.")

"""`nasbench status`: says what a store holds, what is wrong with it, and how to finish it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

from nasbench.cli.commands.messages import say_failures, say_notices
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.plan import is_current
from nasbench.cli.layout import table
from nasbench.results import Store
from nasbench.results.store import content_hash
from nasbench.results.store.status import CellStatus
from nasbench.results.store.status import status as status_of


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
def status(store: Path, as_json: bool) -> None:
    """Say what a store holds, what is missing, torn, stale or failed, and how to finish it.

    Reads and verifies every row; what is torn or foreign is moved to STORE/_aside.
    """
    print_status(store, as_json)


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
    click.echo(f"\n{len(cells)} cells: {states}; contents sha256:{digest}")
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

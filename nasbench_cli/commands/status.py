"""`nasbench status`: reports the contents and problems of a store, and how to finish it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import click

from nasbench.base.layout import span, table
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands.messages import MOST_LINES, say_failures, say_notices
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.sources import current_sources
from nasbench.cli.engine.under_way import described
from nasbench.results import Store
from nasbench.results.sources import changed
from nasbench.results.store import content_hash
from nasbench.results.store.status import SetupStatus, absent
from nasbench.results.store.status import status as status_of
from nasbench.results.store.under_way import begun

_SECONDS = 5.0  # between two updates


@click.command(cls=Command)
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", is_flag=True, help="Show progress every few seconds until nothing is missing.")
@takes_data_dir
def status(stores: tuple[Path, ...], as_json: bool, watch: bool) -> None:
    """Report the runs of stores, which of them are missing, damaged, stale or failed, and how to finish them.

    Reads and verifies every row; damaged and foreign files are moved to STORE/_aside.
    """
    if watch and as_json:
        raise UsageError("--watch shows progress to people: leave out --json, or --watch")
    if watch:
        if len(stores) > 1:
            raise UsageError("--watch follows one store")
        follow(Store.open(stores[0]))
        return
    opened = {folder: Store.open(folder) for folder in stores}
    if as_json:
        facts = {str(folder): _store_facts(store) for folder, store in opened.items()}
        alone = next(iter(facts.values())) if len(facts) == 1 else {"stores": facts}
        say(json.dumps(alone | {"absent_shards": absent([*opened.values()])}, indent=2))
        return
    for number, (folder, store) in enumerate(opened.items()):
        if len(opened) > 1:
            say(f"{folder}\n" if number == 0 else f"\n{folder}\n")
        print_status(store, folder)
    for lacking in absent([*opened.values()]):
        say(f"notice: {lacking}", err=True)


def _store_facts(store: Store) -> dict[str, Any]:
    """The state of every setup of a store, for JSON."""
    digest, setups = _read(store)
    return {"setups": [_facts(c) for c in setups], "contents": digest, "notices": store.notices}


def _read(store: Store) -> tuple[str, list[SetupStatus]]:
    """The hash of a store's contents, and the state of its setups; notices of its files are added to it."""
    digest = content_hash(store)  # reads and verifies every row: damaged runs are missing from here on
    setups = status_of(store, is_current)
    current = {c.setup.id for c in setups if not c.stale}
    store.notices += changed([f for f in store.fragments() if f.setup.id in current], current_sources())
    return digest, setups


def follow(store: Store, pause: Callable[[float], object] = sleep, clock: Callable[[], float] = monotonic) -> None:
    """Prints the progress of a store repeatedly until nothing is missing or the user stops it.

    Args:
        pause: waits for a number of seconds.
        clock: returns the time in seconds.
    """
    begin, first = clock(), -1
    while True:
        setups = status_of(store, is_current)
        done, asked = sum(len(c.stored) for c in setups), sum(len(c.asked) for c in setups)
        first = done if first < 0 else first
        seconds = clock() - begin
        rate = (done - first) / seconds if seconds > 0 else 0.0
        left = f"; about {span((asked - done) / rate)} left" if rate > 0 and done < asked else ""
        click.clear()
        say(f"{done:,} of {count(asked, 'run')}{' (partial)' if done < asked else ''}{left}\n")
        say(under_way(store, setups))
        say_notices(store)
        if done >= asked:
            return
        pause(_SECONDS)


def under_way(store: Store, setups: list[SetupStatus]) -> str:
    """A table of finished runs by method, and a line for each run that is under way."""
    rows = [("method", "runs", "begun")]
    for method in dict.fromkeys(c.setup.method for c in setups):
        chosen = [c for c in setups if c.setup.method == method]
        done, asked = sum(len(c.stored) for c in chosen), sum(len(c.asked) for c in chosen)
        rows.append((method, f"{done}/{asked}", str(sum(c.begun for c in chosen))))
    missing = [(c.setup, seed) for c in setups if c.begun for seed in c.missing]
    lines = described(begun(store.journals, missing), MOST_LINES)
    return "\n".join([table(rows), "", *lines]).rstrip()


def print_status(store: Store, folder: Path) -> None:
    """Prints the state of every setup of a store, problems of its files, and how to finish it."""
    digest, setups = _read(store)
    rows = [("method", "benchmark", "constraint", "protocol", "runs", "state")]
    for c in setups:
        details = [f"{len(c.failed)} failed"] if c.failed else []
        details += [f"{c.begun} begun"] if c.begun else []
        details += [] if c.is_known else ["of a loop of its own, or not installed here"]
        state = f"{c.state} ({', '.join(details)})" if details else c.state
        runs = f"{len(c.stored)}/{len(c.asked)}"
        rows.append((c.setup.method, c.setup.bench, c.setup.constraint, c.setup.protocol, runs, state))
    say(table(rows))
    counts = Counter(c.state for c in setups)
    states = ", ".join(f"{n} {state}" for state, n in counts.items()) or "nothing requested"
    say(f"\n{count(len(setups), 'setup')}: {states}; contents sha256:{digest}")
    say_notices(store)
    say_failures([(c.setup, run) for c in setups for run in c.failed])
    _say_finish(setups, folder)


def _facts(status: SetupStatus) -> dict[str, Any]:
    setup = status.setup
    names = {"method": setup.method, "bench": setup.bench, "constraint": setup.constraint, "protocol": setup.protocol}
    runs = {"asked": len(status.asked), "stored": len(status.stored), "missing": status.missing, "begun": status.begun}
    return {**names, "state": status.state, **runs, "failed": [run.seed for run in status.failed]}


def _say_finish(setups: list[SetupStatus], folder: Path) -> None:
    """Prints the recorded commands that compute missing and stale runs."""
    commands = dict.fromkeys(command for c in setups for command in c.commands)
    if commands:
        say("To finish it:")
    store = shlex.quote(str(folder))
    for command in commands:  # nasbench.run(…) was called from Python
        say(f"  {command} {'--store' if command.startswith('nasbench ') else 'with store'} {store}")
    if any(c.stale and not c.commands for c in setups):
        say("Some stale runs belong to no recorded command; they are replaced when they are requested again.")

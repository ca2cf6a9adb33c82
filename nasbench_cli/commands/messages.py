"""Messages about a store that several commands print: notices and failures of runs."""

from __future__ import annotations

from nasbench.cli.streams import say
from nasbench.results import Store
from nasbench.results.display.numbers import count
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.trajectory import Setup

MOST_LINES = 24
"""Largest number of printed lines of a list; the others are counted."""


def say_failures(failures: list[tuple[Setup, RunRecord]]) -> None:
    """Prints failures on standard error: one line per run that stopped, one line per setup with failed evaluations.

    Args:
        failures: the setup and the record of each run with a failure.
    """
    stopped = [(setup, record) for setup, record in failures if record.failure]
    for setup, record in stopped[:MOST_LINES]:
        say(f"failed: {setup.title}, seed {record.seed}: stopped: {record.first_reason}", err=True)
    if len(stopped) > MOST_LINES:
        say(f"… and {count(len(stopped) - MOST_LINES, 'more run')} that stopped", err=True)
    setups: dict[str, list[RunRecord]] = {}
    for setup, record in failures:
        if not record.failure:
            setups.setdefault(setup.title, []).append(record)
    for title, records in list(setups.items())[:MOST_LINES]:
        evaluations = sum(record.failed_evaluations for record in records)
        say(
            f"failed: {title}: {count(evaluations, 'failed evaluation')} in "
            f"{count(len(records), 'run')}, seed {records[0].seed} first: {records[0].first_reason}",
            err=True,
        )
    if len(setups) > MOST_LINES:
        say(f"… and failed evaluations in {count(len(setups) - MOST_LINES, 'more setup')}", err=True)
    if failures:
        say(
            f"{count(len(failures), 'run')} with failures; when the cause is fixed, give the same command with "
            "--retry-failed",
            err=True,
        )


def say_notices(store: Store) -> None:
    """Prints each notice of a store once on standard error."""
    notices = list(dict.fromkeys(store.notices))
    for notice in notices[:MOST_LINES]:
        say(f"notice: {notice}", err=True)
    if len(notices) > MOST_LINES:
        say(f"… and {count(len(notices) - MOST_LINES, 'more notice')}", err=True)

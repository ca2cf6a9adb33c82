"""Messages about a store that several commands print: notices and failures of runs."""

from __future__ import annotations

from collections.abc import Iterable

from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.cli.engine.failures import kind
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.trajectory import Setup

MOST_LINES = 24
"""Largest number of printed lines of a list; the others are counted."""


def say_failures(failures: list[tuple[Setup, RunRecord]]) -> None:
    """Prints failures on standard error: one line per method and reason, of runs that stopped first.

    Failed evaluations of a setup count as those of one reason, the first: each configuration may have its own.

    Args:
        failures: the setup and the record of each run with a failure.
    """
    groups: dict[tuple[bool, str, str], list[tuple[Setup, RunRecord]]] = {}
    of_setup: dict[str, str] = {}
    for setup, record in failures:
        reason = record.failure or of_setup.setdefault(setup.title, record.first_reason)
        groups.setdefault((not record.failure, setup.method, kind(reason)), []).append((setup, record))
    stopped_first = sorted(groups.items(), key=lambda group: group[0][0])
    for _, group in stopped_first[:MOST_LINES]:
        say(f"failed: {_told(group)}", err=True)
    if len(groups) > MOST_LINES:
        left = sum(len(group) for _, group in stopped_first[MOST_LINES:])
        say(f"… and {count(left, 'more run')}, for {count(len(groups) - MOST_LINES, 'other reason')}", err=True)
    if failures:
        say(
            f"{count(len(failures), 'run')} with failures; when the cause is fixed, give the same command with "
            "--retry-failed",
            err=True,
        )


def _told(group: list[tuple[Setup, RunRecord]]) -> str:
    """Runs that failed for the same reason: how many, the first of them, and its reason."""
    setup, record = group[0]
    first, what = f"{setup.title}, seed {record.seed}", "stopped"
    if len(group) > 1:
        first = f"{count(len(group), 'run')}, {first} first"
    if not record.failure:
        what = count(sum(record.failed_evaluations for _, record in group), "failed evaluation")
    return f"{first}: {what}: {record.first_reason}"


def say_left_out(sentences: Iterable[str]) -> None:
    """Prints on standard error which methods are left out, and where."""
    for sentence in sentences:
        say(f"left out: {sentence}", err=True)


def say_notices(store: Store) -> None:
    """Prints each notice of a store once on standard error."""
    notices = list(dict.fromkeys(store.notices))
    for notice in notices[:MOST_LINES]:
        say(f"notice: {notice}", err=True)
    if len(notices) > MOST_LINES:
        say(f"… and {count(len(notices) - MOST_LINES, 'more notice')}", err=True)

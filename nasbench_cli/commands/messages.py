"""Messages about a store that several commands print: notices and failures of runs."""

from __future__ import annotations

from collections.abc import Iterable

from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.cli.engine.failures import told
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.trajectory import Setup

MOST_LINES = 24
"""Largest number of printed lines of a list; the others are counted."""


def say_failures(failures: list[tuple[Setup, RunRecord]]) -> None:
    """Prints failures on standard error, as `told` groups them.

    Args:
        failures: the setup and the record of each run with a failure.
    """
    sentences = told(failures)
    for sentence in sentences[:MOST_LINES]:
        say(f"failed: {sentence}", err=True)
    if len(sentences) > MOST_LINES:
        say(f"… and {count(len(sentences) - MOST_LINES, 'other reason')}", err=True)
    if failures:
        say(
            f"{count(len(failures), 'run')} with failures; when the cause is fixed, give the same command with "
            "--retry-failed",
            err=True,
        )


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

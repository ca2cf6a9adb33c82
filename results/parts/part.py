"""A part of a report that only some runs have: searches of one-shot methods, networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from matplotlib.figure import Figure

from nasbench.results.report.table import Table

Drawn: TypeAlias = tuple[tuple[str, ...], Figure]
"""The words of a figure's name, and the figure."""


class Part(NamedTuple):
    """A section of the page, and files beside it."""

    name: str
    title: str
    tables: list[Table]
    figures: Callable[[], Iterator[Drawn]]
    """Drawn one at a time, anew with each call."""

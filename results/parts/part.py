"""A part of a report: what every one is given, and what it brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nasbench.results.curves import Curves
from nasbench.results.display.panels import Chart
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts.literature import NOTHING, Literature
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawn: TypeAlias = "tuple[tuple[str, ...], Figure | Scene]"
"""The words of a figure's name, and the figure."""


@dataclass(frozen=True)
class Subject:
    """What a report is about: all that a part may ask."""

    comparison: Comparison
    fragments: Sequence[tuple[Store, Fragment]]
    """Of the runs that are compared, each with its store."""
    references: Sequence[Curves] = ()
    """Single networks, for orientation."""
    literature: Literature = NOTHING
    """What papers say of the methods."""

    @property
    def curves(self) -> Curves:
        """The runs that are compared."""
        return self.comparison.curves


def _no_figures() -> Iterator[Drawn]:
    return iter(())


@dataclass(frozen=True)
class Part:
    """A section of the page, and files beside it."""

    name: str
    title: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    figures: Callable[[], Iterator[Drawn]] = _no_figures
    """Diagrams, drawn one at a time, anew with each call."""
    sentences: Sequence[str] = ()
    intro: str = ""
    """What the reader must know first."""


MakeOptional: TypeAlias = Callable[[Subject, Sequence[str]], Part]
"""What a module of this folder offers where its part is made on request alone: from the words after its name."""

MakePart: TypeAlias = Callable[[Subject], Part | None]
"""What a module of this folder offers: its part of a report, or None where the runs do not ask for one."""

"""A part of a report, and the registry of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nasbench.base.registry import Registry
from nasbench.results.display.panels import Chart
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawn: TypeAlias = "tuple[tuple[str, ...], Figure | Scene]"
"""The words of a figure's name, and the figure."""


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
    """Returns an iterator over diagrams, which are drawn one at a time."""
    sentences: Sequence[str] = ()
    intro: str = ""
    """Introduction for the reader."""


MakePart: TypeAlias = Callable[[Subject, Sequence[str]], Part | None]
"""A registered part: (subject, words after its name) → part; None if it does not apply to the runs."""

PARTS: Registry[MakePart] = Registry("part", "nasbench.results.parts", "nasbench.parts", decorator="PARTS")
"""The parts of reports by name. A part is asked for by `--part`, unless it is a `Plain` one with a place."""


@dataclass(frozen=True)
class Plain:
    """A part without options."""

    make: Callable[[Subject], Part | None]
    place: int | None
    """Its place in every report that it applies to; None for a part that is only asked for."""

    def __call__(self, subject: Subject, words: Sequence[str] = ()) -> Part | None:
        """Makes the part; there are no words (`requested` refuses them)."""
        return self.make(subject)


def plain(place: int | None = None) -> Callable[[Callable[[Subject], Part | None]], Plain]:
    """Decorator of a part without options; one with a place stands in every report that it applies to."""
    return lambda make: Plain(make, place)

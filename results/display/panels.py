"""Charts of lines as data; `plots` draws them for papers, `svg` for the page and for files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from nasbench.results.curves import Array


@dataclass(frozen=True)
class Series:
    """One method's line."""

    method: int
    y: Array
    low: Array | None = None
    high: Array | None = None
    """The ends of a band; NaN where there is no band."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One chart of lines."""

    title: str
    xlabel: str
    ylabel: str
    x: Array
    series: tuple[Series, ...]
    limits: tuple[float, float]
    """Limits of the y axis, the lower end first."""
    _: KW_ONLY
    log: bool = False
    """Whether the y axis is logarithmic."""
    xlog: bool = False
    """Whether the x axis is logarithmic."""
    best_on_top: bool = False
    reference: float | None = None
    """Value of a horizontal line: the oracle."""
    bound: Array | None = None
    """A dotted line along x that no series passes: the exact front; NaN where there is none."""
    place: tuple[str, str, str] | None = None
    """Family, benchmark and constraint, if the panel is about one setting."""


POINTS = 41
"""Points of a line on a screen; more cannot be seen."""


@dataclass(frozen=True)
class Chart:
    """One or several panels: one file, and one chart per panel on the page."""

    name: str
    make: Callable[[int], Sequence[Panel]]
    """(largest number of points of a line) → panels."""
    title: str = ""
    """Title of several panels."""
    note: str = ""
    """The meaning of lines, bands and axes."""
    _made: dict[int, Sequence[Panel]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def panels(self, points: int) -> Sequence[Panel]:
        """The panels, computed once for each number of points."""
        if points not in self._made:
            self._made[points] = self.make(points)
        return self._made[points]


def scaled(panel: Panel) -> Panel:
    """The panel with limits that fit its values, and a logarithmic axis if they span more than a factor of 20."""
    lines = [line for s in panel.series if len(line := s.y[np.isfinite(s.y)])]
    if not lines:
        return panel
    values = np.concatenate(lines)
    if values.min() > 0 and values.max() > 20 * values.min():
        positive = panel.reference is not None and panel.reference > 0
        bottom = min(values.min(), panel.reference) if positive else values.min()
        limits = (float(bottom) / 1.1, float(values.max()) * 1.1)
        series = tuple(replace(s, low=None if s.low is None else np.maximum(s.low, limits[0])) for s in panel.series)
        reference = panel.reference if positive else None
        return replace(panel, log=True, limits=limits, series=series, reference=reference)
    # The first random draws would dwarf everything that follows, in which a line may also rise.
    early = max(1, len(panel.x) // 20)
    top = max(line[min(early, len(line) - 1) :].max() for line in lines)
    bottom = np.nanmin([values.min(), np.nan if panel.reference is None else panel.reference])
    flat = top - bottom <= 1e-9 * max(abs(top), abs(bottom))
    margin = (abs(top) or 1.0) if flat else top - bottom
    return replace(panel, limits=(float(bottom - 0.08 * margin), float(top + 0.04 * margin)))


def span(series: tuple[Series, ...]) -> tuple[float, float]:
    """Limits that show every line, with a margin."""
    values = np.concatenate([np.zeros(0), *(s.y[np.isfinite(s.y)] for s in series)])
    if not len(values):
        return 0.0, 1.0
    margin = 0.05 * (values.max() - values.min()) or 0.5
    return float(values.min() - margin), float(values.max() + margin)

"""Colours, markers and dashes of methods, which depend on the method's name and are the same in every report."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeVar

T = TypeVar("T")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
"""The colours of Okabe and Ito (2008), with olive for their yellow; distinguishable with any colour vision."""
MARKER_SHAPES = {
    "o": "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z",
    "s": "M-3,-3h6v6h-6z",
    "^": "M0,-3.6L3.4,2.6H-3.4z",
    "D": "M0,-3.8L3.2,0L0,3.8L-3.2,0z",
    "v": "M0,3.6L3.4,-2.6H-3.4z",
    "P": "M-1.2,-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
    "X": "M-3.4,-2L-2,-3.4L0,-1.4L2,-3.4L3.4,-2L1.4,0L3.4,2L2,3.4L0,1.4L-2,3.4L-3.4,2L-1.4,0z",
    "*": "M0,-4L1,-1.2H4L1.6,.6L2.5,3.5L0,1.7L-2.5,3.5L-1.6,.6L-4,-1.2H-1z",
}
"""Markers by their letters in matplotlib, as SVG paths about seven pixels wide, centred at the origin."""
MARKERS = tuple(MARKER_SHAPES)
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 2), (2, 2), (8, 2, 2, 2))
"""Lengths of strokes and gaps, as multiples of the line's width."""


@dataclass(frozen=True)
class Look:
    """The appearance of a line."""

    colour: str
    """Hexadecimal code."""
    marker: str
    """Letter in matplotlib."""
    dash: tuple[int, ...] = ()
    """One of `DASHES`; empty for a line without gaps."""


_OURS = (
    # One row per dash (solid, dashed, dotted, dash-dotted), one column per colour. Methods that are often compared are
    # in one row.
    ("c-tpe", "c-tpe-naive", "local", "tpe", "mcts", "evolution", "random", "smbo"),
    ("zo-darts++", "darts", "milenas", "zo-darts+", "zo-darts", "nasbot-ea", "nasbot-rand", "nasbot"),
    ("optuna-tpe", "ax-nei", "rf-cei", "cnsga2", "optuna-gp", "bananas", "spos", "asha"),
    ("hyperband", "dehb", "bohb", "c-bohb", "popnas", "treebo", "scbo", "smac"),
)
_CURATED = {
    name: Look(COLOURS[i], MARKERS[(i + 3 * row) % len(MARKERS)], DASHES[row])
    for row, names in enumerate(_OURS)
    for i, name in enumerate(names)
}


def look(spec: str) -> Look:
    """The preferred look of a method: from a list for built-in ones, for others from a hash of the name.

    A method with options has the colour of its name, and marker and dash from a hash of the options.

    Args:
        spec: the method's name with its options: `evolution:population=10`.
    """
    name, has_options, _ = spec.partition(":")
    if name in _CURATED and not has_options:
        return _CURATED[name]
    colour = _CURATED[name].colour if name in _CURATED else COLOURS[_number(name) % len(COLOURS)]
    number = _number(spec)
    return Look(colour, MARKERS[number % len(MARKERS)], DASHES[1 + number // len(MARKERS) % (len(DASHES) - 1)])


@lru_cache
def looks(specs: tuple[str, ...]) -> tuple[Look, ...]:
    """The look of each method of a report, distinct for up to 256 methods.

    If two would have the same colour and dash, the later by name (those with options last) gets another dash, or else
    another marker. Only in this case does a look depend on other methods.
    """
    by_spec: dict[str, Look] = {}
    for spec in sorted(specs, key=lambda s: (s not in _CURATED, s)):
        by_spec[spec] = _free(look(spec), list(by_spec.values()))
    return tuple(by_spec[spec] for spec in specs)


def numbered(count: int) -> tuple[Look, ...]:
    """Looks for lines that are not methods, such as operations or stages."""
    return tuple(Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i in range(count))


def _free(wish: Look, taken: Sequence[Look]) -> Look:
    """The wish if it is free, or else the nearest free look: another dash, another marker, another colour."""
    lines = {(other.colour, other.dash) for other in taken}
    if (wish.colour, wish.dash) not in lines:
        return wish
    for dash in _from(DASHES, wish.dash):
        if (wish.colour, dash) not in lines:
            return Look(wish.colour, wish.marker, dash)
    choices = product(_from(COLOURS, wish.colour), _from(MARKERS, wish.marker), _from(DASHES, wish.dash))
    return next((candidate for candidate in (Look(*choice) for choice in choices) if candidate not in taken), wish)


def _from(options: Sequence[T], first: T) -> list[T]:
    """The options rotated so that `first` comes first."""
    start = list(options).index(first)
    return [*options[start:], *options[:start]]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])

"""Metrics: objects with a unit and a direction, never bare strings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, SupportsFloat

from nasbench.base.layout import one_line

ONLY = "only"
"""The split of a metric whose data has one split only: it is used for selection and reported, and reports say so."""
USED = "used "
"""Beginning of the name of a logged quantity that a search uses up, such as `used tokens`."""
LARGEST = 1e100
"""The largest absolute value of a number: sums, differences and squares of larger ones overflow."""


class Scale(NamedTuple):
    """How the values of a metric are compared with several objectives."""

    name: str
    """Name of the metric."""
    unit: str
    """Unit of its values."""
    maximised: bool
    """True if larger is better."""
    log: bool
    """Whether ratios of values count, not differences."""


@dataclass(frozen=True)
class Metric:
    """A number that an evaluation reports, with its meaning."""

    name: str
    """`split-quantity@epoch` for a metric measured on data (x-valid-error@200), a plain word for any other metric."""
    unit: str
    """Unit of the values, for example s or %; empty for a number without one."""
    minimize: bool = True
    """True if smaller is better."""
    description: str = ""
    """The meaning, in one line."""
    split: str | None = None
    """The data split it is measured on; None for costs and properties of the network."""
    epoch: int | None = None
    """The training epoch it is measured at; None for costs and properties of the network."""
    cheap: bool = False
    """True if the value is known before training, as model size is."""
    seconds: float = 0.0
    """Seconds that it takes to compute a cheap value, charged on the run's clock each time a method asks for it."""

    @property
    def is_test(self) -> bool:
        """Whether it is measured on a test split (the split is called test or holdout): reported, never selected on."""
        return self.split is not None and sounds_like_test(self.split)

    @property
    def log(self) -> bool:
        """Whether ratios of values count, not differences: for a metric without a split in a unit such as seconds.

        A share in % and a plain number, which has no unit, are linear. The hypervolume of several objectives takes the
        logarithm of the others.
        """
        return self.split is None and self.unit not in {"", "%"}

    @property
    def scale(self) -> Scale:
        """How its values are compared with several objectives."""
        return Scale(self.name, self.unit, not self.minimize, self.log)

    @property
    def direction(self) -> str:
        """`minimise` or `maximise`, for people and files."""
        return "minimise" if self.minimize else "maximise"


_SUPERLATIVES = "brigh|cu|exac|fas|fat|flat|grea|hot|la|ligh|nea|quie|shor|smar|stric|swee|tigh|vas|whi"
"""Beginnings of English superlatives that end in `test`."""


def sounds_like_test(name: str) -> bool:
    """Whether a name suggests held-out data: `ori-test`, `AUCTest`, `holdout`; `shortest_path` and `shield` do not."""
    rest = re.sub(f"({_SUPERLATIVES})test|contest|protest|attest|shield|withheld|handheld", "", name.lower())
    return any(word in rest for word in ("test", "holdout", "hold-out", "held"))


def as_number(what: str, value: object) -> float:
    """A number that a benchmark gives. Raises ValueError for what is none: a text, a list, an array of one number."""
    if type(value) is float:  # nearly always, and asked of every evaluation
        return value
    try:
        if isinstance(value, SupportsFloat):
            return float(value)
    except (TypeError, ValueError):
        pass  # NumPy's arrays and PyTorch's tensors have the method, whatever they hold
    raise ValueError(f"{what} is {one_line(repr(value), 60)}, which is no number")


class Values(Mapping[str, float]):
    """Values of metrics by name. The names are shared with the benchmark, so it costs little more than a tuple.

    Args:
        places: the position of each name in `row`, ascending.
        row: the values.
    """

    __slots__ = ("_places", "row")

    def __init__(self, places: Mapping[str, int], row: tuple[float, ...]) -> None:
        self._places, self.row = places, row

    def __getitem__(self, metric: str) -> float:
        return self.row[self._places[metric]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return repr(dict(self))

    def shares(self, places: Mapping[str, int]) -> bool:
        """Whether the values are those of the benchmark that owns this very object of places."""
        return self._places is places

"""A metric is an object, never a bare string."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ONLY = "only"
"""The split of a metric whose data has one split: it selects, and is reported, and every report says so."""
LARGEST = 1e100
"""The largest size of a value: sums, differences and squares of larger ones are no numbers any more."""


@dataclass(frozen=True)
class Metric:
    """A number that an evaluation reports, with its meaning."""

    name: str
    """`split-quantity@epoch` for what is measured on data (x-valid-error@200), a plain word for any other metric."""
    unit: str
    """Unit of the values, for example s or %; empty for a number without one."""
    minimize: bool = True
    """True if smaller is better."""
    description: str = ""
    """What is measured, in one line."""
    split: str | None = None
    """The data split it was measured on; None for costs and properties of the network."""
    epoch: int | None = None
    """The training epoch it was measured at; None for costs and properties of the network."""
    cheap: bool = False
    """True if the value is known from the configuration before training, as model size is."""
    seconds: float = 0.0
    """What it takes to know a cheap value before training: charged on the run's clock each time that a method asks."""

    @property
    def held_out(self) -> bool:
        """Whether it was measured on a test split (its name contains test or holdout): reported, never selected on."""
        return self.split is not None and sounds_held_out(self.split)

    @property
    def direction(self) -> str:
        """`minimise` or `maximise`, for people and files."""
        return "minimise" if self.minimize else "maximise"


def sounds_held_out(name: str) -> bool:
    """Whether a name speaks of held-out data: `ori-test`, `Test`, `holdout`."""
    return any(word in name.lower() for word in ("test", "holdout", "hold-out", "held"))


class Values(Mapping[str, float]):
    """Values of metrics by name: the names are shared with the benchmark, so it costs little more than a tuple.

    Args:
        places: the position of each name in `row`, in this order.
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
        """Whether these are the values of the very benchmark that these places belong to."""
        return self._places is places

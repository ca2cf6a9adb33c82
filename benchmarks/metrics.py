"""A metric is an object, never a bare string."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A number that an evaluation reports, with its meaning."""

    name: str
    """Measured on data: `split-quantity@epoch` (x-valid-error@200); a property of the network: its plain name."""
    unit: str
    minimize: bool = True
    description: str = ""
    split: str | None = None
    """The data split it was measured on; None for costs and properties of the network."""
    epoch: int | None = None
    """The training epoch it was measured at; None for costs and properties of the network."""
    cheap: bool = False
    """Known from the configuration before training (model size)."""

    @property
    def held_out(self) -> bool:
        """Whether it was measured on a test split (its name contains test or holdout): reported, never selected on."""
        return self.split is not None and sounds_held_out(self.split)

    @property
    def direction(self) -> str:
        return "minimise" if self.minimize else "maximise"


def sounds_held_out(name: str) -> bool:
    """Whether a name speaks of held-out data: `ori-test`, `Test`, `holdout`."""
    return any(word in name.lower() for word in ("test", "holdout", "hold-out", "held"))

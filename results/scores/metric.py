"""A stored metric of the incumbent as a score: a test error, or the latency of what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nasbench.base.errors import StoreError, suggestion
from nasbench.results.scores.score import Array, Incumbents, Score
from nasbench.results.store.trajectory import NUMBERS

if TYPE_CHECKING:
    import pandas as pd

    from nasbench.results.store.trajectory import Setup


class OfMetric(Score):
    """The value of a metric at the row where the incumbent was evaluated; the objective chose the incumbent."""

    is_of_objective = False

    def __init__(self, asked: str, names: Sequence[str]) -> None:
        self.asked = asked
        self.name = f"metric {asked}"
        self.phrase = f"incumbent's {asked}"
        self.note = (
            f"What is compared is {asked} of the incumbent, as it was measured when the incumbent was evaluated; the "
            "incumbent is chosen by the objective that its run observed"
        )
        self.columns = tuple(f"metric.{name}" for name in names)

    def values(self, incumbents: Incumbents) -> Array | None:
        stored = next((incumbents.columns[name] for name in self.columns if name in incumbents.columns), None)
        return None if stored is None else np.where(np.isnan(incumbents.observed), np.nan, stored[incumbents.row])

    def described(self, settings: pd.DataFrame) -> pd.DataFrame:
        """The settings with the metric in the objective's place, without the facts about the objective's values."""
        unknown = dict.fromkeys([name for name in NUMBERS if name != "feasible_share"], np.nan)
        return settings.assign(objective=self.asked, unit="", split="", **unknown)


def of_metric(asked: str, setups: Sequence[Setup]) -> OfMetric:
    """The score of the metric called `asked` in the runs of some setups. Raises StoreError if a setup lacks it."""
    return OfMetric(asked, list(dict.fromkeys(_stored(asked, setup) for setup in setups)))


def _stored(asked: str, setup: Setup) -> str:
    name = name_in(setup, asked)
    if name is None:
        short = dict.fromkeys(name.split("@")[0] for name in setup.metrics)
        raise StoreError(
            f"the runs on {setup.bench} have no metric {asked!r}{suggestion(asked, list(short))}; theirs are "
            f"{', '.join(short)} (--bench or --family selects benchmarks)"
        )
    return name


def name_in(setup: Setup, asked: str) -> str | None:
    """The full name of the metric called `asked` in the runs of a setup; None if they have none.

    A name may leave out the epoch after the @; then the last epoch is meant. Raises StoreError if the metric is
    maximised.
    """
    fitting = [name for name in setup.metrics if asked in {name, name.split("@")[0]}]
    if not fitting:
        return None
    name = max(fitting, key=_epoch)
    if name in setup.setting.maximised:
        raise StoreError(f"{name} of {setup.bench} is maximised, and what a report compares is minimised")
    return name


def _epoch(name: str) -> int:
    after = name.partition("@")[2]
    return int(after) if after.isdigit() else 0

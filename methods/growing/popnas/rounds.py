"""A round: the networks evaluated between two fits of the predictors, and their log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nasbench.methods.contract import Logged
from nasbench.methods.growing.popnas.growth import Member
from nasbench.methods.problem import Observation

_FEWEST = 3  # networks for a correlation


@dataclass
class Round:
    """The fronts of one level, with predictions and observations."""

    level: int
    """The level of its members; after the last level was reached, some members may be of an earlier one."""
    front: list[Member]
    """The Pareto front of the predictions, the best score first; in the first round, all evaluated networks."""
    exploration: list[Member] = field(default_factory=list)
    """The exploration front."""
    rest: Iterator[Member] = field(default_factory=lambda: iter(()))
    """Other candidates, best first, for workers that would have to wait."""
    candidates: int = 0
    """Number of networks with predictions."""
    predicted: dict[Member, tuple[float, float]] = field(default_factory=dict)
    """Predicted objective and seconds of the members asked for."""
    told: dict[Member, Observation] = field(default_factory=dict)
    """Observations of the members."""

    def log(self, number: int, seconds: Callable[[Observation], float]) -> Iterator[Logged]:
        """The logged numbers of the round: its number is the epoch, its level the stage.

        `candidates`, `front`, `exploration`: numbers of networks. `front_objective`, `front_seconds`, and the same with
        `_predicted`: one step for each network that was trained to the end, whose front is `choice` (`between` for one
        proposed to a worker that would have waited). `spearman_objective`, `spearman_seconds`: rank correlations of
        predicted and measured values.
        """
        for quantity, size in (("candidates", self.candidates), ("front", len(self.front))):
            yield Logged(number, quantity, float(size), self.level)
        yield Logged(number, "exploration", float(len(self.exploration)), self.level)
        trained = {m: (o.objective, seconds(o)) for m, o in self.told.items() if o.evaluation.status == "ok"}
        kinds = dict.fromkeys(self.front, "front") | dict.fromkeys(self.exploration, "exploration")
        for step, (member, measured) in enumerate(trained.items(), 1):
            predictions = self.predicted.get(member, (math.nan, math.nan))
            for name, value, predicted in zip(("objective", "seconds"), measured, predictions, strict=True):
                kind = kinds.get(member, "between")
                yield Logged(number, f"front_{name}", value, self.level, choice=kind, step=step)
                if math.isfinite(predicted):
                    yield Logged(number, f"front_{name}_predicted", predicted, self.level, choice=kind, step=step)
        pairs = [(self.predicted[member], measured) for member, measured in trained.items() if member in self.predicted]
        for column, name in enumerate(("objective", "seconds")):
            correlation = spearman([guess[column] for guess, _ in pairs], [measured[column] for _, measured in pairs])
            if math.isfinite(correlation):
                yield Logged(number, f"spearman_{name}", correlation, self.level)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN for fewer than three pairs, or if all values of one side are equal."""
    if len(first) < _FEWEST:
        return math.nan
    from scipy.stats import rankdata  # slow to import

    x, y = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale else math.nan

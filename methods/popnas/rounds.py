"""What is asked for between two fits of the predictors, and what the log says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nasbench.methods.contract import Logged, Observation
from nasbench.methods.popnas.growth import Member

_FEWEST = 3  # networks, for a correlation


@dataclass
class Round:
    """The fronts of one level, and what became of them."""

    level: int
    """The level of its members; once the last level was reached, some may be of an earlier one."""
    front: list[Member]
    """The Pareto front of the predictions, the best score first; of the first level, all that is evaluated."""
    exploration: list[Member] = field(default_factory=list)
    rest: Iterator[Member] = field(default_factory=lambda: iter(()))
    """Other candidates, best first: for workers that would have to wait."""
    candidates: int = 0
    """How many networks were predicted."""
    predicted: dict[Member, tuple[float, float]] = field(default_factory=dict)
    """The objective and the seconds that were predicted of those asked for."""
    told: dict[Member, Observation] = field(default_factory=dict)

    def log(self, number: int, seconds: Callable[[Observation], float]) -> Iterator[Logged]:
        """The round as the epoch `number`, its level as the stage.

        `candidates`, `front`, `exploration`: how many; `front_objective`, `front_seconds` and the same `_predicted`: of
        each network that was trained to its end, a step each, `choice` saying on which front it was (`between` for what
        was asked for while others waited); `spearman_objective`, `spearman_seconds`: between predicted and measured.
        """
        for quantity, size in (("candidates", self.candidates), ("front", len(self.front))):
            yield Logged(number, quantity, float(size), self.level)
        yield Logged(number, "exploration", float(len(self.exploration)), self.level)
        trained = {m: (o.objective, seconds(o)) for m, o in self.told.items() if o.evaluation.status == "ok"}
        kinds = dict.fromkeys(self.front, "front") | dict.fromkeys(self.exploration, "exploration")
        for step, (member, measured) in enumerate(trained.items(), 1):
            guessed = self.predicted.get(member, (math.nan, math.nan))
            for name, value, guess in zip(("objective", "seconds"), measured, guessed, strict=True):
                kind = kinds.get(member, "between")
                yield Logged(number, f"front_{name}", value, self.level, choice=kind, step=step)
                if math.isfinite(guess):
                    yield Logged(number, f"front_{name}_predicted", guess, self.level, choice=kind, step=step)
        pairs = [(self.predicted[member], measured) for member, measured in trained.items() if member in self.predicted]
        for column, name in enumerate(("objective", "seconds")):
            found = spearman([guess[column] for guess, _ in pairs], [measured[column] for _, measured in pairs])
            if math.isfinite(found):
                yield Logged(number, f"spearman_{name}", found, self.level)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN of fewer than three pairs, or where one side is all alike."""
    if len(one) < _FEWEST:
        return math.nan
    from scipy.stats import rankdata  # which is heavy

    x, y = (rankdata(values) - (len(values) + 1) / 2 for values in (one, other))
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale else math.nan

"""Constraints as the user writes them (`model_size@0.1`), and as bounds on a benchmark (model_size <= 0.101306)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric

_BOUND = re.compile(r"(?P<metric>[^<>=]+)(?P<relation><=|>=)(?P<number>[^<>=]+)")
_QUANTILE = re.compile(r"(?P<metric>[^<>=]+)@(?P<number>[^@<>=]+)")
JOIN = re.compile(r"(?<![0-9.][eE])\+|\+(?!\d)")
"""The "+" that joins constraints or beliefs, not that inside a number like 1e+6."""
_FORMS = "allowed: METRIC<=VALUE, METRIC>=VALUE, METRIC@QUANTILE, METRIC@S, METRIC@M, METRIC@L"

SIZE_CLASSES = {"S": (0.0, 0.2), "M": (0.4, 0.6), "L": (0.8, 0.95)}
"""Size class → the two quantiles between which a metric must lie (ZO-DARTS++, section IV-C)."""


@dataclass(frozen=True, order=True)
class Constraint:
    """One inequality as the user writes it."""

    metric: str
    """Name of the constrained metric."""
    relation: Literal["<=", ">=", "@"]
    """The relation between the metric and the number; @ stands for a quantile."""
    number: float
    """The bound in the metric's unit; after @ a quantile in (0, 1]; for a size class, its upper quantile."""
    size: str = ""
    """A key of SIZE_CLASSES; empty for a value or a plain quantile."""

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Reads METRIC<=VALUE, METRIC>=VALUE, METRIC@QUANTILE or METRIC@SIZE. Raises UsageError if malformed."""
        bound = _BOUND.fullmatch(text.strip())
        match = bound or _QUANTILE.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"constraint {text!r} is malformed; {_FORMS}, in quotes: < and > mean files to a shell")
        if bound is None and match["number"].strip() in SIZE_CLASSES:
            size = match["number"].strip()
            return cls(match["metric"].strip(), "@", SIZE_CLASSES[size][1], size)
        try:
            number = float(match["number"]) + 0.0  # -0 is 0
        except ValueError:
            raise UsageError(f"{match['number']!r} in constraint {text!r} is not a number; {_FORMS}") from None
        if bound is None:
            if not 0 < number <= 1:
                raise UsageError(f"the quantile in {text!r} must lie in (0, 1], for example {match['metric']}@0.1")
            return cls(match["metric"].strip(), "@", number)
        if not math.isfinite(number):
            raise UsageError(f"the bound in {text!r} must be finite; {_FORMS}")
        return cls(match["metric"].strip(), "<=" if bound["relation"] == "<=" else ">=", number)

    @property
    def label(self) -> str:
        """The canonical text of this constraint; `parse` reads it back."""
        number = self.size or repr(self.number).removesuffix(".0").replace("e+", "e")
        return f"{self.metric}{self.relation}{number}"


@dataclass(frozen=True)
class Bound:
    """The interval in which a metric of a benchmark must lie."""

    metric: Metric
    """The constrained metric."""
    low: float = -math.inf
    """The least feasible value, in the metric's unit."""
    high: float = math.inf
    """The largest feasible value."""

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise UsageError(
                f"nothing satisfies both {replace(self, high=math.inf)} and {replace(self, low=-math.inf)}"
            )

    def both(self, other: Bound) -> Bound:
        """The interval in which this bound and one on the same metric both hold. Raises UsageError if it is empty."""
        return Bound(self.metric, max(self.low, other.low), min(self.high, other.high))

    @overload
    def slack(self, value: float) -> float: ...
    @overload
    def slack(self, value: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def slack(self, value: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Distance of a value (or of each in an array) inside the interval, in the metric's unit; negative outside.

        A value is feasible iff its slack is 0 or more. The slack of NaN is NaN: not feasible.
        """
        if self.low == -math.inf:
            return self.high - value
        if self.high == math.inf:
            return value - self.low
        return np.minimum(value - self.low, self.high - value)

    @overload
    def holds(self, value: float) -> bool: ...
    @overload
    def holds(self, value: NDArray[np.float64]) -> NDArray[np.bool_]: ...
    def holds(self, value: float | NDArray[np.float64]) -> bool | NDArray[np.bool_]:
        """Whether a value (or each value in an array) is feasible; NaN is not."""
        if isinstance(value, np.ndarray):
            return (self.low <= value) & (value <= self.high)
        return self.low <= value <= self.high

    def excess(self, value: float) -> float:
        """Distance of a value outside the interval, as a share of that end (absolute if it is 0); negative inside.

        The excess of NaN is NaN.
        """
        sides = [(self.low, self.low - value), (self.high, value - self.high)]
        return max(distance / (abs(end) or 1.0) for end, distance in sides if math.isfinite(end))

    def violation(self, value: float) -> float:
        """The excess of a value outside the interval; 0 if it is feasible, infinite if it is NaN."""
        if self.holds(value):
            return 0.0
        return math.inf if math.isnan(value) else self.excess(value)

    def counted(self, value: float) -> float:
        """The value, for models that take finite numbers alone.

        NaN becomes a value with a violation of 1, and so does an infinite value that is not feasible; one that is
        becomes a value as far inside the interval.
        """
        if math.isfinite(value):
            return value
        above = value > 0 if self.low > -math.inf and self.high < math.inf else self.high < math.inf
        end, outwards = (self.high, 1.0) if above else (self.low, -1.0)
        step = outwards * (abs(end) or 1.0)
        return end - step if self.holds(value) else end + step

    @overload
    def loss(self, value: float) -> float: ...
    @overload
    def loss(self, value: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def loss(self, value: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """The value as a number that is feasible iff it is at most `limit`; smaller is farther inside."""
        if self.low == -math.inf:
            return value
        return -value if self.high == math.inf else -self.slack(value)

    @property
    def limit(self) -> float:
        """The largest feasible `loss`."""
        if self.low == -math.inf:
            return self.high
        return -self.low if self.high == math.inf else 0.0

    @property
    def edge(self) -> float:
        """An end of the interval: the last feasible value of a one-sided bound."""
        return self.high if self.high < math.inf else self.low

    @property
    def sides(self) -> list[Bound]:
        """The one-sided bounds that hold together: one, or two."""
        below, above = replace(self, high=math.inf), replace(self, low=-math.inf)
        return [bound for bound in (below, above) if (bound.low, bound.high) != (-math.inf, math.inf)]

    @property
    def interval(self) -> str:
        """The interval in words that follow the name of the metric: `<= 0.5`, `>= 0.2`, or `in [0.2, 0.5]`."""
        if self.low == -math.inf:
            return f"<= {self.high:.7g}"
        return f">= {self.low:.7g}" if self.high == math.inf else f"in [{self.low:.7g}, {self.high:.7g}]"

    def __str__(self) -> str:
        return f"{self.metric.name} {self.interval} {self.metric.unit}".rstrip()


class Bounds(tuple[Bound, ...]):
    """The constraints of a run, one per metric: the one place that knows what is feasible, and by how much."""

    __slots__ = ()

    @classmethod
    def of(cls, bounds: Iterable[Bound]) -> Bounds:
        """Joins bounds on the same metric into one. Raises UsageError if nothing satisfies both."""
        joined: dict[str, Bound] = {}
        for bound in bounds:
            before = joined.get(bound.metric.name)
            joined[bound.metric.name] = bound if before is None else before.both(bound)
        return cls(joined.values())

    @property
    def known(self) -> Bounds:
        """The bounds on metrics that are known before training."""
        return Bounds(bound for bound in self if bound.metric.cheap)

    @property
    def learnt(self) -> Bounds:
        """The bounds on metrics that are known only after training."""
        return Bounds(bound for bound in self if not bound.metric.cheap)

    def hold(self, metrics: Mapping[str, float]) -> bool:
        """Whether an evaluation's metrics satisfy all bounds; NaN satisfies none."""
        return all(bound.holds(metrics[bound.metric.name]) for bound in self)

    def satisfied(self, values: NDArray[np.float64], places: Mapping[str, int]) -> NDArray[np.bool_]:
        """Whether each row satisfies all bounds, shape (rows,); NaN satisfies none.

        Args:
            values: metrics in their units, shape (rows, metrics).
            places: the column of each metric.
        """
        hold = np.ones(len(values), np.bool_)
        for bound in self:
            hold &= bound.holds(values[:, places[bound.metric.name]])
        return hold

    def violation(self, metrics: Mapping[str, float]) -> float:
        """Sum of the violations of all bounds: 0 if all are satisfied, infinite if one is on a value of NaN."""
        return math.fsum([bound.violation(metrics[bound.metric.name]) for bound in self])


NO_BOUNDS = Bounds()
"""No constraint."""


def parse_constraints(texts: Sequence[str]) -> tuple[Constraint, ...]:
    """The constraints of a run. Each text is one constraint, several joined by `+`, or `none`.

    They are sorted and distinct, so that equal sets are equal tuples. Raises UsageError if a text is malformed, `none`
    stands beside others, or two numbers bound one metric in one relation, of which one has no effect.
    """
    others = [text for text in texts if text.strip() != "none"]
    if 0 < len(others) < len(texts):
        raise UsageError(
            f"none cannot stand beside {' and '.join(others)}: all constraints of a run hold together; for runs "
            "without and with them give the command twice, or write a suite"
        )
    parts = [part for text in texts for part in JOIN.split(text) if text.strip() != "none"]
    constraints = sorted({Constraint.parse(part) for part in parts})
    for one, other in pairwise(constraint for constraint in constraints if not constraint.size):
        if (one.metric, one.relation) == (other.metric, other.relation):
            raise UsageError(
                f"{one.label} and {other.label} bound one metric on one side, and all constraints of a run hold "
                "together: for runs with each of them give the command twice, or write a suite"
            )
    for one, other in combinations(constraints, 2):
        if one.metric == other.metric and (one.relation, other.relation) == ("<=", ">=") and one.number < other.number:
            raise UsageError(f"nothing satisfies both {one.label} and {other.label}")
    return tuple(constraints)


def label(constraints: Sequence[Constraint]) -> str:
    """The canonical label of a run's constraints: `model_size@0.1+train_time@0.1`, or `none`."""
    return "+".join(c.label for c in constraints) or "none"

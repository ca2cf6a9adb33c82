"""Constraints as the user writes them (`model_size@0.1`), and as bounds on a benchmark (model_size <= 0.101306)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """One inequality on one metric of one benchmark."""

    metric: Metric
    """The constrained metric."""
    limit: float
    """The last feasible value, in the metric's unit; finite."""
    upper: bool
    """True if a value is feasible iff value <= limit; False if it is feasible iff value >= limit."""

    @property
    def sign(self) -> float:
        """1.0 for an upper bound, -1.0 for a lower one: a value is feasible iff sign * value <= sign * limit."""
        return 1.0 if self.upper else -1.0

    @property
    def relation(self) -> Literal["<=", ">="]:
        """The relation of a feasible value to the limit."""
        return "<=" if self.upper else ">="

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of feasible values, both ends included."""
        return (-math.inf, self.limit) if self.upper else (self.limit, math.inf)

    @overload
    def slack(self, value: float) -> float: ...
    @overload
    def slack(self, value: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def slack(self, value: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Distance of a value (or of each value in an array) inside the bound, in the metric's unit; negative outside.

        A value is feasible iff its slack is 0 or more. The slack of NaN is NaN: not feasible.
        """
        return self.sign * (self.limit - value)

    @overload
    def holds(self, value: float) -> bool: ...
    @overload
    def holds(self, value: NDArray[np.float64]) -> NDArray[np.bool_]: ...
    def holds(self, value: float | NDArray[np.float64]) -> bool | NDArray[np.bool_]:
        """Whether a value (or each value in an array) is feasible; NaN is not."""
        return self.slack(value) >= 0

    def excess(self, value: float) -> float:
        """Distance of a value outside the bound, as a share of |limit| (absolute if the limit is 0); negative inside.

        The excess of NaN is NaN.
        """
        return -self.slack(value) / (abs(self.limit) or 1.0)

    def violation(self, value: float) -> float:
        """The excess of a value over the bound; 0 if it is feasible, infinite if it is NaN."""
        if self.slack(value) >= 0:
            return 0.0
        return math.inf if math.isnan(value) else self.excess(value)

    def counted(self, value: float) -> float:
        """The value, for models that take finite numbers alone.

        NaN becomes a value with a violation of 1, and so does an infinite value that is not feasible; one that is
        becomes a value as far inside the bound.
        """
        if math.isfinite(value):
            return value
        step = self.sign * (abs(self.limit) or 1.0)
        return self.limit - step if self.holds(value) else self.limit + step

    def __str__(self) -> str:
        return f"{self.metric.name} {self.relation} {self.limit:.7g} {self.metric.unit}".rstrip()


def satisfied(bounds: Sequence[Bound], values: NDArray[np.float64], places: Mapping[str, int]) -> NDArray[np.bool_]:
    """Whether each row satisfies all bounds, shape (rows,); NaN satisfies none.

    Args:
        values: metrics in their units, shape (rows, metrics).
        places: the column of each metric.
    """
    hold = np.ones(len(values), np.bool_)
    for bound in bounds:
        hold &= bound.holds(values[:, places[bound.metric.name]])
    return hold


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

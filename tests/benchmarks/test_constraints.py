from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasbench.benchmarks import Bound, Bounds, Constraint, Metric, UsageError, label, parse_constraints
from nasbench.benchmarks.constraints import SIZE_CLASSES

names = st.sampled_from(["model_size", "train_time", "x-valid-error@200", "latency"])
constraints = st.one_of(
    st.builds(Constraint, names, st.just("@"), st.floats(0, 1, exclude_min=True)),
    st.builds(Constraint.parse, st.sampled_from(["model_size@S", "model_size@M", "latency@L"])),
    st.builds(Constraint, names, st.sampled_from(["<=", ">="]), st.floats(allow_nan=False, allow_infinity=False)),
)


def on_one_side(constraint: Constraint) -> tuple[str, str]:
    return constraint.metric, constraint.relation


def can_hold(several: list[Constraint]) -> bool:
    bounds = {on_one_side(c): c.number for c in several}
    return all(bounds.get((m, ">="), -math.inf) <= bounds.get((m, "<="), math.inf) for m, _ in bounds)


together = st.lists(constraints, min_size=1, max_size=4, unique_by=on_one_side).filter(can_hold)


@given(together)
def test_labels_read_back_as_the_constraints_they_name(several: list[Constraint]) -> None:
    text = label(parse_constraints([c.label for c in several]))
    assert set(parse_constraints([text])) == set(several)


@given(together, st.randoms())
def test_the_label_does_not_depend_on_order_or_repetition(several: list[Constraint], random: object) -> None:
    shuffled = [*several, several[0]]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert label(parse_constraints([c.label for c in shuffled])) == label(parse_constraints([c.label for c in several]))


def test_canonical_labels() -> None:
    assert label(parse_constraints([])) == "none"
    assert label(parse_constraints(["none"])) == "none"
    assert label(parse_constraints(["train_time@0.10", "model_size@1e-1"])) == "model_size@0.1+train_time@0.1"
    assert label(parse_constraints(["parameters<=1e+6+latency>=0.50"])) == "latency>=0.5+parameters<=1000000"
    assert label(parse_constraints(["x-valid-error@200@0.5"])) == "x-valid-error@200@0.5"
    assert label(parse_constraints(["parameters@M+latency<=3"])) == "latency<=3+parameters@M"
    assert label(parse_constraints(["parameters@S"])) != label(parse_constraints(["parameters@0.2"]))
    assert label(parse_constraints(["loss<=-0.0"])) == "loss<=0"


def test_bounds_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="nothing satisfies both size<=2 and size>=3"):
        parse_constraints(["size>=3", "size@0.5", "size<=2"])
    assert len(parse_constraints(["size>=2", "size<=2", "loss<=1"])) == 3


def test_two_bounds_on_one_side_are_refused_with_a_size_class_between_them() -> None:
    with pytest.raises(UsageError, match=r"size@0\.1 and size@0\.3 bound one metric on one side"):
        parse_constraints(["size@0.1", "size@S", "size@0.3"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "model_size",
        "model_size<0.5",
        "model_size<=",
        "<=3",
        "@0.1",
        "model_size<=ten",
        "model_size@0",
        "model_size@1.01",
        "model_size@-0.1",
        "model_size@nan",
        "model_size@XL",
        "model_size@s",
        "model_size<=nan",
        "model_size<=inf",
        "model_size<=1<=2",
        "model_size@0.1+",
        "model_size==3",
    ],
)
def test_malformed_constraints_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_constraints([text])
    assert "\n" not in str(error.value)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SIDES = st.sampled_from(["below", "above", "both"])


def bound_of(a: float, b: float, side: str) -> Bound:
    low, high = min(a, b), max(a, b)
    return Bound(Metric("m", ""), -math.inf if side == "below" else low, math.inf if side == "above" else high)


@given(NUMBERS, NUMBERS, SIDES, st.lists(st.floats(), min_size=1, max_size=5))
def test_slack_loss_and_violation_agree_about_what_lies_in_the_interval(
    a: float, b: float, side: str, values: list[float]
) -> None:
    bound = bound_of(a, b, side)
    inside = [bound.low <= value <= bound.high for value in values]
    with np.errstate(over="ignore"):
        assert [bound.holds(value) for value in values] == inside
        assert [bound.violation(value) == 0 for value in values] == inside
        assert bound.holds(np.array(values)).tolist() == inside
        assert (bound.slack(np.array(values)) >= 0).tolist() == inside
        assert (bound.loss(np.array(values)) <= bound.limit).tolist() == inside
    assert all(bound.violation(value) >= 0 for value in values)


def test_slack_is_the_distance_to_the_nearer_end_and_positive_inside() -> None:
    size = Metric("m", "MB")
    below, above, between = Bound(size, high=4.0), Bound(size, low=4.0), Bound(size, 2.0, 10.0)
    assert [bound.slack(1.0) for bound in (below, above, between)] == [3.0, -3.0, -1.0]
    assert [between.slack(value) for value in (2.0, 3.0, 9.5, 12.0)] == [0.0, 1.0, 0.5, -2.0]
    assert [str(bound) for bound in (below, above, between)] == ["m <= 4 MB", "m >= 4 MB", "m in [2, 10] MB"]


def test_the_violation_of_an_interval_is_relative_to_the_end_that_is_passed() -> None:
    between = Bound(Metric("m", ""), 2.0, 10.0)
    assert between.violation(1.0) == 0.5
    assert between.violation(15.0) == 0.5
    assert between.violation(5.0) == 0.0


def test_an_empty_interval_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing satisfies both m >= 2 and m <= 1"):
        Bound(Metric("m", ""), 2.0, 1.0)


def test_bounds_on_one_metric_are_one_interval() -> None:
    size, time = Metric("size", "", cheap=True), Metric("time", "s")
    bounds = Bounds.of([Bound(size, low=1.0), Bound(time, high=9.0), Bound(size, high=5.0)])
    assert bounds == (Bound(size, 1.0, 5.0), Bound(time, high=9.0))
    assert (bounds.known, bounds.learnt) == (bounds[:1], bounds[1:])
    rows = np.array([[3.0, 1.0], [0.0, 1.0], [3.0, 10.0], [np.nan, 1.0]])
    assert bounds.satisfied(rows, {"size": 0, "time": 1}).tolist() == [True, False, False, False]
    assert [bounds.hold(dict(zip(("size", "time"), row, strict=True))) for row in rows] == [True, False, False, False]
    assert bounds.violation({"size": 0.0, "time": 18.0}) == 2.0


def test_size_classes_lie_between_the_quantiles_of_the_paper() -> None:
    """ZO-DARTS++, section IV-C; a label such as parameters@M stands for them in every store."""
    assert SIZE_CLASSES == {"S": (0.0, 0.2), "M": (0.4, 0.6), "L": (0.8, 0.95)}
    assert [Constraint.parse(f"parameters@{size}").number for size in "SML"] == [0.2, 0.6, 0.95]


def test_violations_are_relative_to_the_limit() -> None:
    size = Metric("m", "")
    assert Bound(size, high=4.0).violation(5.0) == 0.25
    assert Bound(size, low=-4.0).violation(-5.0) == 0.25
    assert Bound(size, high=0.0).violation(3.0) == 3.0
    assert Bound(size, high=4.0).violation(math.nan) == math.inf
    assert not Bound(size, low=4.0).holds(math.nan)


@pytest.mark.parametrize("upper", [True, False])
def test_what_is_not_finite_counts_as_a_finite_value_on_its_side(upper: bool) -> None:
    for limit, step in ((4.0, 4.0), (-2.0, 2.0), (0.0, 1.0)):
        latency = Metric("latency", "ms")
        bound = Bound(latency, high=limit) if upper else Bound(latency, low=limit)
        outside, inside = (limit + step, limit - step) if upper else (limit - step, limit + step)
        assert bound.counted(math.nan) == outside
        assert bound.counted(math.inf) == (outside if upper else inside)
        assert bound.counted(-math.inf) == (inside if upper else outside)
        assert bound.counted(7.0) == 7.0

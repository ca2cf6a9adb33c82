"""Exact fronts and shares of hypervolumes, held against enumeration and inclusion-exclusion."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from nasbench.base.fronts import Array, losses
from nasbench.benchmarks import NO_BOUNDS, Benchmark, Metric, UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine import shares
from nasbench.cli.engine.shares import Reference

METRICS = (
    Metric("valid-error@1", "%", split="valid", epoch=1),
    Metric("speed", "images/s", minimize=False),
    Metric("time", "s"),
    Metric("test-error@1", "%", split="test", epoch=1),
)


def small() -> TabularBenchmark:
    """Forty configurations with two repetitions; some are equal, and one has no data."""
    rng = np.random.default_rng(1)
    values = rng.uniform(1, 100, (40, 2, 4))
    values[7], values[9] = values[5], np.nan
    space = GridSpace([Ordinal("a", tuple(range(40)))])
    return TabularBenchmark(
        "small", "small", space, METRICS, lambda: values, cost="time", source="", licence="", checksum="small"
    )


def volume(points: Array) -> float:
    """The hypervolume up to the point (1, …, 1), by inclusion and exclusion of the boxes."""
    points = points[np.all(points < 1, axis=1)]
    subsets = itertools.chain.from_iterable(itertools.combinations(points, k + 1) for k in range(len(points)))
    return math.fsum((-1) ** (len(s) + 1) * float(np.prod(1 - np.max(s, axis=0))) for s in subsets)


def scaled(found: Reference, values: Array) -> Array:
    """Losses on the scale of the front, shape (…, objectives)."""
    return found.front.scaled(losses(values, [metric.scale for metric in found.objectives]))


def reference(bench: Benchmark, names: tuple[str, ...], *constraints: str) -> Reference:
    bounds = abilities.bounds(bench, parse_constraints(list(constraints)))
    found = shares.reference(bench, abilities.objectives(bench, names), bounds)
    assert found is not None
    return found


def test_front_is_what_no_feasible_mean_dominates() -> None:
    table = small()
    found = reference(table, ("valid-error", "speed"), "time<=50")
    means = table.values.mean(axis=1)
    good = [m for m in means if m[2] <= 50]
    best = [m for m in good if not any((o[0] <= m[0] and o[1] >= m[1] and tuple(o[:2]) != tuple(m[:2])) for o in good)]
    expected = sorted({(m[0], m[1]) for m in best})
    assert np.allclose(sorted(map(tuple, found.values)), expected, rtol=1e-12, atol=0)
    errors, speeds = np.array(expected).T
    assert np.allclose(found.front.ideal, [errors.min(), -np.log10(speeds.max())])
    extent = [np.ptp(errors), np.ptp(np.log10(speeds))]
    assert np.allclose(found.front.extent, np.multiply(1.1, extent))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("names", [("valid-error", "speed"), ("valid-error", "time", "speed")])
def test_shares_equal_inclusion_and_exclusion(names: tuple[str, ...], seed: int) -> None:
    found, rng = reference(small(), names), np.random.default_rng(seed)
    values, counts = rng.uniform(1, 40, (9, len(names))), rng.random(9) < 0.8
    values[:, -1] = rng.uniform(20, 100, 9)  # speeds; of a point that another dominates, both are seen
    values[5], counts[3:6] = values[3] * np.array([0.9] * (len(names) - 1) + [1.1]), True
    after = found.shares(values, counts)
    for n in range(9):
        points = scaled(found, values[: n + 1][counts[: n + 1]])
        expected = volume(points) / volume(scaled(found, found.values)) if counts[: n + 1].any() else math.nan
        assert after[n] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("constraint", ["none", "model_size@0.1"])
@pytest.mark.parametrize("names", [("x-valid-error", "latency"), ("x-valid-error", "train_time", "model_size")])
def test_exhaustive_search_has_share_one_and_shares_never_fall(names: tuple[str, ...], constraint: str) -> None:
    table = open_benchmark("nb201-cifar10")
    assert isinstance(table, TabularBenchmark)
    found = reference(table, names, constraint)
    bounds = abilities.bounds(table, parse_constraints([constraint]))
    means = table.all_means()[np.random.default_rng(0).permutation(table.space.size)]
    feasible = np.all([b.holds(means[:, table.column(b.metric.name)]) for b in bounds] or [np.ones(len(means))], axis=0)
    after = found.shares(means[:, [table.places[m.name] for m in found.objectives]], feasible.astype(bool))
    known = after[~np.isnan(after)]
    assert abs(after[-1] - 1) <= 1e-12
    assert np.all(np.diff(known) >= 0)
    assert known[0] < 0.9


def test_share_of_a_median_feasible_evaluation() -> None:
    table = small()
    found = reference(table, ("valid-error", "speed"))
    means = table.all_means()[:, :2]
    alone = [found.shares(m[None], np.ones(1, bool))[0] for m in means if np.isfinite(m).all()]
    assert found.median == pytest.approx(np.median(alone), abs=1e-12)


def test_objectives_that_cannot_be_are_refused() -> None:
    table = small()
    for names, words in (
        (("valid-error", "test-error"), "measured on the test split"),
        (("speed",), "the only objective of small is valid-error@1"),
        (("valid-error", "valid-error@1"), "named twice"),
        (("valid-error", "sped"), "did you mean speed"),
    ):
        with pytest.raises(UsageError, match=words):
            abilities.objectives(table, names)
    assert abilities.objectives(table, ()) == (METRICS[0],)
    with pytest.raises(UsageError, match=r"no configuration of small has means by which time <= 0"):
        reference(table, ("valid-error", "speed"), "time<=0")


def test_an_objective_on_a_log_scale_has_no_values_of_zero() -> None:
    table = small()
    means = table.all_means().copy()
    means[3, 2] = 0.0
    table.all_means = lambda: means  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="time of small counts by its logarithm, because it has the unit s, and is 0"):
        shares.reference(table, (METRICS[0], METRICS[2]), NO_BOUNDS)


def test_no_table_has_no_front() -> None:
    bench = open_benchmark("synthetic-cnn")
    assert shares.reference(bench, bench.metrics[:2], NO_BOUNDS) is None


@pytest.mark.parametrize(("level", "status"), [(0, "ok"), (1, "failed")])
def test_trainings_in_part_and_failures_have_no_share(level: int, status: str) -> None:
    table = small()
    objectives, means = abilities.objectives(table, ("valid-error", "speed")), table.all_means()[:2]
    columns = {
        "metrics": means,
        "level": np.array([level, 1]),
        "feasible": np.ones(2, bool),
        "status": np.array([status, "ok"], object),
        "score_feasible": np.array([True, True], object),
    }
    found = shares.with_shares(columns, means, table, objectives, NO_BOUNDS)
    assert np.isnan(found["metrics"][0, 4])
    assert np.isfinite(found["metrics"][1, 4])
    assert (level == 1) or np.isnan(found["incumbent"][0])

"""What an incumbent is worth by the repetitions that its run has not observed, held against a search by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from nasbench.benchmarks import Metric, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine import plan, runner
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.runner import run
from nasbench.cli.engine.workers import EvaluationSeeds
from nasbench.methods import MethodSpec
from nasbench.results import Trajectory

SPACE = GridSpace([Ordinal("a", (0, 1, 2)), Categorical("b", ("x", "y", "z"))])
COUNTS = [4, 4, 1, 2, 4, 4, 3, 4, 4]  # repetitions of each configuration


def small() -> TabularBenchmark:
    """Nine configurations, so that many are asked again; every repetition has another error."""
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(5, 1, (9, 4)), rng.normal(1, 0.3, (9, 4)) + np.arange(9)[:, None] / 9], axis=2)
    values[:, :, 1] = np.abs(values[:, :, 1])
    for row, count in enumerate(COUNTS):
        values[row, count:] = math.nan
    metrics = (Metric("valid-error@1", "%"), Metric("time", "s"))
    return TabularBenchmark(
        "small", "small", SPACE, metrics, lambda: values, cost="time", source="", licence="", checksum="small-1"
    )


def made(
    method: str,
    seed: int,
    constraint: str,
    monkeypatch: pytest.MonkeyPatch,
    looped: bool,
    evaluations: int = 40,
) -> Trajectory:
    table = small()
    monkeypatch.setattr(plan, "open_benchmark", lambda name: table)
    if looped:
        monkeypatch.setattr(runner, "run_block", lambda *_: None)
    constraints = (tuple(parse_constraints([constraint])),)
    protocol = Protocol(evaluations, None, 3)
    (planned,) = expand([Grid((MethodSpec.parse(method),), ("small",), constraints, (0,), protocol)])
    return run(planned.setup, seed, planned.spec, table, planned.bounds)


def by_hand(found: Trajectory, limit: float) -> list[tuple[float, bool | None]]:
    """The incumbent after each row, by its lowest feasible error so far, and the values of its other repetitions."""
    values, columns = small().values, found.columns
    rows = [3 * c["a"] + "xyz".index(c["b"]) for c in map(json.loads, columns["configuration"])]
    drawn = [int(np.flatnonzero(values[row, :, 0] == y)[0]) for row, y in zip(rows, columns["objective"], strict=True)]
    expected: list[tuple[float, bool | None]] = []
    for now in range(len(rows)):
        good = [i for i in range(now + 1) if columns["feasible"][i]]
        if not good:
            expected.append((math.nan, None))
            continue
        row = rows[min(good, key=lambda i: columns["objective"][i])]
        seen = {drawn[i] for i in range(now + 1) if rows[i] == row}
        left = [r for r in range(COUNTS[row]) if r not in seen]
        if not left:
            expected.append((math.nan, None))
            continue
        error, seconds = values[row, left].mean(axis=0)
        expected.append((error, bool(seconds <= limit)))
    return expected


@pytest.mark.parametrize("looped", [True, False])
@pytest.mark.parametrize("method", ["random", "evolution:population=5,tournament=2"])
@pytest.mark.parametrize("constraint", ["none", "time<=1.4"])
def test_every_row_says_what_is_left_of_the_incumbent(
    method: str, constraint: str, looped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = set()
    for seed in range(12):
        found = made(method, seed, constraint, monkeypatch, looped)
        worth: Sequence[float] = found.columns["unseen"]
        feasible: NDArray[np.object_] = found.columns["unseen_feasible"]
        for own, is_feasible, (error, expected) in zip(
            worth, feasible, by_hand(found, 1.4 if "<=" in constraint else math.inf), strict=True
        ):
            assert own == pytest.approx(error, rel=1e-12, nan_ok=True)
            assert is_feasible is expected or is_feasible == expected
            kinds.add(is_feasible)
    assert kinds == ({True, False, None} if "<=" in constraint else {True, None})


@pytest.mark.parametrize("constraint", ["none", "time<=1.4", "time@0.5"])
def test_a_run_in_one_go_says_the_same_bits(constraint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        at_once = made("random", seed, constraint, monkeypatch, looped=False).columns
        with monkeypatch.context() as patch:
            looped = made("random", seed, constraint, patch, looped=True).columns
        np.testing.assert_array_equal(at_once["unseen"], looped["unseen"])
        assert at_once["unseen_feasible"].tolist() == looped["unseen_feasible"].tolist()


def test_a_run_looks_at_earlier_rows_for_new_incumbents_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a table of nine a long run asks for its incumbent thousands of times."""
    looked, seed_of = [], EvaluationSeeds.__getitem__
    monkeypatch.setattr(EvaluationSeeds, "__getitem__", lambda self, ask: (looked.append(ask), seed_of(self, ask))[1])
    evaluations = 300
    made("random", 0, "none", monkeypatch, looped=True, evaluations=evaluations)
    assert evaluations < len(looked) < 1.1 * evaluations  # every repetition of it is soon seen


def test_a_run_in_one_go_reckons_once_for_each_repetition_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    reckoned, means = [], TabularBenchmark.unseen_metrics_block
    monkeypatch.setattr(
        TabularBenchmark,
        "unseen_metrics_block",
        lambda self, block, seen: (reckoned.extend(block), means(self, block, seen))[1],
    )
    made("random", 0, "none", monkeypatch, looped=False, evaluations=300)
    assert 0 < len(reckoned) <= sum(COUNTS)


def test_equal_repetitions_have_their_very_value_as_mean() -> None:
    """One ulp beside it would put a configuration on the wrong side of a limit that is its own value."""
    table = open_benchmark("hpolib-naval")
    assert isinstance(table, TabularBenchmark)
    size = [metric.name for metric in table.metrics].index("model_size")
    rng = np.random.default_rng(0)
    block = rng.integers(0, table.space.size, 200)
    seen = np.arange(table.repetitions) == rng.integers(0, 4, 200)[:, None]
    means = table.unseen_metrics_block(block, seen)
    assert np.array_equal(means[:, size], table.values[block, 0, size])
    for row, own, drawn in zip(block, means, seen, strict=True):
        (repetition,) = np.flatnonzero(drawn)
        assert table.unseen_metrics(table.space.configuration(int(row)), [int(repetition)]) == dict(
            zip(table.places, own, strict=True)
        )


def test_nothing_is_left_where_every_repetition_was_observed() -> None:
    table = small()
    configuration = SPACE.configuration(3)  # it has two
    assert table.unseen_metrics(configuration, [0]) == dict(zip(table.places, table.values[3, 1], strict=True))
    assert table.unseen_metrics(configuration, [0, 4, 1]) is None
    assert table.unseen_metrics(SPACE.configuration(2), [7]) is None


def test_a_metric_that_some_repetitions_lack_is_averaged_over_the_others() -> None:
    table = small()
    table.values[0, 1, 1] = math.nan
    error, seconds = (table.unseen_metrics(SPACE.configuration(0), [0]) or {}).values()
    assert error == pytest.approx(table.values[0, 1:, 0].mean())
    assert seconds == pytest.approx(table.values[0, 2:, 1].mean())
    (block,) = table.unseen_metrics_block(np.array([0]), np.array([[True, False, False, False]]))
    assert (error, seconds) == tuple(block)

"""The repetitions that a run observes, and what its incumbent is worth by the others, held against a search by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from nasbench.benchmarks import Metric, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine import plan, runner
from nasbench.cli.engine.plan import Grid, Protocol, expand, is_current
from nasbench.cli.engine.repetitions import Repetitions
from nasbench.cli.engine.runner import run
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem
from nasbench.results import Setup, StoreError, Trajectory
from nasbench.results.selection import check_versions
from tests.conftest import Lend

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
        assert table.unseen_metrics(table.space.configuration(int(row)), {int(repetition)}) == dict(
            zip(table.places, own, strict=True)
        )


def test_nothing_is_left_where_every_repetition_was_seen() -> None:
    table = small()
    configuration = SPACE.configuration(3)  # it has two
    assert table.unseen_metrics(configuration, {0}) == dict(zip(table.places, table.values[3, 1], strict=True))
    assert table.unseen_metrics(configuration, {0, 1}) is None
    assert table.unseen_metrics(SPACE.configuration(2), {0}) is None


def test_a_metric_that_some_repetitions_lack_is_averaged_over_the_others() -> None:
    table = small()
    table.values[0, 1, 1] = math.nan
    error, seconds = (table.unseen_metrics(SPACE.configuration(0), {0}) or {}).values()
    assert error == pytest.approx(table.values[0, 1:, 0].mean())
    assert seconds == pytest.approx(table.values[0, 2:, 1].mean())
    (block,) = table.unseen_metrics_block(np.array([0]), np.array([[True, False, False, False]]))
    assert (error, seconds) == tuple(block)


def test_a_seed_draws_the_repetition_that_it_observes() -> None:
    table = small()
    for row, count in enumerate(COUNTS):
        configuration = SPACE.configuration(row)
        for seed in (0, 1, 5, 2**63 - 1):
            repetition = table.repetition(configuration, seed)
            assert 0 <= repetition < count
            assert table.evaluate(configuration, seed).metrics["valid-error@1"] == table.values[row, repetition, 0]
    table.values[4] = math.nan  # absent: it may have values at lower levels, in any repetition
    table.__dict__.pop("repetition_counts", None)
    assert table.repetition(SPACE.configuration(4), 7) == 7 % 4


def drawn(found: Trajectory) -> dict[int, set[int]]:
    """The repetitions that a run observed of each configuration, by its row."""
    observed: dict[int, set[int]] = {}
    values, columns = small().values, found.columns
    for c, y in zip(map(json.loads, columns["configuration"]), columns["objective"], strict=True):
        row = 3 * c["a"] + "xyz".index(c["b"])
        observed.setdefault(row, set()).add(int(np.flatnonzero(values[row, :, 0] == y)[0]))
    return observed


@pytest.mark.parametrize("looped", [True, False])
@pytest.mark.parametrize("method", ["random", "evolution:population=5,tournament=2"])
def test_one_repetition_of_each_configuration_is_held_back(
    method: str, looped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of them, each as often, and no other: a run of 200 evaluations of nine configurations sees all the rest."""
    held = np.zeros(4, int)
    for seed in range(120):
        found = made(method, seed, "none", monkeypatch, looped, evaluations=200)
        observed = drawn(found)
        for row, count in enumerate(COUNTS):
            assert len(observed.get(row, ())) <= max(1, count - 1)
        if method == "random":
            assert all(len(observed[row]) == max(1, count - 1) for row, count in enumerate(COUNTS))
        if len(observed.get(0, ())) == 3:
            held[({0, 1, 2, 3} - observed[0]).pop()] += 1
    if method == "random":
        assert held.sum() == 120
        assert stats.chisquare(held).pvalue > 1e-3


def test_the_others_are_observed_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last one was drawn, an earlier one takes its place: each as often."""
    repetitions = Repetitions(small(), ())
    configuration, counts = SPACE.configuration(0), np.zeros(4, int)
    for seed in np.random.default_rng(0).integers(2**63, size=3000).tolist():
        counts[small().repetition(configuration, repetitions.draw(configuration, seed))] += 1
    assert sorted(counts > 0) == [False, True, True, True]
    assert stats.chisquare(counts[counts > 0]).pvalue > 1e-3


class Asking(Method):
    """Asks for configurations in a random order, each `times` times."""

    source = "none"

    def __init__(self, problem: Problem, rng: np.random.Generator, *, times: int = 1) -> None:
        self._order, self._times, self._asked = rng.permutation(36), times, 0

    def ask(self) -> tuple[int, ...]:
        number = int(self._order[self._asked // self._times])
        self._asked += 1
        return (number // 6, number % 6)

    def tell(self, observation: Observation) -> None:
        pass


def test_asking_again_gains_nothing_where_all_configurations_are_alike(
    lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On noise alone no method is better. If all repetitions could be observed, `times=5` would be scored better."""
    lend(METHODS, "asking", Asking)
    space = GridSpace([Ordinal("a", tuple(range(6))), Ordinal("b", tuple(range(6)))])
    better = []
    for number in range(60):
        table = noise(space, number)
        monkeypatch.setattr(plan, "open_benchmark", lambda name, table=table: table)
        worth = []
        for times in (1, 5):
            grid = Grid((MethodSpec.parse(f"asking:times={times}"),), ("noise",), ((),), (0,), Protocol(30))
            (planned,) = expand([grid])
            found = [run(planned.setup, seed, planned.spec, table, ()) for seed in range(4)]
            worth.append([trajectory.columns["unseen"][-1] for trajectory in found])
        once, again = np.array(worth)
        better.append(np.mean(again[:, None] < once))
    assert abs(np.mean(better) - 0.5) < 3 * np.std(better) / math.sqrt(len(better))


def noise(space: GridSpace, seed: int) -> TabularBenchmark:
    """A table of three repetitions whose configurations differ by noise alone."""
    values = np.random.default_rng(seed).normal(5, 1, (36, 3, 1))
    metrics = (Metric("valid-error@1", "%"),)
    return TabularBenchmark(
        "noise", "noise", space, metrics, lambda: values, cost=1.0, source="", licence="", checksum=str(seed)
    )


def planned(bench: str, objectives: tuple[str, ...] = ()) -> Setup:
    grid = Grid((MethodSpec("random"),), (bench,), ((),), (0,), Protocol(10), objectives)
    return expand([grid])[0].setup


def test_runs_on_tables_with_repetitions_alone_have_one_held_back() -> None:
    """Runs on others, and with several objectives, keep the identities that they had before."""
    held, whole = planned("nb201-cifar10"), planned("nbgraph-cora")
    both = planned("nb201-cifar10", ("x-valid-error", "train_time"))
    assert (held.held_back, whole.held_back, both.held_back) == (True, False, False)
    assert held.to_json()["held_back"] and "held_back" not in whole.to_json()
    assert replace(held, held_back=False).id != held.id
    assert whole.id == "0551ebdca6e7c4c8"
    assert Setup.from_json(held.to_json()) == held


def test_runs_that_could_observe_all_repetitions_are_stale_and_not_compared_with_others() -> None:
    setup = planned("nb201-cifar10")
    before = replace(setup, held_back=False)
    assert is_current(setup) and not is_current(before)
    assert is_current(planned("nbgraph-cora"))
    with pytest.raises(StoreError, match="two versions of the data of nb201-cifar10"):
        check_versions([setup, before])

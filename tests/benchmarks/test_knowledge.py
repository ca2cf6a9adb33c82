"""What is known beforehand: simulated experts, and portfolios of the other tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.benchmarks import BENCHMARKS, Bound, Metric, knowledge, open_benchmark
from nasbench.benchmarks.knowledge import EXPERTS, Experts, Knowledge
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.spaces.listed import listed
from nasbench.benchmarks.tabular import TabularBenchmark

SPACE = GridSpace([Ordinal("a", (1, 2, 3, 4)), Ordinal("b", (1, 2, 3, 4, 5))])
METRICS = (Metric("loss", ""), Metric("size", ""))
SIZE = METRICS[1]


def table(name: str, values: NDArray[np.float64], space: GridSpace = SPACE) -> TabularBenchmark:
    """A table of losses and sizes, shape (configurations, 2)."""
    facts = {"source": "", "licence": "", "checksum": f"toy:{name}", "search_space": "toys"}
    return TabularBenchmark(name, "toys", space, METRICS, lambda: values[:, None], cost=1.0, **facts)  # type: ignore[arg-type]


def values_of(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).random((SPACE.size, 2))


@pytest.fixture(scope="module")
def tasks() -> Iterator[list[TabularBenchmark]]:
    """Four tasks on one space, and one on another."""
    tables = [table(f"known-{i}", values_of(i) * [1, 10**i]) for i in range(4)]
    other = GridSpace([Ordinal("a", (1, 2, 3, 4)), Ordinal("c", (1, 2, 3, 4, 5))])
    with ExitStack() as lent:
        for toy in [*tables, table("known-elsewhere", values_of(9), other)]:
            lent.enter_context(BENCHMARKS.temporarily(toy.name, partial(lambda toy: toy, toy)))
        yield tables


def standing(task: TabularBenchmark, within: NDArray[np.bool_]) -> NDArray[np.float64]:
    losses = task.all_means()[:, 0]
    better = [(losses[within] < loss).mean() for loss in losses]
    return np.where(within, better, 1.0)


def test_other_tasks_are_tables_on_the_same_space_and_never_the_task_itself(tasks: list[TabularBenchmark]) -> None:
    assert Knowledge(tasks[1]).tasks == ("known-0", "known-2", "known-3")
    assert Knowledge(open_benchmark("nb201-cifar10")).tasks == ("nb201-cifar100", "nb201-imagenet16")
    proteins = Knowledge(open_benchmark("nbgraph-proteins"))  # fewer operations than the other graphs
    assert proteins.tasks == ()
    with pytest.raises(UsageError, match="no other table has the space of nbgraph-proteins"):
        proteins.portfolio(3)
    assert Knowledge.of(open_benchmark("synthetic-cnn")) is None


def test_a_table_made_of_the_same_benchmark_is_no_other_task(
    tasks: list[TabularBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    for task, made_of in zip(tasks, ("learner:svm:wine", "learner:svm:digits", "learner:svm:wine"), strict=False):
        monkeypatch.setattr(task, "source", f"nasbench tabulate {made_of}: 20 configurations; anything")
    knowledge._peers.cache_clear()
    try:
        assert Knowledge(tasks[0]).tasks == ("known-1", "known-3")
    finally:
        knowledge._peers.cache_clear()


def test_a_portfolio_is_greedy_on_the_other_tasks(tasks: list[TabularBenchmark]) -> None:
    everything = np.ones(SPACE.size, bool)
    standings = np.array([standing(task, everything) for task in tasks[1:]])
    best, expected = np.ones(3), []
    for _ in range(5):
        left = [c for c in range(SPACE.size) if c not in expected]
        totals = {c: np.minimum(best, standings[:, c]).sum() for c in left}
        lowest = min(totals.values())
        ties = [c for c in left if totals[c] == lowest]
        expected.append(min(ties, key=lambda c: standings[:, c].sum()))
        best = np.minimum(best, standings[:, expected[-1]])
    assert Knowledge(tasks[0]).portfolio(5) == tuple(map(SPACE.configuration, expected))
    assert len(set(Knowledge(tasks[0]).portfolio(100))) == SPACE.size  # no configuration twice


def test_a_portfolio_does_not_look_at_the_objective_of_its_own_task(tasks: list[TabularBenchmark]) -> None:
    bound = Bound(SIZE, high=0.4)
    own = values_of(0)
    scrambled = np.column_stack([own[::-1, 0], own[:, 1]])
    twin = table("known-twin", scrambled)
    assert Knowledge(twin, [bound]).tasks == ("known-0", "known-1", "known-2", "known-3")
    alone = table("known-0", scrambled)  # in the place of known-0, which is left out by its name
    assert Knowledge(alone, [bound]).portfolio(6) == Knowledge(tasks[0], [bound]).portfolio(6)


@pytest.mark.parametrize("upper", [True, False])
def test_a_constraint_is_carried_over_by_the_share_that_satisfies_it(
    tasks: list[TabularBenchmark], upper: bool
) -> None:
    sizes = tasks[0].all_means()[:, 1]
    limit = float(np.sort(sizes)[6])
    bound = Bound(SIZE, high=limit) if upper else Bound(SIZE, low=limit)  # 7 of 20 configurations, or 14
    within = []
    for task in tasks[1:]:
        order = np.argsort(task.all_means()[:, 1] * (1 if upper else -1))
        within.append(np.isin(np.arange(SPACE.size), order[: 7 if upper else 14]))
    standings = [standing(task, inside) for task, inside in zip(tasks[1:], within, strict=True)]
    first = int(np.argmin(np.sum(standings, axis=0)))
    assert Knowledge(tasks[0], [bound]).portfolio(1) == (SPACE.configuration(first),)


@pytest.mark.parametrize(("expert", "ends"), [("good", (0, 1)), ("weak", (0, 5)), ("misleading", (15, 20))])
def test_a_belief_lies_in_its_range_of_the_feasible_configurations(
    tasks: list[TabularBenchmark], expert: str, ends: tuple[int, int]
) -> None:
    rng, order = np.random.default_rng(0), np.argsort(tasks[2].all_means()[:, 0])
    drawn = {SPACE.index(Experts(tasks[2]).belief(expert, rng)) for _ in range(200)}
    assert drawn == set(order[slice(*ends)].tolist())
    assert expert in EXPERTS


def test_beliefs_are_feasible_where_anything_is(tasks: list[TabularBenchmark]) -> None:
    rng, sizes = np.random.default_rng(0), tasks[0].all_means()[:, 1]
    bound = Bound(SIZE, high=0.5)
    for expert in EXPERTS:
        assert all(sizes[SPACE.index(Experts(tasks[0], [bound]).belief(expert, rng))] <= 0.5 for _ in range(50))
    nowhere = Experts(tasks[0], [Bound(SIZE, high=-1.0)])
    assert len({nowhere.belief("good", rng) for _ in range(100)}) > 5
    with pytest.raises(UsageError, match="unknown expert 'best'; allowed: good, misleading, weak"):
        nowhere.belief("best", rng)


def test_every_pair_of_tasks_that_shares_a_space_is_mutual() -> None:
    names = ("hpobench-car", "hpobench-blood", "nbgraph-cora", "nbgraph-arxiv", "sk-svm-wine", "sk-svm-diabetes")
    known = {name: set(Knowledge(open_benchmark(name)).tasks) for name in names}
    for one, other in itertools.combinations(names, 2):
        assert (one in known[other]) == (other in known[one])
    assert "sk-svm-wine" not in known["sk-svm-diabetes"]  # an error and a squared error are not one metric


def test_lists_of_the_same_ranges_with_other_rows_are_not_one_space() -> None:
    """What is known is handed on by the number of a row."""
    hyperparameters = [Ordinal("a", (1, 2, 3)), Ordinal("b", (1, 2, 3))]
    rows = np.array([[0, 0], [0, 2], [2, 1], [2, 2]])
    spaces = {"as": rows, "same": rows.copy(), "other": np.array([[0, 0], [0, 1], [2, 1], [2, 2]])}
    with ExitStack() as lent:
        made = {name: listed(hyperparameters, points) for name, points in spaces.items()}
        assert made["as"].describe() == made["other"].describe()
        toys = {
            name: TabularBenchmark(
                f"rows-{name}",
                "toys",
                space,
                METRICS,
                lambda: np.ones((4, 1, 2)),
                cost=1.0,
                source="",
                licence="",
                checksum=f"toy:rows-{name}",
                search_space="rows",
            )
            for name, space in made.items()
        }
        for toy in toys.values():
            lent.enter_context(BENCHMARKS.temporarily(toy.name, partial(lambda toy: toy, toy)))
        assert Knowledge(toys["as"]).tasks == ("rows-same",)


def test_the_same_data_under_another_name_and_another_search_space_are_no_other_tasks() -> None:
    """A copy knows the objective of the task itself; other training code gives other results."""
    own, other, copy, elsewhere = (table(f"own-{i}", values_of(i)) for i in range(4))
    for toy in (own, other, copy):
        toy.search_space = "toys apart"
    copy.checksum, elsewhere.search_space = own.checksum, "toys, trained longer"
    with ExitStack() as lent:
        for toy in (own, other, copy, elsewhere):
            lent.enter_context(BENCHMARKS.temporarily(toy.name, partial(lambda toy: toy, toy)))
        assert Knowledge(own).tasks == ("own-1",)


def test_a_constraint_is_carried_over_by_the_share_of_what_is_known() -> None:
    """Five of ten known sizes satisfy the limit, and so do five of the ten known sizes of the other task."""
    values, others = values_of(0), values_of(1)
    values[10:, 1], others[:10, 1] = math.nan, math.nan
    others[10:, 0] = 1 - others[10:, 1]  # so the best is the largest that is feasible
    own, other = table("part-0", values), table("part-1", others)
    own.search_space = other.search_space = "toys apart"
    bound = Bound(SIZE, high=float(np.sort(values[:10, 1])[4]))
    with ExitStack() as lent:
        for toy in (own, other):
            lent.enter_context(BENCHMARKS.temporarily(toy.name, partial(lambda toy: toy, toy)))
        first = Knowledge(own, [bound]).portfolio(1)
    assert first == (SPACE.configuration(10 + int(np.argsort(others[10:, 1])[4])),)


def test_the_share_of_a_constraint_is_counted_in_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """k/n · n is above k in floating point for some, which allowed one configuration too many; and 0 is none."""
    wrong = next((k, n) for n in range(2, 99) for k in range(1, n) if math.ceil(k / n * n) > k)
    values = np.arange(float(wrong[1]))
    means = {"one": np.stack([values, values], axis=1), "other": np.stack([values, values], axis=1)}
    tasks = {name: SimpleNamespace(name=name, metrics=(Metric("loss", ""), SIZE)) for name in means}
    monkeypatch.setattr(knowledge, "_means", lambda task: means[task.name])
    for count in (wrong[0], 0):
        bound = Bound(SIZE, high=count - 0.5)
        assert knowledge._within(bound, tasks["one"], tasks["other"]).sum() == count  # type: ignore[arg-type]


def test_tables_without_a_search_space_are_no_other_tasks_of_each_other() -> None:
    """Each is on a space of its own family: the same data under another name would be the answer itself."""
    with ExitStack() as lent:
        for name in ("alone", "stranger"):
            own = table(name, values_of(1))
            own.family, own.search_space = name, ""
            lent.enter_context(BENCHMARKS.temporarily(name, partial(lambda own: own, own)))
        assert Knowledge(open_benchmark("alone")).tasks == ()

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError
from nasbench.benchmarks.spaces import Categorical, GridSpace
from nasbench.benchmarks.spaces.language.choices import forbid
from nasbench.benchmarks.spaces.language.combinators import identity, substitution
from nasbench.benchmarks.spaces.language.graph import D, Part
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.methods import Observation, Problem
from nasbench.methods.regularized_evolution import RegularizedEvolution

SPACE = GridSpace([Categorical(f"h{i}", (0, 1, 2, 3)) for i in range(6)])
LOSS, SIZE, TIME = Metric("loss", ""), Metric("size", ""), Metric("time", "s")
FAILED = Evaluation({"loss": math.nan, "size": math.nan, "time": math.nan}, 0.0, "failed", "boom")
BOUNDS = (Bound(SIZE, high=10.0), Bound(TIME, low=2.0))


def search(seed: int = 0, bounds: tuple[Bound, ...] = (), **options: int) -> RegularizedEvolution:
    return RegularizedEvolution(Problem(SPACE, (LOSS,), bounds), np.random.default_rng(seed), **options)


def observe(configuration: tuple[int, ...], loss: float, size: float = 0.0, time: float = 9.0) -> Observation:
    metrics = {"loss": loss, "size": size, "time": time}
    feasible = all(b.holds(metrics[b.metric.name]) for b in BOUNDS)
    return Observation(configuration, Evaluation(metrics, 1.0), feasible)


def distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def test_the_first_population_is_random_and_equals_random_search() -> None:
    method, rng = search(population=30), np.random.default_rng(0)
    for _ in range(30):
        configuration = method.ask()
        assert configuration == SPACE.sample(rng)
        method.tell(observe(configuration, 1.0))


def fill(method: RegularizedEvolution, observations: list[Observation]) -> None:
    for observation in observations:
        method.ask()
        method.tell(observation)


# A tournament of 200 out of 5 misses a given member with probability 0.8^200 < 1e-19.
CERTAIN = {"population": 5, "tournament": 200}


def corner(i: int) -> tuple[int, ...]:
    """Corners that differ in all six choices, so that a child shows its parent."""
    return (i % 4,) * 6 if i < 4 else (0, 1, 2, 3, 0, 1)


def test_the_parent_is_the_best_of_the_tournament() -> None:
    method = search(**CERTAIN)
    fill(method, [observe(corner(i), loss) for i, loss in enumerate([5.0, 3.0, 1.0, 4.0, 2.0])])
    assert all(distance(method.ask(), corner(2)) == 1 for _ in range(20))


def test_a_tournament_of_one_draws_parents_uniformly() -> None:
    method = search(population=4, tournament=1)
    fill(method, [observe(corner(i), float(i)) for i in range(4)])
    children = [method.ask() for _ in range(2000)]
    counts = [sum(distance(child, corner(i)) == 1 for child in children) for i in range(4)]
    assert sum(counts) == 2000
    assert all(400 < count < 600 for count in counts)


def test_the_oldest_member_dies_even_if_it_is_the_best() -> None:
    method = search(**CERTAIN)
    fill(method, [observe(corner(i), float(i)) for i in range(5)])
    assert distance(method.ask(), corner(0)) == 1
    method.tell(observe((3, 2, 1, 0, 3, 2), 9.0))
    assert distance(method.ask(), corner(1)) == 1


def test_members_rank_by_feasibility_then_violation_then_objective() -> None:
    ordered = [
        observe(corner(0), loss=9.0, size=10.0, time=2.0),  # feasible on the edge
        observe(corner(1), loss=1.0, size=10.1, time=2.0),  # violates size by 1 %
        observe(corner(2), loss=0.5, size=10.1, time=1.9),  # and time by 5 %
        observe(corner(3), loss=0.1, size=20.0, time=2.0),  # violates size by 100 %
        Observation(corner(4), FAILED, False),
    ]
    for first in range(5):
        method = search(bounds=BOUNDS, **CERTAIN)
        fill(method, ordered[first:] + [ordered[-1]] * first)
        assert distance(method.ask(), corner(first)) == 1


def test_infeasible_ties_are_broken_by_the_objective() -> None:
    method = search(bounds=BOUNDS, population=2, tournament=100)
    fill(method, [observe(corner(0), 2.0, size=11.0), observe(corner(1), 1.0, size=11.0)])
    assert distance(method.ask(), corner(1)) == 1


def test_it_asks_on_when_nothing_has_been_told_yet() -> None:
    method = search(population=2, tournament=2)
    asked = [method.ask() for _ in range(10)]
    for configuration in asked:
        SPACE.check(configuration)


def test_it_finds_the_optimum_of_a_separable_function_much_sooner_than_chance() -> None:
    def best_losses() -> Iterator[int]:
        for seed in range(5):
            method, best = search(seed, population=20, tournament=5), 99
            for _ in range(400):
                configuration = method.ask()
                best = min(best, sum(configuration))
                method.tell(observe(configuration, float(sum(configuration))))
            yield best

    # Chance finds the optimum, one of 4,096, in 400 draws with probability 0.09.
    assert list(best_losses()).count(0) >= 4


@pytest.mark.parametrize("options", [{"population": 0}, {"tournament": 0}, {"population": -3}])
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must lie in"):
        search(**options)


def test_where_a_configuration_has_no_neighbour_a_random_one_is_bred() -> None:
    def twins() -> Part:
        a, b = D([0, 1, 2], name="a"), D([0, 1, 2], name="b")
        forbid(lambda a, b: a != b, a=a, b=b)
        return substitution("pair", lambda values: identity(), {"a": a, "b": b})

    space = Program(twins)
    method = RegularizedEvolution(Problem(space, (LOSS,)), np.random.default_rng(0), population=2, tournament=1)
    asked = []
    for _ in range(12):
        asked.append(method.ask())
        method.tell(Observation(asked[-1], Evaluation({"loss": 1.0}, 1.0), True))
    with pytest.raises(UsageError, match="nothing can mutate"):
        space.mutate(asked[0], np.random.default_rng(0))
    assert len(set(asked)) == 3

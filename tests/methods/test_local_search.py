"""Local search and BANANAS: the anchors of the benchmarks with tables and programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation, Metric, UsageError, abilities, parse_constraints
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal, ParameterSpace, Space
from nasbench.benchmarks.spaces.hyperparameters import Float
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.example import figure_4
from nasbench.cli.engine.plan import open_benchmark
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.bananas import Ensemble, words_of

GRID = GridSpace([Ordinal(name, (0, 1, 2, 3)) for name in "abc"])


def searched(
    spec: str, space: Space, score: Callable[[Configuration], float], evals: int, workers: int = 1, seed: int = 0
) -> list[tuple[Any, float]]:
    """What is asked for, with its scores, told in the order of asking."""
    problem = Problem(space, (Metric("loss", ""),))
    method = MethodSpec.parse(spec).build(problem, np.random.default_rng(seed))
    asked: list[tuple[Any, float]] = []
    told = 0
    while told < evals:
        while len(asked) < min(told + workers, evals):
            configuration = method.ask()
            space.check(configuration)
            asked.append((configuration, score(configuration)))
        configuration, value = asked[told]
        status = "ok" if math.isfinite(value) else "failed"
        method.tell(Observation(configuration, Evaluation({"loss": value}, 1.0, status), status == "ok"))
        told += 1
    return asked


def bowl(configuration: Configuration) -> float:
    return float(sum((x - 2) ** 2 for x in configuration))


def differing(one: Configuration, other: Configuration) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


class TestLocalSearch:
    def test_after_the_first_all_are_neighbours_of_the_best_until_the_minimum(self) -> None:
        asked = searched("local:initial=3", GRID, bowl, 30)
        for i in range(3, 30):
            best = min(asked[:i], key=lambda pair: pair[1])
            if best[1] == 0:
                break
            assert differing(asked[i][0], best[0]) == 1
        assert min(value for _, value in asked) == 0

    def test_nothing_is_asked_for_twice_while_anything_is_left(self) -> None:
        for workers in (1, 4):
            asked = searched("local:initial=2", GRID, bowl, 60, workers)
            assert len({configuration for configuration, _ in asked}) == 60

    def test_from_a_minimum_it_restarts(self) -> None:
        """All neighbours of (2, 2, 2), nine, are asked for, and nothing else, before random ones come again."""
        asked = searched("local:initial=1", GRID, bowl, 40)
        found = next(i for i, (_, value) in enumerate(asked) if value == 0)
        neighbours = {c for c, _ in asked if differing(c, (2, 2, 2)) == 1}
        assert len(neighbours) == 9
        last = max(i for i, (c, _) in enumerate(asked) if differing(c, (2, 2, 2)) == 1)
        assert last < found + 10
        assert differing(asked[last + 1][0], (2, 2, 2)) > 1

    @pytest.mark.parametrize("workers", [1, 2, 4, 16])
    def test_it_restarts_with_any_number_of_workers(self, workers: int) -> None:
        """With several, others are always pending when a worker asks: the search waits for its own neighbours alone."""
        space = GridSpace([Ordinal(name, tuple(range(6))) for name in "abcd"])
        asked = [c for c, _ in searched("local:initial=1", space, bowl, 400, workers)]
        found = next(i for i, c in enumerate(asked) if bowl(c) == 0)
        later = asked[found + 60 :]
        near = sum(any(differing(c, other) == 1 for other in later[max(i - 40, 0) : i]) for i, c in enumerate(later))
        assert near > 0.6 * len(later)  # of random configurations fewer than half

    def test_a_failed_evaluation_is_never_moved_to(self) -> None:
        asked = searched("local:initial=2", GRID, lambda c: math.nan if c[0] == 1 else bowl(c), 50)
        assert min(value for _, value in asked if math.isfinite(value)) == 0

    def test_it_moves_towards_what_is_feasible(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        bounds = abilities.bounds(benchmark, parse_constraints(["model_size@0.1"]))
        method = MethodSpec("local").build(Problem.of(benchmark, bounds), np.random.default_rng(0))
        feasible = []
        for number in range(80):
            configuration = method.ask()
            evaluation = benchmark.evaluate(configuration, number)
            feasible.append(all(bound.holds(evaluation.metrics[bound.metric.name]) for bound in bounds))
            method.tell(Observation(configuration, evaluation, feasible[-1]))
        assert np.mean(feasible[40:]) > 0.2  # a tenth of all cells is

    @pytest.mark.parametrize("space", [Program(figure_4), ParameterSpace([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)])])
    def test_other_spaces_have_neighbourhoods_too(self, space: Space) -> None:
        scores: dict[Any, float] = {}
        rng = np.random.default_rng(1)
        asked = searched("local:initial=3", space, lambda c: scores.setdefault(c, rng.random()), 40)
        assert len({configuration for configuration, _ in asked}) > 30

    def test_it_beats_random_search_on_a_table(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        means = benchmark.means(0)

        def regret(spec: str) -> float:
            found = []
            for seed in range(10):
                asked = searched(spec, benchmark.space, lambda c: means[benchmark.space.index(c)], 100, seed=seed)
                found.append(min(value for _, value in asked))
            return float(np.mean(found))

        assert regret("local") < regret("random") - 0.2


class TestBananas:
    def test_paths_are_the_operations_from_input_to_output(self) -> None:
        space = open_benchmark("nb201-cifar10").space
        names = ("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "none", "nor_conv_1x1")
        configuration = space.from_values({f"Op{k}": name for k, name in enumerate(names)})
        found = {path.strip() for path in words_of(space, "path")(configuration)}
        assert found == {"conv3 skip conv1", "avg-pool"}

    def test_gradients_are_those_of_finite_differences(self) -> None:
        rng = np.random.default_rng(0)
        networks = Ensemble(4, 2, 3, rng)
        x, y = rng.integers(0, 2, (3, 5, 4)).astype(float), rng.normal(0, 1, (3, 5, 2))
        networks._parameters[:] = rng.normal(0, 0.3, networks._parameters.shape)
        networks._differentiate(x, y)
        gradient = networks._gradient.copy()

        def loss() -> np.ndarray:
            return np.abs(networks._forward(x)[-1] - y).mean((1, 2))

        for k in rng.choice(gradient.shape[1], 40).tolist():
            networks._parameters[:, k] += 1e-6
            above = loss()
            networks._parameters[:, k] -= 2e-6
            slope = (above - loss()) / 2e-6
            networks._parameters[:, k] += 1e-6
            assert slope == pytest.approx(gradient[:, k], abs=1e-4)

    def test_an_ensemble_learns(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.integers(0, 2, (80, 6)).astype(float)
        y = (x @ np.arange(6))[:, None] / 6
        networks = Ensemble(6, 1, 3, rng)
        networks.fit(x[:60], y[:60])
        assert np.abs(networks.predict(x[60:]).mean(0) - y[60:]).mean() < 0.25 * y.std()

    def test_same_seed_same_proposals_none_twice_and_failures_are_no_trouble(self) -> None:
        def score(configuration: Configuration) -> float:
            return math.nan if configuration[0] == 3 else bowl(configuration)

        one, other = (searched("bananas:initial=4,batch=4", GRID, score, 20, workers=2) for _ in range(2))
        assert [c for c, _ in one] == [c for c, _ in other]
        assert len({c for c, _ in one[4:]}) == 16

    def test_options_out_of_range_are_one_sentence(self) -> None:
        for spec, message in [
            ("local:initial=0", "initial must be at least 1, not 0"),
            ("bananas:batch=0", "batch must be at least 1, not 0"),
            ("bananas:encoding=words", "unknown encoding 'words'"),
        ]:
            with pytest.raises(UsageError, match=message):
                MethodSpec.parse(spec).build(Problem(GRID, (Metric("loss", ""),)), np.random.default_rng(0))


@pytest.mark.parametrize("bench", ["hpolib-naval", "hpobench-car", "digits/vit", "digits/cnn"])
def test_bananas_tells_configurations_apart_that_have_the_same_graph(bench: str) -> None:
    """Their paths alone are a few: rates, widths and batches are on none."""
    space, rng = open_benchmark(bench).space, np.random.default_rng(0)
    drawn = list(dict.fromkeys(space.sample(rng) for _ in range(200)))
    assert len({words_of(space, "path")(configuration) for configuration in drawn}) > 0.9 * len(drawn)

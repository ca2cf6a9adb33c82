"""Local search and BANANAS: the anchors of the benchmarks with tables and programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError, abilities, parse_constraints
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal, ParameterSpace, Space
from nasbench.benchmarks.spaces.hyperparameters import Float
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.example import figure_4
from nasbench.cli.engine.plan import open_benchmark
from nasbench.methods import MethodSpec, Observation, Problem, bananas
from nasbench.methods.bananas import Bananas, Ensemble, words_of

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


class Oracle:
    """Stands for the ensemble: predicts what it is given, (networks, candidates, outputs), and keeps what it is told.

    Predictions are given in the units of the metrics.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, predicted: Sequence[Any] = (), targets: Any = 0.0) -> None:
        self.predicted, self.targets = np.array(predicted, float), np.array(targets, float)
        self.fitted: list[tuple[np.ndarray, np.ndarray]] = []
        monkeypatch.setattr(bananas, "Ensemble", lambda inputs, outputs, count, rng: self)

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        self.fitted.append((x, y))

    def predict(self, x: np.ndarray) -> np.ndarray:
        if not self.predicted.size:
            return np.zeros((2, len(x), 1))
        return np.asarray((self.predicted - self.targets.mean(axis=0)) / self.targets.std(axis=0))


SIZE, PARAMETERS = Metric("size", ""), Metric("parameters", "", cheap=True)


def of_bananas(spec: str, constraints: tuple[Bound, ...] = (), space: Space = GRID) -> Bananas:
    """Parameters, if they are constrained, are known: they are the first value of a configuration."""
    known = (lambda _, configuration: float(configuration[0])) if constraints else None
    method = MethodSpec.parse(spec).build(
        Problem(space, (Metric("loss", ""),), constraints, known), np.random.default_rng(0)
    )
    assert isinstance(method, Bananas)
    return method


def tell(method: Bananas, configuration: Configuration, loss: float, size: float = 0.0, status: Any = "ok") -> None:
    metrics = {"loss": loss, "size": size, "parameters": 1.0}
    evaluation = Evaluation(metrics, 1.0, status, "" if status == "ok" else "boom")
    method.tell(Observation(configuration, evaluation, status == "ok" and size <= 4))


class TestBananasModel:
    def test_candidates_are_compared_by_violation_known_or_predicted_and_then_by_the_objective(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two networks that agree. An unknown size counts as one with a violation of 1; what failed is left out."""
        told = [[3.0, 2.0], [5.0, 6.0], [4.0, 8.0], [9.0, 3.0]]
        values = {  # first value of the configuration, loss, size → violation by hand: parameters <= 2, size <= 4
            (0, 0, 0): (1.0, 8.0),  # 1
            (1, 0, 0): (9.0, 3.5),  # 0
            (2, 0, 0): (2.0, 3.0),  # 0
            (3, 0, 0): (0.0, 1.0),  # 1/2
            (3, 1, 0): (0.0, 5.0),  # 1/2 + 1/4
            (0, 1, 0): (0.5, 5.0),  # 1/4
        }
        oracle = Oracle(monkeypatch, [list(values.values())] * 2, told)
        method = of_bananas("bananas", (Bound(PARAMETERS, high=2.0), Bound(SIZE, high=4.0)))
        tell(method, (0, 0, 1), 3.0, 2.0)
        tell(method, (0, 0, 2), math.nan, math.nan, "failed")
        tell(method, (0, 0, 3), 5.0, 6.0)
        tell(method, (0, 1, 2), 4.0, math.nan)
        tell(method, (3, 1, 2), math.nan, math.nan, "infeasible")
        tell(method, (1, 1, 1), 9.0, 3.0)
        order = [list(values)[i] for i in method._ranked(list(values))]
        assert order == [(2, 0, 0), (1, 0, 0), (0, 1, 0), (3, 0, 0), (3, 1, 0), (0, 0, 0)]
        ((_, targets),) = oracle.fitted
        assert targets == pytest.approx(stats.zscore(told, axis=0))

    def test_a_target_that_has_not_varied_is_no_trouble(self, monkeypatch: pytest.MonkeyPatch) -> None:
        oracle, method = Oracle(monkeypatch), of_bananas("bananas")
        for configuration in ((0, 0, 1), (0, 0, 2), (0, 1, 0)):
            tell(method, configuration, 7.0)
        assert sorted(method._ranked([(1, 1, 1), (2, 2, 2)])) == [0, 1]
        assert oracle.fitted[0][1].tolist() == [[0.0]] * 3

    def test_each_candidate_is_drawn_by_itself_with_the_networks_mean_and_deviation(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Means 4 and 5, deviations 1: the first is drawn below the second with probability Φ(1 / √2)."""
        Oracle(monkeypatch, [[[3.0], [6.0]], [[5.0], [4.0]]], [[1.0], [2.0], [9.0]])
        method = of_bananas("bananas")
        for last, loss in enumerate((1.0, 2.0, 9.0)):
            tell(method, (0, 0, last), loss)
        first = [method._ranked([(1, 1, 1), (2, 2, 2)])[0] == 0 for _ in range(2000)]
        assert np.mean(first) == pytest.approx(stats.norm.cdf(math.sqrt(0.5)), abs=0.03)

    def test_candidates_are_mutants_of_the_best_half_of_them_mutated_once(self) -> None:
        """What is feasible comes before what is not, and what failed has no mutants."""
        space = GridSpace([Ordinal(f"o{i}", tuple(range(10))) for i in range(40)])
        method = of_bananas("bananas", (Bound(SIZE, high=4.0),), space)
        best, tempting, failed = (tuple([level] * 40) for level in (5, 1, 8))
        tell(method, tempting, 0.0, 9.0)
        tell(method, failed, math.nan, math.nan, "failed")
        tell(method, best, 3.0, 1.0)
        candidates = method._candidates()
        assert len(set(candidates)) == 100
        near = [differing(best, candidate) for candidate in candidates]
        assert sorted(near)[85] < 10
        assert 30 <= near.count(1) <= 65
        assert near.count(2) > near.count(3)
        assert min(differing(failed, candidate) for candidate in candidates) > 20

    def test_where_the_best_has_nothing_new_mutants_of_the_next_best_follow(self) -> None:
        method = of_bananas("bananas")
        for configuration, loss in (((0, 0, 0), 1.0), ((3, 3, 3), 2.0)):
            tell(method, configuration, loss)
        method._asked = {c for c in GRID if sum(c) <= 6}
        assert {sum(c) > 6 for c in method._candidates()} == {True}
        assert (3, 3, 2) in method._candidates()

    @pytest.mark.parametrize(("initial", "failed"), [(4, ()), (1, (0, 2))])
    def test_the_ensemble_is_fitted_once_per_batch_after_the_beginning_when_two_evaluations_are_ok(
        self, initial: int, failed: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        oracle, method = Oracle(monkeypatch), of_bananas(f"bananas:initial={initial},batch=3")
        fits = []
        for number in range(11):
            configuration = method.ask()
            fits.append(len(oracle.fitted))
            tell(method, configuration, float(number), status="failed" if number in failed else "ok")
        assert fits == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
        assert [len(x) for x, _ in oracle.fitted] == [n - len(failed) for n in (4, 7, 10)]

    def test_the_words_seen_most_often_have_bits_and_500_at_most(self, monkeypatch: pytest.MonkeyPatch) -> None:
        oracle = Oracle(monkeypatch)
        space = GridSpace([Ordinal(f"o{i}", tuple(range(10))) for i in range(60)])
        wide, rng = of_bananas("bananas:encoding=values", space=space), np.random.default_rng(0)
        for number in range(40):
            tell(wide, space.sample(rng), float(number))
        wide._ranked([space.sample(rng)])
        assert oracle.fitted[0][0].shape == (40, 500)
        monkeypatch.setattr(bananas, "_MOST_WORDS", 2)
        method = of_bananas("bananas:encoding=values")
        for number, configuration in enumerate([(0, 1, 0), (1, 1, 0), (2, 1, 1), (3, 2, 0), (0, 1, 3)]):
            tell(method, configuration, float(number))
        method._ranked([(1, 1, 1)])
        assert oracle.fitted[1][0].tolist() == [[1, 1], [1, 1], [1, 0], [0, 1], [1, 0]]  # b = 1, c = 0

    def test_networks_are_trained_by_adam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Algorithm 1 of Kingma and Ba (2015), on one batch, with the published rate and decays."""
        monkeypatch.setattr(bananas, "_EPOCHS", 6)
        x = np.random.default_rng(1).integers(0, 2, (20, 6)).astype(float)
        y = np.stack([x.sum(axis=1), x[:, 0]], axis=1)
        ours, theirs = (Ensemble(6, 2, 2, np.random.default_rng(0)) for _ in range(2))
        for networks in (ours, theirs):  # no gradient is near Adam's epsilon
            networks._parameters[:] = np.random.default_rng(2).normal(0, 0.5, networks._parameters.shape)
        ours.fit(x, y)
        first, second = np.zeros_like(theirs._parameters), np.zeros_like(theirs._parameters)
        for t in range(1, 7):
            theirs._differentiate(np.stack([x, x]), np.stack([y, y]))
            first = 0.9 * first + 0.1 * theirs._gradient
            second = 0.99 * second + 0.01 * theirs._gradient**2
            theirs._parameters -= 0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)
        assert ours._parameters == pytest.approx(theirs._parameters, abs=1e-3)

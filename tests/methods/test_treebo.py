"""TreeBO against a dense process with the same kernel, on the paper's synthetic tree, and on chains of layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError, open_benchmark
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Integer, ParameterSpace
from nasbench.benchmarks.spaces.graphs.bounds import Bounds
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.listed import listed
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem
from nasbench.methods.surrogates.trees import Hyperparameters, Points, TreeProcess
from nasbench.methods.treebo.chains import Chains
from nasbench.methods.treebo.tree import Tree

TREE = open_benchmark("synthetic-tree")


def built(spec: str, name: str, constraints: tuple[Bound, ...] = (), seed: int = 0) -> tuple[Any, Method]:
    benchmark = open_benchmark(name)
    return benchmark, MethodSpec.parse(spec).build(Problem.of(benchmark, constraints), np.random.default_rng(seed))


def told(benchmark: Any, method: Method, configuration: Any, constraints: tuple[Bound, ...] = ()) -> float:
    evaluation = benchmark.evaluate(configuration, 0)
    holds = all(bound.holds(evaluation.metrics[bound.metric.name]) for bound in constraints)
    method.tell(Observation(configuration, evaluation, holds))
    return float(evaluation.metrics[benchmark.objective.name])


def random_points(rng: np.random.Generator, count: int, leaves: int, columns: int, coefficients: int) -> Points:
    return Points(
        rng.integers(leaves, size=count), rng.uniform(size=(count, columns)), rng.normal(size=(count, coefficients))
    )


def covariances(one: Points, other: Points, h: Hyperparameters) -> np.ndarray:
    """The kernel as one formula: a Matérn kernel where the leaf is the same, and what the coefficients give."""
    apart = np.sqrt(5) * cdist(one.local / h.lengths, other.local / h.lengths)
    same = one.leaves[:, None] == other.leaves
    shared = one.shared @ np.diag(h.prior) @ other.shared.T
    return np.asarray(h.variance * same * (1 + apart + apart**2 / 3) * np.exp(-apart) + shared)


@pytest.mark.parametrize("leaves", [1, 2, 5])
def test_posterior_and_likelihood_are_those_of_a_dense_process(leaves: int) -> None:
    """Also on leaves where nothing was observed: points lie on one leaf more than observations."""
    rng = np.random.default_rng(leaves)
    for _ in range(20):
        count, columns, coefficients = (int(rng.integers(2, 15)) for _ in range(3))
        seen = random_points(rng, count, leaves, columns, coefficients)
        points = random_points(rng, 9, leaves + 1, columns, coefficients)
        values = rng.normal(size=count)
        variance, noise = rng.uniform(0.2, 2), rng.uniform(0.01, 0.3)
        h = Hyperparameters(rng.uniform(0.2, 3, columns), variance, rng.uniform(0.1, 2, coefficients), noise)
        own = TreeProcess(seen, values, h)
        dense = covariances(seen, seen, h) + noise * np.eye(count)
        cross = covariances(points, seen, h)
        mean = cross @ np.linalg.solve(dense, values)
        spread = np.diag(covariances(points, points, h)) - (cross * np.linalg.solve(dense, cross.T).T).sum(1)
        found = own.predict(points)
        assert found[0] == pytest.approx(mean, abs=1e-9)
        assert found[1] ** 2 == pytest.approx(spread, abs=1e-9)
        evidence = -0.5 * (values @ np.linalg.solve(dense, values) + np.linalg.slogdet(2 * np.pi * dense)[1])
        assert own.likelihood == pytest.approx(evidence, abs=1e-9 * max(1, abs(evidence)))


def test_a_leaf_learns_from_another_what_they_share_and_nothing_else() -> None:
    """Observed with x1 = x2 = 0: the leaf x2 = 1 follows r8, and leaves with x1 = 1 know no more of r9 than before."""
    space, tree = TREE.space, Tree(TREE.space.as_flat())
    rng = np.random.default_rng(0)
    first = [(0, 0, None, rng.uniform(-1, 1), None, None, None, rng.uniform(), None) for _ in range(12)]
    second = [(0, 1, None, None, 0.2, None, None, r, None) for r in np.linspace(0, 1, 7).tolist()]
    third = [(1, None, 0, None, None, 0.2, None, None, r) for r in np.linspace(0, 1, 7).tolist()]
    for configuration in (*first, *second, *third):
        space.check(configuration)
    lengths, prior = np.ones(len(tree.is_category)), np.full(len(tree.is_bias), 0.5)
    values = np.array([TREE.evaluate(configuration, 0).metrics[TREE.objective.name] for configuration in first])
    process = TreeProcess(tree.points(first), values - values.mean(), Hyperparameters(lengths, 0.1, prior, 1e-4))
    mean, deviation = process.predict(tree.points(second))
    assert np.corrcoef(mean, np.linspace(0, 1, 7))[0, 1] > 0.9
    mean, far = process.predict(tree.points(third))
    assert np.ptp(mean) == pytest.approx(0, abs=1e-9)
    assert (far > deviation.max()).all()


def test_paths_are_those_that_conditions_permit() -> None:
    tree = Tree(TREE.space.as_flat())
    paths = tree.paths(64)
    assert paths is not None
    assert sorted(tree.name(tuple(path.get(d) for d in tree.deciding)) for path in paths) == [
        "x1=0 x2=0", "x1=0 x2=1", "x1=1 x3=0", "x1=1 x3=1",
    ]  # fmt: skip
    assert tree.paths(3) is None
    assert Tree(GridSpace([Categorical("a", (1, 2))]).as_flat()).paths(1) == [{}]


def test_on_the_papers_tree_it_finds_what_random_search_does_not() -> None:
    benchmark, method = built("treebo", "synthetic-tree")
    values = [told(benchmark, method, method.ask()) for _ in range(30)]
    assert min(values) < 0.11
    _, other = built("random", "synthetic-tree")
    assert min(told(benchmark, other, other.ask()) for _ in range(30)) > min(values)
    asked = {row.choice: row.value for row in method.log}
    assert len(asked) == 4
    assert sum(asked.values()) == 30


def test_the_path_by_the_linear_model_first() -> None:
    benchmark, method = built("treebo:acquisition=two-step,candidates=100", "synthetic-tree")
    assert min(told(benchmark, method, method.ask()) for _ in range(30)) < 0.2


@pytest.mark.parametrize(("name", "decides"), [("synthetic-mlp", "layers"), ("synthetic-cnn", "blocks")])
def test_every_chain_is_a_member_of_the_free_space(name: str, decides: str) -> None:
    space = open_benchmark(name).space
    chains, rng = Chains(space), np.random.default_rng(0)
    tree = Tree(chains)
    seen = set()
    for _ in range(200):
        coordinates = tree.drawn(rng)
        graph = chains.at(coordinates)
        space.check(graph)
        assert len(graph.edges) == len(graph.labels) - 1  # a chain
        assert list(chains.coordinates(graph)) == coordinates
        tree_neighbour = tree.neighbour(coordinates, rng)
        assert tree_neighbour != coordinates
        space.check(chains.at(tree_neighbour))
        seen.add(tree.name(tree.path(coordinates)))
    paths = tree.paths(64)
    assert paths is not None
    assert seen == {tree.name(tuple(path.values())) for path in paths}
    assert all(word.startswith(f"{decides}=") for word in seen)


def test_a_space_that_holds_no_chain_is_refused_in_a_sentence() -> None:
    space = NetworkSpace("mlp-reg", Bounds(edges=(100, 200)), [])
    problem = Problem(space, (open_benchmark("synthetic-mlp").objective,))
    method = MethodSpec.parse("treebo").build(problem, np.random.default_rng(0))
    with pytest.raises(UsageError, match="none of 200 chains of layers lies within the bounds"):
        method.ask()


def test_what_is_known_beforehand_is_never_asked_for_in_vain() -> None:
    benchmark = open_benchmark("synthetic-mlp")
    bound = Bound(benchmark.metrics[1], 30_000, upper=True)
    _, method = built("treebo:initial=5", "synthetic-mlp", (bound,))
    for _ in range(15):
        configuration = method.ask()
        assert configuration.weights <= 30_000
        told(benchmark, method, configuration, (bound,))


def test_other_constraints_are_learned() -> None:
    """On the leaves with x1 = 0, which hold the optimum, the value is declared too small."""
    benchmark = open_benchmark("synthetic-tree")
    bound = Bound(benchmark.metrics[0], 0.5, upper=False)
    _, method = built("treebo", "synthetic-tree", (bound,))
    values = [told(benchmark, method, method.ask(), (bound,)) for _ in range(30)]
    assert min(value for value in values if value >= 0.5) < 0.6
    assert sum(value >= 0.5 for value in values[15:]) > 5


def test_nothing_is_asked_for_twice_while_there_is_something_else() -> None:
    space = GridSpace([Categorical("a", (1, 2, 3)), Categorical("b", (1, 2, 3))])
    benchmark = open_benchmark("synthetic-tree")
    method = METHODS.get("treebo")(Problem(space, (benchmark.objective,)), np.random.default_rng(0), initial=3)
    asked = []
    for number in range(11):
        asked.append(method.ask())
        evaluation = benchmark.evaluate((0, 0, None, 0.1 * number, None, None, None, 0.5, None), 0)
        method.tell(Observation(asked[-1], evaluation, True))
    assert len(set(asked[:9])) == 9


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("treebo:initial=0", "initial must lie in"),
        ("treebo:acquisition=both", "unknown acquisition 'both'"),
        ("treebo:candidates=0", "candidates must lie in"),
    ],
)
def test_wrong_options_are_refused(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        built(spec, "synthetic-tree")


def test_a_constraint_whose_metric_is_not_always_known_is_learnt_where_it_is() -> None:
    """Every third evaluation lacks it."""
    metrics = (Metric("loss", ""), Metric("auc", ""))
    bound = Bound(metrics[1], 0.5, upper=True)
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (metrics[0],), (bound,))
    method, asked = MethodSpec.parse("treebo:initial=6").build(problem, np.random.default_rng(0)), []
    for i in range(15):
        configuration: Any = method.ask()
        values = {"loss": -configuration[0], "auc": configuration[0] if i % 3 else math.nan}
        method.tell(Observation(configuration, Evaluation(values, 1.0), bound.holds(values["auc"])))
        asked.append(configuration[0])
    assert max(asked[9:]) < 0.6  # the loss is least at 1, and what is allowed lies below 0.5


def test_of_listed_rows_it_asks_for_the_best_and_loses_none_that_it_only_looked_at() -> None:
    points = np.random.default_rng(0).random((1000, 2))
    space = listed([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)], points)
    losses = ((points - 0.4) ** 2).sum(axis=1)
    method = MethodSpec.parse("treebo").build(Problem(space, (Metric("loss", ""),)), np.random.default_rng(1))
    asked = []
    for _ in range(40):
        asked.append(method.ask())
        method.tell(Observation(asked[-1], Evaluation({"loss": float(losses[asked[-1]])}, 1.0), True))
    assert len(set(asked)) == 40
    assert len(set(np.argsort(losses)[:10].tolist()) & set(asked)) >= 8


def test_two_steps_take_the_next_path_where_the_best_one_has_nothing_new() -> None:
    """Three configurations on the leaf that looks best: random draws, its fall-back, would go on for ever."""
    space = ParameterSpace(
        [Categorical("a", ("u", "v")), Categorical("few", (1, 2, 3)), Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)],
        {"few": ("a", ["u"]), "x": ("a", ["v"]), "y": ("a", ["v"])},
    )
    method: Any = MethodSpec.parse("treebo:acquisition=two-step").build(
        Problem(space, (Metric("loss", ""),)), np.random.default_rng(0)
    )
    first, draws = method._first, []
    method._first = lambda: draws.append(1) or first()
    for _ in range(30):
        configuration = method.ask()
        a, few, x, y = configuration
        loss = 0.3 + 0.01 * few if a == 0 else 0.4 + (x - 0.3) ** 2 + (y - 0.8) ** 2
        method.tell(Observation(configuration, Evaluation({"loss": loss}, 1.0), True))
    assert len(draws) == 10  # the initial phase


def test_an_integers_step_that_rounds_back_goes_where_the_draw_went() -> None:
    tree = Tree(ParameterSpace([Integer("n", 1, 3)]).as_flat())
    rng = np.random.default_rng(0)
    steps = [int(tree.neighbour([2], rng)[0] or 0) for _ in range(400)]
    assert set(steps) == {1, 3}
    assert 0.4 < np.mean([step == 3 for step in steps]) < 0.6
    assert {int(tree.neighbour([end], rng)[0] or 0) for end in (1, 3) for _ in range(50)} <= {1, 2, 3}


def test_one_known_value_of_a_constraint_is_too_few_for_a_process() -> None:
    """In the unit of bytes its deviation would be one byte, and a neighbour certain to fail."""
    metrics = (Metric("loss", ""), Metric("size", "B"))
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (metrics[0],), (Bound(metrics[1], 1e6, upper=True),))
    method: Any = MethodSpec.parse("treebo:initial=4").build(problem, np.random.default_rng(0))
    for number in range(8):
        values = {"loss": 1.0, "size": 2e6 if number == 0 else math.nan}
        method.tell(Observation(method.ask(), Evaluation(values, 1.0), False))
    assert set(method._surrogates) == {"loss"}


def test_where_nothing_tells_candidates_apart_every_path_is_asked_for() -> None:
    """A constraint whose metric is never known: nothing is feasible, and there is nothing to learn."""
    benchmark = open_benchmark("synthetic-tree")
    bound = Bound(Metric("size", ""), 0.5, upper=True)
    problem = Problem(benchmark.space, benchmark.metrics, (bound,))
    method = MethodSpec.parse("treebo:initial=5").build(problem, np.random.default_rng(0))
    leaves = []
    for i in range(25):
        configuration: Any = method.ask()
        values = {"value": benchmark.evaluate(configuration, 0).metrics["value"], "size": math.nan}
        method.tell(Observation(configuration, Evaluation(values, 1.0), False))
        leaves += [configuration[:3]] if i >= 5 else []
    assert len(set(leaves)) == 4

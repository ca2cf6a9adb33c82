"""TreeBO on the paper's synthetic tree, under constraints, and on chains of layers; what is proposed and why."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError, open_benchmark
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Hyperparameter, Integer, Ordinal, ParameterSpace
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.listed import listed
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem
from nasbench.methods.growing.treebo.chains import Chains
from nasbench.methods.growing.treebo.tree import Tree
from nasbench.methods.surrogates.trees import Points

TREE = open_benchmark("synthetic-tree")


def built(spec: str, name: str, constraints: tuple[Bound, ...] = (), seed: int = 0) -> tuple[Any, Method]:
    benchmark = open_benchmark(name)
    return benchmark, MethodSpec.parse(spec).build(Problem.of(benchmark, constraints), np.random.default_rng(seed))


def told(benchmark: Any, method: Method, configuration: Any, constraints: tuple[Bound, ...] = ()) -> float:
    evaluation = benchmark.evaluate(configuration, 0)
    holds = all(bound.holds(evaluation.metrics[bound.metric.name]) for bound in constraints)
    method.tell(Observation(configuration, evaluation, holds))
    return float(evaluation.metrics[benchmark.objective.name])


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
    space = NetworkSpace("mlp-reg", NetworkLimits(edges=(100, 200)), [])
    problem = Problem(space, (open_benchmark("synthetic-mlp").objective,))
    method = MethodSpec.parse("treebo").build(problem, np.random.default_rng(0))
    with pytest.raises(UsageError, match="none of 200 chains of layers lies within the bounds"):
        method.ask()


def test_what_is_known_beforehand_is_never_asked_for_in_vain() -> None:
    benchmark = open_benchmark("synthetic-mlp")
    bound = Bound(benchmark.metrics[1], high=30_000)
    _, method = built("treebo:initial=5", "synthetic-mlp", (bound,))
    for _ in range(15):
        configuration = method.ask()
        assert configuration.weights <= 30_000
        told(benchmark, method, configuration, (bound,))


def test_other_constraints_are_learned() -> None:
    """On the leaves with x1 = 0, which hold the optimum, the value is declared too small."""
    benchmark = open_benchmark("synthetic-tree")
    bound = Bound(benchmark.metrics[0], low=0.5)
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
    bound = Bound(metrics[1], high=0.5)
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
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (metrics[0],), (Bound(metrics[1], high=1e6),))
    method: Any = MethodSpec.parse("treebo:initial=4").build(problem, np.random.default_rng(0))
    for number in range(8):
        values = {"loss": 1.0, "size": 2e6 if number == 0 else math.nan}
        method.tell(Observation(method.ask(), Evaluation(values, 1.0), False))
    assert set(method._surrogates) == {"loss"}


def test_where_nothing_tells_candidates_apart_every_path_is_asked_for() -> None:
    """A constraint whose metric is never known: nothing is feasible, and there is nothing to learn."""
    benchmark = open_benchmark("synthetic-tree")
    bound = Bound(Metric("size", ""), high=0.5)
    problem = Problem(benchmark.space, benchmark.metrics, (bound,))
    method = MethodSpec.parse("treebo:initial=5").build(problem, np.random.default_rng(0))
    leaves = []
    for i in range(25):
        configuration: Any = method.ask()
        values = {"value": benchmark.evaluate(configuration, 0).metrics["value"], "size": math.nan}
        method.tell(Observation(configuration, Evaluation(values, 1.0), False))
        leaves += [configuration[:3]] if i >= 5 else []
    assert len(set(leaves)) == 4


def test_candidates_are_worth_their_improvement_times_the_chances_that_constraints_hold() -> None:
    """While nothing is feasible, the chances alone."""
    bounds = Bound(Metric("size", ""), high=3.0), Bound(Metric("auc", ""), low=0.5)
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (Metric("loss", ""),), bounds)
    method: Any = MethodSpec.parse("treebo").build(problem, np.random.default_rng(0))
    predicted = {
        "loss": (np.array([1.0, 2.0, 0.5]), np.array([0.5, 2.0, 1.0])),
        "size": (np.array([3.0, 1.0, 4.0]), np.array([1.0, 1.0, 2.0])),
        "auc": (np.array([0.5, 0.9, 0.1]), np.array([0.1, 0.2, 0.4])),
    }
    method._surrogates = {
        name: SimpleNamespace(predict=lambda points, paths, found=found: found) for name, found in predicted.items()
    }
    points = method._tree.points([[0.1], [0.2], [0.3]])
    chances = stats.norm.cdf([0.0, 2.0, -0.5]) * stats.norm.cdf([0.0, 2.0, -1.0])
    assert method._acquisition(points, bounds, None, False) == pytest.approx(chances)
    gains = 1.2 - predicted["loss"][0]
    z = gains / predicted["loss"][1]
    improvement = gains * stats.norm.cdf(z) + predicted["loss"][1] * stats.norm.pdf(z)
    assert method._acquisition(points, bounds, 1.2, False) == pytest.approx(improvement * chances)


def test_improvement_is_over_the_best_feasible_value() -> None:
    """A better value that violates the constraint is none to improve on, and a failed evaluation is not modelled."""
    bound = Bound(Metric("size", ""), high=0.5)
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (Metric("loss", ""),), (bound,))
    method: Any = MethodSpec.parse("treebo:initial=6,candidates=20").build(problem, np.random.default_rng(0))
    nan = math.nan
    evaluations: list[tuple[float, float, Any]] = [
        (3.0, 0.2, "ok"), (2.0, 0.4, "ok"), (1.0, 0.9, "ok"), (nan, nan, "failed"), (5.0, 0.1, "ok"), (0.5, nan, "ok"),
    ]  # fmt: skip
    for loss, size, status in evaluations:
        evaluation = Evaluation({"loss": loss, "size": size}, 1.0, status, "" if status == "ok" else "boom")
        method.tell(Observation(method.ask(), evaluation, size <= 0.5))
    over: list[float | None] = []
    plain = method._acquisition
    method._acquisition = lambda points, bounds, best, paths: (over.append(best), plain(points, bounds, best, paths))[1]
    method.ask()
    assert set(over) == {2.0}
    assert len(method._observed) == 5


def test_two_rounds_look_beside_the_five_best_candidates_on_their_own_paths() -> None:
    benchmark, method = built("treebo:candidates=80", "synthetic-tree")
    for _ in range(10):
        told(benchmark, method, method.ask())
    found: Any = method
    scored: list[tuple[Points, np.ndarray]] = []
    plain = found._acquisition
    found._acquisition = lambda points, *rest: (scored.append((points, plain(points, *rest))), scored[-1][1])[1]
    method.ask()
    sizes = [len(points.leaves) for points, _ in scored]
    assert sizes[1:3] == [100, 100]
    assert len(sizes) == 4 and sizes[3] <= 16
    points, worth = scored[0]
    best = np.argsort(-worth)[:5]
    assert set(scored[1][0].leaves.tolist()) <= set(points.leaves[best].tolist())
    near = cdist(scored[1][0].local, points.local[best]).min(axis=1)
    assert np.median(near) < 0.2


@pytest.mark.parametrize("acquisition", ["two-step", "joint"])
def test_only_in_two_steps_the_linear_model_chooses_the_path(acquisition: str) -> None:
    benchmark, method = built(f"treebo:acquisition={acquisition},candidates=80", "synthetic-tree")
    for _ in range(11):
        told(benchmark, method, method.ask())
    found: Any = method
    number = found._tree._leaves
    by_paths, by_all = sorted(number, key=str)[:2]
    found._acquisition = lambda points, bounds, best, paths: np.where(
        points.leaves == number[by_paths if paths else by_all], 1.0, 0.5
    )
    asked: Any = method.ask()
    assert asked[:3] == (by_paths if acquisition == "two-step" else by_all)


def test_until_two_evaluations_are_ok_configurations_are_drawn_at_random() -> None:
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (Metric("loss", ""),))
    method: Any = MethodSpec.parse("treebo:initial=1,candidates=20").build(problem, np.random.default_rng(0))
    statuses: list[Any] = ["failed", "failed", "ok", "failed"]
    for status in statuses:
        evaluation = Evaluation({"loss": 1.0 if status == "ok" else math.nan}, 1.0, status, "")
        method.tell(Observation(method.ask(), evaluation, status == "ok"))
        assert not method._surrogates
    method.tell(Observation(method.ask(), Evaluation({"loss": 2.0}, 1.0), True))
    assert not method._surrogates
    method.ask()
    assert set(method._surrogates) == {"loss"}


def test_candidates_are_drawn_on_every_path_and_beside_the_best_of_each() -> None:
    benchmark, method = built("treebo:candidates=80,initial=24", "synthetic-tree")
    found: Any = method
    for _ in range(24):
        told(benchmark, method, method.ask())
    tree, observed = found._tree, found._observed
    drawn = found._drawn(sorted(observed))
    assert len(drawn) == 80 + 4 * 20 + 20
    leaders = {}
    for i in sorted(observed, key=lambda i: observed[i].objective, reverse=True):
        leaders[tree.path(found._places[i])] = found._places[i]
    assert len(leaders) == 4
    best = min(observed, key=lambda i: observed[i].objective)
    counts = Counter(tree.path(place) for place in drawn)
    for path, leader in leaders.items():
        near = [p for p in drawn if tree.path(p) == path and sum(a != b for a, b in zip(p, leader, strict=True)) == 1]
        assert len(near) >= 20
        assert counts[path] >= 40
    assert sum(tree.path(place) == tree.path(found._places[best]) for place in drawn) >= 40 + 8


def test_the_first_configurations_are_one_of_each_path_in_random_order() -> None:
    firsts = Counter[object]()
    for seed in range(20):
        _, method = built("treebo:initial=4", "synthetic-tree", seed=seed)
        asked: list[Any] = [method.ask() for _ in range(4)]
        assert len({configuration[:3] for configuration in asked}) == 4
        firsts[asked[0][:3]] += 1
    assert len(firsts) == 4


def test_the_best_few_are_judged_again_at_the_coordinates_that_their_configurations_have() -> None:
    problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (Metric("loss", ""),))
    method: Any = MethodSpec.parse("treebo").build(problem, np.random.default_rng(0))
    places = [[i / 20] for i in range(20)]
    values = np.linspace(1, 0, 20)
    assert method._chosen(places, values, lambda points: -np.abs(points.local[:, 0] - 0.3)) == (0.3,)
    assert method._chosen(places, values, lambda points: points.local[:, 0]) == (0.75,)  # of the best sixteen


def test_a_step_of_a_number_is_normal_and_a_step_of_a_level_leads_to_the_next_or_among_few_to_any() -> None:
    hyperparameters: list[Hyperparameter] = [
        Float("x", 1e-4, 1.0, log=True),
        Ordinal("few", (1, 2, 3, 4)),
        Ordinal("many", tuple(range(9))),
    ]
    rng = np.random.default_rng(0)
    ends: list[set[object]] = [set(), set(), set()]
    places = []
    tree = Tree(ParameterSpace(hyperparameters).as_flat())
    for _ in range(1500):
        moved: list[Any] = tree.neighbour([1e-2, 1, 5], rng)
        (changed,) = [d for d, (a, b) in enumerate(zip(moved, [1e-2, 1, 5], strict=True)) if a != b]
        ends[changed].add(moved[changed])
        places += [math.log(moved[0] / 1e-4) / math.log(1e4)] if changed == 0 else []
    assert ends[1:] == [{0, 2, 3}, {4, 6}]
    assert 400 < len(places) < 600  # each hyper-parameter as often as the others
    assert stats.kstest(places, stats.norm(0.5, 0.15).cdf).pvalue > 0.01


def test_chains_of_blocks_halve_the_image_once_a_block_and_end_in_one_connected_layer() -> None:
    space: Any = open_benchmark("synthetic-cnn").space
    chains = Chains(space)
    named: dict[str, Any] = {h.name: h for h in chains.hyperparameters}
    assert named["blocks"].values == (1, 2, 3)  # the networks there halve the image twice
    assert named["layers1"].values == (1, 2, 3, 4)
    values = {"blocks": 2, "fc": 64, "layers1": 1, "kind1": 2, "units1": 16}
    values |= {"layers2": 1, "kind2": 0, "units2": 32, "halving2": 2}
    values |= {"layers3": 2, "kind3": 0, "units3": 128, "halving3": 0}
    graph = chains.at([values[h.name] for h in chains.hyperparameters])
    assert graph.labels == (
        "ip", "conv5", "conv5", "conv3", "conv3", "max-pool", "conv3", "conv3", "conv3", "fc", "softmax", "op",
    )  # fmt: skip
    assert [graph.stride(v) for v in (1, 2, 3, 4, 6, 7, 8)] == [1, 1, 2, 1, 1, 1, 1]
    assert [graph.units[v] for v in (1, 2, 3, 4, 6, 7, 8, 9)] == [16, 16, 32, 32, 128, 128, 128, 64]


@pytest.mark.parametrize(
    ("layers", "depths"), [((5, 60), (2, 3, 4, 5, 6, 7, 8)), ((0, 6), (1, 2, 3)), ((13, 60), (10,))]
)
def test_perceptrons_have_two_to_eight_hidden_layers_within_the_bounds(
    layers: tuple[int, int], depths: tuple[int, ...]
) -> None:
    chains = Chains(NetworkSpace("mlp-reg", NetworkLimits(layers=layers, units=(8, 100)), []))
    first, units, *_ = chains.hyperparameters
    assert isinstance(first, Ordinal) and first.values == depths
    assert units == Integer("units1", 8, 100, log=True)
    assert len(chains.hyperparameters) == 1 + 2 * depths[-1]
    values: list[Any] = [0]
    for i in range(depths[-1]):
        values += [10 + i, i % 7] if i < depths[0] else [None, None]
    graph = chains.at(values)
    assert graph.labels[0] == "ip" and graph.labels[-2:] == ("linear", "op")
    assert list(graph.units[1:-2]) == [10 + i for i in range(depths[0])]

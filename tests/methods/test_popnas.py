"""POPNAS: counts of cells, equality, features, fronts, predictors, and searches on tables and programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Categorical, Configuration, GridSpace, Ordinal, ParameterSpace, Space
from nasbench.benchmarks.spaces.blocks import Cell
from nasbench.benchmarks.spaces.configspace import read
from nasbench.benchmarks.spaces.hyperparameters import Float
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.growing.popnas.cells import blocks_of, canonical, time_features
from nasbench.methods.growing.popnas.forecast import Predictions, ProblemColumns, forecast, ranks
from nasbench.methods.growing.popnas.fronts import Element, exploration_front, pareto_front, underused
from nasbench.methods.growing.popnas.growth import BlockGrowth, NodeGrowth, StepGrowth, growth_of
from nasbench.methods.growing.popnas.method import Popnas
from nasbench.methods.growing.popnas.predictor import KernelRidge
from nasbench.methods.growing.popnas.rounds import spearman
from tests.benchmarks import cells101

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NB201 = CellGrid([Categorical(f"Op{k}", OPERATIONS) for k in range(6)])
GRID = GridSpace([Ordinal(name, (0, 1, 2, 3)) for name in "abc"])
NESTED = read(
    json.dumps(
        {
            "hyperparameters": [
                {"name": "a", "type": "categorical", "choices": ["x", "y", "z"]},
                *({"name": f"b{k}", "type": "ordinal", "sequence": [0, 1]} for k in range(4)),
            ],
            "conditions": [{"type": "EQ", "child": f"b{k}", "parent": "a", "value": "x"} for k in range(4)],
        }
    )
)
METRICS = (Metric("loss", ""), Metric("train_time", "s"), Metric("model_size", "MB", cheap=True))
TOLD = {metric.name: metric for metric in METRICS}
Score = Callable[[Configuration], tuple[float, float, float]]


def named(values: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(TOLD, values, strict=True))


def cells(lookbacks: int, operators: int, blocks: int) -> list[Cell]:
    """Every cell of so many blocks, each block without its mirror image."""
    return list(product(*(blocks_of(number, lookbacks, operators) for number in range(1, blocks + 1))))


class TestCells:
    @pytest.mark.parametrize(
        ("lookbacks", "operators", "blocks", "generated", "distinct"),
        [
            (1, 2, 1, 3, 3),
            (1, 2, 2, 30, 27),
            (1, 2, 3, 630, 409),
            (2, 2, 1, 10, 10),
            (2, 2, 2, 210, 165),
            (2, 2, 3, 7560, 3840),
            (1, 4, 2, 360, 315),
            (2, 8, 1, 136, 136),
        ],
    )
    def test_counts_are_those_of_a_full_expansion(
        self, lookbacks: int, operators: int, blocks: int, generated: int, distinct: int
    ) -> None:
        found = cells(lookbacks, operators, blocks)
        assert (len(found), len(set(map(canonical, found)))) == (generated, distinct)

    @pytest.mark.parametrize(("operators", "counts"), [(12, [300, 666, 1176, 1830, 2628]), (8, [136, 300, 528])])
    def test_a_level_adds_as_many_blocks_as_published(self, operators: int, counts: list[int]) -> None:
        assert [len(blocks_of(number, 2, operators)) for number in range(1, len(counts) + 1)] == counts

    def test_a_cell_is_the_same_mirrored_and_in_another_order(self) -> None:
        rng = np.random.default_rng(0)
        halves = lambda number: tuple((int(rng.integers(-2, number)), int(rng.integers(3))) for _ in range(2))  # noqa: E731
        for _ in range(50):
            cell: Any = tuple(halves(number) for number in range(4))
            mirrored = tuple(block[::-1] for block in cell)
            assert canonical(mirrored) == canonical(cell)
            for order in permutations(range(4)):
                place = {old: new for new, old in enumerate(order)}
                if all(source < 0 or place[source] < place[old] for old in order for source, _ in cell[old]):
                    moved = tuple(tuple((place.get(s, s), o) for s, o in cell[old]) for old in order)
                    assert canonical(moved) == canonical(cell)

    def test_a_block_that_is_read_twice_is_not_two_that_are_read_once(self) -> None:
        block = ((-1, 0), (-1, 0))
        shared: Cell = (block, block, ((0, 0), (0, 1)))
        apart: Cell = (block, block, ((0, 0), (1, 1)))
        assert canonical(shared) != canonical(apart)

    def test_features_are_those_of_the_authors_code(self) -> None:
        weights = [0.5, 1.0]
        assert time_features((((-1, 0), (-1, 0)),), weights, 8) == [1, 8, 1.0, 0, 1, 0, 1, 0, 0.5]
        assert time_features((((-2, 0), (-2, 1)),), weights, 8)[1] == 4
        chain: Cell = (((-1, 1), (-2, 1)), ((-1, 1), (0, 1)), ((1, 1), (-2, 0)))
        blocks, built, total, both, share, inputs, depth, together, heaviest = time_features(chain, weights, 8)
        assert (blocks, built, total, both, inputs, depth, together) == (3, 8, 5.5, 1, 2, 3, 0)
        assert (share, heaviest) == pytest.approx((3.5 / 5.5, 5.0 / 5.5))
        assert math.isfinite(sum(time_features(chain, [0.0, 0.0], 8)))


class TestFronts:
    def test_equals_are_taken_once_and_the_fast_end_is_cut(self) -> None:
        values = np.array([[-0.9, 10], [-0.9, 10], [-0.8, 5], [-0.8, 6], [-0.7, 5], [-0.6, 1]])
        assert pareto_front(values, 10) == [0, 2, 5]
        assert pareto_front(values, 2) == [0, 2]

    def test_three_objectives_agree_with_every_pair_compared(self) -> None:
        values = np.random.default_rng(0).random((200, 3))
        dominated = [bool((((values <= v).all(axis=1)) & (values < v).any(axis=1)).any()) for v in values]
        assert sorted(pareto_front(values, 200)) == [i for i, is_so in enumerate(dominated) if not is_so]

    def test_the_true_front_of_nas_bench_201_has_37_cells(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        means = [benchmark.mean_metrics(configuration) for configuration in benchmark.space]  # type: ignore[attr-defined]
        values = np.array([(mean[benchmark.objective.name], mean["train_time"]) for mean in means])
        found = values[pareto_front(values, len(values))]
        assert len(found) == 37
        assert found[0].tolist() == pytest.approx([8.3933, 2880], rel=1e-3)
        assert found[-1].tolist() == pytest.approx([17.52, 542], rel=1e-3)

    def test_what_may_not_be_taken_dominates_nothing(self) -> None:
        assert pareto_front(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), 9, lambda i: i != 0) == [1]

    def test_one_objective_takes_the_best(self) -> None:
        assert pareto_front(np.array([[3.0], [1.0], [2.0]]), 2) == [1, 2]

    def test_a_neglected_operator_is_brought_back_also_in_the_second_place(self) -> None:
        known: list[Element] = [("operator", i) for i in range(3)] + [("input", i) for i in (-2, -1)]
        front: list[list[Element]] = [[("operator", 0), ("operator", 1), ("input", -1), ("input", -2)]] * 4
        neglected = underused(front, known)
        assert neglected == {("operator", 2)}
        candidates: list[list[Element]] = [front[0], [*front[0][:1], ("operator", 2), *front[0][2:]]]
        values = np.array([[0.0, 0.0], [1.0, 1.0]])
        assert exploration_front(values, lambda i: candidates[i], neglected, 5) == [1]
        assert exploration_front(values, lambda i: candidates[i], set(), 5) == []

    def test_an_element_with_a_fifth_of_the_mean_is_not_neglected(self) -> None:
        known: list[Element] = [("operator", 0), ("operator", 1)]
        assert underused([[known[0]] * 9 + [known[1]]] * 2, known) == set()
        assert underused([[known[0]] * 10 + [known[1]]] * 2, known) == {known[1]}

    def test_an_exploration_needs_eight_of_two_kinds_and_takes_nothing_that_is_dominated(self) -> None:
        operator, position = ("operator", 2), ("input", -2)
        # 4 + 4; 3 + 4, for operators were brought back twice; 4 + 4, but dominated; 4 + 4
        candidates = [[operator] * 2, [operator, position], [position] * 2, [position] * 2]
        values = np.array([[0.0, 0.0], [1.0, -1.0], [2.0, 1.0], [3.0, -2.0]])
        assert exploration_front(values, lambda i: candidates[i], {operator, position}, 9) == [0, 3]


class TestPredictor:
    def test_it_agrees_with_scikit_learn_at_the_same_penalty(self) -> None:
        ridge = pytest.importorskip("sklearn.kernel_ridge")
        rng = np.random.default_rng(0)
        x, z = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
        y = x[:, 0] * x[:, 1] + rng.normal(scale=0.3, size=40)
        ours = KernelRidge(x).predict(y, z)
        scaled = lambda part: (part - x.mean(0)) / x.std(0)  # noqa: E731

        def fitted(penalty: float, rows: Any) -> Any:
            made = ridge.KernelRidge(alpha=penalty, kernel="poly", degree=2, gamma=1 / 3, coef0=1)
            return made.fit(scaled(x)[rows], (y - y.mean())[rows])

        def error(penalty: float) -> float:
            """Of each observation, predicted from the others."""
            left_out = [fitted(penalty, np.arange(40) != i).predict(scaled(x)[[i]])[0] for i in range(40)]
            return float(np.sum((y - y.mean() - left_out) ** 2))

        penalties = np.logspace(-3, 2, 11)
        best = min(penalties, key=error)
        assert best not in (penalties[0], penalties[-1])
        assert ours == pytest.approx(fitted(best, slice(None)).predict(scaled(z)) + y.mean(), abs=1e-8)

    def test_it_orders_cells_with_one_more_block_of_an_additive_score(self) -> None:
        space = open_benchmark("digits/popnas@1").space
        growth, rng = growth_of(space), np.random.default_rng(0)
        worth = rng.normal(size=12)
        score = lambda cell: sum(worth[operator] for block in cell for _, operator in block)  # noqa: E731
        told = [(block,) for block in growth.groups(())]
        told += [(*told[int(rng.integers(300))], growth.groups(((),))[int(i)]) for i in rng.choice(666, 60)]
        later = [(*told[-1 - k], growth.groups(((), ()))[int(i)]) for k, i in enumerate(rng.choice(1176, 60))]
        x = growth.features([*told, *later], {})
        guessed = KernelRidge(x[: len(told)]).predict(np.array([score(c) for c in told]), x[len(told) :])
        assert spearmanr(guessed, [score(cell) for cell in later])[0] > 0.8

    def test_correlations_are_scipys(self) -> None:
        x, y = [1.0, 2.0, 2.0, 5.0], [3.0, 1.0, 4.0, 4.0]
        assert spearman(x, y) == pytest.approx(spearmanr(x, y)[0])
        assert math.isnan(spearman([1.0, 2.0], [1.0, 2.0])) and math.isnan(spearman([1.0] * 4, y))


class TestForecast:
    def test_equals_share_the_mean_of_their_ranks(self) -> None:
        assert ranks([(0.0, 1.0), (0.0, 2.0), (0.0, 1.0), (1.0, 0.0)]) == [2 / 8, 5 / 8, 2 / 8, 7 / 8]

    def test_seconds_are_those_of_the_training_whatever_its_epochs_and_of_a_failed_one_unknown(self) -> None:
        told = {"loss": METRICS[0], "train_time@200": Metric("train_time@200", "s")}
        columns = ProblemColumns.of(Problem(NB201, (METRICS[0],), told=told))
        done = Observation((0,) * 6, Evaluation({"loss": 1.0, "train_time@200": 7.0}, 99.0), True)
        failed = Observation((0,) * 6, Evaluation({"loss": math.nan, "train_time@200": 7.0}, 99.0, "failed"), False)
        assert columns.seconds(done) == 7
        assert math.isnan(columns.seconds(failed))
        assert ProblemColumns.of(Problem(NB201, (METRICS[0],), told={"loss": METRICS[0]})).seconds(done) == 99

    def test_the_size_of_a_front_is_to_be_minimised(self) -> None:
        told = {"loss": METRICS[0], "reuse": Metric("reuse", "", minimize=False, cheap=True), "model_size": METRICS[2]}
        problem = replace(Problem.of(open_benchmark("nb201-cifar10")), told=told)
        assert ProblemColumns.of(problem).size == "model_size"

    def test_what_a_table_knows_is_looked_up(self) -> None:
        growth, bound = growth_of(NB201), Bound(METRICS[2], high=4.0)
        known = lambda metric, configuration: named(wide(configuration))[metric]  # noqa: E731
        problem = Problem(NB201, (METRICS[0],), (bound,), known, told=TOLD)
        ends = [((operation,),) for operation in range(5)]
        told = {
            m: Observation(c, Evaluation(named(wide(c)), 1.0), wide(c)[2] <= 4)
            for m, c in zip(ends, map(growth.configuration, ends), strict=True)
        }
        members = [(*ends[3], group) for group in growth.groups(ends[3])]
        found = forecast(problem, growth, told, members, with_size=True)
        sizes = [wide(growth.configuration(member))[2] for member in members]
        assert found.size is not None
        assert found.size.tolist() == sizes
        assert found.violation.tolist() == [bound.violation(size) for size in sizes]
        assert 0 < sum(found.violation > 0) < len(members)

    def test_operators_weigh_what_they_take_beyond_an_empty_cell(self) -> None:
        growth = growth_of(open_benchmark("digits/popnas@1").space)
        assert isinstance(growth, BlockGrowth)
        first, second, *_ = growth.foremost()
        weights = growth.weights({growth.key(first): 10.0, growth.key(second): 20.0})
        assert weights == pytest.approx([1 / 11, 1.0, *[6 / 11] * 10])  # an empty one at 9 s; the others at the mean

    def test_a_number_that_is_not_there_stands_in_the_middle(self) -> None:
        program = read(
            '{"hyperparameters": [{"name": "a", "type": "categorical", "choices": ["x", "y"]}, '
            '{"name": "b", "type": "ordinal", "sequence": [1, 2, 4]}], '
            '"conditions": [{"type": "EQ", "child": "b", "parent": "a", "value": "x"}]}'
        )
        growth = growth_of(program)
        assert [growth.groups(member) for member in (((0,),), ((1,),))] == [[(0,), (1,), (2,)], ()]
        features = growth.features([((0,), (0,)), ((0,), (2,)), ((0,), (1,)), ((1,),)], {})
        assert features[:, -1].tolist() == [0.0, 1.0, 0.5, 0.5]

    def test_a_listed_cell_is_seen_edge_by_edge(self) -> None:
        """Its values are two texts, a matrix and a list: of those nearly every cell has its own."""
        cells = cells101.SPACE
        growth = StepGrowth(cells)
        members = [((first,), (second,)) for first in range(2) for second in range(2)]
        points = np.array([cells.points[growth.configuration(member)] for member in members])
        features = growth.features(members, {})
        assert features.shape[1] == sum(len(set(column)) for column in points.T.tolist())


def searched(
    spec: str,
    space: Space,
    score: Score,
    evals: int,
    workers: int = 1,
    seed: int = 0,
    bounds: tuple[Any, ...] = (),
    objectives: tuple[Metric, ...] = METRICS[:1],
) -> tuple[Popnas, list[Configuration]]:
    """What is asked for, told in the order of asking."""
    known = lambda metric, configuration: named(score(configuration))[metric]  # noqa: E731
    problem = Problem(space, objectives, bounds, known, told=TOLD)
    method = MethodSpec.parse(spec).build(problem, np.random.default_rng(seed))
    assert isinstance(method, Popnas)
    asked: list[Configuration] = []
    for told in range(evals):
        while len(asked) < min(told + workers, evals):
            asked.append(method.ask())
            space.check(asked[-1])
        values = named(score(asked[told]))
        is_ok = math.isfinite(values["loss"])
        feasible = is_ok and all(bound.holds(values[bound.metric.name]) for bound in bounds)
        method.tell(Observation(asked[told], Evaluation(values, 1.0, "ok" if is_ok else "failed"), feasible))
    return method, asked


def wide(configuration: Configuration) -> tuple[float, float, float]:
    """More convolutions are better, slower and larger."""
    count = sum(1.0 for choice in configuration if OPERATIONS[choice].startswith("nor"))
    large = sum(1.0 for choice in configuration if choice == 3)
    return 10 - count - large / 2, 1 + count + 3 * large, 1 + count + large


class TestGrowth:
    def test_nodes_of_nas_bench_201_end_in_skip_connections(self) -> None:
        growth = growth_of(NB201)
        assert isinstance(growth, NodeGrowth)
        assert [len(growth.groups(((),) * k)) for k in range(4)] == [5, 25, 125, 0]
        # Edges in the order 0-1, 0-2, 1-2, 0-3, 1-3, 2-3.
        names = [OPERATIONS[choice] for choice in growth.configuration(((3,),))]
        assert names == ["nor_conv_3x3", "none", "skip_connect", "none", "none", "skip_connect"]
        names = [OPERATIONS[choice] for choice in growth.configuration(((3,), (2, 4)))]
        assert names == ["nor_conv_3x3", "nor_conv_1x1", "avg_pool_3x3", "none", "none", "skip_connect"]
        assert growth.idle(((3,),)) == (0, 1)
        assert growth.key(((3,), (0, 1))) == growth.key(((3,),))

    def test_the_live_space_of_the_same_cells_grows_alike(self) -> None:
        space = open_benchmark("digits/nasbench201@1").space
        growth = growth_of(space)
        assert isinstance(growth, NodeGrowth)
        assert list(space.values(growth.configuration(((3,),))).values()) == [
            *("nor_conv_3x3", "none", "skip_connect", "none", "none", "skip_connect")
        ]

    def test_other_choices_take_their_middle_value_until_they_are_decided(self) -> None:
        growth = growth_of(GRID)
        assert isinstance(growth, StepGrowth)
        assert (growth.levels, growth.configuration(((1,),))) == (3, (1, 2, 2))

    def test_levels_are_those_of_the_deepest_network_that_was_looked_at(self) -> None:
        growth = growth_of(NESTED)
        assert growth.levels == 1  # the middle value has no further choice
        assert growth.groups(((0,),))
        assert growth.levels == 5

    def test_a_front_of_three_needs_a_size_that_is_known(self) -> None:
        timed = Problem(GRID, METRICS[:1], told={metric.name: metric for metric in METRICS[:2]})
        with pytest.raises(UsageError, match=r"known before training for pareto=time\+size"):
            MethodSpec.parse("popnas:pareto=time+size").build(timed, np.random.default_rng(0))
        MethodSpec.parse("popnas:pareto=time").build(timed, np.random.default_rng(0))

    def test_a_real_number_has_no_sequence(self) -> None:
        problem = Problem(ParameterSpace([Float("x", 0.0, 1.0)]), (METRICS[0],))
        with pytest.raises(
            UsageError, match="needs a space whose configurations are made by one choice after the other"
        ):
            MethodSpec.parse("popnas").build(problem, np.random.default_rng(0))


class TestSearch:
    def test_choices_that_only_some_networks_have_are_decided(self) -> None:
        """The best of 18 networks: a = x, and the last of each of four choices, which y and z do not have."""

        def score(configuration: Configuration) -> tuple[float, float, float]:
            values = NESTED.values(configuration)
            return 10.0 - 5 * (values["a"] == "x") - sum(values.get(f"b{k}", 0) for k in range(4)), 1.0, 1.0

        method, asked = searched("popnas:first=3", NESTED, score, 18)
        assert len(set(asked)) == 18
        assert min(score(one)[0] for one in asked) == 1.0
        method.ask()
        rounds = len(method._rounds)
        more = {method.ask() for _ in range(20)}  # there is nothing else: random ones, and no new round for each
        assert more <= set(asked)
        assert len(method._rounds) == rounds

    def test_a_first_level_of_fewer_networks_than_operators_is_drawn_at_random(self) -> None:
        problem = Problem.of(open_benchmark("digits/popnas@1"))

        def first(count: int, seed: int) -> set[Configuration]:
            method = MethodSpec.parse(f"popnas:first={count}").build(problem, np.random.default_rng(seed))
            return {method.ask() for _ in range(count)}

        assert len(set.union(*(first(8, seed) for seed in range(3)))) > 12
        growth = growth_of(problem.space)
        foremost = {growth.configuration(member) for member in growth.foremost()}
        assert all(first(12, seed) == foremost for seed in range(2))

    def test_nothing_is_asked_for_twice_while_there_is_something_new(self) -> None:
        for space, evals in ((NB201, 150), (GRID, 64)):
            score: Score = wide if space is NB201 else lambda c: (float(sum(c)), 1.0 + c[0], 1.0)
            _, asked = searched("popnas:children=20", space, score, evals)
            assert len(set(asked)) == evals

    def test_same_seed_same_search_with_workers_that_never_wait(self) -> None:
        one, other = (searched("popnas:children=9", NB201, wide, 90, workers=4)[1] for _ in range(2))
        assert one == other != searched("popnas:children=9", NB201, wide, 90, workers=4, seed=1)[1]
        assert len(set(one)) == 90

    def test_without_fronts_the_best_is_found_and_with_them_fast_ones_too(self) -> None:
        _, plain = searched("popnas:pareto=none,children=10", NB201, wide, 90)
        _, front = searched("popnas:pareto=time,children=10", NB201, wide, 90)
        assert min(wide(c)[0] for c in plain) == 10 - 6 - 3
        assert min(wide(c)[0] for c in front) <= 2
        assert np.mean([wide(c)[1] for c in front[40:]]) < np.mean([wide(c)[1] for c in plain[40:]])

    def test_pnas_trains_the_best_predicted_scores_and_explores_nothing(self) -> None:
        explored = {}
        for pareto in ("time", "none"):
            method, _ = searched(f"popnas:pareto={pareto},children=3,exploration=5", NB201, wide, 90)
            explored[pareto] = sum(entry.value for entry in method.log if entry.quantity == "exploration")
        assert explored["time"] > explored["none"] == 0

    def test_with_several_objectives_its_front_is_theirs(self) -> None:
        # All networks train equally long here: a front of the loss and the time is a single network.
        def opposed(c: Configuration) -> tuple[float, float, float]:
            loss, _, size = wide(c)
            return loss, 20.0, size

        def attained(asked: list[Configuration]) -> int:
            found = {(loss, size) for loss, _, size in map(opposed, asked)}
            corners = [(x / 2, y) for x in range(21) for y in range(14)]
            return sum(any(loss <= x and size <= y for loss, size in found) for x, y in corners)

        both = METRICS[0], METRICS[2]
        method, asked = searched("popnas:children=8", NB201, opposed, 70, objectives=both)
        _, one = searched("popnas:children=8,pareto=none", NB201, opposed, 70)
        assert attained(asked) > attained(one)
        assert max(entry.value for entry in method.log if entry.quantity == "front" and entry.epoch > 1) > 2

    def test_bounds_that_are_known_before_training_hold_from_the_second_round(self) -> None:
        (bound,) = abilities.bounds(open_benchmark("nb201-cifar10"), parse_constraints(["model_size<=5"]))
        bounds = (Bound(METRICS[2], high=bound.limit),)
        _, asked = searched("popnas:children=10", NB201, wide, 80, bounds=bounds)
        assert all(wide(c)[2] <= 5 for c in asked[40:])

    def test_it_goes_on_where_everything_fails_and_where_nothing_is_left(self) -> None:
        searched("popnas", NB201, lambda c: (math.nan, 1.0, 1.0), 60)
        _, asked = searched("popnas", GRID, lambda c: (1.0, 1.0, 1.0), 70)
        assert len(set(asked)) == 64

    def test_a_round_begins_when_the_front_before_is_told(self) -> None:
        method = MethodSpec.parse("popnas:children=9").build(Problem(NB201, (METRICS[0],)), np.random.default_rng(0))
        rounds = lambda: {entry.epoch for entry in method.log}  # noqa: E731
        asked = [method.ask() for _ in range(40)]  # 30 of the first round, and ten more
        told = [Observation(c, Evaluation({"loss": wide(c)[0]}, 1.0), True) for c in asked]
        for observation in told[:29]:
            method.tell(observation)
            method.ask()
        assert rounds() == {1}
        method.tell(told[29])
        method.ask()
        assert rounds() == {1, 2}

    def test_of_the_first_networks_those_that_violate_least_are_asked_first(self) -> None:
        bound = Bound(METRICS[2], high=1.0)
        _, asked = searched("popnas", NB201, wide, 30, bounds=(bound,))
        violations = [bound.violation(wide(c)[2]) for c in asked]
        assert violations == sorted(violations) and violations[0] < violations[-1]

    def test_what_cannot_be_trained_is_on_no_front(self) -> None:
        def score(configuration: Configuration) -> tuple[float, float, float]:
            return (*wide(configuration)[:2], math.nan if configuration[0] == 3 else 1.0)

        _, asked = searched("popnas:children=10", NB201, score, 80)
        assert any(c[0] == 3 for c in asked[:30]) and not any(c[0] == 3 for c in asked[30:])

    def test_the_last_level_extends_all_networks_and_explores_no_more(self) -> None:
        method, _ = searched("popnas:children=12,exploration=5", NB201, wide, 100)
        of = lambda what: [e.value for e in method.log if (e.quantity, e.stage) == (what, 3)]  # noqa: E731
        first, *later = of("candidates")
        assert later == [first + 5 * 25] * len(later) and later  # and those of one node, by 25 second ones
        assert set(of("exploration")) == {0.0}

    def test_the_log_holds_each_levels_front_and_correlations(self) -> None:
        method, asked = searched("popnas:children=12", NB201, wide, 100)
        log = method.log
        measured = [entry for entry in log if entry.quantity == "front_objective"]
        assert [entry.value for entry in measured] == [wide(c)[0] for c in asked]
        assert {entry.stage for entry in log} == {1, 2, 3}
        found = {entry.epoch: entry.value for entry in log if entry.quantity == "spearman_seconds"}
        assert min(found) == 2 and np.mean(list(found.values())) > 0.8
        assert {entry.choice for entry in measured} <= {"front", "exploration", "between"}

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ("popnas:children=0", r"children must lie in \[1, 1000000\], not 0"),
            ("popnas:pareto=speed", "unknown objectives of a front 'speed'"),
        ],
    )
    def test_options_out_of_range_are_refused(self, spec: str, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            MethodSpec.parse(spec).build(Problem(NB201, (METRICS[0],)), np.random.default_rng(0))


@pytest.mark.parametrize("equal", [[0.2] * 7, [0.1] * 6 + [float(np.mean([0.1] * 3))]])
def test_a_feature_that_has_not_varied_has_no_say(equal: list[float]) -> None:
    """The standard deviation of seven times 0.2 is 3e-17, and the mean of three times 0.1 is not 0.1."""
    rng = np.random.default_rng(0)
    x, y = rng.random((7, 2)), rng.random(7)
    constant, elsewhere = np.array(equal)[:, None], np.hstack([rng.random((5, 2)), np.full((5, 1), 0.6)])
    assert constant.std() > 0
    predicted = KernelRidge(np.hstack([x, constant])).predict(y, elsewhere)
    assert np.abs(predicted).max() < 10


@pytest.mark.parametrize(("maximised", "value"), [(False, 1.0), (True, 9.0)])
def test_a_low_score_means_a_good_value_of_the_first_objective(maximised: bool, value: float) -> None:
    nothing, values = np.zeros(1), np.arange(11.0)
    made = Predictions([], (np.array([0.1]),), np.array([5.0]), None, nothing, values, maximised)
    assert made.predicted(0) == pytest.approx((value, 5.0))

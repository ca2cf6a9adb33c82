"""SMBO and MCTS on their equations, on grids, and on programs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import Bound, Evaluation, Metric, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import (
    Categorical,
    Configuration,
    Float,
    GridSpace,
    Hashed,
    Integer,
    Ordinal,
    ParameterSpace,
)
from nasbench.benchmarks.spaces.language.combinators import siso_optional, siso_sequential
from nasbench.benchmarks.spaces.language.graph import D, Part, integer, real
from nasbench.benchmarks.spaces.language.layers import conv2d, dropout
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import ListedChoices
from nasbench.methods import Method, MethodSpec, Observation, Problem
from nasbench.methods.bananas import Bananas
from nasbench.methods.growing.popnas.method import Popnas
from nasbench.methods.mcts import Mcts, Node
from nasbench.methods.smbo import Ridge, Smbo
from nasbench.methods.transfer.rgpe import RGPE
from research import language_figures as figures

LOSS = Metric("loss", "")
GRID = GridSpace([Categorical("a", ("x", "y", "z")), Categorical("b", (0, 1))])


def told(configuration: object, loss: float, size: float = 0.0, feasible: bool = True) -> Observation:
    return Observation(configuration, Evaluation({"loss": loss, "size": size}, 1.0), feasible)


FAILED = Evaluation({"loss": math.nan, "size": math.nan}, 1.0, "failed", "boom")

# SMBO


@pytest.mark.parametrize("n", [1, 2, 5, 40, 700])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("seen", [20, 6])
def test_the_surrogate_is_scikit_learns_ridge_regression(n: int, alpha: float, seen: int) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(n)
    x, y = rng.poisson(0.3, (n, 20)).astype(float), rng.normal(10, 3, n)
    x[:, rng.permutation(20)[seen:]] = 0.0
    ridge = Ridge(20, alpha)
    for features in x:
        ridge.add(features)
    expected = linear.Ridge(alpha=alpha).fit(x, y)
    assert ridge.weights(y) == pytest.approx(expected.coef_, rel=1e-6, abs=1e-8)


def test_smbo_proposes_the_best_predicted_of_its_candidates() -> None:
    problem = Problem(GRID, (LOSS,))
    method = Smbo(problem, np.random.default_rng(0), explore=0.0, initial=3)
    for configuration, loss in (((0, 0), 1.0), ((1, 0), 5.0), ((2, 1), 3.0)):
        method.tell(told(configuration, loss))
    weights = method._weights()
    hashed = Hashed(GRID, 256)
    predicted = {c: weights[hashed.of(c)].sum() for c in GRID}
    assert predicted[method.ask()] == pytest.approx(min(predicted.values()))


def test_smbo_explores_at_its_rate() -> None:
    method = Smbo(Problem(GRID, (LOSS,)), np.random.default_rng(0), explore=0.3, initial=1)
    method.tell(told((0, 0), 1.0))
    method.tell(told((1, 1), 2.0))
    asks = [method.ask() for _ in range(2000)]
    usual = max(set(asks), key=asks.count)
    assert np.mean([c != usual for c in asks]) == pytest.approx(0.3 * 5 / 6, abs=0.03)


def test_smbo_learns_violations_first_and_objectives_once_something_is_feasible() -> None:
    bound = Bound(Metric("size", ""), high=1.0)
    method = Smbo(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0), explore=0.0, initial=2)
    method.tell(told((0, 0), 1.0, 5.0, feasible=False))
    method.tell(told((1, 1), 1.0, 2.0, feasible=False))
    assert method.ask() == (1, 1)  # the smaller violation
    method.tell(Observation((2, 0), FAILED, False))
    method.tell(told((2, 1), 7.0, 0.5))
    method.tell(told((0, 1), 3.0, 0.5))
    assert np.isfinite(method._weights()).all()
    assert method.ask() == (0, 1)


def test_drift_of_the_surrogates_updates_is_gone_after_every_500_observations() -> None:
    """What rounding does in the long run is done here at once: the inverse is made wrong by a share of 1e-3."""
    rng = np.random.default_rng(0)
    x, y = rng.poisson(0.3, (1500, 12)).astype(float), rng.normal(10, 3, 1500)
    ridge, exact = Ridge(12, 1.0), set()
    for n, features in enumerate(x, 1):
        ridge.add(features)
        if n in (300, 499, 500, 501, 700, 999, 1000, 1499, 1500):
            centred, targets = x[:n] - x[:n].mean(axis=0), y[:n] - y[:n].mean()
            expected = np.linalg.solve(centred.T @ centred + np.eye(12), centred.T @ targets)
            if ridge.weights(y[:n]) == pytest.approx(expected, rel=1e-8):
                exact.add(n)
        if n in (300, 700, 1100):
            ridge._inverse *= 1.001
    assert exact == {300, 500, 501, 700, 1000, 1500}


@pytest.mark.parametrize("violations", [(), (5.0, 2.0)])
def test_to_smbo_all_infeasible_observations_are_as_bad_as_the_worst_feasible_one_of_today(
    violations: tuple[float, ...],
) -> None:
    """Whatever they violated, failures too, and however good the first feasible one was."""
    bound = Bound(Metric("size", ""), high=1.0)
    method, plain = (Smbo(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0)) for _ in range(2))
    before = [(0, 0), (1, 1)]
    for configuration, size in zip(before, violations, strict=False):
        method.tell(told(configuration, 0.5, size, feasible=False))
    method.tell(Observation((2, 0), FAILED, False))
    for configuration in (*before[: len(violations)], (2, 0)):
        plain.tell(told(configuration, 7.0))
    for one in (method, plain):
        one.tell(told((2, 1), 3.0))
        one.tell(told((0, 1), 7.0))
    assert method._weights() == pytest.approx(plain._weights())
    assert method._ridge.n == plain._ridge.n


def test_smbo_predicts_violations_until_something_is_feasible() -> None:
    """As a search without a constraint would predict them if they were losses; a failure is as bad as the largest."""
    bound = Bound(Metric("size", ""), high=1.0)
    method, plain = (
        Smbo(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0)),
        Smbo(Problem(GRID, (LOSS,)), np.random.default_rng(0)),
    )
    method.tell(Observation((2, 0), FAILED, False))
    plain.tell(told((2, 0), 4.0))
    for configuration, loss, size in (((0, 0), 0.1, 3.0), ((1, 1), 9.0, 5.0), ((2, 1), 0.2, 1.5)):
        method.tell(told(configuration, loss, size, feasible=False))
        plain.tell(told(configuration, size - 1))
    assert method._weights() == pytest.approx(plain._weights())


@pytest.mark.parametrize(("initial", "random"), [(0, 1), (1, 1), (4, 4)])
def test_smbo_draws_at_random_until_enough_is_told(initial: int, random: int, monkeypatch: pytest.MonkeyPatch) -> None:
    method = Smbo(Problem(GRID, (LOSS,)), np.random.default_rng(0), explore=0.0, initial=initial)
    drawn: list[int] = []
    plain = method._hashed.draw
    monkeypatch.setattr(method._hashed, "draw", lambda *given: (drawn.append(len(asked)), plain(*given))[1])
    asked: list[Configuration] = []
    for number in range(7):
        method.ask()
        asked.append(method.ask())
        method.tell(told(asked[-1], float(number)))
    assert sorted(set(drawn)) == list(range(random, 7))


# MCTS


def test_to_smbo_an_infeasible_observation_is_as_bad_as_the_worst_feasible_one() -> None:
    """However good its own objective: else the surrogate leads to where nothing is allowed."""
    bound = Bound(Metric("size", ""), high=1.0)
    tempting = [told((2, 1), 0.01, 5.0, feasible=False), Observation((2, 1), FAILED, False)]
    for bad in tempting:
        method, plain = (Smbo(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0)) for _ in range(2))
        for one in (method, plain):
            for configuration, loss in (((0, 0), 3.0), ((1, 0), 7.0), ((1, 1), 5.0)):
                one.tell(told(configuration, loss, 0.5))
        method.tell(bad)
        plain.tell(told((2, 1), 7.0, 0.5))
        assert method._weights() == pytest.approx(plain._weights())


def test_uct_equals_a_computation_by_hand() -> None:
    """Two choices, a of 3 and b of 2 values. After every a was tried once the bound decides."""
    method = Mcts(Problem(GRID, (LOSS,)), np.random.default_rng(0), exploration=0.5)
    losses = {0: 3.0, 1: 1.0, 2: 2.0}
    order = []
    for _ in range(3):
        configuration = method.ask()
        order.append(configuration[0])
        method.tell(told(configuration, losses[configuration[0]]))
    assert sorted(order) == [0, 1, 2]
    seen: list[float] = []
    rewards = {}
    for a in order:  # the share of earlier observations that are worse
        rewards[a] = 0.5 if not seen else sum(loss > losses[a] for loss in seen) / len(seen)
        seen.append(losses[a])
    bounds = {a: rewards[a] + 0.5 * math.sqrt(2 * math.log(3) / 1) for a in range(3)}
    root = method._root
    assert {a: root.children[a].bound(3, 0.5) for a in range(3)} == pytest.approx(bounds)
    best = max(bounds, key=bounds.__getitem__)
    assert method.ask()[0] == best
    assert [root.visits, root.children[best].visits, root.children[best].told] == [4, 2, 1]
    after = {a: rewards[a] + 0.5 * math.sqrt(2 * math.log(4) / (2 if a == best else 1)) for a in range(3)}
    assert method.ask()[0] == max(after, key=after.__getitem__)  # the pending visit counts


def test_to_smbo_failures_before_any_violation_are_no_better_than_what_violates_later() -> None:
    """Three failures at one value of a, then violations at the others: the model must not lead back to the failures."""
    space = GridSpace([Categorical("a", ("x", "y", "z")), Categorical("b", tuple(range(40)))])
    metrics = (Metric("loss", ""), Metric("size", ""))
    bound = Bound(metrics[1], high=1.0)
    back = 0
    for seed in range(20):
        method = MethodSpec.parse("smbo:explore=0,initial=1").build(
            Problem(space, metrics[:1], (bound,)), np.random.default_rng(seed)
        )
        for number in range(9):
            violating = Evaluation({"loss": 1.0, "size": 2.0}, 1.0)
            configuration = (0 if number < 3 else 1 + number % 2, number)
            method.tell(Observation(configuration, FAILED if number < 3 else violating, False))
        back += method.ask()[0] == 0  # type: ignore[index]
    assert back < 15


def test_rewards_are_ranks_with_ties_half_and_infeasible_below() -> None:
    bound = Bound(Metric("size", ""), high=1.0)
    method = Mcts(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0))
    rewards = []
    for loss, size in ((2.0, 0.5), (2.0, 0.5), (1.0, 0.5), (0.0, 5.0), (3.0, 0.5)):
        configuration = method.ask()
        before = method._root.reward
        method.tell(told(configuration, loss, size, feasible=size <= 1))
        rewards.append(method._root.reward - before)
    assert rewards == pytest.approx([0.5, 0.5, 1.0, 0.0, 0.25])
    configuration = method.ask()
    method.tell(Observation(configuration, FAILED, False))
    assert method._root.told == 6


def test_bisection_halves_long_lists_and_reaches_every_value() -> None:
    space = GridSpace([Categorical("a", tuple(range(7)))])
    method = Mcts(Problem(space, (LOSS,)), np.random.default_rng(0), bisection=True, exploration=2.0)
    found = set()
    for _ in range(60):
        configuration = method.ask()
        found.add(configuration)
        method.tell(told(configuration, float(configuration[0])))
    assert found == {(i,) for i in range(7)}

    def fan(node: Node) -> int:
        return max([len(node.children), *map(fan, node.children.values())])

    assert fan(method._root) == 2


@pytest.mark.parametrize("bisection", [False, True])
def test_mcts_asks_for_a_configuration_at_most_about_the_root_of_all_visits(bisection: bool) -> None:
    """Greedy bounds alone would ask for the best configuration again and again."""
    space = GridSpace([Categorical(name, tuple(range(n))) for name, n in (("a", 4), ("b", 3), ("c", 2))])
    method = Mcts(Problem(space, (LOSS,)), np.random.default_rng(0), exploration=0.0, bisection=bisection)
    asked: Counter[Configuration] = Counter()
    for visits in range(1, 200):
        configuration = method.ask()
        asked[configuration] += 1
        method.tell(told(configuration, float(sum(configuration))))
        # rollouts may meet a configuration that the tree has no node for yet: three more at most
        assert asked[configuration] <= math.isqrt(visits) + 3


def test_mcts_goes_on_where_everything_has_been_asked_for_often_enough() -> None:
    method = Mcts(Problem(GridSpace([Categorical("a", (1, 2))]), (LOSS,)), np.random.default_rng(0))
    asked = []
    for _ in range(30):
        asked.append(method.ask())
        method.tell(told(asked[-1], float(asked[-1][0])))
    assert asked.count((0,)) > asked.count((1,)) >= 1


@pytest.mark.parametrize("bisection", [False, True])
def test_the_first_proposal_of_mcts_is_distributed_as_a_random_draw(bisection: bool) -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], *[[2, i, j] for i in range(3) for j in range(3)]])  # small branches first
    space = ListedChoices([Ordinal(name, (1, 2, 3)) for name in "abc"], points)
    seeds = [np.random.default_rng(seed) for seed in range(1100)]
    rows = [Mcts(Problem(space, (LOSS,)), rng, bisection=bisection).ask() for rng in seeds]
    assert stats.chisquare(np.bincount(rows, minlength=space.size)).pvalue > 0.01


def test_mcts_needs_choices_it_can_count() -> None:
    continuous = Problem(ParameterSpace([Float("x", 0, 1)]), (LOSS,))
    assert MethodSpec("mcts").misfit(continuous) == (
        "needs a space whose configurations are made by one choice after the other, each among finitely many"
    )
    assert MethodSpec("smbo").misfit(continuous) == ""


# Both


@pytest.mark.parametrize(
    "name", ["smbo", "mcts", "mcts:bisection=true", "evolution", "random", "tpe:variant=paper", "c-tpe"]
)
@pytest.mark.parametrize("write", [figures.figure_4, figures.figure_19_1, figures.figure_11], ids=lambda f: f.__name__)
def test_methods_search_programs(name: str, write: object) -> None:
    """The loss counts layers of 64 filters: there are far better architectures than a random one.

    (`tpe` itself and `mcts` bar what they have evaluated often enough: in a small space their later proposals are not
    their best.)
    """
    space = Program(write)  # type: ignore[arg-type]
    bound = Bound(Metric("size", ""), high=12.0)
    method = MethodSpec.parse(name).build(Problem(space, (LOSS,), (bound,)), np.random.default_rng(0))
    pending = [method.ask() for _ in range(3)]
    losses = []
    for _ in range(120):
        configuration = pending.pop(0)
        space.check(configuration)
        values = [v for _, v in configuration]
        loss, length = float(-sum(v in (64, 1) for v in values)), float(len(values))
        losses.append(loss)
        method.tell(told(configuration, loss, length, feasible=bound.holds(length)))
        pending.append(method.ask())
    assert len(set(losses)) > 1
    if name != "random":
        later = losses[20:50] if name.startswith("mcts") else losses[-40:]
        assert np.mean(later) < np.mean(losses[:20])


@pytest.mark.parametrize("name", ["smbo", "mcts"])
def test_the_same_seed_asks_the_same(name: str) -> None:
    def asks() -> list[object]:
        method = MethodSpec.parse(name).build(Problem(GRID, (LOSS,)), np.random.default_rng(3))
        found = []
        for i in range(30):
            found.append(method.ask())
            method.tell(told(found[-1], float(i % 4)))
        return found

    assert asks() == asks()


def test_smbo_sees_numbers_in_bins() -> None:
    space = ParameterSpace([Float("x", 1e-3, 1.0, log=True), Integer("n", 1, 16)])
    method = Smbo(Problem(space, (LOSS,)), np.random.default_rng(0), initial=5)
    for _ in range(60):
        configuration = method.ask()
        method.tell(told(configuration, space.values(configuration)["n"]))
    assert space.values(min((method.ask() for _ in range(5)), key=lambda c: c[1]))["n"] <= 3


def test_smbo_mcts_and_evolution_beat_random_search_on_nas_bench_201() -> None:
    """The mean regret at 256 evaluations over 20 seeds: none is near random search's."""
    benchmark = open_benchmark("nb201-cifar10")

    def regret(name: str) -> float:
        found = []
        for seed in range(20):
            method = MethodSpec.parse(name).build(Problem.of(benchmark), np.random.default_rng(seed))
            best = math.inf
            for i in range(256):
                configuration = method.ask()
                evaluation = benchmark.evaluate(configuration, seed * 1000 + i)
                method.tell(Observation(configuration, evaluation, True))
                best = min(best, evaluation.metrics[benchmark.objective.name])
            found.append(best)
        return float(np.mean(found))

    baseline = regret("random")
    for name in ("smbo", "mcts", "evolution"):
        assert regret(name) < baseline - 0.2


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("smbo:candidates=0", "candidates must lie in"),
        ("smbo:explore=2", r"explore must lie in \[0, 1\]"),
        ("smbo:alpha=0", "alpha must be positive"),
        ("mcts:exploration=-1", "exploration must be 0 or more"),
    ],
)
def test_options_out_of_range_are_said(spec: str, sentence: str) -> None:
    with pytest.raises(Exception, match=sentence):
        MethodSpec.parse(spec).build(Problem(GRID, (LOSS,)), np.random.default_rng(0))


def test_numbers_of_programs_are_binned_too() -> None:
    def write() -> Part:
        return siso_sequential([conv2d(integer(1, 1000)), dropout(real(0.0, 1.0))])

    space = Program(write)
    method = Smbo(Problem(space, (LOSS,)), np.random.default_rng(0), initial=10)
    losses = []
    for _ in range(80):
        configuration = method.ask()
        filters, rate = (v for _, v in sorted(configuration))
        losses.append(filters / 1000 + rate)
        method.tell(told(configuration, losses[-1]))
    assert np.mean(losses[40:]) < 0.6


def test_a_method_that_cannot_see_a_program_is_refused_beforehand() -> None:
    with pytest.raises(Exception, match="real number"):
        Mcts(Problem(Program(lambda: dropout(real(0.0, 1.0))), (LOSS,)), np.random.default_rng(0)).ask()


def test_a_shared_choice_is_one_coordinate_for_tpe() -> None:
    def write() -> Part:
        h = D([8, 16], name="filters")
        return siso_sequential([conv2d(h), siso_optional(lambda: conv2d(h), D([0, 1])), dropout(D([0.1, 0.2]))])

    assert [h.name for h in Program(write).as_flat().hyperparameters].count("filters") == 1


def latency_known_of_most(name: str, count: int) -> Method:
    """A search under a constraint whose metric every fourth evaluation lacks."""
    benchmark = open_benchmark("nb201-cifar10")
    bounds = abilities.bounds(benchmark, parse_constraints(["latency@0.3"]))
    method = MethodSpec.parse(name).build(Problem.of(benchmark, bounds), np.random.default_rng(0))
    for number in range(count):
        configuration = method.ask()
        values = dict(benchmark.evaluate(configuration, number).metrics)
        if number % 4 == 0:
            values["latency"] = math.nan
        method.tell(Observation(configuration, Evaluation(values, 1.0), bounds[0].holds(values["latency"])))
    return method


def test_rgpe_learns_a_constraint_that_some_evaluations_lack_from_the_others() -> None:
    """Without a stand-in one NaN makes the worth of every candidate NaN, and proposals are random draws."""
    method = latency_known_of_most("rgpe:known=20,candidates=60", 12)
    assert isinstance(method, RGPE)
    space, rng = open_benchmark("nb201-cifar10").space, np.random.default_rng(1)
    worth = method._acquisition(method._rows([space.sample(rng) for _ in range(20)]), method._told)
    assert np.isfinite(worth).all()
    assert len(set(worth.tolist())) > 10


def test_bananas_ranks_candidates_where_some_evaluations_lack_a_constraint() -> None:
    """Without a stand-in one NaN makes every prediction NaN, and candidates stay in the order of their drawing."""
    method = latency_known_of_most("bananas:initial=12,ensemble=1", 12)
    assert isinstance(method, Bananas)
    candidates = method._candidates()
    assert sorted(ranked := method._ranked(candidates)) == list(range(len(candidates)))
    assert ranked != sorted(ranked)


def test_to_smbo_a_failure_before_anything_is_feasible_is_as_bad_as_the_largest_violation() -> None:
    bound = Bound(Metric("size", ""), high=1.0)
    method, plain = (Smbo(Problem(GRID, (LOSS,), (bound,)), np.random.default_rng(0)) for _ in range(2))
    for one in (method, plain):
        one.tell(told((0, 0), 1.0, 5.0, feasible=False))
        one.tell(told((1, 0), 1.0, 2.0, feasible=False))
    method.tell(Observation((2, 1), FAILED, False))
    plain.tell(told((2, 1), 1.0, 5.0, feasible=False))
    assert method._weights() == pytest.approx(plain._weights())


@pytest.mark.parametrize("method", ["local:initial=3", "popnas:first=3,children=1,exploration=1"])
def test_the_first_row_of_a_list_is_drawn_like_any_other(method: str) -> None:
    """A configuration of a list is the number of its row, and 0 is one, too."""
    space = ListedChoices([Ordinal("a", (1, 2, 3))], np.array([[0], [1], [2]]))
    first: Counter[int] = Counter()
    for seed in range(120):
        search = MethodSpec.parse(method).build(Problem(space, (LOSS,)), np.random.default_rng(seed))
        asked = [search.ask() for _ in range(3)]
        assert sorted(asked) == [0, 1, 2]
        first[asked[0]] += 1
    assert min(first.values()) > 20


def test_a_worker_without_a_member_is_given_the_first_row_of_a_list_too() -> None:
    space = ListedChoices([Ordinal("a", (1, 2, 3))], np.array([[0], [1], [2]]))
    search = MethodSpec.parse("popnas").build(Problem(space, (LOSS,)), np.random.default_rng(0))
    assert isinstance(search, Popnas)
    search._pending = [1, 2]
    assert {search._random() for _ in range(20)} == {0}


@pytest.mark.slow
def test_buckets_cost_memory_when_they_are_used() -> None:
    """A matrix over all of these would have 32 GiB."""
    benchmark = open_benchmark("nb201-cifar10")
    method = MethodSpec.parse("smbo:buckets=65536,initial=2").build(Problem.of(benchmark), np.random.default_rng(0))
    for seed in range(520):  # the inverse is computed from scratch after 500
        configuration = method.ask()
        method.tell(Observation(configuration, benchmark.evaluate(configuration, seed), True))

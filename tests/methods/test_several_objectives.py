"""Methods for several objectives, held against other implementations, enumeration and their papers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from nasbench.benchmarks import Bound, Evaluation, Fidelity, Level, Metric, UsageError
from nasbench.benchmarks.spaces import Categorical, Configuration, Float, GridSpace, Ordinal, ParameterSpace
from nasbench.methods import METHODS, About, Method, MethodSpec, Observation, Problem, Proposal, parego
from nasbench.methods.dominance import chosen_for_volume, contributions, crowding, places, ranks
from nasbench.methods.fidelity import mo_asha
from nasbench.methods.fidelity.mo_asha import epsilon_net, order
from nasbench.methods.local_search import ParetoLocalSearch
from nasbench.methods.parego import drawn_weights, scalars
from nasbench.methods.tpe import compiled
from nasbench.methods.tpe.dimensions import Dimensions
from nasbench.methods.tpe.pareto import ParetoSampler
from nasbench.methods.tpe.sampler import Rules, Sampler

F, G, SIZE = Metric("f", ""), Metric("g", ""), Metric("size", "")
GRID = GridSpace([Ordinal("a", tuple(range(12))), Ordinal("b", tuple(range(12))), Categorical("c", ("x", "y"))])


def told(configuration: Configuration, values: dict[str, float], bounds: Sequence[Bound] = ()) -> Observation:
    feasible = all(bound.holds(values[bound.metric.name]) for bound in bounds)
    return Observation(configuration, Evaluation(values, 1.0), feasible)


def searched(method: Method, count: int, bounds: Sequence[Bound] = ()) -> list[Observation]:
    """A search on two conflicting distances in the grid, of which the first also is a size."""
    made = []
    for _ in range(count):
        a, b, c = configuration = method.ask()
        f, g = (a - 2) ** 2 + b + c, (a - 9) ** 2 + b
        made.append(told(configuration, {"f": float(f), "g": float(g), "size": float(a)}, bounds))
        method.tell(made[-1])
    return made


def points(n: int, m: int, seed: int, levels: int = 6) -> NDArray[np.float64]:
    """Points with many ties and duplicates."""
    return np.random.default_rng(seed).integers(0, levels, (n, m)).astype(float)


@pytest.mark.parametrize("m", [2, 3])
def test_ranks_are_optunas(m: int) -> None:
    multi = pytest.importorskip("optuna.study._multi_objective")
    for seed in range(20):
        losses = points(30, m, seed)
        assert np.array_equal(ranks(losses), multi._fast_non_domination_rank(losses))


def test_crowding_distances_are_optunas() -> None:
    nsga2 = pytest.importorskip("optuna.samplers.nsgaii._elite_population_selection_strategy")
    optuna = pytest.importorskip("optuna")
    for seed in range(10):
        losses = np.unique(np.random.default_rng(seed).random((9, 2)), axis=0)
        trials = [optuna.trial.create_trial(values=list(row), state=optuna.trial.TrialState.COMPLETE) for row in losses]
        for number, trial in enumerate(trials):
            trial.number = number
        theirs = nsga2._calc_crowding_distance(trials)
        assert np.allclose(crowding(losses), [theirs[n] for n in range(len(losses))])


def volume(losses: NDArray[np.float64], reference: float) -> float:
    """Hypervolume by inclusion and exclusion."""
    subsets = itertools.chain.from_iterable(itertools.combinations(losses, k + 1) for k in range(len(losses)))
    return math.fsum((-1) ** (len(s) + 1) * float(np.prod(reference - np.max(s, axis=0))) for s in subsets)


@pytest.mark.parametrize("m", [2, 3])
def test_contributions_and_greedy_choice_equal_enumeration(m: int) -> None:
    for seed in range(5):
        losses = np.unique(np.random.default_rng(seed).random((7, m)), axis=0)
        scaled = (losses - losses.min(axis=0)) / np.ptp(losses, axis=0)
        best = np.flatnonzero(ranks(losses) == 0)
        alone = np.zeros(len(losses))
        for i in best:
            alone[i] = volume(scaled[best], 1.1) - volume(scaled[best[best != i]], 1.1)
        assert np.allclose(contributions(losses), alone / alone.max(), atol=1e-9)
        chosen: list[int] = []
        while len(chosen) < 4:
            left = [i for i in range(len(scaled)) if i not in chosen]
            chosen.append(max(left, key=lambda i: volume(scaled[[*chosen, i]], 1.1)))
        assert chosen_for_volume(losses, np.ones(len(losses), bool), 4) == chosen
        counts = np.arange(len(losses)) != chosen[1]
        assert chosen_for_volume(losses, counts, 3) == chosen  # the second does not count


def test_first_of_equal_points_contributes_what_both_do() -> None:
    assert contributions(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])).tolist() == [1.0, 0.0, 1.0]


def test_places_are_those_of_constrained_dominance() -> None:
    violations = [0, 0, 0.5, 0, 0.2, math.inf]
    losses = [(1.0, 2.0), (2.0, 1.0), (0.0, 0.0), (3.0, 3.0), (9.0, 9.0), (math.inf, math.inf)]
    order = sorted(range(6), key=places(violations, losses).__getitem__)
    assert set(order[:2]) == {0, 1}
    assert order[2:] == [3, 4, 2, 5]


def test_evolution_takes_its_parent_from_the_first_rank_and_the_least_crowded() -> None:
    method = MethodSpec.parse("evolution:population=6,tournament=100").build(
        Problem(GRID, (F, G)), np.random.default_rng(0)
    )
    for _ in range(6):
        method.ask()
    for a, (f, g) in enumerate([(0.0, 9.0), (1.0, 8.0), (1.2, 7.9), (9.0, 0.0), (9.0, 9.0), (1.1, 7.95)]):
        method.tell(told((a, 0, 0), {"f": f, "g": g}))
    children = [method.ask() for _ in range(60)]
    assert {c[0] for c in children if c[1] or c[2]} <= {0, 3}  # the ends of the first rank; only b or c is mutated
    assert any(c[1] or c[2] for c in children)


def test_pareto_local_search_explores_every_member_and_ends_at_a_local_optimum_set() -> None:
    method = MethodSpec.parse("local:initial=1").build(Problem(GRID, (F, G)), np.random.default_rng(3))
    assert isinstance(method, ParetoLocalSearch)
    seen = searched(method, 80)
    everything = {(o.evaluation.metrics["f"], o.evaluation.metrics["g"]) for o in seen}
    exact = {((a - 2) ** 2, (a - 9) ** 2) for a in range(2, 10)}  # b = c = 0 is best for both
    assert exact <= everything
    assert len({o.configuration for o in seen}) == 80


def test_pareto_local_search_descends_the_violation_before_anything_is_feasible() -> None:
    bound = Bound(SIZE, high=0.5)
    method = MethodSpec.parse("local:initial=1").build(Problem(GRID, (F, G), (bound,)), np.random.default_rng(1))
    seen = searched(method, 60, [bound])
    assert seen[0].evaluation.metrics["size"] > 3
    assert any(o.feasible for o in seen)


@pytest.mark.parametrize("needed", [1, 3, 6])
def test_c_motpe_splits_by_rank_and_cuts_the_last_by_hypervolume(needed: int) -> None:
    rng = np.random.default_rng(needed)
    losses, feasible = rng.random((24, 2)), rng.random(24) < 0.6
    sampler = ParetoSampler(GRID.as_flat(), [0.5], Rules(24))
    for i, (f, g) in enumerate(losses.tolist()):
        sampler.observe_losses((i % 12, i // 12, 0), (f, g), [0.0 if feasible[i] else 1.0], bool(feasible[i]))
    good = np.flatnonzero(sampler.groups(needed)[0] == 1)
    assert feasible[good].sum() == needed
    rank = ranks(losses)
    last = rank[good].max()
    assert set(np.flatnonzero(rank < last)) <= set(good)
    cut = np.flatnonzero(rank == last)
    taken = [cut[i] for i in chosen_for_volume(losses[cut], np.ones(len(cut), bool), len(cut))]
    assert set(good[rank[good] == last]) == set(taken[: int((rank[good] == last).sum())])
    weights = sampler.weights(sampler.groups(needed))
    assert np.allclose(weights, np.maximum(contributions(losses[good]), 1e-12))
    assert weights.max() == 1


def test_c_motpe_without_enough_feasible_observations_uses_the_constraints_alone() -> None:
    sampler = ParetoSampler(GRID.as_flat(), [0.5], Rules(24))
    for i in range(6):
        sampler.observe_losses((i, 0, 0), (float(i), -float(i)), [1.0], False)
    assert set(sampler.groups(1)[0].tolist()) == {1}


@pytest.mark.slow
def test_weighted_densities_are_mixtures_with_these_weights() -> None:
    dims = Dimensions(GRID.as_flat().hyperparameters, GRID.as_flat().conditions)
    sampler = Sampler(GRID.as_flat(), [], Rules(24))
    for configuration in ((1, 2, 0), (7, 3, 1), (4, 9, 0)):
        sampler.observe(configuration, 0.0, [], True)
    levels, places_, rows = sampler._levels[:, :3], sampler._points[:, :3], np.arange(3)
    kernels = compiled.fit(dims.packed, levels, places_, rows)
    everything = np.array(list(itertools.product(range(12), range(12), range(2))), np.int32).T.copy()
    nowhere = np.full(everything.shape, np.nan)

    def density(members: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        codes = compiled.block_codes(dims.packed.sizes, dims.packed.blocks, levels)
        described = compiled.describe(dims.packed, everything, nowhere)
        log = compiled.log_density(dims.packed, codes, places_, members, kernels, described, weights)
        return np.asarray(np.exp(log))

    prior = density(rows[[0]], np.zeros(1))
    single = [2 * density(rows[[i]], np.zeros(0)) - prior for i in range(3)]
    weights = np.array([1.0, 0.25, 0.5])
    expected = (np.tensordot(weights, single, 1) + prior) / (weights.sum() + 1)
    assert np.allclose(density(rows, weights), expected, rtol=1e-9)
    assert density(rows, weights).sum() == pytest.approx(1)
    assert np.array_equal(density(rows, np.ones(3)), density(rows, np.zeros(0)))
    drawn = np.zeros((3, 40_000), np.int32), np.full((3, 40_000), np.nan)
    compiled.draw(dims.packed, levels, places_, rows, kernels, True, np.random.default_rng(0), drawn, weights)
    shares = np.bincount(drawn[0][0] * 24 + drawn[0][1] * 2 + drawn[0][2], minlength=288) / 40_000
    assert np.abs(shares - expected).sum() < 0.1
    assert np.abs(shares - density(rows, np.zeros(0))).sum() > 0.2


@pytest.mark.slow
def test_only_the_objective_is_scored_with_weights() -> None:
    """Three good observations and one bad one of the objective; the constraint is violated by the last alone."""
    sampler = Sampler(GRID.as_flat(), [0.5], Rules(24))
    for i, configuration in enumerate([(1, 2, 0), (7, 3, 1), (4, 9, 0), (10, 10, 1)]):
        sampler.observe(configuration, 0.0, [float(i == 3)], i < 3)
    groups = np.array([[1, 1, 1, 0], [1, 1, 1, 0]], np.int8)
    at = np.array([[1, 7, 4], [2, 3, 9], [0, 1, 0]], np.int32)

    def scored(rows: NDArray[np.int8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        dims, nowhere = sampler._dimensions.packed, np.full(at.shape, np.nan)
        levels, points = sampler._levels[:, :4], sampler._points[:, :4]
        return np.asarray(compiled.acquisition(dims, levels, points, rows, True, at, nowhere, weights))

    weights, equal = np.array([1.0, 0.01, 0.01]), np.zeros(0)
    gain = scored(groups[:1], weights) - scored(groups[:1], equal)
    assert gain[0] > 0 > gain[1:].max()
    assert np.allclose(scored(groups, weights) - scored(groups, equal), gain)


def test_candidates_are_drawn_by_the_weights_of_the_objective() -> None:
    class Weighted(Sampler):
        def weights(self, groups: NDArray[np.int8]) -> NDArray[np.float64]:
            return np.array([30.0, 1e-9, 1e-9])

    def near(kind: type[Sampler]) -> int:
        """How many of 200 proposals, each the only candidate drawn, lie near the first of three good observations."""
        sampler = kind(GRID.as_flat(), [], Rules(1))
        for i, configuration in enumerate([(1, 1, 0), (10, 10, 1), (10, 1, 1)]):
            sampler.observe(configuration, float(i), [], True)
        rng = np.random.default_rng(0)
        return sum(max(a, b) < 5 for a, b, _ in (sampler.suggest(3, 0, rng) for _ in range(200)))

    assert near(Weighted) > 90
    assert near(Sampler) < 60


def test_c_motpe_finds_more_of_a_constrained_front_than_random_search() -> None:
    bound = Bound(SIZE, high=5.0)
    front = {((a - 2) ** 2, (a - 9) ** 2) for a in range(2, 6)}

    def found(name: str, seed: int) -> int:
        problem = Problem(GRID, (F, G), (bound,))
        seen = searched(MethodSpec.parse(name).build(problem, np.random.default_rng(seed)), 80, [bound])
        return len(front & {(o.evaluation.metrics["f"], o.evaluation.metrics["g"]) for o in seen if o.feasible})

    assert sum(found("c-motpe", s) for s in range(5)) > sum(found("random", s) for s in range(5)) + 5


def test_scalars_are_the_augmented_tchebycheff_function() -> None:
    losses = [(0.0, 10.0), (4.0, 0.0), (2.0, 5.0), (math.inf, math.inf)]
    values = scalars(losses, (0.3, 0.7))
    assert values[:3] == pytest.approx([0.7 + 0.05 * 0.7, 0.3 + 0.05 * 0.3, 0.35 + 0.05 * 0.5])
    assert math.isnan(values[3])


@pytest.mark.parametrize(("objectives", "steps", "count"), [(2, 10, 11), (3, 4, 15)])
def test_weights_are_drawn_uniformly_from_the_lattice(objectives: int, steps: int, count: int) -> None:
    rng = np.random.default_rng(0)
    drawn = [drawn_weights(objectives, steps, rng) for _ in range(3000)]
    assert all(sum(weights) == pytest.approx(1) for weights in drawn)
    counts = np.unique(np.round(drawn, 9), axis=0, return_counts=True)[1]
    assert len(counts) == count
    assert counts.min() > 3000 / count / 2


def test_parego_tells_its_method_scalars_and_constraints_and_never_the_objectives() -> None:
    seen: list[dict[str, float]] = []

    class Spy(Method):
        about = About(learns_from_all=True)

        def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
            assert [metric.name for metric in problem.objectives] == ["scalarised"]
            self._space, self._rng = problem.space, rng

        def ask(self) -> Configuration:
            return self._space.sample(self._rng)

        def tell(self, observation: Observation) -> None:
            seen.append(dict(observation.evaluation.metrics))

    bound = Bound(SIZE, high=5.0)
    with METHODS.temporarily("spy", Spy):
        method = MethodSpec.parse("parego:by=spy,initial=2").build(
            Problem(GRID, (F, G), (bound,)), np.random.default_rng(0)
        )
        searched(method, 4, [bound])
    assert len(seen) == 2 + 3
    assert all(list(metrics) == ["scalarised", "size"] for metrics in seen)


class Listener(Method):
    """Keeps what it is told."""

    about = About(learns_from_all=True)
    heard: list[Observation]

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._space, self._rng = problem.space, rng
        Listener.heard = []

    def ask(self) -> Configuration:
        return self._space.sample(self._rng)

    def tell(self, observation: Observation) -> None:
        Listener.heard.append(observation)


@pytest.mark.parametrize(("objectives", "steps"), [(2, 10), (3, 4)])
def test_parego_draws_new_weights_before_each_proposal_in_tenths_of_two_objectives_and_quarters_of_three(
    objectives: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Knowles's s: 11 vectors of two weights, 15 of three."""
    drawn: list[tuple[float, ...]] = []
    monkeypatch.setattr(parego, "scalars", lambda losses, weights: (drawn.append(weights), [0.0] * len(losses))[1])
    metrics = (F, G, SIZE)[:objectives]
    with METHODS.temporarily("listener", Listener):
        method = MethodSpec.parse("parego:by=listener,initial=1").build(
            Problem(GRID, metrics), np.random.default_rng(0)
        )
        method.tell(told(method.ask(), dict.fromkeys(("f", "g", "size")[:objectives], 1.0)))
        for _ in range(300):
            method.ask()
    lattice = [w for w in itertools.product(range(steps + 1), repeat=objectives) if sum(w) == steps]
    assert len(drawn) == 300
    assert {tuple(round(steps * w, 9) for w in weights) for weights in drawn} == set(lattice)


def test_parego_passes_on_what_failed_and_begins_at_random_until_something_is_told() -> None:
    with METHODS.temporarily("listener", Listener):
        method = MethodSpec.parse("parego:by=listener,initial=2").build(Problem(GRID, (F, G)), np.random.default_rng(0))
        asked = [method.ask() for _ in range(4)]  # of four workers
        assert Listener.heard == []
        method.tell(told(asked[0], {"f": 1.0, "g": 9.0}))
        failed = Evaluation({"f": math.nan, "g": math.nan}, 5.0, "failed", "boom")
        method.tell(Observation(asked[1], failed, False))
        method.tell(told(asked[2], {"f": 3.0, "g": 4.0}))
        method.ask()
    assert [o.evaluation[1:4] for o in Listener.heard] == [(1.0, "ok", ""), (5.0, "failed", "boom"), (1.0, "ok", "")]
    values = [o.objective for o in Listener.heard]
    assert math.isnan(values[1])
    weight = values[2] / 1.05  # the third is worst in f and best in g, the first the other way round
    assert values[0] / 1.05 == pytest.approx(1 - weight)


def test_scalars_of_an_objective_that_has_not_varied_and_of_nothing_finite() -> None:
    assert scalars([(3.0, 5.0), (3.0, 7.0)], (0.4, 0.6)) == pytest.approx([0.0, 0.63])
    assert all(math.isnan(value) for value in scalars([(math.inf, math.inf)] * 2, (0.5, 0.5)))


def test_parego_refuses_methods_that_learn_from_their_own_proposals_only() -> None:
    with pytest.raises(UsageError, match=r"parego cannot search by local, .* allowed: .*c-tpe"):
        MethodSpec.parse("parego:by=local").build(Problem(GRID, (F, G)), np.random.default_rng(0))


def test_a_method_that_learns_from_all_proposes_by_its_model_at_once_when_it_is_told_enough() -> None:
    """The objective is least at a = 3, and was observed everywhere: a first proposal lies nearer to it than a draw."""
    problem = Problem(GRID, (F,))
    observations = [told((a, b, 0), {"f": float((a - 3) ** 2)}) for a in range(12) for b in (0, 6)]
    for name in ("tpe", "c-tpe", "smbo"):
        assert METHODS.get(name).about.learns_from_all
        away: dict[bool, list[int]] = {True: [], False: []}
        for seed, is_told in itertools.product(range(30), away):
            method = MethodSpec.parse(name).build(problem, np.random.default_rng(seed))
            for observation in observations if is_told else ():
                method.tell(observation)
            asked = method.ask()
            assert not isinstance(asked, Proposal)
            away[is_told].append(abs(asked[0] - 3))
        assert np.mean(away[True]) < np.mean(away[False]) / 2, name


def zdt1(x: Sequence[float]) -> tuple[float, float]:
    """ZDT1 (Zitzler, Deb and Thiele, 2000)."""
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    return x[0], g * (1 - math.sqrt(x[0] / g))


def test_nsga2_approaches_the_front_of_zdt1() -> None:
    pytest.importorskip("optuna")
    import moocore

    space = ParameterSpace([Float(f"x{i}", 0.0, 1.0) for i in range(5)])

    def share(name: str) -> float:
        method = MethodSpec.parse(name).build(Problem(space, (F, G)), np.random.default_rng(0))
        values = []
        for _ in range(400):
            configuration = method.ask()
            f, g = zdt1(list(space.values(configuration).values()))  # type: ignore[arg-type]
            values.append((f, g))
            method.tell(told(configuration, {"f": f, "g": g}))
        return float(moocore.hypervolume(values, ref=[1.1, 1.1]) / 0.8704)  # of the front (Zitzler et al., 2000)

    assert share("nsga2:population=20") > share("random") + 0.2


def test_epsilon_net_goes_on_with_the_farthest_point() -> None:
    losses = [(0.0, 10.0), (1.0, 9.0), (5.0, 4.0), (10.0, 0.0), (11.0, 11.0), (2.0, 2.0), (2.0, 2.0)]
    violations = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 1.0]
    assert order(violations, losses, 7) == [0, 3, 2, 1, 4, 6, 5]
    points = np.random.default_rng(0).random((12, 2))
    chosen = epsilon_net(points)
    places = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    assert chosen[0] == points[:, 0].argmin()
    for k in range(1, 12):
        distances = [min(np.linalg.norm(places[i] - places[j]) for j in chosen[:k]) for i in range(12)]
        assert distances[chosen[k]] == pytest.approx(max(distances[i] for i in chosen[k:]))


def test_mo_asha_promotes_the_best_of_a_rung_and_each_once() -> None:
    fidelity = Fidelity("epochs", "1 epoch", (1, 3, 9))
    problem = Problem(GRID, (F, G), fidelity=fidelity)
    method = MethodSpec("mo-asha").build(problem, np.random.default_rng(0))
    asked = [Proposal.of(method.ask(), fidelity.highest) for _ in range(6)]
    assert [(p.level["epochs"], p.continues) for p in asked] == [(1, None)] * 6
    for trial, losses in enumerate([(8.0, 8.0), (0.0, 4.0), (5.0, 5.0), (4.0, 0.0), (6.0, 6.0), (7.0, 7.0)]):
        values = dict(zip(("f", "g"), losses, strict=True))
        evaluation = Evaluation(values, 1.0)
        method.tell(Observation(asked[trial].configuration, evaluation, True, asked[trial].level, trial))
    further = [Proposal.of(method.ask(), fidelity.highest) for _ in range(3)]
    assert [(p.level["epochs"], p.continues) for p in further] == [(3, 1), (3, 3), (1, None)]
    assert further[0].configuration == asked[1].configuration


def test_ax_is_told_all_objectives_and_constraints_and_finds_better_fronts_than_its_sobol_points() -> None:
    pytest.importorskip("ax")
    bounds = (Bound(SIZE, high=8.0),)
    problem = Problem(GRID, (F, Metric("g", "s")), bounds)
    method = METHODS.get("ax-nehvi")(problem, np.random.default_rng(0), initial=6)
    made = searched(method, 14, bounds)

    def volume(observations: list[Observation]) -> float:
        values = [o.evaluation.metrics for o in observations if o.feasible]
        covered = [(f, g) for f in range(120) for g in range(120) if any(v["f"] <= f and v["g"] <= g for v in values)]
        return len(covered)

    assert volume(made) > volume(made[:6])
    config = method._opened_client()._experiment.optimization_config  # type: ignore[attr-defined]
    assert sorted(config.objective.metric_names) == ["objective0", "objective1"]
    assert [str(constraint.metric_names[0]) for constraint in config.outcome_constraints] == ["c0"]
    losses = problem.losses(made[0])
    assert losses[1] == math.log10(made[0].evaluation.metrics["g"])  # seconds are minimised by their logarithm
    seen = method._opened_client()._experiment.lookup_data().df  # type: ignore[attr-defined]
    first = seen[seen["trial_index"] == 0].set_index("metric_name")["mean"]
    assert (first["objective0"], first["objective1"]) == pytest.approx(losses)


def test_pareto_local_search_waits_for_pending_neighbours_before_it_starts_anew() -> None:
    grid = GridSpace([Ordinal("a", (1, 2)), Ordinal("b", (1, 2))])
    method = MethodSpec.parse("local:initial=1").build(Problem(grid, (F, G)), np.random.default_rng(0))
    assert isinstance(method, ParetoLocalSearch)
    start = method.ask()
    method.tell(told(start, {"f": 1.0, "g": 1.0}))
    pending = [method.ask() for _ in range(3)]  # both neighbours, and one at random for a third worker
    for configuration in pending:
        method.tell(told(configuration, {"f": 2.0, "g": 2.0}))
    assert set(method._archive) == {start}


def test_pareto_local_search_starts_anew_with_several_workers() -> None:
    """Others are always pending when a worker asks: it waits for neighbours alone, not for what is drawn meanwhile."""
    grid = GridSpace([Ordinal("a", (1, 2, 3, 4)), Ordinal("b", (1, 2, 3, 4))])
    method = MethodSpec.parse("local:initial=1").build(Problem(grid, (F, G)), np.random.default_rng(0))
    assert isinstance(method, ParetoLocalSearch)
    pending = [method.ask() for _ in range(4)]
    starts = 0
    for _ in range(40):
        before = set(method._archive)
        configuration = pending.pop(0)
        value = float(sum(configuration))  # one configuration dominates all others
        method.tell(told(configuration, {"f": value, "g": value}))
        pending.append(method.ask())
        starts += bool(before) and not method._archive
    assert starts >= 2


def test_mo_asha_orders_equal_violations_by_the_objectives_that_are_known() -> None:
    """A metric that only a whole training gives is missing below: its constraint counts as infinitely violated."""
    nan, inf = math.nan, math.inf
    losses = [(9.0 - i, 9.0 - i) for i in range(9)]
    assert order([inf] * 9, losses, 3) == [8, 7, 6]
    assert order([0.0] * 9, [(a, nan) for a, _ in losses], 3) == [8, 7, 6]
    assert order([0.0, 0.0, inf, 1.0], [(1.0, nan), (2.0, 3.0), (nan, nan), (0.0, 0.0)], 4) == [1, 0, 3, 2]
    assert order([inf, inf], [(nan, nan), (nan, nan)], 2) == [0, 1]
    assert order([0.0, 0.0], [(1.0, nan), (nan, 2.0)], 2) == [0, 1]
    assert order([3.0, 1.0, 2.0], [(0.0, 0.0)] * 3, 2) == [1, 2]


def test_mo_asha_orders_a_rung_once_per_result(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(GRID, (F, G), fidelity=Fidelity("epochs", "1 epoch", (1, 3, 9)))
    method = MethodSpec("mo-asha").build(problem, np.random.default_rng(0))
    calls: list[int] = []
    monkeypatch.setattr(mo_asha, "order", lambda *given: (calls.append(1), order(*given))[1])
    asked = Proposal.of(method.ask(), Level(epochs=9))
    method.tell(Observation(asked.configuration, Evaluation({"f": 1.0, "g": 1.0}, 1.0), True, asked.level, 0))
    for _ in range(5):
        method.ask()
    assert len(calls) == 1

"""NASBOT's process, acquisition and search, against textbook computations and scikit-learn's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nasbench.benchmarks import Evaluation, Metric, UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.spaces.cells.graph import cell_graph
from nasbench.benchmarks.spaces.graphs.networks import check
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.nasbot.candidates import Evolved, Listed, candidates_of, encoded, parents
from nasbench.methods.nasbot.families import USUAL, Weighing
from nasbench.methods.nasbot.otmann import NUS, distance, distances
from nasbench.methods.nasbot.surrogate import NetworkSurrogate
from nasbench.methods.surrogates.acquisition import expected_improvement
from nasbench.methods.surrogates.networks import (
    Hyperparameters,
    NetworkProcess,
    Observations,
    kernel,
    projected,
    sampled,
)

H = Hyperparameters(0.3, np.array([2.0, 5.0]), np.array([[1e-4] * 4, [0.5, 1.0, 2.0, 0.2]]), np.empty(0))


def cells(count: int, seed: int = 0) -> list[Any]:
    space = open_benchmark("nb201-cifar10").space
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(count)]


def between(count: int = 30) -> np.ndarray:
    """Shape (measures, cells, cells)."""
    space = open_benchmark("nb201-cifar10").space
    found = distances([encoded(space.as_graph(c)) for c in cells(count)])  # type: ignore[attr-defined]
    return found.reshape(-1, count, count)


def values(count: int = 30) -> np.ndarray:
    return np.random.default_rng(9).normal(10, 3, count)


class TestProcess:
    def test_the_kernel_is_the_papers(self) -> None:
        d = between(5)
        found = kernel(d, H)
        for i in range(5):
            for j in range(5):
                plain = 2.0 * math.exp(-sum(1e-4 * d[k, i, j] for k in range(4)))
                normalised = 5.0 * math.exp(-sum(b * d[4 + k, i, j] for k, b in enumerate([0.5, 1.0, 2.0, 0.2])))
                assert found[i, j] == pytest.approx(plain + normalised)
        assert kernel(d, H, 2.0)[0, 1] == pytest.approx(
            2.0 * math.exp(-1e-4 * d[:4, 0, 1].sum()) + 5.0 * math.exp(-(H.rates[1] * d[4:, 0, 1] ** 2).sum())
        )

    def test_posterior_and_likelihood_are_the_textbooks(self) -> None:
        """Rasmussen and Williams, equations 2.23 to 2.30, by an explicit inverse."""
        d, y = between(), values()
        gram = kernel(d, H)
        seen, new = slice(0, 20), slice(20, 30)
        noisy = gram[seen, seen] + H.noise * np.eye(20)
        inverse, centre = np.linalg.inv(noisy), np.median(y[seen])
        process = NetworkProcess(Observations(d[:, seen, seen], y[seen]), H)
        mean, deviation = process.predict(d[:, new, seen])
        assert process.clipped == 0
        assert mean == pytest.approx(centre + gram[new, seen] @ inverse @ (y[seen] - centre), rel=1e-8)
        expected = np.diag(gram[new, new] - gram[new, seen] @ inverse @ gram[seen, new])
        assert deviation**2 == pytest.approx(expected, rel=1e-8)
        likelihood = stats.multivariate_normal(np.full(20, centre), noisy).logpdf(y[seen])
        assert process.likelihood == pytest.approx(likelihood, rel=1e-8)

    def test_it_is_scikit_learns_with_the_same_matrix(self) -> None:
        gaussian_process = pytest.importorskip("sklearn.gaussian_process")
        d, y = between(), values()
        gram = kernel(d, H)

        class Given(gaussian_process.kernels.Kernel):  # type: ignore[misc]
            """Of points that are row numbers."""

            def __init__(self) -> None:
                super().__init__()

            def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
                rows, columns = X[:, 0].astype(int), (X if Y is None else Y)[:, 0].astype(int)
                return gram[np.ix_(rows, columns)]

            def diag(self, X: Any) -> Any:
                return np.diag(gram)[X[:, 0].astype(int)]

            def is_stationary(self) -> bool:
                return False

        model = gaussian_process.GaussianProcessRegressor(Given(), alpha=H.noise, optimizer=None)
        centre = np.median(y[:20])
        model.fit(np.arange(20)[:, None], y[:20] - centre)
        mean, deviation = model.predict(np.arange(20, 30)[:, None], return_std=True)
        process = NetworkProcess(Observations(d[:, :20, :20], y[:20]), H)
        ours = process.predict(d[:, 20:, :20])
        assert ours[0] == pytest.approx(mean + centre, rel=1e-8)
        assert ours[1] == pytest.approx(deviation, rel=1e-8)
        assert process.likelihood == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-8)

    def test_negative_eigenvalues_are_counted_and_set_to_zero(self) -> None:
        gram = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
        assert np.linalg.eigvalsh(gram)[0] < -0.2
        found, count = projected(gram)
        assert count == 1
        assert np.linalg.eigvalsh(found)[0] > -1e-12
        assert np.linalg.eigvalsh(found)[1:] == pytest.approx(np.linalg.eigvalsh(gram)[1:])

    @pytest.mark.parametrize("wrong", [[1.0], [], [1.0, math.inf], [math.nan, 1.0]])
    def test_too_few_or_infinite_values_are_refused(self, wrong: list[float]) -> None:
        n = len(wrong)
        with pytest.raises(ValueError, match="two observations or more, all finite"):
            NetworkProcess(Observations(np.zeros((8, n, n)), np.array(wrong)), H)

    def test_equal_values_and_equal_networks_are_no_trouble(self) -> None:
        rng = np.random.default_rng(0)
        seen = Observations(np.zeros((8, 6, 6)), np.full(6, 3.0))
        for h in sampled(seen, rng, 3, 20):
            mean, deviation = NetworkProcess(seen, h).predict(np.zeros((8, 2, 6)))
            assert mean == pytest.approx([3.0, 3.0])
            assert np.isfinite(deviation).all()

    def test_hyperparameters_are_drawn_by_their_likelihood(self) -> None:
        """Values drawn from a process: its own noise is nearer to what is drawn than the bounds' middle is."""
        d = between(40)
        rng = np.random.default_rng(3)
        gram = kernel(d, Hyperparameters(1e-9, np.array([0.01, 100.0]), H.rates, H.inverses))
        y = rng.multivariate_normal(np.zeros(40), gram + 1e-6 * np.eye(40))
        drawn = sampled(Observations(d, y), np.random.default_rng(1), 50, 400)
        likelihoods = [NetworkProcess(Observations(d, y), h).likelihood for h in drawn]
        anywhere = sampled(Observations(d[:, :2, :2], y[:2]), np.random.default_rng(1), 50, 400)
        others = [NetworkProcess(Observations(d, y), h).likelihood for h in anywhere]
        assert np.mean(likelihoods) > np.mean(others)

    def test_likelihoods_beyond_numbers_do_not_overflow(self) -> None:
        d = between(30)
        assert len(sampled(Observations(d, 1e-9 * values()), np.random.default_rng(0), 7, 30)) == 7


class TestAcquisition:
    def test_expected_improvement_is_the_integral(self) -> None:
        from scipy.integrate import quad

        for mean, deviation, best in [(1.0, 0.5, 1.2), (3.0, 0.1, 2.5), (0.0, 2.0, -1.0)]:
            expected = quad(
                lambda y, m=mean, s=deviation, b=best: max(b - y, 0) * stats.norm(m, s).pdf(y),
                mean - 12 * deviation,
                best,
            )[0]
            found = expected_improvement(np.array([mean]), np.array([deviation]), best)
            assert found[0] == pytest.approx(expected, rel=1e-6, abs=1e-12)
        sure = expected_improvement(np.array([1.0, 3.0]), np.zeros(2), 2.0)
        assert sure.tolist() == [1.0, 0.0]

    def test_what_is_pending_takes_deviation_away_and_leaves_the_mean(self) -> None:
        d, y = between(), values()
        alone, beside = (NetworkSurrogate(np.random.default_rng(0), 3, 50, 1.0) for _ in range(2))
        alone.fit(d[:, :10, :10], y[:10], np.empty(0))
        beside.fit(d[:, :15, :15], y[:10], np.full(5, 3.0))
        mean, deviation = alone.predict(d[:, 20:, :10])
        hallucinated = beside.predict(d[:, 20:, :15])
        assert hallucinated[0] == pytest.approx(mean)
        assert (hallucinated[1] <= deviation + 1e-9).all()
        assert (hallucinated[1] < deviation - 1e-6).any()

    def test_parents_are_drawn_for_any_scale_of_values(self) -> None:
        rng = np.random.default_rng(0)
        for fitness in (np.array([1e-188, 3e-188, 2e-190]), np.zeros(3), np.array([-1e300, 1e300, 0.0])):
            drawn = parents(fitness, 3000, rng)
            counts = np.bincount(drawn, minlength=3)
            assert counts.sum() == 3000
            if fitness.any():
                assert counts[fitness.argmax()] == counts.max()
        one, two = np.array([0.0, 1.0, 5.0]), np.array([0.0, 1.0, 5.0])
        expected = np.exp((one - one.mean()) / (2 * one.std()))
        counts = np.bincount(parents(two, 100_000, rng), minlength=3)
        assert counts / 100_000 == pytest.approx(expected / expected.sum(), abs=0.01)


class TestCells:
    def test_operations_on_edges_become_layers(self) -> None:
        graph = cell_graph(("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "none", "nor_conv_1x1"))
        assert graph.labels == ("ip", "conv3", "skip", "avg-pool", "conv1", "op")
        assert graph.edges == {(0, 1), (1, 2), (2, 4), (4, 5), (0, 3), (3, 5)}
        assert encoded(graph).family.masses(graph).tolist() == [100.0, 256.0, 16.0, 16.0, 256.0, 100.0]

    def test_of_all_cells_341_are_dead_and_have_one_graph(self) -> None:
        space = open_benchmark("nb201-cifar10").space
        graphs = [space.as_graph(space.configuration(i)) for i in range(space.size)]  # type: ignore[attr-defined]
        assert sum(not graph.edges for graph in graphs) == 341
        assert len({(graph.labels, graph.edges) for graph in graphs if not graph.edges}) == 1

    def test_other_grids_have_no_graph(self) -> None:
        problem = Problem(GridSpace([Ordinal("width", (1, 2))]), (Metric("loss", ""),))
        assert "its space must have them as graphs" in MethodSpec("nasbot").misfit(problem)


class TestPerceptronsBesideScalars:
    """HPOlib's and HPOBench's networks: section 4's product kernel."""

    HPOLIB = {  # noqa: RUF012
        "activation_fn_1": "tanh",
        "activation_fn_2": "relu",
        "batch_size": 32,
        "dropout_1": 0.3,
        "dropout_2": 0.0,
        "init_lr": 0.1,
        "lr_schedule": "const",
        "n_units_1": 16,
        "n_units_2": 512,
    }

    def test_two_layers_become_a_chain_and_the_rest_scalars(self) -> None:
        space: Any = open_benchmark("hpolib-naval").space
        configuration = space.from_values(self.HPOLIB)
        graph = space.as_graph(configuration)
        assert graph.labels == ("ip", "tanh", "relu", "linear", "op")
        assert graph.units == (None, 16, 512, None, None)
        assert graph.edges == {(0, 1), (1, 2), (2, 3), (3, 4)}
        assert space.as_scalars(configuration) == pytest.approx((2 / 3, 0.5, 0.0, 1.0, 1.0))
        check(graph)

    def test_depth_and_width_become_a_chain(self) -> None:
        space: Any = open_benchmark("hpobench-car").space
        values = {**space.values((0,) * 5), "depth": 3, "width": 40, "batch_size": 256}
        configuration = space.from_values(values)
        assert space.as_graph(configuration).labels == ("ip", "relu", "relu", "relu", "softmax", "op")
        assert space.as_graph(configuration).units[1:4] == (40, 40, 40)
        assert space.as_scalars(configuration) == (0.0, 1.0, 0.0)
        check(space.as_graph(configuration))

    def test_graphs_are_as_many_as_architectures(self) -> None:
        """144 of HPOlib, 30 of HPOBench, and what the graph and the scalars say together is everything."""
        for name, architectures in (("hpolib-slice", 144), ("hpobench-kc1", 30)):
            space: Any = open_benchmark(name).space
            everything = list(space)
            assert len({space.as_graph(c) for c in everything}) == architectures
            assert len({(space.as_graph(c), space.as_scalars(c)) for c in everything}) == space.size

    def test_the_kernel_is_the_product(self) -> None:
        """Of the networks' kernel and scikit-learn's squared exponential with a length-scale for each scalar."""
        kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
        space: Any = open_benchmark("hpolib-naval").space
        rng = np.random.default_rng(0)
        candidates = Evolved(space)
        asked = [space.sample(rng) for _ in range(6)]
        for configuration in asked:
            candidates.add(configuration)
        found = candidates.between()
        networks = distances([encoded(space.as_graph(c)) for c in asked]).reshape(8, 6, 6)
        assert found[:8] == pytest.approx(networks)
        scales = np.array([0.2, 0.5, 1.0, 2.0, 0.7])
        own = H._replace(inverses=0.5 / scales**2)
        expected = kernel(networks, H) * kernels.RBF(scales)(np.array([space.as_scalars(c) for c in asked]))
        assert kernel(found, own) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        "bench", [pytest.param("nb201-cifar10", marks=pytest.mark.slow), "hpolib-naval", "synthetic-cnn"]
    )
    def test_weights_of_layers_reach_every_distance(self, bench: str) -> None:
        """Listed spaces, spaces with scalars and free networks; the values of the code are the default."""
        space: Any = open_benchmark(bench).space
        rng = np.random.default_rng(3)
        asked = [space.sample(rng) for _ in range(5)]
        found = {}
        for weighing in (USUAL, Weighing(share=0.5), Weighing(mismatch=0.25), Weighing(fc=1.0)):
            candidates = candidates_of(space, weighing=weighing)
            for configuration in asked:
                candidates.add(configuration)
            found[weighing] = candidates.between()[:8]
            expected = distances([encoded(space.as_graph(c), weighing) for c in asked]).reshape(8, 5, 5)
            assert found[weighing] == pytest.approx(expected, abs=1e-6)
        usual, share, mismatch, fc = found.values()
        assert not np.allclose(usual, share)
        assert (mismatch <= usual + 1e-6).all()
        assert not np.allclose(usual, mismatch)
        assert np.allclose(usual, fc) == (bench != "synthetic-cnn")

    def test_a_scalar_that_matters_gets_a_short_length_scale(self) -> None:
        """Values that depend on the first scalar alone: its inverse is drawn the largest of the five."""
        space: Any = open_benchmark("hpolib-naval").space
        rng = np.random.default_rng(1)
        candidates = Evolved(space)
        asked = [space.sample(rng) for _ in range(60)]
        for configuration in asked:
            candidates.add(configuration)
        y = np.array([math.sin(6 * space.as_scalars(c)[0]) for c in asked])
        drawn = sampled(Observations(candidates.between(), y), rng, 20, 3000, scalars=5)
        inverses = np.median([h.inverses for h in drawn], axis=0)
        assert inverses.argmax() == 0

    def test_it_is_searched_by_evolution_and_proposes_nothing_twice(self) -> None:
        benchmark = open_benchmark("hpolib-slice")
        assert isinstance(candidates_of(benchmark.space), Evolved)
        method = MethodSpec.parse("nasbot:initial=4,draws=30").build(Problem.of(benchmark), np.random.default_rng(0))
        asked = []
        for number in range(16):
            asked.append(method.ask())
            method.tell(Observation(asked[-1], benchmark.evaluate(asked[-1], number), True))
        assert len(set(asked)) == 16


class TestMethods:
    @pytest.mark.parametrize(
        "name", ["nasbot:initial=4,draws=20", "nasbot-ea:initial=4,brood=3", "nasbot-rand:initial=4"]
    )
    def test_same_seed_same_proposals_and_failures_are_no_trouble(self, name: str) -> None:
        benchmark = open_benchmark("nb201-cifar10")

        def run() -> list[Any]:
            method = MethodSpec.parse(name).build(Problem.of(benchmark), np.random.default_rng(5))
            asked, waiting = [], []
            for number in range(14):
                waiting.append(method.ask())
                asked.append(waiting[-1])
                if len(waiting) == 3:  # three workers, of which the last that began ends first
                    configuration = waiting.pop()
                    evaluation = benchmark.evaluate(configuration, number)
                    if number == 6:
                        nothing = dict.fromkeys(evaluation.metrics, math.nan)
                        evaluation = evaluation._replace(status="failed", metrics=nothing)
                    method.tell(Observation(configuration, evaluation, evaluation.status == "ok"))
            return asked

        first = run()
        assert run() == first
        for configuration in first:
            benchmark.space.check(configuration)

    def test_it_does_not_propose_a_network_twice(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        method = MethodSpec.parse("nasbot:initial=3,draws=30").build(Problem.of(benchmark), np.random.default_rng(0))
        graphs = []
        for number in range(12):
            configuration = method.ask()
            graph = benchmark.space.as_graph(configuration)  # type: ignore[attr-defined]
            graphs.append((graph.labels, graph.edges))
            method.tell(Observation(configuration, benchmark.evaluate(configuration, number), True))
        assert len(set(graphs[3:])) == 9
        assert not set(graphs[3:]) & set(graphs[:3])

    @pytest.mark.parametrize("unknown", [(0, 3), (0, 1), (1, 20)])
    def test_a_constraint_whose_metric_is_not_always_known_is_learnt_where_it_is(
        self, unknown: tuple[int, int]
    ) -> None:
        """The metric is missing from every third evaluation; from all, or from all but one, the search goes on."""
        known, every = unknown
        benchmark = open_benchmark("nb201-cifar10")
        bounds = abilities.bounds(benchmark, parse_constraints(["latency@0.3"]))
        method = MethodSpec.parse("nasbot:initial=6,draws=20").build(
            Problem.of(benchmark, bounds), np.random.default_rng(0)
        )
        found = []
        for number in range(20):
            configuration = method.ask()
            values = dict(benchmark.evaluate(configuration, number).metrics)
            found.append(values["latency"])
            if (number % every == 0) != bool(known):
                values["latency"] = math.nan
            holds = bounds[0].holds(values["latency"])
            method.tell(Observation(configuration, Evaluation(values, 1.0), holds))
        assert len(set(found)) > 15
        assert every != 3 or np.mean([bounds[0].holds(latency) for latency in found[6:]]) > 0.4  # 0.3 of all cells

    def test_constraints_on_what_is_known_are_kept_and_others_learnt(self) -> None:
        benchmark = open_benchmark("nb201-cifar10")
        bounds = abilities.bounds(benchmark, parse_constraints(["model_size@0.2", "latency@0.3"]))
        method = MethodSpec.parse("nasbot:initial=8,draws=30").build(
            Problem.of(benchmark, bounds), np.random.default_rng(1)
        )
        (cheap,) = (bound for bound in bounds if bound.metric.cheap)
        held = []
        for number in range(20):
            configuration = method.ask()
            evaluation = benchmark.evaluate(configuration, number)
            feasible = all(bound.holds(evaluation.metrics[bound.metric.name]) for bound in bounds)
            if number >= 8:
                assert cheap.holds(abilities.known(benchmark, cheap.metric.name, configuration))
                held.append(feasible)
            method.tell(Observation(configuration, evaluation, feasible))
        assert np.mean(held[8:]) > 0.5  # about a fifth of all cells are feasible

    def test_the_space_decides_where_the_acquisition_is_searched(self) -> None:
        assert isinstance(candidates_of(open_benchmark("nb201-cifar10").space), Listed)

    def test_evolution_of_the_acquisition_finds_what_listing_finds_nearly(self) -> None:
        """An acquisition that is the nearness to one network: both ways come close to it."""
        space = open_benchmark("nb201-cifar10").space
        listed, evolved = Listed(space), Evolved(space)  # type: ignore[arg-type]
        asked = cells(8, seed=4)
        for configuration in asked:
            listed.add(configuration)
            evolved.add(configuration)

        def nearness(found: np.ndarray) -> np.ndarray:
            return -found[len(NUS) + 1, :, 0]

        assert listed.between() == pytest.approx(evolved.between(), abs=1e-6)
        best = [c.best(nearness, np.random.default_rng(0)) for c in (listed, evolved)]
        first = encoded(space.as_graph(asked[0]))  # type: ignore[attr-defined]
        near = [distance(encoded(space.as_graph(b)), first).normalised[1] for b in best]  # type: ignore[attr-defined]
        everyone = np.sort([distance(n, first).normalised[1] for n in listed._networks[::20]])
        assert near[0] <= near[1] <= everyone[len(everyone) // 20]

    @pytest.mark.parametrize(
        ("method", "message"),
        [
            ("nasbot:initial=0", "initial must be at least 1, not 0"),
            ("nasbot:refit=0", "refit must be positive, not 0"),
            ("nasbot:draws=-1", "draws must be positive, not -1"),
            ("nasbot:power=0", "power must be positive, not 0"),
            ("nasbot:fc=0", "fc must be positive, not 0"),
            ("nasbot:share=-1", "share must be positive, not -1"),
            ("nasbot-ea:brood=0", "brood must be at least 1, not 0"),
        ],
    )
    def test_options_out_of_range_are_one_sentence(self, method: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            MethodSpec.parse(method).build(Problem.of(open_benchmark("nb201-cifar10")), np.random.default_rng(0))


@pytest.mark.parametrize("space", ["digits", "digits/genetic", "digits/flat", "digits/nasbench101"])
def test_networks_of_the_language_can_be_compared(space: str) -> None:
    benchmark = open_benchmark(space)
    rng = np.random.default_rng(0)
    graphs = [encoded(benchmark.space.as_graph(benchmark.space.sample(rng))) for _ in range(5)]  # type: ignore[attr-defined]
    found = distances(graphs)
    assert np.isfinite(found).all()
    assert found[1].max() <= 1
    MethodSpec.parse("nasbot").build(Problem.of(benchmark), rng)


def test_all_nus_are_used() -> None:
    assert NUS == (0.1, 0.25, 0.61, 1.5)

"""TreeBO's surrogate: against a dense process with the same kernel; how it is fitted, and what it predicts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.spatial.distance import cdist

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.spaces import Categorical, Float, Hyperparameter, Ordinal, ParameterSpace
from nasbench.methods.growing.treebo import surrogate as surrogates
from nasbench.methods.growing.treebo.surrogate import PathSurrogate
from nasbench.methods.growing.treebo.tree import Tree
from nasbench.methods.surrogates.trees import Points, TreeKernelParameters, TreeProcess

TREE = open_benchmark("synthetic-tree")


def random_points(rng: np.random.Generator, count: int, leaves: int, columns: int, coefficients: int) -> Points:
    return Points(
        rng.integers(leaves, size=count), rng.uniform(size=(count, columns)), rng.normal(size=(count, coefficients))
    )


def covariances(one: Points, other: Points, h: TreeKernelParameters) -> np.ndarray:
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
        h = TreeKernelParameters(rng.uniform(0.2, 3, columns), variance, rng.uniform(0.1, 2, coefficients), noise)
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
    process = TreeProcess(tree.points(first), values - values.mean(), TreeKernelParameters(lengths, 0.1, prior, 1e-4))
    mean, deviation = process.predict(tree.points(second))
    assert np.corrcoef(mean, np.linspace(0, 1, 7))[0, 1] > 0.9
    mean, far = process.predict(tree.points(third))
    assert np.ptp(mean) == pytest.approx(0, abs=1e-9)
    assert (far > deviation.max()).all()


def small_tree() -> Tree:
    """A rate, and where a = u also a depth and a kind."""
    hyperparameters: list[Hyperparameter] = [
        Categorical("a", ("u", "v")),
        Float("rate", 1e-4, 1.0, log=True),
        Ordinal("depth", (1, 2, 3, 4, 5)),
        Categorical("kind", ("k", "l")),
    ]
    return Tree(ParameterSpace(hyperparameters, {"depth": ("a", ["u"]), "kind": ("a", ["u"])}).as_flat())


def test_configurations_share_the_nodes_above_the_point_where_their_paths_part() -> None:
    """By hand: a node that two paths share adds 1 and the product of its parameters (scaled to [0, 1]) in both."""
    z = small_tree().points([[0, 1e-2, 3, 1], [0, 1.0, 1, 1], [1, 1e-1, None, None]]).shared
    root = np.outer([1 / 2, 1, 3 / 4], [1 / 2, 1, 3 / 4]) + 1
    u = np.outer([3 / 4, 1 / 4, 0], [3 / 4, 1 / 4, 0]) + np.array([[2, 2, 0], [2, 2, 0], [0, 0, 0]])  # 1, and the kind
    v = np.diag([0, 0, 1])
    assert z @ z.T == pytest.approx(root + u + v)


def modelled(count: int = 25, seed: int = 0) -> tuple[Tree, Points, np.ndarray]:
    """Points of the small tree, and values that depend on all there is."""
    tree, rng = small_tree(), np.random.default_rng(seed)
    places = [tree.drawn(rng) for _ in range(count)]
    seen = tree.points(places)
    values = 40 + 9 * np.sin(5 * seen.local[:, 0]) + 4 * seen.local[:, 1] + 3 * seen.leaves + rng.normal(size=count)
    return tree, seen, values


def fitted(tree: Tree, seen: Points, values: np.ndarray, pending: int = 0, seed: int = 0) -> PathSurrogate:
    """A surrogate of all points but the last few, which are pending."""
    known = np.arange(len(values)) < len(values) - pending
    model = PathSurrogate(tree.is_category, tree.is_bias, 5)
    model.fit(seen.only(known), values[known], seen.only(~known), np.random.default_rng(seed))
    return model


def test_hyperparameters_maximise_evidence_times_a_log_normal_prior() -> None:
    tree, seen, values = modelled()
    scaled = (values - values.mean()) / values.std()
    medians, deviations = np.array([0.5, 1.0, 0.5, 0.5, 0.5, 1e-3]), np.array([0.7, 0.7, 1.0, 1.0, 1.0, 2.0])

    def posterior(theta: np.ndarray) -> float:
        number, category, variance, bias, weight, noise = np.exp(theta)
        lengths = np.where(tree.is_category, category, number)
        h = TreeKernelParameters(lengths, variance, np.where(tree.is_bias, bias, weight), noise)
        dense = covariances(seen, seen, h) + noise * np.eye(len(values))
        evidence = stats.multivariate_normal(np.zeros(len(values)), dense).logpdf(scaled)
        return float(evidence + stats.norm(np.log(medians), deviations).logpdf(theta).sum())

    minimize: Any = optimize.minimize
    best = minimize(lambda theta: -posterior(theta), np.log(medians), method="BFGS")
    h = fitted(tree, seen, values)._process._h
    found = [h.lengths[0], h.lengths[-1], h.variance, h.prior[0], h.prior[1], h.noise]
    assert tree.is_category.tolist() == [False, False, True, True]
    assert tree.is_bias[:2].tolist() == [True, False]
    assert posterior(np.log(found)) == pytest.approx(-best.fun, abs=0.01)


def test_a_fit_is_searched_from_the_last_one_and_from_a_random_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a search that stays where it starts, the better of both starts is what is found."""
    tree, seen, values = modelled()
    nothing = seen.only(np.zeros(len(values), bool))
    model = fitted(tree, seen, values)
    good, poor = model._theta, np.log([0.05, 0.1, 1e-3, 0.01, 0.01, 1e-6])
    monkeypatch.setattr(surrogates, "minimize", lambda loss, at, **_: SimpleNamespace(x=at, fun=loss(at)))
    for seed in range(5):
        for start, stays in ((good, True), (poor, False)):
            model._theta, model._fitted = start, 0
            model.fit(seen, values, nothing, np.random.default_rng(seed))
            assert (model._theta == start).all() == stays


def test_hyperparameters_are_fitted_again_after_as_many_observations_as_the_option_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, seen, values = modelled()
    sizes: list[int] = []
    monkeypatch.setattr(
        PathSurrogate, "_best", lambda self, points, scaled, rng: (sizes.append(len(scaled)), self._theta)[1]
    )
    model = PathSurrogate(tree.is_category, tree.is_bias, 4)
    for count in (3, 4, 5, 6, 7, 8, 13, 14):
        known = np.arange(len(values)) < count
        model.fit(seen.only(known), values[known], seen.only(known & ~known), np.random.default_rng(0))
    assert sizes == [3, 7, 13]


def test_predictions_have_the_unit_of_the_values() -> None:
    tree, seen, values = modelled()
    mean, deviation = fitted(tree, seen, values).predict(seen)
    turned = fitted(tree, seen, 1000 - 50 * values).predict(seen)
    assert turned[0] == pytest.approx(1000 - 50 * mean, rel=1e-3)
    assert turned[1] == pytest.approx(50 * deviation, rel=1e-3)
    assert np.abs(mean - values).max() < 3
    same = fitted(tree, seen, np.full(len(values), 7.0)).predict(seen)
    assert same[0] == pytest.approx(np.full(len(values), 7.0))


def test_what_is_pending_leaves_means_and_takes_deviation_away() -> None:
    tree, seen, values = modelled()
    plain = PathSurrogate(tree.is_category, tree.is_bias, 5)
    known = np.arange(len(values)) < 20
    plain.fit(seen.only(known), values[known], seen.only(known & ~known), np.random.default_rng(0))
    mean, deviation = plain.predict(seen)
    believing = fitted(tree, seen, values, pending=5).predict(seen)
    assert believing[0] == pytest.approx(mean, abs=1e-6)
    assert (believing[1] < deviation + 1e-9).all()
    assert (believing[1][20:] < 0.9 * deviation[20:]).all()


def test_a_path_is_predicted_by_the_linear_model_with_the_mean_variance_of_its_leaf() -> None:
    """The posterior of the coefficients by one dense solution; a leaf's variance by its own observations alone."""
    rng = np.random.default_rng(1)
    seen, points = random_points(rng, 12, 3, 2, 4), random_points(rng, 15, 4, 2, 4)
    values, h = (
        rng.normal(size=12),
        TreeKernelParameters(np.array([0.5, 1.5]), 0.8, np.array([0.3, 1.0, 0.7, 2.0]), 0.1),
    )
    gain = np.diag(h.prior) @ seen.shared.T @ np.linalg.inv(covariances(seen, seen, h) + 0.1 * np.eye(12))
    coefficients = gain @ values
    spread = np.diag(h.prior) - gain @ seen.shared @ np.diag(h.prior)
    own = h._replace(prior=np.zeros(4))
    variance = np.empty(15)
    for leaf in range(4):
        here, there = points.only(points.leaves == leaf), seen.only(seen.leaves == leaf)
        cross, dense = covariances(here, there, own), covariances(there, there, own) + 0.1 * np.eye(len(there.leaves))
        left = 0.8 - np.einsum("ij,ij->i", cross, np.linalg.solve(dense, cross.T).T)
        variance[points.leaves == leaf] = left.mean()
    mean, deviation = TreeProcess(seen, values, h).predict_paths(points)
    assert mean == pytest.approx(points.shared @ coefficients)
    assert deviation**2 == pytest.approx(variance + np.einsum("ij,jk,ik->i", points.shared, spread, points.shared))
    tree, known, targets = modelled()
    model = fitted(tree, known, targets)
    scaled = model._process.predict_paths(known)
    assert model.predict(known, paths=True)[0] == pytest.approx(targets.mean() + targets.std() * scaled[0])
    assert model.predict(known, paths=True)[1] == pytest.approx(targets.std() * scaled[1])

"""The learners: the grid of hyper-parameters of each, and the estimator of scikit-learn that a configuration is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.spaces.base import Values

_MOST_STEPS = 100_000  # of libsvm: without an end, some regressions take minutes


@dataclass(frozen=True)
class Learner:
    """A family of estimators with the hyper-parameters that are searched."""

    title: str
    """What it is, for people."""
    space: GridSpace
    make: Callable[[Values, bool, int, int], Any]
    """The estimator: hyper-parameters, whether it predicts classes, number of training rows, seed → estimator."""
    idle: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Hyper-parameters without effect, by the (hyper-parameter, value) that makes them so."""
    grows: str = ""
    """The estimator's argument that is the fidelity; empty where there is none."""
    counted: tuple[str, str] = ("", "")
    """Name and unit of the fidelity."""
    levels: tuple[int, ...] = ()
    """The values of the fidelity, ascending."""


def _svm(values: Values, classes: bool, rows: int, seed: int) -> Any:
    from sklearn.svm import SVC, SVR

    estimator = (SVC if classes else SVR)(**values, max_iter=_MOST_STEPS)
    estimator.random_state = seed  # libsvm does not use it here, but would draw it from the state that all code shares
    return estimator


def _boosting(values: Values, classes: bool, rows: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(**values, min_samples_leaf=5, early_stopping=False, warm_start=True, random_state=seed)


def _forest(values: Values, classes: bool, rows: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return (RandomForestClassifier if classes else RandomForestRegressor)(**values, warm_start=True, random_state=seed)


def _linear(values: Values, classes: bool, rows: int, seed: int) -> Any:
    from sklearn.linear_model import ElasticNet, LogisticRegression

    mix = {"l1": 1.0, "l2": 0.0}.get(values["penalty"], values["mix"])
    if classes:
        return LogisticRegression(C=values["C"], l1_ratio=mix, solver="saga", random_state=seed)
    alpha = 1 / (values["C"] * rows)  # the same meaning of C as in logistic regression
    return ElasticNet(alpha=alpha, l1_ratio=mix, random_state=seed)


def _knn(values: Values, classes: bool, rows: int, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return (KNeighborsClassifier if classes else KNeighborsRegressor)(**values)


LEARNERS = {
    "svm": Learner(
        "support vector machine",
        GridSpace(
            [
                Categorical("kernel", ("linear", "poly", "rbf")),
                Ordinal("C", (0.0625, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0), log=True),
                Ordinal("gamma", (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3), log=True),
                Ordinal("degree", (2, 3, 4)),
            ]
        ),
        _svm,
        idle={("kernel", "linear"): ("gamma", "degree"), ("kernel", "rbf"): ("degree",)},
    ),
    "boosting": Learner(
        "gradient boosting of trees on binned inputs",
        GridSpace(
            [
                Ordinal("learning_rate", (0.01, 0.03, 0.1, 0.3, 1.0), log=True),
                Ordinal("max_leaf_nodes", (4, 8, 16, 32), log=True),
                Ordinal("max_depth", (2, 4, 8), log=True),
                Ordinal("l2_regularization", (0.0, 1.0, 10.0, 100.0)),
            ]
        ),
        _boosting,
        grows="max_iter",
        counted=("iterations", "1 iteration"),
        levels=(2, 6, 18, 54),
    ),
    "forest": Learner(
        "random forest",
        GridSpace(
            [
                Ordinal("max_depth", (1, 2, 3, 4, 6, 8, 12), log=True),
                Ordinal("max_features", (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)),
                Ordinal("min_samples_leaf", (1, 2, 4, 8, 16, 32), log=True),
            ]
        ),
        _forest,
        grows="n_estimators",
        counted=("trees", "1 tree"),
        levels=(2, 6, 18, 54),
    ),
    "linear": Learner(
        "logistic regression or elastic net",
        GridSpace(
            [
                Categorical("penalty", ("l1", "l2", "elasticnet")),
                Ordinal("mix", (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)),
                Ordinal(
                    "C", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), log=True
                ),
            ]
        ),
        _linear,
        idle={("penalty", "l1"): ("mix",), ("penalty", "l2"): ("mix",)},
    ),
    "knn": Learner(
        "k nearest neighbours",
        GridSpace(
            [
                Ordinal(
                    "n_neighbors",
                    (*range(1, 13), 14, 16, 18, 20, 23, 26, 30, 34, 38, 42, 46, 50, 60),
                    log=True,
                ),
                Categorical("weights", ("uniform", "distance")),
                Ordinal("p", (1.0, 1.5, 2.0, 3.0)),
            ]
        ),
        _knn,
    ),
}
"""The learners by the name that follows `learner:`."""

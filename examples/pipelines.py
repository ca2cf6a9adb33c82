"""The search-space language beyond networks: pipelines of scikit-learn, and a random search over them.

A module takes the steps so far and adds its own; a compiled architecture is the list of steps. Run it with
    python examples/pipelines.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nasbench.benchmarks.spaces.language import (
    Basic,
    Choices,
    D,
    Part,
    Program,
    siso_optional,
    siso_or,
    siso_sequential,
)

SIZE = 2 * (1 + 3) * (3 * 2 + 3)
"""Scalers × (no PCA or one of three) × (neighbours × weights + depths)."""


def step(name: str, make: Any, **hyperparameters: Any) -> Part:
    """A module that adds an estimator to the steps before it."""
    return Basic(name, hyperparameters, lambda values, _: lambda steps: [*steps, (name, make(**values))]).part


def pipelines() -> Part:
    """Scale, perhaps project, then classify by neighbours or by a tree."""
    from sklearn.decomposition import PCA
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return siso_sequential(
        [
            siso_or([lambda: step("standard", StandardScaler), lambda: step("minmax", MinMaxScaler)], D([0, 1])),
            siso_optional(lambda: step("pca", PCA, n_components=D([10, 20, 30])), D([0, 1])),
            siso_or(
                [
                    lambda: step(
                        "knn", KNeighborsClassifier, n_neighbors=D([1, 3, 5]), weights=D(["uniform", "distance"])
                    ),
                    lambda: step("tree", DecisionTreeClassifier, max_depth=D([8, 12, 16]), random_state=0),
                ],
                D([0, 1]),
            ),
        ]
    )


def pipeline(program: Program, configuration: Choices) -> Any:
    """The pipeline that a configuration names."""
    from sklearn.pipeline import make_pipeline

    _, outputs = program.graph(configuration).compile({"in": []})
    return make_pipeline(*(estimator for _, estimator in outputs["out"]))


if __name__ == "__main__":
    from sklearn.datasets import load_digits
    from sklearn.model_selection import cross_val_score

    images, labels = load_digits(return_X_y=True)
    space, rng = Program(pipelines), np.random.default_rng(0)
    drawn = [space.sample(rng) for _ in range(10)]
    scores = [cross_val_score(pipeline(space, c), images, labels, cv=3).mean() for c in drawn]
    best = int(np.argmax(scores))
    print(f"{scores[best]:.4f}", space.to_json(drawn[best]))

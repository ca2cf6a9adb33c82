"""The columns that are computed when a run is over."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine.columns import incumbents
from tests.nasbench_cli import toys
from tests.nasbench_cli.toy_runs import toy_run


class Means(toys.Toy):
    """A third party's, whose means come in another order than its metrics, beside others."""

    def mean_metrics(self, configuration: Configuration) -> Mapping[str, float]:
        return {"size": float(configuration[0]), "seconds": 1.0, "loss": float(sum(configuration))}


def test_means_are_read_by_their_names() -> None:
    columns = toy_run(benchmark=Means(), evals=20, constraint="size<=4").columns
    digits = [list(json.loads(text).values()) for text in columns["configuration"]]
    assert columns["score"].tolist() == [float(sum(row)) for row in digits]
    assert columns["score_feasible"].tolist() == [row[0] <= 4 for row in digits]


def test_the_incumbent_is_the_best_feasible_at_the_highest_level_that_a_feasible_one_has_reached() -> None:
    objective = np.array([1.0, 5.0, 4.0, 4.0, 3.0, 9.0, 2.0])
    feasible = np.array([False, True, True, True, True, True, True])
    level = np.array([1, 1, 1, 1, 1, 3, 1])
    after, is_new = incumbents(objective, feasible, level)
    np.testing.assert_array_equal(after, [np.nan, 5, 4, 4, 3, 9, 9])
    assert is_new.tolist() == [False, True, True, False, True, True, False]

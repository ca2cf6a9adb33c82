"""Tasks of YAHPO Gym's surrogates that contradict themselves: almost no error, and a large balanced error, at once.

    python -m research.contradictions yahpo-rbv2-xgboost

A search that minimises the error ends in such a place, which says nothing of what was modelled. It is rare: a sample
may miss it. So each task is searched: from the best eight of 4,096 random configurations, and from eight of them at
random, 40 steps to the best of eight mutants. A task contradicts itself if among the places found, or among the best
five of the sample, one error is below 0.1 % and the other one 30 points larger or more. (A classifier that always
predicts the larger class has a small error and a balanced error of 50 %; of these tasks its error is above 0.1 %.)
Some tasks of `rbv2_xgboost` have such places, of `rbv2_rpart` and LCBench none was found (docs/tables.md).
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.surrogate.scenarios import SCENARIOS
from nasbench.benchmarks.surrogate.yahpo import SurrogateBenchmark

SAMPLE, STARTS, STEPS, MUTANTS = 4096, 8, 40, 8
ALMOST_NONE, GAP = 0.1, 30.0
"""Two errors contradict each other if one is below the first number, and the other more than the second larger (%)."""


def both_errors(task: SurrogateBenchmark, configurations: list[Configuration]) -> NDArray[np.float64]:
    """Error and balanced error of each configuration at the highest level, shape (configurations, 2)."""
    names = [metric.name.partition("@")[0].removeprefix("only-").removeprefix("valid-") for metric in task.metrics]
    rows = task.predicted(configurations)
    return rows[:, [names.index("error"), names.index("balanced-error")]]


def found(task: SurrogateBenchmark, sample: list[Configuration], rng: np.random.Generator) -> NDArray[np.float64]:
    """Both errors where searches end, and of the best five of the sample, shape (places, 2)."""
    objective = 0 if "balanced" not in task.objective.name else 1
    drawn = both_errors(task, sample)
    order = np.argsort(drawn[:, objective], kind="stable").tolist()
    places = [sample[i] for i in [*order[:STARTS], *range(STARTS)]]
    best = drawn[[*order[:STARTS], *range(STARTS)]]
    for _ in range(STEPS):
        mutants = [task.space.mutate(place, rng) for place in places for _ in range(MUTANTS)]
        errors = both_errors(task, mutants).reshape(len(places), MUTANTS, 2)
        for i, child in enumerate(errors[:, :, objective].argmin(axis=1).tolist()):
            if errors[i, child, objective] < best[i, objective]:
                best[i], places[i] = errors[i, child], mutants[i * MUTANTS + child]
    return np.concatenate([best, drawn[order[:5]]])


def contradicts(places: NDArray[np.float64]) -> bool:
    """Whether one error of a place is almost none, and the other one much larger."""
    low, high = places.min(axis=1), places.max(axis=1)
    return bool(((low < ALMOST_NONE) & (high - low > GAP)).any())


def main() -> None:
    """Prints the tasks of a scenario that contradict themselves."""
    scenario = SCENARIOS[sys.argv[1]]
    rng, tasks = np.random.default_rng(0), [SurrogateBenchmark(scenario, task) for task in scenario.families]
    sample: list[Configuration] = [tasks[0].space.sample(rng) for _ in range(SAMPLE)]
    print(" ".join(task.name.removeprefix(scenario.prefix) for task in tasks if contradicts(found(task, sample, rng))))


if __name__ == "__main__":
    main()

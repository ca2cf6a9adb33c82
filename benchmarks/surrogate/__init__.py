"""Surrogate benchmarks: a model that was fitted to evaluations predicts the scores."""

from collections.abc import Callable, Mapping
from functools import partial

from nasbench.benchmarks.contract import BENCHMARKS, Benchmark
from nasbench.benchmarks.surrogate import yahpo
from nasbench.benchmarks.surrogate.scenarios import SCENARIOS


def _fetched() -> Mapping[str, Callable[[], Benchmark]]:
    """Tasks of the scenarios that the user has fetched."""
    return {
        f"{scenario.prefix}{task}": partial(yahpo.Surrogate, scenario, task)
        for scenario in SCENARIOS.values()
        for task in yahpo.tasks(scenario)
    }


BENCHMARKS.add_later(_fetched)
_every = " --all ({} also without --all)"
for _scenario in SCENARIOS.values():
    BENCHMARKS.advice[_scenario.prefix] = (
        f"it is one of {len(_scenario.families)} tasks that come with the surrogate of YAHPO Gym, nasbench data fetch "
        f"{_scenario.name}{_every.format(', '.join(_scenario.chosen)) if _scenario.chosen else ''}"
    )

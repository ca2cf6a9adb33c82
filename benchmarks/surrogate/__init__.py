"""Surrogate benchmarks: a model that was fitted to evaluations predicts the scores."""

from collections.abc import Callable, Mapping
from functools import partial

from nasbench.benchmarks.contract import BENCHMARKS, Benchmark
from nasbench.benchmarks.sources import SOURCES
from nasbench.benchmarks.surrogate import yahpo
from nasbench.benchmarks.surrogate.scenarios import SCENARIOS


def _fetched() -> Mapping[str, Callable[[], Benchmark]]:
    """Tasks of the scenarios that the user has fetched."""
    return {
        f"{scenario.prefix}{task}": partial(yahpo.SurrogateBenchmark, scenario, task)
        for scenario in SCENARIOS.values()
        for task in scenario.tasks()
    }


BENCHMARKS.add_later(_fetched)
for _scenario in SCENARIOS.values():
    SOURCES.add(_scenario.name, _scenario)
    _most = f" (all but {', '.join(_scenario.chosen)} with --all)" if _scenario.chosen else ""
    BENCHMARKS.advice[_scenario.prefix] = (
        f"it is one of {len(_scenario.families)} tasks that come with the surrogate of YAHPO Gym{_most}",
        f"nasbench data fetch {_scenario.name}",
    )

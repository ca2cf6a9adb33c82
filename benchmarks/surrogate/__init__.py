"""Surrogate benchmarks: a model that was fitted to evaluations predicts the scores."""

from collections.abc import Callable, Mapping
from functools import partial

from nasbench.benchmarks.contract import BENCHMARKS, Benchmark
from nasbench.benchmarks.surrogate import lcbench


def _imported() -> Mapping[str, Callable[[], Benchmark]]:
    """The tasks of LCBench, if the user has imported its surrogate."""
    return {f"lcbench-{task}": partial(lcbench.LCBench, task) for task in lcbench.TASKS if lcbench.is_imported()}


BENCHMARKS.add_later(_imported)
BENCHMARKS.advice["lcbench-"] = (
    f"it is one of {len(lcbench.TASKS)} tasks that come with the surrogate of YAHPO Gym, nasbench import lcbench FOLDER"
)

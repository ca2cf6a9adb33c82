"""Live benchmarks: networks trained on images."""

from functools import partial

from nasbench.benchmarks.contract import BENCHMARKS, ON_FILES
from nasbench.benchmarks.images.benchmark import ImageBenchmark
from nasbench.benchmarks.images.datasets import DATASETS, Dataset, Split
from nasbench.benchmarks.images.look_up import LookUp

__all__ = ["DATASETS", "Dataset", "ImageBenchmark", "LookUp", "Split"]


def open_dataset(name: str) -> ImageBenchmark:
    """The benchmark with the plain name of a data set."""
    return ImageBenchmark(DATASETS.get(name))


def _benchmarks() -> dict[str, partial[ImageBenchmark]]:
    benchmarks = {name: partial(open_dataset, name) for name in DATASETS.names()}
    BENCHMARKS.broken.update(DATASETS.broken)
    BENCHMARKS.advice.update(DATASETS.advice)
    return benchmarks


BENCHMARKS.add_later(_benchmarks)
ON_FILES.add("supernet", LookUp)

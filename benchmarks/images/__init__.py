"""Live benchmarks: networks trained on images."""

from functools import partial

from nasbench.benchmarks.base import BENCHMARKS
from nasbench.benchmarks.images.benchmark import DATASETS, ImageBenchmark

__all__ = ["DATASETS", "ImageBenchmark"]

for _dataset in DATASETS.values():
    BENCHMARKS.add(_dataset.name, partial(ImageBenchmark, _dataset))

"""A data set for tests: 128 of the digits to train on, so that a search or a training takes a tenth of the time.

Size classes are those of 60 networks, not of 900 or 200.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import pytest

from nasbench.benchmarks import BENCHMARKS
from nasbench.benchmarks.images import DATASETS, Split, open_dataset
from nasbench.benchmarks.images.datasets import digest
from nasbench.benchmarks.spaces.trainable.cells import CellSpace
from nasbench.benchmarks.spaces.trainable.trainable import TrainableSpace
from tests.conftest import Lend

_DIGITS = DATASETS.get("digits")
_COUNTS = {"train": 128, "val": 64, "test": 64}


@cache
def _few() -> dict[str, Split]:
    whole = _DIGITS.load()
    return {name: Split(whole[name].images[:count], whole[name].labels[:count]) for name, count in _COUNTS.items()}


def register(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> str:
    """Makes it a benchmark for the duration of a test, and returns its name."""
    few = replace(_DIGITS, name="few-digits", counts=_COUNTS, load=_few, checksum=digest(_few()))
    for space in (TrainableSpace, CellSpace):
        monkeypatch.setattr(space, "pool", 60)
    lend(DATASETS, few.name, few)
    lend(BENCHMARKS, few.name, partial(open_dataset, few.name))
    return few.name

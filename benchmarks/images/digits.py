"""Handwritten digits that come with scikit-learn: a live benchmark without a download."""

from __future__ import annotations

import numpy as np

from nasbench.base.errors import UsageError, with_extra
from nasbench.benchmarks.images.datasets import DATASETS, Dataset, Split, digest

_CHECKSUM = "sha256:09f67c3b686fc387595e11c2d2800a711b4d835dd77f0411162c186130835861"
_COUNTS = {"train": 1079, "val": 359, "test": 359}


def read() -> dict[str, Split]:
    """Digits of 8 × 8 pixels, doubled to 16 × 16, in fixed random splits.

    Raises UsageError if scikit-learn is not installed, or holds other digits.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise UsageError(f"digits come with scikit-learn: {with_extra('live')}") from None
    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8).repeat(2, axis=1).repeat(2, axis=2)[..., None]
    order = np.random.default_rng(0).permutation(len(images))
    ends = np.cumsum(list(_COUNTS.values()))[:-1]
    splits = {
        split: Split(np.ascontiguousarray(images[rows]), digits.target[rows].astype(np.int64))
        for split, rows in zip(_COUNTS, np.split(order, ends), strict=True)
    }
    if digest(splits) != _CHECKSUM:
        raise UsageError("this scikit-learn holds other digits than those of this benchmark")
    return splits


DIGITS = Dataset(
    "digits",
    side=16,
    channels=1,
    classes=10,
    counts=_COUNTS,
    batch={"search": 32, "retrain": 64},
    recipe="smoke",
    flip=False,
    source="UCI's handwritten digits (Alpaydin and Kaynak, 1998), as scikit-learn holds them: no download",
    licence="CC BY 4.0",
    checksum=_CHECKSUM,
    load=read,
    place="comes with scikit-learn",
)
DATASETS.add(DIGITS.name, DIGITS)

"""The data sets that come with scikit-learn, split by a seed and standardised."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, with_extra

OLDEST = 1, 8
"""The oldest version of scikit-learn whose linear models have the arguments that are used here."""


class DataSet(NamedTuple):
    """A data set of scikit-learn, known before it is opened."""

    loader: str
    """Name of its function in `sklearn.datasets`."""
    rows: int
    """Number of rows in all splits."""
    classes: int
    """Number of classes; 0 for a regression."""
    checksum: str
    """SHA-256 of its inputs and targets."""
    source: str
    """Where the data comes from."""


DATA = {
    "cancer": DataSet(
        "load_breast_cancer",
        569,
        2,
        "cdd5f37c36cbdfc2e5ee074cec7540fac54340874afb25917a673e446270d0d0",
        "Breast Cancer Wisconsin, Diagnostic (Wolberg et al., UCI, 1995)",
    ),
    "diabetes": DataSet(
        "load_diabetes",
        442,
        0,
        "84ec38030d0ff6dfdc32f475c5633e39e7ada9dbc328d3deb29bb757eec6a331",
        "diabetes progression (Efron et al., 2004)",
    ),
    "digits": DataSet(
        "load_digits",
        1797,
        10,
        "f19a7d92591ca0a1ffc65ec172e8149afdff995e0d2c4cb0afd151f38471ff90",
        "handwritten digits (Alpaydin and Kaynak, UCI, 1998)",
    ),
    "wine": DataSet(
        "load_wine",
        178,
        3,
        "c7e84e8e03b2b5a354287416d84d08945318450658a22a63c39973d8306c2ca4",
        "wine recognition (Aeberhard and Forina, UCI, 1992)",
    ),
}
"""The data sets by the name that follows `learner:NAME:`."""


class LearnerSamples(NamedTuple):
    """Rows of one split."""

    inputs: NDArray[np.float64]
    """Standardised inputs, shape (rows, features)."""
    targets: NDArray[Any]
    """Numbers of classes, or standardised targets, shape (rows,)."""


def check_installed() -> None:
    """Raises UsageError where scikit-learn is missing or too old."""
    try:
        import sklearn
    except ImportError:
        raise UsageError(f"learner:… trains scikit-learn's estimators: {with_extra('peers')}") from None
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise UsageError(f"learner:… needs scikit-learn {wanted} or newer, and this is {sklearn.__version__}")


@cache
def load(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Inputs and targets of a data set. Raises UsageError if scikit-learn is missing or holds other data."""
    check_installed()
    from sklearn import datasets

    inputs, targets = getattr(datasets, DATA[name].loader)(return_X_y=True)
    found = hashlib.sha256(inputs.astype("<f8").tobytes() + targets.astype("<f8").tobytes()).hexdigest()
    if found != DATA[name].checksum:
        raise UsageError(f"this scikit-learn's data set {name} has SHA-256 {found}, not {DATA[name].checksum}")
    return inputs, targets


def split(name: str, seed: int) -> dict[str, LearnerSamples]:
    """Training, validation and test split: a half and two quarters of the rows, drawn by the seed.

    Classes have the same shares in each split. On the training split each input, and the target of a regression, has
    mean 0 and variance 1.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    inputs, targets = load(name)
    by_class, state = DATA[name].classes > 0, seed % 2**32
    train, others, train_targets, other_targets = train_test_split(
        inputs, targets, train_size=0.5, random_state=state, stratify=targets if by_class else None
    )
    val, test, val_targets, test_targets = train_test_split(
        others, other_targets, train_size=0.5, random_state=state, stratify=other_targets if by_class else None
    )
    scaler = StandardScaler().fit(train)
    center, scale = (0, 1) if by_class else (train_targets.mean(), train_targets.std())
    rows = {"train": (train, train_targets), "val": (val, val_targets), "test": (test, test_targets)}
    return {
        part: LearnerSamples(scaler.transform(x), y if by_class else (y - center) / scale)
        for part, (x, y) in rows.items()
    }

"""A CSV file as features and a target, split and standardised (NASBOT, section 5)."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, unknown
from nasbench.base.files import OF_TABLE, unpacked
from nasbench.base.metrics import LARGEST
from nasbench.base.textfile import check_regular

Array = NDArray[np.float64]

_SHARES = (0.6, 0.2)  # shares of training and validation; the rest is the test split
_FEWEST = 50


class Samples(NamedTuple):
    """The rows of one split."""

    features: Array
    """Standardised inputs, shape (rows, features)."""
    target: Array
    """Standardised values to predict, shape (rows,)."""


@dataclass(frozen=True)
class CsvData:
    """A CSV file, split and standardised: on the training split, each column has mean 0 and variance 1."""

    splits: dict[str, Samples]
    """The rows by split: train, val, test."""
    checksum: str
    """Checksum of the file and the name of its target."""

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.splits["train"].features.shape[1])


def _check_size(path: Path) -> None:
    """Raises UsageError for a compressed file that unpacks to far more than its size; OSError if it cannot be read."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    with get_handle(path, "rb", is_text=False, compression="infer") as opened:
        if opened.compression["method"]:
            contents = unpacked(path, opened.handle, OF_TABLE)
            while contents.read(1 << 20):
                pass


def read(path: Path, target: str) -> CsvData:
    """Reads a file; the split of a row depends only on its number and the number of rows.

    Raises UsageError, naming file and column, for text, missing values, an unknown or constant target, or too few rows.
    """
    import pandas as pd

    check_regular(path)
    try:
        _check_size(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of rows that are longer than the first line
            names = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
            frame = pd.read_csv(path, index_col=False)
    except pd.errors.ParserWarning:
        raise UsageError(f"{path} has more columns than names in its first line: name them all") from None
    except (OSError, EOFError, BadZipFile) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except ValueError as error:
        raise UsageError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    if repeated := [name for name, times in Counter(names).items() if name and times > 1]:
        raise UsageError(f"{path} has two columns called {repeated[0]}: rename one of them")
    if any(str(name).startswith("Unnamed: ") for name in frame.columns):  # so pandas calls them
        raise UsageError(f"{path} has a column without a name: give it one in the first line, or leave it out")
    if target not in frame.columns:
        raise unknown(f"column of {path}", target, list(map(str, frame.columns)))
    texts = [str(name) for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    if texts:
        raise UsageError(f"{path} has text in column {texts[0]}: turn it into numbers, or leave it out")
    numbers = frame.to_numpy(float)
    missing = ~np.isfinite(numbers)
    if missing.any():
        name = frame.columns[int(missing.any(0).argmax())]
        raise UsageError(f"{path} has missing values, {int(missing.sum())} of them, the first in column {name}")
    large = np.abs(numbers) > LARGEST
    if large.any():
        name = frame.columns[int(large.any(0).argmax())]
        raise UsageError(f"{path} has a number of more than {LARGEST:g} in size, in column {name}")
    if len(frame) < _FEWEST or len(frame.columns) < 2:
        raise UsageError(
            f"{path} has too few rows or columns, {len(frame)} and {len(frame.columns)}: "
            f"it needs {_FEWEST} rows and 2 columns or more"
        )
    order = np.random.default_rng(0).permutation(len(frame))
    ends = (np.cumsum(_SHARES) * len(frame)).astype(int)
    rows = dict(zip(("train", "val", "test"), np.split(order, ends), strict=True))
    mean, deviation = numbers[rows["train"]].mean(0), numbers[rows["train"]].std(0)
    varies = np.ptp(numbers[rows["train"]], axis=0) > 0  # the deviation of equal numbers may be 1e-17
    column = list(frame.columns).index(target)
    if not varies[column]:
        raise UsageError(f"the target {target} of {path} has one value only: there is nothing to predict")
    scaled = (numbers - mean) / np.where(varies, deviation, 1.0)
    others = np.arange(numbers.shape[1]) != column
    splits = {name: Samples(scaled[places][:, others], scaled[places, column]) for name, places in rows.items()}
    digest = hashlib.sha256(path.read_bytes() + target.encode()).hexdigest()
    is_new = bool((varies != (deviation > 0)).any())  # earlier versions scaled such columns by rounding errors
    return CsvData(splits, f"sha256:{digest}{'+constant' if is_new else ''}")

"""MedMNIST's official files: finding, downloading, checking and reading them."""

from __future__ import annotations

import hashlib
import io
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.textfile import content_of
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.images.datasets import DATASETS, SIDE, Dataset, Split

PACKAGE_CACHE = Path("~/.medmnist")
"""Folder in which the `medmnist` package keeps the same files."""


_LARGEST = 1 << 28  # bytes; the official files are smaller


@dataclass(frozen=True)
class DataFile:
    """One of MedMNIST's official files."""

    name: str
    """Name of the benchmark that needs it."""
    file: str
    """Name of the file."""
    url: str
    """Address from which it is downloaded."""
    md5: str
    """Official MD5 sum."""


def located(data: DataFile) -> Path | None:
    """Path of a file in the data folder or in the folder of the `medmnist` package; None if it is in neither."""
    places = [data_folder() / "medmnist", data_folder(), PACKAGE_CACHE.expanduser()]
    return next((place / data.file for place in places if (place / data.file).is_file()), None)


def checked(path: Path, data: DataFile) -> bytes:
    """The bytes of a file, read once, so that they are those that were checked.

    Raises UsageError unless they have the official MD5 sum.
    """
    try:
        content = content_of(path, _LARGEST, f"it is not the official file of {data.name}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != data.md5:
        raise UsageError(
            f"{path} is not the official file of {data.name}: its MD5 is {digest}, not {data.md5}; delete it and run "
            f"`nasbench data fetch {data.name}`"
        )
    return content


def fetch(data: DataFile, progress: Callable[[int, int], None]) -> Path:
    """Downloads a file into the data folder, continuing an interrupted download, and returns its path.

    Args:
        progress: called with the number of bytes so far, and that of the whole file (0 if the server does not say).

    Raises UsageError if it cannot be downloaded, or is not the official file; then no file is put in its place.
    """
    from nasbench.benchmarks.download import FAILURES, fetched, why

    folder = data_folder() / "medmnist"
    whole = folder / data.file
    try:
        fetched(data.url, whole, partial(_check_download, data), progress)
    except FAILURES as error:
        raise UsageError(
            f"{data.name} cannot be fetched from {data.url}: {why(error)}; run the command again, which goes on "
            f"where it stopped, or put {data.file} into {folder} yourself"
        ) from None
    return whole


def read(data: DataFile, counts: dict[str, int], channels: int) -> dict[str, Split]:
    """The splits in a file. Raises UsageError if it is missing, damaged, or of another shape."""
    path = located(data)
    if path is None:
        raise UsageError(
            f"{data.file} is not in {data_folder()}: run `nasbench data fetch {data.name}`, or name the folder that "
            "holds it (--data-dir, $NASBENCH_DATA)"
        )
    content = checked(path, data)
    try:
        with np.load(io.BytesIO(content)) as arrays:
            return {
                split: Split(
                    arrays[f"{split}_images"].reshape(count, SIDE, SIDE, channels),
                    arrays[f"{split}_labels"].reshape(count).astype(np.int64),
                )
                for split, count in counts.items()
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} does not hold the images of {data.name}: {type(error).__name__}: {error}") from None


@cache
def files() -> dict[str, DataFile]:
    """All official files, by the names of their benchmarks."""
    return {
        f"medmnist-{flag}": DataFile(f"medmnist-{flag}", facts["file"], facts["url"], facts["md5"])
        for flag, facts in _facts().items()
    }


def datasets() -> list[Dataset]:
    """All data sets of MedMNIST with one class per image."""
    return [_dataset(files()[f"medmnist-{flag}"], facts) for flag, facts in _facts().items()]


def _dataset(data: DataFile, facts: dict[str, Any]) -> Dataset:
    counts, channels = facts["counts"], facts["channels"]
    return Dataset(
        data.name,
        SIDE,
        channels,
        facts["classes"],
        counts,
        facts["batch"],
        recipe="search",
        flip=True,
        source=f"{facts['title']} of MedMNIST v2 (Yang et al., Scientific Data 2023), official splits",
        licence=facts["licence"],
        checksum=f"md5:{data.md5}",
        load=lambda: read(data, counts, channels),
        sizes={name: (float(low), float(high)) for name, (low, high) in facts["sizes"].items()},
    )


@cache
def _facts() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "medmnist.toml").read_text())


def _check_download(data: DataFile, path: Path) -> None:
    try:
        checked(path, data)
    except UsageError:
        raise UsageError(
            f"what came from {data.url} is not the official file of {data.name} (its MD5 is not {data.md5}), and is "
            "deleted: try again later"
        ) from None


for _item in datasets():
    DATASETS.add(_item.name, _item)
DATASETS.advice["medmnist-chest"] = (
    "an image of ChestMNIST has several labels at once (14 findings), and networks here predict one class per image",
    "",
)

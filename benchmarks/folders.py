"""The folders in which this project keeps files on the user's machine."""

from __future__ import annotations

import os
from pathlib import Path

from nasbench.base.errors import UsageError


def cache_folder() -> Path:
    """The folder for files that can be made again: $NASBENCH_CACHE, or the user's cache directory."""
    return Path(os.environ.get("NASBENCH_CACHE") or _user_folder("cache"))


def data_folder() -> Path:
    """The folder for data that the user fetched or imported: $NASBENCH_DATA, or the user's data directory.

    Raises UsageError if that is something else than a folder.
    """
    folder = Path(os.environ.get("NASBENCH_DATA") or _user_folder("data"))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder, and data are kept there: let $NASBENCH_DATA name one")
    return folder


def data_folders() -> list[Path]:
    """The folders that may hold imported data: `data_folder()`, then the user's data directory if that is another."""
    return list(dict.fromkeys([data_folder(), Path(_user_folder("data"))]))


def made(folder: Path) -> Path:
    """A folder for data, made where it is missing. Raises UsageError if it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot keep data in {folder}: {error.strerror}; --data-dir or $NASBENCH_DATA names another folder"
        ) from None
    return folder


def place_of(folder: Path, file: str) -> Path:
    """Path of a folder of imported data: below the first of `data_folders` where it has `file`, or else the first."""
    places = [data / folder for data in data_folders()]
    return next((place for place in places if (place / file).exists()), places[0])


def _user_folder(kind: str) -> str:
    import platformdirs  # may be missing where `python -m research.gpu` runs

    return platformdirs.user_cache_dir("nasbench") if kind == "cache" else platformdirs.user_data_dir("nasbench")

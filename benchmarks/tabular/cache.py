"""The user's cache of converted tables: memory-mapped `.npy` files, checked against digests recorded in this code."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nasbench.base.files import beside
from nasbench.benchmarks.folders import cache_folder
from nasbench.benchmarks.tabular.table import Array

_LOG = logging.getLogger("nasbench")


def load(key: str, convert: Callable[[], Array], expected: str) -> Array:
    """The array cached under `key`, memory-mapped read-only so that processes share one copy; converted at first use.

    If the cache is not writable, or others can write to it, the converted array is returned without caching.

    Args:
        expected: the `digest` of the array. A cached array with another digest is damaged, and made again.
    """
    folder = cache_folder() / "tables"
    path = folder / f"{key}-{expected[:12]}.npy"
    is_ours = _is_ours(folder)
    with contextlib.suppress(FileNotFoundError):
        if is_ours and path.is_file():  # reading a pipe could block
            # NumPy raises many types for a damaged header, and warns.
            with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                # A plain array over the mapping: indexing np.memmap itself is several times slower.
                array = np.asarray(np.load(path, mmap_mode="r"))
                if digest(array) == expected:
                    return array
            _LOG.warning("%s is damaged; converting it again", path)
    _LOG.info("converting tables into %s (once)", folder, extra={"is_counted": True})
    array = convert()
    if is_ours:
        try:
            _write(path, array)
        except OSError as error:
            _LOG.warning(
                "cannot write the cache %s (%s): set NASBENCH_CACHE to a writable folder", folder, error.strerror
            )
    return array


def digest(array: Array) -> str:
    """SHA-256 of an array's type, shape and values."""
    kind = f"{array.dtype.str} {array.shape}".encode()
    return hashlib.sha256(kind + np.ascontiguousarray(array).tobytes()).hexdigest()


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can change the files of a folder; a folder that does not exist yet is safe."""
    try:
        facts = folder.stat()
    except OSError:
        return True
    if facts.st_uid == os.getuid() and not facts.st_mode & 0o022:
        return True
    _LOG.warning("the cache %s is not used: others can write there (chmod go-w, or set NASBENCH_CACHE)", folder)
    return False


def _write(path: Path, array: Array) -> None:
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with beside(path) as aside:
        aside.touch(mode=0o600)  # what was checked once must stay as it is
        with aside.open("wb") as file:
            np.save(file, array)
        aside.replace(path)

"""The user's cache of converted tables: self-certifying, memory-mapped `.npy` files."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nasbench.benchmarks.folders import cache_folder
from nasbench.benchmarks.tabular.table import Array

_DIGITS = 32  # of the digest in a file's name
_LOG = logging.getLogger("nasbench")


def load(key: str, convert: Callable[[], Array]) -> Array:
    """The array cached under `key`, memory-mapped read-only so that processes share one copy; converted at first use.

    The file's name ends in the SHA-256 of its bytes, so a damaged file is recognised and made again. Where the cache
    cannot be written the converted array is returned as it is.
    """
    folder = cache_folder() / "tables"
    for path in sorted(folder.glob(f"{key}-{'?' * _DIGITS}.npy")):
        with contextlib.suppress(OSError):  # another process may be mending it at this instant
            if path.stem.rpartition("-")[2] == _digest(path.read_bytes()):
                # A plain array over the mapping: indexing np.memmap itself is several times slower.
                return np.asarray(np.load(path, mmap_mode="r"))
            _LOG.warning("%s is damaged; converting it again", path)
            path.unlink()
    _LOG.info("converting %s into %s (once)", key, folder)
    array = convert()
    try:
        _write(folder, key, array)
    except OSError as error:
        _LOG.warning("cannot write the cache %s (%s): set NASBENCH_CACHE to a writable folder", folder, error.strerror)
        return array
    return array


def _write(folder: Path, key: str, array: Array) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            np.save(file, array)
        temporary.replace(folder / f"{key}-{_digest(temporary.read_bytes())}.npy")
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]

"""The user's cache of converted tables: memory-mapped `.npy` files, checked against digests recorded in this code."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import lzma
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.files import beside
from nasbench.benchmarks.folders import cache_folder, data_folder
from nasbench.benchmarks.tabular.table import Array

_LOG = logging.getLogger("nasbench")
KEPT = "kept"
"""Where tables lie, below the folder of data, that were converted elsewhere."""
_MOST_KEPT = 1 << 26  # bytes; the largest has 6 million


def load(key: str, convert: Callable[[], Array], expected: str) -> Array:
    """The array cached under `key`, memory-mapped read-only so that processes share one copy; converted at first use.

    What cannot be converted, because its package is not installed or another one now, is read from the folder of kept
    tables (docs/tables.md). If the cache is not writable, or others can write to it, the converted array is returned
    without caching.

    Args:
        expected: the `digest` of the array. A cached array with another digest is damaged, and made again.

    Raises UsageError if the array can neither be converted nor read.
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
    try:
        array = convert()
    except UsageError as error:
        array = _kept(path.stem, expected, error)
    if is_ours:
        try:
            _write(path, array)
        except OSError as error:
            _LOG.warning(
                "cannot write the cache %s (%s): set NASBENCH_CACHE to a writable folder", folder, error.strerror
            )
    return array


def keep(name: str, array: Array) -> tuple[str, bytes]:
    """The name and the content of a file of the folder of kept tables: metric by metric, which compresses best."""
    content = io.BytesIO()
    np.save(content, np.ascontiguousarray(np.moveaxis(array, -1, 0)))
    return f"{name}.npy.xz", lzma.compress(content.getvalue(), preset=9)


def _kept(name: str, expected: str, error: UsageError) -> Array:
    """The array of a kept table. Raises the error if there is none, and UsageError if it is another one."""
    path = data_folder() / KEPT / f"{name}.npy.xz"
    if not path.is_file():
        raise UsageError(f"{error}; or unpack the kept tables into {path.parent}") from None
    try:
        with lzma.open(path) as file:
            columns = np.load(io.BytesIO(file.read(_MOST_KEPT)), allow_pickle=False)
    except (OSError, ValueError, EOFError, lzma.LZMAError) as damage:
        raise UsageError(f"{path} is damaged: {damage}") from None
    array: Array = np.ascontiguousarray(np.moveaxis(columns, 0, -1))
    if digest(array) != expected:
        raise UsageError(f"{path} is not the table that it is called: it is not used")
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

"""What a folder is, a store or something else, and what is said where the file system fails there."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from nasbench.base.errors import Interrupted, StoreError
from nasbench.results.store import disk
from nasbench.results.store.fragment import Torn

HEADER = "0-schema.parquet"
"""The file without rows that shows readers of a store's folder all its columns."""

_OF_THE_PATH = {errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_NO_FOLDER = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}  # a folder cannot be made there


@contextmanager
def said(folder: Path, patience: float, is_new: bool = False) -> Iterator[None]:
    """Turns an error of the file system into a StoreError of one sentence.

    Args:
        folder: that of a store.
        patience: seconds to wait for another process.
        is_new: whether the folder is to be made.
    """
    try:
        yield
    except disk.Held as error:
        raise Interrupted(
            f"cannot use the store {folder}: {error} has been using it for {patience:.0f} s; when that is over, "
            "give the same command again"
        ) from None
    except (OSError, pa.ArrowException, Torn) as error:
        cause = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) in (_OF_THE_PATH | _NO_FOLDER if is_new else _OF_THE_PATH):
            raise StoreError(f"cannot use the store {folder}: {cause}; give another --store") from None
        raise Interrupted(
            f"cannot use the store {folder}: {cause}; what was stored before is intact, "
            "so once that is fixed, give the same command again"
        ) from None


def what_is_there(folder: Path) -> str:
    """What the folder is instead of a store, and which stores are near."""
    quoted = shlex.quote(str(folder))
    if folder.exists() and not folder.is_dir():
        return "it is a file" + f"; `nasbench report --against {quoted}` reports an archive" * (folder.suffix == ".zip")
    absent = "" if folder.is_dir() else f"there is no such {'file or folder' if folder.suffix else 'folder'}; "
    near, called = (folder.parent, str(folder.parent)) if absent else (folder, "it")
    if stores := sorted(path.parent.name for path in near.glob(f"*/{HEADER}")):
        return f"{absent}{called} holds the stores {', '.join(stores)}"
    return f"{absent}`nasbench run --store {quoted}` makes one" if absent else "it holds no runs"


def is_store(folder: Path) -> bool:
    """Whether a folder is a trajectory store, possibly one that lost its header."""
    return (folder / HEADER).is_file() or (folder / "_plans").is_dir()


def is_inner(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a store."""
    try:
        return entry.is_dir() and is_store(Path(entry.path))
    except OSError:
        return False  # a link that leads to itself

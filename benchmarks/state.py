"""Files that keep an unfinished training: a SHA-256 (32 bytes), then the data that it covers, in any format.

A plug-in with NumPy keeps a training with `keep(path, lambda file: np.savez(file, weights=weights, epoch=epoch))`, and
reads it with `kept_in(path, lambda file: dict(np.load(file)))`.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

T = TypeVar("T")

_LOG = logging.getLogger("nasbench")
_DIGEST = hashlib.sha256().digest_size


def keep(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Keeps what `write` writes: in a temporary file that is then renamed, so that a kill leaves no half of it.

    A failure is only logged, since the training can continue.
    """
    aside = path.with_suffix(".tmp")
    try:
        content = io.BytesIO()
        write(content)
        with aside.open("wb") as file:
            file.write(hashlib.sha256(content.getbuffer()).digest())
            file.write(content.getbuffer())
        aside.replace(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: PyTorch's
        _LOG.warning("the state of a training cannot be kept in %s: %s", path, error)


def kept_in(path: Path, read: Callable[[IO[bytes]], T], quiet: bool = False) -> T | None:
    """What `read` reads of a file that `keep` wrote; None if there is none, or it is damaged.

    Args:
        quiet: whether damage is not logged.
    """
    if not path.exists():
        return None
    try:
        return read(io.BytesIO(_checked(path)))
    except Exception as error:  # libraries raise many types
        if not quiet:
            _LOG.warning("%s cannot be used (%s): its training starts again", path, str(error).partition("\n")[0])
        return None


def _checked(path: Path) -> memoryview:
    """The data of a file. Raises ValueError if the file is damaged."""
    if not path.is_file():  # reading a pipe could block
        raise ValueError("it is not a regular file")
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("it is damaged, or of an older nasbench: its digest is wrong")
    return content[_DIGEST:]

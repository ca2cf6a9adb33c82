"""Files that are written aside and then renamed, so that nobody reads half of one; checksums of files."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nasbench.benchmarks.spaces.textfile import opened

_FORGOTTEN = 24 * 3600.0  # seconds after which a temporary file is what a killed process left


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A new temporary name beside `path`, to be written and renamed; the file is removed unless it was renamed.

    An OSError inside the block is raised again with the name of `path`. What killed processes left is removed.
    """
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _FORGOTTEN:
                left.unlink()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
    except OSError as error:  # NumPy's have a text alone
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def digest_of(path: Path, algorithm: str = "sha256") -> str:
    """The checksum of a regular file, in hexadecimal digits. Raises OSError or UsageError if it cannot be read."""
    with opened(path) as file:
        return hashlib.file_digest(file, algorithm).hexdigest()

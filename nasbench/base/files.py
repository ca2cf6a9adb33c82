"""Files that are written aside and then renamed, so that nobody reads half of one; checksums of files."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import resource
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from nasbench.base.errors import UsageError
from nasbench.base.textfile import opened

OF_TABLE, OF_OBJECTS = (1 << 26, 50), (1 << 23, 20)
"""Bytes that any compressed file may unpack to, and the multiple of its size that a larger one may: of tables, which
shrink to a third, at best to a fiftieth, and of files that become Python's objects, of sixty times as many bytes."""

_BYTES_OF_OBJECTS = 90  # of memory, at most, for a byte of a file: an empty list takes that of 80
_FORGOTTEN = 24 * 3600.0  # seconds after which a temporary file is what a killed process left


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes: ...


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


def most_unpacked(path: Path, limits: tuple[int, int]) -> int:
    """The bytes that a compressed file may unpack to."""
    least, ratio = limits
    return max(least, ratio * path.stat().st_size)


def unpacked(path: Path, contents: Readable, limits: tuple[int, int] = OF_OBJECTS) -> io.BufferedReader:
    """The contents of a compressed file, whose reading raises UsageError where they are far more than a table has.

    Args:
        path: the file.
        contents: it, opened by its decompressor.
        limits: see `OF_TABLE`.
    """
    return io.BufferedReader(_Counted(path, contents, most_unpacked(path, limits)))


class _Counted(io.RawIOBase):
    """A stream that counts what is read of it."""

    def __init__(self, path: Path, contents: Readable, most: int) -> None:
        self._path, self._contents, self._most, self._left = path, contents, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        part = self._contents.read(len(buffer))
        self._left -= len(part)
        if self._left < 0:
            raise UsageError(f"{self._path} unpacks to more than {self._most >> 20:,} MiB: it is not read")
        buffer[: len(part)] = part
        return len(part)


@contextmanager
def little_memory(path: Path, limits: tuple[int, int] = OF_OBJECTS) -> Iterator[None]:
    """Within this block this process may take, beside what it has, what the objects of a file need: MemoryError beyond.

    What a file unpacks to does not bound that: ten bytes of a pickle may ask for a list of gigabytes. Where the system
    does not say how much memory a process has, nothing is bounded.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        yield
        return
    most = pages * resource.getpagesize() + _BYTES_OF_OBJECTS * most_unpacked(path, limits)
    most = min([most, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def digest_of(path: Path, algorithm: str = "sha256") -> str:
    """The checksum of a regular file, in hexadecimal digits. Raises OSError or UsageError if it cannot be read."""
    with opened(path) as file:
        return hashlib.file_digest(file, algorithm).hexdigest()

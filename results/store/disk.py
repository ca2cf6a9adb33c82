"""The file operations of a store, in one place so that tests can make any of them fail."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TypeAlias

from nasbench.base.errors import Interrupted, StoreError

Data: TypeAlias = bytes | memoryview

_LOG = logging.getLogger("nasbench")
_REPORTED_AFTER = 3.0  # seconds of waiting for a lock
_CHUNK = 1 << 24  # bytes per read


class System:
    """The system calls, one method each."""

    def open(self, path: Path, flags: int) -> int:
        """A file descriptor; opening a pipe without a writer does not block."""
        return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)

    def read(self, handle: int, size: int) -> bytes:
        return os.read(handle, size)

    def write(self, handle: int, data: Data) -> int:
        """The number of bytes written, which may be less than the length of `data`."""
        return os.write(handle, data)

    def truncate(self, handle: int, length: int) -> None:
        os.ftruncate(handle, length)

    def fsync(self, handle: int) -> None:
        os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path)

    def lock(self, handle: int) -> bool:
        """Tries to take the exclusive lock of an open file; the system releases it when the file is closed."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


system = System()
"""The system calls that all functions below use; tests replace it."""


class Held(Exception):
    """Another process holds the lock; the message names it."""


class Irregular(OSError):
    """There is a folder, a pipe or a device in place of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "not a regular file", str(path))


_MOST_AT_ONCE = 1 << 30  # bytes: Linux writes at most some 2 GiB by one call


class ShortWrite(OSError):
    """Only a part of the data was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            errno.ENOSPC, "only a part was written: the disk is full, or files may be no larger here", str(path)
        )


def digest(data: Data) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def read(path: Path) -> bytes:
    """The contents of a regular file. Raises OSError, and Irregular if it is not a regular file."""
    handle = system.open(path, os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Irregular(path)
        parts = []
        while part := system.read(handle, _CHUNK):
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(handle)


def write(path: Path, data: Data) -> None:
    """Writes a file atomically and durably; on an error, which names it, the previous file stays.

    The temporary file's name contains the writer's host and process: writers do not collide, and the remains of a
    killed writer are recognised (`scratch`).
    """
    temporary = path.with_name(f".{path.name}.{os.uname().nodename[:40]}.{os.getpid()}.tmp")
    try:
        handle = system.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(handle, data, path)
            system.fsync(handle)
        finally:
            os.close(handle)
        system.rename(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            system.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None  # nobody knows the temporary file
        raise
    sync_folder(path.parent)


def write_all(handle: int, data: Data, path: Path) -> None:
    """Writes all data. Raises OSError if only a part was written."""
    whole = memoryview(data).cast("B")
    for start in range(0, max(1, len(whole)), _MOST_AT_ONCE):
        part = whole[start : start + _MOST_AT_ONCE]
        if system.write(handle, part) != len(part):
            raise ShortWrite(path)


def scratch(folder: Path) -> Iterator[Path]:
    """Temporary files that `write` left in a folder, from this host only: locks of other hosts may not be visible."""
    for path in folder.glob(".*.tmp"):
        if f".{os.uname().nodename[:40]}." in path.name:
            yield path


def sync_folder(folder: Path) -> None:
    """Flushes the names in a folder to the disk."""
    handle = system.open(folder, os.O_RDONLY)
    try:
        system.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Makes a folder and its parents durably, unless they exist."""
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        system.mkdir(path)
    sync_folder(path.parent)


def move(source: Path, target: Path) -> None:
    """Renames durably. Raises FileNotFoundError if another process was faster."""
    system.rename(source, target)
    sync_folder(source.parent)
    if target.parent != source.parent:
        sync_folder(target.parent)


def remove(path: Path) -> None:
    """Deletes a file if it exists."""
    with contextlib.suppress(FileNotFoundError):
        system.unlink(path)


class Lock:
    """An exclusive lock between processes, also of several hosts if the file system supports it.

    The locked file names the holder. The lock is released when its process ends, in whatever way.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._handle, self._depth = path, -1, 0

    def acquire(self, patience: float) -> None:
        """Waits up to `patience` seconds, and logs the holder if it takes long. Raises Held or OSError."""
        if self._depth == 0:
            self._handle = _locked(self._path, patience)
        self._depth += 1

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            os.close(self._handle)

    @contextmanager
    def held(self, patience: float) -> Iterator[None]:
        """Holds the lock inside the context; reentrant."""
        self.acquire(patience)
        try:
            yield
        finally:
            self.release()


class Appended:
    """A file to which this process appends whole lines: a line is on the disk, or absent."""

    def __init__(self, path: Path) -> None:
        """Locks the file; call `begin` next. Raises Held or OSError."""
        self.path, self._handle, self._length = path, -1, 0
        self._lock = Lock(path.with_suffix(".lock"))
        self._lock.acquire(patience=0)

    def content(self) -> bytes:
        """The contents of the file; empty if there is no file yet."""
        return read(self.path) if self.path.exists() else b""

    def begin(self, kept: int) -> None:
        """Keeps the first `kept` bytes and drops the rest, which a crash may have left."""
        self._handle, self._length = system.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), kept
        system.truncate(self._handle, kept)

    def append(self, line: bytes) -> None:
        """Writes a line and returns when it is on the disk. Raises OSError, after removing what was written."""
        try:
            write_all(self._handle, line, self.path)
            system.fsync(self._handle)
            if not self._length:
                sync_folder(self.path.parent)
        except OSError:
            with contextlib.suppress(OSError):  # if this fails too, `begin` will drop the torn line
                system.truncate(self._handle, self._length)
            raise
        self._length += len(line)

    def close(self) -> None:
        """Closes the file and releases the lock; the file stays on the disk."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        self._lock.release()


@contextmanager
def begun(path: Path, use: str) -> Iterator[Appended]:
    """A file to append to, while the block reads what it holds; it is closed if the block raises.

    Args:
        use: what another process that holds the file does with it: "is adding to …".

    Raises StoreError if another process holds the file, Interrupted where the system refuses something.
    """
    try:
        file = Appended(path)
    except Held as error:
        raise StoreError(f"{error} {use}") from None
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        yield file
    except BaseException as error:
        file.close()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def cannot_write(path: Path, error: OSError) -> Interrupted:
    """The error for a file that is appended to, where the system refuses something."""
    return Interrupted(
        f"cannot write {path}: {error.strerror}; what it holds is intact: once that is fixed, give the same command "
        "again"
    )


def _locked(path: Path, patience: float) -> int:
    begin, pause, is_reported = monotonic(), 0.002, False
    while True:
        handle = system.open(path, os.O_RDWR | os.O_CREAT)
        try:
            ours = system.lock(handle) and _leads_to(path, handle)
            owner = "" if ours else os.read(handle, 200).decode("utf-8", "replace")
            if ours:
                with contextlib.suppress(OSError):  # on a full disk others cannot learn the holder
                    os.ftruncate(handle, 0)
                    os.write(handle, f"process {os.getpid()} on {os.uname().nodename}".encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        waited = monotonic() - begin
        if waited >= patience:
            raise Held(owner or "another process")
        if waited > _REPORTED_AFTER and not is_reported:
            _LOG.info("waiting for %s, which is using %s", owner or "another process", path.parent)
            is_reported = True
        sleep(pause)
        pause = min(2 * pause, 0.05)


def _leads_to(path: Path, handle: int) -> bool:
    """Whether a path still leads to an open file: another process may have deleted it in the meantime."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False

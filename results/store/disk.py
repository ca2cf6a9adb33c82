"""What a store asks of the file system: every operation in one place, so that a test can make any of them fail."""

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

Data: TypeAlias = bytes | memoryview

_LOG = logging.getLogger("nasbench")
_SAID_AFTER = 3.0  # seconds of waiting for a lock
_READ = 1 << 24  # bytes at a time


class System:
    """The operations themselves, one method each."""

    def open(self, path: Path, flags: int) -> int:
        """A descriptor; a pipe without a writer does not keep us waiting."""
        return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)

    def read(self, handle: int, size: int) -> bytes:
        return os.read(handle, size)

    def write(self, handle: int, data: Data) -> int:
        """The number of bytes written, which may be less than asked."""
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
        """Whether the exclusive lock of an open file is ours now; the system releases it when the file is closed."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


system = System()
"""Through which everything below goes."""


class Held(Exception):
    """Another process has the lock; the message says which."""


class Irregular(OSError):
    """A folder, a pipe or a device where a file should be."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "not a regular file", str(path))


class ShortWrite(OSError):
    """The disk took a part of what was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOSPC, "only a part was written: the disk is full", str(path))


def digest(data: Data) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def read(path: Path) -> bytes:
    """The contents of a regular file. Raises OSError (Irregular for anything else)."""
    handle = system.open(path, os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Irregular(path)
        parts = []
        while part := system.read(handle, _READ):
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(handle)


def write(path: Path, data: Data) -> None:
    """Puts a file with this content into place, atomically and durably, or leaves what was there.

    The temporary file's name tells the writer's host and process: writers do not collide, and what a killed one left
    can be recognised (`scratch`).
    """
    aside = path.with_name(f".{path.name}.{os.uname().nodename[:40]}.{os.getpid()}.tmp")
    try:
        handle = system.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(handle, data, path)
            system.fsync(handle)
        finally:
            os.close(handle)
        system.rename(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            system.unlink(aside)
        raise
    sync_folder(path.parent)


def write_all(handle: int, data: Data, path: Path) -> None:
    """Writes everything, or raises OSError."""
    if system.write(handle, data) != memoryview(data).nbytes:
        raise ShortWrite(path)


def scratch(folder: Path) -> Iterator[Path]:
    """The temporary files that `write` may have left in a folder, of this host only: others' locks may not reach us."""
    for path in folder.glob(".*.tmp"):
        if f".{os.uname().nodename[:40]}." in path.name:
            yield path


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder are on the disk."""
    handle = system.open(folder, os.O_RDONLY)
    try:
        system.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Makes a folder, durably, and those above it; one that is there is left."""
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
    """Deletes a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        system.unlink(path)


class Lock:
    """An exclusive lock between processes, also of several hosts where the file system passes locks on.

    The file it stands on says who has it. It is released when its process ends, however that ends.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._handle, self._depth = path, -1, 0

    def acquire(self, patience: float) -> None:
        """Waits up to `patience` seconds; says for whom if that takes long. Raises Held, or OSError."""
        if self._depth == 0:
            self._handle = _locked(self._path, patience)
        self._depth += 1

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            os.close(self._handle)

    @contextmanager
    def held(self, patience: float) -> Iterator[None]:
        """Acquired inside, also when it is already."""
        self.acquire(patience)
        try:
            yield
        finally:
            self.release()


class Appended:
    """A file that grows by whole lines, and only by this process: a line is on the disk, or not there at all."""

    def __init__(self, path: Path) -> None:
        """Locks it. Raises Held, or OSError; call `begin` next."""
        self.path, self._handle, self._length = path, -1, 0
        self._lock = Lock(path.with_suffix(".lock"))
        self._lock.acquire(patience=0)

    def content(self) -> bytes:
        """What it holds; nothing where there is no file yet."""
        return read(self.path) if self.path.exists() else b""

    def begin(self, kept: int) -> None:
        """Keeps the first `kept` bytes, and drops what follows, as a crash in mid-write may have left it."""
        self._handle, self._length = system.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), kept
        system.truncate(self._handle, kept)

    def append(self, line: bytes) -> None:
        """Returns only when the line is on the disk; if it cannot be put there, it is taken back. Raises OSError."""
        try:
            write_all(self._handle, line, self.path)
            system.fsync(self._handle)
            if not self._length:
                sync_folder(self.path.parent)
        except OSError:
            with contextlib.suppress(OSError):  # if this fails too, the torn line will be dropped by whoever opens it
                system.truncate(self._handle, self._length)
            raise
        self._length += len(line)

    def close(self) -> None:
        """Leaves it on the disk, for a later attempt."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        self._lock.release()


def _locked(path: Path, patience: float) -> int:
    begin, pause, said = monotonic(), 0.002, False
    while True:
        handle = system.open(path, os.O_RDWR | os.O_CREAT)
        try:
            ours = system.lock(handle) and _leads_to(path, handle)
            owner = "" if ours else os.read(handle, 200).decode("utf-8", "replace")
            if ours:
                with contextlib.suppress(OSError):  # a full disk: then others do not learn who we are
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
        if waited > _SAID_AFTER and not said:
            _LOG.info("waiting for %s, which is using %s", owner or "another process", path.parent)
            said = True
        sleep(pause)
        pause = min(2 * pause, 0.05)


def _leads_to(path: Path, handle: int) -> bool:
    """Whether a path still is the file that is open: another process may have deleted it meanwhile."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False

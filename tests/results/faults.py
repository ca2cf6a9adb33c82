"""Disks that fail, kill, and lose their power: each stands in for `disk.system`."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nasbench.results.store.disk import Data, System

OPERATIONS = ("open", "read", "write", "truncate", "fsync", "rename", "unlink", "mkdir", "lock")
SHORT = -1
"""Instead of an error: a write of which a part is taken."""


def flipped(content: bytes, bits: range = range(8)) -> Iterator[tuple[int, bytes]]:
    """Some bytes with one bit changed, for every byte and bit: the byte's position, and the whole."""
    changed = bytearray(content)
    for i in range(len(content)):
        for bit in bits:
            changed[i] ^= 1 << bit
            yield i, bytes(changed)
            changed[i] ^= 1 << bit


class Counting(System):
    """Calls `meet` before each operation, with the operation's number (from 0) and name."""

    def __init__(self) -> None:
        self.count = 0

    def fsync(self, handle: int) -> None:
        """None: thousands of them would take minutes."""

    def meet(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        """What the operation answers instead; None lets it go on."""

    def __getattribute__(self, name: str) -> Any:
        plain = super().__getattribute__(name)
        if name not in OPERATIONS:
            return plain

        def call(*arguments: Any) -> Any:
            number = self.count
            self.count += 1
            answer = self.meet(number, name, arguments)
            return plain(*arguments) if answer is None else answer

        return call


class Failing(Counting):
    """Lets the Nth operation fail with an error number, or, if it is a write, be short."""

    def __init__(self, nth: int, code: int) -> None:
        super().__init__()
        self._nth, self._code = nth, code
        self.hit = ""

    def meet(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        if number != self._nth:
            return None
        self.hit = name
        if self._code == SHORT:
            return os.write(arguments[0], arguments[1][: len(arguments[1]) // 2]) if name == "write" else None
        raise OSError(self._code, os.strerror(self._code))


class Killing(Counting):
    """Kills its process at the Nth operation: before it, or in the middle of a write."""

    def __init__(self, nth: int) -> None:
        super().__init__()
        self._nth = nth

    def meet(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        if number == self._nth:
            if name == "write":
                os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)


class PowerCut(BaseException):
    """The power has failed: nothing after it is executed."""


class Cutting(System):
    """A disk that keeps only what was synchronised, when its power fails at the Nth operation.

    `settle` then puts the files into a state that a file system may leave: each change of a folder that was not
    synchronised is undone or not, at random; and of a file's bytes that were not synchronised a part is there, or
    zeros, or none.
    """

    def __init__(self, nth: int) -> None:
        self._left = nth
        self._paths: dict[int, Path] = {}
        self._synced: dict[int, bytes] = {}  # by inode: what of its content is safe
        self._pending: list[tuple[str, Path, Path | None, bytes | None, int]] = []

    def _tick(self) -> None:
        if self._left <= 0:
            raise PowerCut
        self._left -= 1

    def open(self, path: Path, flags: int) -> int:
        self._tick()
        fresh = bool(flags & os.O_CREAT) and not path.exists()
        if not fresh and flags & os.O_TRUNC:
            self._synced.setdefault(os.stat(path).st_ino, path.read_bytes())
        handle = super().open(path, flags)
        self._paths[handle] = path
        if flags & (os.O_WRONLY | os.O_RDWR):
            content = b"" if fresh or flags & os.O_TRUNC else path.read_bytes()
            self._synced.setdefault(os.fstat(handle).st_ino, content)
        if fresh:
            self._pending.append(("create", path, None, None, os.fstat(handle).st_ino))
        return handle

    def write(self, handle: int, data: Data) -> int:
        self._tick()
        return super().write(handle, data)

    def truncate(self, handle: int, length: int) -> None:
        self._tick()
        super().truncate(handle, length)

    def fsync(self, handle: int) -> None:
        self._tick()
        path = self._paths[handle]
        if path.is_dir():
            here = [op for op in self._pending if op[1].parent == path or (op[2] is not None and op[2].parent == path)]
            self._pending = [op for op in self._pending if op not in here]
        else:
            self._synced[os.fstat(handle).st_ino] = path.read_bytes()

    def rename(self, source: Path, target: Path) -> None:
        self._tick()
        before = target.read_bytes() if target.is_file() else None
        super().rename(source, target)
        self._pending.append(("rename", target, source, before, os.stat(target).st_ino))

    def unlink(self, path: Path) -> None:
        self._tick()
        before, inode = path.read_bytes(), os.stat(path).st_ino
        super().unlink(path)
        self._pending.append(("unlink", path, None, before, inode))

    def mkdir(self, path: Path) -> None:
        self._tick()
        super().mkdir(path)
        self._pending.append(("mkdir", path, None, None, os.stat(path).st_ino))

    def lock(self, handle: int) -> bool:
        self._tick()
        return super().lock(handle)

    def settle(self, folder: Path, rng: random.Random) -> None:
        """Puts the files of a folder into a state that is possible after the cut."""
        for path in [p for p in folder.rglob("*") if p.is_file() and os.stat(p).st_ino in self._synced]:
            safe, now = self._synced[os.stat(path).st_ino], path.read_bytes()
            if safe == now:
                continue
            if now.startswith(safe):  # something was appended
                kept = now[: len(safe) + rng.randrange(len(now) - len(safe) + 1)]
                content = rng.choice([safe, kept, kept + b"\0" * (len(now) - len(kept))])
            else:
                content = rng.choice([safe, now, b""])
            path.write_bytes(content)
        for kind, path, source, before, _ in reversed(self._pending):
            if rng.random() < 0.5:  # from some change on, or here and there: both happen
                continue
            if kind == "rename" and source is not None and path.exists():
                if source.parent.is_dir():
                    os.replace(path, source)
                if before is not None:
                    path.write_bytes(before)
            elif kind == "create" and path.is_file():
                path.unlink()
            elif kind == "unlink" and before is not None and not path.exists() and path.parent.is_dir():
                path.write_bytes(before)
            elif kind == "mkdir" and path.is_dir() and not any(path.iterdir()):
                path.rmdir()

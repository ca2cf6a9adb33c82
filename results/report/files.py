"""The files of a report in their folder."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from time import time

from nasbench.base.errors import Interrupted, StoreError
from nasbench.results.store import Store, disk

_LOG = logging.getLogger("nasbench")
_OF_THE_PATH = {errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_LONGEST_SLUG = 150
_LEFT = 3600.0  # seconds after which a temporary file is one that a killed report left
_MANIFEST = ".nasbench-report"  # names the files of a report, so that the next one can clear them away


def write_all(out: Path, contents: dict[str, bytes]) -> list[Path]:
    """Writes the files of a report; those of an earlier report in the same folder that it no longer has are removed.

    Raises StoreError if the folder holds anything but an earlier report, Interrupted if it cannot be written.
    """
    refuse_strange(out)
    manifest = out / _MANIFEST
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path in list(disk.scratch(out)):
            if time() - path.stat().st_mtime > _LEFT:  # a younger one may be another report's
                path.unlink(missing_ok=True)
        earlier = _earlier(manifest)
        _note(manifest, sorted({*earlier, *contents}))
        for name, content in contents.items():
            disk.write(out / name, content)
        for name in earlier - contents.keys():
            (out / Path(name).name).unlink(missing_ok=True)
        _note(manifest, contents)
    except OSError as error:
        raise _unwritable(out, error) from None
    return [out / name for name in contents]


def refuse_strange(out: Path) -> None:
    """Raises StoreError if a folder holds other files than an earlier report."""
    try:
        left = {*disk.scratch(out)} if out.is_dir() else set()  # of a report that was killed
        if out.exists() and any(path not in left for path in out.iterdir()) and not (out / _MANIFEST).exists():
            raise StoreError(f"{out} is neither empty nor an earlier report: choose another folder")
    except OSError as error:
        raise _unwritable(out, error) from None


def refuse_inside(path: Path, store: Store) -> None:
    """Raises StoreError if a path, where something is to be written, lies in a store's folder."""
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(store.folder)):
        raise StoreError(f"{path} lies inside the store, whose folder holds trajectories only: choose another")


def refuse_other(path: Path, fits: Callable[[bytes], bool]) -> None:
    """Raises StoreError if there is already a file that does not fit, which `write_single` would replace."""
    if path.exists() and not (path.is_file() and fits(path.read_bytes())):
        raise StoreError(f"{path} is there already, with other contents: choose another name, or delete it")


def _note(manifest: Path, names: Iterable[str]) -> None:
    text = "\n".join(names).encode()
    disk.write(manifest, disk.digest(text).encode() + b"\n" + text)


def _earlier(manifest: Path) -> set[str]:
    """The names of an earlier report's files; none, with a warning, if the manifest is damaged."""
    if not manifest.exists():
        return set()
    noted, _, text = disk.read(manifest).partition(b"\n")
    if noted != disk.digest(text).encode():
        _LOG.warning(
            "%s is damaged, or of an older nasbench: files of an earlier report that this one lacks are left there",
            manifest,
        )
        return set()
    return set(text.decode(errors="replace").splitlines())


def _unwritable(out: Path, error: OSError) -> StoreError:
    if error.errno in _OF_THE_PATH:
        return StoreError(f"cannot write the report to {out}: {error.strerror}; choose another folder")
    return Interrupted(f"cannot write the report to {out}: {error.strerror}")


def write_single(path: Path, content: bytes) -> None:
    """Writes a single file. Raises StoreError for a path where none can be, Interrupted if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write(path, content)
    except OSError as error:
        if error.errno in _OF_THE_PATH:
            raise StoreError(f"cannot write {path}: {error.strerror}; choose another name") from None
        raise Interrupted(f"cannot write {path}: {error.strerror}") from None


def slug(text: str) -> str:
    """Text as part of a file's name; long text is cut and ends in a hash."""
    plain = re.sub(r"[^\w.+-]", "_", text.replace("<=", "-le-").replace(">=", "-ge-"))
    if len(encoded := plain.encode()) <= _LONGEST_SLUG:
        return plain
    return f"{encoded[:_LONGEST_SLUG].decode(errors='ignore')}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"

"""The files of a report in their folder."""

from __future__ import annotations

import errno
import hashlib
import re
from pathlib import Path

from nasbench.results.errors import Interrupted, StoreError
from nasbench.results.store import disk

_OF_THE_PATH = {errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_LONGEST_SLUG = 150
_MANIFEST = ".nasbench-report"  # names the files of a report, so that the next one can clear them away


def write_all(out: Path, contents: dict[str, bytes]) -> list[Path]:
    """Writes the files of a report; those of an earlier report in the same folder that it no longer has are removed.

    Raises StoreError if the folder holds anything but an earlier report, Interrupted if it cannot be written.
    """
    manifest = out / _MANIFEST
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not manifest.exists():
            raise StoreError(f"{out} is neither empty nor an earlier report: choose another --out")
        earlier = set(manifest.read_text().splitlines()) if manifest.exists() else set()
        disk.write(manifest, "\n".join(sorted({*earlier, *contents})).encode())
        for name, content in contents.items():
            disk.write(out / name, content)
        for name in earlier - contents.keys():
            (out / Path(name).name).unlink(missing_ok=True)
        disk.write(manifest, "\n".join(contents).encode())
    except OSError as error:
        if error.errno in _OF_THE_PATH:
            raise StoreError(f"cannot write the report to {out}: {error.strerror}; choose another --out") from None
        raise Interrupted(f"cannot write the report to {out}: {error.strerror}") from None
    return [out / name for name in contents]


def refuse_present(path: Path | None) -> None:
    """Raises StoreError if there is such a file already: `write_single` would replace it."""
    if path is not None and path.exists():
        raise StoreError(f"{path} is there already: choose another name, or delete it")


def write_single(path: Path, content: bytes) -> None:
    """Writes a file that stands alone. Raises Interrupted if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write(path, content)
    except OSError as error:
        raise Interrupted(f"cannot write {path}: {error.strerror}") from None


def slug(text: str) -> str:
    """Text as part of a file's name: long ones end in a hash."""
    plain = re.sub(r"[^\w.+-]", "_", text.replace("<=", "-le-").replace(">=", "-ge-"))
    if len(plain) <= _LONGEST_SLUG:
        return plain
    return f"{plain[:_LONGEST_SLUG]}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"

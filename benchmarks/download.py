"""Downloading files, continuing interrupted downloads. Imported by those that download, for it loads slowly."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from filelock import FileLock

from nasbench.base.errors import UsageError
from nasbench.benchmarks.folders import made

_CHUNK = 1 << 18
_TIMEOUT = 60.0  # seconds without a byte

FAILURES = (OSError, HTTPException)
"""Exceptions of a download that fails; a URLError is an OSError."""


def fetched(
    url: str,
    whole: Path,
    check: Callable[[Path], None],
    progress: Callable[[int, int], None] = lambda here, total: None,
) -> None:
    """Downloads a file if it is not there, one process at a time, and puts it in its place if it passes a check.

    Args:
        check: raises UsageError for a wrong file, which is then deleted.
        progress: as for `download`.

    Raises one of FAILURES if it is not downloaded completely; the part so far is kept.
    """
    part = whole.with_name(f".{whole.name}.part")
    made(whole.parent)
    with FileLock(whole.with_name(f".{whole.name}.lock")):
        if whole.exists():  # another process may have downloaded it meanwhile
            return
        download(url, part, progress)
        try:
            check(part)
        except UsageError:
            part.unlink()
            raise
        part.replace(whole)


def download(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
    """Downloads a file to `part`, continuing an interrupted download.

    Args:
        progress: called with the number of bytes so far, and that of the whole file (0 if the server does not say).

    Raises OSError or HTTPException if it is not downloaded completely.
    """
    here = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={here}-"} if here else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # nothing is left to download; the checksum is verified later
            raise
        return
    with answer, part.open("ab") as file:
        if answer.status != 206:  # the server sends the whole file
            file.truncate(0)
            here = 0
        total = here + int(answer.headers.get("Content-Length", 0))
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            here += len(chunk)
            progress(here, total)
        file.flush()
        os.fsync(file.fileno())
    if here < total:
        raise OSError(f"the connection ended after {here:,} of {total:,} bytes")


def why(error: Exception) -> object:
    """The reason of a failed download, for a message."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or error

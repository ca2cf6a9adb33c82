"""Downloading a file, continuing an interrupted download."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

_CHUNK = 1 << 18
_TIMEOUT = 60.0  # seconds without a byte


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

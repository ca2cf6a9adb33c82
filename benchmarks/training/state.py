"""Files with the state of an unfinished training: a SHA-256 (32 bytes), then the data that it covers, by PyTorch."""

from __future__ import annotations

import hashlib
import io
import logging
from pathlib import Path
from typing import Any

import torch

_LOG = logging.getLogger("nasbench")
_DIGEST = hashlib.sha256().digest_size


def keep(state: dict[str, Any], path: Path) -> None:
    """Writes a state to a temporary file and renames it. A failure is only logged, since training can continue."""
    aside = path.with_suffix(".tmp")
    try:
        content = io.BytesIO()
        torch.save(state, content)
        with aside.open("wb") as file:
            file.write(hashlib.sha256(content.getbuffer()).digest())
            file.write(content.getbuffer())
        aside.replace(path)
    except (OSError, RuntimeError) as error:
        _LOG.warning("the state of a training cannot be kept in %s: %s", path, error)


def kept_in(path: Path) -> dict[str, Any] | None:
    """A state that `keep` wrote, on the CPU; None if there is none, or it is damaged, which is logged."""
    if not path.exists():
        return None
    try:
        return _read(path)
    except Exception as error:  # PyTorch raises many types
        _LOG.warning("%s cannot be used (%s): its training starts again", path, str(error).partition("\n")[0])
        return None


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():  # reading a pipe could block
        raise ValueError("it is not a regular file")
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("it is damaged, or of an older nasbench: its digest is wrong")
    state: dict[str, Any] = torch.load(io.BytesIO(content[_DIGEST:]), weights_only=True, map_location="cpu")
    return state

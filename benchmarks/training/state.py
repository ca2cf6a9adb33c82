"""What an unfinished training has done so far, in a file: the SHA-256 of what follows it (32 bytes), then PyTorch's."""

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
    """Writes a state aside and into place; where that fails it is said: what goes on is worth more than its state."""
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
    """A state that `keep` wrote, on the CPU; None where there is none, or it is damaged, which is said."""
    if not path.exists():
        return None
    try:
        return _read(path)
    except Exception as error:  # PyTorch has many
        _LOG.warning("%s cannot be used (%s): its training begins anew", path, str(error).partition("\n")[0])
        return None


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():  # to read a pipe would be to wait for its writer
        raise ValueError("it is not a regular file")
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("it is damaged, or of an older nasbench: its digest does not fit")
    state: dict[str, Any] = torch.load(io.BytesIO(content[_DIGEST:]), weights_only=True, map_location="cpu")
    return state

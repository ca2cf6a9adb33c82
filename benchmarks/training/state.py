"""The states of PyTorch's trainings in files (`benchmarks/state.py`)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from nasbench.benchmarks import state


def keep(values: dict[str, Any], path: Path) -> None:
    """Keeps the state of a training. A failure is only logged, since the training can continue."""
    state.keep(path, partial(torch.save, values))


def kept_in(path: Path, quiet: bool = False) -> dict[str, Any] | None:
    """A state that `keep` wrote, on the CPU; None if there is none, or it is damaged (logged unless `quiet`)."""
    return state.kept_in(path, partial(torch.load, weights_only=True, map_location="cpu"), quiet)

"""Whether there is a device to measure."""

from __future__ import annotations

import importlib.util

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces.errors import with_extra


def require_device() -> None:
    """Raises UsageError where PyTorch finds no CUDA device."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(f"no CUDA device here: PyTorch is not installed ({with_extra('live')})")
    import torch

    if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call, unused-ignore]
        raise UsageError(f"no CUDA device here: this PyTorch ({torch.__version__}) is made for the CPU alone")
    if not torch.cuda.is_available():
        raise UsageError("no CUDA device here: PyTorch finds none (nvidia-smi and CUDA_VISIBLE_DEVICES may say why)")

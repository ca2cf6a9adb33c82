"""Measures rows within a limit of time, prints each as soon as it is there, and keeps them as a table."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic

from nasbench.base.errors import unknown, with_extra
from nasbench.benchmarks import UsageError
from research.gpu.apart import measured

SECONDS = 480.0
"""The longest that all rows may take together, unless it is said."""


def main(seconds: float = SECONDS, only: Sequence[str] = (), out: Path | None = None, cpu: bool = False) -> bool:
    """Prints every row as soon as it is measured, and returns whether all were.

    Args:
        seconds: the longest that all rows may take; each has an equal share of what earlier ones have left.
        only: names of the rows to measure; empty for all.
        out: the folder into which the table is written as gpu.csv; None for none.
        cpu: tries the rows on the CPU, at small sizes.

    Raises UsageError for an unknown row, and where PyTorch is missing or finds no device.
    """
    if not 0 < seconds < float("inf"):
        raise UsageError(f"seconds must be positive, not {seconds:g}")
    if importlib.util.find_spec("torch") is None:
        raise UsageError(f"no CUDA device here: PyTorch is not installed ({with_extra('live')})")
    import torch

    if not cpu and not torch.cuda.is_available():
        why = "nvidia-smi and CUDA_VISIBLE_DEVICES may say why" if torch.version.cuda else "made for the CPU alone"
        raise UsageError(f"no CUDA device here: PyTorch {torch.__version__} finds none ({why})")
    from research.gpu.rows import CPU, DEVICE, ROWS

    if strange := [name for name in only if name not in ROWS]:
        raise unknown("row", strange[0], ROWS)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # an error now, not after minutes
    if cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # of the rows' processes
    chosen = [name for name in ROWS if not only or name in only]
    lines, end = [("row", "value", "note")], monotonic() + seconds
    for number, name in enumerate(chosen):
        share = max(0.01, (end - monotonic()) / (len(chosen) - number))
        value, note = measured(partial(ROWS[name], CPU if cpu else DEVICE), share)
        lines.append((name, value, note))
        print(f"{name}: {value or note}{f' ({note})' if value else ''}", flush=True)
    if out is not None:
        with (out / "gpu.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    return all(value for _, value, _ in lines)

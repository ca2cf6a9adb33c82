"""The GPUs that this process may use, found without any library, and their distribution over worker processes."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple


class Device(NamedTuple):
    """A GPU, or a part of one (MIG)."""

    name: str
    """Name for CUDA_VISIBLE_DEVICES."""
    model: str
    """Name of the product; empty where only the environment names the device."""


def devices() -> tuple[Device, ...]:
    """The devices that this process may use; empty if there is none.

    These are the devices in CUDA_VISIBLE_DEVICES if it is set, else those that `nvidia-smi` lists (those of the
    container, and the parts of a divided GPU in its place), else those in the driver's files.
    """
    listed = _listed() or _of_the_driver()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return listed
    models = {device.name: device.model for device in listed} | {str(i): d.model for i, d in enumerate(listed)}
    # CUDA reads up to the first invalid name: `-1` is the usual way to say that there is no device.
    names = takewhile(lambda name: name and not name.startswith("-"), map(str.strip, named.split(",")))
    return tuple(Device(name, models.get(name, "")) for name in names)


def shared_out(worker: int) -> dict[str, str]:
    """Environment variables that give each worker process one of the devices in turn; empty if all share one device.

    The device is no part of a run's identity: on a GPU, equal runs need not be equal to the bit.
    """
    available = devices()
    return {"CUDA_VISIBLE_DEVICES": available[worker % len(available)].name} if len(available) > 1 else {}


@cache
def _listed() -> tuple[Device, ...]:
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    listed: list[Device] = []
    model = ""
    for line in lines.splitlines():
        if whole := re.match(r"GPU \d+: (.+) \(UUID: (GPU-[^)]+)\)", line):
            model = whole[1]
            listed.append(Device(whole[2], model))
        elif part := re.match(r"\s+MIG (\S+).*\(UUID: (MIG-[^)]+)\)", line):
            if listed and listed[-1].name.startswith("GPU-"):  # a divided GPU is used through its parts
                listed.pop()
            listed.append(Device(part[2], f"{model} MIG {part[1]}"))
    return tuple(listed)


def _of_the_driver() -> tuple[Device, ...]:
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    models = [path.read_text().partition("Model:")[2].partition("\n")[0].strip() for path in files]
    return tuple(Device(str(number), model) for number, model in enumerate(models))

"""The GPUs that this machine lends us, without any library: their names, and which process takes which."""

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
    """As CUDA_VISIBLE_DEVICES calls it."""
    model: str
    """As the driver calls it; empty where only the environment names it."""


def devices() -> tuple[Device, ...]:
    """The devices that this process may use; empty if there is none.

    Those of CUDA_VISIBLE_DEVICES where it is set. Else what `nvidia-smi` lists, which in a container is what the
    container has, with the parts of a divided GPU in its place; without that program, what the driver's files list.
    """
    listed = _listed() or _of_the_driver()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return listed
    models = {device.name: device.model for device in listed} | {str(i): d.model for i, d in enumerate(listed)}
    # CUDA reads up to the first name that is none: `-1` is the usual way to say that there is no device.
    names = takewhile(lambda name: name and not name.startswith("-"), map(str.strip, named.split(",")))
    return tuple(Device(name, models.get(name, "")) for name in names)


def shared_out(worker: int) -> dict[str, str]:
    """The environment of the worker of a number, by which processes take the devices in turn; empty if all share one.

    Which device computes has no part in a run's identity: on a GPU no two runs need be the same to the bit.
    """
    found = devices()
    return {"CUDA_VISIBLE_DEVICES": found[worker % len(found)].name} if len(found) > 1 else {}


@cache
def _listed() -> tuple[Device, ...]:
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    found: list[Device] = []
    model = ""
    for line in lines.splitlines():
        if whole := re.match(r"GPU \d+: (.+) \(UUID: (GPU-[^)]+)\)", line):
            model = whole[1]
            found.append(Device(whole[2], model))
        elif part := re.match(r"\s+MIG (\S+).*\(UUID: (MIG-[^)]+)\)", line):
            if found and found[-1].name.startswith("GPU-"):  # a divided GPU is used through its parts
                found.pop()
            found.append(Device(part[2], f"{model} MIG {part[1]}"))
    return tuple(found)


def _of_the_driver() -> tuple[Device, ...]:
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    models = [path.read_text().partition("Model:")[2].partition("\n")[0].strip() for path in files]
    return tuple(Device(str(number), model) for number, model in enumerate(models))

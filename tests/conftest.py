"""What several tests share: the command line in this process, and small stores."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from nasbench.base.registry import Registry
from nasbench.cli import main
from nasbench.results import Store
from nasbench.results.store import disk

SMALL = ["--method", "random", "--method", "evolution:population=5,tournament=2", "--bench", "nb201-cifar10"]


# Benchmarks are registered when they are first asked for: whoever runs the tests may have imported tables.
os.environ["COLUMNS"] = "80"  # pytest-xdist sets it, and with `pytest -s` the terminal's width would count
os.environ.setdefault("OMP_NUM_THREADS", "1")  # PyTorch's threads would compete with those of the other test processes
os.environ["NASBENCH_DATA"] = tempfile.mkdtemp(prefix="nasbench-tests-")
os.environ["XDG_DATA_HOME"] = os.environ["NASBENCH_DATA"]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite started by nohup: commands would inherit a deaf Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("here", deadline=None)  # shared machines are slow now and then
settings.load_profile("here")


def pytest_collection_finish() -> None:
    """What is imported by now stays: a collection of garbage need not look at it (half a million objects)."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def without_notices_of_conversion() -> None:
    """Which test is the first to need a table is chance, and no test may depend on it."""
    logging.getLogger("nasbench").addFilter(lambda record: not record.getMessage().startswith("converting "))


@pytest.fixture
def without_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that write thousands of files, on a machine that will not lose its power."""
    monkeypatch.setattr(disk.system, "fsync", lambda handle: None)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory, where the system has one: for tests that write thousands of files."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="nasbench-tests-") as folder:
        yield Path(folder)


class TooSlow(BaseException):
    """More of the processor's time was used than is allowed."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TooSlow when so much of the processor's time is used: other work on the machine does not count."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Printed(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def nasbench(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Runs a command line in this process: `nasbench("run", "--method", …)` → exit code, output, errors."""

    def call(*arguments: object) -> Printed:
        words = [str(argument) for argument in arguments]
        capsys.readouterr()
        code = main.run_command(words)
        captured = capsys.readouterr()
        return Printed(code, captured.out, captured.err)

    return call


Lend = Callable[[Registry[Any], str, Any], None]


@pytest.fixture
def lend() -> Iterator[Lend]:
    """Gives an item a name for the duration of a test: `lend(METHODS, "mine", Mine)`."""
    with ExitStack() as lent:
        yield lambda registry, name, item: lent.enter_context(registry.temporarily(name, item))


@pytest.fixture
def small_store(nasbench: Callable[..., Printed], tmp_path: Path) -> Store:
    """Two methods on one benchmark under one constraint, three seeds of 20 evaluations on two workers."""
    folder = tmp_path / "store"
    asked = [*SMALL, "--constrain", "model_size@0.5", "--seeds", 3, "--evals", 20, "--workers", 2, "--store", folder]
    assert nasbench("run", *asked).code == 0
    return Store.open(folder)


@pytest.fixture(scope="session")
def published_oracles() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Thresholds, oracles, worst values and feasible shares recorded with c-TPE's own scripts."""
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = json.loads(
        (Path(__file__).parent / "benchmarks" / "ctpe_oracles.json").read_text()
    )
    return found

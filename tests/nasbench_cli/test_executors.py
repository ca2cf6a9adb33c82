"""Executors by name: ours, those of a plug-in, and what is refused."""

from __future__ import annotations

import importlib.machinery
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nasbench.cli.checks import EXECUTOR_CHECKS, Failed
from nasbench.cli.engine.executors import EXECUTORS, Work, chosen
from nasbench.cli.engine.executors.serial import Serial
from nasbench.cli.engine.keys import asked_grid
from nasbench.cli.engine.session import begin
from nasbench.cli.engine.suites import Suite
from nasbench.methods import METHODS
from nasbench.results import Store
from nasbench.results.store import content_hash
from tests.conftest import Lend, Printed
from tests.nasbench_cli.conftest import Command
from tests.nasbench_cli.promises import by_promise
from tests.nasbench_cli.toys import Deaf

ASKED = ("run", "--method", "random", "--method", "evolution", "--bench", "hpobench-car", "--seeds", 3, "--evals", 15)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--executor", "slurm"], "unknown executor 'slurm'; allowed: processes, ray, serial"),
        (["--executor", "process"], "did you mean processes"),
        (["--executor", "serial", "--jobs", 2], "serial computes one run at a time"),
        (["--executor", "processes:seconds=3"], "unknown option of processes 'seconds'"),
        (["--executor", "processes:ask_seconds=soon"], "option ask_seconds of processes must be a number, not 'soon'"),
        (["--executor", "processes:evaluation_seconds=0"], "evaluation_seconds must be positive, not 0"),
        (["--jobs", 0], "jobs must be at least 1, and a whole number, not 0"),
    ],
)
def test_an_executor_that_cannot_be_had_is_refused_before_anything_else(
    nasbench: Callable[..., Printed], tmp_path: Path, words: list[object], said: str
) -> None:
    printed = nasbench(*ASKED, "--store", tmp_path / "s", *words)
    assert (printed.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert said in printed.err
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("forking", "live_at_once")
@pytest.mark.parametrize("executor", ["serial", "processes:ask_seconds=600"])
def test_our_executors_keep_their_promises(nasbench: Callable[..., Printed], executor: str) -> None:
    checked = nasbench("check", executor)
    assert checked.code == 0, checked.out
    assert f"{executor}: 5 of 5 promises kept" in checked.out


@pytest.mark.slow
def test_the_executor_of_a_plugin_is_listed_checked_and_used(command: Command, tmp_path: Path) -> None:
    listed = {row["name"]: row for row in json.loads(command("list", "executors", "--json").stdout)}
    assert listed["pool"]["options"] == "nice=10"
    assert listed["serial"]["summary"] == "cannot be loaded: executor 'serial' is registered twice"  # ours stays
    assert listed["no-executor"]["summary"].startswith(
        "cannot be loaded: executor 'no-executor' has the wrong type 'int'"
    )
    assert "niceness of the processes" in command("show", "pool").stdout
    checked = command("check", "pool:nice=1")
    assert checked.returncode == 0, checked.stdout
    assert "pool:nice=1: 5 of 5 promises kept" in checked.stdout
    done = command(*ASKED, "--method", "careful", "--executor", "pool:nice=0", "--jobs", 2, "--store", "pool")
    assert done.returncode == 0, done.stderr
    assert command(*ASKED, "--method", "careful", "--store", "alone").returncode == 0
    assert content_hash(Store.open(tmp_path / "pool")) == content_hash(Store.open(tmp_path / "alone"))
    refused = command(*ASKED, "--executor", "pool:nice=20")
    assert (refused.returncode, refused.stderr) == (2, "nasbench: nice must lie in [0, 19], not 20\n")


class Loses(Serial):
    """Computes all batches but one."""

    def execute(self, work: Work) -> Any:
        for batch in work.batches(1)[1:]:
            yield from work.compute(batch)


def test_an_executor_that_loses_runs_is_found(lend: Lend) -> None:
    lend(EXECUTORS, "loses", Loses)
    with pytest.raises(Failed, match="3 of 6 runs are missing from the store"):
        by_promise(EXECUTOR_CHECKS, "stores what one process stores")("loses")


def test_an_executor_that_fails_is_named(nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend) -> None:
    class Idle(Deaf):
        def execute(self, work: Work) -> Any:
            return None

    lend(EXECUTORS, "idle", Idle)
    done = nasbench(*ASKED, "--executor", "idle", "--store", tmp_path / "s")
    assert done.code == 2
    assert "nasbench: executor Idle fails: TypeError: 'NoneType' object is not iterable" in done.err


@pytest.mark.slow
def test_an_executor_that_does_not_stop_is_found(nasbench: Callable[..., Printed], lend: Lend) -> None:
    lend(EXECUTORS, "deaf", Deaf)
    checked = nasbench("check", "deaf")
    assert checked.code == 1
    assert "BROKEN  stops when told, and a second command completes the store: it does not stop" in checked.out
    assert "and goes on: it computes a third party's method in the process of the command" in checked.out


class Ray:
    """The part of Ray that the executor uses, in this process: waiting for a task computes it."""

    exceptions = SimpleNamespace(
        WorkerCrashedError=ChildProcessError,
        NodeDiedError=ConnectionError,
        OutOfMemoryError=MemoryError,
        RayTaskError=ArithmeticError,
    )
    __spec__ = importlib.machinery.ModuleSpec("ray", None)

    def __init__(self) -> None:
        self.options: dict[str, dict[str, Any]] = {}
        """The options of the batches of each method."""

    def init(self, **where: object) -> None: ...

    def shutdown(self) -> None: ...

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 2}}]

    def remote(self, **settings: object) -> Callable[..., Any]:
        def task(function: Callable[..., Any]) -> Any:
            def options(**chosen: Any) -> Any:
                def submit(batch: Any, journals: Path) -> Any:
                    self.options[batch.planned.spec.name] = chosen
                    return function, batch, journals

                return SimpleNamespace(remote=submit)

            return SimpleNamespace(options=options)

        return task

    def wait(self, tasks: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task: Any) -> Any:
        function, batch, journals = task
        return function(batch, journals)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ray]:
    made = Ray()
    monkeypatch.setitem(sys.modules, "ray", made)  # type: ignore[arg-type]
    return made


def test_on_ray_a_third_partys_method_has_processes_of_its_own(
    ray: Ray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    monkeypatch.setattr(METHODS, "is_foreign", lambda name: name == "evolution")
    grid = asked_grid(methods=["random", "evolution", "local"], benchmarks=["hpobench-car"], seeds=2, evals=5)
    session = begin(Suite((grid,)), tmp_path / "store", "a test")
    assert sum(map(len, session.compute(chosen("ray", 1)))) == 6
    assert session.outcome() == ([], 0)
    assert ray.options["random"] == ray.options["local"] == {"num_cpus": 1.0, "num_gpus": 0.0}
    variables = ray.options["evolution"]["runtime_env"]["env_vars"]  # Ray has processes for each environment
    assert variables["NASBENCH_METHOD"] == "evolution"
    assert variables["NASBENCH_DATA"] == str(tmp_path)


@pytest.mark.parametrize(
    "error",
    [Exception("The current node timed out during startup.\nDetails."), TimeoutError("timed out"), RuntimeError()],
)
def test_a_start_of_ray_that_fails_is_one_sentence_with_what_to_do(
    error: Exception, nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, ended = signal.getsignal(signal.SIGTERM), []

    class Fails(Ray):
        def init(self, **where: object) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Ray sets a handler of its own
            raise error

        def shutdown(self) -> None:
            ended.append(True)

    monkeypatch.setitem(sys.modules, "ray", Fails())
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    asked = ["run", "--method", "random", "--bench", "nb201-cifar10", "--seeds", "1", "--evals", "3"]
    done = nasbench(*asked, "--executor", "ray", "--store", tmp_path / "store")
    assert (done.code, ended, signal.getsignal(signal.SIGTERM)) == (2, [True], before)
    reason = str(error).partition("\n")[0].rstrip(".") or "RuntimeError"
    assert done.err.splitlines()[-1] == (
        f"nasbench: Ray does not start on this machine: {reason}; give the same command again when the machine is less "
        "busy, or without --executor ray"
    )

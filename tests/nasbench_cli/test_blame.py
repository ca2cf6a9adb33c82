"""What third parties' code does to a command beside its evaluations: who is blamed, and what is left behind."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nasbench.base.foreign import foreign, guarded
from nasbench.benchmarks import BENCHMARKS, Evaluation, Level, UsageError, abilities, open_benchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.checks.methods import Trial
from nasbench.cli.engine.evaluations import attempt
from nasbench.cli.engine.failures import OF_BENCHMARK
from nasbench.cli.engine.shared_state import changed, shared_state
from nasbench.methods import METHODS, About, LongSearch, MethodSpec, Problem
from nasbench.methods.local_search import LocalSearch, ParetoLocalSearch
from nasbench.methods.random_search import RandomSearch
from tests.conftest import Lend
from tests.nasbench_cli.conftest import Command
from tests.nasbench_cli.toy_runs import toy_run
from tests.nasbench_cli.toys import Careful, Toy

SPACE = """
from nasbench.benchmarks.spaces import GridSpace, Ordinal

class Growing(GridSpace):
    def neighbours(self, configuration):
        return ()[0]

    def check(self, configuration):
        if wrong:
            super().check(None)

space, wrong = Growing([Ordinal("width", tuple(range(10)))]), False
"""


def growing(**names: Any) -> Toy:
    """A toy on a space of a module of its own, as a third party's is."""
    module: dict[str, Any] = {"__name__": "growing"}
    exec(SPACE, module)
    module |= names
    benchmark = Toy()
    benchmark.space = module["space"]
    return benchmark


def test_what_a_third_partys_space_raises_in_a_search_is_no_failure_of_the_method() -> None:
    """After ten such runs the method was left out on all benchmarks."""
    failure = toy_run(LocalSearch, growing()).failure
    assert failure.startswith(f"Growing {OF_BENCHMARK}, in ask: IndexError: tuple index out of range (<string>:")
    assert not toy_run(RandomSearch, growing()).failure


def test_a_proposal_that_such_a_space_refuses_is_a_failure_of_the_method() -> None:
    assert toy_run(RandomSearch, growing(wrong=True)).failure.startswith("ask: ForeignConfiguration: ")


def test_what_a_benchmark_does_when_it_is_opened_or_asked_stays_with_it(lend: Lend) -> None:
    class Opened(Toy):
        name = "toy-opened"

        def __init__(self) -> None:
            np.seterr(all="raise")

        def make_ready(self) -> None:
            np.seterr(all="ignore")

        gpus = 1.0

        def device(self) -> str:
            raise AssertionError("PyTorch is not compiled with CUDA enabled")

    before = np.geterr()
    lend(BENCHMARKS, "toy-opened", Opened)
    benchmark = open_benchmark("toy-opened")
    abilities.make_ready(benchmark)
    assert np.geterr() == before
    with pytest.raises(UsageError, match="toy-opened fails when it is asked for its device: AssertionError: PyTorch"):
        abilities.device(benchmark)


def test_alarms_and_silence_of_a_plugin_end_with_it() -> None:
    level, handler = logging.root.manager.disable, signal.getsignal(signal.SIGALRM)
    with foreign():
        logging.disable(logging.CRITICAL)
    with guarded():
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.alarm(100)
    assert logging.root.manager.disable == level
    assert signal.getsignal(signal.SIGALRM) == handler
    assert signal.alarm(0) == 0


def test_programs_that_a_plugin_starts_print_on_standard_error() -> None:
    code = "import subprocess; from nasbench.base.foreign import guarded\n"
    code += "with guarded(): subprocess.run(['echo', 'solved'])\nsubprocess.run(['echo', 'told'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("told\n", "solved\n")


def test_a_closed_standard_output_stays_closed() -> None:
    code = "import os; from nasbench.base.foreign import guarded\nos.close(1)\nwith guarded(): print('a')\n"
    code += "try: os.fstat(1)\nexcept OSError: raise SystemExit(7)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "a\n")


TWO = """
from nasbench.methods import METHODS
from nasbench.methods.random_search import RandomSearch


class First(RandomSearch):
    "The one that is named."


@METHODS.register("second-one")
class Second(RandomSearch):
    "The one beside it."
"""


def test_a_method_beside_a_plugins_own_is_a_third_partys_too(command: Command, tmp_path: Path) -> None:
    """Otherwise it would share its process with ours, and change what these compute."""
    (tmp_path / "twofold.py").write_text(TWO)
    (tmp_path / "twofold-1.0.dist-info").mkdir()
    facts = {"METADATA": "Metadata-Version: 2.1\nName: twofold\nVersion: 1.0\n"}
    facts["entry_points.txt"] = "[nasbench.methods]\nfirst-one = twofold:First\n"
    for name, text in facts.items():
        (tmp_path / "twofold-1.0.dist-info" / name).write_text(text)
    code = "from nasbench.methods import METHODS, MethodSpec\n"
    code += "print([MethodSpec.parse(n).is_foreign for n in ('first-one', 'second-one', 'random')])"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[True, True, False]\n"


def test_a_long_search_whose_seconds_are_none_is_to_blame_itself() -> None:
    class Unpaid(Careful, LongSearch):
        unpaid: Any = None
        beginning = 0.0

    assert toy_run(Unpaid).failure.startswith("ask: ValueError: unpaid is None, which is no number")


def test_a_reason_may_be_an_error() -> None:
    class Explained(Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            reason: Any = RuntimeError("diverged")
            return Evaluation({}, 1.0, "failed", reason)

    assert attempt(Explained(), (0, 0, 0, 0), 0).reason == "diverged"


@pytest.mark.parametrize("initial", [None, "many"])
def test_an_initial_phase_that_is_no_number_is_named(initial: object, lend: Lend) -> None:
    class Vague(RandomSearch):
        about = About(initial=lambda options: initial)  # type: ignore[arg-type, return-value]

    lend(METHODS, "vague", Vague)
    with pytest.raises(UsageError, match="vague fails when asked for its initial phase: TypeError"):
        _ = MethodSpec("vague").initial


def test_an_option_initial_of_another_meaning_is_no_number_of_evaluations(lend: Lend) -> None:
    class Begins(RandomSearch):
        def __init__(self, problem: Problem, rng: np.random.Generator, *, initial: str = "random") -> None:
            super().__init__(problem, rng)

    lend(METHODS, "begins", Begins)
    assert MethodSpec("begins").initial == 0


def test_a_method_that_cannot_be_made_ready_is_named_by_a_check(lend: Lend) -> None:
    class Unready(RandomSearch):
        def make_ready(self) -> None:  # type: ignore[override]
            """Lacks `classmethod`."""

    lend(METHODS, "unready", Unready)
    with pytest.raises(UsageError, match="method unready cannot be made ready: TypeError: "):
        Trial.of("unready", "hpolib-naval")


def test_a_class_that_extends_local_search_is_what_it_says() -> None:
    class Mine(LocalSearch):
        """Another step."""

    benchmark, rng = open_benchmark("nb201-cifar10"), np.random.default_rng(0)
    two = tuple(metric for metric in benchmark.metrics if not metric.is_test)[:2]
    problem = Problem.of(benchmark, objectives=two)
    assert type(Mine(problem, rng)) is Mine
    assert Mine(problem, rng).ask()
    assert type(LocalSearch(problem, rng)) is ParetoLocalSearch


class Mapped(RandomSearch):
    """Keeps a large array for all its objects."""

    table = np.zeros(1 << 24)


def test_large_arrays_are_compared_by_some_of_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a mapped file of gigabytes was copied before and after each batch."""
    copied: list[bytes] = []

    def dumps(value: object) -> bytes:
        copied.append(pickle.dumps(value))
        return copied[-1]

    monkeypatch.setattr("nasbench.cli.engine.shared_state.pickle", SimpleNamespace(dumps=dumps))
    before = shared_state(Mapped)
    assert max(map(len, copied)) < 1 << 20
    Mapped.table[:] = 1.0
    assert changed(before, Mapped)


@pytest.mark.parametrize("found", [None, ModuleType("torch")])
def test_a_module_called_torch_that_is_not_pytorch_disturbs_nothing(
    found: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with guarded():
        monkeypatch.setitem(sys.modules, "torch", found)
        signal.signal(signal.SIGALRM, lambda *_: None)
    assert signal.getsignal(signal.SIGALRM) == handler
    with guarded():
        pass

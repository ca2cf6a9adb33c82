"""Plug-ins that end the process, and places that are none: each is one sentence, with an exit code that is not 0."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench import run
from nasbench.base import foreign as foreign_module
from nasbench.base.foreign import Broken, end_copies, end_process, ends_nothing, foreign
from nasbench.benchmarks import BENCHMARKS, Evaluation, UsageError
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods import METHODS
from nasbench.methods.random_search import RandomSearch
from tests.conftest import Lend, Printed
from tests.nasbench_cli.toys import Toy


def test_a_plugin_that_exits_ends_no_command_in_silence(
    nasbench: Callable[..., Printed], lend: Lend, tmp_path: Path
) -> None:
    class Leaves(Toy):
        def __init__(self) -> None:
            print("loading\x1b[31m")
            sys.exit(0)

    lend(BENCHMARKS, "toy-leaves", Leaves)
    asked = ("run", "--method", "random", "--bench", "toy-leaves", "--store", tmp_path / "s")
    done = nasbench(*asked)
    assert (done.code, done.out) == (2, "")
    assert "nasbench: benchmark toy-leaves cannot be opened: SystemExit: 0" in done.err
    assert "\x1b" not in done.err

    class LeavesLater(Toy):
        name = "toy-later"

        def seconds_each(self) -> float:
            sys.exit(0)

    lend(BENCHMARKS, "toy-later", LeavesLater)
    done = nasbench(*asked[:-4], "--bench", "toy-later", "--store", tmp_path / "s")
    assert done.code == 2
    assert "nasbench: benchmark toy-later fails when it is asked for its time per evaluation: SystemExit: 0" in done.err


def test_a_plugin_changes_neither_the_folder_nor_how_numpy_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    before = np.geterr()
    with suppress(Broken), foreign():
        os.chdir("elsewhere")
        np.seterr(all="raise")
        raise ValueError
    assert Path.cwd() == tmp_path
    assert np.geterr() == before


def test_a_plugin_leaves_others_no_fewer_calls_within_calls() -> None:
    before = sys.getrecursionlimit()
    try:
        for limit, left in ((120, before), (before + 10, before + 10)):
            with foreign():
                sys.setrecursionlimit(limit)
            assert sys.getrecursionlimit() == left
    finally:
        sys.setrecursionlimit(before)


def test_a_plugin_does_not_change_what_tensors_of_others_are() -> None:
    """A common line at the top of a file of Gaussian processes made every live training of other methods fail."""
    torch = pytest.importorskip("torch")
    with foreign():
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        torch.use_deterministic_algorithms(True)
    assert (torch.get_default_dtype(), torch.get_default_device()) == (torch.float32, torch.device("cpu"))
    assert (torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled()) == (True, False)
    assert not torch.overrides._get_current_function_mode_stack()  # as before: nothing is asked at each new tensor


def test_a_plugin_that_imports_pytorch_leaves_others_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.delitem(sys.modules, "torch")
    with foreign():
        monkeypatch.setitem(sys.modules, "torch", torch)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == (torch.float32, True)


def test_a_run_leaves_its_process_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    """A method that is a file of our folder shares its process with other methods."""

    class Meddles(RandomSearch):
        def ask(self) -> Configuration:
            os.chdir("elsewhere" if Path("elsewhere").exists() else ".")
            np.seterr(all="raise")
            warnings.filterwarnings("error")
            return super().ask()

    lend(METHODS, "meddles", Meddles)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    before = np.geterr(), list(warnings.filters)
    run("meddles", "hpolib-naval", seeds=1, evals=2, store="s")
    assert (np.geterr(), list(warnings.filters)) == before
    assert Path.cwd() == tmp_path
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == []


def test_places_that_are_none_are_refused(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    done = nasbench("run", "--method", "random", "--bench", "hpolib-naval", "--store", tmp_path / "link")
    assert (done.code, "it is no folder; give another --store" in done.err) == (2, True)
    with pytest.raises(UsageError, match="a store is the path of a folder, not ''"):
        run("random", "hpolib-naval", seeds=1, evals=2, store="")
    done = nasbench("check", "processes", "--bench", "digits")
    assert (done.code, "--bench is for methods, and processes is an executor" in done.err) == (2, True)
    (tmp_path / "file").touch()
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="is no folder, and data are kept there"):
        data_folder()


def test_guards_within_each_other_keep_the_limit_of_the_outer_one() -> None:
    with foreign():
        with foreign():
            pass
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_command_in_an_error_names_a_path_as_a_shell_reads_it(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("random", "hpolib-naval", seeds=1, evals=3, store="my store")
    assert nasbench("archive", "make", "my store").code == 0
    said = [
        nasbench(*words).err
        for words in (["archive", "check", "my store"], ["report", "my store.zip"], ["show", "my store"])
    ]
    commands = [command for text in said for command in re.findall(r"`nasbench ([^`]+)`", text)]
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command.replace("METHOD BENCH SEED", "random hpolib-naval 0"))
        done = nasbench(*words, *(["--out", "r"] if words[0] == "report" else []))
        assert done.code == 0, (command, done.err)


def test_third_party_code_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert foreign_module._SECONDS == 60  # docs/notebook/reliability.md
    monkeypatch.setattr(foreign_module, "_SECONDS", 0.2)
    with pytest.raises(Broken, match=r"TimeoutError: not done after 0\.2 s"), foreign():
        threading.Event().wait(20)


def test_a_copy_of_the_process_ends_where_it_comes_back_and_the_process_is_told() -> None:
    """A method that forked a helper and forgot to end it doubled its processes with every search of a check."""
    with ends_nothing():
        end_copies()
        copy = os.fork()
        if not copy:
            end_copies()
            end_process(7)
        assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 1
        with pytest.raises(RuntimeError, match=r"a copy of this process \(os.fork\) went on as if it were this one"):
            end_copies()
    end_copies()  # outside nothing is guarded


def test_a_copy_that_comes_out_of_a_run_ends() -> None:
    copy, process = 0, os.getpid()
    with ends_nothing():
        copy = os.fork()
    if os.getpid() != process:
        end_process(7)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 1


def test_a_method_that_forks_fails_alone(nasbench: Callable[..., Printed], lend: Lend, tmp_path: Path) -> None:
    class Forking(RandomSearch):
        def ask(self) -> object:
            if copy := os.fork():
                os.waitpid(copy, 0)
            return super().ask()

    lend(METHODS, "forking", Forking)
    asked = ("run", "--method", "forking", "--method", "random", "--bench", "hpolib-naval", "--evals", "5")
    done = nasbench(*asked, "--seeds", "1", "--jobs", "1", "--store", tmp_path / "s")
    assert done.code == 1
    assert "stopped: ask: RuntimeError: a copy of this process (os.fork) went on" in done.err
    assert "1 run with failures" in done.err


def test_a_benchmark_that_forks_fails_its_evaluations_and_no_method(
    nasbench: Callable[..., Printed], lend: Lend, tmp_path: Path
) -> None:
    class Forking(Toy):
        name = "toy-forking"

        def measure(self, configuration: Any, seed: int, upto: Any, state: Any, /) -> Evaluation:
            if copy := os.fork():
                os.waitpid(copy, 0)
            return super().measure(configuration, seed, upto, state)

    lend(BENCHMARKS, "toy-forking", Forking)
    asked = ("run", "--method", "random", "--bench", "toy-forking", "--evals", "3", "--seeds", "1", "--jobs", "1")
    done = nasbench(*asked, "--store", tmp_path / "s")
    assert "failed evaluations: RuntimeError: a copy of this process (os.fork) went on" in done.err
    assert "stopped: ask" not in done.err

"""Methods that fail: where the reason says it was, how equal reasons are told, and when a method's runs end."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.base.foreign import described
from nasbench.benchmarks import Evaluation, Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.commands.messages import say_failures
from nasbench.cli.engine.failures import FEWEST, OF_BENCHMARK, FirstRuns, kind
from nasbench.methods import METHODS
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord
from tests.conftest import Lend, Printed
from tests.nasbench_cli.bob import TO_BLAME, install
from tests.nasbench_cli.conftest import Command
from tests.nasbench_cli.toy_runs import rows, toy_run
from tests.nasbench_cli.toys import Careful, Foreigner, RaisesAtOnce, Toy
from tests.results.conftest import make_setup

REASON = f"ask: LinAlgError: Matrix is not positive definite ({TO_BLAME})"


def asked(*methods: str, seeds: int = 25) -> list[object]:
    named = [word for name in methods for word in ("--method", name)]
    return ["run", *named, "--bench", "hpobench-car", "--seeds", seeds, "--evals", 3, "--store", "s"]


@pytest.mark.parametrize("place", ["here", "site-packages"])
def test_the_reason_names_the_last_line_in_the_methods_own_file(command: Command, tmp_path: Path, place: str) -> None:
    """Not numpy's, also where the author has installed the method beside it."""
    done = command(*asked("bad", seeds=2), **install(tmp_path / place))
    assert set(pd.read_parquet(tmp_path / "s")["reason"]) == {REASON}
    assert f"failed: 2 runs, bad on hpobench-car, none, seed 0 first: stopped: {REASON}\n" in done.stderr
    checked = command("check", "bad", "--bench", "hpobench-car", **install(tmp_path / f"again-{place}"))
    assert checked.stdout.count(REASON.removeprefix("ask: ")) == 2  # in `refuses spaces …` it is part of a sentence


def test_a_proposal_that_is_not_of_the_space_is_located_nowhere() -> None:
    """The line is that of the harness's own check."""
    failure = toy_run(Foreigner).failure
    assert failure.startswith("ask: ForeignConfiguration: ")
    assert ".py:" not in failure


def test_an_error_in_our_code_is_located_where_the_method_called_it() -> None:
    class Wrong(Careful):
        def ask(self) -> Configuration:
            return self.space.mutate(None, self.rng)

    line = Wrong.ask.__code__.co_firstlineno + 1
    assert toy_run(Wrong).failure.endswith(f"(test_failures.py:{line})")


def test_a_method_in_our_folder_is_located_in_its_own_file_too(tmp_path: Path) -> None:
    """As the README has it: one file in methods/ is a method."""
    source = tmp_path / "mine.py"
    source.write_text(
        "from tests.nasbench_cli.toys import Careful\n"
        "class Wrong(Careful):\n"
        "    def ask(self):\n"
        "        return self.space.mutate(None, self.rng)\n"
    )
    spec = importlib.util.spec_from_file_location("nasbench.methods.mine", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert toy_run(module.Wrong).failure.endswith("(mine.py:4)")


def test_equal_reasons_have_equal_texts_wherever_an_object_lies_in_memory() -> None:
    class Wrong(Careful):
        def ask(self) -> Configuration:
            raise ValueError(f"odd: {object()!r}, {(n for n in [1])!r}")

    assert toy_run(Wrong).failure.startswith("ask: ValueError: odd: <object object>, <generator object ")
    assert " at 0x" not in toy_run(Wrong).failure


def test_a_failed_evaluation_is_located_in_the_benchmarks_own_file() -> None:
    class Wrong(Toy):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return Evaluation({"loss": float(len(self.space.to_json((99,))))}, 1.0)

    line = Wrong.measure.__code__.co_firstlineno + 1
    ((reason,),) = set(rows(toy_run(benchmark=Wrong()), "reason"))
    assert str(reason).endswith(f"(test_failures.py:{line})")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_that_fails_in_its_first_runs_in_the_same_way_ends_its_own_runs(
    command: Command, tmp_path: Path, jobs: int
) -> None:
    bob = install(tmp_path / "site")
    done = command(*asked("bad", "bob", seeds=60), "--jobs", jobs, **bob)
    assert done.returncode == 1
    runs = pd.read_parquet(tmp_path / "s").groupby("method")["seed"].nunique().to_dict()
    assert runs["bob"] == 60
    assert FEWEST <= runs["bad"] < 60  # those that another process had begun are stored
    said = f"bad: its first 10 runs failed in the same way, so others are left out (unless --keep-going): {REASON}"
    assert done.stderr.count(said) == 1
    assert f"{60 - runs['bad']} runs are still missing" in done.stderr
    if jobs == 1:
        assert runs["bad"] == FEWEST
    further = command(*asked("bad", "bob", seeds=60), "--keep-going", **bob)
    assert "left out" not in further.stderr + further.stdout
    assert f"failed: 60 runs, bad on hpobench-car, none, seed 0 first: stopped: {REASON}\n" in further.stderr
    assert "still missing" not in further.stderr


def test_live_runs_of_a_failing_method_end_after_ten(command: Command, tmp_path: Path) -> None:
    done = command(
        "run", "--method", "raises-at-once", "--bench", "toy-live", "--seeds", 14, "--evals", 2, "--store", "s"
    )
    assert done.returncode == 1
    assert pd.read_parquet(tmp_path / "s")["seed"].nunique() == FEWEST
    assert "4 runs are still missing" in done.stderr


def test_in_the_process_of_the_command_a_failing_method_ends_after_ten_runs_too(
    nasbench: Callable[..., Printed], lend: Lend, tmp_path: Path
) -> None:
    lend(METHODS, "bad", RaisesAtOnce)
    assert nasbench(*asked("bad", "random")[:-1], tmp_path / "s").code == 1
    assert pd.read_parquet(tmp_path / "s").groupby("method")["seed"].nunique().to_dict() == {"bad": 10, "random": 25}


def test_a_method_with_one_sound_run_goes_on() -> None:
    first = FirstRuns()
    assert not any(
        first.ends("sound", failure) for failure in ["ask: 1 (a.py:3)"] * 9 + [""] + ["ask: 1 (a.py:3)"] * 30
    )
    assert not any(first.ends("various", f"ask: wrong (a.py:{i % 2})") for i in range(30))
    assert not any(first.ends("elsewhere", f"toy {OF_BENCHMARK}: gone") for _ in range(30))
    ends = [first.ends("bad", f"ask: {i / 7:.3f} is wrong (a.py:3)") for i in range(30)]
    assert ends == [False] * 9 + [True] + [False] * 20
    assert first.over == {"bad"}


def test_reasons_are_the_same_but_for_their_numbers_and_not_for_their_line() -> None:
    assert kind("ask: KeyError: 0.25 (a.py:12)") == kind("ask: KeyError: 1e-05 (a.py:12)")
    assert kind("ask: KeyError: 0.25 (a.py:12)") != kind("ask: KeyError: 0.25 (a.py:13)")
    assert kind("KeyError: 0.25 (a.py:12)") != kind("IndexError: 0.25 (a.py:12)")
    assert kind("ask 3 took longer than 60 s") == kind("ask 14 took longer than 60 s")


def test_equal_reasons_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def record(seed: int, stopped: str = "", evaluation: str = "") -> RunRecord:
        return RunRecord(seed, 3, stopped, 2 if evaluation else 0, stopped or evaluation, "", "")

    one, other = make_setup("bob"), make_setup("bob", "other")
    many = [(setup, record(seed, "ask: no (bob.py:3)")) for setup in (one, other) for seed in range(1500)]
    some = [(one, record(2000 + i, evaluation=f"no {name}")) for i, name in enumerate(["relu", "conv", "pool"])]
    some.append((other, record(2000, evaluation="no relu")))
    others = [(other, record(7, "tell: no (bob.py:9)")), (make_setup("al"), record(0, "ask: no (bob.py:3)"))]
    say_failures([*some, *many, *others])
    assert capsys.readouterr().err.splitlines() == [
        "failed: 3,000 runs, bob on toy, none, seed 0 first: stopped: ask: no (bob.py:3)",
        "failed: bob on other, none, seed 7: stopped: tell: no (bob.py:9)",
        "failed: al on toy, none, seed 0: stopped: ask: no (bob.py:3)",
        "failed: 4 runs, bob on toy, none, seed 2000 first: 8 failed evaluations: no relu",
        "3,006 runs with failures; when the cause is fixed, give the same command with --retry-failed",
    ]


def test_promises_broken_for_the_same_reason_are_told_together(command: Command, tmp_path: Path) -> None:
    done = command("check", "bad", "--bench", "hpobench-car", **install(tmp_path / "site"))
    broken = [line for line in done.stdout.splitlines() if line.startswith("BROKEN")]
    assert broken[0].startswith("BROKEN  proposes members of the space: LinAlgError: ")
    assert "for the same reason as `proposes members of the space`: same seed, same proposals" in broken[-1]
    count = int(re.findall(r"BROKEN  (\d+) more promises", broken[-1])[0])
    assert f"bad: {14 - count - len(broken) + 1} of 14 promises kept" in done.stdout


@pytest.mark.parametrize(
    "words", [asked("bad", seeds=2), ["check", "bad", "--bench", "hpobench-car"]], ids=["run", "check"]
)
def test_debug_shows_the_traceback_of_a_method(command: Command, tmp_path: Path, words: list[object]) -> None:
    bob = install(tmp_path / "site")
    for debug in (False, True):
        done = command(*["--debug"] * debug, *words, **bob)
        assert ("Traceback (most recent call last)" in done.stderr) == debug
        assert ("np.linalg.cholesky(-np.eye" in done.stderr) == debug
        (tmp_path / "s").exists() and Store.open(tmp_path / "s").folder.rename(tmp_path / f"s-{debug}")


def test_a_group_of_errors_is_described_with_the_first() -> None:
    group = ExceptionGroup("several", [ValueError("no <object at 0x7f00>"), KeyError("b")])
    assert described(group) == "ExceptionGroup: several (2 sub-exceptions), ValueError: no <object>"

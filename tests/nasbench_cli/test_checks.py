"""`nasbench check`: ours pass, what breaks a promise is found, and the template of a plug-in passes once installed."""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.benchmarks import BENCHMARKS, Evaluation, Fidelity, Level, Metric, Oracle, open_benchmark
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from nasbench.cli.checks import BENCHMARK_CHECKS, EXECUTOR_CHECKS, METHOD_CHECKS, Failed, NotTested
from nasbench.cli.checks import methods as method_checks
from nasbench.cli.checks.methods import Trial
from nasbench.cli.commands import check as check_command
from nasbench.methods import METHODS, MethodSpec, Observation, Problem
from tests.conftest import Lend, Printed
from tests.few_digits import register as register_few_digits
from tests.nasbench_cli.conftest import importing
from tests.nasbench_cli.promises import EXTRAS, ONE_SHOT, by_promise
from tests.nasbench_cli.toys import Careful, Hermit, Live, Toy

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"

TRIED = {
    "nasbot-rand": ("nasbot-rand:initial=4", "hpolib-slice"),
    "nasbot": ("nasbot:draws=20,initial=4", "hpolib-slice"),
    "ax-nei": ("ax-nei:initial=30",),
    "ax-nehvi": ("ax-nehvi:initial=30",),
    "scbo": ("scbo:power=6,initial=24",),
    "treebo": ("treebo:initial=24",),
    "rf-cei": ("rf-cei:initial=24",),
    "darts": ("darts:epochs=1",),
    "proxy": ("proxy:networks=6",),
    "milenas": ("milenas:epochs=1",),
    "zo-darts": ("zo-darts:epochs=1,T=2",),
    "zo-darts+": ("zo-darts+:epochs=1,T=2,stop=1,every=1",),
    "spos": ("spos:epochs=1,population=4,generations=2",),
    "zo-darts++": ("zo-darts++:epochs=1,T=2,stop=1,every=1,theta=0",),
}
"""What is tried smaller than its defaults; and everything else as it is."""
HERE = [check for check in BENCHMARK_CHECKS if "another process" not in check.promise]
"""Promises of benchmarks that are tried in this process; test_processors.py tries the other in one process for all."""
LIVE = ("few-digits@1", "digits@1", "few-digits/nasbench201@1", "few-digits/cnn@1")
SLOW = (
    "bananas",
    "c-bohb",
    "milenas",
    "nasbot",
    "proxy",
    "treebo",
    "turbo",
    "optuna-gp",
    "rf-cei",
    "rgpe",
    "spos",
    "darts",
    "zo-darts",
    "zo-darts+",
    "zo-darts++",
    "digits@1",
    "few-digits/cnn@1",
)


def named(names: Iterable[str]) -> list[Any]:
    """Parameters of a test; those that take longest make it a slow one."""
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else []) for name in names]


@pytest.mark.parametrize("name", named(METHODS.names()))
def test_our_methods_keep_their_promises(name: str, monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    if name == "optuna-gp":
        pytest.importorskip("torch")
    if name == "process":
        pytest.skip("it needs a program; tests/methods/test_process.py tries some")
    if name == "optunahub":
        pytest.skip("it needs a clone of the registry; tests/methods/test_external.py makes one, and checks it")
    tried = TRIED.get(name, (name,))
    if name in ONE_SHOT:
        tried = (*tried, f"{register_few_digits(monkeypatch, lend)}@1")
    for check in METHOD_CHECKS:
        if "another process" not in check.promise:  # test_processors.py tries that for all of them in one process
            check(*tried)


@pytest.mark.parametrize(
    "name", named([*(n for n in BENCHMARKS.names() if not n.startswith("medmnist-") and n != "digits"), *LIVE])
)
def test_our_benchmarks_keep_their_promises(name: str, monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    if name in LIVE:
        pytest.importorskip("torch")
        pytest.importorskip("sklearn")
        register_few_digits(monkeypatch, lend)
    for check in HERE:
        check(name)


class Known(Toy):
    """As it should be."""


class Forgetful(Careful):
    """Draws from the state that all code shares."""

    def ask(self) -> Configuration:
        random.random()
        return super().ask()


class Global(Careful):
    """Decides by the state that all code shares."""

    def ask(self) -> Configuration:
        return self.space.sample(np.random.default_rng(random.randrange(10**9)))

    def tell(self, observation: Observation) -> None:
        """Learns nothing."""


class Foreign(Careful):
    """Proposes what is not of the space."""

    def ask(self) -> Any:
        return [0, 0, 0, 0]


class Fragile(Careful):
    """Cannot go on after a failure."""

    def tell(self, observation: Observation) -> None:
        if math.isnan(observation.objective):
            raise ValueError("nan")


class Impatient(Careful):
    """Expects its answers in the order in which it asked."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.waiting: list[Configuration] = []

    def ask(self) -> Configuration:
        self.waiting.append(self.space.sample(self.rng))
        return self.waiting[-1]

    def tell(self, observation: Observation) -> None:
        if observation.configuration != self.waiting.pop(0):
            raise RuntimeError("not what I asked for first")


class Hidden(Careful):
    """Calls a view that it does not name."""

    def ask(self) -> Configuration:
        return self.space.as_flat().sample(self.rng)  # type: ignore[attr-defined]


class Unforgiving(Careful):
    """Cannot go on while nothing is feasible."""

    def tell(self, observation: Observation) -> None:
        if not observation.feasible and observation.evaluation.status == "ok":
            raise ValueError("infeasible")


class Resumed(Careful):
    """Leaves a file behind, and does something else where it finds it."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.state = problem.state

    def ask(self) -> Configuration:
        if self.state is not None and self.state.exists():
            return self.space.mutate(super().ask(), self.rng)
        if self.state is not None:
            self.state.write_text("here")
        return super().ask()

    def tell(self, observation: Observation) -> None:
        """Learns nothing."""


class Sharing(Careful):
    """Keeps what it was told in its class, and uses it once it has seen forty evaluations."""

    archive: ClassVar[list[Configuration]] = []

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.asked = 0

    def ask(self) -> Configuration:
        self.asked += 1
        drawn = self.space.sample(self.rng)
        return self.archive[len(self.archive) // 2] if self.asked > 40 else drawn

    def tell(self, observation: Observation) -> None:
        self.archive.append(observation.configuration)


class Inheriting(Sharing):
    """Has what its base shares."""


_COUNTED = [object(), 0]
"""What cannot be told by a text, and a number."""


class Counting(Sharing):
    """Keeps a number in its module."""

    def tell(self, observation: Observation) -> None:
        _COUNTED[1] = int(str(_COUNTED[1])) + 1

    def ask(self) -> Configuration:
        self.asked += 1
        drawn = self.space.sample(self.rng)
        return self.space.mutate(drawn, self.rng) if self.asked > 40 and int(str(_COUNTED[1])) > 300 else drawn


class Unwritable:
    """Has no text, and cannot be pickled."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> str:
        raise RuntimeError("no pickle")


class LateGlobal(Careful):
    """Draws well for sixty evaluations, as evolution does for a population, and then by the state that all share."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.asked = 0

    def ask(self) -> Any:
        self.asked += 1
        drawn = self.space.sample(self.rng)
        return drawn if self.asked <= 60 else self.later(drawn)

    def later(self, drawn: Configuration) -> Any:
        return self.space.sample(np.random.default_rng(random.randrange(10**9)))

    def tell(self, observation: Observation) -> None:
        """Learns nothing."""


class LateForeign(LateGlobal):
    """Then proposes what is not of the space."""

    def later(self, drawn: Configuration) -> Any:
        return list(drawn)


class Odd(Careful):
    """Keeps what cannot be compared."""

    kept: ClassVar[list[Unwritable]] = []

    def tell(self, observation: Observation) -> None:
        self.kept.append(Unwritable())


def test_what_searches_share_without_a_use_breaks_no_promise(lend: Lend) -> None:
    lend(METHODS, "odd", Odd)
    by_promise(METHOD_CHECKS, "same seed").function(Trial(MethodSpec("odd"), Known()))


@pytest.mark.parametrize(
    ("method", "promise", "sentence"),
    [
        (Forgetful, "same seed", "draws from the global random state of random"),
        (Global, "same seed", "led to .* as proposal 1"),
        (Sharing, "same seed", r"share archive of tests.nasbench_cli.test_checks.Sharing\) led to .* proposal 41"),
        (Inheriting, "same seed", r"share archive of tests.nasbench_cli.test_checks.Sharing\) led to .* proposal 41"),
        (LateGlobal, "same seed", "led to .* as proposal 61"),
        (LateForeign, "same seed", "not of the space"),
        (Counting, "same seed", r"share _COUNTED of tests.nasbench_cli.test_checks\) led to .* proposal \d+"),
        (Foreign, "proposes members", "not of the space"),
        (Fragile, "failed evaluations", "nan"),
        (Impatient, "any order", "not what I asked for first"),
        (Hidden, "refuses spaces", "name the views it calls"),
        (Unforgiving, "must learn", "infeasible"),
        (Unforgiving, "known beforehand", "infeasible"),
        (Unforgiving, "both kinds", "infeasible"),
        (Unforgiving, "nothing is feasible", "infeasible"),
        (Resumed, "resumes exactly", "a resume from half of a search"),
    ],
)
def test_a_method_that_breaks_a_promise_is_found(
    method: type[Careful], promise: str, sentence: str, lend: Lend
) -> None:
    lend(METHODS, "broken", method)
    trial = Trial(MethodSpec("broken"), Known())
    with pytest.raises(Exception, match=sentence):
        by_promise(METHOD_CHECKS, promise).function(trial)


def test_a_method_that_keeps_them_passes_every_check(lend: Lend) -> None:
    lend(METHODS, "careful", Careful)
    for check in METHOD_CHECKS:
        if "another process" in check.promise:  # which does not know it
            with pytest.raises(NotTested, match="registered only in this process"):
                check.function(Trial(MethodSpec("careful"), Known()))
        else:
            check.function(Trial(MethodSpec("careful"), Known()))


class Fixed(Careful):
    """Draws from a generator of its own."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, np.random.default_rng(42))


@pytest.mark.parametrize(("method", "is_told"), [(Fixed, True), (Careful, False)])
def test_a_method_that_makes_nothing_of_its_seed_is_told(method: type[Careful], is_told: bool, lend: Lend) -> None:
    lend(METHODS, "mine", method)
    said = by_promise(METHOD_CHECKS, "same seed").function(Trial(MethodSpec("mine"), Known()))
    assert ("and so for any other seed" in (said or "")) is is_told


class Lazy(Careful):
    """Proposes its first configuration for ever."""

    def ask(self) -> Any:
        self.first = getattr(self, "first", None) or super().ask()
        return self.first

    def tell(self, observation: Observation) -> None:
        pass


def test_a_method_that_proposes_one_configuration_keeps_its_promise_and_hears_of_it(lend: Lend) -> None:
    proposes = by_promise(METHOD_CHECKS, "proposes members")
    for method, told in ((Careful, None), (Lazy, "but all 24 are the same configuration")):
        lend(METHODS, "lent", method)
        assert proposes.function(Trial(MethodSpec("lent"), Known())) == told


class Copying(Careful):
    """Copies the metrics as if they were a dictionary."""

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        observation.evaluation.metrics.copy()  # type: ignore[attr-defined]


def test_what_fails_in_a_run_fails_in_a_check(lend: Lend) -> None:
    """There, metrics were a dictionary."""
    lend(METHODS, "copying", Copying)
    for promise in ("proposes members", "failed evaluations"):
        with pytest.raises(AttributeError, match="has no attribute 'copy'"):
            by_promise(METHOD_CHECKS, promise).function(Trial(MethodSpec("copying"), Known()))


class Yielding(Careful):
    """Its `ask` is a generator."""

    def ask(self) -> Any:
        yield super().ask()


def test_promises_that_a_generator_breaks_are_told_as_one(lend: Lend, capsys: pytest.CaptureFixture[str]) -> None:
    """Each had the address of another object."""
    lend(METHODS, "yielding", Yielding)
    assert not check_command.print_checks("yielding", "hpobench-car")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("BROKEN")]
    assert len(lines) == 3
    assert "ask gives <generator object Yielding.ask>, which is not of the space" in lines[0]
    assert lines[2].startswith("BROKEN  8 more promises, for the same reason as `proposes members of the space`")


class Drifting(Known):
    """Scores differently each time."""

    calls: ClassVar[list[int]] = []

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        self.calls.append(seed)
        return Evaluation({"loss": float(len(self.calls)), "size": float(configuration[0])}, 1.0)


class Short(Known):
    """Lacks a metric."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return Evaluation({"loss": 1.0}, 1.0)


class Worded(Known):
    """Gives a number as text."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        values: Any = {"loss": "1.5", "size": 1.0}
        return Evaluation(values, 1.0)


class Meaning(Known):
    """Knows the mean of one metric."""

    def mean_metrics(self, configuration: Configuration) -> dict[str, float]:
        return {"loss": 1.0}


class Beaten(Toy):
    """Says that the best score is higher than what it scores."""

    def oracle(self, bounds: Any) -> Oracle:
        return Oracle(50.0, 100.0, 1.0, 75.0, 50.0, 100.0, 0.0)


class Unbounded(Toy):
    """Its quantile lies below all values."""

    def quantile(self, metric: str, q: float) -> float:
        return -1.0


class Guessing(Known):
    """Knows something else beforehand."""

    def known(self, metric: str, configuration: Configuration) -> float:
        return -1.0


class Nameless(Known):
    """Does not say where its data come from."""

    source = ""


class Reversed(Known):
    """Says of its loss that more is better."""

    metrics = (replace(Known.metrics[0], minimize=False), *Known.metrics[1:])


class Untold(Known):
    """Does not say that it is measured on test data, which methods would be told."""

    metrics = (Metric("test-error", "%"), *Known.metrics[1:])


class Elsewhere(Known):
    """Was written on a machine with a GPU."""

    gpus = 1.0

    def device(self) -> str:
        raise AssertionError("PyTorch is not compiled with CUDA enabled")


class Crossed(Live):
    """Keeps in itself what it trains; another thread puts something else there."""

    metrics = (replace(Live.metrics[0], split="valid"), *Live.metrics[1:])

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        self.at_work = configuration
        time.sleep(0.05)
        return super().measure(self.at_work, seed, upto, state)


class Stuck(Known):
    """Mutates into itself."""

    class _Space(GridSpace):
        def mutate(self, configuration: Configuration, rng: Generator) -> Any:
            return configuration

    space = _Space([Ordinal("digit", tuple(range(10)))])


class Welcoming(Known):
    """Accepts whatever comes."""

    class _Space(GridSpace):
        def check(self, configuration: Configuration) -> None:
            pass

    space = _Space([Ordinal("digit", tuple(range(10)))])


class Shared(Known):
    """Draws from the state that all code shares."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        np.random.random()
        return super().measure(configuration, seed, upto, state)


class Miscounting(Known):
    """Stores three repetitions, and says two."""

    repetitions = 2

    def repetition_count(self, configuration: Configuration) -> int:
        return 2

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return Evaluation({"loss": float(seed % 3), "size": float(configuration[0])}, 1.0)


class Leaking(Miscounting):
    """Draws as it says at the end of a training, and otherwise before."""

    fidelity = Fidelity("epochs", "1 epoch", (1, 3))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        drawn = seed % 2 if upto == self.highest else seed % 7
        return Evaluation({"loss": float(drawn), "size": float(configuration[0])}, 1.0)


@pytest.mark.parametrize(
    ("benchmark", "promise", "sentence"),
    [
        (Leaking, "seeds draw repetitions", "of which it says that there are 2 repetitions"),
        (Drifting, "same seed", "then"),
        (Miscounting, "seeds draw repetitions", "of which it says that there are 2 repetitions"),
        (Short, "evaluations are whole", "lacks the metrics"),
        (Worded, "evaluations are whole", "its loss is '1.5', which is no number"),
        (Meaning, "evaluations are whole", r"the means of .* lack \['size'\]"),
        (Beaten, "beats the oracle", "below the oracle"),
        (Unbounded, "quantiles bound", "has 0% of 100 samples below it"),
        (Guessing, "known beforehand", "before an evaluation"),
        (Nameless, "says what it is", "source is empty"),
        (Reversed, "says what it is", "loss is to be maximised, and its name says the other direction"),
        (Untold, "says what it is", "has the name of what is measured on test data"),
        (Elsewhere, "says what it is", "fails when it is asked for its device: AssertionError: PyTorch"),
        (Crossed, "at the same time", r"scores .* alone, and .* beside another: evaluations are threads"),
        (Stuck, "consistent", "as it is"),
        (Welcoming, "foreign", "check accepts None"),
        (Shared, "global random state", "numpy"),
    ],
)
def test_a_benchmark_that_breaks_a_promise_is_found(benchmark: type[Toy], promise: str, sentence: str) -> None:
    with pytest.raises(Failed, match=sentence):
        by_promise(BENCHMARK_CHECKS, promise).function(benchmark())


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Metric("val-error", "%", "val"), "minimize of metric val-error of benchmark toy-odd must be True or False"),  # type: ignore[arg-type]
        (Metric("val-error", "%", True, "", "valid", "3"), "epoch of metric val-error of benchmark toy-odd must be a"),  # type: ignore[arg-type]
    ],
)
def test_a_metric_with_something_else_in_its_places_is_refused(metric: Metric, said: str, lend: Lend) -> None:
    class Odd(Known):
        name, metrics = "toy-odd", (metric,)

    lend(BENCHMARKS, "toy-odd", Odd)
    with pytest.raises(UsageError, match=said):
        open_benchmark("toy-odd")


def test_live_evaluations_in_threads_keep_their_promise() -> None:
    assert by_promise(BENCHMARK_CHECKS, "at the same time").function(Live()) is None


def test_a_benchmark_that_keeps_them_passes_every_check() -> None:
    for check in HERE:
        check.function(Known())


class Raising(Known):
    """Raises for some configurations, which a run records as failed evaluations."""

    raised = (0, 1, 2)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        if configuration[0] in self.raised:
            raise ValueError("too small\nto be trained")
        return super().measure(configuration, seed, upto, state)


def test_evaluations_that_raise_break_no_promise(lend: Lend) -> None:
    lend(METHODS, "careful", Careful)
    told = [check.function(Raising()) for check in HERE]
    assert sum("fail; the first: ValueError: too small to be trained (test_checks.py:" in str(one) for one in told) == 1
    for promise in ("proposes members", "same seed", "resumes exactly", "must learn", "failed evaluations"):
        by_promise(METHOD_CHECKS, promise).function(Trial(MethodSpec("careful"), Raising()))


def test_a_benchmark_all_of_whose_evaluations_raise_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Raising, "raised", range(10))
    with pytest.raises(Failed, match="50 of 50 fail; the first: ValueError: too small"):
        by_promise(BENCHMARK_CHECKS, "whole").function(Raising())


def test_a_space_of_one_configuration_needs_no_neighbours() -> None:
    for promise in ("consistent", "neighbours", "global random state"):
        by_promise(BENCHMARK_CHECKS, promise).function(Hermit())


def test_the_command_says_what_is_kept(nasbench: Callable[..., Printed]) -> None:
    done = nasbench("check", "evolution:population=5,tournament=2", "--bench", "hpolib-naval")
    assert done.code == 0
    assert "ok      resumes exactly" in done.out
    assert "14 of 14 promises kept" in done.out
    assert nasbench("check", "hpolib-naval").code == 0


def test_the_command_says_what_is_not_tested(nasbench: Callable[..., Printed], lend: Lend) -> None:
    lend(METHODS, "careful", Careful)
    done = nasbench("check", "careful", "--bench", "hpolib-naval")
    assert done.code == 0, done.out
    assert "?       another process, or processor, proposes the same (not tested: it is registered only in" in done.out
    assert done.out.endswith("careful: 13 of 14 promises kept, 1 not tested\n")


def test_the_command_says_what_is_broken(nasbench: Callable[..., Printed], lend: Lend) -> None:
    lend(METHODS, "fragile", Fragile)
    done = nasbench("check", "fragile")
    assert done.code == 1
    assert "BROKEN  lives with failed evaluations: ValueError: nan" in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("evolutoin",), "did you mean evolution"),
        (("darts", "--bench", "nb201-cifar10"), "darts cannot be tested: on nb201-cifar10 it trains"),
        (("hpolib-naval", "--bench", "hpolib-slice"), "--bench is for methods"),
        (("random", "--bench", "nowhere"), "unknown benchmark"),
        (("evolution:population=0",), "population must"),
        (("c-tpe:knowledge=-1",), "knowledge must be at least 0"),
    ],
)
def test_bad_input_is_one_sentence(nasbench: Callable[..., Printed], arguments: tuple[str, ...], sentence: str) -> None:
    done = nasbench("check", *arguments)
    assert done.code == 2, done.out
    assert sentence in done.err
    assert "BROKEN" not in done.out


def test_a_trial_is_refused_where_a_method_does_not_fit() -> None:
    with pytest.raises(UsageError, match="name another benchmark with --bench"):
        Trial.of("darts", "hpolib-naval")


@pytest.mark.slow
def test_the_template_of_a_plug_in_passes_once_installed(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    environment = os.environ | importing(target)
    command = [sys.executable, "-m", "nasbench"]
    for arguments in (("hill-climbing", "--bench", "rastrigin"), ("rastrigin",), ("pool",)):
        done = subprocess.run(
            [*command, "check", *arguments], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "test_example.py")]
    done = subprocess.run(tests, capture_output=True, text=True, check=False, env=environment, cwd=source)
    assert done.returncode == 0, done.stdout
    count = 2 * len(METHOD_CHECKS) + len(BENCHMARK_CHECKS) + len(EXECUTOR_CHECKS)
    assert f"{count} passed" in done.stdout


def test_a_method_that_takes_any_option_is_found(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    lend(METHODS, "careful", Careful)
    monkeypatch.setattr(method_checks.MethodSpec, "parse", lambda text: MethodSpec("careful"))
    with pytest.raises(Failed, match="the option no-such-option=1 is accepted"):
        by_promise(METHOD_CHECKS, "options it does not have").function(Trial(MethodSpec("careful"), Toy()))


def test_a_promise_that_is_never_tried_to_the_end_is_named_and_ended(
    lend: Lend, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that looks for a configuration that it has not proposed yet, where all have been."""

    class Endless(Careful):
        def ask(self) -> Configuration:
            while True:
                pass

    monkeypatch.setattr(check_command, "_PATIENCE", 0.05)
    monkeypatch.setattr(check_command, "_LONGEST_TRIAL", 0.2)
    lend(METHODS, "careful", Endless)
    done = nasbench("check", "careful", "--bench", "hpobench-car")
    assert done.code == 1
    assert "TimeoutError: it goes on for more than 0.2 s (test_checks.py:" in done.out
    assert "still trying: " in done.err

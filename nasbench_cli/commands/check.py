"""`nasbench check`: prints which promises a method, a benchmark or an executor keeps."""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from threading import current_thread, main_thread
from time import monotonic, perf_counter
from types import FrameType

import click

from nasbench.base.errors import unknown
from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.foreign import at_work, cleaned, guarded, interrupts_noted, pass_on, stable, trace
from nasbench.base.layout import one_line
from nasbench.base.numbers import count
from nasbench.base.registry import with_reasons
from nasbench.base.streams import say
from nasbench.benchmarks import BENCHMARKS, UsageError, abilities, open_benchmark
from nasbench.cli.checks import BENCHMARK_CHECKS, EXECUTOR_CHECKS, METHOD_CHECKS, Check, Failed, NotTested
from nasbench.cli.checks.methods import Trial, speed
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.engine.evaluations import explained
from nasbench.cli.engine.executors import EXECUTORS, chosen
from nasbench.cli.engine.failures import kind
from nasbench.methods import METHODS

_STATES = {"ok": "kept", "BROKEN": "broken", "?": "not tested"}
_LONGEST = 2_000  # letters of a failure: two configurations are in it
_PATIENCE = 30.0  # seconds after which a promise that is still being tried is named
_LONGEST_TRIAL = 600.0  # seconds of one promise of a method on a benchmark that trains nothing


@click.command(cls=Command)
@click.argument(
    "name",
    metavar="METHOD|BENCHMARK|EXECUTOR",
    shell_complete=_completion.anything,
)
@click.option("--bench", metavar="NAME", help="Benchmark to test a method on.  [default: one that it fits]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, when all promises have been tried.")
@takes_data_dir
def check(name: str, bench: str | None, as_json: bool) -> int:
    """Test whether a method, a benchmark or an executor, above all one of your own, keeps its promises.

    Methods and benchmarks: same seed, same result; exact resume; workers that finish in any order; failed evaluations;
    constraints; foreign configurations; JSON and back; no global random state. Executors: the same store as one process
    gives. Options may follow a name (NAME:OPTION=VALUE,…). `nasbench.cli.checks` has the same for your own tests.
    """
    with interrupts_noted():
        if not as_json:
            return DONE if print_checks(name, bench) else SOME_FAILED
        with redirect_stdout(sys.stderr):
            checks, names, item = _checks(name, bench)
            tried = [(one.promise, *_tried(one, names, item, _longest(checks, names))) for one in checks]
        promises = [{"promise": p, "state": _STATES[state], "remark": text.strip(" :")} for p, state, text in tried]
        say(json.dumps({"name": name, "on": names[1:], "promises": promises}, indent=1, ensure_ascii=False))
        return SOME_FAILED if any(state == "BROKEN" for _, state, _ in tried) else DONE


def print_checks(name: str, bench: str | None) -> bool:
    """Prints which promises a method, a benchmark or an executor keeps; returns whether it breaks none of them.

    Raises UsageError for an unknown name, an option out of its range, a method that fits no benchmark here, or missing
    data.
    """
    checks, names, item = _checks(name, bench)
    broken: dict[str, list[str]] = {}
    untested = 0
    longest = _longest(checks, names)
    for one in checks:
        state, text = _tried(one, names, item, longest)
        untested += state == "?"
        if state == "BROKEN":
            same = broken.setdefault(kind(text), [])
            same.append(one.promise)
            if len(same) > 1:
                continue  # it is named at the end
        say(f"{state:8}{one.promise}{text}")
    for first, *more in broken.values():
        if more:
            others = f"{count(len(more), 'more promise')}, for the same reason as `{first}`"
            say(f"BROKEN  {others}: {'; '.join(more)}")
    if checks is METHOD_CHECKS and not broken:
        say(f"speed   {speed(Trial.of(*names))}")
    rest = f", {untested} not tested" if untested else ""
    kept = len(checks) - sum(map(len, broken.values())) - untested
    say(f"{name}: {kept} of {len(checks)} promises kept{rest}")
    return not broken


def _longest(checks: tuple[Check, ...], names: tuple[str, ...]) -> float:
    """Seconds after which the trial of a promise is ended."""
    trains = checks is not METHOD_CHECKS or open_benchmark(names[1]).live
    return math.inf if trains else _LONGEST_TRIAL


@contextmanager
def _ends(promise: str, longest: float, item: type) -> Iterator[None]:
    """Says after a while which promise is being tried, and where, and ends the trial where it goes on for ever.

    It is ended by a signal, which raises in the code that does not end: so that the line is named. Where there are no
    such signals (outside the main thread, on Windows) nothing is said or ended.
    """
    if not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield
        return
    began = monotonic()

    def late(_: int, frame: FrameType | None) -> None:
        if monotonic() - began > longest:
            raise TimeoutError(f"it goes on for more than {longest:g} s")
        place = at_work(frame, item)
        say(f"still trying: {promise}{place and f', in {place}'}", err=True)

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _tried(one: Check, names: tuple[str, ...], item: type, longest: float) -> tuple[str, str]:
    """The first word on a promise, and what follows it."""
    began = perf_counter()
    try:
        with guarded(), _ends(one.promise, longest, item):
            told = one(*names)
    except Failed as failure:
        trace(failure)
        return "BROKEN", f": {one_line(stable(str(failure)), _LONGEST)}"
    except NotTested as why:
        return "?", f" (not tested: {one_line(why, _LONGEST)})"
    except BaseException as error:
        return "BROKEN", f": {explained(error, item, _LONGEST, began)}"
    return "ok", f" ({told})" if told else ""


def _checks(name: str, bench: str | None) -> tuple[tuple[Check, ...], tuple[str, ...], type]:
    """The checks of a method, a benchmark or an executor, the names that they take, and its class."""
    plain = name.partition(":")[0]
    if plain in METHODS.names() or plain in METHODS.broken:
        trial = Trial.of(name, bench)
        _refuse_options_out_of_range(trial)
        say(f"{name} on {trial.benchmark.name}")
        return METHOD_CHECKS, (name, trial.benchmark.name), trial.spec.method
    if bench is not None:
        if name in BENCHMARKS.names():
            raise UsageError(f"--bench is for methods, and {name} is a benchmark")
        if plain in EXECUTORS.names():
            raise UsageError(f"--bench is for methods, and {plain} is an executor")
        METHODS.get(plain)  # raises an error that lists the methods
    if plain in EXECUTORS.names() or plain in EXECUTORS.broken:
        chosen(name, 1)  # an option out of its range is refused at once
        return EXECUTOR_CHECKS, (name,), EXECUTORS.get(plain)
    if not {":", "/", "@"} & set(name) and name not in BENCHMARKS.names() and name not in BENCHMARKS.broken:
        listed = [*METHODS.names(), *EXECUTORS.names()]
        error = unknown("method, benchmark or executor", name, listed, BENCHMARKS.names())
        raise with_reasons(error, METHODS, BENCHMARKS, EXECUTORS)
    abilities.make_ready(open_benchmark(name))
    return BENCHMARK_CHECKS, (name,), type(open_benchmark(name))


def _refuse_options_out_of_range(trial: Trial) -> None:
    """Raises UsageError if the method's constructor does: every check would fail with it."""
    longest = _longest(METHOD_CHECKS, (trial.spec.text, trial.benchmark.name))
    try:
        with cleaned(), _ends("constructor", longest, trial.spec.method):
            trial.method()
    except TimeoutError as error:
        raise UsageError(f"the constructor of {trial.spec.name}: {explained(error, trial.spec.method)}") from error
    except UsageError:
        raise
    except BaseException as error:
        pass_on(error)
        # Any other error is a defect of the method, which the checks report.

"""Programs in any language as methods."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench as public
from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import Bound, Bounds, Evaluation, Fidelity, Level
from nasbench.benchmarks.spaces import Categorical, Float, Integer, Ordinal, ParameterSpace
from nasbench.benchmarks.spaces.flat import Named
from nasbench.cli.checks import METHOD_CHECKS, NotTested
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.session import begin
from nasbench.cli.engine.suites import Suite
from nasbench.methods import Method, MethodSpec, Observation, Problem, Proposal
from nasbench.methods.external.program import RunningProgram
from nasbench.methods.messages import hello, told
from nasbench.methods.problem import Budget
from nasbench.results import Store
from nasbench.results.store.journal import Journal

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
SPACE = ParameterSpace(
    [
        Categorical("opt", ("sgd", "adam")),
        Float("momentum", 0.1, 0.9),
        Integer("depth", 1, 100, log=True),
        Ordinal("width", (8, 16)),
    ],
    {"momentum": ("opt", ["sgd"])},
)
ERROR, SIZE = Metric("error", "M of it"), Metric("size", "MB", cheap=True)
PROBLEM = Problem(SPACE, (ERROR,), Bounds.of([Bound(SIZE, high=3.0)]), budget=Budget(7, None, 2))

AGENT = """
import json, sys
heard = open({heard!r}, "a")
for line in sys.stdin:
    message = json.loads(line)
    heard.write(line); heard.flush()
    if "bye" in message: break
    {answer}
    print(json.dumps(answer), flush=True)
"""
FIRST = 'answer = {"configuration": {"opt": "adam", "depth": 3, "width": 8}} if "ask" in message else {}'


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """What writes a program with a line of its own, and returns how it is named as a method."""

    def write(answer: str = FIRST, name: str = "agent.py") -> str:
        path = tmp_path / name
        path.write_text(AGENT.format(heard=str(tmp_path / "heard"), answer=answer))
        return f"process:command={sys.executable} {path}"

    return write


def built(text: str, problem: Problem = PROBLEM) -> Method:
    return MethodSpec.of(text).build(problem, np.random.default_rng(0))


@pytest.mark.parametrize(
    "command",
    [
        "sh agent.sh",
        "node agent.js",
        "python3 language_model.py",
        pytest.param("Rscript agent.R", marks=pytest.mark.slow),
    ],
)
def test_programs_of_the_examples_keep_their_promises(command: str) -> None:
    interpreter, file = command.split()
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not installed")
    for check in METHOD_CHECKS:
        check(f"process:command={interpreter} {EXAMPLES / file}", "nb201-cifar10")


def test_hello_says_what_is_searched(program: Callable[[str], str], tmp_path: Path) -> None:
    method = built(program())
    method.ask()
    first = json.loads((tmp_path / "heard").read_text().splitlines()[0])["hello"]
    assert first["space"] == [
        {"name": "opt", "kind": "categorical", "values": ["sgd", "adam"]},
        {
            "name": "momentum",
            "kind": "float",
            "low": 0.1,
            "high": 0.9,
            "log": False,
            "if": {"name": "opt", "values": ["sgd"]},
        },
        {"name": "depth", "kind": "integer", "low": 1, "high": 100, "log": True},
        {"name": "width", "kind": "ordinal", "values": [8, 16]},
    ]
    assert first["objectives"] == [{"name": "error", "unit": "M of it", "direction": "minimise"}]
    assert first["constraints"] == [{"metric": "size", "unit": "MB", "low": None, "high": 3.0}]
    assert (first["budget"], first["workers"], first["levels"]) == ({"evaluations": 7, "seconds": None}, 2, None)
    assert len(first["examples"]) == 3
    assert all(SPACE.from_values(values) is not None for values in first["examples"])
    assert "Minimise error (M of it), subject to size <= 3 MB." in first["task"]
    assert "The budget is 7 evaluations." in first["task"]
    assert "- momentum: a number from 0.1 to 0.9; only if opt is sgd" in first["task"]
    assert "- depth: a whole number from 1 to 100, on a log scale" in first["task"]


def test_what_is_unknown_is_null_and_never_nan() -> None:
    named = Named(SPACE.as_flat())
    configuration = named.configuration({"opt": "adam", "depth": 3, "width": 8})
    failed = Evaluation({"error": float("nan"), "size": float("inf")}, 2.0, "failed", "out of memory")
    said = told(named, Observation(configuration, failed, np.False_))  # type: ignore[arg-type]
    json.dumps(said, allow_nan=False)
    assert (said["value"], said["metrics"], said["seconds"]) == (None, {"error": None, "size": None}, 2.0)
    assert (said["status"], said["reason"], said["feasible"]) == ("failed", "out of memory", False)
    assert said["configuration"] == {"opt": "adam", "depth": 3, "width": 8}
    json.dumps(hello(PROBLEM, named, 0, [configuration]), allow_nan=False)


def test_it_is_told_what_came_of_its_proposals(program: Callable[[str], str], tmp_path: Path) -> None:
    method = built(program())
    configuration: Any = method.ask()
    method.tell(Observation(configuration, Evaluation({"error": 0.5, "size": 2.0}, 3.0), True))
    del method
    gc.collect()
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert [*map(next, map(iter, heard))] == ["hello", "ask", "tell", "bye"]
    assert heard[1]["ask"] == 1
    assert heard[2]["tell"]["metrics"] == {"error": 0.5, "size": 2.0}
    assert heard[2]["tell"]["value"] == 0.5


def test_it_may_choose_a_level_and_go_on(program: Callable[[str], str]) -> None:
    problem = Problem(SPACE, (ERROR,), fidelity=Fidelity("epochs", "1 epoch", (1, 3, 9)))
    answer = f'{FIRST}; answer |= {{"level": {{"epochs": 3}}, "continues": 0}} if message.get("ask") == 2 else {{}}'
    method = built(program(answer), problem)
    assert not isinstance(method.ask(), Proposal)
    second = method.ask()
    assert isinstance(second, Proposal)
    assert (second.level, second.continues) == (Level(epochs=3), 0)
    wrong = built(program(answer.replace('"epochs": 3', '"epochs": 2'), "other.py"), problem)
    wrong.ask()
    with pytest.raises(ValueError, match=r"there is no level \{'epochs': 2\}; allowed: epochs 1, 3, 9"):
        wrong.ask()


WRONG = {
    "no JSON": ("print('hi', flush=True); continue", "its answer to hello is no object of JSON: hi"),
    "a list": ("answer = []", "its answer to hello is no object of JSON"),
    "no configuration": ("answer = {}", 'its answer to ask has no object "configuration": {}'),
    "another name": (FIRST.replace('"opt"', '"opd"'), "hyper-parameter 'opd'"),
    "a missing one": (FIRST.replace('"depth": 3, ', ""), r"depth is missing; allowed: \[1, 100\]"),
    "another value": (FIRST.replace('"adam"', '"lion"'), "opt cannot be 'lion'; allowed: sgd, adam"),
    "a list for a value": (FIRST.replace('"adam"', "[1]"), r"opt cannot be \[1\]"),
    "outside of the range": (FIRST.replace("3", "300"), "depth cannot be 300"),
    "half a number": (FIRST.replace("3", "3.5"), "depth cannot be 3.5"),
    "a text for a number": (FIRST.replace("3", '"3"'), "depth cannot be '3'"),
    "a level that there is not": (f'{FIRST}; answer["level"] = 3', "there is no level 3; allowed: none, for"),
    "usage in words": (f'{FIRST}; answer["usage"] = {{"tokens": "many"}}', '"usage" is no object of positive numbers'),
    "a negative cost": (f'{FIRST}; answer["usage"] = {{"tokens": -5}}', '"usage" is no object of positive numbers'),
    "an infinite cost": (f'{FIRST}; answer["usage"] = {{"tokens": 1e400}}', '"usage" is no object of positive numbers'),
    "a cost of two lines": (f'{FIRST}; answer["usage"] = {{"a\\nb": 1}}', '"usage" is no object of positive numbers'),
    "true for a number": (FIRST.replace("8", "True"), "width cannot be True"),
    "an end": ("print('no key', file=sys.stderr); sys.exit(3)", "ended with exit code 3 .*; it last wrote: no key"),
    "too much": ("print('x' * (1 << 21), flush=True); continue", "its answer to hello is longer than 1048576 bytes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_one_sentence(case: str, program: Callable[[str], str]) -> None:
    answer, said = WRONG[case]
    with pytest.raises((ValueError, UsageError), match=said):
        built(program(answer)).ask()


def test_values_that_a_configuration_does_not_have_are_ignored_and_3_0_is_3(program: Callable[[str], str]) -> None:
    found: Any = built(program(FIRST.replace("3", '3.0, "momentum": 0.5'))).ask()
    assert dict(SPACE.values(found)) == {"opt": "adam", "depth": 3, "width": 8}


def test_a_run_whose_program_breaks_fails_and_the_others_go_on(program: Callable[[str], str], tmp_path: Path) -> None:
    name = program("sys.exit('no more')")
    with pytest.warns(UserWarning, match="failed"):
        rows = public.run([name, "random"], "nb201-cifar10", seeds=2, evals=3, store=tmp_path / "s")
    assert (rows["method"] == "random").sum() == 6
    failures = {f.setup.method: f.runs[0].failure for f in Store.open(tmp_path / "s").fragments()}
    (broken,) = (text for method, text in failures.items() if method != "random")
    assert "ask: ValueError: the program ended with exit code 1 before it answered hello; it last wrote: no more" in (
        broken
    )


def test_its_identity_is_its_name_and_what_it_says_wherever_it_lies(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    here = MethodSpec.of(program())
    (tmp_path / "there").mkdir()
    there = tmp_path / "there" / "agent.py"
    shutil.copy(tmp_path / "agent.py", there)
    elsewhere = MethodSpec.of(f"process:command={sys.executable} {there}")
    assert here.label == elsewhere.label
    assert here.parameters() == elsewhere.parameters()
    digest = dict(here.options)["digest"]
    assert here.label == f"process:digest={digest},name=agent"
    assert MethodSpec.parse(here.label).parameters() == here.parameters()  # as a store has it
    there.write_text(there.read_text() + "\n")
    assert MethodSpec.of(f"process:command={sys.executable} {there}").label != here.label
    assert MethodSpec.of(f"process:command={sys.executable} {tmp_path / 'agent.py'} --fast").label != here.label
    with pytest.raises(UsageError, match=f"has the digest {digest}, not 0123: it has changed"):
        MethodSpec.of(f"{program()},digest=0123")


def test_without_a_command_it_says_so() -> None:
    assert 'needs the command of a program: process:command="node agent.js"' in MethodSpec.of("process").misfit(PROBLEM)
    with pytest.raises(UsageError, match="needs the command of a program"):
        built("process:name=x")
    with pytest.raises(UsageError, match="cannot be read: No closing quotation"):
        MethodSpec.of("process:command=node 'a")


def test_what_is_not_there_identifies_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.py").write_text("#!/bin/sh\n")
    (tmp_path / "here.py").chmod(0o755)
    (tmp_path / "package").mkdir()
    monkeypatch.chdir(tmp_path)
    for command, said in (
        ("/nowhere/agent", "there is no program /nowhere/agent"),
        ("here.py", "there is no program here.py; a program in this folder is ./here.py"),
        ("python3 absent.py", f"there is no file absent.py .paths begin in {tmp_path}"),
        ("python3 package", "package is a folder"),
        ("./here.py,name=a\nb", "the name 'a.nb' of a program is one line of printable text, but it has several lines"),
    ):
        with pytest.raises(UsageError, match=said):
            MethodSpec.of(f"process:command={command}")
    assert MethodSpec.of("process:command=./here.py --rate 0.1").label.endswith(",name=here")
    long = f"sh -c '{'x' * 5000}'"
    assert MethodSpec.of(f"process:command={long}").label.endswith(",name=sh")


def test_a_tool_on_the_path_counts_by_its_name_and_a_program_of_the_user_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("x")
    (tmp_path / "agent").write_text("#!/bin/sh\n")
    (tmp_path / "agent").chmod(0o755)
    shell = shutil.which("sh")
    labels = [MethodSpec.of(f"process:command={name} {tmp_path / 'a.sh'}").label for name in ("sh", shell)]
    assert labels[0] == labels[1]
    before = MethodSpec.of(f"process:command={tmp_path / 'agent'} {tmp_path / 'a.sh'}").label
    assert before.endswith("name=agent")
    (tmp_path / "agent").write_text("#!/bin/sh\n\n")
    assert MethodSpec.of(f"process:command={tmp_path / 'agent'} {tmp_path / 'a.sh'}").label != before


def is_there(pid: int) -> bool:
    """Whether a process lives. One that has ended, and that nobody has waited for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def settled(pid: int) -> bool:
    """Whether a process ends within some seconds."""
    return any(not is_there(pid) or time.sleep(0.1) for _ in range(100))


def test_nothing_of_it_is_left_when_its_run_is_over(program: Callable[[str], str], tmp_path: Path) -> None:
    """Neither the program nor what it has started."""
    pids = tmp_path / "pids"
    starts = f"""import os, subprocess
    if "hello" in message:
        child = subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL)
        open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    {FIRST}"""
    method = built(program(starts))
    method.ask()
    numbers = [*map(int, pids.read_text().split())]
    assert all(map(is_there, numbers))
    del method
    gc.collect()
    assert all(map(settled, numbers))


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_hangs_ends_with_the_command(
    program: Callable[[str], str], tmp_path: Path, jobs: str, how: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    hangs = f"""import os, subprocess, time
    if "hello" in message:
        child = subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL)
        open({str(pids)!r}, "a").write(f"{{os.getpid()}} {{child.pid}} ")
    if "ask" in message:
        time.sleep(300)
    answer = {{}}"""
    words = ["run", "--method", program(hangs), "--bench", "nb201-cifar10", "--seeds", "2", "--evals", "3"]
    command = [sys.executable, "-m", "nasbench", *words, "--jobs", jobs, "--store", str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        for _ in range(600):
            if pids.is_file() and len(pids.read_text().split()) == 2 * int(jobs):
                break
            time.sleep(0.1)
        running.send_signal(how)
        running.wait(60)
    numbers = [*map(int, pids.read_text().split())]
    assert len(numbers) == 2 * int(jobs)
    assert all(map(settled, numbers))


def test_a_program_that_does_not_read_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.methods.external.program._PATIENCE", 0.2)
    running = RunningProgram(["sh", "-c", "while :; do echo '{}'; sleep 0.001; done"])
    with contextlib.suppress(BlockingIOError):
        os.set_blocking(running._in.fileno(), False)
        while running._in.write(b"x" * 65536):  # until the pipe is full
            pass
    began = time.monotonic()
    running.end()
    assert time.monotonic() - began < 10
    assert not is_there(running._process.pid)


def test_a_program_that_does_not_end_is_ended(
    program: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench.methods.external.program._PATIENCE", 0.2)
    pid = tmp_path / "pid"
    text = program(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); {FIRST}")
    path = tmp_path / "agent.py"
    path.write_text(f"{path.read_text()}\nimport time\ntime.sleep(60)\n")
    method = built(text)
    method.ask()
    began = time.monotonic()
    del method
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert time.monotonic() - began < 30


def test_what_it_uses_is_stored_and_shown(
    nasbench: Callable[..., Any], program: Callable[[str], str], tmp_path: Path
) -> None:
    cell = 'answer = {"configuration": {f"Op{i}": "none" for i in range(6)}, "usage": {"tokens": 40, "dollars": 0.5}}'
    name = f"{program(cell)},repeatable=false"
    done = nasbench(
        "run", "--method", name, "--bench", "nb201-cifar10", "--seeds", "1", "--evals", "3", "--store", tmp_path / "s"
    )
    assert done.code == 0, done.err
    shown = nasbench("show-run", tmp_path / "s", name, "nb201-cifar10", "0")
    assert "used: 280 tokens, 3.5 dollars" in shown.out  # hello, three asks, three tells
    report = nasbench("report", tmp_path / "s", "--out", tmp_path / "report", "--format", "html")
    assert report.code == 0, report.err
    assert (
        "Not repeatable bit for bit: something decides that no seed fixes"
        in (tmp_path / "report" / "index.html").read_text()
    )


def test_a_program_that_never_repeats_itself_is_not_held_to_it(program: Callable[[str], str]) -> None:
    cell = '{f"Op{i}": random.choice(["none", "skip_connect"]) for i in range(6)}'
    name = f"{program(f'import random; answer = dict(configuration={cell})')},repeatable=false"
    assert MethodSpec.of(name).repeatable is Repeatable.NEVER
    untested = set()
    for check in METHOD_CHECKS:
        try:
            check(name, "nb201-cifar10")
        except NotTested:
            untested.add(check.promise)
    assert len(untested) == 4
    assert "resumes exactly" in untested


@pytest.mark.parametrize("bench", ["nbgraph-cora", "synthetic-tree", "hpobench-car"])
def test_what_hello_shows_may_be_proposed(bench: str, program: Callable[[str], str]) -> None:
    """Also where configurations are no dict of names: the flat view of the space is stated."""
    problem = Problem.of(public.task(bench)._benchmark)
    first = "examples = message['hello']['examples'] if 'hello' in message else examples"
    method = built(program(f"{first}; answer = {{'configuration': examples.pop()}}"), problem)
    for _ in range(2):
        problem.space.check(method.ask())


@pytest.mark.parametrize("is_repeatable", [True, False])
def test_an_interrupted_run_of_one_that_never_repeats_itself_begins_anew(
    is_repeatable: bool, program: Callable[[str], str], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    text = program() if is_repeatable else f"{program()},repeatable=false"
    grid = Grid((MethodSpec.of(text),), ("digits@1",), ((),), (0,), Protocol(3))
    (planned,) = expand([grid])
    identity = planned.setup.run_id(0)
    path = Store.create(tmp_path / "s").journals / f"{identity}.jsonl"
    Journal(path, identity).close()
    session = begin(Suite((grid,)), tmp_path / "s", "nasbench run")
    assert path.exists() == is_repeatable
    assert any("begins anew" in notice for notice in session.store.notices) != is_repeatable

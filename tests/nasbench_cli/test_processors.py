"""The same run gives the same bits on other processors: other kernels of BLAS, other loops of NumPy, other hashes."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from nasbench.base.arithmetic import fix, processor
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import BENCHMARKS, open_benchmark
from nasbench.benchmarks.learners.estimators import LEARNERS
from nasbench.cli.checks import BENCHMARK_CHECKS, METHOD_CHECKS
from nasbench.cli.checks.check import NotTested
from nasbench.cli.checks.elsewhere import OTHER_HASHES, OTHER_KERNELS, digest, digests, environment_for
from nasbench.cli.checks.scores import scores
from nasbench.cli.engine import provenance
from nasbench.methods import METHODS, MethodSpec, Problem
from tests.conftest import Lend
from tests.nasbench_cli.toys import Careful, Toy

PAGE = Path(__file__).parents[2] / "docs" / "notebook" / "reliability.md"
X86 = platform.machine() == "x86_64"
TABLES = ("nb201-cifar10", "hpobench-car")


def process(code: str, **environment: str) -> Any:
    """What another process prints as JSON."""
    environment = {**os.environ, **environment}
    for name in ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES"):
        if name not in OTHER_KERNELS or environment.get(name) != OTHER_KERNELS[name]:
            environment.pop(name, None)
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def pairs(*, dear: bool) -> list[tuple[str, str]]:
    """Methods that need no package which is missing, and the tables they fit."""
    found = []
    for name in METHODS.names():
        method = MethodSpec.parse(name).method
        installed = not method.__module__.startswith("nasbench.methods.external")
        is_dear = method.needs.fidelity or method.about.seconds > 0.02
        if is_dear != dear or not installed or method.about.repeatable is Repeatable.SAME_MACHINE:
            continue
        at_levels = ["digits@9"] if method.needs.fidelity and importlib.util.find_spec("torch") else []
        fits = [b for b in TABLES if not MethodSpec(name).misfit(Problem.of(open_benchmark(b)))]
        found += [(name, bench) for bench in fits or at_levels]
    return found


def assert_the_same_elsewhere(tried: list[tuple[str, str]]) -> None:
    here = digests(tried, {})
    assert len(set(here)) > len(tried) // 2
    plain, others = digests(tried, OTHER_HASHES), digests(tried, OTHER_KERNELS)
    assert [pair for pair, a, b in zip(tried, here, plain, strict=True) if a != b] == []
    differ = [name for (name, _), a, b in zip(tried, here, others, strict=True) if a != b]
    assert [n for n in differ if MethodSpec.parse(n).method.about.repeatable is Repeatable.ANY_PROCESSOR] == []


@pytest.mark.slow
@pytest.mark.skipif(not X86, reason="only x86-64 processors have other kernels to try")
def test_light_methods_propose_the_same_with_other_hashes_kernels_and_loops() -> None:
    assert_the_same_elsewhere(pairs(dear=False))


@pytest.mark.slow
@pytest.mark.skipif(not X86, reason="only x86-64 processors have other kernels to try")
def test_dear_methods_propose_the_same_with_other_hashes_kernels_and_loops() -> None:
    assert_the_same_elsewhere(pairs(dear=True))


@pytest.mark.slow
@pytest.mark.skipif(not X86, reason="only x86-64 processors have other kernels to try")
def test_the_methods_of_quick_give_the_same_scores_with_other_kernels_and_loops() -> None:
    """Whole runs through the engine, past everything that is drawn at random at first."""
    code = """
import json, nasbench
methods = ["random", "evolution", "local", "tpe", "c-tpe-naive", "c-tpe", "smbo", "mcts"]
frame = nasbench.run(methods, ["nb201-cifar100", "nbgraph-cora"], constraints="model_size@0.2", seeds=4, evals=150)
print(json.dumps(frame.groupby(["method", "bench"])["score"].apply(lambda s: s.astype(str).str.cat()).tolist()))
"""
    here = process(code)
    assert here == process(code, **OTHER_KERNELS) == process(code, **OTHER_HASHES)


@pytest.mark.skipif("avx2" not in processor(), reason="this processor's kernels are not fixed")
def test_numpy_and_scipy_compute_with_the_kernels_of_avx2() -> None:
    """Asked of the libraries themselves, in a process that nobody has told which kernels to take."""
    code = """
import json, nasbench, numpy, scipy.linalg
from threadpoolctl import threadpool_info
blas = [i for i in threadpool_info() if i["user_api"] == "blas"]
loops = numpy.show_config(mode="dicts")["SIMD Extensions"]["found"]
print(json.dumps([[i["architecture"] for i in blas], [i["num_threads"] for i in blas], loops]))
"""
    names, threads, loops = process(code)
    assert names == ["Haswell"] * 2
    assert threads == [1] * 2
    assert loops == ["X86_V3"]


def test_what_the_user_has_set_stays_and_old_processors_are_asked_for_nothing_they_lack() -> None:
    environment = {"OPENBLAS_CORETYPE": "Zen"}
    fix(environment, {"avx2", "fma", "bmi2"})
    assert environment["OPENBLAS_CORETYPE"] == "Zen"
    assert "X86_V4" in environment["NPY_DISABLE_CPU_FEATURES"]
    old: dict[str, str] = {}
    fix(old, {"sse2", "avx"})
    assert old == {"OPENBLAS_NUM_THREADS": "1"}


def test_only_methods_that_state_any_processor_must_bear_other_kernels() -> None:
    assert "OPENBLAS_CORETYPE" not in environment_for(Repeatable.SAME_KERNELS)
    assert ("OPENBLAS_CORETYPE" in environment_for(Repeatable.ANY_PROCESSOR)) == X86


def test_the_narrower_statement_of_method_and_benchmark_holds() -> None:
    anywhere, kernels, machine, never = Repeatable
    assert Repeatable.both(anywhere, kernels) == Repeatable.both(kernels, anywhere) == kernels
    assert Repeatable.both(machine, kernels) == machine
    assert Repeatable.both(machine, never) == never
    assert Repeatable.both(anywhere, anywhere) == anywhere


def whimsical(ask: str) -> str:
    """A method that draws at random, after the lines `ask`."""
    return (
        "from nasbench.methods import Method\n\n\n"
        "class Whimsical(Method):\n"
        '    """Does something before it draws."""\n\n'
        "    def __init__(self, problem, rng):\n"
        "        self._space, self._rng = problem.space, rng\n\n"
        "    def ask(self):\n"
        f"{ask}"
        "        return self._space.sample(self._rng)\n\n"
        "    def tell(self, observation):\n"
        "        pass\n"
    )


def checked(folder: Path, code: str, kind: str = "methods", *asked: str) -> subprocess.CompletedProcess[str]:
    """What `nasbench check` says of a third party's only class."""
    (folder / "third.py").write_text(code)
    facts = folder / "third-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    name = code.partition("\nclass ")[2].partition("(")[0]
    (facts / "entry_points.txt").write_text(f"[nasbench.{kind}]\n{name.lower()} = third:{name}\n")
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-m", "nasbench", "check", *(asked or (name.lower(), "--bench", "hpolib-naval"))],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{root}", "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


REMEMBERING = """
from numpy.random import default_rng

from nasbench import Benchmark, Evaluation, GridSpace, Metric
from nasbench.benchmarks.spaces import Ordinal


class Remembering(Benchmark):
    "Scores that are kept by less than they depend on."

    name, family, source, licence, checksum = "remembering", "functions", "a formula", "MIT", "1"
    space, metrics = GridSpace([Ordinal("x", tuple(range(99)))]), (Metric("loss", ""),)
    done = {}

    def __init__(self):
        self.done = MEMORY

    def measure(self, configuration, seed, upto, state, /):
        return Evaluation({"loss": self.done.setdefault(KEY, default_rng(SEED).random())}, cost=60.0)
"""


@pytest.mark.parametrize("memory", ["{}", "self.done"])
@pytest.mark.parametrize(
    ("key", "seed"), [("configuration", "seed"), ("(configuration[0] // 2, seed)", "[configuration[0], seed]")]
)
def test_the_check_finds_a_benchmark_that_remembers_other_seeds_or_neighbours(
    tmp_path: Path, memory: str, key: str, seed: str
) -> None:
    """Its runs would depend on which one came first."""
    source = REMEMBERING.replace("MEMORY", memory).replace("KEY", key).replace("SEED", seed)
    run = checked(tmp_path, source, "benchmarks", "remembering")
    assert run.returncode == 1
    said = " ".join(run.stdout.split())
    assert "what is kept between evaluations must go by the whole configuration, the seed and the level" in said
    assert "16 of 17" in run.stdout


LEVELLED = """
from numpy.random import default_rng

from nasbench import Benchmark, Evaluation, GridSpace, Metric
from nasbench.benchmarks import Fidelity
from nasbench.benchmarks.spaces import Ordinal


class Levelled(Benchmark):
    "Scores of several levels."

    name, family, source, licence, checksum = "levelled", "functions", "a formula", "MIT", CHECKSUM
    space, metrics = GridSpace([Ordinal("x", tuple(range(99)))]), (Metric("loss", ""),)
    fidelity = Fidelity("epochs", "1 epoch", (1, 3, 9))

    def __init__(self):
        self.done = {}

    def measure(self, configuration, seed, upto, state, /):
        loss = default_rng([configuration[0], seed]).random() + 1 / upto.work
        return Evaluation({"loss": self.done.setdefault(KEY, loss)}, cost=float(upto.work))
"""


@pytest.mark.parametrize(
    ("key", "checksum", "is_found"),
    [
        ("(configuration, seed, upto)", '"1"', False),
        ("(configuration, seed)", '"1"', True),
        ("(configuration, seed, upto)", 'str(hash("data"))', True),
    ],
)
def test_the_check_finds_a_benchmark_that_forgets_levels_or_has_another_checksum_each_time(
    tmp_path: Path, key: str, checksum: str, is_found: bool
) -> None:
    """A training that went on would score what it had before; a checksum of hashes makes all runs stale."""
    source = LEVELLED.replace("KEY", key).replace("CHECKSUM", checksum)
    run = checked(tmp_path, source, "benchmarks", "levelled")
    assert ("scores it otherwise, or has another checksum" in " ".join(run.stdout.split())) is is_found
    assert run.returncode == is_found


def test_what_a_method_s_programs_print_is_no_digest(tmp_path: Path) -> None:
    """A solver's words on standard output stood beside the digest, and a right method was called broken."""
    words = '        __import__("subprocess").run(["echo", "solved"])\n'
    run = checked(tmp_path, whimsical(words), "methods", "whimsical", "--bench", "hpolib-naval", "--json")
    assert [promise for promise in json.loads(run.stdout)["promises"] if promise["state"] == "broken"] == []
    assert "solved" in run.stderr


def test_our_benchmarks_score_the_same_in_another_process_after_other_seeds() -> None:
    names = [name for name in BENCHMARKS.names() if not name.startswith("medmnist-") and name != "digits"]
    names += [f"learner:{name}:diabetes" for name in LEARNERS] if importlib.util.find_spec("sklearn") else []
    elsewhere = digests([("", name) for name in names], OTHER_HASHES)
    here = [digest(scores(open_benchmark(name))) for name in names]
    assert [name for name, a, b in zip(names, here, elsewhere, strict=True) if a != b] == []
    assert len(set(here)) == len(here)


@pytest.mark.slow
def test_the_check_finds_a_method_whose_proposals_follow_the_hashes_of_strings(tmp_path: Path) -> None:
    """As `bananas` did: what is taken first from a set of strings differs between processes."""
    drawn = (
        "        for _ in range(1 + list({str(n) for n in range(1000)}).index('7')):\n            self._rng.random()\n"
    )
    run = checked(tmp_path, whimsical(drawn))
    assert run.returncode == 1
    assert "sort what comes out of sets" in " ".join(run.stdout.split())
    assert "13 of 14" in run.stdout


@pytest.mark.slow
def test_the_check_finds_a_method_whose_searches_share_what_the_first_one_drew(tmp_path: Path) -> None:
    """The first search leaves its design behind, which fits all later ones by the same seed."""
    drawn = "vars(type(self)).get('drawn') or self._space.sample(self._rng)"
    kept = f"        type(self).drawn = {drawn}\n        self._rng.random()\n        return self.drawn\n"
    run = checked(tmp_path, whimsical(kept))
    assert run.returncode == 1
    assert "keep nothing outside the method's object" in " ".join(run.stdout.split())


@pytest.mark.slow
def test_the_check_does_not_wait_for_a_thread_that_a_method_leaves_running(tmp_path: Path) -> None:
    started = "threading.Thread(target=time.sleep, args=(1e6,)).start()"
    begun = f"        import threading, time\n        hasattr(self, 'at') or {started}\n        self.at = 1\n"
    run = checked(tmp_path, whimsical(begun))
    assert "14 of 14" in run.stdout


@pytest.mark.slow
def test_the_check_takes_nothing_that_a_method_prints_for_its_proposals(tmp_path: Path) -> None:
    run = checked(tmp_path, whimsical("        print('a word', 'and another')\n"))
    assert run.returncode == 0, run.stdout
    assert "14 of 14" in run.stdout
    assert "a word" not in run.stdout


def test_a_method_of_this_process_alone_is_not_tried_elsewhere(lend: Lend) -> None:
    lend(METHODS, "careful", Careful)
    (check,) = (c for c in METHOD_CHECKS if "another process" in c.promise)
    with pytest.raises(NotTested, match="only in this process"):
        check("careful", "hpolib-naval")


def test_a_benchmark_of_this_process_alone_is_not_tried_elsewhere(lend: Lend) -> None:
    lend(BENCHMARKS, "toy", Toy)
    (check,) = (c for c in BENCHMARK_CHECKS if "another process" in c.promise)
    with pytest.raises(NotTested, match="only in this process"):
        check("toy")


def test_the_page_lists_what_is_not_the_same_on_any_processor() -> None:
    """One list: what methods and benchmarks state of themselves."""
    section = PAGE.read_text().partition("## What a processor cannot repeat")[2].partition("\n## ")[0]
    rows = {
        place: set(re.findall(r"`([^`]+)`", names)) for place, names in re.findall(r"\| ([^|]+) \| (.+) \|", section)
    }
    for place in (Repeatable.SAME_KERNELS, Repeatable.SAME_MACHINE):
        stated = {name for name in METHODS.names() if MethodSpec(name).repeatable is place}
        assert rows[place] & set(METHODS.names()) == stated
    others = {place: rows[place] - set(METHODS.names()) for place in (Repeatable.SAME_KERNELS, Repeatable.SAME_MACHINE)}
    assert others == {Repeatable.SAME_KERNELS: {"lcbench-*", "yahpo-*"}, Repeatable.SAME_MACHINE: set()}


@pytest.mark.skipif(not X86, reason="on other machines it is not read")
def test_where_proc_is_not_mounted_the_processor_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> NoReturn:
        raise FileNotFoundError("/proc/cpuinfo")

    monkeypatch.setattr("builtins.open", missing)
    assert processor() == set()


def test_the_kernels_of_other_libraries_than_openblas_go_by_the_librarys_name(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = [
        {"user_api": "blas", "internal_api": "mkl", "threading_layer": "gnu"},
        {"user_api": "openmp", "internal_api": "openmp"},
    ]
    monkeypatch.setattr(provenance, "threadpool_info", lambda: libraries)
    assert provenance._kernels().startswith("BLAS mkl, NumPy ")

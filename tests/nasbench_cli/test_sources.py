"""Methods that were edited since their runs: what counts as a change, who says so, and what computes them anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from nasbench.benchmarks import BENCHMARKS, open_benchmark
from nasbench.cli.engine import provenance, sources
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.cli.engine.session import _move_aside
from nasbench.cli.engine.sources import _imported, current_sources
from nasbench.methods import METHODS
from nasbench.results import Store
from tests.conftest import Lend, Printed
from tests.nasbench_cli.bob import install
from tests.nasbench_cli.conftest import Command
from tests.nasbench_cli.toys import Careful, Toy
from tests.results.conftest import begin, make_setup

ASKED = ["run", "--method", "bob", "--method", "local", "--bench", "hpobench-car", "--seeds", 3, "--evals", 4]
CHANGED = "bob.py has changed since these runs (3 of bob): raise `version`, or `--anew bob`"


def test_an_edited_method_is_told_until_its_runs_are_computed_anew_and_nothing_is_deleted(
    command: Command, tmp_path: Path
) -> None:
    bob, store = install(tmp_path / "site"), tmp_path / "s"
    assert command(*ASKED, "--store", "s", **bob).returncode == 0
    assert CHANGED not in command(*ASKED, "--store", "s", **bob).stderr
    before = {(f.setup.id, seed) for f in Store.open(store).fragments() for seed in f.seeds}
    of_bob = [f.path.name for f in Store.open(store).fragments() if f.setup.method == "bob"]
    with (tmp_path / "site" / "bob.py").open("a") as file:
        file.write("\n# another thought\n")
    again = command(*ASKED, "--store", "s", **bob)
    assert again.returncode == 0
    assert "all (cached)" in again.stdout
    assert again.stderr.count(CHANGED) == 1
    assert CHANGED in command("status", "s", **bob).stderr
    assert CHANGED in " ".join(command("report", "s", **bob).stdout.split())
    anew = command(*ASKED, "--store", "s", "--anew", "bob", **bob)
    assert "3 (cached), 3 to run" in anew.stdout
    assert CHANGED not in anew.stderr + command("status", "s", **bob).stderr
    assert {path.name for path in (store / "_aside").iterdir()} >= set(of_bob)
    assert {(f.setup.id, seed) for f in Store.open(store).fragments() for seed in f.seeds} == before
    assert not any("--anew" in plan["command"] for plan in Store.open(store).plans())


def test_anew_names_a_method_that_is_requested(command: Command, tmp_path: Path) -> None:
    bob = install(tmp_path / "site")
    done = command(*ASKED, "--store", "s", "--anew", "tpe", **bob)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unknown method of --anew 'tpe'; allowed: bob, local" in done.stderr
    assert not (tmp_path / "s").exists()


def test_what_goes_on_after_anew_is_the_command_without_it(
    nasbench: Callable[..., Printed], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command would compute everything once more."""
    asked = ["run", "--method", "bad", "--bench", "hpobench-car", "--seeds", 12, "--evals", 2, "--anew", "bad"]
    done = command(*asked, "--store", "s", **install(tmp_path / "site"))
    assert "2 runs are still missing: give the same command again, without --anew" in done.stderr

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nasbench.cli.commands.run.begin", stopped)
    for words, end in ((["--anew=random"], "command without --anew continues"), ([], "the same command continues")):
        asked = ["run", "--method", "random", "--bench", "hpobench-car", "--store", tmp_path / "t", *words]
        assert end in nasbench(*asked).err


def test_a_run_under_way_begins_anew_too_and_its_journal_is_kept(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    setup = make_setup(evals=9)
    for seed in (0, 1, 2):
        begin(store, setup, seed, [9.0, 7.0])
    state = (store.journals / f"{setup.run_id(0)}.jsonl").with_suffix(".0-abc.state")
    state.write_text("a training")
    _move_aside(store, [cast(PlannedSetup, SimpleNamespace(setup=setup, seeds=(0, 1)))])
    assert [path.name for path in store.journals.glob("*.jsonl")] == [f"{setup.run_id(2)}.jsonl"]
    aside = {path.name for path in (store.folder / "_aside").iterdir()}
    assert aside == {f"{setup.run_id(0)}.jsonl", f"{setup.run_id(1)}.jsonl", state.name}


def package(folder: Path, name: str) -> Path:
    """A package with a method in one module, and what it works with in another."""
    (folder / name / "deep").mkdir(parents=True)
    (folder / name / "__init__.py").write_text("")
    (folder / name / "deep" / "words.py").write_text("FIRST = 1\n")
    (folder / name / "own.py").write_text(
        "from tests.nasbench_cli.toys import Careful\n\n\nclass Own(Careful):\n    ''\n"
    )
    return folder / name


def digest_of(name: str) -> list[str]:
    """Digests of the sources of the method, read as a new command would."""
    return [s.digest for s in current_sources()(make_setup(name, "not-here")) if s.of == "method"]


def test_every_file_of_a_package_counts_and_of_a_large_one_that_of_the_method(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    folder = package(tmp_path, "bobs_own")
    import bobs_own.own  # type: ignore[import-not-found]

    lend(METHODS, "own", bobs_own.own.Own)
    (whole,) = current_sources()(make_setup("own", "not-here"))
    assert (whole.of, whole.name, whole.released) == ("method", "bobs_own", False)
    (folder / "deep" / ".#words.py").symlink_to("me@host.4242")  # as Emacs leaves it while a file is edited
    assert digest_of("own") == [whole.digest]
    (folder / "deep" / "words.py").write_text("FIRST = 2\n")
    assert digest_of("own") != [whole.digest]
    monkeypatch.setattr(sources, "_MOST_FILES", 2)
    (alone,) = current_sources()(make_setup("own", "not-here"))
    assert alone.name == "own.py"
    (folder / "deep" / "words.py").write_text("FIRST = 3\n")
    assert digest_of("own") == [alone.digest]
    (folder / "own.py").write_text("# nothing\n")
    assert digest_of("own") != [alone.digest]


def test_a_file_is_read_once_per_command(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or whole(path))  # type: ignore[func-returns-value]
    found = current_sources()
    for method in ("tpe", "c-tpe", "tpe:gamma=linear", "random"):
        for evals in (1, 2):
            found(make_setup(method, "hpobench-car", evals=evals))
    names = [path.name for path in read if path.suffix == ".py"]
    assert "random_search.py" in names
    assert len(read) == len(set(read))


def test_a_method_from_a_notebook_has_no_source(lend: Lend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Careful, "__module__", "__main__")
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    lend(METHODS, "careful", Careful)
    assert digest_of("careful") == []


def test_every_method_and_benchmark_here_has_sources_of_its_own() -> None:
    """Not those of what makes it, such as a file of Python's own."""
    for of, setups in (
        ("method", [make_setup(name, "not-here") for name in METHODS.names()]),
        ("benchmark", [make_setup("not-here", name) for name in BENCHMARKS.names()]),
    ):
        found = current_sources()
        for setup in setups:
            names = {s.name for s in found(setup) if s.of == of}
            assert names, setup
            assert "functools.py" not in names


def test_a_benchmark_counts_with_what_makes_it(lend: Lend) -> None:
    lend(BENCHMARKS, "toy", Toy)
    open_benchmark.cache_clear()
    (found,) = current_sources()(make_setup("not-here", "toy"))
    assert (found.of, found.name, found.released) == ("benchmark", "tests", False)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_of_ours_only_files_with_uncommitted_changes_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "nasbench_cli" / "engine"
    for folder in (engine, tmp_path / "methods", tmp_path / "benchmarks"):
        folder.mkdir(parents=True)
    for path in (engine / "provenance.py", tmp_path / "methods" / "a.py", tmp_path / "methods" / "b.py"):
        path.write_text("")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(provenance, "__file__", str(engine / "provenance.py"))
    monkeypatch.setattr(provenance, "_commit", provenance._commit.__wrapped__)
    assert provenance.changed_files() == frozenset()
    (tmp_path / "methods" / "b.py").write_text("edited")
    (tmp_path / "methods" / "new one.py").write_text("new")
    assert provenance.changed_files() == {tmp_path / "methods" / "b.py", tmp_path / "methods" / "new one.py"}
    shutil.rmtree(tmp_path / ".git")
    assert provenance.changed_files() == frozenset()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_was_committed_since_the_clone_is_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes a method commits it before each run, and does not raise a version that the class does not have."""
    for place, words in ((tmp_path / "a", ["init", "-q", "-b", "main"]),):
        (place / "methods").mkdir(parents=True)
        (place / "nasbench_cli" / "engine").mkdir(parents=True)
        for path in ("methods/a.py", "nasbench_cli/engine/provenance.py"):
            (place / path).write_text("")
        git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@b"]
        for own in (words, ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *own], check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(tmp_path / "a"), str(clone)], check=True)
    (clone / "methods" / "mine.py").write_text("first")
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b"]
    for own in (["add", "-A"], ["commit", "-q", "-m", "mine"]):
        subprocess.run([*git, *own], check=True)
    monkeypatch.setattr(provenance, "__file__", str(clone / "nasbench_cli" / "engine" / "provenance.py"))
    monkeypatch.setattr(provenance, "_commit", provenance._commit.__wrapped__)
    assert provenance.changed_files() == {clone / "methods" / "mine.py"}


def written(folder: Path, texts: dict[str, str]) -> None:
    """Writes files by their names in a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def helpers(folder: Path, package: str, name: str = "mine.py") -> list[str]:
    room = sources._Room(package, folder)
    return [str(path.relative_to(folder)) for path in sources._helpers(folder / name, room, Path.read_bytes)]


def test_files_of_ours_that_a_method_imports_count_with_it_and_not_those_of_the_door(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from nasbench.methods.contract import Method\n",
        "contract.py": "import nasbench.methods.other\n",
        "mine.py": "from nasbench.methods.contract import Method\nfrom nasbench.methods._step import step\n",
        "_step.py": "from nasbench.methods import _deep\nimport nasbench.methods.mine\n",
        "_deep.py": "import numpy as np\n",
        "other.py": "",
    }
    written(tmp_path, files)
    assert helpers(tmp_path, "nasbench.methods") == ["_step.py", "_deep.py"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from nasbench.methods import Method, a, b\n", ["a.py", "b.py"]),
        ("from nasbench.methods import (\n    Method,\n    a,\n    b as c,\n)\n", ["a.py", "b.py"]),
        ("import numpy, nasbench.methods.a as x, nasbench.methods.b\n", ["a.py", "b.py"]),
        ("class Mine:\n    def ask(self):\n        if self:\n            from nasbench.methods import a\n", ["a.py"]),
        ("from . import a\nfrom .b import c\n", ["a.py", "b.py"]),
        ("from nasbench.methods.tools.steps import N\n", ["tools/__init__.py", "tools/steps.py", "b.py", "a.py"]),
        ("from nasbench.methods.bare import one\n", ["bare/one.py"]),
        ("from .tools import steps\n", ["tools/__init__.py", "tools/steps.py", "b.py", "a.py"]),
        ("'from nasbench.methods import a'\n# from nasbench.methods import b\n", []),
        ("from nasbench.methodsabove import a\nfrom ... import b\nfrom elsewhere.a import c\nimport a\n", []),
        ("from nasbench.methods import a\nthis is no code\n", []),
    ],
)
def test_imports_are_found_wherever_and_however_they_are_written(tmp_path: Path, code: str, found: list[str]) -> None:
    files = {
        "__init__.py": "",
        "mine.py": code,
        "a.py": "",
        "b.py": "",
        "bare/one.py": "",
        "tools/__init__.py": "",
        "tools/steps.py": "from ..b import N\nfrom . import nothing\nfrom nasbench.methods.a import M\n",
    }
    written(tmp_path, files)
    assert helpers(tmp_path, "nasbench.methods") == found


def test_modules_and_packages_beside_one_of_no_package_count_with_it_where_it_imports_them(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "from tests.nasbench_cli.toys import Careful\nfrom flat_steps import N\nimport large\n"
    own += "class Own(Careful):\n    ''\n"
    files = {"flat_own.py": own, "flat_steps.py": "N = 1\n", "flat_other.py": "", "large/__init__.py": "", "a/b.py": ""}
    written(tmp_path, files)
    monkeypatch.syspath_prepend(tmp_path)
    import flat_own  # type: ignore[import-not-found]

    lend(METHODS, "own", flat_own.Own)
    before = digest_of("own")
    changes = {"flat_other.py": False, "a/b.py": False, "large/__init__.py": True, "flat_steps.py": True}
    for name, counts in changes.items():
        (tmp_path / name).write_text("N = 2\n")
        assert (digest_of("own") != before) == counts, name
        before = digest_of("own")


def test_a_helper_on_pythons_path_counts_with_a_package_that_imports_it_and_a_library_does_not(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people share a file of steps, and one of them changes it."""
    folder = package(tmp_path / "ours", "bobs_with_help")
    with (folder / "own.py").open("a") as file:
        file.write("def late():\n    import shared_steps, shared_library\n    import numpy\n")
    library = tmp_path / "site-packages"
    written(tmp_path, {"lab/shared_steps.py": "import shared_deep.words\n", "lab/shared_deep/words.py": "N = 1\n"})
    written(tmp_path, {"lab/shared_other.py": "", "site-packages/shared_library.py": ""})
    for place in (folder.parent, tmp_path / "lab", library):
        monkeypatch.syspath_prepend(place)
    import bobs_with_help.own  # type: ignore[import-not-found]

    lend(METHODS, "own", bobs_with_help.own.Own)
    changes = {"lab/shared_steps.py": True, "lab/shared_deep/words.py": True, "lab/shared_other.py": False}
    for name, counts in (changes | {"site-packages/shared_library.py": False}).items():
        before = digest_of("own")
        with (tmp_path / name).open("a") as file:
            file.write("N = 2\n")
        assert (digest_of("own") != before) == counts, name


@pytest.mark.parametrize(
    "code",
    [
        "import helped",
        "from helped.words import N",
        "import math; import helped as core",
        "try: import helped as core\nexcept ImportError: core = None",
        "import math, \\\n    helped",
        "    helped = importlib.import_module('helped.words')",
        'core = __import__("helped")',
    ],
)
def test_an_import_from_elsewhere_is_found_however_it_is_written(tmp_path: Path, code: str) -> None:
    """A helper that was edited went unnoticed."""
    (tmp_path / "own.py").write_text(f"import os\n{code}\n")
    assert "helped" in _imported(tmp_path / "own.py", Path.read_bytes)


def test_of_a_large_package_those_of_its_modules_count_that_a_method_imports(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(tmp_path, "bobs_large")
    with (folder / "own.py").open("a") as file:
        file.write("from bobs_large.deep import words\n")
    monkeypatch.syspath_prepend(tmp_path)
    import bobs_large.own  # type: ignore[import-not-found]

    lend(METHODS, "own", bobs_large.own.Own)
    monkeypatch.setattr(sources, "_MOST_FILES", 2)
    before = digest_of("own")
    (folder / "deep" / "words.py").write_text("FIRST = 2\n")
    assert digest_of("own") != before

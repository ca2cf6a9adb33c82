"""The house keeps its arrows, and stays light at the door."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"nasbench_cli": "nasbench.cli", "methods": "nasbench.methods"}
FOLDERS |= {"benchmarks": "nasbench.benchmarks", "results": "nasbench.results", "nasbench/base": "nasbench.base"}
BASE, BENCHMARKS, METHODS, RESULTS = ({f"nasbench.{name}"} for name in ("base", "benchmarks", "methods", "results"))
CHECKS, ENGINE = {"nasbench.cli.checks", "nasbench.cli.speed"}, {"nasbench.cli.engine"}
OUTSIDE = {"nasbench.cli.outside"}
ARROWS = {  # a room → the rooms that it may import; what is inside a room is no arrow
    "nasbench.cli.commands": CHECKS | OUTSIDE | ENGINE | METHODS | BENCHMARKS | RESULTS | BASE,
    "nasbench.cli.checks": ENGINE | METHODS | BENCHMARKS | RESULTS | BASE,
    "nasbench.cli.speed": ENGINE | METHODS | BENCHMARKS | RESULTS | BASE,
    "nasbench.cli.outside": ENGINE | METHODS | BENCHMARKS | RESULTS | BASE,
    "nasbench.cli.engine": METHODS | BENCHMARKS | RESULTS | BASE,
    "nasbench.methods": BENCHMARKS | BASE,
    "nasbench.benchmarks.spaces": BASE,
    "nasbench.benchmarks": {"nasbench.benchmarks.spaces"} | BASE,
    "nasbench.results": BASE,
    "nasbench.base": set(),
}


def named(path: Path) -> str:
    """The dotted name under which a file of ours is imported."""
    room = next(room for room in FOLDERS if path.is_relative_to(ROOT / room))
    return ".".join([FOLDERS[room], *path.relative_to(ROOT / room).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {named(path): path for room in FOLDERS for path in (ROOT / room).rglob("*.py")}


def imported(source: str) -> set[str]:
    """Modules of ours that a source text imports, anywhere in it and also for types alone."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "nasbench"}


def room_of(module: str) -> str:
    """The innermost room that holds a module; `nasbench` for what assembles them (`nasbench.cli.main`, the front)."""
    return max((room for room in ARROWS if f"{module}.".startswith(f"{room}.")), key=len, default="nasbench")


def upward(module: str, targets: set[str]) -> set[str]:
    """The modules of `targets` that `module` may not import."""
    own = room_of(module)
    below = {own} | ARROWS.get(own, set(ARROWS))
    if own in METHODS and "report" in module.split("."):
        below |= RESULTS  # the part of reports on a method lies with the method
    return {t for t in targets if not any(f"{room_of(t)}.".startswith(f"{room}.") for room in below)}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_only_run_down(module: str) -> None:
    assert upward(module, imported(MODULES[module].read_text())) == set()


def test_no_imports_run_in_a_circle() -> None:
    graph = {module: (imported(path.read_text()) - {module}) & set(MODULES) for module, path in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_the_check_of_arrows_sees_an_upward_import() -> None:
    source = "def f():\n    from nasbench.cli.engine import plan\n    import nasbench.benchmarks.spaces\n"
    assert imported(source) == {"nasbench.cli.engine.plan", "nasbench.benchmarks.spaces"}
    assert upward("nasbench.methods.contract", imported(source)) == {"nasbench.cli.engine.plan"}
    curves = {"nasbench.results.curves"}
    assert (upward("nasbench.methods.tpe.tpe", curves), upward("nasbench.methods.a.report.b", curves)) == (
        curves,
        set(),
    )
    assert upward("nasbench.benchmarks.spaces.grid", {"nasbench.benchmarks.spec"}) == {"nasbench.benchmarks.spec"}
    assert upward("nasbench.base.errors", {"nasbench.results.curves"}) == {"nasbench.results.curves"}
    assert upward("nasbench.results.curves", {"nasbench.methods.contract"}) == {"nasbench.methods.contract"}
    assert upward("nasbench.cli.engine.plan", {"nasbench.cli.commands.run"}) == {"nasbench.cli.commands.run"}
    assert upward("nasbench.cli.commands.run", {"nasbench.cli.main"}) == {"nasbench.cli.main"}


def test_the_engine_prints_nothing() -> None:
    prints = re.compile(r"^\s*(?:import|from) (?:click|rich)\b|\bprint\(|\bsys\.std(?:out|err)\b", re.MULTILINE)
    engine = {module: path for module, path in MODULES.items() if module.startswith("nasbench.cli.engine")}
    assert len(engine) > 15
    assert [module for module, path in engine.items() if prints.search(path.read_text())] == []


def test_everything_is_printed_through_one_door() -> None:
    """That is `say`, which shows the codes for a terminal that names and values of others may hold."""
    prints = re.compile(r"\bclick\.s?echo\(|(?<![\w.\"])print\(")
    commands = {
        module: path for module, path in MODULES.items() if module.startswith(("nasbench.cli", "nasbench.base"))
    }
    assert {module for module, path in commands.items() if prints.search(path.read_text())} == {"nasbench.base.streams"}


def test_the_old_import_names_are_gone() -> None:
    room = "(?:nasbench_cli|methods|benchmarks|results)"  # programs in strings count, sentences do not
    old = re.compile(rf"(?:from {room}(?:\.\w+)* import|^\s*(?:>>> )?import {room})\b", re.MULTILINE)
    assert old.search('"import sys; from ' + 'methods.base import METHODS"')
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = [ROOT / name for name in listed if name.endswith((".py", ".md", ".toml", ".yml", ".ipynb"))]
    assert len(texts) > 100
    assert [path for path in texts if path.exists() and old.search(path.read_text())] == []


@pytest.mark.parametrize("command", [["--help"], ["list"], ["list", "--matrix"]])
def test_light_commands_import_nothing_heavy(command: list[str]) -> None:
    program = (
        "import contextlib, sys; from nasbench.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "print('loaded:', *sorted({n.partition('.')[0] for n in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    heavy = {"torch", "ax", "optuna", "matplotlib", "pandas", "scipy", "statsmodels", "rich", "jinja2", "sklearn"}
    heavy |= {"numpy", "pyarrow", "numba"} if command == ["--help"] else {"numba"}
    assert not loaded & heavy


def test_the_package_itself_is_light() -> None:
    program = "import sys, nasbench; print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "pandas", "pyarrow", "click", "torch"}


def test_no_file_names_a_room_of_odds_and_ends() -> None:
    vague = {"utils", "util", "helpers", "common", "misc", "manager"}
    assert {module for module in MODULES if module.rpartition(".")[2] in vague} == set()


def test_files_stay_readable() -> None:
    long = {module: n for module, path in MODULES.items() if (n := len(path.read_text().splitlines())) > 400}
    # numba's cache on disk notices a change of the file alone: what is compiled together stands together.
    assert long.keys() <= {"nasbench.methods.tpe.compiled"}


def test_one_class_name_is_one_thing() -> None:
    named: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name, set()).add(module)
    several = {name for name, modules in named.items() if len(modules) > 1}
    assert several == {"Packed"}  # arguments of compiled functions: caches of users hold the name, and break without it


def folder_of(module: str) -> str:
    """The package that a module lies in."""
    return module.rpartition(".")[0]


def test_a_module_that_nobody_else_may_import_says_so() -> None:
    """`_…` is imported from its own folder alone; what only files beside it import, and no page names, is called so.

    Members that their folder's `__init__` collects are not, and neither is what registers something.
    """
    ours = {module: imported(path.read_text()) for module, path in MODULES.items()}
    others = [path for name in ("tests", "research", "examples", "nasbench") for path in (ROOT / name).rglob("*.py")]
    texts = [path.read_text() for path in others if path not in MODULES.values()]
    said = re.findall(r"`(nasbench\.[\w.]*\w)`", "\n".join(path.read_text() for path in MODULES.values()))
    read = "\n".join([*texts, *(path.read_text() for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")])])
    named_elsewhere = {*said, *re.findall(r"nasbench\.[\w.]*\w", read)}.union(*map(imported, texts))
    for module, path in MODULES.items():
        users = {user for user, targets in ours.items() if module in targets}
        beside = {user for user in users if f"{user}.".startswith(f"{folder_of(module)}.")}
        if path.name.startswith("_") and path.name not in ("__init__.py", "__main__.py"):
            assert users == beside != set(), f"{module} is imported by {sorted(users - beside)}"
            assert module not in named_elsewhere, f"{module} is named in a test, a page or research"
            continue
        of_the_folder = users == beside and not beside <= {folder_of(module)}
        is_named = module in named_elsewhere or str(path.relative_to(ROOT)) in read
        registers = re.search(r"^@\w+\.register\(", path.read_text(), re.MULTILINE)
        assert not of_the_folder or path.name == "__init__.py" or is_named or registers, f"call it _{path.name}"


DOORS = {
    "nasbench",
    "nasbench.methods",
    "nasbench.benchmarks",
    "nasbench.benchmarks.tabular",
    "nasbench.benchmarks.spaces",
    "nasbench.benchmarks.spaces.language",
    "nasbench.benchmarks.spaces.language.layers",
    "nasbench.benchmarks.spaces.trainable",
    "nasbench.results",
    "nasbench.results.parts",
    "nasbench.results.display",
    "nasbench.cli.checks",
    "nasbench.cli.engine.executors",
}
"""What pages, examples and plug-ins import from."""


def test_pages_examples_and_plug_ins_go_through_doors() -> None:
    named = re.compile(r"^\s*(?:>>> )?(?:from|import) (nasbench[\w.]*)", re.MULTILINE)
    files = [
        ROOT / "README.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.py"),
        *ROOT.glob("tests/plugin/*.py"),
    ]
    inside = {  # shown as what lies inside
        "nasbench.benchmarks.spaces.language.network": "docs/search-space-language.md",
        "nasbench.benchmarks.spaces.published.genetic": "docs/search-space-language.md",
    }
    found = {(name, str(path.relative_to(ROOT))) for path in files for name in named.findall(path.read_text())}
    assert {(name, path) for name, path in found if name not in DOORS} == set(inside.items())

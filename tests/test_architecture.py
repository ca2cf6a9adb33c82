"""The house keeps its arrows, and stays light at the door."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {
    "nasbench_cli": {"methods", "benchmarks", "results"},
    "methods": {"benchmarks"},
    "benchmarks": set(),
    "results": set(),
}


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names} & set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_only_run_down(room: str) -> None:
    files = list((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        assert imported_rooms(path) - {room} <= ROOMS[room], f"{path} imports upwards"


def test_the_check_of_arrows_sees_an_upward_import(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from nasbench.cli import plan\n    import results.store\n")
    assert imported_rooms(bad) == {"nasbench_cli", "results"}


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
    assert not loaded & {"torch", "ax", "optuna", "matplotlib", "pandas", "scipy", "statsmodels", "rich", "jinja2"}


def test_no_file_names_a_room_of_odds_and_ends() -> None:
    vague = {"utils", "util", "helpers", "common", "misc", "manager"}
    assert not [p for room in ROOMS for p in (ROOT / room).rglob("*.py") if p.stem in vague]

"""Inside the results room arrows run report → parts → verdict → subject → statistics → curves → scores → store."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "results"
MAY_IMPORT = {
    "store": set[str](),
    "sources": {"store"},
    "selection": {"store"},
    "scores": {"store"},
    "curves": {"scores", "selection", "store"},
    "reading": {"curves", "scores", "selection", "store"},
    "statistics": {"curves", "scores", "store"},
    "display": {"curves"},
    "literature": set(),
    "subject": {"literature", "statistics", "curves", "scores", "store"},
    "verdict": {"subject", "display", "statistics", "curves", "scores"},
    "parts": {"verdict", "subject", "literature", "display", "statistics", "curves", "scores", "store"},
    "report": {
        "sources",
        "parts",
        "verdict",
        "subject",
        "literature",
        "display",
        "statistics",
        "reading",
        "curves",
        "scores",
        "selection",
        "store",
    },
}


def imported(path: Path) -> set[str]:
    """The folders and files of the room that a file imports, whether at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "nasbench.results":
            found |= {alias.name for alias in node.names if alias.name.islower()}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nasbench.results."):
            found.add((node.module or "").split(".")[2])
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_only_run_down(folder: str) -> None:
    files = [*(ROOM / folder).rglob("*.py"), *ROOM.glob(f"{folder}.py")]
    assert files
    for path in files:
        assert imported(path) - {folder} <= MAY_IMPORT[folder], f"{path} imports upwards"


def test_no_folder_is_forgotten_and_no_circle_is_allowed() -> None:
    names = {p.stem for p in ROOM.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} - {"__init__"}
    assert names == set(MAY_IMPORT)
    done: set[str] = set()
    for folder, allowed in MAY_IMPORT.items():
        assert allowed <= done
        done.add(folder)

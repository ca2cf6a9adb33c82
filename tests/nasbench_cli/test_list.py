"""`nasbench list` names everything, and reads no more than sources for that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.base.catalogue import catalogue
from nasbench.cli.engine.executors import EXECUTORS
from nasbench.methods import METHODS
from tests.conftest import Printed


def test_what_is_read_from_sources_is_what_imports_register() -> None:
    entries = catalogue("nasbench.methods", "METHODS", "nasbench.methods")
    ours = {entry.name: entry for entry in entries if entry.group != "plug-ins"}
    assert set(ours) == {name for name in METHODS.names() if not METHODS.is_foreign(name)}
    for name, entry in ours.items():
        assert METHODS.get(name).__doc__.startswith(entry.summary)  # type: ignore[union-attr]
        assert METHODS.get(name).__module__.split(".")[2:3] == [entry.group] or not entry.group
    executors = catalogue("nasbench.cli.engine.executors", "EXECUTORS", "nasbench.executors")
    assert {entry.name for entry in executors} >= set(EXECUTORS.names())


def test_an_overview_opens_no_method(nasbench: Callable[..., Printed]) -> None:
    program = (
        "import contextlib, sys; from nasbench.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "print('loaded:', *sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program, "list"], capture_output=True, text=True, check=True)
    assert "nasbench.methods" not in done.stdout.splitlines()[-1].split()
    for words in ("methods, classics:", "methods, tpe:", "nb201-… (3)", "  c-tpe ", "  quick ", "  serial "):
        assert words in done.stdout


def test_a_suite_that_cannot_be_read_is_listed_with_its_reason(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "torn.toml").write_text("title = ")
    assert "torn                unusable: " in nasbench("list").out


def test_a_line_of_the_overview_may_hold_quotation_marks(nasbench: Callable[..., Printed]) -> None:
    assert "agent.js" in nasbench("list").out

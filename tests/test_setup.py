"""What stands in the way of `make setup` is said in one sentence, before anything is made."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what `make setup` reads, and no network behind it."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "nasbench" / "cli").mkdir(parents=True)
    return tmp_path


def setup(checkout: Path, prelude: str = "") -> subprocess.CompletedProcess[str]:
    """`make setup` with a Python in which `prelude` has come to pass; one that gets past the checks stops with 77."""
    python = checkout / "python"
    start = f"import sys\n{prelude}\nif sys.argv[1] != '-c': sys.exit(77)\nexec(sys.argv[2])"
    (checkout / "start.py").write_text(start)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{checkout}/start.py" "$@"\n')
    python.chmod(0o755)
    command = ["make", "setup", f"PYTHON={python}"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def sentence(run: subprocess.CompletedProcess[str]) -> str:
    """The one line that is ours, of a run that made nothing."""
    (line,) = [line for line in (run.stdout + run.stderr).splitlines() if line.startswith("setup: ")]
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    return line


@pytest.mark.parametrize("version", [(3, 9), (3, 10), (3, 15)])
def test_another_python_is_refused_with_the_versions_that_work(checkout: Path, version: tuple[int, int]) -> None:
    said = sentence(setup(checkout, f"sys.version_info = {(*version, 0)}"))
    assert "3.11 to 3.14" in said
    assert f"Python {version[0]}.{version[1]};" in said


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_pythons_from_3_11_to_3_14_are_taken(checkout: Path, version: tuple[int, int]) -> None:
    run = setup(checkout, f"sys.version_info = {(*version, 0)}")
    assert "Error 77" in run.stderr, run.stderr


def test_a_python_without_venv_is_told_what_to_install(checkout: Path) -> None:
    assert "install python3-venv" in sentence(setup(checkout, "sys.modules['ensurepip'] = None"))


def test_a_checkout_without_links_is_told_how_to_clone(checkout: Path) -> None:
    (checkout / "nasbench" / "cli").rmdir()
    (checkout / "nasbench" / "cli").write_text("../nasbench_cli")
    assert "core.symlinks=true" in sentence(setup(checkout))


def test_a_python_that_is_not_there_is_named(checkout: Path) -> None:
    run = subprocess.run(["make", "setup", "PYTHON=python9"], cwd=checkout, capture_output=True, text=True, check=False)
    assert "there is no python9" in sentence(run)


def test_an_import_without_links_says_so(tmp_path: Path) -> None:
    (tmp_path / "nasbench").mkdir()
    shutil.copy(ROOT / "nasbench" / "__init__.py", tmp_path / "nasbench")
    (tmp_path / "nasbench" / "cli").write_text("../nasbench_cli")
    run = subprocess.run(
        [sys.executable, "-c", "import nasbench"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.stderr.splitlines()[-1].startswith("ImportError: this checkout has no symbolic links")


def test_every_package_of_the_core_is_locked_in_the_version_that_is_pinned() -> None:
    """Names as in constraints.txt, whatever their case; each with digests."""
    locked = {
        line.split("==")[0].lower(): line.split("==")[1].split()[0]
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if "==" in line
    }
    pinned = {
        line.split("==")[0].lower(): line.split("==")[1].split(";")[0].strip()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement.replace("==", ">=").split(">=")[0].lower() for requirement in needed}
    assert names <= locked.keys()
    assert {name: pinned[name] for name in locked} == locked
    blocks = (ROOT / "requirements.lock").read_text().split("==")[1:]
    assert all("--hash=sha256:" in block for block in blocks)

"""What is installed works without the checkout, beside whatever files the user has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the built wheel, and our dependencies from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    left_out = {".git", ".venv", "build", "dist", "runs", "report", "site"}
    shutil.copytree(ROOT, source, symlinks=True, ignore=lambda where, names: left_out if where == str(ROOT) else [])
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", source, "--no-deps", "--no-build-isolation", "-w", folder]
    subprocess.run([*pip, *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.mark.slow
def test_a_wheel_runs_beside_files_of_the_users_own(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "methods.py").write_text("raise RuntimeError('the file of the user')\n")
    (tmp_path / "results.py").write_text("raise RuntimeError('the file of the user')\n")
    (tmp_path / "benchmarks").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def nasbench(*words: str) -> str:
        command = [installed, "-m", "nasbench", *words]
        done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [installed, "-c", "import nasbench.cli.main, nasbench.results; print(nasbench.results.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert where.stdout.startswith(str(installed.parents[1]))  # and not the checkout
    frames = "from nasbench.base import foreign; assert foreign._OURS.is_dir()"
    subprocess.run([installed, "-c", frames], cwd=tmp_path, check=True, env=environment)
    assert "c-tpe" in nasbench("list", "methods")
    assert "quick" in nasbench("list", "suites")
    assert "runs" in nasbench("plan", "smoke")
    asked = ["--method", "random", "--method", "smbo", "--bench", "nb201-cifar10", "--seeds", "2", "--evals", "20"]
    assert "4 runs computed" in nasbench("run", *asked, "--store", "s")
    packed = ["--method", "random", "--bench", "sk-svm-wine"]  # whose values are in the wheel itself
    assert "1 run computed" in nasbench("run", *packed, "--seeds", "1", "--evals", "20", "--store", "p")
    assert "DeepArchitect" in nasbench("report", "s", "--out", "r", "--full")  # what papers claim comes with it
    assert (tmp_path / "r" / "index.html").stat().st_size > 10_000


FOREIGN = """import sys
sys.path.insert(0, sys.argv[1])
import nasbench_start
nasbench_start.main()
"""


def test_another_package_of_the_name_is_said_in_one_sentence(tmp_path: Path) -> None:
    """NAS-Bench-101's package is called nasbench, too."""
    (tmp_path / "nasbench").mkdir()
    (tmp_path / "nasbench" / "__init__.py").write_text("# Copyright of others\n")
    command = [sys.executable, "-c", FOREIGN, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"NAS-Bench-101's, lies at {tmp_path}/nasbench/__init__.py: `pip uninstall nasbench`" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_wheel_whose_files_others_have_replaced_says_so(installed: Path) -> None:
    where = [installed, "-c", "import nasbench; print(nasbench.__file__)"]
    ours = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    start = [installed, "-c", "import nasbench_start; nasbench_start.main()"]
    assert "Usage: nasbench" in subprocess.run([*start, "--help"], capture_output=True, text=True, check=True).stdout
    text = ours.read_text()
    try:
        ours.write_text("")
        done = subprocess.run(start, capture_output=True, text=True, check=False)
        assert (done.returncode, "another package of the same name" in done.stderr) == (2, True)
    finally:
        ours.write_text(text)


def test_one_version_is_named_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'"version": "{version}"' in (ROOT / "codemeta.json").read_text()
    assert f'version: "{version}"\n' in (ROOT / "packaging" / "conda.yaml").read_text()
    released = r"^## (\S+) \((?!unreleased)"
    assert re.search(released, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version  # type: ignore[index]

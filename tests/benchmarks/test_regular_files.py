"""Files of the user that are pipes or devices are refused: reading one may never end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of
from nasbench.base.textfile import content_of, opened
from nasbench.benchmarks.tabular import description
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.user_table import read_table
from nasbench.results import StoreError
from nasbench.results.store.archive import Archive
from tests.benchmarks.small_table import CSV, SPEC

ROOT = Path(__file__).parents[2]


def pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("read", [opened, digest_of, description.read, lambda path: content_of(path, 9, "")])
def test_a_pipe_or_a_device_is_not_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    for path in (pipe(tmp_path / "pipe"), Path("/dev/zero"), Path("/dev/tty")):
        if path.exists() and os.access(path, os.R_OK):
            with pytest.raises((UsageError, OSError)):
                read(path)


def test_an_archive_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a regular file"):
        Archive(pipe(tmp_path / "pipe.zip"))


@pytest.mark.parametrize("file", ["tables/mine/table.json", "columns/mine/columns.json"])
def test_a_pipe_in_the_data_folder_hangs_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.toml").write_text(SPEC)
    save(read_table(tmp_path / "t.csv", tmp_path / "t.toml"))
    path = tmp_path / "data" / file
    path.unlink(missing_ok=True)
    pipe(path)
    command = [sys.executable, "-m", "nasbench"]  # a process of its own: this one knows its benchmarks by now
    shown = subprocess.run(
        [*command, "show", "mine"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert f"{path} is not a regular file" in shown.stderr
    assert subprocess.run([*command, "list"], cwd=ROOT, capture_output=True, timeout=60, check=False).returncode == 0

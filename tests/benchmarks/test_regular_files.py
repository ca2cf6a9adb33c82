"""Files of the user that are pipes or devices are refused: reading one may never end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.benchmarks.files import digest_of
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.textfile import content_of, opened
from nasbench.benchmarks.tabular import added, description
from nasbench.benchmarks.tabular.imported import open_imported, save
from nasbench.results import StoreError
from nasbench.results.store.archive import Archive
from tests.benchmarks.small_table import two_metrics
from tests.conftest import Printed


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

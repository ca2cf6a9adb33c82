from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from nasbench.base.files import beside


def test_a_file_takes_its_place_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "values"
    with beside(path) as aside:
        aside.write_text("first")
        assert not path.exists()
        aside.replace(path)
    with pytest.raises(ZeroDivisionError), beside(path) as aside:
        aside.write_text("half of the second")
        raise ZeroDivisionError
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as raised, beside(path) as aside:
        aside.write_text("x")
        aside.replace(path)
    assert (raised.value.errno, raised.value.filename) == (errno.EISDIR, str(path))
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_without_a_number_keeps_its_text(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="9 requested and 4 written"), beside(tmp_path / "values"):
        raise OSError("9 requested and 4 written")


def test_where_nothing_can_be_removed_the_first_error_stays(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "values"  # Linux refuses every operation below a file
    with pytest.raises(NotADirectoryError) as raised, beside(path) as aside:
        aside.write_text("x")
    assert raised.value.filename == str(path)


def test_what_killed_processes_left_is_removed_after_a_day(tmp_path: Path) -> None:
    for name, age in ((".values.0123.tmp", 90_000), (".values.4567.tmp", 60), (".others.0123.tmp", 90_000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with beside(tmp_path / "values") as aside:
        aside.write_text("x")
        aside.replace(tmp_path / "values")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".others.0123.tmp", ".values.4567.tmp", "values"]

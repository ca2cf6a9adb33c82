from __future__ import annotations

import errno
from pathlib import Path

import pytest

from nasbench.benchmarks.files import beside


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

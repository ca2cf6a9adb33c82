"""Files of other tools, and what is asked of their runs, for the tests of readers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nasbench.base.errors import UsageError
from nasbench.cli.outside import Asked, Rows
from nasbench.cli.outside.readers import reader_of
from nasbench.cli.outside.runs import runs_of
from nasbench.results.store.trajectory import Setup, Trajectory
from tests.conftest import Printed

FILES = Path(__file__).parent / "files"
SYNE_TUNE, CARPS, HPBANDSTER, IOH, COCO = (
    FILES / name for name in ("syne_tune", "carps", "hpbandster", "ioh", "coco/bbob")
)
GATHERED = CARPS / "logs.parquet"
Nasbench = Callable[..., Printed]
Runs = dict[tuple[str, str, int], tuple[Setup, Trajectory]]
"""Method, benchmark and seed → setup and run."""


def read(path: Path, reader: str = "", **asked: Any) -> Rows:
    return reader_of(path, reader).read(path, Asked(**asked))


def refused(path: Path, reader: str = "", **asked: Any) -> str:
    with pytest.raises(UsageError) as error:
        read(path, reader, **asked)
    return str(error.value)


def marks(rows: Rows) -> list[tuple[str, str, str]]:
    return sorted({(str(a), str(b), str(c)) for a, b, c in rows.frame[["method", "benchmark", "seed"]].to_numpy()})


def runs(path: Path, **asked: Any) -> Runs:
    made = runs_of(read(path, **asked), Asked(**asked))
    return {(s.method, s.bench, t.seed): (s, t) for s, every in made for t in every}


def column(run: tuple[Setup, Trajectory], name: str) -> list[object]:
    values: list[object] = run[1].columns[name].tolist()
    return values


def best(run: tuple[Setup, Trajectory]) -> float:
    return float(run[1].columns["incumbent"][-1])


def copied(path: Path, folder: Path) -> Path:
    return Path(shutil.copytree(path, folder / path.name))


def changed(path: Path, old: str, new: str, times: int = -1) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, times))


def one_sentence(done: Printed) -> str:
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("nasbench: ")
    assert len(done.err.strip().splitlines()) == 1
    return done.err

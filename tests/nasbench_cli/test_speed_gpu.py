"""`nasbench speed --gpu`: refused without a device, and what it prints, writes and promises."""

from __future__ import annotations

import csv
import importlib.util
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.training.recipes import RECIPES  # noqa: E402
from nasbench.cli.speed.gpu import measure, searches  # noqa: E402
from nasbench.cli.speed.gpu.sizes import USUAL, Sizes  # noqa: E402
from nasbench.cli.speed.gpu.tables import Row, Table  # noqa: E402
from tests.conftest import Printed  # noqa: E402
from tests.nasbench_cli.test_speed_apart import PLENTY, fails, lacks_images, nothing, number  # noqa: E402

KEPT = Path(__file__).parents[2] / "docs" / "reproduced" / "gpu"


PLUS = ("", "+", "++")


# The command


def without(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without PyTorch, with one that is made for the CPU, or with one that finds no device."""
    if what == "torch":
        found = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: what != "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("torch", "no CUDA device here: PyTorch is not installed ("),
        ("cuda", f"no CUDA device here: this PyTorch ({torch.__version__}) is made for the CPU alone\n"),
        ("device", "no CUDA device here: PyTorch finds none ("),
    ],
)
def test_without_a_device_one_sentence_refuses(
    what: str, why: str, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(what, monkeypatch)
    monkeypatch.setattr(measure, "main", lambda out: pytest.fail("it was measured"))
    found = nasbench("speed", "--gpu", "--out", tmp_path / "out")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"nasbench: {why}")
    assert found.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_out_is_refused_without_gpu_and_where_a_file_stands(
    nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("nasbench.cli.speed.tables.main", lambda: pytest.fail("it was measured"))
    monkeypatch.setattr("nasbench.cli.speed.gpu.device.require_device", lambda: pytest.fail("it was looked for"))
    found = nasbench("speed", "--out", tmp_path)
    assert (found.code, found.err) == (2, "nasbench: --out goes with --gpu: without it nothing is written\n")
    (tmp_path / "file").touch()
    assert nasbench("speed", "--gpu", "--out", tmp_path / "file").code == 2


@pytest.mark.parametrize(("whole", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_every_row_was_measured(
    whole: bool, code: int, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setattr("nasbench.cli.speed.gpu.device.require_device", lambda: None)
    monkeypatch.setattr(measure, "main", lambda out: (asked.append(out), whole)[1])
    assert nasbench("speed", "--gpu").code == code
    assert nasbench("speed", "--gpu", "--out", tmp_path).code == code
    assert asked == [None, tmp_path]
    assert USUAL.seconds <= 8 * 60


def test_a_device_is_all_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from nasbench.cli.speed.gpu.device import require_device

    without("device", monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    require_device()


# Rows and tables


def test_the_command_prints_and_writes_what_was_found_and_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        Table("a", "Processes", ("number",), (Row("good", number), Row("bad", fails))),
        Table("b", "Images", ("one", "two"), (Row("none", lacks_images),)),
    ]
    monkeypatch.setattr(measure, "tables", lambda sizes: made)
    monkeypatch.setattr(measure, "begin", nothing)
    assert not measure.main(tmp_path / "new" / "out", Sizes(seconds=PLENTY))
    out = capsys.readouterr().out
    assert "Processes\nwhat  number\ngood  " in out
    assert "\nbad: not measured: ValueError: the compiler says a lot" in out
    assert "Images\nnone: not measured: the images are not here\n" in out
    assert out.endswith(f"1 of 3 rows measured, tables in {tmp_path / 'new' / 'out'}\n")
    with (tmp_path / "new" / "out" / "a.csv").open() as file:
        header, good, bad = csv.reader(file)
    assert header == ["what", "number", "note"]
    assert (good[0], good[2]) == ("good", "")
    assert bad[:2] == ["bad", ""]
    assert (tmp_path / "new" / "out" / "b.csv").read_text().splitlines()[1] == (
        "none,,,not measured: the images are not here"
    )
    made[:] = [Table("a", "Processes", ("number",), (Row("good", number),))]
    assert measure.main(None, Sizes(seconds=PLENTY))
    assert capsys.readouterr().out.endswith("1 of 1 rows measured\n")


def test_the_page_has_every_table_with_every_row() -> None:
    """Where rows change: `Table.write`, with NotMeasured("no GPU has been at hand") for each."""
    page = (KEPT.parents[1] / "gpu.md").read_text()
    whole = measure.tables(USUAL)
    assert len({table.name for table in whole}) == len(whole)
    for table in whole:
        with (KEPT / f"{table.name}.csv").open() as file:
            header, *lines = csv.reader(file)
        assert header == ["what", *table.columns, "note"]
        assert [line[0] for line in lines] == [row.what for row in table.rows]
        assert all(bool(line[1]) != line[-1].startswith("not measured: ") for line in lines)
        assert f"<!-- from reproduced/gpu/{table.name}.csv: {', '.join(header)} -->" in page


def test_the_page_promises_what_is_measured() -> None:
    by_name = {table.name: [row.what for row in table.rows] for table in measure.tables(USUAL)}
    assert by_name["training"] == [f"{name}, {how}" for how in ("eager", "compiled") for name in RECIPES]
    assert by_name["agreement"] == list(RECIPES)
    assert by_name["steps"] == [f"{name}" for name in searches.SEARCHES]
    assert {name.partition(" ")[0] for name in by_name["steps"]} == {
        "darts",
        "milenas",
        *(f"zo-darts{p}" for p in PLUS),
    }
    assert by_name["evaluations"] == by_name["spread"] == ["digits", "medmnist-breast"]
    assert by_name["search"] == ["zo-darts++:T=8 on medmnist-breast"]
    for table in measure.tables(USUAL):
        for row in table.rows:
            pickle.dumps(row.measure)

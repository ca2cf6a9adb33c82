"""Small archives that unpack to much are refused in one sentence, before they take a gigabyte of memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from nasbench.results.store import disk
from nasbench.results.store.archive import Archive
from tests import measured

pytestmark = pytest.mark.slow

Members: TypeAlias = dict[str, Any]
SOURCE = Path(__file__).parents[2] / "suites" / "archives" / "sealed.zip"


def written(path: Path, change: Callable[[Members], None]) -> Path:
    """An archive with the first setup of one that comes with nasbench, changed, with right digests."""
    with zipfile.ZipFile(SOURCE) as file:
        members: Members = {name: file.read(name) for name in file.namelist()}
    facts = json.loads(members["facts.json"])
    facts |= {"missing": [], "setups": facts["setups"][:1]}
    runs = len(facts["setups"][0]["runs"])
    steps, bits = (pq.read_table(pa.BufferReader(members[name])) for name in ("steps.parquet", "feasible.parquet"))
    members |= {"steps.parquet": packed(steps.filter(pc.less(steps["run"], runs)))}
    members |= {"facts": facts, "padding": "", "feasible.parquet": packed(bits.slice(0, runs))}
    change(members)
    facts["digests"] = [disk.digest(members[name]) for name in ("steps.parquet", "feasible.parquet")]
    text = json.dumps(facts)[:-1] + members.pop("padding") + "}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("facts.json", text)
        for name in ("steps.parquet", "feasible.parquet"):
            file.writestr(name, members[name])
    return path


def packed(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", store_schema=False)
    return content.getvalue().to_pybytes()


def parquet(**columns: pa.Array) -> bytes:
    return packed(pa.table(columns))


def rows_claimed(members: Members) -> None:
    run = members["facts"]["setups"][0]["runs"][0]
    members["facts"]["setups"][0]["runs"] = [run | {"seed": seed, "rows": 10_000_000} for seed in range(100)]


def one_long_run(members: Members) -> None:
    rows_claimed(members)
    for run in members["facts"]["setups"][0]["runs"][1:]:
        run["rows"] = 1


def many_test_metrics(members: Members) -> None:
    """Half of the rows that an archive may have, but a rectangle for each metric: 100 of them took 4.2 GB."""
    setup = members["facts"]["setups"][0]
    for run in setup["runs"]:
        run["rows"] = 5_000_000 // len(setup["runs"])
    tests = [f"test-{number}" for number in range(100)]
    setup["setup"]["metrics"] = [*setup["setup"]["metrics"], *tests]
    setup["setup"]["setting"]["test_metrics"] = tests


def run_lengths(members: Members) -> None:
    number = pa.array(np.zeros(40_000_000, np.int32))
    names = ("run", "row", "incumbent", "finished", "score")
    members["steps.parquet"] = parquet(**dict.fromkeys(names, number))


def empty_bits(members: Members) -> None:
    members["feasible.parquet"] = parquet(feasible=pa.repeat(pa.scalar(b""), 50_000_000))


def shared_text(members: Members) -> None:
    text = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), ["x" * 100_000])
    members["steps.parquet"] = parquet(run=pa.array(np.zeros(1_000_000, np.int32)), incumbent=text)


def many_lists(members: Members) -> None:
    members["padding"] = f', "padding": [{"[]," * 60_000_000}[]]'


def test_what_is_crafted_is_an_archive_otherwise(tmp_path: Path) -> None:
    archive = Archive(written(tmp_path / "sound.zip", lambda _: None))
    (fragment,) = archive.fragments()
    assert len(fragment.table(["incumbent", "feasible"])) == sum(run.rows for run in fragment.runs)


def rows_of_no_step(members: Members) -> None:
    """Rows beyond those of the runs: padding could allow their file to unpack to gigabytes."""
    steps = pq.read_table(pa.BufferReader(members["steps.parquet"]))
    more = pa.table({name: pa.array(np.full(2_000_000, 99), steps[name].type) for name in steps.column_names})
    members["steps.parquet"] = packed(pa.concat_tables([steps, more]))


OF_FACTS = (rows_claimed, one_long_run, many_test_metrics)
CRAFTED = (*OF_FACTS, run_lengths, empty_bits, shared_text, many_lists, rows_of_no_step)


@pytest.mark.parametrize("change", CRAFTED, ids=lambda change: change.__name__)
def test_a_small_archive_that_unpacks_to_much_is_refused(tmp_path: Path, change: Callable[[Members], None]) -> None:
    path = written(tmp_path / "crafted.zip", change)
    assert path.stat().st_size < 1_000_000
    done = measured.nasbench("report", "--against", path, "--out", tmp_path / "no")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert any(said in done.err for said in ("unpacks to more than", "rows, where at most"))
    assert done.megabytes < 1_000


def test_what_a_member_states_of_its_size_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "crafted.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("facts.json", bytes(3 << 29))
        file.getinfo("facts.json").file_size = 100
    done = measured.nasbench("report", "--against", path, "--out", tmp_path / "no")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.megabytes < 1_000

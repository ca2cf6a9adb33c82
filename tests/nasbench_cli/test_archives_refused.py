"""Archives that are damaged or forged are refused in one sentence."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from nasbench.results import Store, StoreError
from nasbench.results.store.archive import Archive
from nasbench.results.store.disk import digest
from nasbench.results.store.packing import pack
from nasbench.results.store.trajectory import SCHEMA_VERSION
from tests.conftest import Printed
from tests.nasbench_cli.archived import Change, forged, tampered


def test_damage_and_newer_versions_are_refused(packed: Path) -> None:
    def flip(members: dict[str, bytes]) -> None:
        steps = bytearray(members["steps.parquet"])
        steps[len(steps) // 2] ^= 1
        members["steps.parquet"] = bytes(steps)

    with pytest.raises(StoreError, match="do not match their digests"):
        Archive(tampered(packed, flip))

    def flip_facts(members: dict[str, bytes]) -> None:
        members["facts.json"] = members["facts.json"][:-3]

    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(tampered(packed, flip_facts))
    content = bytearray((packed / "store.zip").read_bytes())
    content[200] ^= 0xFF  # inside the compressed facts
    (packed / "flipped.zip").write_bytes(bytes(content))
    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(packed / "flipped.zip")

    (packed / "text.zip").write_text("no archive")
    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(packed / "text.zip")
    with pytest.raises(StoreError, match="holds no finished run"):
        pack(Store.create(packed / "empty"), packed / "empty.zip")


def test_archives_without_runs_or_facts_are_refused(packed: Path) -> None:
    def emptied(members: dict[str, bytes]) -> None:
        members["facts.json"] = json.dumps(json.loads(members["facts.json"]) | {"setups": []}).encode()

    with pytest.raises(StoreError, match="holds no runs"):
        Archive(tampered(packed, emptied))

    def unset(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        facts["setups"][0]["setup"]["setting"] = None
        members["facts.json"] = json.dumps(facts).encode()

    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(tampered(packed, unset))


FORGERIES: dict[str, Change] = {
    "display": lambda facts: facts.update(display=None),
    "labels": lambda facts: facts.update(display={"labels": {"random": 5}}),
    "strange display": lambda facts: facts.update(display={"colour": "red"}),
    "checkpoints": lambda facts: facts.update(display={"checkpoints": ["a"]}),
    "checkpoint below 1": lambda facts: facts.update(display={"checkpoints": [-1000]}),
    "half of a checkpoint": lambda facts: facts.update(display={"checkpoints": [0.5]}),
    "endless seconds": lambda facts: facts["setups"][0]["setup"].update(evals=None, seconds=math.inf),
    "no evaluations": lambda facts: facts["setups"][0]["setup"].update(evals=0),
    "escape": lambda facts: facts.update(display={"labels": {"random": "\x1b[2Jbest"}}),
    "line": lambda facts: facts["setups"][0]["setup"]["setting"].update(caution="a\nb"),
    "bench": lambda facts: facts["setups"][0]["setup"].update(bench=5),
    "constraint": lambda facts: facts["setups"][0]["setup"].update(constraint=None),
    "oracle": lambda facts: facts["setups"][0]["setup"]["setting"].update(oracle="low"),
    "contents": lambda facts: facts.update(contents="\x1b[8m"),
    "no runs": lambda facts: facts["setups"][0].update(runs=[]),
    "seed": lambda facts: facts["setups"][0]["runs"][0].update(seed="0"),
    "negative": lambda facts: facts["setups"][0]["runs"][0].update(seed=-1),
    "twice": lambda facts: facts["setups"][0]["runs"][0].update(seed=facts["setups"][0]["runs"][1]["seed"]),
    "endless": lambda facts: facts["setups"][0]["runs"][0].update(rows=10**13),
    "endless together": lambda facts: [run.update(rows=10**6) for s in facts["setups"] for run in s["runs"]],
    "reason": lambda facts: facts["setups"][0]["runs"][0].update(failure=7),
    "missing": lambda facts: facts.update(missing=[[facts["setups"][0]["setup"], ["x"]]]),
    "missing before 0": lambda facts: facts.update(missing=[[facts["setups"][0]["setup"], [-1]]]),
    "missing twice": lambda facts: facts.update(missing=[[facts["setups"][0]["setup"], [70, 70]]]),
    "shards": lambda facts: facts.update(shards=[[1, 2, "a" * 16, 9], [2, 2, "a" * 16, 7]]),
    "huge oracle": lambda facts: facts["setups"][0]["setup"]["setting"].update(oracle=10**400),
    "bounds": lambda facts: facts["setups"][0]["setup"]["setting"].update(bounds=[1]),
    "scale": lambda facts: facts["setups"][0]["setup"]["setting"].update(scales=[["a", 1, True, False]]),
    "front": lambda facts: facts["setups"][0]["setup"]["setting"].update(front=[["a"]]),
    "test metrics": lambda facts: facts["setups"][0]["setup"]["setting"].update(test_metrics=["test-error"]),
    "objectives": lambda facts: facts["setups"][0]["setup"].update(objectives=["a", "b"]),
    "parameters": lambda facts: facts["setups"][0]["setup"].update(parameters=[["a", [1]]]),
    "huge seed": lambda facts: facts["setups"][0]["runs"][0].update(seed=2**70),
    "large seed": lambda facts: facts["setups"][0]["runs"][0].update(seed=2**63),
    "machine": lambda facts: facts["setups"][0]["provenance"].update(machine=[]),
    "cpu": lambda facts: facts["setups"][0]["provenance"]["machine"].update(cpu=["x"]),
    "turned text": lambda facts: facts["setups"][0]["provenance"]["machine"].update(cpu="x\u202ey"),
    "turned title": lambda facts: facts.update(display={"title": "x\u2067y"}),
    "versions": lambda facts: [s["setup"].update(method_version=n) for n, s in enumerate(facts["setups"])],
}


@pytest.mark.parametrize("what", FORGERIES)
def test_forged_facts_are_refused(nasbench: Callable[..., Printed], packed: Path, what: str) -> None:
    path = forged(packed, FORGERIES[what])
    for command in (("archive", "check", path), ("report", "--against", path, "--out", packed / "no")):
        done = nasbench(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"nasbench: {path} ")
        assert "\x1b" not in done.err
        assert done.err.count("\n") == 1


@pytest.mark.parametrize("rows", [1, 29, 10_000])
def test_rows_that_do_not_fit_the_facts_are_damage(nasbench: Callable[..., Printed], packed: Path, rows: int) -> None:
    path = forged(packed, lambda facts: facts["setups"][0]["runs"][0].update(rows=rows))
    done = nasbench("report", "--against", path, "--out", packed / "no")
    assert done.code == 2
    assert "is damaged: its rows do not fit its facts" in done.err


def rewritten(folder: Path, change: Callable[[dict[str, NDArray[Any]]], object]) -> Path:
    """The archive with other rows, and their digest in its facts."""

    def write(members: dict[str, bytes]) -> None:
        table = pq.read_table(io.BytesIO(members["steps.parquet"]))
        columns = {name: table[name].to_numpy().copy() for name in table.column_names}
        change(columns)
        out = io.BytesIO()
        pq.write_table(pa.table(columns), out, compression="zstd")
        facts = json.loads(members["facts.json"])
        facts["digests"][0] = digest(out.getvalue())
        members |= {"steps.parquet": out.getvalue(), "facts.json": json.dumps(facts).encode()}

    return tampered(folder, write)


ROWS: dict[str, Callable[[dict[str, NDArray[Any]]], object]] = {
    "texts": lambda columns: columns.update(incumbent=columns["incumbent"].astype(str).astype(object)),
    "a run without its first row": lambda columns: columns.update(
        row=np.where((columns["row"] == 0) & (columns["run"] == 1), 1, columns["row"])
    ),
    "more spent than there is": lambda columns: columns.update(spent=np.full(len(columns["row"]), 1e8)),
}


@pytest.mark.parametrize("what", ROWS)
def test_forged_rows_are_damage(nasbench: Callable[..., Printed], packed: Path, what: str) -> None:
    path = rewritten(packed, ROWS[what])
    done = nasbench("report", "--against", path, "--out", packed / "no")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is damaged: its rows do not fit its facts" in done.err
    assert nasbench("report", "--against", rewritten(packed, lambda _: None), "--out", packed / "yes").code == 0


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.results.store.archive._MOST_BYTES", 1 << 12)
    with pytest.raises(StoreError, match="unpacks to more than"):
        Archive(packed / "store.zip")


@pytest.mark.parametrize(("schema", "age"), [(99, "a newer"), (4, "an earlier")])
def test_an_archive_of_another_schema_is_refused(packed: Path, schema: int, age: str) -> None:
    with pytest.raises(StoreError, match=rf"was written by {age} nasbench \(schema {schema}, "):
        Archive(forged(packed, lambda facts: facts.update(schema=schema)))


@pytest.mark.parametrize("schema", [str(SCHEMA_VERSION), SCHEMA_VERSION + 0.5])
def test_a_schema_that_is_no_whole_number_is_of_no_version(packed: Path, schema: object) -> None:
    with pytest.raises(StoreError, match=r"is no archive of nasbench .*schema: no whole number"):
        Archive(forged(packed, lambda facts: facts.update(schema=schema)))

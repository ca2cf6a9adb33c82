"""What a store keeps, and what it gives back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.results import Store, StoreError, Trajectory
from nasbench.results.store import content_hash
from nasbench.results.store import store as store_module
from nasbench.results.store.status import status
from tests.results.conftest import FACTS, SETTING, Fill, make_run, make_setup


def test_pandas_reads_the_whole_folder_with_the_metrics_of_all_benchmarks(filled: Fill) -> None:
    store = filled(
        {
            make_setup("z", metrics=("valid-error@1", "time")): [make_run(0, [3.0, 2.0])],
            make_setup("a", metrics=("valid-error@1", "latency")): [make_run(0, [4.0])],
        }
    )
    frame = pd.read_parquet(store.folder)
    assert len(frame) == 3
    assert {"metric.time", "metric.latency", "metric.valid-error@1"} <= set(frame.columns)
    assert frame.loc[frame["method"] == "z", "metric.time"].tolist() == [1.0, 1.0]
    assert frame.loc[frame["method"] == "a", "metric.time"].isna().all()
    assert frame.loc[frame["method"] == "z", "incumbent"].tolist() == [3.0, 2.0]


def test_the_incumbent_is_nan_before_the_first_feasible_evaluation(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [3.0, 4.0, 2.0], [False, True, True])]})
    incumbent = pd.read_parquet(store.folder)["incumbent"].tolist()
    assert math.isnan(incumbent[0])
    assert incumbent[1:] == [4.0, 2.0]


def test_many_seeds_make_one_file(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(seed, [1.0]) for seed in range(100)]})
    assert len(list(store.folder.glob("random*.parquet"))) == 1
    assert list(store.runs()[make_setup().id]) == list(range(100))


def test_what_is_stored_is_not_stored_twice(store: Store) -> None:
    setup = make_setup()
    assert [r.seed for r in store.commit(setup, [make_run(s, [1.0]) for s in (0, 1)], FACTS)] == [0, 1]
    assert [r.seed for r in store.commit(setup, [make_run(s, [1.0]) for s in (1, 2)], FACTS)] == [2]
    assert store.commit(setup, [make_run(0, [9.0])], FACTS) == []
    assert sorted(pd.read_parquet(store.folder)["seed"]) == [0, 1, 2]
    assert store.has(setup, 2)
    assert not store.has(setup, 3)


def test_provenance_travels_in_the_file(filled: Fill) -> None:
    store = filled({make_setup(): [make_run(5, [1.0])]})
    (found,) = store.fragments()
    assert found.provenance == FACTS
    assert found.setup == make_setup()
    assert found.runs[0].began.startswith("2026-01-01")
    assert b"c0ffee" in pq.read_metadata(found.path).metadata[b"nasbench"]


def test_the_content_hash_sees_every_value_but_neither_files_nor_order_nor_thinking(tmp_path: Path) -> None:
    def hashed(name: str, parts: list[list[int]], objective: float = 1.0, thinking: float = 0.5) -> str:
        store = Store.create(tmp_path / name)
        for seeds in parts:
            runs = [make_run(seed, [3.0, objective]) for seed in seeds]
            for run in runs:
                run.columns["thinking"][:] = thinking
            store.commit(make_setup(), runs, FACTS)
        return content_hash(store)

    reference = hashed("a", [[0, 1, 2]])
    assert hashed("b", [[2], [0, 1]]) == reference
    assert hashed("c", [[0, 1, 2]], thinking=0.7) == reference
    assert hashed("d", [[0, 1]]) != reference
    assert hashed("e", [[0, 1, 2]], objective=np.nextafter(1.0, 2)) != reference


def test_a_store_of_another_schema_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    newer: dict[str, object] = {"schema": 99, "metrics": []}
    table = pa.table({"a": [1]}).replace_schema_metadata({"nasbench": json.dumps(newer)})
    pq.write_table(table, store.folder / "0-schema.parquet")
    for access in (Store.open, Store.create):
        with pytest.raises(StoreError, match=r"newer nasbench \(schema 99"):
            access(store.folder)
    assert pq.read_metadata(store.folder / "0-schema.parquet").metadata[b"nasbench"] == json.dumps(newer).encode()
    old = pa.table({"a": [1]}).replace_schema_metadata({"nasbench": json.dumps(newer | {"schema": 2})})
    pq.write_table(old, store.folder / "0-schema.parquet")
    with pytest.raises(
        StoreError, match=r"an earlier nasbench \(schema 2, this one reads \d+\): read it with that version"
    ):
        Store.open(store.folder)


def test_stale_runs_are_set_aside_when_asked_for_again(filled: Fill) -> None:
    old, new, other = (
        make_setup(data="sha256:old"),
        make_setup(data="sha256:new"),
        make_setup("evolution", data="sha256:old"),
    )
    store = filled({old: [make_run(0, [1.0])], other: [make_run(0, [1.0])]})
    store.supersede([new])
    assert set(store.runs()) == {other.id}
    assert store.notices == [
        f"1 stale run of {old.method} (other data, options or version) set aside in {store.folder / '_aside'}"
    ]


def test_many_stale_files_are_one_notice(filled: Fill) -> None:
    old = [make_setup(bench=f"table-{k}", data="sha256:old") for k in range(30)]
    store = filled({setup: [make_run(0, [1.0]), make_run(1, [2.0])] for setup in old})
    store.supersede([make_setup(bench=f"table-{k}", data="sha256:new") for k in range(30)])
    assert store.runs() == {}
    (notice,) = store.notices
    assert notice.startswith("60 stale runs of ")
    assert len(list((store.folder / "_aside").glob("*.parquet"))) == 30


def test_failed_runs_can_be_forgotten_and_a_copy_stays(filled: Fill) -> None:
    setup = make_setup()
    store = filled({setup: [make_run(0, [1.0]), make_run(1, [1.0, math.nan], failure="ask: boom"), make_run(2, [2.0])]})
    record = store.runs()[setup.id][1]
    assert (record.failed, record.failed_evaluations, record.first_reason) == (True, 0, "ask: boom")
    store.forget(setup, {1})
    assert sorted(store.runs()[setup.id]) == [0, 2]
    assert sorted(pd.read_parquet(store.folder)["seed"].unique()) == [0, 2]
    store.forget(setup, {0, 2})
    assert store.runs() == {}
    assert len(list((store.folder / "_aside").iterdir())) == 2


def test_status_holds_the_store_against_its_plans(filled: Fill) -> None:
    done, half, none, broken = (make_setup(name) for name in ("done", "half", "none", "broken"))
    store = filled(
        {
            done: [make_run(0, [1.0]), make_run(1, [1.0])],
            half: [make_run(0, [1.0])],
            broken: [make_run(0, [1.0]), make_run(1, [math.nan])],
            make_setup("stale", data="sha256:old"): [make_run(0, [1.0])],
        }
    )
    store.save_plan("nasbench run …", [(setup, [0, 1]) for setup in (done, half, none, broken)], {})
    found = {c.setup.method: c for c in status(store, lambda setup: setup.data == "sha256:0")}
    states = {name: c.state for name, c in found.items()}
    assert states == {"done": "complete", "half": "partial", "none": "missing", "broken": "failed", "stale": "stale"}
    assert found["half"].missing == [1]
    assert found["none"].missing == [0, 1]
    assert [run.seed for run in found["broken"].failed] == [1]
    assert found["half"].commands == ("nasbench run …",)
    assert found["done"].commands == ()


def test_a_newer_plan_of_the_same_setup_replaces_the_older(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make_setup(data="sha256:old"), make_setup(data="sha256:new")
    monkeypatch.setattr(store_module, "_now", lambda: "2000-01-01")
    store.save_plan("first", [(old, [0])], {})
    monkeypatch.undo()
    store.save_plan("second", [(new, [1])], {})
    (only,) = status(store, lambda _: True)
    assert (only.setup, only.missing, only.commands) == (new, [0, 1], ("first", "second"))


def test_a_plan_that_is_asked_again_is_one_plan(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("2000-01-01", "2000-01-02"):
        monkeypatch.setattr(store_module, "_now", lambda day=day: day)
        store.save_plan("again", [(make_setup(), [0])], {})
    assert [plan["saved"] for plan in store.plans()] == ["2000-01-02"]


@pytest.mark.parametrize(
    "change",
    [
        {"evals": 4},
        {"seconds": 5.0},
        {"workers": 2},
        {"charge_thinking": True},
        {"train_infeasible": True},
        {"objectives": ("valid-error@1", "time")},
    ],
)
def test_runs_of_another_protocol_or_of_other_objectives_are_not_stale(change: dict[str, object], filled: Fill) -> None:
    store = filled({make_setup(): [make_run(0, [1.0])]})
    store.supersede([make_setup(**change)])
    assert list(store.runs()) == [make_setup().id]
    assert store.notices == []


def test_the_last_suites_wishes_count(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, title in (("2000-01-01", "first"), ("2000-01-02", "second")):
        monkeypatch.setattr(store_module, "_now", lambda day=day: day)
        store.save_plan("c", [(make_setup(title), [0])], {"title": title})
    assert store.display() == {"title": "second"}


def logged(*values: float) -> Trajectory:
    log = tuple((1, "found", value, None, "a", None, i) for i, value in enumerate(values))
    return Trajectory(**vars(make_run(0, [2.0, 1.0])) | {"log": log})


def test_the_hash_of_contents_sees_setups_settings_failures_and_logs(tmp_path: Path) -> None:
    kinds = {
        "plain": (make_setup(), make_run(0, [2.0, 1.0])),
        "options": (make_setup(parameters=(("a", 1),)), make_run(0, [2.0, 1.0])),
        "setting": (make_setup(setting=replace(SETTING, oracle=0.5)), make_run(0, [2.0, 1.0])),
        "column": (make_setup(metrics=("valid-error@1", "latency")), make_run(0, [2.0, 1.0])),
        "failure": (make_setup(), replace(make_run(0, [2.0, 1.0]), failure="no memory")),
        "log": (make_setup(), logged(1.0)),
        "other log": (make_setup(), logged(2.0)),
    }
    hashes = {}
    for name, (setup, trajectory) in kinds.items():
        store = Store.create(tmp_path / name)
        store.commit(setup, [trajectory], FACTS)
        hashes[name] = content_hash(store)
    assert len(set(hashes.values())) == len(kinds), hashes


def test_a_run_whose_log_is_damaged_does_not_count_and_the_runs_beside_it_do(tmp_path: Path) -> None:
    """Runs of different lengths: the rows of those behind it are still their own."""
    values = [5.0], [4.0, 3.0, 2.0], [7.0, 6.0]
    runs = [replace(make_run(seed, v), log=logged(float(seed)).log) for seed, v in enumerate(values)]
    for lost in range(3):
        whole, others = (Store.create(tmp_path / f"{name}{lost}") for name in ("whole", "others"))
        whole.commit(make_setup(), runs, FACTS)
        others.commit(make_setup(), [run for run in runs if run.seed != lost], FACTS)
        log = whole.folder / "_searches" / f"{make_setup().run_id(lost)}.parquet"
        log.write_bytes(log.read_bytes()[:-1])
        assert content_hash(whole) == content_hash(others)

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pytest

from nasbench.results import Setup
from nasbench.results.report.files import slug, write_all
from nasbench.results.store.disk import digest
from nasbench.results.store.fragment import record_of
from nasbench.results.store.setups import setup_of
from nasbench.results.store.trajectory import schema, to_table
from tests.results.conftest import SETTING, make_run, make_setup

PUBLIC = [
    "method",
    "bench",
    "constraint",
    "seed",
    "evaluation",
    "worker",
    "configuration",
    "objective",
    "feasible",
    "incumbent",
    "started",
    "finished",
    "thinking",
    "status",
    "reason",
    "score",
    "score_feasible",
    "trial",
    "level",
    "cost",
    "spent",
    "hidden",
    "hidden_feasible",
]


def test_the_public_columns_come_first_and_in_their_order() -> None:
    assert schema(("m",)).names == [*PUBLIC, "run", "metric.m"]


@pytest.mark.parametrize(
    "change",
    [
        {"method": "evolution"},
        {"parameters": (("a", 1),)},
        {"method_version": 2},
        {"bench": "other"},
        {"data": "sha256:1"},
        {"constraint": "size@0.1"},
        {"evals": 4},
        {"seconds": 5.0},
        {"workers": 2},
        {"charge_thinking": True},
        {"train_infeasible": True},
    ],
)
def test_everything_that_determines_a_run_is_in_its_identity(change: dict[str, object]) -> None:
    assert make_setup(**change).id != make_setup().id
    assert make_setup().run_id(0) != make_setup().run_id(1)


def test_what_follows_from_the_benchmark_is_not_in_the_identity() -> None:
    assert make_setup(setting=dataclasses.replace(SETTING, oracle=None)).id == make_setup().id


def test_a_setup_survives_json() -> None:
    setup = make_setup(parameters=(("a", 1), ("b", "x"), ("c", True)))
    assert Setup.from_json(json.loads(json.dumps(setup.to_json()))) == setup


def test_protocols_are_told_apart_in_words() -> None:
    assert make_setup().protocol == "3 evaluations on 1 worker"
    assert make_setup(evals=None, seconds=60.0, workers=2).protocol == "60 seconds on 2 workers"
    assert make_setup(evals=None, seconds=1_000_001.0).protocol == "1000001 seconds on 1 worker"
    assert make_setup(evals=None, seconds=0.25).protocol == "0.25 seconds on 1 worker"
    assert (
        make_setup(seconds=60.0, charge_thinking=True).protocol
        == "3 evaluations or 60 seconds on 1 worker, thinking charged"
    )


def test_a_table_holds_run_after_run() -> None:
    setup = make_setup()
    table = to_table(setup, [make_run(4, [3.0, 2.0]), make_run(7, []), make_run(9, [5.0])])
    assert table["seed"].to_pylist() == [4, 4, 9]
    assert table["run"].to_pylist() == [setup.run_id(4)] * 2 + [setup.run_id(9)]
    assert table["metric.valid-error@1"].to_pylist() == [3.0, 2.0, 5.0]
    assert table.schema == schema(setup.metrics)
    assert to_table(setup, [make_run(1, [])]).num_rows == 0
    assert isinstance(table, pa.Table)


def test_runs_that_train_what_violates_a_constraint_have_a_protocol_of_their_own() -> None:
    assert make_setup(train_infeasible=True).protocol == "3 evaluations on 1 worker, infeasible ones trained"


def test_a_setup_of_several_objectives_survives_json() -> None:
    setting = dataclasses.replace(SETTING, scales=(("valid-error@1", "%", False, False), ("time", "s", False, True)))
    several = make_setup(objectives=("valid-error@1", "time"), setting=setting)
    assert Setup.from_json(json.loads(json.dumps(several.to_json()))) == several


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"evals": "30"}, TypeError),
        ({"evals": 0}, ValueError),
        ({"seconds": float("inf")}, ValueError),
        ({"workers": -1}, ValueError),
        ({"metrics": ["loss", "loss"]}, ValueError),
        ({"objectives": ["loss", "no-such"]}, ValueError),
        ({"bench": None}, TypeError),
    ],
)
def test_a_setup_that_none_can_be_is_none(facts: dict[str, object], error: type[Exception]) -> None:
    """A store may come from anywhere, as an archive may."""
    known = make_setup("random").to_json()
    assert setup_of(known) == make_setup("random")
    with pytest.raises(error):
        setup_of(json.loads(json.dumps(known | facts)))


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"rows": -5}, ValueError),
        ({"seed": "0"}, ValueError),
        ({"rows": 3.0}, ValueError),
        ({"failure": None}, TypeError),
        ({"no_such": 1}, TypeError),
    ],
)
def test_a_record_that_no_run_can_have_is_none(facts: dict[str, object], error: type[Exception]) -> None:
    texts = dict.fromkeys(("failure", "first_reason", "began", "ended"), "")
    known: dict[str, object] = {"seed": 0, "rows": 3, "failed_evaluations": 0, **texts}
    assert record_of(known).rows == 3
    with pytest.raises(error):
        record_of(known | facts)


def test_names_of_files_are_of_bytes_and_a_list_of_them_may_be_damaged(tmp_path: Path) -> None:
    """Nobody can choose another folder for a name that is too long in any."""
    long = slug("超参数优化" * 30)
    assert len(long.encode()) < 200
    assert long != slug("超参数优化" * 31)
    write_all(tmp_path / "out", {"a.csv": b"1"})
    listed = b"a.csv\n\xff.csv\n"
    (tmp_path / "out" / ".nasbench-report").write_bytes(digest(listed).encode() + b"\n" + listed)
    write_all(tmp_path / "out", {"b.csv": b"1"})
    assert sorted(path.name for path in (tmp_path / "out").glob("*.csv")) == ["b.csv"]

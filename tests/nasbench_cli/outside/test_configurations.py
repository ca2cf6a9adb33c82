"""Columns of configurations that are no object of JSON, and other cells of runs that were made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nasbench as public
from nasbench.base.errors import UsageError
from nasbench.results import Store
from nasbench.results.parts.networks import draw, is_network
from tests.conftest import Printed


def runs(**columns: Any) -> pd.DataFrame:
    """Two methods on three tasks, five seeds of six evaluations, with more columns of one value, or a value a row."""
    rng = np.random.default_rng(0)
    rows = [
        (method, task, seed, step, round(width * rng.random() + 0.1, 4))
        for method, width in (("a", 0.3), ("b", 0.6))
        for task in ("x", "y", "z")
        for seed in range(5)
        for step in range(6)
    ]
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", "evaluation", "loss"])
    return frame.assign(**columns)


@pytest.mark.parametrize(
    ("configuration", "stored"),
    [
        (3349342, {"configuration": 3349342}),
        ("{'lr': 0.01, 'layers': (2, 3)}", {"lr": 0.01, "layers": [2, 3]}),
        ("lr=0.01;bs=16", {"configuration": "lr=0.01;bs=16"}),
        ("[1, 2]", {"configuration": [1, 2]}),
        ('{"model": {"clip": Infinity}, "dropout": [0.1, NaN], "x": 1e999}', {
            "model": {"clip": "Infinity"}, "dropout": [0.1, "NaN"], "x": "1e999",
        }),
        ('{"labels": 3, "units": [4], "edges": "none"}', {"labels": 3, "units": [4], "edges": "none"}),
        ("[" * 5000, {"configuration": "[" * 5000}),
        (None, {}),
    ],
)  # fmt: skip
def test_any_configuration_is_stored_and_reported(
    tmp_path: Path, nasbench: Any, configuration: object, stored: dict[str, Any]
) -> None:
    """The number of parameters in a column `params`, a dict as pandas writes it, and what JSON does not have."""
    runs(params=configuration).to_csv(tmp_path / "runs.csv", index=False)
    imported: Printed = nasbench("import", "runs", tmp_path / "runs.csv", "--store", tmp_path / "s")
    assert imported.code == 0, imported.err
    (text,) = set(Store.open(tmp_path / "s").fragments()[0].table(["configuration"])["configuration"].to_pylist())
    assert json.loads(text) == stored
    assert nasbench("report", tmp_path / "s", "--out", tmp_path / "report").code == 0
    assert nasbench("show-run", tmp_path / "s", "a", "x", 0).code == 0


@pytest.mark.parametrize(
    ("values", "is_one"),
    [
        ({"labels": ["in", "out"], "units": [1, 2], "edges": [[0, 1]]}, True),
        ({"labels": ["in", "out"], "units": [1, 2], "edges": [[0, 1]], "strides": [1, 2]}, True),
        ({"labels": ["in", "out"], "units": [1], "edges": [[0, 1]]}, False),
        ({"labels": ["in", "out"], "units": [1, 2], "edges": [[0, 2]]}, False),
        ({"labels": ["in", 5], "units": [1, 2], "edges": []}, False),
        ({"labels": ["in"], "units": [1], "edges": [0]}, False),
        ({"labels": ["in"], "units": [1], "edges": [], "strides": [1, 2]}, False),
        ({"labels": "in", "units": "i", "edges": ""}, False),
        ([], False),
        (7, False),
    ],
)
def test_a_network_is_one_by_more_than_its_names(values: object, is_one: bool) -> None:
    assert is_network(values) is is_one


def test_the_largest_number_of_a_computer_is_no_value(tmp_path: Path, nasbench: Any) -> None:
    frame = runs()
    frame.loc[frame["evaluation"] == 0, "loss"] = np.finfo(float).max
    frame.to_csv(tmp_path / "runs.csv", index=False)
    done: Printed = nasbench("report", tmp_path / "runs.csv", "--out", tmp_path / "report")
    assert (done.code, "30 rows without a finite value" in done.out + done.err) == (0, True)


def test_a_value_that_is_called_test_stands_beside_a_test_score(tmp_path: Path) -> None:
    frame = runs().rename(columns={"loss": "test"})
    frame = frame.assign(test_loss=frame["test"] + 0.1)
    public.import_runs(
        frame, store=tmp_path / "s", direction="minimise", columns={"value": "test", "test": "test_loss"}
    )
    public.report(tmp_path / "s", out=tmp_path / "report")
    assert Store.open(tmp_path / "s").fragments()[0].setup.metrics == ("value", "test")


@pytest.mark.parametrize("column", ["cost", "seconds"])
def test_no_time_is_negative(tmp_path: Path, column: str) -> None:
    frame = runs(**{column: np.arange(180) % 6})
    frame.loc[7, column] = -1
    with pytest.raises(UsageError, match=f"{column} is -1 in row 8, and no time is negative"):
        public.import_runs(frame, store=tmp_path / "s", direction="minimise")


@pytest.mark.parametrize("column", ["finished", "crashed", "is_done"])
def test_whether_a_run_has_finished_is_asked_about(tmp_path: Path, column: str) -> None:
    frame = runs(**{column: [True, False] * 90})
    with pytest.raises(UsageError, match=f"{column} seems to say which rows did not end as usual"):
        public.import_runs(frame, store=tmp_path / "s", direction="minimise")
    public.import_runs(runs(**{column: True}), store=tmp_path / "s", direction="minimise")


def test_labels_of_trials_are_no_seeds(tmp_path: Path) -> None:
    """MLflow and Guild give each trial an id of its own: 80 trials of four runs were 80 runs of one evaluation."""
    frame = runs()
    frame = frame[frame["seed"] == 0].drop(columns="seed").rename(columns={"evaluation": "trial"})
    longer = pd.concat([frame.assign(trial=frame["trial"] + 6 * k) for k in range(2)])
    longer = longer.assign(run_id=[f"r{i}" for i in range(len(longer))])
    with pytest.raises(UsageError, match="run_id is another in each row, and trial counts the rows of a method"):
        public.import_runs(longer, store=tmp_path / "s", direction="minimise")
    public.import_runs(longer, store=tmp_path / "s", direction="minimise", shape="final")
    public.import_runs(
        longer.drop(columns="run_id"), store=tmp_path / "t", direction="minimise", columns={"evaluation": "trial"}
    )
    assert Store.open(tmp_path / "t").fragments()[0].setup.evals == 12


@pytest.mark.parametrize("name", ["1-best WER", "val/1-step_rmse"])
def test_what_is_counted_before_a_hyphen_turns_no_direction(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"is less or more of .* better"):
        public.import_runs(runs().rename(columns={"loss": name}), store=tmp_path / "s")


def test_what_describes_a_data_set_is_no_method(tmp_path: Path) -> None:
    table = pd.DataFrame({"Dataset": ["x", "y"], "n": [100, 200], "d": [3, 4], "RS": [0.3, 0.2], "BO": [0.2, 0.1]})
    with pytest.raises(UsageError, match="the column n is no method, by its name"):
        public.import_runs(table, store=tmp_path / "s", direction="minimise")


def test_other_ends_of_lines_within_a_text_of_json_are_letters(tmp_path: Path) -> None:
    lines = [json.dumps(row | {"note": "one\u2028two"}, ensure_ascii=False) for row in runs().to_dict("records")]
    (tmp_path / "runs.jsonl").write_text("\r\n".join(lines) + "\n")
    public.import_runs(tmp_path / "runs.jsonl", store=tmp_path / "s")
    assert sum(len(f.runs) for f in Store.open(tmp_path / "s").fragments()) == 30


def test_a_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    runs().to_parquet(tmp_path / "RUNS.PARQUET")
    runs().to_csv(tmp_path / "RUNS.CSV", index=False)
    for name in ("RUNS.PARQUET", "RUNS.CSV"):
        public.import_runs(tmp_path / name, store=tmp_path / name.lower())


def test_a_long_cell_is_said_to_be_one(tmp_path: Path) -> None:
    long = "x" * 70_000 + "\n" + "x" * 70_000
    runs(prompt=[long, *["short"] * 179]).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(UsageError, match=r"is not closed, or a cell there is longer than 131,072 letters"):
        public.import_runs(tmp_path / "runs.csv", store=tmp_path / "s")


def test_lines_of_json_have_no_more_names_than_other_tables_have_columns(tmp_path: Path) -> None:
    """Each name was looked for among all: ten minutes for 2 MB."""
    (tmp_path / "wide.jsonl").write_text(json.dumps({f"c{i}": 1 for i in range(100_000)}) + "\n")
    with pytest.raises(UsageError, match="has more than 10,000 columns"):
        public.import_runs(tmp_path / "wide.jsonl", store=tmp_path / "s")


@pytest.mark.parametrize(
    "odd",
    [
        {"labels": 0, "units": 0, "edges": 0},
        {"labels": [], "units": [], "edges": []},
        {"labels": ["conv"] * 501, "units": [1] * 501, "edges": []},
        {"labels": ["conv"], "units": [1], "edges": [[0, 0]] * 6000},
    ],
)
def test_what_cannot_be_drawn_is_no_network(odd: dict[str, Any]) -> None:
    assert not is_network(odd)
    assert is_network({"labels": ["ip", "op"], "units": [None, None], "edges": [[0, 1]]})


def test_a_label_with_signs_of_mathematics_is_drawn_as_it_is(tmp_path: Path) -> None:
    figure = draw({"labels": ["ip", r"conv$\foo$"], "units": [None, 8], "edges": [[0, 1]]})
    figure.savefig(tmp_path / "network.svg")
    assert (tmp_path / "network.svg").stat().st_size > 1000


@pytest.mark.parametrize("is_known", [True, False])
def test_a_best_configuration_that_is_unknown_is_not_drawn(is_known: bool, tmp_path: Path) -> None:
    frame = runs()
    network = {"labels": ["ip", "op"], "units": [None, None], "edges": [[0, 1]]}
    frame["configuration"] = [json.dumps(network if step == 0 else {}) for step in frame["evaluation"]]
    frame.loc[frame["evaluation"] == (0 if is_known else 1), "loss"] = 0.001
    public.import_runs(frame, store=tmp_path / "s", direction="minimise")
    public.report(tmp_path / "s", out=tmp_path / "report")
    assert any((tmp_path / "report").rglob("*network*")) is is_known


@pytest.mark.parametrize("clock", ["seconds", "cost"])
def test_a_missing_second_is_no_count_of_evaluations(clock: str, tmp_path: Path, nasbench: Any) -> None:
    frame = runs()
    frame[clock] = frame["evaluation"] + 1.0 if clock == "seconds" else 1.0
    frame.loc[3, clock] = np.nan
    frame.to_csv(tmp_path / "runs.csv", index=False)
    asked = ("import", "runs", tmp_path / "runs.csv", "--store", tmp_path / "s", "--budget-seconds", 3)
    imported: Printed = nasbench(*asked)
    assert imported.code == 2
    assert "a on x, seed 0: an evaluation has no seconds" in " ".join(imported.err.split())


def test_sizes_of_samples_are_lengths_of_trainings(tmp_path: Path) -> None:
    """FLAML begins with a part of the rows: scores on parts are not those of whole trainings."""
    with pytest.raises(UsageError, match="sample_size differs from row to row"):
        public.import_runs(runs(sample_size=[1000, 9000] * 90), store=tmp_path / "s", direction="minimise")


@pytest.mark.parametrize("name", ["Length", "Attributes"])
def test_what_a_data_set_has_is_no_method(name: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"dataset": ["x", "y", "z"], name: [100, 200, 300], "a": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.4]}
    )
    with pytest.raises(UsageError, match=f"the column {name} is no method, by its name"):
        public.import_runs(table, store=tmp_path / "s", direction="minimise")

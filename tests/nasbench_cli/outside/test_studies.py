"""Studies of Optuna, searches of scikit-learn and runs of SMAC3, which write their files here, become runs."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.results import Store
from tests.nasbench_cli.outside.reading import Nasbench, marks, one_sentence, read, refused

# ---------------------------------------------------------------- Optuna

START = datetime(2026, 1, 1)
TRIALS = [  # state, value, seconds at the start and at the end, slack
    ("COMPLETE", 0.50, 0, 10, -1.0),
    ("COMPLETE", 0.90, 5, 40, 1.0),  # the best one, and not feasible
    ("FAIL", None, 10, 15, None),
    ("COMPLETE", 0.70, 15, 30, 0.0),
    ("PRUNED", 0.99, 30, 35, -1.0),
    ("RUNNING", None, 40, None, None),
    ("WAITING", None, None, None, None),
]


def optuna_file(path: Path, names: list[str], direction: str = "maximize", is_bound: bool = True, **attrs: Any) -> Path:
    optuna = pytest.importorskip("optuna")
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    is_journal = path.suffix != ".db"
    storage = JournalStorage(JournalFileBackend(str(path))) if is_journal else RDBStorage(f"sqlite:///{path}")
    space = {
        "depth": optuna.distributions.IntDistribution(1, 9),
        "kind": optuna.distributions.CategoricalDistribution("ab"),
    }
    for name in names:
        study = optuna.create_study(storage=storage, study_name=name, directions=direction.split())
        for key, value in attrs.items():
            study.set_user_attr(key, value)
        for number, (state, value, start, end, slack) in enumerate(TRIALS):
            trial = optuna.trial.FrozenTrial(
                number=number,
                trial_id=number,
                state=optuna.trial.TrialState[state],
                value=None if " " in direction else value,
                values=[value, value] if " " in direction and value is not None else None,
                datetime_start=None if start is None else START + timedelta(seconds=start),
                datetime_complete=None if end is None else START + timedelta(seconds=end),
                params={"depth": number + 1, "kind": "ab"[number % 2]},
                distributions=space,
                user_attrs={},
                system_attrs={"constraints": [-2.0, slack]} if is_bound and slack is not None else {},
                intermediate_values={},
            )
            study.add_trial(trial)
    return path


@pytest.mark.parametrize("name", ["studies.log", "studies.db"])
def test_studies_of_optuna_are_runs(name: str, tmp_path: Path) -> None:
    path = optuna_file(tmp_path / name, ["TPE/digits/3", "GP/digits/4"])
    digest = hashlib.sha256(path.read_bytes()).digest()
    rows = read(path)
    assert hashlib.sha256(path.read_bytes()).digest() == digest
    assert (rows.shape, rows.sense, rows.name) == ("trajectory", "maximise", "value")
    assert marks(rows) == [("GP", "digits", "4"), ("TPE", "digits", "3")]
    own = rows.frame[rows.frame["method"] == "TPE"]
    assert set(own["constraint"]) == {"constrained"}
    assert own["evaluation"].tolist() == [1, 2, 3, 4, 5]
    assert own["seconds"].tolist() == [10, 15, 30, 35, 40]
    assert own["status"].tolist() == ["ok", "failed", "ok", "failed", "ok"]
    np.testing.assert_equal(own["value"].to_numpy(float), [0.5, np.nan, 0.7, np.nan, 0.9])
    assert own["feasible"].tolist() == [True, False, True, True, False]
    assert own["configuration"].iloc[2] == {"depth": 4, "kind": "b"}
    assert "is taken for the method" not in rows.note


def test_the_best_trial_of_optuna_is_the_incumbent(nasbench: Nasbench, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    path = optuna_file(tmp_path / "studies.log", ["TPE/digits/3"])
    assert nasbench("import", "runs", path, "--store", tmp_path / "s").code == 0
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    study = optuna.load_study(study_name="TPE/digits/3", storage=JournalStorage(JournalFileBackend(str(path))))
    (fragment,) = Store.open(tmp_path / "s").fragments()
    table = fragment.table().to_pydict()
    assert table["incumbent"][-1] == -0.7
    best = table["objective"].index(-0.7)
    assert table["evaluation"][best] == 3  # the third one to end
    assert json.loads(table["configuration"][best]) == study.best_params
    assert study.best_value == 0.7


def test_studies_with_other_names_say_what_they_were_taken_for(tmp_path: Path) -> None:
    rows = read(optuna_file(tmp_path / "mine.log", ["my study"], "minimize", is_bound=False))
    assert marks(rows) == [("my study", "mine", "0")]
    assert (rows.sense, set(rows.frame["constraint"])) == ("minimise", {"none"})
    assert rows.frame["feasible"].all()
    assert "taken for the method, with seed 0 on mine" in rows.note
    stated = read(
        optuna_file(tmp_path / "b.log", ["x"], method="CMA-ES", benchmark="sphere", seed=7, objective="error")
    )
    assert (marks(stated), stated.name) == ([("CMA-ES", "sphere", "7")], "error")
    assert "taken for the method" not in stated.note


def test_studies_of_optuna_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    both = optuna_file(tmp_path / "two.log", ["a/b/1"], "minimize maximize", is_bound=False)
    assert "study a/b/1" in refused(both)
    assert "has several objectives" in refused(both)
    up = optuna_file(tmp_path / "up.log", ["a/b/1"])
    assert "maximise: --direction minimise contradicts it" in refused(up, sense="minimise")
    assert read(up, sense="maximise").sense == "maximise"
    optuna_file(up, ["a/b/2"], "minimize")
    assert "studies that minimise and others that maximise" in refused(up)


def test_our_export_for_optuna_reads_back_with_the_same_verdict(
    nasbench: Nasbench, small_store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "studies.jsonl"
    asked = ("--score", "observed", "--json", "--format", "json")
    ours = nasbench("report", small_store.folder, *asked, "--out", tmp_path / "a", "--optuna", path)
    back = nasbench("report", path, *asked, "--out", tmp_path / "b")
    assert (ours.code, back.code) == (0, 0)
    one, other = json.loads(ours.out), json.loads(back.out)
    assert len({rank["20"] for rank in one["ranks"]}) == 2
    assert (one["ranks"], one["pairs"]) == (other["ranks"], other["pairs"])
    rows = read(path)
    assert (set(rows.frame["seed"]), len(rows.frame)) == ({"0", "1", "2"}, 2 * 3 * 20)
    (constraint,) = set(rows.frame["constraint"])
    assert constraint == "model_size@0.5"
    assert not rows.frame["feasible"].all()


def test_damaged_files_of_optuna_are_one_sentence(nasbench: Nasbench, tmp_path: Path) -> None:
    whole = optuna_file(tmp_path / "whole.log", ["a/b/1"]).read_bytes()
    cut = tmp_path / "cut.log"
    cut.write_bytes(whole[:-20])
    store = ("--store", tmp_path / "s")
    assert f"the last line of {cut} is cut off" in one_sentence(nasbench("import", "runs", cut, *store))
    lines = whole.splitlines(keepends=True)
    cut.write_bytes(b"".join([*lines[:3], lines[3][:30] + b"\n", *lines[4:]]))
    assert "is damaged, or of another version of Optuna" in one_sentence(nasbench("import", "runs", cut, *store))
    cut.write_bytes(b'{"op_code":4,"worker_id":"x"}\n')
    assert "is damaged, or of another version of Optuna" in one_sentence(nasbench("import", "runs", cut, *store))
    names = b'{"op_code":3,"worker_id":"x","study_id":0,"system_attr":{"study:metric_names":7}}\n'
    cut.write_bytes(whole + names)
    said = one_sentence(nasbench("import", "runs", cut, *store))
    assert f"{cut} cannot be read as studies of Optuna: TypeError: 'int' object is not subscriptable (" in said
    base = optuna_file(tmp_path / "whole.db", ["a/b/1"])
    base.write_bytes(base.read_bytes()[: 5 * 4096])
    assert "damaged" in one_sentence(nasbench("import", "runs", base, "--reader", "optuna", *store))
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("create table runs (x)")
    assert "no reader knows it" in one_sentence(nasbench("import", "runs", tmp_path / "other.db", *store))


@pytest.mark.parametrize(
    "change",
    [
        "alter table trial_values rename to kept; create view trial_values as with recursive n(i) as "
        "(select 1 union all select i + 1 from n) select i as trial_value_id, 1 as trial_id from n",
        "alter table trial_values add column more generated always as (hex(zeroblob(100000000)))",
        "create virtual table more using fts5(x)",
        "create trigger more after insert on trials begin delete from studies; end",
    ],
)
def test_a_database_that_computes_its_rows_is_not_read(nasbench: Nasbench, tmp_path: Path, change: str) -> None:
    path = optuna_file(tmp_path / "study.db", ["a/b/1"])
    with sqlite3.connect(path) as database:
        database.executescript(change)
    said = one_sentence(nasbench("import", "runs", path, "--store", tmp_path / "s"))
    assert "computes rows" in said


def with_a_page_twice(path: Path, table: str) -> None:
    """Puts a page above the rows of a table that names them twice; three such levels of 560 make 100 million rows."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("vacuum")
        (root,) = database.execute("select rootpage from sqlite_master where name = ?", (table,)).fetchone()
    content = bytearray(path.read_bytes())
    size = struct.unpack_from(">H", content, 16)[0]
    place, child = (root - 1) * size, len(content) // size + 1
    content += content[place : place + size]
    above = bytearray(size)
    struct.pack_into(">BHHHxI", above, 0, 5, 0, 1, size - 5, child)
    struct.pack_into(">H", above, 12, size - 5)
    struct.pack_into(">IB", above, size - 5, child, 1)
    content[place : place + size] = above
    struct.pack_into(">I", content, 28, child)
    path.write_bytes(content)


def test_a_database_with_a_page_in_two_places_is_not_read(nasbench: Nasbench, tmp_path: Path) -> None:
    """A file of 127 kB took gigabytes."""
    path = optuna_file(tmp_path / "study.db", ["a/b/1"])
    with_a_page_twice(path, "studies")
    with closing(sqlite3.connect(path)) as database:
        assert len(database.execute("select * from studies").fetchall()) == 2
    assert "is damaged" in one_sentence(nasbench("import", "runs", path, "--store", tmp_path / "s"))


def test_without_optuna_its_files_are_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = optuna_file(tmp_path / "a.log", ["a/b/1"])
    monkeypatch.setitem(sys.modules, "optuna.storages", None)
    assert "pip install optuna" in refused(path)


# ---------------------------------------------------------------- scikit-learn


def searched(path: Path, scoring: Any = None, is_halving: bool = False, **grid: Any) -> Any:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
    from sklearn.neighbors import KNeighborsClassifier

    data, target = load_iris(return_X_y=True)
    grid = grid or {"n_neighbors": [50, 3, 70], "weights": ["uniform", "distance"]}
    if is_halving:
        search = HalvingGridSearchCV(KNeighborsClassifier(), grid, cv=3, min_resources=50, factor=2, random_state=0)
    else:
        search = GridSearchCV(KNeighborsClassifier(), grid, scoring=scoring, cv=3, refit=not isinstance(scoring, list))
    search.fit(data, target)
    pd.DataFrame(search.cv_results_).to_csv(path)
    return search


def test_a_search_of_scikit_learn_is_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "iris"
    folder.mkdir()
    search = searched(folder / "grid.csv")
    rows = read(folder / "grid.csv")
    assert (rows.shape, rows.sense, rows.name) == ("trajectory", "maximise", "score")
    assert marks(rows) == [("grid", "iris", "0")]
    assert rows.frame["evaluation"].tolist() == [1, 2, 3, 4, 5, 6]
    assert rows.frame["value"].max() == pytest.approx(search.best_score_)
    best = rows.frame.loc[search.best_index_]
    assert best["value"] == rows.frame["value"].max()
    assert best["configuration"] == search.best_params_
    np.testing.assert_allclose(rows.frame["cost"], search.cv_results_["mean_fit_time"])
    assert "taken for the method, with seed 0 on iris, its folder" in rows.note
    assert "contradicts" in refused(folder / "grid.csv", sense="minimise")
    shutil.copy(folder / "grid.csv", folder / "grid__flowers__5.csv")
    named = read(folder / "grid__flowers__5.csv")
    assert marks(named) == [("grid", "flowers", "5")]
    assert "taken for the method" not in named.note


def test_several_scores_of_scikit_learn_are_asked(tmp_path: Path, nasbench: Nasbench) -> None:
    searched(tmp_path / "a.csv", ["accuracy", "f1_macro"])
    asked = ("import", "runs", tmp_path / "a.csv", "--store", tmp_path / "s")
    assert "--column value=mean_test_accuracy" in one_sentence(nasbench(*asked))
    assert nasbench(*asked, "--column", "value=mean_test_f1_macro").code == 0
    rows = read(tmp_path / "a.csv", columns={"value": "mean_test_f1_macro", "method": "param_weights"})
    assert rows.name == "f1_macro"
    assert [mark[0] for mark in marks(rows)] == ["distance", "uniform"]
    assert sorted(rows.frame["evaluation"]) == [1, 1, 2, 2, 3, 3]
    assert "unknown column" in refused(tmp_path / "a.csv", columns={"value": "mean_test_f2"})
    assert "unknown role" in refused(tmp_path / "a.csv", columns={"test": "params"})


def test_fits_that_fail_and_halving_of_scikit_learn(tmp_path: Path) -> None:
    with pytest.warns(match="non-finite"):
        searched(tmp_path / "a.csv", n_neighbors=[3, 999])
    rows = read(tmp_path / "a.csv")
    assert rows.frame["status"].tolist() == ["ok", "failed"]
    search = searched(tmp_path / "h.csv", is_halving=True)
    resources = search.cv_results_["n_resources"]
    halved = read(tmp_path / "h.csv")
    assert len(set(resources)) > 1
    assert len(halved.frame) == (resources == max(resources)).sum()
    assert f"{(resources < max(resources)).sum()} evaluations on less than {max(resources)} resources" in halved.note


# ---------------------------------------------------------------- SMAC3


@pytest.fixture(scope="module")
def smac_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of ten trials, of which some break."""
    pytest.importorskip("smac")
    from ConfigSpace import ConfigurationSpace, Float
    from smac import RandomFacade, Scenario

    def evaluate(config: Any, seed: int = 0) -> float:
        if config["x"] > 0.7:
            raise ValueError("breaks")
        return float((config["x"] - 0.3) ** 2)

    folder = tmp_path_factory.mktemp("smac")
    for seed in (3, 4):
        space = ConfigurationSpace(seed=seed)
        space.add(Float("x", (0, 1)))
        scenario = Scenario(
            space,
            name="parabola",
            objectives="regret",
            seed=seed,
            n_trials=10,
            deterministic=True,
            output_directory=folder,
        )
        RandomFacade(scenario, evaluate, logging_level=False, overwrite=True).optimize()
    return folder


def changed(source: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    facts = json.loads(source.read_text())
    change(facts)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(facts, indent=2))
    return target


def test_runs_of_smac(smac_folder: Path) -> None:
    rows = read(smac_folder)
    assert (rows.shape, rows.sense, rows.name) == ("trajectory", "minimise", "regret")
    assert marks(rows) == [("SMAC Random", "parabola", "3"), ("SMAC Random", "parabola", "4")]
    history = smac_folder / "parabola" / "3" / "runhistory.json"
    facts = json.loads(history.read_text())
    own = read(history).frame
    assert own["evaluation"].tolist() == list(range(1, 11))
    statuses = [trial["status"] for trial in facts["data"]]
    assert {*statuses} == {1, 2}
    assert own["status"].tolist() == ["ok" if status == 1 else "failed" for status in statuses]
    best = min(facts["data"], key=lambda trial: trial["cost"])
    assert own["value"].min() == best["cost"]
    assert own.loc[own["value"].idxmin(), "configuration"] == facts["configs"][str(best["config_id"])]
    assert own["value"].notna().sum() == statuses.count(1)
    ends = [trial["endtime"] - facts["data"][0]["starttime"] for trial in facts["data"]]
    np.testing.assert_allclose(own["seconds"], ends)
    np.testing.assert_allclose(own["cost"], [trial["time"] for trial in facts["data"]])
    assert "contradicts" in refused(history, sense="maximise")


def test_special_runs_of_smac(smac_folder: Path, tmp_path: Path) -> None:
    history, scenario = (smac_folder / "parabola" / "3" / f"{name}.json" for name in ("runhistory", "scenario"))

    def budgets(facts: dict[str, Any]) -> None:
        for number, trial in enumerate(facts["data"]):
            trial["budget"] = 9.0 if number % 2 else 3.0

    def running(facts: dict[str, Any]) -> None:
        facts["data"][0]["status"] = 0
        for trial in facts["data"]:
            trial["starttime"] = trial["endtime"] = 0.0

    def costs(facts: dict[str, Any]) -> None:
        facts["data"][0]["cost"] = [1.0, 2.0]

    def instances(facts: dict[str, Any]) -> None:
        facts["data"][0]["instance"] = "other"

    plain = read(changed(history, tmp_path / "there" / "runhistory.json", budgets))
    assert marks(plain) == [("SMAC", "there", "0")]
    assert "no scenario.json beside it: the benchmark is its folder there, the seed 0" in plain.note
    assert len(plain.frame) == 5
    assert "5 trials at budgets below 9" in plain.note
    asked = read(changed(history, tmp_path / "there" / "runhistory.json", running))
    assert len(asked.frame) == 9
    assert asked.frame["seconds"].isna().all()
    assert "several objectives" in refused(changed(history, tmp_path / "c.json", costs))
    assert "2 instances" in refused(changed(history, tmp_path / "c.json", instances))
    named = changed(scenario, tmp_path / "there" / "scenario.json", lambda facts: facts.update(name="BO__sphere__8"))
    assert marks(read(named.with_name("runhistory.json"))) == [("BO", "sphere", "8")]


def test_damaged_runs_of_smac_are_one_sentence(nasbench: Nasbench, smac_folder: Path, tmp_path: Path) -> None:
    whole = (smac_folder / "parabola" / "3" / "runhistory.json").read_text()
    path = tmp_path / "runhistory.json"
    path.write_text(whole[:-50])
    asked = ("import", "runs", path, "--store", tmp_path / "s")
    assert f"{path} is not JSON" in one_sentence(nasbench(*asked))
    path.write_text(whole.replace('"config_id"', '"config"'))
    assert "is not as SMAC3 2.x writes it: KeyError: 'config_id'" in one_sentence(nasbench(*asked))

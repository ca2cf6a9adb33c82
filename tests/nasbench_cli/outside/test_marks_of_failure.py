"""Numbers that stand for failed evaluations: a run that has one would have the best value of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.failures import mark_of_failure
from nasbench.cli.outside.importing import import_runs
from nasbench.cli.outside.rows import Asked


@pytest.mark.parametrize(
    ("name", "values", "mark"),
    [
        ("val_error", [0.3, -1, 0.2, -1], -1),
        ("rmse", [0.3, -999, 20.0], -999),
        ("loss", [0.3, -0.5, 0.2], None),
        ("loss", [0.3, -1, -2], None),
        ("neg_loss", [0.3, -1], None),
        ("accuracy", [0.7, 9.99, 0.8], 9.99),
        ("accuracy", [0.7, 1.5, 0.8], None),
        ("accuracy", [70.0, 9999, 999, 80.0], 9999),
        ("accuracy", [70.0, 100.00001, 80.0], None),
        ("accuracy", [0.7, 2.5, 3.5], None),
        ("rmse", [0.3, 9999], None),
        ("val_loss", [0.3, 0.0, 0.4, 0.5], 0),
        ("val_loss", [0.3, 0.0, 0.4, 0.001], None),
        ("val_loss", [0.0, 0.0, 0.4], None),
        ("val_error", [0.3, 0.0, 0.4, 0.5], None),
        ("accuracy", [0.7, float("inf"), 0.8], None),
        ("accuracy", [], None),
    ],
)
def test_a_number_that_is_out_of_place_is_a_mark(name: str, values: list[float], mark: float | None) -> None:
    assert mark_of_failure(name, np.array(values, float)) == mark


def runs(name: str, mark: float, scale: float = 1.0) -> pd.DataFrame:
    """Two methods on two tasks, of which one fails now and then."""
    rng = np.random.default_rng(0)
    rows = [(m, t, s, n) for m in ("a", "b") for t in ("x", "y") for s in range(3) for n in range(1, 6)]
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", "evaluation"])
    values = pd.Series(0.2 + 0.5 * rng.random(len(frame))) * scale
    return frame.assign(**{name: values.where((frame["method"] == "a") | (frame["evaluation"] != 3), mark)})


@pytest.mark.parametrize(
    ("name", "mark", "place", "sense"),
    [("val_error", -1, "below 0", "minimise"), ("accuracy", 999, "as large", "maximise")],
)
def test_a_failure_with_the_best_value_is_asked_about(
    tmp_path: Path, name: str, mark: float, place: str, sense: str
) -> None:
    said = f"{name} is {mark} in 6 rows, and nowhere else {place}"
    frame = runs(name, mark)
    with pytest.raises(UsageError, match=f"{said}: if .* leave these cells empty; --direction {sense} says that it is"):
        import_runs([frame], tmp_path / "s", Asked())
    emptied = frame.assign(**{name: frame[name].replace(mark, np.nan)})
    assert "failed evaluations" in import_runs([emptied], tmp_path / "empty", Asked())[-1]


def test_who_says_the_direction_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is less or more of y better"):
        import_runs([runs("y", -1)], tmp_path / "s", Asked(columns={"value": "y"}))
    notes = import_runs([runs("y", -1)], tmp_path / "s", Asked(sense="minimise", columns={"value": "y"}))
    assert "y is -1 in 6 rows, and nowhere else below 0: taken as a value" in notes


@pytest.mark.parametrize(("name", "mark"), [("accuracy", -1), ("rmse", 999)])
def test_a_failure_with_the_worst_value_is_one_as_it_is(tmp_path: Path, name: str, mark: float) -> None:
    assert len(import_runs([runs(name, mark)], tmp_path / "s", Asked())) == 2


def test_accuracies_of_two_tasks_are_on_one_scale(tmp_path: Path) -> None:
    frame = pd.concat([runs("accuracy", 0.3), runs("accuracy", 30.0, 100.0).replace(["x", "y"], ["percent", "too"])])
    with pytest.raises(UsageError, match="accuracy on x is a share, at most 1, and on percent in percent: bring them"):
        import_runs([frame], tmp_path / "s", Asked())
    import_runs([frame.rename(columns={"accuracy": "error_rate"})], tmp_path / "s", Asked())  # of MNIST it is below 1 %


def test_values_that_a_journal_of_optuna_should_not_have_are_named(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    path = tmp_path / "study.log"
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    study = optuna.create_study(storage=storage, study_name="tpe-x-0", direction="minimize")
    study.optimize(lambda trial: 0.625 + trial.suggest_float("x", 0, 0), n_trials=2)
    path.write_text(path.read_text().replace("[0.625]", '["a"]', 1))
    with pytest.raises(UsageError, match=r"study\.log: value is 'a' in row 1: not a number"):
        import_runs([path], tmp_path / "s", Asked())

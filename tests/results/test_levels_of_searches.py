"""Searches that grow level by level: their log as a table, drawn, and beside published rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.fronts import nondominated
from nasbench.results import Store
from nasbench.results.report.report import write
from nasbench.results.report.request import Request
from tests.results.conftest import FACTS, LITERATURE, SETTING, make_run, make_setup


def logged(objectives: list[float]) -> list[tuple[Any, ...]]:
    """Two levels: the first one evaluated whole, then the front of three candidates, predicted one unit too low."""
    rows: list[tuple[Any, ...]] = []
    for epoch, own in enumerate((objectives[:1], objectives[1:]), 1):
        for quantity, value in (("candidates", 3.0 * (epoch - 1)), ("front", float(len(own))), ("exploration", 0.0)):
            rows.append((epoch, quantity, value, epoch, None, None, None))
        for step, objective in enumerate(own, 1):
            rows.append((epoch, "front_objective", objective, epoch, None, "front", step))
            rows.append((epoch, "front_seconds", 100 - objective, epoch, None, "front", step))
            if epoch > 1:
                rows.append((epoch, "front_objective_predicted", objective - 1, epoch, None, "front", step))
                rows.append((epoch, "front_seconds_predicted", 100 - objective, epoch, None, "front", step))
    return [*rows, (2, "spearman_objective", 0.5, 2, None, None, None)]


def test_the_report_has_a_row_per_level_and_a_figure_per_search(store: Store, tmp_path: Path) -> None:
    for seed in (0, 1):
        store.commit(
            make_setup("popnas"), [replace(make_run(seed, [9.0, 7.0, 5.0]), log=logged([9.0, 7.0, 5.0]))], FACTS
        )
    store.commit(make_setup("random"), [make_run(seed, [9.0, 8.0, 7.0]) for seed in (0, 1)], FACTS)
    written = write([store], Request(tmp_path / "report", formats=["csv", "svg", "html"]))
    data = pd.read_csv(tmp_path / "report" / "levels.csv")
    assert data[["level", "seeds", "rounds", "candidates", "front", "evaluated"]].to_numpy().tolist() == [
        *([1, 2, 1, 0, 1, 1], [2, 2, 1, 3, 2, 2])
    ]
    assert data["spearman_objective"].tolist()[1] == 0.5
    assert any(path.name == "levels-popnas.toy.none.svg" for path in written.files)
    assert "published-levels" not in {path.stem for path in written.files}


def test_published_rows_stand_beside_the_network_that_each_run_ended_with(store: Store, tmp_path: Path) -> None:
    names = ("val-error@3", "test-error@3")
    setting = replace(SETTING, family="medmnist-breast", test_metrics=names[1:], oracle=None, worst=None, median=None)
    for bench in ("medmnist-breast/popnas", "digits/popnas"):
        family = bench.partition("/")[0]
        setup = make_setup("popnas", bench, metrics=names, setting=replace(setting, family=family))
        for seed, test in enumerate((20.0, 30.0)):
            run = make_run(seed, [9.0, 5.0, 7.0])
            metrics = np.array([[9.0, 1.0], [5.0, test], [7.0, 2.0]])
            run = replace(run, columns=run.columns | {"metrics": metrics}, log=logged([9.0, 5.0, 7.0]))
            store.commit(setup, [run], FACTS)
    written = write([store], Request(tmp_path / "report", formats=["csv"], full=True, literature=LITERATURE))
    (row,) = pd.read_csv(tmp_path / "report" / "published-levels.csv").to_dict("records")
    assert (row["bench"], row["published_as"]) == ("medmnist-breast/popnas", "POPNASv3, BreastMNIST")
    # ZO-DARTS++, tables II, III and IV.
    assert (row["accuracy_published"], row["seconds_published"], row["parameters_published"]) == (87.4, 9247.0, 0.05)
    assert row["accuracy"] == 75.0  # of the networks whose validation error is 5
    assert "Published progressive searches, of a protocol" in written.text


def test_a_front_has_what_no_other_undercuts_in_both() -> None:
    values = np.array([[2.0, 2.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [3.0, 2.5]])
    assert nondominated(values).tolist() == [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]

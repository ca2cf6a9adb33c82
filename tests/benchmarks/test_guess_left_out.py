"""What a guess leaves out without being sure, and names whose numbers, units or words say something else."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.benchmarks.tabular.guess import guess

N = 60
RNG = np.random.default_rng(0)
LR = RNG.uniform(1e-4, 1e-1, N).round(5).tolist()
UNITS = [16 * (1 + i % 4) for i in range(N)]
ACC = RNG.uniform(0.6, 0.9, N).round(4).tolist()
TEST = RNG.uniform(0.6, 0.9, N).round(4).tolist()
TIME = RNG.uniform(10, 300, N).round(1).tolist()
TWO = ["(64, 32)", "(256, 128)", "(128, 64)"] * (N // 3)
NONE = [None if i % 3 else round(i / N, 3) for i in range(N)]
DAYS = [datetime.date(2015 + i % 5, 1, 1) for i in range(N)]
ALIKE = "without it, configurations may look alike"


def guessed(tmp_path: Path, columns: dict[str, Sequence[Any]]) -> str:
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    text = guess(tmp_path / "t.csv").text
    tomllib.loads(text)
    return text


def line_of(text: str, name: str) -> str:
    (line,) = (line for line in text.splitlines() if line.startswith(("# ? ", "#   ")) and line[4:].startswith(name))
    return line


@pytest.mark.parametrize(
    ("column", "columns", "asked"),
    [
        (
            "param_hidden_layer_sizes",
            {"param_alpha": LR, "param_hidden_layer_sizes": TWO, "mean_test_score": ACC, "mean_fit_time": TIME},
            ALIKE,
        ),
        ("layers", {"layers": ["08:16", "20:40"] * (N // 2), "lr": LR, "val_acc": ACC, "train_time": TIME}, ALIKE),
        ("train_from", {"train_from": DAYS, "lr": LR, "val_mae": ACC, "fit_time": TIME}, "or is it a hyper-parameter?"),
        ("data_id", {"data_id": [i % 25 for i in range(N)], "cp": LR, "auc": ACC, "time": TIME}, "several data sets"),
        (
            "dataset",
            {"dataset": ["a", "b"] * (N // 2), "config.lr": LR, "config.units": UNITS, "val_acc": ACC},
            "several data sets",
        ),
        (
            "learner",
            {"learner": ["rf", "knn"] * (N // 2), "config.lr": LR, "config.units": UNITS, "val_acc": ACC},
            "is it a hyper-parameter, too?",
        ),
        (
            "cv_accuracy",
            {"C": LR, "gamma": UNITS, "cv_accuracy": [f"{a} ± 0.01" for a in ACC], "test_accuracy": TEST, "time": TIME},
            "is it the score to select by?",
        ),
        (
            "val_acc",
            {"lr": LR, "units": UNITS, "val_acc": [*ACC[:-2], "None", "None"], "test_acc": TEST, "time": TIME},
            "is it the score to select by?",
        ),
        ("l1_ratio", {"C": LR, "units": UNITS, "l1_ratio": NONE, "val_acc": ACC, "time": TIME}, ALIKE),
        (
            "exit_code",
            {"lr": LR, "units": UNITS, "val_acc": ACC, "exit_code": [0] * (N - 2) + [137, 137]},
            "2 rows have a score and another end, such as '137'",
        ),
        (
            "sys/failed",
            {"lr": LR, "units": UNITS, "val_acc": ACC, "sys/failed": [False] * (N - 1) + [True]},
            "1 row has a score and another end, such as 'True'",
        ),
    ],
)
def test_what_may_matter_is_asked_about(
    tmp_path: Path, column: str, columns: dict[str, Sequence[Any]], asked: str
) -> None:
    line = line_of(guessed(tmp_path, columns), column)
    assert line.startswith("# ? ")
    assert asked in line


@pytest.mark.parametrize(
    ("column", "columns"),
    [
        ("User", {"User": ["me", "you"] * (N // 2), "config.lr": LR, "config.units": UNITS, "val_acc": ACC}),
        ("exit_code", {"lr": LR, "units": UNITS, "val_acc": ACC, "exit_code": [0] * N}),
        ("task_id", {"task_id": range(N), "lr": LR, "units": UNITS, "val_acc": ACC}),
    ],
)
def test_what_says_nothing_of_a_training_is_no_doubt(
    tmp_path: Path, column: str, columns: dict[str, Sequence[Any]]
) -> None:
    assert line_of(guessed(tmp_path, columns), column).startswith("#   ")


@pytest.mark.parametrize(
    "name", ["1-epoch val accuracy", "1-best dev WER", "1-bit accuracy", "val/1-step_rmse", "100-epoch accuracy"]
)
def test_a_number_of_something_is_no_complement(tmp_path: Path, name: str) -> None:
    text = guessed(tmp_path, {"lr": LR, "units": UNITS, name: ACC, "time": TIME})
    assert 'direction = "?"' in text


@pytest.mark.parametrize(("name", "direction"), [("1-accuracy", "minimise"), ("1 - val auc", "minimise")])
def test_a_complement_is_one(tmp_path: Path, name: str, direction: str) -> None:
    text = guessed(tmp_path, {"lr": LR, "units": UNITS, name: ACC, "time": TIME})
    assert f'direction = "{direction}"' in text


@pytest.mark.parametrize(("penalty", "written"), [(float("inf"), ""), (1e30, "missing_value = 1e+30"), (999, "999")])
def test_a_penalty_of_any_size_makes_a_specification_that_is_toml(tmp_path: Path, penalty: float, written: str) -> None:
    text = guessed(tmp_path, {"lr": LR, "units": UNITS, "val_error": [*ACC[:-3], *[penalty] * 3], "time": TIME})
    assert written in text


def test_zeros_among_losses_are_asked_about(tmp_path: Path) -> None:
    """Nobody's loss is exactly 0 where all others are far from it; an error of 0 is one without mistakes."""
    text = guessed(tmp_path, {"lr": LR, "units": UNITS, "val_loss": [*ACC[:-3], 0.0, 0.0, 0.0], "time": TIME})
    assert "missing_value = 0" in text
    assert "missing_value" not in guessed(tmp_path, {"lr": LR, "units": UNITS, "val_error": [*ACC[:-1], 0.0]})
    close = [0.0, *np.geomspace(1e-4, 1, N - 1).tolist()]
    assert "missing_value" not in guessed(tmp_path, {"lr": LR, "units": UNITS, "val_loss": close})


def test_what_varies_beside_cells_is_named(tmp_path: Path) -> None:
    kinds = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    drawn = [[kinds[k] for k in RNG.integers(5, size=6)] for _ in range(N)]
    cells = [f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|" for a, b, c, d, e, f in drawn]
    text = guessed(tmp_path, {"arch": cells, "lr": LR, "batch_size": UNITS, "val_acc": ACC, "time": TIME})
    for name in ("lr", "batch_size"):
        assert "was it chosen, too?" in line_of(text, name)


@pytest.mark.parametrize("name", ["trainTimeMs", "durationMs", "fitTimeMin"])
def test_units_in_camel_case_are_asked_about(tmp_path: Path, name: str) -> None:
    assert "? not in " in guessed(tmp_path, {"learningRate": LR, "hiddenUnits": UNITS, "valAccuracy": ACC, name: TIME})


def test_the_best_so_far_is_asked_about(tmp_path: Path) -> None:
    best = np.minimum.accumulate(ACC).tolist()
    said = "best_val_loss never gets worse from row to row: is it the best so far?"
    assert said in guessed(tmp_path, {"lr": LR, "units": UNITS, "best_val_loss": best, "time": TIME})
    assert said not in guessed(tmp_path, {"lr": LR, "units": UNITS, "best_val_loss": ACC, "time": TIME})
    assert "so far?" not in guessed(tmp_path, {"lr": LR, "units": UNITS, "val_loss": sorted(best), "time": TIME})


def test_a_time_of_the_search_is_asked_about_where_it_rises(tmp_path: Path) -> None:
    rising = {"lr": LR, "units": RNG.permutation(UNITS).tolist(), "val_error": ACC, "search_time": sorted(TIME)}
    assert "as if counted from the beginning of the search" in guessed(tmp_path, rising)


def test_a_deviation_called_dev_is_no_split(tmp_path: Path) -> None:
    text = guessed(tmp_path, {"lr": LR, "units": UNITS, "acc_mean": ACC, "acc_dev": TEST, "time": TIME})
    assert "acc_dev: a spread" in text
    assert 'split = "valid"' in guessed(tmp_path, {"lr": LR, "units": UNITS, "acc_dev": ACC, "acc_test": TEST})


def test_what_is_left_of_parameters_is_a_size(tmp_path: Path) -> None:
    sizes = RNG.integers(1e5, 2e6, N).tolist()
    text = guessed(tmp_path, {"lr": LR, "batch_size": UNITS, "val_acc": ACC, "params_remaining": sizes})
    assert '[[metric]]\nname = "params_remaining"' in text


def test_a_struct_beside_its_parts_is_a_doubt_and_no_defect(tmp_path: Path) -> None:
    """Arrow reads a column `config.opt` together with the part `opt` of a struct `config`."""
    opts = ["sgd", "adam"] * (N // 2)
    configs = [{"lr": lr, "opt": opt} for lr, opt in zip(LR, opts, strict=True)]
    columns = {"config": configs, "config.lr": LR, "config.opt": opts, "val_acc": ACC, "time": TIME}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    text = guess(tmp_path / "t.parquet").text
    assert "# ? config: holds lists or structs" in text
    assert 'name = "config.opt"' in text


def test_times_beyond_those_of_python_are_no_defect(tmp_path: Path) -> None:
    far = pa.array([253402318799000000 + i for i in range(N)], pa.timestamp("us", "-05:00"))
    columns = {"lr": LR, "units": UNITS, "expires": far, "val_acc": ACC, "time": TIME}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert "expires: holds neither numbers nor texts" in guess(tmp_path / "t.parquet").text

"""Exports of searches that stop trainings early: what a guess must ask about rows of other lengths and other ends."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks.tabular.guess import guess

RATES = [0.001 * 1.37**i for i in range(24)]


def guessed(tmp_path: Path, columns: dict[str, Sequence[object]]) -> str:
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    text = guess(tmp_path / "t.csv").text
    tomllib.loads(text)
    return text


def optuna(states: list[str]) -> dict[str, Sequence[object]]:
    return {
        "number": range(24),
        "value": [0.5 + i / 100 for i in range(24)],
        "params_lr": RATES,
        "params_depth": [1 + i % 4 for i in range(24)],
        "state": states,
    }


def test_scores_of_pruned_trials_are_asked_about(tmp_path: Path) -> None:
    said = guessed(tmp_path, optuna(["COMPLETE"] * 15 + ["PRUNED"] * 8 + ["FAIL"]))
    assert (
        "# ? state: says how a training ended, which nobody chooses; 9 rows have a score and another end, such as"
        in said
    )
    assert "'PRUNED': of a shorter training?" in said


@pytest.mark.parametrize("ends", [["COMPLETE"] * 24, ["finished"] * 24, ["TrialState.WAITING"] * 24])
def test_one_end_alone_is_no_doubt(tmp_path: Path, ends: list[str]) -> None:
    assert "#   state: says how" in guessed(tmp_path, optuna(ends))


def test_an_end_without_a_score_is_no_doubt(tmp_path: Path) -> None:
    columns = optuna(["COMPLETE"] * 23 + ["FAIL"])
    columns["value"] = [*list(columns["value"])[:-1], None]
    assert "#   state: says how" in guessed(tmp_path, columns)


def test_a_crash_is_asked_about_in_a_file_of_no_known_tool(tmp_path: Path) -> None:
    columns = {"Name": [f"run {i}" for i in range(24)], "State": ["finished"] * 23 + ["crashed"], "lr": RATES}
    said = guessed(tmp_path, columns | {"val_acc": [0.6 + i / 100 for i in range(24)]})
    assert "# ? State: says how a training ended, which nobody chooses; 1 row has a score and another end" in said


@pytest.mark.parametrize(("lengths", "is_asked"), [([4, 16, 81] * 8, True), ([81] * 24, False)])
def test_trainings_of_several_lengths_are_asked_about(tmp_path: Path, lengths: list[int], is_asked: bool) -> None:
    said = guessed(
        tmp_path,
        {
            "val_accuracy": [0.5 + i / 100 for i in range(24)],
            "training_iteration": lengths,
            "trial_id": [f"t{i}" for i in range(24)],
            "time_total_s": [1.5 * i + 1 for i in range(24)],
            "config/lr": RATES,
            "config/layers": [1 + i % 3 for i in range(24)],
        },
    )
    asked = "# ? training_iteration: says how long each configuration was trained; not all alike"
    assert (asked in said) == is_asked


def test_what_ax_notes_is_no_hyperparameter(tmp_path: Path) -> None:
    said = guessed(
        tmp_path,
        {
            "trial_index": range(24),
            "arm_name": [f"{i}_0" for i in range(24)],
            "trial_status": ["COMPLETED"] * 24,
            "generation_node": ["Sobol"] * 8 + ["MBM"] * 16,
            "lr": RATES,
            "layers": [1 + i % 3 for i in range(24)],
            "val_loss": [2 - i / 20 for i in range(24)],
        },
    )
    assert {h["name"] for h in tomllib.loads(said)["hyperparameter"]} == {"lr", "layers"}
    assert "By its header, Ax wrote it." in said


@pytest.mark.parametrize(("last", "is_asked"), [("avg", True), ("Mean", True), ("4", False)])
def test_a_row_of_means_among_repetitions_is_asked_about(tmp_path: Path, last: str, is_asked: bool) -> None:
    columns = {
        "lr": [rate for rate in RATES[:6] for _ in range(4)],
        "Run": ["1", "2", "3", last] * 6,
        "val_acc": [0.6 + i / 100 for i in range(24)],
        "seconds": [10.5 + i * 1.3 for i in range(24)],
    }
    (line,) = [line for line in guessed(tmp_path, columns).splitlines() if line.startswith("repetition =")]
    assert ("? " in line) == is_asked
    assert (f"but {last}: is that a row of means" in line) == is_asked


def test_a_split_without_a_score_may_be_a_hyperparameter(tmp_path: Path) -> None:
    """DVC names what stands under `train:` in params.yaml so."""
    columns = {"val_loss": [2 - i / 20 for i in range(24)], "train.lr": RATES, "train.n_est": [20, 50, 100, 200] * 6}
    said = guessed(tmp_path, columns)
    assert [metric["column"] for metric in tomllib.loads(said)["metric"][1:]] == ["train.n_est"]
    assert "# ? its name says a split, and no score: or is it a hyper-parameter?" in said


@pytest.mark.parametrize(
    ("name", "is_rising", "said"),
    [
        ("inference_time", False, "(inference_time)?"),
        ("ep_time", False, "(ep_time)?"),
        ("seconds_per_epoch", False, "(seconds_per_epoch)?"),
        ("elapsed_time", True, "(it rises from row to row, as if counted from the beginning of the search)?"),
        ("elapsed_time", False, ""),
        ("train_time_200_epochs", False, ""),
        ("train_time_s", True, ""),
    ],
)
def test_a_time_of_something_else_than_an_evaluation_is_asked_about(
    tmp_path: Path, name: str, is_rising: bool, said: str
) -> None:
    times = [(i if is_rising else (7 * i) % 24) * 3.7 + 2 for i in range(24)]
    columns = {"lr": RATES[::-1], "val_error": [i / 30 for i in range(24)], name: times}
    (line,) = [line for line in guessed(tmp_path, columns).splitlines() if line.startswith("cost =")]
    assert line.endswith(f"# ? the seconds that an evaluation takes; or something else {said}" if said else "takes")


def test_a_hyperparameter_without_some_values_is_not_left_out_in_silence(tmp_path: Path) -> None:
    """Its tool's prefix tells that it is one, or the prefix that it shares with others, as in Hyperopt's lists."""
    scores = {"value": [i / 30 for i in range(24)], "number": [*range(24)], "state": ["COMPLETE"] * 24}
    conditional = {"params_lr": RATES, "params_momentum": [None, *RATES[1:]]}
    said = guessed(tmp_path, scores | conditional)
    (line,) = [line for line in said.splitlines() if "params_momentum" in line]
    assert line.startswith("# ? params_momentum: no value in 1 row: fill it in if it is a hyper-parameter")
    assert line.endswith("without it, configurations may look alike")
    lists = {
        f"misc.vals.{name}": [f"[np.float64({v})]" for v in values]
        for name, values in {"rate": [i / 7 for i in range(24)], "depth": [2, 4, 8] * 8}.items()
    }
    said = guessed(tmp_path, lists | {"result.loss": RATES})
    assert "# ? misc.vals.rate: a text of its own in every row" in said
    plain = {"lr": RATES, "comment": [None, *"abcdefghijklmnopqrstuvw"], "val_acc": [i / 30 for i in range(24)]}
    for header in (plain, {f"run.{name}": values for name, values in plain.items()}):
        said = guessed(tmp_path, header)
        assert "comment: no value in 1 row" in said
        assert "# ? run.comment" not in said
        assert "# ? comment" not in said


def test_what_a_model_came_to_have_on_average_is_asked_about(tmp_path: Path) -> None:
    columns = {"lr": RATES, "mean_depth": [3 + (5 * i) % 7 for i in range(24)], "max_depth": [3, 5, 8] * 8}
    said = guessed(tmp_path, columns | {"val_acc": [i / 30 for i in range(24)]})
    lines = [said.splitlines()[n + 1] for n, line in enumerate(said.splitlines()) if line.endswith('_depth"')]
    assert ["?" in line for line in lines] == [True, False]


def test_a_score_of_the_training_data_alone_is_asked_about(tmp_path: Path) -> None:
    said = guessed(tmp_path, {"lr": RATES, "train_loss": [i / 30 for i in range(24)]})
    assert 'split = "train"  # ? of the training data: or is another column the score?' in re.sub(" +#", "  #", said)


def test_a_run_that_each_row_names_is_no_repetition(tmp_path: Path) -> None:
    """Guild and Weights & Biases write such names."""
    columns = {"run": [f"{i * 7919 % 65536:04x}ab" for i in range(24)], "lr": RATES}
    said = guessed(tmp_path, columns | {"val_acc": [i / 30 for i in range(24)]})
    assert "repetition =" not in said
    assert "#   run: names a row: each has its own" in said


def test_a_hyperparameter_that_was_perturbed_is_asked_about(tmp_path: Path) -> None:
    """Ray Tune's population-based training changes it between two epochs."""
    columns = {"trial_id": [f"t{i // 3}" for i in range(24)], "training_iteration": [1, 2, 3] * 8}
    columns |= {"time_total_s": [10.5 * (1 + i % 3) + i // 3 for i in range(24)]}
    columns |= {"val_loss": [1 / (2 + i) for i in range(24)], "config/dropout": [0.1 * (i // 3) for i in range(24)]}
    said = guessed(tmp_path, columns | {"config/lr": [0.1 / (1 + i // 3 + (i % 3 == 2)) for i in range(24)]})
    assert "# ? config/lr: changes within a training, as no hyper-parameter does; is it a schedule, or" in said


def test_what_a_name_may_do_to_a_terminal_is_escaped(tmp_path: Path) -> None:
    name = "val_\x9b31merror\x7f\u202e\u2028\U000e0001"
    said = guessed(tmp_path, {"lr": RATES, name: [i / 30 for i in range(24)]})
    assert all(letter.isprintable() for line in said.split("\n") for letter in line)
    assert [metric["column"] for metric in tomllib.loads(said)["metric"]] == [name]


def test_times_of_each_epoch_are_those_of_a_training(tmp_path: Path) -> None:
    columns = {f"train_seconds_{epoch}": [epoch * (5 + (7 * i) % 24) for i in range(24)] for epoch in (1, 2, 3)}
    said = guessed(tmp_path, {"lr": RATES} | columns | {"val_acc": [i / 30 for i in range(24)]})
    (line,) = [line for line in said.splitlines() if line.startswith("cost =")]
    assert line.endswith("# the seconds that an evaluation takes")
    numbered = {"lr": [rate for rate in RATES[:12][::-1] for _ in (1, 2)], "epoch": [1, 2] * 12}
    rising = {"val_acc": [i / 30 for i in range(24)], "time": [*range(24)]}
    (line,) = [line for line in guessed(tmp_path, numbered | rising).splitlines() if line.startswith("cost =")]
    assert "from row to row" not in line


GRID = {
    "criterion": ["gini", "entropy"] * 20,
    "max_depth": [d for d in (3, 5, 8, 12) for _ in range(10)],
    "min_samples_leaf": [n for _ in range(4) for n in (1, 2, 5, 10, 20) for _ in range(2)],
}
ACCURACIES = [0.4 + i / 100 for i in range(40)]


@pytest.mark.parametrize("name", ["depth", "n_leaves", "n_features", "n_estimators", "rounds"])
@pytest.mark.parametrize("is_behind", [False, True])
def test_what_follows_from_a_whole_grid_is_asked_about(tmp_path: Path, name: str, is_behind: bool) -> None:
    """It was measured of a trained model: its depth, its leaves."""
    own = {name: [3 + (7 * i * i) % 23 for i in range(40)]}
    scores = {"val_acc": ACCURACIES}
    text = guessed(tmp_path, GRID | (scores | own if is_behind else own | scores))
    assert re.search(rf'name = "{name}"\nkind = .*# \? .*or is it (a measurement|one)\?', text)
    seeded = {key: [*values] * 3 for key, values in (GRID | own | scores).items()}
    seeded = {"seed": [s for s in range(3) for _ in range(40)]} | seeded | {"val_acc": [i / 200 for i in range(120)]}
    seeded[name] = [3 + (7 * i * i) % 23 for i in range(120)]  # another one in each repetition
    assert "follows from the others" in guessed(tmp_path, seeded)


def test_of_columns_that_follow_from_each_other_the_later_number_is_asked_about(tmp_path: Path) -> None:
    def doubted(columns: dict[str, list[Any]]) -> list[str]:
        text = guessed(tmp_path, columns | {"val_acc": ACCURACIES})
        return [part.split('"')[1] for part in text.split("name = ")[1:] if "follows from" in part.split("[[")[0]]

    half = [16 * n for n in GRID["min_samples_leaf"]]
    assert doubted(GRID | {"batch_width": half}) == ["batch_width"]
    assert doubted({"batch_width": half} | GRID) == ["min_samples_leaf"]
    texts = {"optimizer": ["adam", "sgd"] * 20, "momentum": [0.0, 0.9] * 20}
    others = {name: values for name, values in GRID.items() if len(set(values)) > 2}
    assert doubted(others | texts) == ["momentum"]
    assert doubted(others | dict(reversed(texts.items()))) == ["momentum"]


def hashes(n: int) -> list[str]:
    return [hashlib.sha1(str(i).encode()).hexdigest()[:7] for i in range(n)]


@pytest.mark.parametrize("name", ["model", "arch", "optimizer"])
@pytest.mark.parametrize(
    "texts",
    [hashes(40), [f"models/{i % 37}.pt" for i in range(40)], [f"s3://runs/{i % 39}/best" for i in range(40)]],
)
def test_names_of_files_and_digests_under_a_known_name_are_asked_about(
    tmp_path: Path, name: str, texts: list[str]
) -> None:
    """DVC and others write a trained model's file, or its digest, beside what was chosen."""
    seeded = {key: [v for v in values for _ in range(3)] for key, values in (GRID | {name: texts}).items()}
    scores = {"seed": [0, 1, 2] * 40, "val_acc": [0.4 + i / 400 for i in range(120)]}
    assert re.search(
        rf'name = "{name}"\nkind = .*# \? .*did a training make them\?', guessed(tmp_path, seeded | scores)
    )
    rng = np.random.default_rng(0)
    sample = seeded | {"lr": rng.random(40).repeat(3)}  # no grid
    assert "did a training make them?" in guessed(tmp_path, sample | scores)


def test_names_of_choices_are_no_files(tmp_path: Path) -> None:
    words = {"model": ["resnet-18.v2", "google/vit-b16"] * 20, "arch": ["0x1.8", "effnet_b0"] * 20}
    assert "did a training make them?" not in guessed(tmp_path, GRID | words | {"val_acc": ACCURACIES})


def test_a_digest_beside_the_choice_that_it_follows_from_is_asked_about_and_not_the_choice(tmp_path: Path) -> None:
    digests = {1: "9f3a1bc", 2: "77de012", 5: "5e6f7a8", 10: "c0ffee1", 20: "0badca5"}
    made = {"model": [digests[n] for n in GRID["min_samples_leaf"]]}
    for columns in (GRID | made, made | GRID):
        text = guessed(tmp_path, columns | {"val_acc": ACCURACIES})
        assert "follows from" not in text
        assert re.search(r'name = "model"\nkind = .*# \? .*did a training make them\?', text)


@pytest.mark.parametrize("name", ["node", "Node", "compute_node", "node_name", "NodeList", "batch", "stage"])
def test_texts_under_a_name_for_amounts_are_asked_about(tmp_path: Path, name: str) -> None:
    """Clusters name the machine so, laboratories the round."""
    text = guessed(tmp_path, GRID | {name: ["c1-12", "c1-13", "gpu001", "c1-12"] * 10, "val_acc": ACCURACIES})
    assert re.search(rf'name = "{name}"\nkind = .*# \? .*the machine, the round or the part of the data', text)


@pytest.mark.parametrize("name", ["batch", "stage", "rounds"])
def test_numbers_that_count_down_the_file_may_be_rounds(tmp_path: Path, name: str) -> None:
    rounds = [1 + i // 4 for i in range(40)]
    sample = {"lr": np.random.default_rng(0).random(40)}
    said = "chosen, or the machine, the round"
    assert said in guessed(tmp_path, {name: rounds} | sample | {"val_acc": ACCURACIES})
    assert said not in guessed(tmp_path, {name: [16 * n for n in rounds]} | sample | {"val_acc": ACCURACIES})
    assert said not in guessed(tmp_path, {name: rounds[::-1]} | sample | {"val_acc": ACCURACIES})


def test_grids_samples_and_paired_choices_are_no_doubt(tmp_path: Path) -> None:
    assert "follows from" not in guessed(tmp_path, GRID | {"val_acc": ACCURACIES})
    rng = np.random.default_rng(0)
    own = {"params_n_leaves": [3 + (7 * i * i) % 23 for i in range(40)]}
    prefixed = {f"params_{name}": values for name, values in GRID.items()} | own | {"value": ACCURACIES}
    assert "follows from" not in guessed(tmp_path, prefixed)  # the tool says that it is chosen
    sample = {"lr": rng.random(40), "depth": rng.integers(1, 9, 40), "n_estimators": rng.integers(10, 900, 40)}
    assert "follows from" not in guessed(tmp_path, sample | {"val_acc": ACCURACIES})


@pytest.mark.parametrize("name", ["val_c_index", "concordance_index", "adjusted_rand_index", "test_c_index"])
def test_fractions_under_a_name_for_labels_are_asked_about(tmp_path: Path, name: str) -> None:
    text = guessed(tmp_path, GRID | {name: ACCURACIES, "val_loss": ACCURACIES[::-1]})
    assert f"# {name}: names a row" not in text.replace("#   ", "# ")
    assert re.search(rf'"{name}"[^[]*# \? ', text)
    rows = GRID | {"index": range(40), "val_loss": ACCURACIES}
    assert "index: names a row" in guessed(tmp_path, rows)


def test_a_large_table_is_not_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = GRID | {"n_leaves": [3 + (7 * i * i) % 23 for i in range(40)], "val_acc": ACCURACIES}
    assert "follows from" in guessed(tmp_path, columns)
    monkeypatch.setattr("nasbench.benchmarks.tabular._trainings._MOST_COMPARED", 40 * 4**2 - 1)
    assert "follows from" not in guessed(tmp_path, columns)


def test_a_time_of_the_test_is_of_the_test_split(tmp_path: Path) -> None:
    columns = {"lr": RATES, "val_acc": [0.6 + i / 100 for i in range(24)], "pred_time_test_marginal": RATES}
    said = guessed(tmp_path, columns | {"pred_time_val_marginal": RATES})
    by_column = {metric.get("column", metric["name"]): metric for metric in tomllib.loads(said)["metric"]}
    assert by_column["pred_time_test_marginal"]["split"] == "test"
    assert "split" not in by_column["pred_time_val_marginal"]


def test_sums_of_files_are_no_hyperparameter(tmp_path: Path) -> None:
    sums = ["16c3745683b1f8b5a3a5c0ffee000001", "16c3745683b1f8b5a3a5c0ffee000002"] * 12
    columns = {"lr": RATES, "data/features": sums, "val_acc": [0.6 + i / 100 for i in range(24)]}
    assert "#   data/features: holds digests, which nobody chooses" in guessed(tmp_path, columns)


@pytest.mark.parametrize(("first_is_smallest", "direction"), [(True, None), (False, "maximise")])
def test_a_rank_beside_a_score_may_deny_what_its_header_says(
    tmp_path: Path, first_is_smallest: bool, direction: str | None
) -> None:
    """scikit-surprise writes scikit-learn's header, and its errors are positive."""
    scores = [0.8 + i / 100 for i in range(24)]
    ranks = list(range(1, 25)) if first_is_smallest else list(range(24, 0, -1))
    columns = {"param_lr": RATES, "split0_test_rmse": scores, "mean_test_rmse": scores, "std_test_rmse": RATES}
    said = tomllib.loads(guessed(tmp_path, columns | {"rank_test_rmse": ranks, "params": ["{}"] * 24}))
    (metric,) = (m for m in said["metric"] if m.get("column") == "mean_test_rmse")
    assert metric.get("direction") in ((direction,) if direction else ("?", "minimise", None))


@pytest.mark.parametrize("name", ["arch_id", "model_id", "batch_id", "cell_hash", "layer_index"])
def test_the_last_word_says_that_a_number_names_a_row(tmp_path: Path, name: str) -> None:
    large = 2**60 if name == "cell_hash" else 0  # the product of two such numbers is none of 64 bits
    rows = {name: [large + i // 3 for i in range(24)], "seed": [i % 3 for i in range(24)]}
    chosen = {"depth": [8 + i // 6 for i in range(24)], "kernel": [1 + i // 3 % 2 for i in range(24)]}
    text = guessed(tmp_path, rows | chosen | {"val_acc": [0.6 + i / 100 for i in range(24)]})
    assert f"#   {name}: names a row or a configuration" in text


@pytest.mark.parametrize("values", [[4, 8, 12, 16], [True, False]])
@pytest.mark.parametrize("name", ["layer_index", "head_id", "n_hash", "use_date"])
def test_a_number_beside_which_hyperparameters_vary_names_no_row(tmp_path: Path, name: str, values: list[int]) -> None:
    columns = {name: [values[i % len(values)] for i in range(24)], "lr": RATES, "run_id": [*range(24)]}
    text = guessed(tmp_path, columns | {"val_acc": [0.6 + i / 100 for i in range(24)]})
    assert f"# ? {name}: names a row or a configuration; or is it a hyper-parameter?" in text
    assert "#   run_id: names a row or a configuration" in text


@pytest.mark.parametrize("name", ["model_seed", "init_seed", "seed_model", "augment_seed", "data_split"])
def test_what_may_be_a_seed_is_asked_about(tmp_path: Path, name: str) -> None:
    columns = {"lr": RATES, "depth": [1 + i % 4 for i in range(24)], name: [i % 3 for i in range(24)]}
    text = guessed(tmp_path, columns | {"val_acc": [0.6 + i / 100 for i in range(24)]})
    assert re.search(rf'"{name}"[^[]*# \? ', text)


@pytest.mark.parametrize("name", ["train_time_h", "Duration (h)", "train_time_m", "time_ms", "time_k"])
def test_times_in_other_units_than_seconds_are_asked_about(tmp_path: Path, name: str) -> None:
    columns = {"lr": RATES, "val_acc": [0.6 + i / 100 for i in range(24)], name: [1 + i / 7 for i in range(24)]}
    text = guessed(tmp_path, columns)
    assert re.search(r"\? not in \w+\? A cost is in seconds", text)


@pytest.mark.parametrize("name", ["train_time_s", "seconds", "time_mean", "time/epoch"])
def test_times_in_seconds_are_no_doubt(tmp_path: Path, name: str) -> None:
    columns = {"lr": RATES, "val_acc": [0.6 + i / 100 for i in range(24)], name: [1 + i / 7 for i in range(24)]}
    assert "A cost is in seconds" not in guessed(tmp_path, columns)


@pytest.mark.parametrize("name", ["config/seed", "config/random_state", "config/fold", "config/model__random_seed"])
def test_a_seed_below_a_tool_s_prefix_is_asked_about(tmp_path: Path, name: str) -> None:
    ray = {"val_accuracy": [0.6 + i / 100 for i in range(24)], "training_iteration": [5] * 24, "trial_id": range(24)}
    columns = ray | {"time_total_s": RATES, "config/lr": RATES, name: [i % 3 for i in range(24)]}
    assert re.search(rf'"{name}"[^[]*# \? .*or does it number repetitions', guessed(tmp_path, columns))


def test_a_number_of_a_batch_of_mlr3_is_no_hyperparameter(tmp_path: Path) -> None:
    columns = {"cp": RATES, "minsplit": [2 + i % 9 for i in range(24)], "classif.ce": [0.4 - i / 99 for i in range(24)]}
    assert "#   batch_nr: names a row" in guessed(tmp_path, columns | {"batch_nr": [i // 2 for i in range(24)]})


def test_shares_beside_percent_are_asked_about(tmp_path: Path) -> None:
    name = "val_acc"
    percent = [60 + i for i in range(24)]
    mixed = guessed(tmp_path, {"lr": RATES, name: [0.5 + i / 100 if i < 8 else p for i, p in enumerate(percent)]})
    assert "? values up to 1 stand beside larger ones: shares beside percent?" in mixed
    for values in (percent, [p / 100 for p in percent], [0.4, *percent[1:]]):
        assert "shares beside percent" not in guessed(tmp_path, {"lr": RATES, name: values})

"""Roles of columns, by names, values and places."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.tabular.guess import guess
from nasbench.benchmarks.tabular.user_table import read_table


@pytest.fixture
def guessed(tmp_path: Path) -> Callable[[pd.DataFrame], str]:
    def text(frame: pd.DataFrame) -> str:
        frame.to_csv(tmp_path / "t.csv", index=False)
        return guess(tmp_path / "t.csv").text

    return text


Guessed = Callable[[pd.DataFrame], str]


def chosen(text: str) -> list[str]:
    return [h["name"] for h in tomllib.loads(text)["hyperparameter"]]


def measured(text: str) -> list[str]:
    return [m.get("column", m["name"]) for m in tomllib.loads(text)["metric"]]


def trainings(**more: Callable[[float, int, int], Any]) -> pd.DataFrame:
    """Six trainings of five epochs: two hyper-parameters, a loss, and more columns of them and the epoch."""
    every = list(product((0.1, 0.2, 0.3), (16, 32), range(1, 6)))
    frame = pd.DataFrame(every, columns=["rate", "units", "epoch"])
    for name, of in more.items():
        frame[name] = [of(rate, units, epoch) for rate, units, epoch in every]
    return frame.assign(val_loss=[rate + units / epoch for rate, units, epoch in every])


@pytest.mark.parametrize("bar", ["accuracy_err", "accuracy_ci_low", "accuracy (±SE)", "accuracy-upper"])
def test_the_bar_around_a_score_is_no_score(bar: str, guessed: Guessed) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch")
    frame = frame.assign(**{bar: frame["val_loss"] / 9}, accuracy=frame["val_loss"] / 8).drop(columns="val_loss")
    text = guessed(frame)
    assert measured(text) == ["accuracy"]
    assert "a spread, which no method is told" in text


def test_an_error_beside_no_score_of_its_name_is_one(guessed: Guessed) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch").rename(columns={"val_loss": "accuracy_err"})
    assert measured(guessed(frame)) == ["accuracy_err"]


@pytest.mark.parametrize(("levels", "chosen_too"), [((1, 3, 9, 27, 81), []), ((0.1, 0.2, 0.4, 0.8, 1.0), ["budget"])])
def test_a_budget_that_each_configuration_has_several_of_is_never_chosen_without_a_doubt(
    levels: tuple[float, ...], chosen_too: list[str], guessed: Guessed
) -> None:
    frame = trainings()
    text = guessed(frame.assign(epoch=[levels[e - 1] for e in frame["epoch"]]).rename(columns={"epoch": "budget"}))
    assert chosen(text) == ["rate", "units", *chosen_too]
    assert re.search(r"# \?.*counts? the epochs of a training", text)


SHUFFLED = [False, True]


@pytest.mark.parametrize("is_shuffled", SHUFFLED)
def test_what_changes_within_a_training_is_no_hyperparameter(is_shuffled: bool, guessed: Guessed) -> None:
    frame = trainings(samples=lambda r, u, e: 128 * e, thing=lambda r, u, e: round(r * u + e / 7, 5))
    frame = frame.sample(frac=1, random_state=0) if is_shuffled else frame
    text = guessed(frame)
    assert chosen(text) == ["rate", "units"]
    assert measured(text) == ["val_loss", "thing"]
    assert "#   samples: changes within a training, as no hyper-parameter does" in text
    assert "? no known name; it changes within a training: a measurement?" in text


def test_a_learning_rate_that_decays_within_each_training_is_no_hyperparameter(guessed: Guessed) -> None:
    text = guessed(
        trainings(lr=lambda r, u, e: 0.1 if (e < 3) == (u > 16) else 0.01, kind=lambda r, u, e: "ab"[u > 16])
    )
    assert chosen(text) == ["rate", "units", "kind"]
    assert "#   lr: changes within a training" in text


def test_a_number_of_epochs_that_each_training_has_once_is_a_doubtful_hyperparameter(guessed: Guessed) -> None:
    rows = [(0.01 * i, "ab"[i % 2], (10, 20, 50)[i * i % 3], i % 7 / 7) for i in range(1, 31)]
    text = guessed(pd.DataFrame(rows, columns=["lr", "kind", "epochs", "val_loss"]))
    assert chosen(text) == ["lr", "kind", "epochs"]
    assert "or does it count the epochs of a training?" in text


@pytest.mark.parametrize("number", [3, 40])
def test_numbers_behind_a_score_that_stands_first_are_doubtful_hyperparameters(number: int, guessed: Guessed) -> None:
    rows = [(i % 9 / 9, i % number, (i * 7) % number) for i in range(40)]
    text = guessed(pd.DataFrame(rows, columns=["accuracy", "this", "that"]))
    assert chosen(text) == ["this", "that"]
    assert text.count("it stands behind a measurement: or is it one?") == 2


def test_an_unknown_name_behind_a_score_is_a_doubtful_measurement_where_hyperparameters_stand_before_it(
    guessed: Guessed,
) -> None:
    rows = [(i % 4, i % 9 / 9, i / 7, "xy"[i % 2], i // 20, i % 25) for i in range(40)]
    frame = pd.DataFrame(rows, columns=["units", "accuracy", "this", "that", "flag", "depth"])
    text = guessed(frame)
    assert (chosen(text), measured(text)) == (["units", "that", "flag", "depth"], ["accuracy", "this"])
    assert text.count("it stands behind a measurement: or is it one?") == 3
    assert "? no known name; it stands behind a measurement: or is it a hyper-parameter?" in text


def test_of_several_unknown_measurements_the_last_is_the_objective(guessed: Guessed) -> None:
    frame = pd.DataFrame({"hp_lr": [1, 2, 1, 2], "hp_units": [1, 1, 2, 2], "this": [0.5, 0.4, 0.1, 0.2]})
    assert measured(guessed(frame.assign(that=[0.7, 0.1, 0.5, 0.6]))) == ["that", "this"]


@pytest.mark.parametrize("name", ["valid_l2", "kendall_tau", "rmse_norm", "test_c", "spearman_rho"])
def test_a_name_of_a_measure_that_ends_as_a_hyperparameters_is_in_doubt_where_its_values_are_many(
    name: str, guessed: Guessed
) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch")
    frame.insert(2, name, frame["val_loss"] ** 2)
    asked = "? its name says a hyper-parameter and a measurement: which is it?"
    assert asked[2:] in guessed(frame)
    text = guessed(frame.drop(columns="val_loss"))
    assert (chosen(text), measured(text)) == (["rate", "units"], [name])
    assert asked in text
    behind = guessed(frame[["rate", "units", "val_loss", name]])
    assert measured(behind) == ["val_loss", name]
    assert "# ? no known name; it stands behind a measurement" in behind


def test_such_a_name_with_few_values_or_a_prefix_is_a_hyperparameter(guessed: Guessed) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch")
    frame.insert(2, "entropy_coef", [0.1, 0.2, 0.3] * 2)
    assert "which is it?" not in guessed(frame)
    drawn = frame.assign(entropy_coef=frame["val_loss"] ** 2).rename(columns="params_{}".format)
    text = guessed(drawn.rename(columns={"params_val_loss": "val_loss"}))
    assert chosen(text) == ["params_rate", "params_units", "params_entropy_coef"]
    assert "which is it?" not in text


@pytest.mark.parametrize(
    ("name", "values", "is_asked"),
    [
        ("memory", [10000, 50000], True),
        ("power", [10, 20], True),
        ("memory", [512.25, 730.5], True),
        ("memory", range(6), True),
        ("params_memory", [10000, 50000], False),
    ],
)
def test_a_resource_before_the_score_may_be_chosen(
    name: str, values: Sequence[float], is_asked: bool, guessed: Guessed
) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch")
    frame.insert(2, name, [values[row % len(values)] for row in range(6)])
    asked = f"# ? {len(values)} values, before the score: or is it a hyper-parameter?"
    assert (asked in guessed(frame)) == is_asked
    assert asked not in guessed(frame[["rate", "units", "val_loss", name]])


@pytest.mark.parametrize("name", ["env_steps", "train_steps", "n_steps", "max_budget"])
def test_steps_of_which_each_configuration_has_several_are_never_chosen_without_a_doubt(
    name: str, guessed: Guessed
) -> None:
    asked = "or does it count the epochs of a training?"
    frame = trainings().rename(columns={"epoch": name})
    assert asked in guessed(frame)
    several = pd.concat([frame.assign(seed=seed) for seed in (0, 1)])
    assert asked in guessed(several)
    assert asked not in guessed(frame.rename(columns={name: "warmup_steps"}))
    assert asked not in guessed(frame.rename(columns={name: f"params_{name}"}))
    assert asked not in guessed(frame[frame.index % 7 == 0])  # one number of steps for each configuration


@pytest.mark.parametrize(
    ("pattern", "is_asked"),
    [
        ("acc_rep_{}", True),
        ("acc_repeat_{}", True),
        ("depth_err_{}", True),
        ("acc_ep{}", False),
        ("acc_step_{}", False),
    ],
)
def test_numbers_in_names_count_epochs_where_a_whole_word_says_so(
    pattern: str, is_asked: bool, guessed: Guessed
) -> None:
    frame = trainings().query("epoch == 5").drop(columns=["epoch", "val_loss"])
    frame = frame.assign(**{pattern.format(number): frame["rate"] / number for number in (1, 2, 3)})
    assert ("or does it number folds, repetitions, cutoffs or horizons?" in guessed(frame)) == is_asked


def test_words_that_are_hyperparameters_elsewhere_are_taken_by_their_last_word(guessed: Guessed) -> None:
    names = ["test_size", "time_limit", "precision", "cost_complexity", "validation_fraction"]
    rows = [(*row, sum(row) % 7) for row in product((0.1, 0.2), (10, 60), (16, 32), (0, 0.1), (0.3, 0.4))]
    text = guessed(pd.DataFrame(rows, columns=[*names, "val_loss"]))
    assert (chosen(text), measured(text)) == (names, ["val_loss"])


def test_precision_is_a_score_or_a_number_of_bits_by_its_values(guessed: Guessed) -> None:
    frame = pd.DataFrame({"units": [1, 2, 3, 4], "val_loss": [0.4, 0.3, 0.2, 0.1]})
    assert "precision" in measured(guessed(frame.assign(precision=[0.5, 0.6, 0.7, 0.8])))
    assert "precision" in chosen(guessed(frame.assign(precision=[16, 32, 16, 32])))
    assert "precision" in chosen(guessed(frame.assign(precision=["bf16", "32", "16", "32"])))


@pytest.mark.parametrize(
    "values", [["91.2±0.3", "89.7±0.3"], ["91.2 +/- 0.3", "89.7 +- .3"], ["$91 \\pm 1$", "$8 \\pm 2$"]]
)
@pytest.mark.parametrize("name", ["accuracy", "thing"])
def test_a_number_with_its_spread_is_no_category_whatever_its_name(
    name: str, values: list[str], guessed: Guessed
) -> None:
    text = guessed(pd.DataFrame({"lr": [1, 2], name: values, "val_loss": [0.4, 0.3]}))
    assert (chosen(text), measured(text)) == (["lr"], ["val_loss"])
    assert f"#   {name}: a number and its spread in one text, such as" in text


def test_numbers_that_are_written_as_text_are_left_out_or_doubted(guessed: Guessed) -> None:
    frame = pd.DataFrame({"batch": ["1,024", "2,048"], "params": ["3.2M", "5M"], "acc": ["91 (0.3)", "92 (0.4)"]})
    text = guessed(frame.assign(val_loss=[0.4, 0.3]))
    assert (chosen(text), measured(text)) == (["batch"], ["val_loss"])
    assert "? 2 values: 1,024, 2,048; numbers written as text?" in text
    assert (
        "#   acc: a measurement by its name, but its values are text, such as '91 (0.3)': write plain numbers" in text
    )


def test_a_refusal_names_each_column_with_its_reason(guessed: Guessed, tmp_path: Path) -> None:
    frame = pd.DataFrame({"accuracy": [0.1, 0.2], "train_time": [1, 2], "run_id": ["a", "b"], "same": [1, 1]})
    with pytest.raises(UsageError) as caught:
        guessed(frame)
    assert str(caught.value) == (
        f"no column of {tmp_path / 't.csv'} can be a hyper-parameter: run_id (names a row or a configuration), "
        "same (the same in every row), accuracy (a measurement: score), train_time (a measurement: seconds)"
    )
    many = pd.DataFrame({f"accuracy{i}": [0.1, 0.2] for i in range(50)})
    with pytest.raises(UsageError, match=r"and 20 more$"):
        guessed(many)


@pytest.mark.parametrize(
    ("name", "values", "line"),
    [
        ("mean_neg_rmse", [-1.5, -2.5], 'direction = "maximise" '),
        ("1-accuracy", [0.1, 0.2], 'direction = "minimise" '),
        ("val_loss", [-1.5, -2.5], 'direction = "?" '),
        ("neg_mse", [1.5, 2.5], 'direction = "?" '),
        ("accuracy", [-0.5, -0.6], 'direction = "?" '),
        ("accuracy", [0.5, 0.6], "complement_of = 1 "),
        ("1-error", [0.5, 0.6], 'direction = "maximise" '),
    ],
)
def test_the_direction_of_an_objective_is_that_of_its_name_and_a_doubt_where_its_signs_contradict(
    name: str, values: list[float], line: str, guessed: Guessed
) -> None:
    frame = pd.DataFrame({"lr": [1, 2], name: values})
    text = guessed(frame)
    assert line in text
    assert ("import waits for it" in text) == ("?" in line)


def test_a_specification_must_state_the_direction_of_an_error_that_is_never_positive(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("lr,loss\n1,-3\n2,-4\n")
    spec = tmp_path / "t.toml"
    text = 'name = "t-of-mine"\ncost = 1\n[[hyperparameter]]\nname = "lr"\nkind = "ordinal"\n'
    text += '[[metric]]\nname = "only-loss"\ncolumn = "loss"\nsplit = "only"\n'
    spec.write_text(text)
    with pytest.raises(UsageError, match=r"loss of .* must state its direction .it is never positive"):
        read_table(tmp_path / "t.csv", spec)
    spec.write_text(text + 'direction = "minimise"\n')
    assert read_table(tmp_path / "t.csv", spec).values.min() == -4


def doubted(text: str) -> dict[str, str]:
    """The doubt beside each column that has one."""
    parts = re.split(r"\n(?=\[\[|# \? \w+: )", text)
    found = {}
    for part in parts:
        name = re.search(r'^# \? (\w+): |column = "(.+?)"', part) or re.search(r'name = "(.+?)"', part)
        doubt = re.search(r"# \?.*(?:is it one|is it a measurement|is it a hyper-parameter)\?", part)
        if name and doubt:
            found[next(filter(None, name.groups()))] = doubt[0]
    return found


def test_what_is_observed_and_what_a_model_came_to_have_is_asked_about(guessed: Guessed) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch").rename(columns={"rate": "lr"})
    frame.insert(0, "grad_norm", frame["val_loss"] ** 2)
    assert set(doubted(guessed(frame.rename(columns={"units": "max_grad_norm"})))) == {"grad_norm"}
    drawn = (
        trainings()
        .query("epoch == 5")
        .drop(columns="epoch")
        .rename(columns={"rate": "lr"})
        .assign(lr=[0.11, 0.12, 0.2, 0.21, 0.35, 0.36])
    )
    behind = drawn.assign(tree_depth=[3, 4, 3, 4, 5, 5], n_leaves=[7, 9, 7, 9, 11, 11], nonzero_coef=[1, 2, 1, 2, 3, 3])
    assert set(doubted(guessed(behind))) == {"tree_depth", "n_leaves", "nonzero_coef"}
    before = behind[["tree_depth", "lr", "units", "val_loss"]]
    assert doubted(guessed(before)) == {}


def test_a_coefficient_by_which_people_measure_is_a_score(guessed: Guessed) -> None:
    frame = trainings().query("epoch == 5").drop(columns="epoch").assign(val_dice_coef=[0.5, 0.5, 0.6, 0.6, 0.7, 0.7])
    assert measured(guessed(frame)) == ["val_loss", "val_dice_coef"]
    assert chosen(guessed(frame.rename(columns={"units": "entropy_coef"}))) == ["rate", "entropy_coef"]


@pytest.mark.parametrize("name", ["F1", "explained_variance", "size"])
def test_a_score_of_few_values_before_the_score_may_be_chosen(name: str, guessed: Guessed) -> None:
    frame = pd.DataFrame(product((4, 8, 16), (0.1, 0.2), (1, 2)), columns=[name, "lr", "depth"])
    frame = frame.assign(val_acc=[0.5 + i / 100 for i in range(12)])
    assert "# ? 3 values, before the score: or is it a hyper-parameter?" in guessed(frame)
    many = frame.assign(**{name: [i / 13 for i in range(12)]})
    assert "before the score" not in guessed(many)
    behind = frame[["lr", "depth", "val_acc", name]]
    assert "before the score" not in guessed(behind)


def test_a_rank_behind_the_score_may_be_chosen_where_all_that_is_chosen_stands_there(guessed: Guessed) -> None:
    frame = pd.DataFrame(product((1, 2), (4, 8, 16), (0.1, 0.2)), columns=["depth", "lora_rank", "lr"])
    scores = pd.DataFrame({"val_acc": [0.5 + i / 100 for i in range(12)]})
    asked = "# ? lora_rank: a rank, which follows from a score; or is it a hyper-parameter?"
    assert asked in guessed(pd.concat([scores, frame], axis=1))
    assert asked not in guessed(pd.concat([frame[["depth", "lr"]], scores, frame[["lora_rank"]]], axis=1))


@pytest.mark.parametrize("name", ["rmse^-1", "mse**-1"])
def test_a_power_is_no_epoch(name: str, guessed: Guessed) -> None:
    text = guessed(pd.DataFrame({"lr": [1, 2, 3, 4], name: [0.1, 0.2, 0.3, 0.4]}))
    assert "epoch" not in text
    assert 'direction = "?"' in text


def searched(**columns: Sequence[Any]) -> pd.DataFrame:
    """Twelve random draws: columns of two or more values, each repeated in turn, and a score behind them."""
    frame = pd.DataFrame({name: [values[i % len(values)] for i in range(12)] for name, values in columns.items()})
    return frame.assign(rate=[0.013 * 1.3**i for i in range(12)], val_acc=[0.5 + i / 100 for i in range(12)])


@pytest.mark.parametrize("name", ["model_id", "pretrained_path"])
def test_a_text_of_few_values_that_its_name_leaves_out_may_be_chosen(name: str, guessed: Guessed) -> None:
    """Random draws repeat no row, so that nothing else would say what is missing."""
    drawn = searched(**{name: ["bert", "roberta", "deberta"]})
    asked = f"# ? {name}: names a row or a configuration; or is it a hyper-parameter?"
    assert asked in guessed(drawn)
    assert asked in guessed(drawn[["val_acc", "rate", name]])
    assert asked not in guessed(drawn.assign(**{name: [f"run {i}" for i in range(12)]}))


def test_a_measurement_among_hyperparameters_may_be_one(guessed: Guessed) -> None:
    drawn = searched(lr=[0.1, 0.2], units=[8, 16, 32]).assign(**{"loss.s": [16.5 + i for i in range(12)], "time": 3.5})
    drawn["time"] += drawn["rate"]
    text = guessed(drawn[["lr", "loss.s", "time", "units", "val_acc"]])
    assert "# ? measured on which split? Or is it a hyper-parameter?" in text
    assert text.count("# ? it stands among hyper-parameters: or is it one?") == 1  # the time
    assert "it stands among" not in guessed(drawn[["lr", "units", "val_acc", "time"]])


@pytest.mark.parametrize(("name", "is_asked"), [("Top1", True), ("top5_val", True), ("top1_acc", False)])
def test_a_bare_top_1_may_be_an_error(name: str, is_asked: bool, guessed: Guessed) -> None:
    text = guessed(searched().rename(columns={"val_acc": name}))
    assert ("or is it an error, as tables of networks have?" in text) is is_asked


def test_a_score_before_all_others_may_be_chosen_and_the_last_column_the_result(guessed: Guessed) -> None:
    drawn = searched().assign(perplexity=[5.5 + i for i in range(12)], trust=[0.9 + i / 999 for i in range(12)])
    text = guessed(drawn[["perplexity", "rate", "trust"]])
    assert "# ? the first metric is the objective: or should trust be it?" in text
    known = drawn.rename(columns={"rate": "lr"})
    assert "or should" not in guessed(known[["val_acc", "trust", "lr"]])


def test_the_clipping_of_lightning_is_no_score(guessed: Guessed) -> None:
    drawn = searched(gradient_clip_val=[0.5, 1.0, 2.0], limit_val_batches=[0.5, 1.0])
    text = guessed(drawn.rename(columns={"val_acc": "test_f1"}))
    assert measured(text) == ["test_f1"]
    assert chosen(text) == ["gradient_clip_val", "limit_val_batches", "rate"]


def test_an_l1_that_differs_in_every_row_may_be_an_error(guessed: Guessed) -> None:
    drawn = searched(lr=[0.1, 0.2]).assign(l1=[0.01 + i / 999 for i in range(12)], epsilon=[1.5 + i for i in range(12)])
    assert {"l1", "epsilon"} <= set(doubted(guessed(drawn)))
    assert "l1" not in doubted(guessed(searched(l1=[0.1, 0.2])))


def test_energy_as_the_objective_may_be_gained(guessed: Guessed) -> None:
    drawn = searched(lr=[0.1, 0.2]).drop(columns=["rate"])
    asked = "no column looks like a score, so the objective is a resource (used, or gained?): "
    assert asked in guessed(drawn.rename(columns={"val_acc": "energy_kwh"}))
    assert asked not in guessed(drawn.assign(energy_kwh=drawn["val_acc"]))


@pytest.mark.parametrize(("name", "word"), [("return_rate", "return"), ("FPs", "fps")])
def test_a_word_that_says_something_else_elsewhere_is_doubted(name: str, word: str, guessed: Guessed) -> None:
    text = guessed(searched(lr=[0.1, 0.2]).rename(columns={"val_acc": name}))
    assert f"more is better, by its name: 1 - value is minimised; or does {word} change that?" in text


def test_a_coefficient_that_differs_in_every_row_may_be_measured(guessed: Guessed) -> None:
    drawn = searched(lr=[0.1, 0.2]).assign(determination_coefficient=[0.5 + i / 99 for i in range(12)])
    drawn = drawn[["lr", "determination_coefficient", "val_acc"]]
    assert set(doubted(guessed(drawn))) == {"determination_coefficient"}
    assert doubted(guessed(drawn.rename(columns={"determination_coefficient": "entropy_coef"}))) == {}


def test_texts_that_name_splits_are_asked_about(guessed: Guessed) -> None:
    asked = "splits of the data? Then keep the rows of one: the others are scores of the same trainings"
    assert f"# ? 2 values: train, val; {asked}" in guessed(searched(mode=["train", "val"]))
    assert "splits of the data" not in guessed(searched(mode=["train", "min"]))


def test_a_mark_of_failure_is_not_the_best_value(guessed: Guessed, tmp_path: Path) -> None:
    drawn = searched().rename(columns={"val_acc": "val_rmse"})
    drawn.loc[3, "val_rmse"] = -1
    guessed(drawn)
    assert guess(tmp_path / "t.csv").roles["objective"] == (
        "val_rmse, less is better: 0.5 is the best value, 0.61 the worst"
    )


def test_whole_numbers_of_their_own_under_a_name_with_an_unknown_word_may_be_measured(guessed: Guessed) -> None:
    counted = searched(lr=[0.1, 0.2]).assign(features_used=[40 + 7 * i for i in range(12)])
    assert set(doubted(guessed(counted[["lr", "features_used", "val_acc"]]))) == {"features_used"}
    for name in ("n_estimators", "num_layers", "max_depth"):
        assert doubted(guessed(counted.rename(columns={"features_used": name})[["lr", name, "val_acc"]])) == {}

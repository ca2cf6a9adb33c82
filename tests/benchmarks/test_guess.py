"""Specifications guessed from a file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.tabular.column import numbered
from nasbench.benchmarks.tabular.frames import numbers_of
from nasbench.benchmarks.tabular.guess import guess
from nasbench.benchmarks.tabular.user_table import read_table
from tests.conftest import Printed

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
DIGITS = ROOT / "examples" / "digits_mlp.csv"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture
def guessed(tmp_path: Path) -> Callable[[str], str]:
    def text(csv: str) -> str:
        (tmp_path / "t.csv").write_text(csv)
        return guess(tmp_path / "t.csv").text

    return text


Guessed = Callable[[str], str]


def by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in entries}


def test_the_guess_of_the_example_gives_the_table_of_its_specification(tmp_path: Path) -> None:
    (tmp_path / "guess.toml").write_text(guess(DIGITS).text)
    found, written = (read_table(DIGITS, spec) for spec in (tmp_path / "guess.toml", DIGITS.with_suffix(".toml")))
    assert found.space.hyperparameters == written.space.hyperparameters
    assert np.array_equal(found.values, written.values, equal_nan=True)
    assert [m.split for m in found.metrics] == [m.split for m in written.metrics] == ["valid", "test", None, None]
    assert found.cost == written.cost == "seconds"


def test_a_guess_is_written_once_and_imported_by_the_command_it_names(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    data = tmp_path / "my digits.csv"
    data.write_bytes(DIGITS.read_bytes())
    done = nasbench("import", "table", data, "--guess")
    spec = tmp_path / "my digits.toml"
    assert done.code == 0, done.err
    assert "hyper-parameters: activation, units and learning_rate" in done.out
    assert "objective:        valid_accuracy, more is better: 97.33 is the best value, 16.02 the worst\n" in done.out
    assert "test_accuracy, more is better; parameters and seconds, less is better" in done.out
    assert "2 doubts:\n  missing: a configuration" in done.out
    assert "parameters: cheap = true if it is known before training" in done.out
    assert "refused" not in done.out
    assert f"nasbench import table '{data}' --spec '{spec}'" in done.out
    assert nasbench("import", "table", data, "--spec", spec).code == 0
    spec.write_text("mine")
    again = nasbench("import", "table", data, "--guess")
    assert (again.code, spec.read_text()) == (2, "mine")
    assert "already exists and is not changed" in again.err
    assert nasbench("import", "table", data, "--guess", "--spec", tmp_path / "other.toml").code == 0
    assert "cannot write" in nasbench("import", "table", data, "--guess", "--spec", tmp_path / "no" / "x.toml").err
    assert "--guess writes one to check and correct" in nasbench("import", "table", data).err


def test_a_direction_that_nothing_tells_is_left_to_the_person(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    data.write_text("x,result\n1,3.2\n2,4.5\n3,1.5\n")
    done = nasbench("import", "table", data, "--guess")
    assert "an import refuses it until it is corrected: unknown direction of only-result" in done.out
    spec = tmp_path / "t.toml"
    assert nasbench("import", "table", data, "--spec", spec).code == 2
    spec.write_text(spec.read_text().replace('direction = "?"', 'direction = "maximise"'))
    assert "minimises only-result, from -4.5 to -1.5" in nasbench("import", "table", data, "--spec", spec).out


def test_roles_are_read_from_names_and_values(guessed: Guessed) -> None:
    rows = [
        f"{i},{'relu' if i % 2 else 'tanh'},{10.0 ** -(i // 2 % 3)},{i % 2 if i % 3 else ''},{i % 3},{0.5 + i / 99},"
        f"{0.4 + i / 99},{i / 7},{1000 * (i % 5)},{-1 if i == 4 else i + 1},0.1,{9 * i}"
        for i in range(24)
    ]
    text = guessed(
        "id,activation,lr,dropout,seed,val_acc,test_acc,val_acc_std,n_params,latency_ms,constant,train_time\n"
        + "\n".join(rows)
        + "\n"
    )
    facts = tomllib.loads(text)
    assert (facts["repetition"], facts["cost"]) == ("seed", "train_time")
    kinds = {h["name"]: (h["kind"], h.get("log", False)) for h in facts["hyperparameter"]}
    assert kinds == {"activation": ("categorical", False), "lr": ("ordinal", True)}
    metrics = by_name(facts["metric"])
    assert list(metrics) == ["valid-error", "test-error", "n_params", "latency_ms", "train_time"]
    assert metrics["valid-error"] == {
        "name": "valid-error",
        "column": "val_acc",
        "complement_of": 1,
        "split": "valid",
    }
    assert metrics["latency_ms"]["missing_value"] == -1
    assert "# ? dropout: no value in 8 rows" in text
    for name in ("id", "val_acc_std", "constant"):
        assert f"#   {name}: " in text


def test_a_second_column_that_numbers_repetitions_is_no_hyperparameter(guessed: Guessed) -> None:
    rows = [f"{lr},{seed},{fold},{lr + seed + fold}" for lr in (1, 2) for seed in (0, 1) for fold in (0, 1)]
    text = guessed("lr,seed,fold,val_loss\n" + "\n".join(rows) + "\n")
    assert [h["name"] for h in tomllib.loads(text)["hyperparameter"]] == ["lr"]
    assert "#   fold: seed numbers the repetitions already" in text
    assert "? 4 rows repeat a configuration (with seed)" in text
    many = [f"{i % 2},{seed},{i}" for i, seed in enumerate(range(1000, 1300))]
    assert "#   seed: more than 255 repetitions" in guessed("lr,seed,val_loss\n" + "\n".join(many) + "\n")


def test_curves_are_seen_in_either_form(guessed: Guessed) -> None:
    wide = tomllib.loads(guessed("lr,val_loss_1,val_loss_5,val_loss_20,top1\n1,3,2,1,7\n2,4,3,2,9\n"))
    assert by_name(wide["metric"])["valid-loss@20"] == {
        "name": "valid-loss@20",
        "column": "val_loss_{epoch}",
        "split": "valid",
        "epoch": 20,
    }
    rows = [f"{lr},{epoch},{5 - epoch},{10 * epoch}" for lr in (1, 2) for epoch in (1, 2, 3)]
    long = tomllib.loads(guessed("lr,epoch,val_loss,seconds\n" + "\n".join(rows) + "\n"))
    assert long["epoch"] == "epoch"
    metrics = by_name(long["metric"])
    assert (metrics["valid-loss@3"]["epoch"], metrics["valid-loss@3"]["curve"]) == (3, True)
    assert metrics["seconds"]["curve"] is True  # it grows with the epochs: the time since the beginning


def test_what_a_specification_cannot_mend_is_a_doubt(guessed: Guessed) -> None:
    text = guessed("lr,val_loss,train_hours\n1,2,3\n1,3,3\n2,2,4\n")
    assert "? 1 rows repeat a configuration (with no column that numbers repetitions)" in text
    assert "? not in hours? A cost is in seconds" in text


@pytest.mark.parametrize(
    ("csv", "sentence"),
    [
        ("sep=,\na,b\n1,2\n", r"the first line of .*t\.csv states a separator \(sep=\): delete it"),
        ("\ufeffSEP=;\na;b;c\n1;2;3\n", r"the first line of .*t\.csv states a separator"),
        ("a;b\n1;2\n", "has one column only, 'a;b': is the separator a comma"),
        ("a;b;loss\n1;0,5;0,7\n", "one column in its first line, and more below: .* commas must separate them"),
        ("# mine\na,b,loss\n1,2,3\n", "one column in its first line, and more below"),
        ("0.1,1,0.7\n0.1,2,0.8\n", "the first line of .* holds numbers .0.1, ….: it must name the columns"),
        (",".join(f"c{i}" for i in range(10_001)) + "\n" + "1," * 10_000 + "1\n", "has more than 10,000 columns"),
        ("a,b\nx,y\n", "no column of .* can be the objective.*: a .the same in every row., b .the same in every row."),
        (
            "id,acc\n1,0.5\n2,0.6\n",
            "no column of .* can be a hyper-parameter: id .names a row.*, acc .a measurement: score.",
        ),
        ("a,a\n1,2\n", "two columns called a"),
        (",,a\n1,2,3\n", r"two columns called \(nothing\): rename one"),
        ("", "is not a readable table"),
        ('lr,note,acc\n1,"a,0.5\n' + "2,b,0.4\n" * 400_000, "a quotation mark in line 2 of .* is not closed"),
        ("a,b\n", "has no rows"),
    ],
)
def test_a_file_without_a_table_gets_one_sentence(tmp_path: Path, csv: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(csv)
    with pytest.raises(UsageError, match=sentence) as caught:
        guess(tmp_path / "t.csv")
    assert "\n" not in str(caught.value)


def test_the_numbers_that_pandas_gives_its_rows_are_left_out(guessed: Guessed) -> None:
    text = guessed(",lr,layers,val_err\n0,0.1,1,0.3\n1,0.1,2,0.4\n2,0.2,1,0.5\n3,0.2,2,0.6\n")
    facts = tomllib.loads(text)
    assert [h["name"] for h in facts["hyperparameter"]] == ["lr", "layers"]
    assert "#   the column without a name: names a row" in text


def test_a_measurement_that_is_written_as_text_is_no_hyperparameter(guessed: Guessed) -> None:
    text = guessed('lr,params,val_acc,loss,val_loss\n1,"999",57%,hinge,0.3\n2,"2,000",61%,mse,0.4\n')
    facts = tomllib.loads(text)
    assert [h["name"] for h in facts["hyperparameter"]] == ["lr", "loss"]
    assert list(by_name(facts["metric"])) == ["valid-loss"]
    assert "#   val_acc: a measurement by its name, but its values are text, such as '57%': write plain numbers" in text
    assert "#   params: a measurement by its name, but its values are text, such as '2,000'" in text


def test_a_time_that_is_the_only_measurement_is_doubted_as_the_objective(guessed: Guessed) -> None:
    said = "# ? no column looks like a score, so the objective is a time: accuracy (a measurement by its name"
    assert said in guessed('lr,accuracy,train_time\n1,"22,1",10\n2,"23,2",20\n3,"24,3",15\n')
    assert said not in guessed("lr,accuracy,train_time\n1,22.1,10\n2,23.2,20\n3,24.3,15\n")


def test_a_text_of_its_own_in_every_row_is_doubted(guessed: Guessed) -> None:
    said = "a text of its own in every row: does it name the rows?"
    assert said in guessed("Name,lr,val_loss\nsunny-0,1,0.1\nsunny-1,1,0.2\nrainy-2,2,0.3\n")
    assert said not in guessed("kind,lr,val_loss\nsunny,1,0.1\nsunny,2,0.2\nrainy,2,0.3\n")


def test_a_number_of_its_own_in_most_rows_is_doubted(guessed: Guessed) -> None:
    said = "or is it a measurement?"
    assert said in guessed("tid,lr,val_loss\n0,1,0.1\n1,1,0.2\n2,2,0.3\n3,2,0.4\n")
    assert said not in guessed("size_of_grid,lr,val_loss\n0,1,0.1\n1,1,0.2\n0,2,0.3\n1,2,0.4\n")


def test_a_text_of_several_lines_is_read_wherever_it_stands(tmp_path: Path) -> None:
    rows = [f'{i % 4},"note {i}\n1,0.{"5" * 60},a",0.{i % 9}1\n' for i in range(20_000)]
    (tmp_path / "t.csv").write_text("lr,note,val_loss\n" + "".join(rows))
    text = guess(tmp_path / "t.csv").text
    assert [h["name"] for h in tomllib.loads(text)["hyperparameter"]] == ["lr"]


def test_a_file_in_utf_16_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("lr,val_loss\n1,0.1\n2,0.2\n", encoding="utf-16")
    (tmp_path / "study.db").write_bytes(b"SQLite format 3\0" + bytes(80))
    with pytest.raises(UsageError, match="is an SQLite database, and no table: of Optuna, `nasbench import runs`"):
        guess(tmp_path / "study.db")
    with pytest.raises(UsageError, match="is UTF-16, and not UTF-8 text: convert it"):
        guess(tmp_path / "t.csv")


def test_a_word_among_numbers_is_named(guessed: Guessed) -> None:
    doubt = "? numbers, but for oops: an empty field says that a measurement is missing"
    assert doubt in guessed("lr,alpha,val_loss\n1,0.5,1\n2,oops,2\n3,0.7,3\n")
    assert doubt not in guessed("lr,alpha,val_loss\n1,0.5,1\n2,,2\n3,0.7,3\n")


@pytest.mark.parametrize("marks", [["diverged", "0.2"], ["-", ""], ["-", "n/a"]])
def test_a_score_with_a_mark_where_it_failed_is_no_hyperparameter(guessed: Guessed, marks: list[str]) -> None:
    rows = [f"{lr},{score},{60 + lr}" for lr, score in enumerate([*marks, "0.3", "0.4", "0.5"])]
    text = guessed("\n".join(["lr,val_loss,seconds", *rows]) + "\n")
    assert [h["name"] for h in tomllib.loads(text)["hyperparameter"]] == ["lr"]
    assert (
        f"#   val_loss: a measurement by its name, but some of its values are text, such as '{marks[0]}': leave the "
        "field empty where there is no value"
    ) in text
    assert "# ? no column looks like a score, so the objective is a time: val_loss (a measurement by its name" in text


@pytest.mark.parametrize("name", ["State", "status"])
def test_how_a_training_ended_is_no_hyperparameter(guessed: Guessed, name: str) -> None:
    text = guessed(f"lr,{name},val_loss\n1,COMPLETE,0.1\n2,FAIL,\n3,COMPLETE,0.3\n")
    assert [h["name"] for h in tomllib.loads(text)["hyperparameter"]] == ["lr"]
    assert f"#   {name}: says how a training ended, which nobody chooses" in text
    assert "? numbers" not in guessed("lr,kind,val_loss\n1,1,1\n2,wide,2\n3,deep,3\n")


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_thousand_columns_of_choices_make_no_overflow(guessed: Guessed) -> None:
    names = [f"c{i}" for i in range(1100)]
    rows = "".join(",".join("ab"[(row >> i % 2) & 1] for i in range(1100)) + f",{row / 7}\n" for row in range(4))
    facts = tomllib.loads(guessed(",".join(names) + ",val_loss\n" + rows))
    assert facts["space"] == "listed"
    assert len(facts["hyperparameter"]) == 1100


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder: give a file"):
        guess(tmp_path)


def test_columns_without_a_finite_value_are_no_obstacle(guessed: Guessed) -> None:
    rows = "".join(
        f"{i},{e},{'' if e == 1 else i * e},{'inf' if i > 2 else ''},-1\n" for i in range(1, 5) for e in (1, 2)
    )
    facts = tomllib.loads(guessed("lr,epoch,val_loss,latency,energy\n" + rows))
    assert list(by_name(facts["metric"])) == ["valid-loss@2", "latency"]


def test_names_and_values_of_any_letters_give_toml(tmp_path: Path) -> None:
    names = ['quo"te', "back\\slash", "ünïcode", "num # tag", "new\nline", "b]racket = 1", "e\x7fsc\x1b[31m"]
    frame = pd.DataFrame({name: [f"{name}-{i}" for i in range(3)] for name in names} | {"acc": [0.1, 0.2, 0.3]})
    frame.to_parquet(tmp_path / "odd #1.parquet")
    text = guess(tmp_path / "odd #1.parquet").text
    facts = tomllib.loads(text)
    assert [h["name"] for h in facts["hyperparameter"]] == names
    assert facts["name"] == "odd-1"
    assert "\x1b" not in text


def test_tables_of_other_people_are_guessed(tmp_path: Path) -> None:
    """Real files: an image table of 28 choices, reinforcement learning over steps, cells written as texts."""
    if not DATA.exists():
        pytest.skip("needs shared/data, which is never committed")
    accel = guess(DATA / "families" / "accel-nasbench" / "accel_nasbench.parquet")
    facts = tomllib.loads(accel.text)
    assert (len(facts["hyperparameter"]), accel.roles["objective"], facts["cost"], facts["space"]) == (
        28,
        "val_top1, more is better: 67.05 is the best value, 42.85 the worst",
        "train_time",
        "listed",
    )
    assert by_name(facts["metric"])["throughput_a100"]["direction"] == "maximise"
    data = DATA / "families" / "arlbench" / "cc_cartpole_ppo.parquet"
    (tmp_path / "ppo.toml").write_text(guess(data).text)
    table = read_table(data, tmp_path / "ppo.toml")
    assert (table.space.size, table.values.shape[1], len(table.levels)) == (256, 10, 10)
    frame = pd.read_parquet(data)
    assert np.nanmin(table.values[:, :, 0]) == -frame["return_100000"].max()
    data = DATA / "nasbench201" / "extras.csv.gz"
    (tmp_path / "cells.toml").write_text(guess(data).text)
    with pytest.raises(UsageError, match=r"^unknown direction of valid-cifar10-genius@200 in .*allowed: maximise"):
        read_table(data, tmp_path / "cells.toml")
    assert '"?"' in guess(data).text


GRID = [f"{lr},{bs}" for lr in (0.1, 0.01, 0.001, 0.2) for bs in (8, 16, 32)]


def test_what_may_number_repetitions_is_doubted_as_a_hyperparameter(guessed: Guessed) -> None:
    rows = [f"{row},{n},{0.5 + 0.01 * i + n / 100}" for i, row in enumerate(GRID) for n in (1, 2, 3)]
    for name in ("split", "variant", "x"):
        text = guessed("\n".join([f"lr,bs,{name},val_acc", *rows]))
        assert "? 3 values: 1, 2, 3; or does it number repetitions?" in text
    assert 'repetition = "run"' in guessed("\n".join(["lr,bs,run,val_acc", *rows]))
    text = guessed("\n".join(["lr,bs,layers,val_acc", *rows]))
    assert "3 values: 1, 2, 3" in text
    assert "or does it number" not in text


def test_another_score_that_could_be_the_objective_is_named(guessed: Guessed) -> None:
    rows = [f"{row},{0.5 + 0.01 * i},{0.4 - 0.01 * i},{0.3 + 0.01 * i}" for i, row in enumerate(GRID)]
    text = guessed("\n".join(["lr,bs,val_acc,val_loss,train_loss", *rows]))
    assert "# ? the first metric is the objective: or should val_loss be it?" in text
    assert "or should" not in guessed("\n".join(["lr,bs,val_acc,test_loss,train_loss", *rows]))


def test_an_unknown_word_in_the_name_of_a_measurement_is_a_doubt(guessed: Guessed) -> None:
    rows = [f"{row},{0.5 + 0.01 * i},{10 + i * i}" for i, row in enumerate(GRID)]
    text = guessed("\n".join(["lr,bs,auc_se,survival_time", *rows]))
    assert "? more is better, by its name: 1 - value is minimised; or does se change that?" in text
    assert "? the seconds that an evaluation takes; or something else (survival)?" in text
    assert "? less is better, by its name; or does survival change that?" in text
    plain = guessed("\n".join(["lr,bs,val_auc,train_time_s", *rows]))
    assert not [line for line in plain.splitlines() if "# ?" in line]


def test_a_time_that_may_be_better_if_longer_is_doubted(guessed: Guessed) -> None:
    rows = [f"{row},{0.5 + 0.01 * i},{10 + i * i}" for i, row in enumerate(GRID)]
    for name in ("time_saved", "runtime_speedup", "time/fps"):
        assert "? if more is better, which its name does not say" in guessed("\n".join([f"lr,bs,acc,{name}", *rows]))


def test_a_file_with_a_row_per_metric_is_refused(guessed: Guessed) -> None:
    rows = [f"{row},{metric},{0.5 + 0.01 * i}" for i, row in enumerate(GRID) for metric in ("rmse", "rsq")]
    with pytest.raises(UsageError, match=r"has a row for each metric, named in column \.metric \(rmse, …\)"):
        guessed("\n".join(["lr,bs,.metric,mean", *rows]))
    neighbours = [row.replace("rmse", "euclidean").replace("rsq", "cosine") for row in rows]
    assert 'name = "metric"' in guessed("\n".join(["lr,bs,metric,val_acc", *neighbours]))


def test_a_number_at_which_lists_are_cut_is_no_epoch(guessed: Guessed) -> None:
    rows = [f"{row},{0.5 + 0.01 * i},{0.4 + 0.01 * i},{10 + i * i}" for i, row in enumerate(GRID)]
    text = guessed("\n".join(["lr,bs,ndcg@10,recall@20,train_time", *rows]))
    assert "epoch" not in text
    assert "# ? the first metric is the objective: or should recall@20 be it?" in text
    for name in (
        "mAP_0.5:0.95",
        "BLEU-4",
        "val_acc_top-1",
        "pinball_loss_0.9",
        "acc_cifar-10",
        "val_hits_at_10",
        "recall_20",
        "val_GAP@20",
    ):
        assert numbered(name) is None
    assert numbered("val_acc_12") == ("val_acc_{epoch}", 12)


@pytest.mark.parametrize("name", ["lora_rank", "rank", "drop_path", "noise_std", "code_length"])
def test_what_a_name_leaves_out_is_doubted_where_it_may_be_chosen(name: str, guessed: Guessed) -> None:
    rows = [f"{row.replace(',', f',{4 << i % 3},')},{0.5 + 0.01 * i}" for i, row in enumerate(GRID)]
    text = guessed("\n".join([f"lr,{name},bs,val_acc", *rows]))
    assert re.search(rf"^# \? {name}: .*; or is it a hyper-parameter\?$", text, re.MULTILINE)
    behind = [f"{row},{0.5 + 0.01 * i},{i % 3}" for i, row in enumerate(GRID)]
    assert "or is it a hyper-parameter?" not in guessed("\n".join([f"lr,bs,val_acc,{name}", *behind]))
    numbers = [f"{i},{row},{0.5 + 0.01 * i}" for i, row in enumerate(GRID)]
    assert "or is it a hyper-parameter?" not in guessed("\n".join(["run_id,lr,bs,val_acc", *numbers]))


@pytest.mark.parametrize("name", ["dataset", "best_iteration", "oom", "gpu", "epochs_trained"])
def test_a_hyperparameter_of_an_unknown_name_is_said(name: str, guessed: Guessed) -> None:
    rows = [f"{row},{7 * (i % 2)},{0.5 + 0.01 * i}" for i, row in enumerate(GRID)]
    said = f"# ? taken for a hyper-parameter, though no known word says so: {name}"
    assert said in guessed("\n".join([f"lr,bs,{name},val_acc", *rows]))
    assert "no known word" not in guessed("\n".join(["lr,bs,max_depth,val_acc", *rows]))


@pytest.mark.parametrize(("name", "values"), [("time_step", (1, 2, 3)), ("cost", range(12)), ("max_time", (60, 90))])
def test_a_time_that_may_be_chosen_is_a_doubtful_cost(name: str, values: Sequence[int], guessed: Guessed) -> None:
    rows = [f"{row},{values[i % len(values)]},{0.5 + 0.01 * i}" for i, row in enumerate(GRID)]
    assert "? the seconds that an evaluation takes; or something else" in guessed(
        "\n".join([f"lr,bs,{name},err", *rows])
    )


@pytest.mark.parametrize("value", ["{} million", "{}.1 GFLOPs", "1h {}m"])
def test_a_measurement_written_with_its_unit_is_no_category(value: str, guessed: Guessed) -> None:
    rows = [f"{row},{value.format(i % 4)},{0.5 + 0.01 * i}" for i, row in enumerate(GRID)]
    text = guessed("\n".join(["lr,bs,flops,val_acc", *rows]))
    assert "a measurement by its name, but its values are text" in text


@pytest.mark.parametrize(("name", "mark"), [("val_acc", -1), ("val_loss", -999), ("train_time", -1)])
def test_one_negative_number_may_stand_for_none(name: str, mark: int, guessed: Guessed) -> None:
    rows = [f"{row},{mark if i == 3 else 0.5 + 0.01 * i},{0.1 + 0.01 * i}" for i, row in enumerate(GRID)]
    assert f"? {mark} stands for none" in guessed("\n".join([f"lr,bs,{name},err", *rows]))
    assert "stands for none" not in guessed("\n".join([f"lr,bs,neg_{name},err", *rows]))
    assert f"missing_value = {mark}  " in guessed("\n".join([f"lr,bs,{name},err", *rows]))
    two = [row.replace(f",{mark},", ",-0.25,") for row in rows]
    assert "stands for none" not in guessed("\n".join([f"lr,bs,{name},err", *two]))


def test_an_accuracy_beyond_all_others_may_stand_for_none(guessed: Guessed) -> None:
    rows = [f"{row},{9999 if i == 3 else 80 + i / 3:.2f}" for i, row in enumerate(GRID)]
    text = guessed("\n".join(["lr,bs,val_acc", *rows]))
    assert "missing_value = 9999  " in text
    assert "? 9999 stands for none" in text


def test_a_column_of_lists_is_left_out(tmp_path: Path) -> None:
    rows = 12
    frame = pd.DataFrame({"units": [2**i for i in range(4)] * 3, "val_error": [i / 7 for i in range(rows)]})
    frame["seed"], frame["channels"] = [i // 4 for i in range(rows)], [[i, i] for i in range(rows)]
    frame.to_parquet(tmp_path / "t.parquet")
    guessed = guess(tmp_path / "t.parquet")
    assert any(doubt.startswith("channels: holds lists or structs; are hyper-par") for doubt in guessed.doubts)
    one = r"t.parquet has one column only, 'units': a table has several$"
    few = "numbers or texts, and lists or structs in channels: make columns of their parts"
    for kept, said in (
        (["units"], one),
        (["channels"], f"0 columns of {few}"),
        (["units", "channels"], f"1 column of {few}"),
    ):
        frame[kept].to_parquet(tmp_path / "t.parquet")
        with pytest.raises(UsageError, match=said):
            guess(tmp_path / "t.parquet")


@pytest.mark.parametrize("text", ['{"id": 1, "loss": 2}\n', '[\n {"id": 1}]', ' {\n "id": 1}'])
def test_json_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UsageError, match="is JSON: a table is CSV or Parquet"):
        guess(tmp_path / "t.csv")


CHOSEN = (
    "lr learning_rate svc__C svc__gamma clf__alpha logisticregression__C classifier__learning_rate "
    "ccp_alpha min_samples_leaf min_samples_split colsample_bytree colsample_bylevel colsample_bynode "
    "min_child_weight scale_pos_weight min_split_gain ent_coef clip_range lora_alpha lora_dropout "
    "encoder_lr generator_lr head_lr lr_G conv1_dropout rnn_dropout ema_decay bn_momentum focal_gamma "
    "length_scale attention_probs_dropout_prob cfg.lr args.lr trainer.lr max_depth_ratio lr_min eta_min "
    "momentum_min min_lr feature_fraction bagging_fraction weightDecay dropout_p adam_beta1 "
    "label_smoothing_alpha l2_reg_weight warmup_ratio"
)
MEASURED = (
    "bits_per_dim bitsPerDim weight_kb best_threshold speedup_factor harrell_c success_fraction "
    "model_gflops clip_fraction weight_norm activation_norm embedding_norm hidden_norm max_activation "
    "cell_ms rel_l2 krippendorff_alpha cronbach_alpha"
)


def test_numbers_of_their_own_are_doubted_where_a_word_of_the_name_may_be_measured(guessed: Guessed) -> None:
    said = "most rows have a value of their own: or is it a measurement?"
    rows = "".join(f"{i % 3},{1 + i / 7:.4f},{i * i / 9:.3f}\n" for i in range(40))
    assert {name for name in MEASURED.split() if said not in guessed(f"layers,{name},val_nll\n{rows}")} == set()
    assert {name for name in CHOSEN.split() if said in guessed(f"layers,{name},val_nll\n{rows}")} == set()
    few = "".join(f"{i % 3},{1 + i % 4 / 4:.4f},{i * i / 9:.3f}\n" for i in range(40))
    whole = "".join(f"{i % 3},{i},{i * i / 9:.3f}\n" for i in range(40))
    assert said not in guessed(f"layers,bits_per_dim,val_nll\n{few}")
    assert said in guessed(f"layers,bits_per_dim,val_nll\n{whole}")
    assert '[[hyperparameter]]\nname = "bits_per_dim"' in guessed(f"layers,bits_per_dim,val_nll\n{rows}")


def test_rounded_scores_with_a_word_of_a_choice_are_doubted(guessed: Guessed) -> None:
    said = "a word of its name is that of a score: is it one?"
    rows = "".join(f"{i % 3},{0.5 + i % 7 / 50:.2f},{i * i / 9:.3f}\n" for i in range(40))
    assert said in guessed(f"layers,acc_norm,val_nll\n{rows}")
    assert said not in guessed(f"layers,loss_weight,val_nll\n{rows}")


def test_many_columns_are_not_asked_whether_they_follow(guessed: Guessed, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{i % 2},{i // 2},{i % 2 + i // 2},{i / 9:.3f}\n" for i in range(4))
    said = "it follows from the others, which are a whole grid: or is it a measurement?"
    assert said in guessed(f"width,depth,units,val_nll\n{rows}")
    monkeypatch.setattr("nasbench.benchmarks.tabular._trainings._MOST_COLUMNS", 2)
    assert said not in guessed(f"width,depth,units,val_nll\n{rows}")


def test_what_numbers_every_row_is_no_repetition_where_a_seed_is(guessed: Guessed) -> None:
    rows = "".join(f"run-{i},{i % 2},{i // 2 % 2},{13 * (1 + i // 4)},{i / 99:.3f}\n" for i in range(12))
    text = guessed(f"run,width,depth,seed,val_nll\n{rows}")
    assert tomllib.loads(text)["repetition"] == "seed"
    assert "#   run: names a row: each has its own" in text
    turned = guessed(
        "seed,width,depth,run,val_nll\n" + "".join(f"{i},{i % 2},{i % 3},{i % 4},{i}\n" for i in range(12))
    )
    assert tomllib.loads(turned)["repetition"] == "run"


def test_texts_that_differ_in_case_or_spaces_alone_are_asked_about(guessed: Guessed) -> None:
    rows = "".join(f"{('Adam', 'SGD', 'adam ')[i % 3]},{i % 4},{i / 9:.3f}\n" for i in range(12))
    assert "are 'Adam' and 'adam ' one?" in guessed(f"opt,layers,val_nll\n{rows}")
    assert "one?" not in guessed(f"opt,layers,val_nll\n{rows.replace('adam ', 'Lion')}")


def test_numbers_with_a_mark_of_failure_are_no_hyperparameter(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{i * i / 9:.3f},{'F_Error' if i == 4 else -i / 7}\n" for i in range(40))
    text = guessed(f"layers,val_nll,outcome\n{rows}")
    assert "# ? outcome: numbers, but for 'F_Error': leave that field empty; is it the score?" in text


def test_a_spread_by_lightgbms_name_is_no_metric(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{i * i / 9:.3f},{i / 900:.4f}\n" for i in range(12))
    assert "logloss-stdv: a spread" in guessed(f"layers,valid logloss-mean,valid logloss-stdv\n{rows}")


def test_an_empty_part_of_a_text_is_a_missing_value(tmp_path: Path) -> None:
    frame = pd.DataFrame({"score": ["0.5", "", None]})
    assert np.isnan(numbers_of(frame, {"column": "score"}, tmp_path)).tolist() == [False, True, True]


def test_camel_case_and_an_objective_by_name_are_read(guessed: Guessed) -> None:
    """As Amazon's tuner writes them; the training time is no score of a split."""
    rows = "".join(f"{i % 3},{i * i / 9:.3f},{30 + i}\n" for i in range(12))
    text = guessed(f"layers,FinalObjectiveValue,TrainingElapsedTimeSeconds\n{rows}")
    assert 'column = "FinalObjectiveValue"' in text
    assert tomllib.loads(text)["cost"] == "TrainingElapsedTimeSeconds"


def test_xgboosts_rounds_are_epochs(guessed: Guessed) -> None:
    rows = "".join(f"{i // 5},{i % 5},{0.5 + i / 99}\n" for i in range(20))
    assert tomllib.loads(guessed(f"max_depth,boosting_round,test-auc-mean\n{rows}"))["epoch"] == "boosting_round"


def test_several_numbers_in_one_text_are_no_category(guessed: Guessed) -> None:
    """As SMAC writes two objectives."""
    rows = "".join(f'{i % 3},"[{-i}.5, {i * i}]",{i * i / 9:.3f}\n' for i in range(12))
    assert "#   both: several numbers in one text, such as '[0.5, 0]'" in guessed(
        f"layers,both,val_nll\n{rows.replace('[-0.5', '[0.5')}"
    )


def test_a_number_in_a_name_that_may_be_a_cutoff_is_asked_about(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{i * i / 9:.3f}\n" for i in range(12))
    said = "is 10 a cutoff or a horizon, and no epoch?"
    assert said in guessed(f"layers,val_entropy@10\n{rows}")
    assert said not in guessed(f"layers,val_entropy_ep10\n{rows}")
    assert "epoch =" not in guessed(f"layers,ndcg@10\n{rows}")


def test_a_prefix_that_stands_once_marks_no_hyperparameter_beside_another(guessed: Guessed) -> None:
    rows = "".join(f"r{i % 5},{i % 3},{i % 2},{i * i / 9:.3f}\n" for i in range(12))
    both = tomllib.loads(guessed(f"hparam_source,param__depth,param__width,val_nll\n{rows}"))
    assert [h["name"] for h in both["hyperparameter"]] == ["param__depth", "param__width"]
    alone = tomllib.loads(guessed(f"hparam_source,param__depth,width,val_nll\n{rows}"))
    assert [h["name"] for h in alone["hyperparameter"]] == ["hparam_source", "param__depth"]


@pytest.mark.parametrize("name", ["Model size (M)", "model_size_mb", "network size", "file-size [MiB]"])
def test_a_size_of_a_network_with_its_unit_is_measured(guessed: Guessed, name: str) -> None:
    rows = "".join(f"{i % 3},{1 + i / 7:.2f},{i * i / 9:.3f}\n" for i in range(12))
    facts = tomllib.loads(guessed(f"layers,{name},val_nll\n{rows}"))
    assert [h["name"] for h in facts["hyperparameter"]] == ["layers"]


def test_a_cost_of_unknown_kind_is_no_time_without_a_doubt(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{1 + i / 7:.2f},{30 + i},{i * i / 9:.3f}\n" for i in range(12))
    text = guessed(f"layers,EpCost,wall_time,reward\n{rows}")
    assert "or is it wall_time?" in text
    assert text.count('unit = "s"') == 1


def test_a_long_list_with_a_strange_end_is_read_in_no_time(guessed: Guessed) -> None:
    """A pattern in which each comma may belong to two parts took years for these."""
    lists = ["[" + "1, " * 1000 + f"{end}]" for end in ("None", "2", "x")]
    rows = "".join(f'{i % 3},"{lists[i % 3]}",{i * i / 9:.3f}\n' for i in range(12))
    assert "several numbers" not in guessed(f"layers,encoding,val_nll\n{rows}")


def test_numbers_written_as_text_are_no_defect(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"layers": [i % 3 for i in range(40)], "foo": [str(i % 25) for i in range(40)], "val_nll": range(40)}
    )
    frame.assign(val_acc=frame["foo"]).to_parquet(tmp_path / "t.parquet")
    text = guess(tmp_path / "t.parquet").text
    assert "val_acc: a measurement by its name, but its values are text, such as '0': write plain numbers" in text
    assert '[[hyperparameter]]\nname = "foo"' in text


def test_a_word_among_numbers_is_a_choice_where_it_says_no_failure(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{'auto' if i == 4 else i % 25},{i * i / 9:.3f}\n" for i in range(40))
    assert '[[hyperparameter]]\nname = "max_samples"' in guessed(f"depth,max_samples,val_nll\n{rows}")


def test_a_score_with_the_word_ranking_in_camel_case_is_no_rank(guessed: Guessed) -> None:
    rows = "".join(f"{i % 3},{i * i / 9:.3f},{30 + i}\n" for i in range(12))
    assert 'column = "rankingLoss"' in guessed(f"layers,rankingLoss,seconds\n{rows}")


def test_doubts_of_the_whole_file_stay_beside_a_column_without_a_name(tmp_path: Path) -> None:
    rows = "".join(f"{i % 3}.5,{i % 2},{i / 9:.3f}\n" for i in range(12))
    (tmp_path / "t.csv").write_text(f",depth,val_auc\n{rows}")
    found = guess(tmp_path / "t.csv")
    assert found.roles["hyper-parameters"] == "the column without a name and depth"
    assert any(doubt.startswith("cost: ") for doubt in found.doubts)
    assert not any(doubt.startswith("kind: ") for doubt in found.doubts)


def test_a_metric_without_a_known_name_may_be_the_objective_where_no_split_says_which_is(tmp_path: Path) -> None:
    """A word of `loss_gap` is a score's, and the result, in the last column, has no known name."""
    rng = np.random.default_rng(0)
    for name, is_asked in (("loss_gap", True), ("val_loss", False)):
        frame = pd.DataFrame({"depth": rng.integers(1, 5, 30), name: rng.random(30), "mean": rng.random(30)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        assert ("or should mean be it?" in guess(tmp_path / f"{name}.csv").text) == is_asked


def test_an_epoch_that_differs_in_every_row_may_number_the_trainings(tmp_path: Path) -> None:
    """As in freqtrade's table of a search."""
    frame = pd.DataFrame(
        {"Epoch": range(30), "buy_rsi": [i * 7 % 30 for i in range(30)], "val_loss": np.linspace(1, 2, 30)}
    )
    frame.to_csv(tmp_path / "searched.csv", index=False)
    assert "or does it number the trainings, or count the epochs of one?" in guess(tmp_path / "searched.csv").text


@pytest.mark.parametrize(
    ("name", "values", "is_asked"),
    [
        ("rep", ["ecfp4", "maccs", "physchem"], True),
        ("seed", ["random", "kmeans++", "pca"], True),
        ("fold", ["fold1", "fold2", "fold3"], False),
        ("seed", ["1", "2", "3"], False),
    ],
)
def test_words_that_number_repetitions_may_be_chosen(
    name: str, values: list[str], is_asked: bool, tmp_path: Path
) -> None:
    rows = [(value, depth, 0.1 * depth) for value in values for depth in (1, 2, 3)]
    pd.DataFrame(rows, columns=[name, "max_depth", "val_rmse"]).to_csv(tmp_path / "table.csv", index=False)
    asked = [doubt for doubt in guess(tmp_path / "table.csv").doubts if "or is it a hyper-parameter?" in doubt]
    assert any(values[-1] in doubt for doubt in asked) == is_asked, asked

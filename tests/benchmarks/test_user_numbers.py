"""Numbers of a user's table: those along the epochs, and their ranges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import UsageError, abilities
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.user_table import read_table
from tests.benchmarks.small_table import SPEC, files


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


FOLLOWED = """
name = "followed"
cost = "seconds"
epoch = "epoch"
repetition = "seed"
space = "listed"
[[hyperparameter]]
name = "lr"
kind = "ordinal"
[[metric]]
name = "valid-error@3"
column = "error"
direction = "minimise"
split = "valid"
epoch = 3
curve = true
[[metric]]
name = "seconds"
unit = "s"
curve = true
"""


def followed(errors: str, seconds: str = "1 2 3") -> str:
    """A training of two configurations with two repetitions, by epochs; both of one have these errors and seconds."""
    header, rows = "lr,seed,epoch,error,seconds", []
    for lr, seed in ((1, 0), (1, 1), (2, 0), (2, 1)):
        told = errors.split("|")[seed].split() if lr == 1 else ["9", "8", "7"]
        spent = seconds.split() if lr == 1 else ["1", "2", "3"]
        rows += [f"{lr},{seed},{e},{told[e - 1].strip('-')},{spent[e - 1].strip('-')}" for e in (1, 2, 3)]
    return "\n".join([header, *rows]) + "\n"


def test_below_the_last_epoch_a_repetition_is_drawn_among_those_that_have_a_value(tmp_path: Path) -> None:
    """As a table may be that an earlier version has imported; now such an epoch is no level."""
    assert read_table(*files(tmp_path, followed("3.3 - 1.1|3.2 2.2 1.2"), FOLLOWED)).levels_left_out == (2,)
    whole = read_table(*files(tmp_path, followed("3.3 2.3 1.1|3.2 2.2 1.2"), FOLLOWED))
    assert whole.curves is not None
    whole.curves[0, 0, 1, 0] = np.nan
    save(whole)
    lower = abilities.at(open_table("followed"), 2)
    assert {lower.evaluate(0, seed).metrics["valid-error@2"] for seed in range(4)} == {2.2}
    assert {lower.evaluate(1, seed).metrics["valid-error@2"] for seed in range(4)} == {8.0}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ("1 - 3", "must be a number of seconds from 0 at every epoch of a training"),
        ("1 2 3", ""),
        ("0 0 3", ""),
        ("1 3 2", "must count the seconds since the beginning of a training, and it does not rise with the epochs"),
    ],
)
def test_a_cost_along_the_epochs_counts_from_the_beginning_of_a_training(
    seconds: str, said: str, tmp_path: Path
) -> None:
    table = files(tmp_path, followed("3.3 2.3 1.1|3.2 2.2 1.2", seconds), FOLLOWED)
    if not said:
        read_table(*table)
        return
    with pytest.raises(UsageError, match=said):
        read_table(*table)


def test_seconds_of_single_epochs_are_no_cost_of_a_training(tmp_path: Path) -> None:
    flat = "lr,seed,epoch,error,seconds\n" + "".join(
        f"{lr},0,{e},{9 - e + lr},16\n" for lr in (1, 2) for e in (1, 2, 3)
    )
    with pytest.raises(UsageError, match="it does not rise with the epochs: add the epochs up"):
        read_table(*files(tmp_path, flat, FOLLOWED))


@pytest.mark.parametrize(
    ("kind", "values", "rows", "said"),
    [
        ("integer", "[1, 9]", "1 3 20", "lr is 20 in row 3"),
        ("integer", "[1, 9]", "1 1.5 3", "lr is 1.5 in row 2"),
        ("float", "[0.001, 0.1]", "0.01 0 0.1", "lr is 0 in row 2"),
        ("float", "[1e-9, 1.0]", "0.01 0 1.0", "lr is 0 in row 2"),
        ("float", "[0.001, 0.1]", "0.01 0.02 0.1", ""),
    ],
)
def test_rows_lie_in_the_range_that_a_specification_states(
    kind: str, values: str, rows: str, said: str, tmp_path: Path
) -> None:
    spec = f"""
name = "ranged"
cost = 1.0
space = "listed"
[[hyperparameter]]
name = "lr"
kind = "{kind}"
values = {values}
[[metric]]
name = "valid-error"
direction = "minimise"
split = "valid"
"""
    csv = "lr,valid-error\n" + "".join(f"{value},{10 - i}\n" for i, value in enumerate(rows.split()))
    if not said:
        read_table(*files(tmp_path, csv, spec))
        return
    with pytest.raises(UsageError, match=said + ".* not among its values"):
        read_table(*files(tmp_path, csv, spec))


def test_columns_of_epochs_may_be_written_with_zeros_in_front(tmp_path: Path) -> None:
    spec = """
name = "padded"
cost = 1.0
[[hyperparameter]]
name = "lr"
kind = "ordinal"
[[metric]]
name = "valid-error@12"
column = "e_{epoch}"
direction = "minimise"
split = "valid"
epoch = 12
"""
    names = [f"e_{epoch:02}" for epoch in range(1, 13)]
    errors = ",".join(str(20 - epoch) for epoch in range(12))
    csv = ",".join(["lr", *names]) + f"\n1,{errors}\n2,{errors}\n"
    save(read_table(*files(tmp_path, csv, spec)))
    table = open_table("padded")
    assert table.fidelities == tuple(range(1, 13))
    assert abilities.at(table, 3).evaluate((0,), 0).metrics["valid-error@3"] == 18.0
    with pytest.raises(UsageError, match=r"two columns are called e_\{epoch\} with the same number there"):
        read_table(*files(tmp_path, csv.replace("e_02", "e_1"), spec))


def test_a_number_in_single_precision_may_be_the_end_of_its_range(tmp_path: Path) -> None:
    spec = (
        SPEC.split("[[hyper")[0].replace('repetition = "seed"\n', "")
        + """space = "listed"
[[hyperparameter]]
name = "lr"
kind = "float"
values = [0.001, 0.1]
[[metric]]
name = "valid-error"
direction = "minimise"
split = "valid"
[[metric]]
name = "time"
unit = "s"
"""
    )
    frame = pd.DataFrame({"lr": np.float32([0.001, 0.01, 0.1]), "valid-error": [3.0, 2.0, 1.0], "time": 1.0})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", files(tmp_path, "", spec)[1])
    assert table.space.points.max() == 0.1

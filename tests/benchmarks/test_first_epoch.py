"""Tables whose epochs are counted from 0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.guess import guess
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.table import TabularBenchmark
from nasbench.benchmarks.tabular.user_table import read_table


def long_form(first: int) -> pd.DataFrame:
    """Two hyper-parameters, and a loss at three epochs."""
    rows = [
        (lr, units, first + epoch, lr + units - epoch / 4) for lr in (1, 2) for units in (8, 16) for epoch in range(3)
    ]
    return pd.DataFrame(rows, columns=["lr", "units", "epoch", "val_loss"])


def wide_form(first: int) -> pd.DataFrame:
    wide = long_form(first).pivot(index=["lr", "units"], columns="epoch", values="val_loss")
    return wide.rename(columns=lambda epoch: f"val_loss_{epoch}").reset_index()


@pytest.fixture
def guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[pd.DataFrame], TabularBenchmark]:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))

    def table(frame: pd.DataFrame) -> TabularBenchmark:
        frame.to_csv(tmp_path / "t.csv", index=False)
        (tmp_path / "t.toml").write_text(guess(tmp_path / "t.csv").text)
        save(read_table(tmp_path / "t.csv", tmp_path / "t.toml"))
        return open_table("t")

    return table


@pytest.mark.parametrize("form", [long_form, wide_form])
def test_epochs_from_0_give_the_levels_and_curves_of_epochs_from_1(
    form: Callable[[int], pd.DataFrame], guessed: Callable[[pd.DataFrame], TabularBenchmark], tmp_path: Path
) -> None:
    from_one = guessed(form(1))
    assert "first_epoch" not in (tmp_path / "t.toml").read_text()
    from_zero = guessed(form(0))
    assert "first_epoch = 0" in (tmp_path / "t.toml").read_text()
    for table in (from_one, from_zero):
        assert table.fidelity is not None
        assert table.fidelity.levels == (Level(epochs=1), Level(epochs=2), Level(epochs=3))
    every = [from_one.space.configuration(row) for row in range(4)]
    assert [from_zero.evaluate(c, 0).curve for c in every] == [from_one.evaluate(c, 0).curve for c in every]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (long_form, r"epoch of .* is not an epoch \(1, 2, …\) in row 1; first_epoch = 0 says that it counts from 0"),
        (
            wide_form,
            r"called val_loss_\{epoch\} with 0 there .*first_epoch = 0 .*, first_epoch = 1 leaves that column out",
        ),
    ],
)
def test_an_epoch_0_that_a_specification_does_not_expect_is_refused(
    form: Callable[[int], pd.DataFrame],
    sentence: str,
    guessed: Callable[[pd.DataFrame], TabularBenchmark],
    tmp_path: Path,
) -> None:
    guessed(form(0))
    spec = tmp_path / "t.toml"
    text = "".join(line for line in spec.read_text().splitlines(True) if not line.startswith("first_epoch"))
    spec.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read_table(tmp_path / "t.csv", spec)
    spec.write_text("first_epoch = 2\n" + text)
    with pytest.raises(UsageError, match=r"first_epoch = 2 in .* is not understood; allowed: 0, 1"):
        read_table(tmp_path / "t.csv", spec)


def test_a_column_of_epoch_0_can_be_left_out(
    guessed: Callable[[pd.DataFrame], TabularBenchmark], tmp_path: Path
) -> None:
    guessed(wide_form(0))
    spec = tmp_path / "t.toml"
    spec.write_text(
        spec.read_text()
        .replace("first_epoch = 0", "first_epoch = 1")
        .replace("@3", "@2")
        .replace("epoch = 3", "epoch = 2")
    )
    save(read_table(tmp_path / "t.csv", spec))
    table = open_table("t")
    assert table.fidelity is not None
    assert table.fidelity.levels == (Level(epochs=1), Level(epochs=2))

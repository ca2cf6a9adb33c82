"""Codes with more digits than numbers keep."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.tabular.digits import codes
from nasbench.benchmarks.tabular.guess import guess
from nasbench.benchmarks.tabular.user_table import read_table


def rows(digits: int) -> pd.DataFrame:
    """Thirty-two masks of zeros and ones, each with two learning rates and a score of its own."""
    masks = ["1" + format(i, f"0{digits - 1}b") for i in range(32)]
    pairs = [(mask, lr) for mask in masks for lr in (0.1, 0.01)]
    frame = pd.DataFrame(pairs, columns=["arch", "lr"])
    return frame.assign(val_error=[0.1 + i / 1000 for i in range(64)], seconds=[60.0 + i for i in range(64)])


@pytest.fixture(params=["18 digits.csv", "24 digits.csv", "18 digits.parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    frame, path = rows(int(request.param.split()[0])), tmp_path / request.param.replace(" ", "-")
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.astype({"arch": int}).to_parquet(path)
    return path


def test_masks_stay_as_many_as_they_are(file: Path) -> None:
    guessed = guess(file)
    assert guessed.roles["hyper-parameters"] == "arch and lr"
    (spec := file.with_suffix(".toml")).write_text(guessed.text, encoding="utf-8")
    table = read_table(file, spec)
    assert (table.space.size, table.values.shape[1]) == (64, 1)
    first = table.space.index(table.space.from_values({"arch": table.space.hyperparameters[0].values[0], "lr": 0.01}))
    assert table.values[first, 0, 0] == 0.101


@pytest.mark.parametrize("kind", ["ordinal", "integer", "float"])
def test_as_numbers_they_are_refused(file: Path, kind: str) -> None:
    text = guess(file).text
    assert text.count('kind = "categorical"') == 1
    (spec := file.with_suffix(".toml")).write_text(text.replace('kind = "categorical"', f'kind = "{kind}"'), "utf-8")
    with pytest.raises(UsageError, match=f"the 32 values of arch in .*{file.name} have more digits than numbers keep"):
        read_table(file, spec)


@pytest.mark.parametrize("written", ["1e17", "90071992547409921.5", "100000000000000000", ""])
def test_numbers_that_are_only_large_are_numbers(tmp_path: Path, written: str) -> None:
    (path := tmp_path / "t.csv").write_text(f"flops,x\n{written},1\n300000000000000000,2\n", encoding="utf-8")
    assert codes(pd.read_csv(path), path, ["flops", "x"]).empty

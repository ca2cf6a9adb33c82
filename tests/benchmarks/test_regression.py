"""Perceptrons of any shape on a CSV file: what is read, what is refused, what is trained."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import BenchmarkSpec, abilities
from nasbench.benchmarks.regression import benchmark as regression
from nasbench.benchmarks.regression.data import read
from tests.conftest import Printed


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, size=(300, 4))
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(price=5 * x[:, 0] - x[:, 1] + rng.normal(size=300))
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return tmp_path / "houses.csv"


def test_columns_are_standardised_by_the_training_split(houses: Path) -> None:
    table = read(houses, "price")
    assert {name: len(split.target) for name, split in table.splits.items()} == {"train": 180, "val": 60, "test": 60}
    train = table.splits["train"]
    assert train.features.mean(0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert train.features.std(0) == pytest.approx(np.ones(4))
    assert (train.target.mean(), train.target.std()) == pytest.approx((0, 1), abs=1e-12)
    rows = np.concatenate([split.features for split in table.splits.values()])
    assert len({tuple(row) for row in rows.round(9)}) == 300  # every row is in one split
    assert read(houses, "price").checksum == table.checksum
    assert read(houses, "a").checksum != table.checksum


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        (lambda f: f.assign(town="x"), "price", "has text in column town"),
        (
            lambda f: f.assign(b=f["b"].where(f.index > 3)),
            "price",
            "has missing values, 4 of them, the first in column b",
        ),
        (lambda f: f, "prize", "unknown column of .*'prize'.*did you mean price"),
        (lambda f: f.head(20), "price", "too few rows or columns, 20 and 5: it needs 50 rows and 2 columns or more"),
        (lambda f: f[["price"]], "price", "has too few rows or columns, 300 and 1"),
        (lambda f: f.assign(price=1.0), "price", "has one value only"),
        (lambda f: f.assign(price=0.1), "price", "has one value only"),  # whose mean is not 0.1
    ],
)
def test_what_cannot_be_learnt_from_is_one_sentence(
    change: object, target: str, message: str, houses: Path, tmp_path: Path
) -> None:
    change(pd.read_csv(houses)).to_csv(tmp_path / "other.csv", index=False)  # type: ignore[operator]
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "other.csv", target)


def test_a_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^cannot read [^ ]*nowhere\.csv: No such file or directory$"):
        BenchmarkSpec.parse(f"mlp:{tmp_path}/nowhere.csv:y").open()
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:-9])
    (tmp_path / "no.csv.gz").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "no.csv.zip").write_bytes(b"a,b\n1,2\n")
    for name, why in {"torn.csv.gz": "ended before", "no.csv.gz": "Not a gzip", "no.csv.zip": "not a zip"}.items():
        with pytest.raises(UsageError, match=rf"^cannot read [^ ]*{name}: .*{why}"):
            BenchmarkSpec.parse(f"mlp:{tmp_path}/{name}:y").open()
    with pytest.raises(UsageError, match="unknown kind of benchmark before a colon 'svm'"):
        BenchmarkSpec.parse("svm:file.csv:y")
    with pytest.raises(UsageError, match="name the file and the column to predict"):
        BenchmarkSpec.parse("mlp:file.csv")


@pytest.mark.parametrize("text", [",a,b\n" + "0,1,2\n" * 60, "a,b,\n" + "1,2,\n" * 60])
def test_a_column_without_a_name_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UsageError, match="has a column without a name"):
        read(tmp_path / "t.csv", "b")


def test_a_repeated_name_is_refused(tmp_path: Path) -> None:
    """pandas would rename the second, and the target would be a feature, too."""
    (tmp_path / "t.csv").write_text("price,x,price\n" + "".join(f"{i},{i % 7},{i}\n" for i in range(60)))
    with pytest.raises(UsageError, match="has two columns called price: rename one of them"):
        read(tmp_path / "t.csv", "price")


def test_rows_longer_than_the_first_line_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{i},5\n" for i in range(60)))
    with pytest.raises(UsageError, match="has more columns than names in its first line"):
        read(tmp_path / "t.csv", "b")


def test_a_path_may_have_an_at_sign_and_a_colon(houses: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a:b@c" / "d@200.csv"
    odd.parent.mkdir()
    odd.write_bytes(houses.read_bytes())
    assert BenchmarkSpec.parse(f"mlp:{odd}:price").open().name == f"mlp:{odd}:price"
    assert BenchmarkSpec.parse(f"mlp:{odd}:price@400").open().name == f"mlp:{odd}:price@400"


def test_a_benchmark_on_a_file_is_shown(houses: Path, nasbench: Callable[..., Printed]) -> None:
    shown = nasbench("show", f"mlp:{houses}:price")
    assert (shown.code, shown.err) == (0, "")
    assert "objective" in shown.out
    assert "name the file and the column to predict" in nasbench("show", f"mlp:{houses}").err


def test_a_network_learns_and_same_seeds_give_same_bits(houses: Path) -> None:
    pytest.importorskip("torch")
    benchmark = BenchmarkSpec.parse(f"mlp:{houses}:price@400").open()
    assert benchmark.name == f"mlp:{houses}:price@400"
    configuration = benchmark.space.pool[0]  # type: ignore[attr-defined]
    one, other = benchmark.evaluate(configuration, 3), benchmark.evaluate(configuration, 3)
    assert one.status == "ok"
    assert list(one.metrics.values())[:3] == list(other.metrics.values())[:3]
    assert one.metrics["val-mse"] < 0.9  # a constant has 1
    assert one.metrics["parameters"] == abilities.known(benchmark, "parameters", configuration)
    assert benchmark.evaluate(configuration, 4).metrics["val-mse"] != one.metrics["val-mse"]
    with pytest.raises(UsageError, match="price@300; allowed: 200 to 1000000 in steps of 200"):
        BenchmarkSpec.parse(f"mlp:{houses}:price@300").open()
    with pytest.raises(UsageError, match="price@20000 already: write it without"):
        BenchmarkSpec.parse(f"mlp:{houses}:price@20000").open()


def test_a_feature_that_is_constant_in_training_is_not_blown_up(houses: Path) -> None:
    frame = pd.read_csv(houses).assign(a=0.1)
    test_metrics = int(np.random.default_rng(0).permutation(300)[200])  # of the validation split
    frame.loc[test_metrics, "a"] = 0.2
    frame.to_csv(houses, index=False)
    splits = read(houses, "price").splits
    assert np.abs(splits["train"].features[:, 0]).max() < 1e-12
    assert np.abs(splits["val"].features[:, 0]).max() == pytest.approx(0.1)


def test_a_path_stays_as_it_was_written(houses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(houses.parent)
    name = "mlp:./houses.csv:price@400"
    assert BenchmarkSpec.parse(name).open().name == name


def test_without_pytorch_sizes_are_refused_in_one_sentence(
    houses: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    regression._parameters.cache_clear()
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "torch" else found(name, *more)
    )
    for options in (("digits/vit",), (f"mlp:{houses}:price", "--constrain", "parameters@0.5")):
        refused = nasbench("plan", "--method", "random", "--bench", *options, "--evals", 3)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
        assert "are measured with PyTorch: `make setup EXTRAS=live`" in refused.err


def test_the_test_error_is_that_of_the_best_validation(houses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    benchmark = BenchmarkSpec.parse(f"mlp:{houses}:price@200").open()
    whole, scripted = torch.nn.functional.mse_loss, iter([3.0, 30.0, 2.0, 20.0, 5.0])  # val, test, val, test, val, …

    def scripts(*tensors: Any, reduction: str = "mean") -> Any:
        return whole(*tensors, reduction=reduction) if reduction == "sum" else torch.tensor(next(scripted, 5.0))

    monkeypatch.setattr(torch.nn.functional, "mse_loss", scripts)
    found = benchmark.evaluate(benchmark.space.pool[0], 0).metrics  # type: ignore[attr-defined]
    assert (found["val-mse"], found["test-mse"]) == (2.0, 20.0)


def test_two_names_of_what_is_installed_open_no_file() -> None:
    opens = {
        text: BenchmarkSpec.parse(text).opens_a_file
        for text in ("nb201-cifar10", "mlp:a.csv:y", "supernet:digits:cells-organa", "supernet:../digits:cells-organa")
    }
    assert list(opens.values()) == [False, True, False, True]
    assert not BenchmarkSpec.parse("learner:svm:digits").opens_a_file

"""One-shot methods from the command line: searched, killed, resumed, reported, refused."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.methods import MethodSpec
from tests.conftest import Printed

pytest.importorskip("torch")
pytest.importorskip("sklearn")

FLEXIBLE = "zo-darts++:epochs=2,stop=2,every=1,theta=1,alpha_lr=0.1"


def rows(store: Path) -> pd.DataFrame:
    return pd.read_parquet(store).sort_values(["run", "evaluation"])


@pytest.mark.slow
def test_a_search_its_networks_its_log_and_its_report(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "report"
    asked = ["run", "--bench", "digits@1", "--method", FLEXIBLE, "--method", "milenas:epochs=1", "--store", store]
    done = nasbench(*asked, "--seeds", 1, "--evals", 3, "--constrain", "parameters@M")
    assert done.code == 0, done.err
    assert "seed 0: epoch 2 of 2" in done.err
    found = rows(store)
    assert (found["started"] > 1).all()  # the search is on the clock
    assert found["feasible"].all()
    log = pd.read_parquet(store / "_searches")
    assert set(log["method"]) == set(found["method"])
    shares = log[(log["quantity"] == "operation") & (log["epoch"] == 2)]
    sums = shares.groupby(["stage", "edge"])["value"].sum()
    assert len(sums) == 18
    assert sums.to_numpy() == pytest.approx(1, abs=1e-4)
    assert found.groupby("method")["thinking"].first().to_dict() == pytest.approx(
        log[log["quantity"] == "seconds"].groupby("method")["value"].sum().to_dict(), abs=2
    )
    reported = nasbench("report", store, "--out", out, "--format", "html,csv,svg", "--full")
    assert reported.code == 0, reported.err
    assert "Searches of one-shot methods" in reported.out
    table = pd.read_csv(out / "searches.csv").set_index("method")
    assert table["epochs"].to_dict() == {MethodSpec.parse(FLEXIBLE).label: 2, "milenas:epochs=1": 1}
    assert 0 < table.loc["milenas:epochs=1", "entropy"] <= 1
    names = {path.name.partition("-zo-darts++")[0] for path in out.glob("search-*.svg")}
    assert names >= {"search-entropy.svg", "search-operations", "search-kernels", "search-depths"}
    assert names >= {"search-sizes-digits_1.svg", "search-accuracies-digits_1.parameters_M.svg"}
    assert (out / "index.html").read_text().count("<svg") > 6


@pytest.mark.slow
def test_a_killed_search_goes_on_and_its_time_is_paid(tmp_path: Path) -> None:
    def command(store: str) -> list[str]:
        run = ["run", "--bench", "digits@1", "--method", "zo-darts:epochs=2", "--seeds", "1", "--evals", "1"]
        return [sys.executable, "-m", "nasbench", *run, "--store", str(tmp_path / store)]

    assert subprocess.run(command("whole"), capture_output=True, check=False).returncode == 0
    process = subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "killed").glob("_journals/*.method.state")):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    resumed = subprocess.run(command("killed"), capture_output=True, text=True, check=False)
    assert resumed.returncode == 0
    (one,), (other,) = (rows(tmp_path / store).to_dict("records") for store in ("whole", "killed"))
    for name in ("configuration", "objective", "metric.test-error@1"):
        assert one[name] == other[name]
    logs = [pd.read_parquet(tmp_path / store / "_searches") for store in ("whole", "killed")]
    measured = [log[log["quantity"] != "seconds"].reset_index(drop=True) for log in logs]
    pd.testing.assert_frame_equal(*measured)
    paid = logs[1][logs[1]["quantity"] == "seconds"]["value"].sum()
    assert other["started"] >= paid  # the first attempt's epochs included
    assert list((tmp_path / "killed" / "_journals").iterdir()) == []


@pytest.mark.parametrize(
    ("method", "bench", "sentence"),
    [
        ("darts", "nb201-cifar10", "it trains a supernet on images: choose digits or medmnist-…, without a space"),
        (
            "zo-darts++",
            "digits/genetic",
            "it trains a supernet on images: choose digits or medmnist-…, without a space",
        ),
        ("zo-darts++:size=S", "digits", "size=S is not known on digits"),
        ("zo-darts:T=18", "digits", "choose T of at most 17"),
        ("zo-darts++:theta=50", "digits", "theta must lie in [0, stop), not 50 with stop=40"),
        ("zo-darts+:stop=60", "digits", "stop must lie in [1, epochs], not 60 with epochs=50"),
        ("zo-darts+:tau=0", "digits", "tau must be positive, not 0"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(
    method: str, bench: str, sentence: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    done = nasbench("run", "--method", method, "--bench", bench, "--store", tmp_path / "store")
    assert done.code == 2
    assert sentence in done.err
    assert not (tmp_path / "store").exists()


def test_constraints_below_the_smallest_network_are_named(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["run", "--method", "zo-darts++", "--bench", "digits", "--store", tmp_path / "store"]
    done = nasbench(*asked, "--constrain", "parameters<=100")
    assert done.code == 2
    assert "at most 100 parameters is below the smallest network that this method draws on digits: 1" in done.err


def test_the_published_sizes_are_those_of_the_data_set(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    """They are about 16 channels: with the recipe smoke there are none."""
    asked = ["run", "--method", "zo-darts++:size=L", "--store", tmp_path / "store"]
    done = nasbench(*asked, "--bench", "medmnist-breast/smoke")
    assert done.code == 2
    assert "size=L is not known on medmnist-breast/smoke" in done.err


def test_missing_images_of_a_look_up_are_refused_before_anything_is_stored(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    store, data = tmp_path / "store", tmp_path / "data"
    data.mkdir()
    asked = ["run", "--bench", "supernet:medmnist-organa:nb201-cifar10", "--evals", 2, "--store", store]
    refused = nasbench(*asked, "--method", "spos:epochs=1", "--data-dir", data)
    assert refused.code == 2
    assert "organamnist.npz is not in" in refused.err
    assert not store.exists()

"""Graphs of layers from the command line: compared, searched, drawn, reported, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Printed
from tests.methods.fixtures import FIXTURES


def written(folder: Path, name: str, **changes: Any) -> Path:
    """A network of the paper's figure 1 in a file."""
    facts = next(n for n in FIXTURES["fig1"]["code_default"]["networks"] if n["name"] == name)
    known = {key: facts[key] for key in ("nn_class", "labels", "units", "edges", "strides")}
    (folder / f"{name}.json").write_text(json.dumps(known | changes))
    return folder / f"{name}.json"


def test_two_networks_are_compared(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    a, c = written(tmp_path, "a"), written(tmp_path, "c")
    expected = FIXTURES["fig1"]["code_default"]["distances"]["0.5"]
    found = json.loads(nasbench("distance", a, c, "--nu", 0.5, "--json").out)
    assert found["distance"] == pytest.approx(expected["unnormalised"][0][2], rel=1e-8)
    assert found["normalised"] == pytest.approx(expected["normalised"][0][2], rel=1e-8)
    assert sum(found["penalties"].values()) == pytest.approx(found["distance"], rel=1e-9)
    text = nasbench("distance", a, c).out
    assert text.startswith("distance ")
    assert "4 conv5 32  2 conv5 32" in text


def test_with_the_weights_of_the_paper_its_figure_comes_out(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    """Figure 1 of NASBOT: a unit of a dense layer counts whole, and mismatches are half of the code's."""
    a, b = written(tmp_path, "a"), written(tmp_path, "b")
    found = json.loads(nasbench("distance", a, b, "--fc", 1, "--mismatch", 0.5, "--json").out)
    assert (round(found["distance"], 1), round(found["normalised"], 4)) == (175.1, 0.0286)
    shares = [json.loads(nasbench("distance", a, b, "--share", s, "--json").out)["masses"][0] for s in (0.1, 0.4)]
    # of a mass of 1 + 3 shares: the first, the last and the decision layer
    assert shares[0] / 1.3 == pytest.approx(shares[1] / 2.2)
    done = nasbench("distance", a, b, "--share", 0)
    assert (done.code, "--share must be positive and finite, not 0" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"labels": 5}, "is not a network in JSON with nn_class, labels"),
        ({"edges": None}, "and perhaps strides ('NoneType'"),
        ({"nn_class": "rnn"}, "unknown nn_class 'rnn'"),
        ({"edges": [[0, 1]]}, "every layer"),
    ],
)
def test_what_is_no_network_is_one_sentence(
    changes: dict[str, Any], sentence: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    good = written(tmp_path, "b")
    done = nasbench("distance", written(tmp_path, "a", **changes), good)
    assert done.code == 2
    assert sentence in done.err
    assert nasbench("distance", tmp_path / "none.json", good).code == 2
    assert nasbench("distance", good, good, "--nu", 0).code == 2


@pytest.mark.slow
def test_free_networks_are_searched_drawn_and_reported(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    store = tmp_path / "store"
    asked = ["run", "--bench", "digits/cnn@1", "--store", store, "--seeds", 1, "--evals", 5]
    for method in ("nasbot:initial=3,draws=20", "nasbot-ea:initial=2,brood=2", "nasbot-rand:initial=2"):
        asked += ["--method", method]
    done = nasbench(*asked)
    assert done.code == 0, done.err
    log = pd.read_parquet(store / "_searches")
    made = log[log["quantity"] == "modifications"].groupby("method")["value"].sum()
    assert set(made.index) == {"nasbot:draws=20,initial=3", "nasbot-ea:brood=2,initial=2", "nasbot-rand:initial=2"}
    page = nasbench(
        "show-run", store, "nasbot:draws=20,initial=3", "digits/cnn@1", 0, "--svg", tmp_path / "net.svg"
    ).out
    assert "The network\n   0 ip → 1" in page
    assert "<!-- ip -->" in (tmp_path / "net.svg").read_text()  # letters are outlines, named in comments
    assert nasbench("report", store, "--out", tmp_path / "report", "--format", "svg,html").code == 0
    names = {path.name for path in (tmp_path / "report").glob("*.svg")}
    assert names >= {"network.digits_cnn_1.none.svg", "plane.nasbot_draws_20_initial_3.digits_cnn_1.none.svg"}
    assert "Networks found" in (tmp_path / "report" / "index.html").read_text()


def test_perceptrons_are_searched_on_a_file(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    frame = pd.DataFrame({"a": range(100), "b": [i % 7 for i in range(100)]})
    frame.assign(price=frame["a"] - frame["b"]).to_csv(tmp_path / "houses.csv", index=False)
    asked = ["run", "--method", "nasbot-ea:initial=2", "--bench", f"mlp:{tmp_path}/houses.csv@200", "--seeds", 1]
    done = nasbench(
        *asked, "--target", "price", "--evals", 1, "--store", tmp_path / "store", "--constrain", "parameters<=2"
    )
    assert (done.code, "proposals were all refused" in done.err) == (1, True), done.err  # nothing is so small
    wrong = nasbench(*asked, "--target", "prize", "--evals", 1, "--store", tmp_path / "other")
    assert wrong.code == 2
    assert "did you mean price" in wrong.err
    shown = nasbench("show", f"mlp:{tmp_path}/houses.csv", "--target", "price")
    assert shown.code == 0, shown.err
    assert shown.out == nasbench("show", f"mlp:{tmp_path}/houses.csv:price").out
    lost = nasbench("show", "digits", "--target", "price")
    assert (lost.code, "--target is for benchmarks on a file" in lost.err) == (2, True)
    lost = nasbench("run", "--method", "random", "--bench", "digits", "--target", "x", "--store", tmp_path / "other")
    assert lost.code == 2
    assert "--target is for benchmarks on a file" in lost.err

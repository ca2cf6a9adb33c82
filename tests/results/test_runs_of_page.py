"""The runs that a page holds: all evaluations up to a size, and the page of a single run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from nasbench.cli.main import cli
from nasbench.results import Store
from nasbench.results.reading import select
from nasbench.results.report.page import runs, single
from nasbench.results.report.single_run import find_runs
from tests.results.conftest import Fill, make_run, make_setup


def stored(filled: Fill) -> Store:
    return filled(
        {
            make_setup("a"): [
                make_run(0, [3.0, math.nan, 1 / 3]),
                make_run(4, [1 / 3, 4.0, 0.25], [True, False, True]),
            ],
            make_setup("b<"): [make_run(0, [3.0, 2.5, 2.0])],
        }
    )


def test_every_evaluation_of_every_run_is_there_with_its_configuration(filled: Fill) -> None:
    text = runs.as_json(select([stored(filled)]), {"a": 0, "b<": 1}, ["A", "b<"])
    assert "<" not in text
    data = json.loads(text)
    first, second = data["setups"]
    assert (data["methods"], first["method"], second["spec"]) == (["A", "b<"], 0, "b<")
    assert first["seeds"] == [0, 4]
    assert first["rows"] == [3, 3]
    assert first["y"] == [3.0, None, 0.333333, 0.333333, 4.0, 0.25]
    assert first["ok"] == "101101"
    assert first["steps"] == [0, 2, 3, 5]
    space = data["spaces"]["toy"]
    read = [[json.loads(space["items"][item]) for item in space["configurations"][c]] for c in first["c"]]
    assert read == [[["x", i % 3]] for i in range(6)]


def test_a_value_that_json_lacks_is_its_text(filled: Fill) -> None:
    run = make_run(0, [3.0, 2.0])
    run.columns["configuration"] = np.array(['{"C": Infinity}', '{"C": 1.5}'])
    data = json.loads(runs.as_json(select([filled({make_setup("a"): [run]})]), {"a": 0}, ["a"]))
    assert [json.loads(item) for item in data["spaces"]["toy"]["items"]] == [["C", "inf"], ["C", 1.5]]


def test_of_larger_stores_the_page_holds_names_only(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments = select([stored(filled)])
    whole = runs.as_json(fragments, {"a": 0, "b<": 1}, ["a", "b<"])
    monkeypatch.setattr(runs, "LIMIT", len(whole))
    assert runs.as_json(fragments, {"a": 0, "b<": 1}, ["a", "b<"]) == whole
    monkeypatch.setattr(runs, "LIMIT", len(whole) - 1)
    data = json.loads(runs.as_json(fragments, {"a": 0, "b<": 1}, ["a", "b<"]))
    assert [setup["seeds"] for setup in data["setups"]] == [[0, 4], [0]]
    assert not any("y" in setup for setup in data["setups"])
    assert data["spaces"] == {}


def test_a_single_run_is_written_as_a_page_whatever_its_size(filled: Fill, tmp_path: Path) -> None:
    store, page = stored(filled), tmp_path / "run.html"
    words = [str(store.folder), "a", "toy", "4", "--page", str(page)]
    shown = CliRunner().invoke(cli, ["show-run", *words])
    assert shown.exit_code == 0
    assert shown.output.endswith(f"written: {page}\n")
    text = page.read_text()
    assert 'data-seed="4"' in text
    (embedded,) = re.findall(r'<script type="application/json" id="runs-data">(.*?)</script>', text)
    assert json.loads(embedded)["setups"][0]["y"][-1] == 0.25
    table = text[text.index("<noscript>") : text.index("</noscript>")]
    assert table.count("<tr>") == 1 + 3


@pytest.mark.parametrize(
    ("share", "seeds", "rows"), [(1.0, [4, 7], [4000, 3]), (0.9999, [4], [4000]), (0.7, [4], [2000])]
)
def test_the_page_of_a_run_holds_what_fits_and_says_what_it_leaves_out(
    filled: Fill, monkeypatch: pytest.MonkeyPatch, share: float, seeds: list[int], rows: list[int]
) -> None:
    long, short = make_run(4, list(np.linspace(9, 1, 4000))), make_run(7, [3.0, 2.0, 1.0])
    store = filled({make_setup("a"): [long, short]})
    whole = runs.as_json(select([store]), {"a": 0}, ["a"])
    monkeypatch.setattr(runs, "LIMIT", int(share * len(whole)))
    shown = single.write(store, find_runs(store, "a", "toy", None, 4))
    (setup,) = json.loads(shown.partition('id="runs-data">')[2].partition("</script>")[0])["setups"]
    assert (setup["seeds"], setup["rows"]) == (seeds, rows)
    assert ("The other seeds of its setup are left out here" in shown) == (rows == [4000])
    assert ("The chart holds the first 2,000 evaluations of 4,000, which are" in shown) == (rows == [2000])
    assert "The first 1,000 of 4,000 evaluations." in shown
    assert shown.count("<tr>") == 1001

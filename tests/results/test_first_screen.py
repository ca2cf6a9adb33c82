"""The first screen of the page: the verdict, expected ranks with both intervals, and a reader's four questions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.base.numbers import interval, intervals
from nasbench.results import Store
from nasbench.results.display import plots
from nasbench.results.display.look import COLOURS, look
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.verdict.leading import leaders
from tests.results.conftest import Fill, load_all, make_run, make_setup

METHODS = {"random": 4.0, "evolution": 0.0, "c-tpe": 0.5, "local": 2.0, "tpe": 3.0}


@pytest.fixture
def compared(filled: Fill) -> Store:
    """Five methods in three spaces under two constraints; evolution leads, but c-tpe does in space h."""
    noise = np.random.default_rng(0).normal(0, 0.4, (5, 3, 2, 10))
    setups = {}
    for m, (method, shift) in enumerate(METHODS.items()):
        for b, (bench, space) in enumerate((("b1", "f"), ("b2", "g"), ("b3", "h"))):
            for c, constraint in enumerate(("none", "size@0.1")):
                setup = make_setup(method, bench=bench, constraint=constraint)
                own = -1.0 if (method, space) == ("c-tpe", "h") else shift
                runs = [make_run(s, [9.0, 5.0 + own, 2.0 + own + noise[m, b, c, s]]) for s in range(10)]
                setups[replace(setup, setting=replace(setup.setting, family=space, space=space))] = runs
    return filled(setups)


@pytest.fixture
def page(compared: Store, tmp_path: Path) -> str:
    report.write([compared], Request(tmp_path / "out", formats=("html",), command="nasbench report store"))
    return (tmp_path / "out" / "index.html").read_text()


def screen(page: str) -> str:
    return page[page.index("<header>") : page.index('<section id="pairs">')]


def test_the_verdict_is_followed_by_three_questions_each_with_a_table(page: str) -> None:
    first = screen(page)
    order = [
        '<p class="verdict">On these 3 benchmarks',
        "<p>Compared: ",
        '<p class="limit">Either half of the seeds',
        '<section id="first">',
        '<figure class="strip">',
        '<table aria-label="Which method is first?',
        '<section id="differ">',
        '<table aria-label="Which pairs differ?',
        '<section id="where">',
        '<table aria-label="Where does that hold?',
    ]
    places = [first.index(text) for text in order]
    assert places == sorted(places)
    wide, narrow, *_ = re.findall(r'<svg class="scene".*?</svg>', first)
    assert 'width="640"' in wide
    assert 'width="340"' in narrow
    for scene in (wide, narrow):
        widths = re.findall(r'<line [^>]*stroke="#[^"]*" stroke-width="([^"]+)"', scene)
        assert (widths.count("4"), widths.count("1.2")) == (4, 4)  # both intervals of each method that is not black


def test_where_another_method_leads_is_said(page: str) -> None:
    table = page[page.index('<table aria-label="Where does that hold?') :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[: table.index("</table>")])
    (row,) = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows if ">h</td>" in row]
    assert row[1:3] == ["c-tpe", "c-tpe"]
    assert float(row[3]) < 0.5


def test_the_citation_names_protocol_version_and_command(page: str) -> None:
    cited = page[page.index('<section id="cite">') :]
    assert "10 seeds (0 to 9)" in cited
    assert "@software{nasbench," in cited
    assert "year = {2026}" in cited
    assert "note = {commit c0ffee}" in cited
    assert "<code>nasbench report store</code>" in cited


def test_methods_that_are_one_where_there_is_no_constraint_are_said_to_be(filled: Fill, tmp_path: Path) -> None:
    for method, shift in (("a", 0.0), ("b", 0.5)):
        filled({make_setup(method): [make_run(s, [3.0, 2.0 + s]) for s in range(6)]})
        filled({make_setup(method, constraint="c"): [make_run(s, [3.0, 2.0 + s + shift]) for s in range(6)]})
    report.write([filled({})], Request(tmp_path / "out", formats=("html",)))
    first = screen((tmp_path / "out" / "index.html").read_text())
    assert "a and b are identical where there is no constraint: they differ only under constraints." in first


def test_the_methods_that_share_first_place_have_bands_and_others_show_theirs_on_request(
    compared: Store, page: str
) -> None:
    comparison = Comparison(load_all(compared), 0, (3.0,))
    names = {comparison.methods[m] for m in leaders(comparison)}
    assert "evolution" in names
    assert "random" not in names
    assert ".many .band { opacity: 0; }" in page
    (chart,) = re.findall(r'<figure id="at-b1-none".*?</figure>', page, flags=re.DOTALL)
    assert chart.count('class="band"') == 5
    assert {comparison.methods[int(m)] for m in re.findall(r'class="m(\d) leading"', chart)} == names


def test_small_charts_are_folded_by_family(page: str) -> None:
    settings = page[page.index('<section id="convergence">') :]
    assert re.findall(r'<details class="family"><summary>(\w): (\d+) charts', settings) == [
        ("f", "2"),
        ("g", "2"),
        ("h", "2"),
    ]


def test_frequent_leaders_have_colours_of_different_hues() -> None:
    blues = {COLOURS[0], COLOURS[4]}
    assert [look(name).colour in blues for name in ("c-tpe", "local", "evolution", "c-tpe-naive", "tpe")].count(
        True
    ) == 1


def test_an_interval_with_a_negative_end_is_written_with_to() -> None:
    assert interval((-0.09, 0.07)) == "−0.09 to 0.07"
    assert interval((-0.09, -0.07)) == "−0.09 to −0.07"
    assert interval((0.09, 0.17)) == "0.09-0.17"
    assert interval((np.nan, np.nan)) == "-"
    assert intervals([0.1, -0.2, np.nan], [0.2, 0.1, np.nan]) == ["0.10 to 0.20", "−0.20 to 0.10", "-"]
    assert intervals([0.1, np.nan], [0.2, np.nan]) == ["0.10-0.20", "-"]


def test_names_beside_lines_keep_their_distance_and_stay_on_the_axis() -> None:
    heights = np.array([0.99, 1.02, 0.98, 0.2])
    placed = plots._apart(heights)
    assert placed.max() <= 1
    assert placed.min() >= 0
    assert np.diff(np.sort(placed)).min() > 0.069
    assert placed[3] == pytest.approx(0.2)
    assert np.argsort(placed).tolist() == np.argsort(heights).tolist()

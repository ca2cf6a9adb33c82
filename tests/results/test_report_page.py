"""The page of a report: what its first screen shows, what it says without a script, and what it allows."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from nasbench.results import Store, StoreError
from nasbench.results.display import svg
from nasbench.results.display.look import COLOURS, look, looks
from nasbench.results.display.panels import Panel, Series
from nasbench.results.display.plots import render, styled
from nasbench.results.display.ticks import ticks
from nasbench.results.report import report
from nasbench.results.report.page.diagram import inline
from nasbench.results.report.request import Request
from nasbench.results.selection import Selection
from tests.results.conftest import Fill, make_run, make_setup

METHODS = ("random", "evolution:population=10", "c-tpe")


@pytest.fixture
def compared(filled: Fill) -> Store:
    """Three methods on two families under two constraints, with ten seeds; random is a copy of c-tpe in one place."""
    setups = {}
    for method, shift in zip(METHODS, (4.0, 2.0, 0.0), strict=True):
        for bench, family in (("b1", "f"), ("b2", "g")):
            for constraint in ("none", "size@0.1"):
                setup = make_setup(method, bench=bench, constraint=constraint)
                own = 0.0 if (method, bench, constraint) == ("random", "b2", "none") else shift
                runs = [make_run(s, [9.0 + s / 10, 5.0 + own, 2.0 + own + s / 10]) for s in range(10)]
                setups[replace(setup, setting=replace(setup.setting, family=family, space=family))] = runs
    return filled(setups)


def written(store: Store, tmp_path: Path, **options: object) -> str:
    report.write([store], Request(tmp_path / "out", formats=("html",), **options))  # type: ignore[arg-type]
    return (tmp_path / "out" / "index.html").read_text()


class Outline(HTMLParser):
    """Elements in the order of the page, each with its attributes and the ids of what it lies in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def first(self, tag: str, **facts: str) -> int:
        return next(i for i, (t, own) in enumerate(self.found) if t == tag and facts.items() <= own.items())


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else(compared: Store, tmp_path: Path) -> None:
    text = written(compared, tmp_path)
    policy = str(Outline(text).found[Outline(text).first("meta", **{"http-equiv": "Content-Security-Policy"})][1])
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    attributes = [name for _, facts in Outline(text).found for name in facts]
    assert not [name for name in attributes if name == "style" or name.startswith("on")]
    assert text.count("<style") == 1


def test_charts_are_there_without_a_script(compared: Store, tmp_path: Path) -> None:
    text = written(compared, tmp_path)
    body = text[: text.index('<script type="application/json"')]
    settings = re.findall(
        r'<figure id="at-[^"]+" data-family="(\w)" data-bench="(\w+)" data-constraint="([^"]+)"', body
    )
    assert sorted(settings) == [
        (family, bench, constraint)
        for family, bench in (("f", "b1"), ("g", "b2"))
        for constraint in ("none", "size@0.1")
    ]
    (chart,) = re.findall(r'<figure id="at-b1-none".*?</figure>', body, flags=re.DOTALL)
    assert sorted(re.findall(r'<g class="(m\d)"><path class="line"', chart)) == ["m0", "m1", "m2"]
    assert chart.count('class="band"') == 3
    assert 'class="reference"' in chart
    assert "NaN" not in body
    assert " nan" not in body


def test_everything_drawn_has_a_name_for_screen_readers_and_ids_are_unique(compared: Store, tmp_path: Path) -> None:
    found = Outline(written(compared, tmp_path)).found
    ids = Counter(facts["id"] for _, facts in found if facts.get("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    drawn = [facts for tag, facts in found if tag == "svg"]
    for facts in drawn:
        assert facts.get("aria-hidden") == "true" or facts["role"] == "img"
        assert facts.get("aria-hidden") or facts.get("aria-label") or facts["aria-labelledby"] in ids
    assert all(facts.get("aria-label") for tag, facts in found if tag == "table")
    assert all(facts.get("scope") == "col" for tag, facts in found if tag == "th")


def test_what_matplotlib_drew_has_no_style_and_loses_nothing_that_is_referred_to() -> None:
    """A scatter plot with a colour bar, an image among them, in a clip, with letters: twice on one page."""
    with styled():
        figure = Figure(figsize=(3, 2))
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], marker="o")
        figure.colorbar(axes.scatter([0, 1, 2], [0, 1, 1], c=[0.0, 0.5, 1.0]), label="error & <more>")
    texts = [inline(render(figure, "svg"), "a & b", prefix) for prefix in ("one-", "two-")]
    ids = [name for text in texts for name in re.findall(r' id="([^"]+)"', text)]
    assert len(set(ids)) == len(ids) > 10
    for text in texts:
        referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
        assert referred <= set(ids)
        assert len(re.findall("<use ", text)) > 5
        assert "style=" not in text
        assert "<style" not in text
        assert text.startswith('<svg role="img" aria-label="a &amp; b"')


def test_lines_that_cover_each_other_are_said_and_drawn_in_turns(compared: Store, tmp_path: Path) -> None:
    text = written(compared, tmp_path)
    (chart,) = re.findall(r'<figure id="at-b2-none".*?</figure>', text, flags=re.DOTALL)
    assert "c-tpe and random have the same line." in chart
    turns = re.findall(r'stroke-dasharray="(\d+) (\d+)" stroke-dashoffset="-(\d+)"', chart)
    assert turns == [("70", "70", "0"), ("70", "70", "70")]
    (other,) = re.findall(r'<figure id="at-b1-none".*?</figure>', text, flags=re.DOTALL)
    assert "have the same line." not in other


def test_a_drawn_line_is_the_numbers(compared: Store) -> None:
    """Read back from the path, as the script does, to a two-thousandth of the axis."""
    x = np.linspace(1, 41, 41)
    rng = np.random.default_rng(0)
    for log in (False, True):
        y = np.exp(rng.normal(size=41)) + 0.1
        y[:5] = np.nan
        limits = (float(np.nanmin(y)), float(np.nanmax(y)))
        panel = Panel("t", "evaluations", "y", x, (Series(0, y),), limits, log=log)
        drawn = svg.chart(panel, ["a"], looks(("a",)), "id")
        (path,) = re.findall(r'<path class="line"[^>]* d="([^"]+)"', drawn)
        at = np.cumsum([[int(dx), int(dy or 0)] for _, dx, dy in re.findall(r"([Mlh])(-?\d+),?(-?\d+)?", path)], axis=0)
        share = (2300 - at[:, 1]) / 2040
        low, high = limits
        values = low * (high / low) ** share if log else low + share * (high - low)
        ends = np.interp(1 + (at[:, 0] - 560) / 3520 * 40, x[5:], y[5:])
        tolerance = high * np.log(high / low) / 2000 if log else (high - low) / 2000
        assert np.abs(values - ends).max() < tolerance
        assert len(at) == 36


def test_a_level_line_has_all_its_markers_and_an_axis_any_name() -> None:
    series = Series(0, np.ones(41))
    panel = Panel("t", "size < 1 & more", "y", np.arange(41.0), (series,), (0.0, 2.0))
    root = ElementTree.fromstring(svg.document([panel], ["a"], looks(("a",))))
    assert "size < 1 & more" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    (dots,) = (path for path in root.iter("{http://www.w3.org/2000/svg}path") if path.get("class") == "dots")
    assert len(re.findall("[Mhl]", str(dots.get("d")))) == 5


@pytest.mark.parametrize("formats", [("html",), ("html", "csv")])
def test_a_table_that_is_folded_says_in_print_where_its_rows_are(
    formats: tuple[str, ...], filled: Fill, tmp_path: Path
) -> None:
    setups = [make_setup(method, bench=f"b{i}") for i in range(21) for method in ("random", "c-tpe")]
    store = filled({setup: [make_run(s, [9.0, 2.0 + s]) for s in range(2)] for setup in setups})
    report.write([store], Request(tmp_path / "out", formats=formats))  # type: ignore[arg-type]
    text = (tmp_path / "out" / "index.html").read_text()
    folded = re.findall(
        r"<summary>(\d+) rows</summary>\s*<div class=\"scroll\">.*?</table></div></details>\s*"
        r'<p class="note unprinted">(\d+) rows folded and not printed([^<]*)\.</p>',
        text,
        flags=re.DOTALL,
    )
    assert len(folded) == len(re.findall(r'<p class="note unprinted">\d+ rows', text)) >= 1
    assert len(folded) == len(re.findall(r"</table></div></details>", text))
    for said, rows, where in folded:
        assert said == rows
        assert bool(where) == ("csv" in formats)
        assert not where or (tmp_path / "out" / where.removeprefix(": see ")).exists()
    assert ".unprinted { display: none; }" in text
    assert "details:not([open]) + .unprinted { display: block; }" in text


def test_a_page_of_189_settings_and_9_methods_has_room_for_its_charts() -> None:
    """Noisy lines with bands, of which no point can be left out: the rest may have 0.6 MB."""
    rng = np.random.default_rng(0)
    x = np.linspace(1, 200, 41).round()
    names = [f"method-{i}" for i in range(9)]
    y = np.cumsum(-rng.exponential(size=(9, 41)), axis=1) + 100
    series = tuple(Series(i, own, own - rng.exponential(size=41), own + 1) for i, own in enumerate(y))
    panel = Panel("bench: constraint@0.1", "evaluations", "error", x, series, (float(y.min()), 100.0))
    assert 189 * len(svg.chart(panel, names, looks(tuple(names)), "name")) < 2.4e6


# Looks


def test_a_methods_look_does_not_depend_on_its_company() -> None:
    alone = {
        name: looks((name,))[0] for name in ("random", "c-tpe", "evolution", "their-own-method", "c-tpe:gamma=0.2")
    }
    together = dict(zip(alone, looks(tuple(alone)), strict=True))
    assert together == alone
    assert (alone["random"].colour, alone["c-tpe"].colour) == ("#000000", "#0072B2")  # as in every report so far
    assert alone["c-tpe:gamma=0.2"].colour == alone["c-tpe"].colour


def test_our_methods_have_looks_of_their_own() -> None:
    # fmt: off
    ours = [
        "bananas", "ax-nei", "optuna-tpe", "cnsga2", "optuna-gp", "rf-cei", "local", "mcts", "nasbot", "nasbot-rand",
        "nasbot-ea", "darts", "milenas", "zo-darts", "zo-darts+", "zo-darts++", "random", "evolution", "smbo", "tpe",
        "c-tpe-naive", "c-tpe",
    ]
    # fmt: on
    assert len({(look(name).colour, look(name).dash) for name in ours}) == len(ours)


def test_eighty_methods_have_eighty_looks_and_no_colour_has_two_alike_lines_before_all_are_used() -> None:
    found = looks(tuple(f"someone-elses-{i}" for i in range(80)))
    assert len(set(found)) == 80
    few = looks(tuple(f"evolution:population={n}" for n in (10, 20, 40, 80)))
    assert len({own.dash for own in few}) == 4
    assert {own.colour for own in few} == {look("evolution").colour}


def test_colours_are_told_apart_with_any_colour_vision() -> None:
    """Simulated dichromacy (Viénot, Brettel and Mollon, 1999): no two colours come nearer than 20 steps of 255."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    protan = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    deutan = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in COLOURS], float)
    for vision in (np.eye(3), protan, deutan):
        seen = rgb @ (np.linalg.inv(to_lms) @ vision @ to_lms).T
        distance = np.linalg.norm(seen[:, None] - seen[None], axis=2) + 1e9 * np.eye(len(seen))
        assert distance.min() > 20


# Axes


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [
        (1, 200, False),
        (0, 187_432.5, False),
        (0.02, 0.021, False),
        (-3, 0.5, False),
        (26.1, 33.4, False),
        (5.4321, 5.4322, False),
        (0.3, 70, True),
        (2, 3, True),
        (1e-9, 1.0, True),
        (1e-5, 2e-5, True),
    ],
)
def test_an_axis_has_three_to_seven_round_ticks_whose_labels_are_their_values(
    low: float, high: float, log: bool
) -> None:
    found = ticks(low, high, log)
    assert 3 <= len(found) <= 9
    assert len({text for _, text in found}) == len(found)
    for value, text in found:
        plain = re.sub(r"^10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", lambda power: f"e{_digits(power[1])}", text).replace("\u202f", "")
        plain = f"1{plain}" if plain.startswith("e") else plain
        assert float(plain) == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert low - 1e-3 * abs(low) - 1e-9 <= value <= high + 1e-3 * abs(high)


def _digits(text: str) -> str:
    return text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))


# Selections and labels


def test_a_selection_is_compared_alone_and_said_to_be_one(compared: Store, tmp_path: Path) -> None:
    text = written(compared, tmp_path, selection=Selection(methods=("c-tpe", "evolution"), families=("f",)))
    assert "2 of 3 methods, 1 of 2 benchmarks, 1 of 2 families" in text
    assert "a selection made after the runs can decide the verdict" in text
    assert "Holm over 1 pair" in text
    assert 'data-bench="b2"' not in text
    without = written(compared, tmp_path, selection=Selection(without=("random",)))
    assert "2 of 3 methods;" in without
    assert "by hand" not in written(compared, tmp_path)


def test_a_name_without_options_is_the_method_with_its_defaults_or_else_all_of_that_name() -> None:
    known = {"c-tpe", "c-tpe:knowledge=9", "evolution:population=10", "evolution:population=20", "evolution-x"}
    assert Selection._meant(("c-tpe",), "method", known) == {"c-tpe"}
    assert Selection._meant(("evolution",), "method", known) == {"evolution:population=10", "evolution:population=20"}


def test_what_cannot_be_selected_is_refused_with_what_can(compared: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no runs of the benchmark 'b3'; allowed: b1; b2"):
        written(compared, tmp_path, selection=Selection(benches=("b3",)))
    with pytest.raises(StoreError, match="nothing is left"):
        written(compared, tmp_path, selection=Selection(methods=("c-tpe",), without=("c-tpe",)))


def test_labels_are_what_people_read_and_change_nothing_else(compared: Store, tmp_path: Path) -> None:
    plain = written(compared, tmp_path)
    named = written(compared, tmp_path, labels={"evolution:population=10": "evo"})
    before, after = (text.index('<table aria-label="Which method is first?') for text in (plain, named))
    end = '<section id="provenance">'
    assert named[: named.index(end)].count("evolution:population=10") == 0
    assert "<dt>evo: evolution:population=10</dt>" in named
    style = re.findall(r"<style>.*?</style>", plain, flags=re.DOTALL)
    assert style == re.findall(r"<style>.*?</style>", named, flags=re.DOTALL)  # colours are those of the name
    assert plain[before:].replace("evolution:population=10", "evo")[:2000] == named[after:][:2000]


def test_a_suites_labels_are_used_unless_others_are_asked_for(compared: Store, tmp_path: Path) -> None:
    compared.save_plan("c", [], {"title": "t", "labels": {"c-tpe": "ours", "absent": "x"}})
    assert "On these 2 benchmarks ours is first" in written(compared, tmp_path)
    assert "On these 2 benchmarks mine is first" in written(
        compared, tmp_path, labels={"c-tpe": "mine"}, baseline="mine"
    )
    with pytest.raises(StoreError, match="two methods would be called 'random'"):
        written(compared, tmp_path, labels={"c-tpe": "random"})
    with pytest.raises(StoreError, match="no runs of the method 'c-tpa' to label"):
        written(compared, tmp_path, labels={"c-tpa": "x"})


# Warnings


def test_a_method_that_only_drew_its_first_configurations_is_warned_of(filled: Fill, tmp_path: Path) -> None:
    ends = (("a", 1.0), ("b", 1.5))

    def said(initial: int) -> str:
        store = filled(
            {make_setup(m, bench=f"b{initial}", initial=initial): [make_run(0, [3.0, 2.0, x])] for m, x in ends}
        )
        return written(store, tmp_path, selection=Selection(benches=(f"b{initial}",)))

    warning = "a made at most 3 evaluations, and its first 3 are random: what is compared here is its initial phase"
    assert warning in said(3)
    assert "initial phase" not in said(2)

"""The page in a real browser: no error, no request to the outside, charts at any width, a value under the pointer.

The page forbids itself every outside request (its content security policy); the console tells of an attempt.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from nasbench.results import Store
from nasbench.results.report import report
from nasbench.results.report.request import Request
from tests.results.conftest import SETTING, make_run, make_setup

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome on the path")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=3000",
    "--enable-logging=stderr",
]


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """Opens a page; returns what the browser prints, and the lines of its console."""

    def call(page: Path, *flags: str) -> tuple[str, list[str]]:
        command = [str(BROWSER), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, page.as_uri()]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return call


Browse = Callable[..., tuple[str, list[str]]]

OPENED = "for (const fold of document.querySelectorAll('details')) fold.open = true;"
"""A script that opens every fold: what is folded has no place on the screen."""


def run(page: Path, code: str) -> None:
    """Adds a script to a page, and to what its policy allows."""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    text = page.read_text().replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    page.write_text(text.replace("</body>", f"<script>{code}</script></body>"))


@pytest.fixture
def page(store: Store, filled: Callable[..., Store], tmp_path: Path) -> Path:
    for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=<b>&_%", 1.0)):
        for constraint in ("none", "size_x@0.1"):
            runs = [make_run(s, [9.0 + s, 8.0 + s, 2.0 + shift + s / 10], [False, True, True]) for s in range(4)]
            filled({make_setup(method, constraint=constraint): runs})
    report.write([store], Request(tmp_path / "out", formats=("html", "csv")))
    return tmp_path / "out" / "index.html"


def test_the_browser_finds_nothing_to_complain_of(browse: Browse, page: Path) -> None:
    dom, console = browse(page, "--dump-dom")
    assert console == []
    assert dom.count('<svg class="chart') == 4 + 1  # and that of a run
    lines = dom.count('<path class="line" ') - dom.count('class="line" d="M0,6H30"')
    assert lines == 3 * 3 + 2  # one chart lacks the baseline
    assert dom.count('<button type="button">') > 30  # the script has made tables sortable
    drawn = dom[: dom.index('<script type="application/json"')]
    assert "NaN" not in drawn
    assert "undefined" not in drawn


def test_that_test_can_fail(browse: Browse, page: Path) -> None:
    text = page.read_text()
    page.write_text(text.replace("<main>", '<main><img src="https://example.invalid/x.png">'))
    assert "Content Security Policy" in " ".join(browse(page, "--dump-dom")[1])
    page.write_text(text.replace('"use strict";', '"use strict"; nonsense();'))
    assert "Content Security Policy" in " ".join(browse(page, "--dump-dom")[1])  # no script but the page's own
    run(page, "nonsense();")
    assert "ReferenceError" in " ".join(browse(page, "--dump-dom")[1])


def test_odd_ranges_are_drawn_without_complaint(
    browse: Browse, store: Store, filled: Callable[..., Store], tmp_path: Path
) -> None:
    """A logarithmic axis with an oracle of 0, values one ulp apart, and names that look like formulas."""
    zero = dataclasses.replace(SETTING, oracle=0.0)
    for method, first in (("$a$", 0.1 + 0.2), ("b", 0.3)):
        filled({make_setup(method, bench="log", setting=zero): [make_run(s, [9.0, 1e-3, 1e-5]) for s in range(3)]})
        filled({make_setup(method, bench="flat"): [make_run(s, [first] * 3) for s in range(3)]})
    report.write([store], Request(tmp_path / "odd", formats=("html", "svg")))
    dom, console = browse(tmp_path / "odd" / "index.html", "--dump-dom")
    assert console == []
    assert not re.search(r' d="[^"]*(NaN|Infinity)', dom)


@pytest.mark.parametrize("width", [400, 1400])
def test_a_screenshot_shows_the_page_at_any_width(browse: Browse, page: Path, tmp_path: Path, width: int) -> None:
    """In a frame of that width, since no browser window is narrower than some 500 pixels."""
    run(page, OPENED)
    frame = tmp_path / "out" / "frame.html"
    frame.write_text(f'<body style="margin:0"><iframe src="index.html" style="border:0;width:{width}px;height:6000px">')
    shot = tmp_path / "shot.png"
    browse(frame, f"--screenshot={shot}", f"--window-size={max(width, 600)},6000")
    pixels = imread(shot)[:, :width, :3]
    assert pixels.shape[0] == 6000
    rows_with_ink = (pixels != pixels[-1, -1]).any(axis=(1, 2)).mean()
    assert rows_with_ink > 0.3
    for colour in (b"\x00\x72\xb2", b"\xe6\x9f\x00", b"\x00\x00\x00"):  # a line of each method
        near = np.abs(pixels * 255 - np.frombuffer(colour, np.uint8)).max(axis=2) < 3
        assert near.sum() > 50
    right = pixels[:, -10:]
    assert (right == right[0, 0]).all()  # nothing runs over the edge


def test_a_value_stands_under_the_pointer(browse: Browse, page: Path) -> None:
    move = """
      const f = document.querySelector('#at-toy-none svg');
      const b = f.getBoundingClientRect();
      f.dispatchEvent(new PointerEvent('pointermove', {clientX: b.right - 12, clientY: b.bottom - 42}));
    """
    run(page, OPENED + move)
    dom, console = browse(page, "--dump-dom")
    assert console == []
    tip = re.search(r'<div id="tip"[^>]*>([^<]+)</div>', dom)
    assert tip
    assert re.fullmatch(r"evolution: 2\.15 \(band 2\.0[78] to 2\.2[23]\) at 3 evaluations", tip[1])


def test_a_click_or_a_key_in_a_legend_makes_a_method_stand_out(browse: Browse, page: Path) -> None:
    run(
        page,
        OPENED
        + "const [b] = document.querySelectorAll('.legend button'); b.focus(); b.click(); b.setAttribute('id', 'b')",
    )
    dom, console = browse(page, "--dump-dom")
    assert console == []
    assert '<body class="lit lit0">' in dom
    assert dom.count('data-method="0" aria-pressed="true"') == dom.count('data-method="0"')


OVERFLOW = "console.log(`RESULT ${document.documentElement.scrollWidth - innerWidth}`);"
CONTRAST = """
const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
};
const under = (text) => { // the box of a diagram that a text stands on
  const [x, y] = [+text.getAttribute("x"), +text.getAttribute("y")];
  const boxes = [...text.parentElement.querySelectorAll("rect")].filter((box) => {
    const [left, top, width, height] = ["x", "y", "width", "height"].map((name) => +box.getAttribute(name));
    return x > left && x < left + width && y > top && y < top + height + 4;
  });
  return boxes.length ? parse(getComputedStyle(boxes.at(-1)).fill) : null;
};
const poor = [];
let count = 0;
for (const fold of document.querySelectorAll("details")) fold.open = true;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement, style = getComputedStyle(element);
  if (!node.data.trim() || !element.getClientRects().length) continue;
  if (element.closest("script, .tools, svg:not(.scene, .chart)")) continue;
  const isDrawn = element.closest("svg"), colour = parse(isDrawn ? style.fill : style.color);
  const [a, b] = [colour, (isDrawn && under(element)) || behind(element)].map(light).sort((p, q) => q - p);
  const contrast = (a + 0.05) / (b + 0.05);
  count += 1;
  if (contrast < 4.5) poor.push(`${node.data.trim().slice(0, 30)} ${contrast.toFixed(2)}`);
}
console.log(`RESULT ${matchMedia("(prefers-color-scheme: dark)").matches} ${count > 200} ${poor.join("; ")}`);
"""


def result(console: list[str]) -> str:
    """What the page's added script has logged; nothing else may stand in the console."""
    (line,) = console
    (said,) = re.findall(r'"RESULT (.*?)", source', line)
    return str(said)


def framed(page: Path, width: int) -> Path:
    """The page in a frame of some width."""
    frame = page.with_name("frame.html")
    frame.write_text(f'<iframe src="{page.name}" style="border:0;width:{width}px;height:900px">')
    return frame


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_does_not_scroll_sideways(browse: Browse, page: Path, width: int) -> None:
    run(page, OVERFLOW)
    assert int(result(browse(framed(page, width), "--dump-dom", "--window-size=1500,1000")[1])) <= 0
    text = page.read_text()
    page.write_text(text.replace("<h1>", "<h1>" + "very" * 600))
    assert int(result(browse(framed(page, width), "--dump-dom", "--window-size=1500,1000")[1])) > 0


@pytest.mark.parametrize("is_dark", [False, True])
def test_every_text_has_a_contrast_of_four_and_a_half(browse: Browse, page: Path, is_dark: bool) -> None:
    run(page, CONTRAST)
    flags = ("--dump-dom", *(["--blink-settings=preferredColorScheme=0"] if is_dark else []))
    assert result(browse(page, *flags)[1]) == f"{str(is_dark).lower()} true "


def test_wide_tables_say_so_and_keep_their_first_column(browse: Browse, page: Path) -> None:
    code = """
      const wide = [...document.querySelectorAll(".scroll.wide")];
      const area = wide[0], cell = area.querySelector("tbody td"), before = cell.getBoundingClientRect().left;
      area.scrollLeft = 1000;
      const hint = getComputedStyle(area, "::before").content;
      const stays = cell.getBoundingClientRect().left === before;
      console.log(`RESULT ${area.tabIndex} ${area.scrollLeft > 0} ${stays} ${hint.includes("sideways")}`);
    """
    run(page, code)
    console = browse(framed(page, 400), "--dump-dom", "--window-size=1500,1000")[1]
    assert result(console) == "0 true true true"


@pytest.mark.parametrize(("key", "value"), [("bench", "b2"), ("family", "fb2")])
def test_a_filter_holds_for_charts_and_rows_of_the_whole_page(
    browse: Browse, tables: Path, key: str, value: str
) -> None:
    code = """
      const [form] = document.querySelectorAll(".filters");
      form.querySelector("[data-key=KEY]").value = "VALUE";
      form.dispatchEvent(new Event("change"));
      const shown = [...document.querySelectorAll("figure[data-bench]:not([hidden])")].map((f) => f.dataset.bench);
      const left = [...document.querySelectorAll("#settings table tbody tr:not([hidden])")];
      const benches = left.map((row) => row.cells[0].textContent);
      const open = [...document.querySelectorAll("details.family")].map((fold) => !fold.hidden && fold.open);
      console.log(`RESULT ${[...new Set(shown)]} ${[...new Set(benches)]} ${open}`);
    """
    run(tables, code.replace("KEY", key).replace("VALUE", value))
    assert result(browse(tables, "--dump-dom")[1]) == "b2 b2 false,true,false"


def test_a_reader_goes_from_a_line_to_a_run_and_by_keys_to_another_seed(browse: Browse, tables: Path) -> None:
    code = """
      const svg = document.querySelector("#at-b2-none svg"), box = svg.getBoundingClientRect();
      const at = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("click", { clientX: at.right - 12, clientY: at.bottom - 42 }));
      const said = () => document.querySelector(".run h3").textContent;
      const first = said();
      document.querySelectorAll(".seeds button")[2].click(); // as Enter or space do
      const steps = document.querySelectorAll(".run table tbody tr"), fold = document.querySelector(".run details");
      fold.open = true;
      setTimeout(() => console.log(["RESULT", first, said(), document.activeElement.textContent, steps.length,
        [...steps].at(-1).textContent, fold.querySelectorAll("tbody tr").length,
        document.querySelectorAll("#run-chart circle").length].join("|").replace("RESULT|", "RESULT ")), 100);
    """
    run(tables, OPENED + code)
    said = result(browse(tables, "--dump-dom")[1]).split("|")
    assert said[:3] == ["c-tpe on b2, no constraint, seed 0", "c-tpe on b2, no constraint, seed 2", "2"]
    assert said[3:] == ["2", "3" + "3" + "1.2" + "yes" + "2", "3", "3"]  # evaluation, seconds, value, feasible, x


def test_a_chart_is_saved_with_its_colours_and_legend(browse: Browse, tables: Path) -> None:
    code = """
      const saved = standalone(document.querySelector("#convergence figure"));
      const coloured = saved.text.includes("#0072B2") || saved.text.includes("#0072b2");
      console.log(`RESULT ${saved.width} ${saved.text.includes(">c-tpe</text>")} ${coloured}`);
    """
    run(tables, OPENED + code)
    assert result(browse(tables, "--dump-dom")[1]) == "420 true true"


def test_a_saved_chart_of_runs_has_lines_and_no_areas(browse: Browse, tables: Path) -> None:
    code = """
      const { text } = standalone(document.querySelector("#convergence figure"));
      console.log(`RESULT ${text.includes(".run-line { fill: none")}`);
    """
    run(tables, OPENED + code)
    assert result(browse(tables, "--dump-dom")[1]) == "true"


def test_without_a_script_everything_but_the_runs_is_there(browse: Browse, page: Path) -> None:
    page.write_text(re.sub("script-src [^;]+;", "script-src 'none';", page.read_text()))
    dom, _ = browse(page, "--dump-dom")
    assert dom.count('<svg class="chart') == 4
    assert 'class="tools"' not in dom
    assert "nasbench show-run STORE METHOD" in dom


@pytest.fixture
def tables(store: Store, filled: Callable[..., Store], tmp_path: Path) -> Path:
    """A page of three methods on three benchmarks of three families, under two constraints."""
    for method, shift in (("a", 2.0), ("b", 3.0), ("c-tpe", 1.0)):
        for bench in ("b1", "b2", "b3"):
            setting = dataclasses.replace(SETTING, family=f"f{bench}", space=bench)
            for constraint in ("none", "size_x@0.1"):
                runs = [make_run(s, [9.0, 9.5, shift + s / 10]) for s in range(6)]
                filled({make_setup(method, bench=bench, constraint=constraint, setting=setting): runs})
    report.write([store], Request(tmp_path / "tables", formats=("html",)))
    return tmp_path / "tables" / "index.html"

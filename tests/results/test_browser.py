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
    assert dom.count('<svg class="chart"') == 8
    lines = dom.count('<path class="line" ') - dom.count('class="line" d="M0,6H30"')
    assert lines == 7 * 3 + 2  # one chart lacks the baseline
    assert dom.count('<button type="button">') > 50  # the script has made tables sortable
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
    frame = tmp_path / "out" / "frame.html"
    frame.write_text(f'<body style="margin:0"><iframe src="index.html" style="border:0;width:{width}px;height:3000px">')
    shot = tmp_path / "shot.png"
    browse(frame, f"--screenshot={shot}", f"--window-size={max(width, 600)},3000")
    pixels = imread(shot)[:, :width, :3]
    assert pixels.shape[0] == 3000
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
    run(page, move)
    dom, console = browse(page, "--dump-dom")
    assert console == []
    tip = re.search(r'<div id="tip"[^>]*>([^<]+)</div>', dom)
    assert tip
    assert re.fullmatch(r"evolution: 2\.15 \(band 2\.0[78] to 2\.2[23]\) at 3 evaluations", tip[1])


def test_a_click_or_a_key_in_a_legend_makes_a_method_stand_out(browse: Browse, page: Path) -> None:
    run(
        page, "const [b] = document.querySelectorAll('.legend button'); b.focus(); b.click(); b.setAttribute('id', 'b')"
    )
    dom, console = browse(page, "--dump-dom")
    assert console == []
    assert '<body class="lit lit0">' in dom
    assert dom.count('data-method="0" aria-pressed="true"') == dom.count('data-method="0"')


def test_a_filter_leaves_the_settings_that_were_asked_for(browse: Browse, page: Path) -> None:
    """Two settings are too few for filters; the page is told to have them."""
    select = '<select data-key="constraint"><option>none</option></select>'
    form = f'<form class="filters" hidden>{select}<output></output></form><ul class="legend"'
    text = page.read_text()
    start = text.index('<section id="settings">')
    page.write_text(text[:start] + text[start:].replace('<ul class="legend"', form, 1))
    dom, console = browse(page, "--dump-dom")
    assert console == []
    assert "1 of 2 settings</output>" in dom
    assert len(re.findall(r'<figure id="at-toy-[^>]+ hidden="">', dom)) == 1

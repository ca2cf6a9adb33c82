"""The page in a real browser: no error, no request to the outside, charts at any width, a value under the pointer.

The page forbids itself every outside request (its content security policy); the console tells of an attempt.
"""

from __future__ import annotations

import dataclasses
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
from tests.results.conftest import SETTING, make_cell, make_run

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


@pytest.fixture
def page(store: Store, filled: Callable[..., Store], tmp_path: Path) -> Path:
    for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=<b>&_%", 1.0)):
        for constraint in ("none", "size_x@0.1"):
            runs = [make_run(s, [9.0 + s, 8.0 + s, 2.0 + shift + s / 10], [False, True, True]) for s in range(4)]
            filled({make_cell(method, constraint=constraint): runs})
    report.write([store], tmp_path / "out", formats=("html", "csv"))
    return tmp_path / "out" / "index.html"


def test_the_browser_finds_nothing_to_complain_of(browse: Browse, page: Path) -> None:
    dom, console = browse(page, "--dump-dom")
    assert console == []
    charts = re.findall(r'<figure data-panel="[^"]+"><svg', dom)
    assert len(charts) == dom.count("data-panel=") == 8
    assert len(re.findall(r'<g class="series" data-series="\d', dom)) == 7 * 3 + 2  # one chart lacks the baseline
    assert "NaN" not in dom
    assert "undefined" not in dom


def test_that_test_can_fail(browse: Browse, page: Path) -> None:
    text = page.read_text()
    page.write_text(text.replace("<main>", '<main><img src="https://example.invalid/x.png">'))
    assert "Content Security Policy" in " ".join(browse(page, "--dump-dom")[1])
    page.write_text(text.replace('"use strict";', '"use strict"; nonsense();'))
    assert "ReferenceError" in " ".join(browse(page, "--dump-dom")[1])


def test_odd_ranges_are_drawn_without_complaint(
    browse: Browse, store: Store, filled: Callable[..., Store], tmp_path: Path
) -> None:
    """A logarithmic axis with an oracle of 0, values one ulp apart, and names that look like formulas."""
    zero = dataclasses.replace(SETTING, oracle=0.0)
    for method, first in (("$a$", 0.1 + 0.2), ("b", 0.3)):
        filled({make_cell(method, bench="log", setting=zero): [make_run(s, [9.0, 1e-3, 1e-5]) for s in range(3)]})
        filled({make_cell(method, bench="flat"): [make_run(s, [first] * 3) for s in range(3)]})
    report.write([store], tmp_path / "odd", formats=("html", "svg"))
    dom, console = browse(tmp_path / "odd" / "index.html", "--dump-dom")
    assert console == []
    assert len(re.findall(r'<figure data-panel="[^"]+"><svg', dom)) == dom.count("data-panel=")
    assert not re.search(r' d="[^"]*(NaN|Infinity)', dom)


@pytest.mark.parametrize("width", [400, 1400])
def test_a_screenshot_shows_the_page_at_any_width(browse: Browse, page: Path, tmp_path: Path, width: int) -> None:
    """In a frame of that width, since no browser window is narrower than some 500 pixels."""
    frame = tmp_path / "out" / "frame.html"
    frame.write_text(f'<body style="margin:0"><iframe src="index.html" style="border:0;width:{width}px;height:1500px">')
    shot = tmp_path / "shot.png"
    browse(frame, f"--screenshot={shot}", f"--window-size={max(width, 600)},1500")
    pixels = imread(shot)[:, :width, :3]
    assert pixels.shape[0] == 1500
    rows_with_ink = (pixels != pixels[-1, -1]).any(axis=(1, 2)).mean()
    assert rows_with_ink > 0.3
    for colour in (b"\x00\x72\xb2", b"\xd5\x5e\x00", b"\x00\x9e\x73"):  # a line of each method
        near = np.abs(pixels * 255 - np.frombuffer(colour, np.uint8)).max(axis=2) < 3
        assert near.sum() > 50
    right = pixels[:, -10:]
    assert (right == right[0, 0]).all()  # nothing runs over the edge


def test_a_value_stands_under_the_pointer(browse: Browse, page: Path) -> None:
    move = """
      const f = document.querySelector('figure[data-panel="settings-0"]');
      const b = f.querySelector('svg').getBoundingClientRect();
      f.dispatchEvent(new PointerEvent('pointermove', {clientX: b.right - 14, clientY: b.bottom - 60}));
    """
    page.write_text(page.read_text().replace("</body>", f"<script>{move}</script></body>"))
    dom, console = browse(page, "--dump-dom")
    assert console == []
    tip = re.search(r'<div id="tip"[^>]*>([^<]+)</div>', dom)
    assert tip
    assert tip[1] == "evolution: 2.15 (quartiles 2.075 to 2.225) at 3 evaluations"

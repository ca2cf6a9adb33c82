"""The README's picture shows what its table says, and looks as charts look today: `make picture` renews both."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from nasbench.results.display import svg
from nasbench.results.display.look import looks

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RANKS = pd.read_csv(ROOT / "docs/reproduced/quick/ranks.csv").set_index("method").sort_index()
CHECKPOINTS = ["50", "100", "150", "200"]
(PATH,) = re.findall(r"!\[[^]]*\]\((\S+\.svg)\)", README)
PICTURE = (ROOT / PATH).read_text(encoding="utf-8")


def places(path: str) -> tuple[np.ndarray, np.ndarray]:
    """The places of a line, in tenths of a pixel: it begins with M, and each l, h or v moves on from the last one."""
    moves = []
    for command, words in re.findall(r"([Mlhv])([^Mlhv]+)", path):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", words)]
        if command in "hv":
            moves += [(number, 0.0) if command == "h" else (0.0, number) for number in numbers]
        else:
            moves += list(zip(numbers[::2], numbers[1::2], strict=True))
    x, y = np.cumsum(moves, axis=0).T
    return x, y


def test_the_picture_shows_the_ranks_of_the_table() -> None:
    (chart,) = [e for e in ElementTree.fromstring(PICTURE).iter() if "data-x0" in e.attrib]
    x0, x1, y0, y1 = (float(chart.attrib[f"data-{name}"]) for name in ("x0", "x1", "y0", "y1"))
    lines = re.findall(r'<g class="m(\d+)"><path class="line"[^>]* d="(M[^"M]+)"/><path class="dots"', PICTURE)
    assert len(lines) == len(RANKS)
    left, right = 10 * svg.LEFT, 10 * (svg.WIDTH - svg.RIGHT)
    top, bottom = 10 * svg.TOP, 10 * (svg.HEIGHT - svg.BOTTOM)
    pixel = 10 * abs(y1 - y0) / (bottom - top)
    for number, path in lines:
        x, y = places(path)
        at = x0 + (x - left) / (right - left) * (x1 - x0)
        ranks = y0 + (bottom - y) / (bottom - top) * (y1 - y0)
        for point in CHECKPOINTS[1:]:  # the line has no point at 50
            (found,) = ranks[np.abs(at - float(point)) < 0.1]
            assert abs(found - RANKS[point].iloc[int(number)]) < pixel / 10


def test_the_readmes_table_is_that_of_the_file() -> None:
    for method, row in RANKS.iterrows():
        ends = [f"{row[low]:.2f}-{row[high]:.2f}" for low, high in (("low", "high"), ("low_new", "high_new"))]
        cells = [str(method), *(f"{row[c]:.2f}" for c in CHECKPOINTS), *ends]
        assert re.search(rf"^{' +'.join(map(re.escape, cells))} ", README, flags=re.MULTILINE), cells


def test_the_picture_looks_as_charts_look_today() -> None:
    own = looks(tuple(RANKS.index))
    assert f"<style>{svg.STYLE}{svg.colours(own)}</style>{svg.definitions(own)}" in PICTURE
    for number, (name, look) in enumerate(zip(RANKS.index, own, strict=True)):
        assert f'{svg.key(number, look)}<text x="36" y="10">{name}</text>' in PICTURE

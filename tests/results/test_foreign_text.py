"""Names, units and reasons are others' words: in a spreadsheet no formula, in Markdown no HTML and no link."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part
from nasbench.results.report import text
from nasbench.results.verdict import Verdict


def verdict_of(words: str, warnings: list[str]) -> Verdict:
    return Verdict(words, words, None, None, None, [words], warnings, words, words, words)


def test_a_unit_that_is_a_formula_stays_text_in_csv() -> None:
    odd = ["=HYPERLINK(1)", "+1+cmd", "-1+cmd", "@SUM(A1)", "\t=1"]
    data = pd.DataFrame({"unit": [*odd, "-1.5", "+inf", "-", "s"], "value": -1.5})
    table = Table("x", "x", "", data, data.astype(str))
    found = pd.read_csv(io.StringIO(table.csv()), dtype={"unit": str}, keep_default_na=False)
    assert found["unit"].tolist() == [*(f"'{text}" for text in odd), "-1.5", "+inf", "-", "s"]
    assert found["value"].tolist() == [-1.5] * 9


def test_a_name_that_is_html_stays_text_in_markdown() -> None:
    shown = pd.DataFrame({"method": ["<script>alert(1)</script>", "a<=b<1", "<!-- -->"]})
    table = Table("x", "of <b>", "", shown, shown)
    said = verdict_of("", ["</td>"])
    found = text.markdown("t", said, [Part("part", "<i>", tables=[table], sentences=["<?x"])])
    assert "&lt;script>alert(1)&lt;/script>" in found
    assert "a<=b<1" in found
    assert text.inert("p < 0.05 `a<=b` <b>") == "p < 0.05 `a<=b` &lt;b>"
    assert not any(tag in found for tag in ("<s", "<b>", "<i>", "</", "<!", "<?"))


@pytest.mark.parametrize(
    "name",
    [
        "[x](javascript:alert(1))",
        "![x](http://example.org/seen.png)",
        r"[x\](javascript:alert(1))",
        r"\[x](javascript:alert(1))",
        "[x][y]\n\n[y]: javascript:alert(1)",
        "[x]: javascript:alert(1)\n\n[x]",
        "<javascript:alert(1)>",
        "<a href=javascript:alert(1)>x</a>",
    ],
)
def test_a_name_that_is_a_link_stays_text_in_markdown(name: str) -> None:
    shown = pd.DataFrame({"method": [name.partition("\n")[0]]})
    table = Table("x", name, "", shown, shown)
    found = text.markdown(name, verdict_of(name, [name]), [Part("part", name, tables=[table], sentences=[name])])
    made = MarkdownIt("commonmark").enable("table").render(found)
    assert "&lt;" in made or "[x" in made
    assert "href" not in made.replace("&lt;a href", "")
    assert "<img" not in made


def test_cells_that_are_missing_or_numbers_are_texts_too() -> None:
    """An author's part may give `data.astype(str)`, which keeps what is missing, or the numbers themselves."""
    data = pd.DataFrame({"method": ["a", "b"], "error": [0.5, np.nan]})
    for shown in (data.astype(str), data, data.assign(error=[1, None])):
        table = Table("x", "X", "", data, shown)
        assert "<td>-</td>" in table.html()
        assert table.text().splitlines()[-1].split() == ["b", "-"]
        assert "| b | - |" in table.markdown()
        assert "-" in table.latex()

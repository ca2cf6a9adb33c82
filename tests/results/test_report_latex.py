"""Tables in LaTeX: complete, escaped, set as a paper sets them, and they compile in one column and in two."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.results.display.latex import breaking, floats
from nasbench.results.display.table import Table
from nasbench.results.report import report
from nasbench.results.report.request import Request
from tests.results.conftest import Fill, make_run, make_setup

WORDS = frozenset({"method", "benchmark"})


@pytest.fixture
def tables(filled: Fill, tmp_path: Path) -> Path:
    cells = {
        make_setup(method, constraint=constraint): [make_run(s, [9.0, 8.0, 2.0 + shift + s / 10]) for s in range(6)]
        for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=<b>&_%", 1.0))
        for constraint in ("none", "size_x@0.1")
    }
    report.write([filled(cells)], Request(tmp_path / "out", formats=("latex",)))
    return tmp_path / "out"


def test_every_table_is_a_float_with_caption_label_and_rules_and_says_what_it_needs(tables: Path) -> None:
    names = sorted(path.stem for path in tables.glob("*.tex"))
    assert {"ranks", "comparison", "pairs", "medians", "performance"} <= set(names)
    labels = []
    for name in names:
        text = (tables / f"{name}.tex").read_text()
        packages = "booktabs,graphicx" if "table*" in text else "booktabs"
        assert text.startswith(f"% \\usepackage{{{packages}}}\n")
        assert text.count(r"\resizebox{") == text.count(r"\begin{table*}") == text.count(r"\end{tabular}}")
        assert text.isascii()  # pdflatex sets no Greek letter, arrow or power as it stands
        assert "longtable" not in text
        begun, ended = (re.findall(rf"\\{word}\{{(\w+\*?)\}}", text) for word in ("begin", "end"))
        assert sorted(begun) == sorted(ended)
        assert set(begun) <= {"table", "table*", "tabular"}
        assert (
            text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\caption{") == begun.count("tabular")
        )
        assert not re.search(r"(?<!\\)[_%#]", text.partition("\n")[2])
        labels += re.findall(r"\\label\{tab:([^}]+)\}", text)
        for part in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL):
            rows = [line for line in part[1].splitlines() if line.endswith(r"\\")]
            assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(part[0])}
    assert len(set(labels)) == len(labels) >= len(names)
    assert r"c-tpe:gamma=\textless{}b\textgreater{}\&\_\%" in (tables / "performance.tex").read_text()


@pytest.mark.parametrize(
    ("cell", "set_as"),
    [
        ("0.63-0.66", "0.63--0.66"),
        ("2-3", "2--3"),
        ("0.65* ", "0.65* "),
        ("2.5e-10", r"$2.5\times10^{-10}$"),
        ("<1e-99", r"$<10^{-99}$"),
        ("9.5e-05-1.2e-04", r"$9.5\times10^{-5}$--$1.2\times10^{-4}$"),
        ("-0.12", "$-$0.12"),
        ("-", "--"),
        ("15/0/0", "15/0/0"),
    ],
)
def test_numbers_are_set_as_a_paper_sets_them(cell: str, set_as: str) -> None:
    shown = pd.DataFrame({"method": ["nb201-10"], "x": [cell]})
    assert f"nb201-10 & {set_as} \\\\\n" in floats("t", "c", shown, WORDS, None)


def test_a_users_dollars_are_no_formula() -> None:
    shown = pd.DataFrame({"method": ["costs $5_000 or $6"], "x": ["1"]})
    assert r"costs \$5\_000 or \$6 & 1 " in floats("t", "c", shown, WORDS, None)


def test_a_wide_table_is_split_by_columns_and_a_long_one_by_rows_without_losing_a_cell() -> None:
    values = np.arange(100 * 30).reshape(100, 30)
    shown = pd.DataFrame(
        {"method": [f"m{i}" for i in range(100)]} | {f"c{j}": values[:, j].astype(str) for j in range(30)}
    )
    text = floats("wide", "Wide", shown, WORDS, None)
    found = re.findall(r"(?<= & )(\d+)(?= )", text)
    assert sorted(map(int, found)) == list(range(3000))
    parts = text.count(r"\begin{tabular}")
    assert text.count(f"of {parts})") == parts == len(set(re.findall(r"\\label\{([^}]+)\}", text)))
    assert max(map(len, text.splitlines())) < 160


def test_a_long_table_on_request_is_one_that_breaks_between_pages_with_every_row_once() -> None:
    values = np.arange(100 * 30).reshape(100, 30)
    shown = pd.DataFrame(
        {"method": [f"m{i}" for i in range(100)]} | {f"c{j}": values[:, j].astype(str) for j in range(30)}
    )
    text = breaking("wide", "50 %", shown, WORDS, np.pad(values == 7, ((0, 0), (1, 0))))
    assert text.startswith("% \\usepackage{booktabs,longtable}\n")
    assert sorted(map(int, re.findall(r"(?<= & )(?:\\textbf\{)?(\d+)(?=\}? )", text))) == list(range(3000))
    assert r"\textbf{7}" in text
    parts = re.findall(r"\\begin\{longtable\}\{([lr]+)\}(.*?)\\end\{longtable\}", text, flags=re.DOTALL)
    assert len(parts) > 1
    for columns, part in parts:
        pieces = re.split(r"\\midrule\n|\\endfirsthead\n|\\endhead\n|\\endfoot\n", part)
        caption, _, again, _, foot, body = pieces
        assert r"\caption{50 \% (part " in caption
        assert r"\label{tab:wide" in caption
        assert foot == "\\bottomrule\n"
        assert again.splitlines()[1] == caption.splitlines()[-1]
        for row in [again.splitlines()[1], *body.splitlines()]:
            assert row.count("&") + 1 == len(columns)


def test_a_report_has_long_tables_on_request(filled: Fill, tmp_path: Path) -> None:
    store = filled({make_setup(name): [make_run(s, [9.0, 8.0, 2.0 + s]) for s in range(6)] for name in "ab"})
    report.write([store], Request(tmp_path / "out", formats=("longtable",)))
    assert (tmp_path / "out" / "ranks.long.tex").read_text().count(r"\begin{longtable}") == 1


ENGINES = {
    "pdflatex": ("pdflatex", "-interaction=nonstopmode", "-halt-on-error"),
    "tectonic": ("tectonic", "--chatter=minimal"),
}


def compiled(folder: Path, start: str, packages: str, body: str) -> str:
    """What the TeX engine of this machine has to say against a document; empty if it is content."""
    command = next((own for name, own in ENGINES.items() if shutil.which(name)), None)
    if command is None:
        pytest.skip("no pdflatex or tectonic on PATH")
    document = f"\\documentclass{start}\n\\usepackage{{{packages}}}\n\\begin{{document}}\n{{}}\n\\end{{document}}"
    for name, text in (("empty", "x"), ("all", body)):
        (folder / f"{name}.tex").write_text(document.replace("{}", text))
        done = subprocess.run([*command, f"{name}.tex"], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode and name == "empty":
            pytest.skip(f"the TeX on PATH sets no letter in {start}: a class, {packages} or the network is missing")
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-2000:]


@pytest.mark.parametrize("start", ["{article}", "[twocolumn]{article}", "{IEEEtran}"])
def test_every_table_compiles(tables: Path, start: str) -> None:
    inputs = "\n".join(f"\\input{{{path.name}}}" for path in sorted(tables.glob("*.tex")))
    assert compiled(tables, start, "booktabs,graphicx", inputs) == ""
    log = (tables / "all.log").read_text() if shutil.which("pdflatex") else ""
    assert "Overfull" not in log


def test_long_tables_compile_in_one_column(tmp_path: Path) -> None:
    shown = pd.DataFrame({"method": [f"m_{i}" for i in range(200)], "x": ["1e-5"] * 200})
    text = breaking("long", "Long & more", shown, WORDS, None)
    assert compiled(tmp_path, "{article}", "booktabs,longtable", text) == ""


def test_a_row_that_begins_with_a_bracket_or_a_star_is_no_argument() -> None:
    shown = pd.DataFrame({"method": ["[1] TPE", "*RS*", "plain"], "rank": ["1", "2", "3"]})
    lines = Table("t", "T", "", shown, shown).latex().splitlines()
    assert [line[:6] for line in lines if " & " in line] == ["method", "{}[1] ", "{}*RS*", "plain "]


def test_the_name_beside_a_margin_is_text() -> None:
    shown = pd.DataFrame({"where": ["x"], "margin": ["0.60 (0.55-0.65) over a$b_50%:lr=1e-05"]})
    text = Table("t", "T", "", shown, shown).latex()
    assert r"over a\$b\_50\%:lr=1e-05" in text

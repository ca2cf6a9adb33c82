"""Tables in LaTeX: complete, escaped, set as a paper sets them, and they compile in one column and in two."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.results import Store
from nasbench.results.display.latex import floats
from nasbench.results.report import report
from tests.results.conftest import make_cell, make_run

Fill = Callable[..., Store]
WORDS = frozenset({"method", "benchmark"})


@pytest.fixture
def tables(filled: Fill, tmp_path: Path) -> Path:
    cells = {
        make_cell(method, constraint=constraint): [make_run(s, [9.0, 8.0, 2.0 + shift + s / 10]) for s in range(6)]
        for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=<b>&_%", 1.0))
        for constraint in ("none", "size_x@0.1")
    }
    report.write([filled(cells)], tmp_path / "out", formats=("latex",))
    return tmp_path / "out"


def test_every_table_is_a_float_with_caption_label_and_rules_and_says_what_it_needs(tables: Path) -> None:
    names = sorted(path.stem for path in tables.glob("*.tex"))
    assert {"answer", "ranks", "comparison", "pairs", "medians", "performance"} <= set(names)
    labels = []
    for name in names:
        text = (tables / f"{name}.tex").read_text()
        assert text.startswith("% \\usepackage{booktabs}\n")
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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("start", ["{article}", "[twocolumn]{article}", "{IEEEtran}"])
def test_every_table_compiles(tables: Path, start: str) -> None:
    name = start.partition("{")[2].rstrip("}")
    known = subprocess.run(["kpsewhich", f"{name}.cls"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"there is no {name}.cls")
    inputs = "\n".join(f"\\input{{{path.name}}}" for path in sorted(tables.glob("*.tex")))
    document = f"\\documentclass{start}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{inputs}\n\\end{{document}}"
    (tables / "all.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]

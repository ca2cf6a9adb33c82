"""Reports a suite's store into docs/reproduced/, and writes what is there into the pages that show it.

`python -m research.gpu --out docs/reproduced/gpu` writes the table of docs/notebook/gpu.md there itself.

    python -m research.findings SUITE…   # reports runs/SUITE first; the Makefile's reproduce-… targets call this
    python -m research.findings          # writes the pages only

Of a report only the files are kept that a page, a test or the Makefile names: every other one can be made again.
A page shows a part of a file between two comments. `<!-- from reproduced/nasbot/report.txt: Expected | Feasible -->`
takes the lines from the first one that begins with `Expected` up to the next that begins with `Feasible` (to the end of
the file without a second text); `<!-- from reproduced/nasbot/claims.csv: better, worse, verdict -->` a table of these
columns; `<!-- from reproduced/grand-cpu/test-metrics.csv: method by bench, constraint: mean of metric test-error* -->`
a table with a row per method, a column per bench and constraint, and the mean of the row whose metric fits test-error*.
`<!-- end -->` closes the block. Nothing between the two is written by hand; a test compares them.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from nasbench.base.numbers import p_value

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", DOCS / "notebook" / "gpu.md", *sorted(DOCS.glob("findings/*.md")))
PARTS = {
    "card": ("thinking",),
    "ctpe-knowledge": ("constraints",),
    "ctpe-paper": ("constraints", "in-sample"),
    "ctpe-rivals": ("thinking",),
    "ctpe-rivals-ax": ("thinking",),
    "fronts": ("thinking", "constraints", "in-sample"),
    "long": ("in-sample",),
    "knowledge": ("saved", "in-sample"),
    "mixed": ("thinking",),
    "multi-fidelity": ("clock",),
    "nasbot": ("in-sample",),
    "nasbot-hpo": ("in-sample",),
    "parallel": ("in-sample",),
    "priors": ("saved",),
    "proxies": ("saved",),
    "quick": ("in-sample",),
    "wide": ("in-sample", "families"),
}
"""Optional parts of a suite's report."""

VIEWS: dict[str, dict[str, tuple[str, ...]]] = {
    "card": {"card": (), "card-average": ("--score=average",)},
    "card-earlier": {"card-earlier": ("runs/card", "--constrain=parameters@S", "--score=average", "--baseline=random")},
    "parallel": {f"parallel-{n}": (f"--protocol=200 evaluations on {n} workers",) for n in (4, 16, 64)},
    "pending": {"pending": ("--protocol=200 evaluations on 16 workers",)},
}
"""Suites that are reported more than once, or by protocol: the name of each report's folder, and its options."""

TABLES = {
    "looked-up.csv": ("looked_up",),
    "looked-up-pairs.csv": ("looked_up", "--pairs"),
    "looked-up-apart.csv": ("looked_up", "--apart"),
    "looked-up-own.csv": ("looked_up", "--own", "benchmarks/tabular/parts/organa-pilot.csv"),
    "pending.csv": ("pending",),
    "minutes.csv": ("searches",),
    "spaces.csv": ("spaces",),
    "against.csv": ("against", "random", "local"),
    "optuna.csv": ("pending", "--optuna"),
}
"""Tables that scripts of this folder print from a store: the script, and its options."""

_NAMED = re.compile(r"reproduced/([\w-]+/[\w-]+\.\w+)")
_WIDE = re.compile(r"(\w+) by ([\w, ]+): (\w+) of (\w+) (\S+)")
_BLOCK = re.compile(r"(<!-- from (\S+?): (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def keep(suite: str) -> None:
    """Reports runs/SUITE into docs/reproduced/SUITE, or into a folder for each of its `VIEWS`."""
    for name, options in VIEWS.get(suite, {suite: ()}).items():
        _keep(suite, name, options)


def _keep(suite: str, name: str, chosen: Sequence[str]) -> None:
    """Reports runs/SUITE, and keeps what the terminal shows and the files that are named in docs/reproduced/NAME."""
    into, report = DOCS / "reproduced" / name, ROOT / "report" / name
    command = ["nasbench", "report", f"runs/{suite}", "--out", str(report), "--format", "csv,svg", "--full"]
    command += [f"--part={part}" for part in PARTS.get(suite, ())]
    command += chosen
    shown = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    if twice := [file for file in TABLES if (report / file).exists() and f"{name}/{file}" in named()]:
        raise ValueError(f"the report of {name} has a {twice[0]} of its own: a script's table needs another name")
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    shown = shown.replace(f"{ROOT}/", "")
    tables = re.split(r"\n\d+ files in", shown, maxsplit=1)[0]
    if f"{name}/report.txt" in named():
        (into / "report.txt").write_text(tables.rstrip() + "\n", encoding="utf-8")
    for path in report.iterdir():
        if f"{name}/{path.name}" in named():
            shutil.copyfile(path, into / path.name)
    if f"{suite}/kinds.txt" in named():
        from research import kinds

        kinds.write(into)
    for file, (script, *options) in TABLES.items():
        if f"{name}/{file}" in named():
            stores = [f"runs/{path.name}" for path in (ROOT / "runs").glob(f"{suite}-on-*")]  # of other processors
            command = [sys.executable, "-m", f"research.{script}", f"runs/{suite}", *sorted(stores), *options]
            table = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
            (into / file).write_text(table, encoding="utf-8")


def named() -> set[str]:
    """The files of docs/reproduced/, as SUITE/FILE, that a page, a test or the Makefile names."""
    readers = [ROOT / "README.md", ROOT / "Makefile", *DOCS.rglob("*.md"), *ROOT.glob("tests/**/*.py")]
    return {name for path in readers for name in _NAMED.findall(path.read_text(encoding="utf-8"))}


def filled(page: str) -> str:
    """The text of a page with every block as its file has it. Raises ValueError for a block whose part is not there."""
    return _BLOCK.sub(lambda found: found[1] + _shown(found[2], found[3]) + found[4], page)


def _shown(source: str, part: str) -> str:
    path = DOCS / source
    if wide := _WIDE.fullmatch(part):
        return _wide(path, *wide.groups())
    names = [name.strip() for name in re.split(r"[|,]", part)]
    if path.suffix == ".csv":
        return _table(path, names)
    lines = path.read_text(encoding="utf-8").splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith(names[0])), None)
    if begin is None:
        raise ValueError(f"no line of {source} begins with {names[0]!r}")
    end = len(lines)
    if len(names) > 1:
        end = next((i for i in range(begin + 1, end) if lines[i].startswith(names[1])), 0)
        if not end:
            raise ValueError(f"no later line of {source} begins with {names[1]!r}")
    return "```\n" + "\n".join(lines[begin:end]).rstrip() + "\n```\n"


def _table(path: Path, columns: list[str]) -> str:
    return _drawn(columns, ([_cell(row[column], column) for column in columns] for row in _rows(path)))


def _wide(path: Path, of_rows: str, of_columns: str, value: str, kind: str, pattern: str) -> str:
    found: dict[str, dict[str, str]] = {}
    for row in _rows(path):
        if fnmatchcase(row[kind], pattern):
            column = ", ".join(row[name.strip()] for name in of_columns.split(","))
            found.setdefault(row[of_rows], {})[column] = _cell(row[value])
    columns = sorted({column for cells in found.values() for column in cells})
    lines = ([_cell(name), *(cells.get(column, "-") for column in columns)] for name, cells in found.items())
    return _drawn([of_rows, *columns], lines)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _drawn(heads: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *lines]) + "\n"


def _cell(text: str, column: str = "") -> str:
    """A number with four significant digits, or a p; other text as it stands, its bars kept from being borders."""
    try:
        if column.partition("_")[0] == "p":
            return p_value(float(text))
        return text if text.lstrip("-").isdigit() else f"{float(text):.4g}"
    except ValueError:
        return text.replace("|", "\\|") or "-"


if __name__ == "__main__":
    for suite in sys.argv[1:]:
        keep(suite)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")

"""Pages show what docs/reproduced/ holds; those of findings claim no number that is not there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from nasbench.results import Store
from research import findings

ROOT = Path(__file__).parents[2]
PUBLISHED = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("suites/claims/*.json"))

MINE = "reproduced/mine"

each_page = pytest.mark.parametrize("page", findings.PAGES, ids=lambda path: path.name)


@each_page
def test_a_page_shows_what_the_files_hold(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert findings.filled(text) == text, "python -m research.findings writes the pages anew"
    assert text.count("<!-- from ") == text.count("<!-- end -->") == len(findings._BLOCK.findall(text))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "findings").glob("*.md")), ids=lambda path: path.name)
def test_a_number_in_a_pages_words_stands_in_its_tables_or_in_what_was_published(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = "".join(found.group() for found in findings._BLOCK.finditer(text))
    words = findings._BLOCK.sub("", text)
    unknown = [number for number in re.findall(r"(?<![\w.])\d+\.\d+\b", words) if number not in shown + PUBLISHED]
    assert not unknown, f"no file says {unknown}"


def test_no_file_is_kept_that_nobody_names_and_none_is_named_that_is_not_kept() -> None:
    kept = ROOT / "docs" / "reproduced"
    assert {f"{path.parent.name}/{path.name}" for path in kept.glob("*/*")} == findings.named()


def test_of_a_report_the_files_are_kept_that_somebody_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reports(command: list[str], **_: object) -> SimpleNamespace:
        into = Path(command[command.index("--out") + 1])
        into.mkdir(parents=True, exist_ok=True)
        for name in ("claims.csv", "ranks.svg", "pairs.csv"):
            (into / name).write_text(name)
        return SimpleNamespace(stdout="Ranks\n\n3 files in report\n")

    (tmp_path / "README.md").write_text(f"![ranks](docs/{MINE}/ranks.svg); docs/{MINE}-not/pairs.csv.")
    (tmp_path / "Makefile").touch()
    (tmp_path / "docs" / "findings").mkdir(parents=True)
    (tmp_path / "docs" / "findings" / "mine.md").write_text(f"<!-- from {MINE}/claims.csv: better -->")
    monkeypatch.setattr(findings, "ROOT", tmp_path)
    monkeypatch.setattr(findings, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(findings.subprocess, "run", reports)
    findings.keep("mine")
    kept = sorted(path.name for path in (tmp_path / "docs" / "reproduced" / "mine").iterdir())
    assert kept == ["claims.csv", "ranks.svg"]  # no page names report.txt
    monkeypatch.setitem(findings.TABLES, "claims.csv", ("searches",))
    with pytest.raises(ValueError, match="of its own"):
        findings.keep("mine")


@pytest.mark.parametrize("archive", sorted((ROOT / "suites" / "parts").glob("*.tar.gz")), ids=lambda path: path.name)
def test_runs_that_pages_rest_on_are_read(archive: Path, tmp_path: Path) -> None:
    """Three were of an earlier schema: the commands of their pages ended with an error."""
    subprocess.run(["tar", "xzf", archive, "-C", tmp_path], check=True)  # as the pages say
    store = Store.open(tmp_path / archive.name.removesuffix(".tar.gz"))
    assert {record.failure for f in store.fragments() for record in f.runs} == {""}
    planned = [(setup, seed) for plan in store.plans() for setup, seeds in plan["setups"] for seed in seeds]
    assert planned
    assert all(store.has(setup, seed) for setup, seed in planned)


def test_a_block_is_cut_between_two_beginnings_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "DOCS", tmp_path)
    (tmp_path / "report.txt").write_text("Ranks\n\na  1\n\nFeasible\n\nb  2\n")
    (tmp_path / "t.csv").write_text("method,mean,runs,note,p_holm\nx|y,0.123456,20,,0.0\n")
    page = "<!-- from report.txt: Ranks | Feasible -->\nstale\n<!-- end -->\n"
    assert findings.filled(page) == page.replace("stale", "```\nRanks\n\na  1\n```")
    rest = "<!-- from report.txt: Feasible -->\n<!-- end -->\n"
    assert findings.filled(rest) == rest.replace("<!-- end", "```\nFeasible\n\nb  2\n```\n<!-- end")
    table = "<!-- from t.csv: method, mean, runs, note, p_holm -->\n<!-- end -->"
    heads = "| method | mean | runs | note | p_holm |\n| --- | --- | --- | --- | --- |\n"
    shown = heads + "| x\\|y | 0.1235 | 20 | - | <1e-99 |\n"
    assert findings.filled(table) == table.replace("<!-- end", shown + "<!-- end")
    for wrong in ("Rank 2", "Ranks | Nothing"):
        with pytest.raises(ValueError, match="begins with"):
            findings.filled(f"<!-- from report.txt: {wrong} -->\n<!-- end -->\n")


def test_a_wide_block_has_a_column_per_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "DOCS", tmp_path)
    rows = ("x,S,a,test-error@3,1.23456", "x,S,a,test-auc,0.9", "x,L,a,test-error@3,2", "y,S,b,test-error@2,3")
    (tmp_path / "t.csv").write_text("\n".join(["bench,constraint,method,metric,mean", *rows]))
    page = "<!-- from t.csv: method by bench, constraint: mean of metric test-error* -->\n<!-- end -->"
    shown = "| method | x, L | x, S | y, S |\n| --- | --- | --- | --- |\n| a | 2 | 1.235 | - |\n| b | - | - | 3 |\n"
    assert findings.filled(page) == page.replace("<!-- end", shown + "<!-- end")

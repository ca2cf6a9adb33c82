"""The book's shelves: lengths of pages, of sentences and of cells; what is generated is what would be written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LONGEST = {"Tutorials": 900, "How to": 700, "Explained": 600}
"""Words of a page on each shelf; ARCHITECTURE.md, which has a test of its own, is longer."""
GENERATED = ("methods.md", "benchmarks.md", "pages.md", "api/", "reference/")
_BLOCK = re.compile(r"```.*?```|<!--.*?-->", re.DOTALL)


class _Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
    """Reads mkdocs.yml, whose tags of Python are not needed here."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)


def shelves() -> dict[str, list[str]]:
    """The pages of each shelf of the navigation, without those that are generated."""
    navigation = yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)["nav"]

    def pages(entry: object) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        for inner in entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ():
            yield from pages(inner)

    named = {name: list(pages(entry)) for shelf in navigation for name, entry in shelf.items()}
    return {name: [page for page in found if not page.startswith(GENERATED)] for name, found in named.items()}


def prose(page: str) -> str:
    return _BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8"))


def plain(text: str) -> str:
    """Text as it is read: a link is its words, and code counts as one."""
    return re.sub(r"`[^`]*`", "x", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def sentences(page: str) -> list[str]:
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[*\-] |\d+\. )", prose(page)):
        if not paragraph.lstrip().startswith(("|", "#")):
            found += re.split(r"(?<=[.!?:;])\s+(?=[A-Z*`(\"])|(?<=[.!?])\s+", " ".join(plain(paragraph).split()))
    return [sentence for sentence in found if sentence]


def cells(page: str) -> Iterator[str]:
    for line in prose(page).splitlines():
        if line.startswith("|") and not re.fullmatch(r"\|[\s:|-]+\|", line):
            yield from re.split(r"(?<!\\)\|", plain(line))[1:-1]


SHELVES = shelves()
PAGES = [page for pages in SHELVES.values() for page in pages]


def test_the_book_is_read_in_an_afternoon() -> None:
    assert sum(len(prose(page).split()) for page in PAGES) <= 40_000


@pytest.mark.parametrize("shelf", LONGEST)
def test_pages_are_short(shelf: str) -> None:
    words = {page: len((DOCS / page).read_text(encoding="utf-8").split()) for page in SHELVES[shelf]}
    assert {page for page, count in words.items() if count > LONGEST[shelf]} <= {"architecture.md"}


@pytest.mark.parametrize("shelf", SHELVES)
def test_sentences_are_short(shelf: str) -> None:
    words = [len(sentence.split()) for page in SHELVES[shelf] for sentence in sentences(page)]
    assert sum(words) <= 22 * len(words)
    assert sum(count > 30 for count in words) <= 0.05 * len(words)


@pytest.mark.parametrize("page", sorted(set(PAGES) - {"architecture.md", "licences.md", "contributing.md"}))
def test_cells_are_short_and_pages_end_with_few_links(page: str) -> None:
    assert [cell for cell in cells(page) if len(cell.split()) > 12] == []
    last = prose(page).rstrip().rsplit("\n\n", 1)[-1]
    assert not last.startswith("Next:") or len(re.findall(r"\]\(", last)) <= 3


def test_every_tutorial_ends_with_a_picture() -> None:
    for page in SHELVES["Tutorials"]:
        assert "![" in prose(page), page


def test_generated_pages_are_what_would_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    from research.reference import pages

    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    made = pages()
    there = {path: path.read_text("utf-8") if path.exists() else "" for path in made}
    stale = [line for path in made for line in unified_diff(there[path].split("\n"), made[path].split("\n"), path.name)]
    assert not "\n".join(stale), "python -m research.reference writes them"
    assert set((DOCS / "reference").rglob("*.md")) <= set(made)


@pytest.mark.slow
def test_the_site_searches_from_disk(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome on the path")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += ["--virtual-time-budget=15000", "--dump-dom"]
    asked = (tmp_path / "site" / "index.html").as_uri() + "?q=latency"
    page = subprocess.run([browser, *flags, asked], check=True, capture_output=True, text=True, timeout=120).stdout
    assert re.search(r'md-search-result__meta">\s*\d+ matching documents', page)
    assert "constrain.html" in page[page.index("md-search-result__meta") :]

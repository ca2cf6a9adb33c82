"""Types the tutorials of the book, and makes their pictures.

    python -m research.tutorials            # all pages of PICTURES; needs PyTorch, and Chromium for the screenshot
    python -m research.tutorials own-method

The test of the pages types them by the same functions, and compares what is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PICTURES = {
    "first-comparison": "report/ranks.svg",
    "own-method": "report/ranks.svg",
    "from-csv-to-figure": "report/ranks.svg",
    "elsewhere": "report/ranks.svg",
    "train-networks": "report/ranks.svg",
}
"""Page → what its commands leave that it shows, kept as docs/reproduced/PAGE/NAME."""
_FILES = {"own-method": "methods/greedy.py"}
"""Page → the file of the clone that its first block of Python is."""
_BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```([a-z]*)\n(.*?)```", re.DOTALL)


class Typed(NamedTuple):
    """A command of a page, what the page shows, and what came of it."""

    command: str
    shown: str
    done: subprocess.CompletedProcess[str]


def sessions(page: str) -> list[tuple[str, str]]:
    """The commands of a page, each with what the page says that it prints."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = "".join(block for comment, language, block in _BLOCK.findall(text) if not language and not comment)
    lines = [session.split("\n", maxsplit=1) for session in blocks.removeprefix("$ ").split("\n$ ")]
    return [(words[0], words[1] if words[1:] else "") for words in lines]


def typed(page: str, folder: Path) -> Iterator[Typed]:
    """Types the commands of a page in an empty folder, as its reader would."""
    code = _clone(page, folder) if page in _FILES else ROOT
    if code == ROOT:
        (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "bin").mkdir()
    command = folder / "bin" / "nasbench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nasbench "$@"\n')
    command.chmod(0o755)
    places = {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "NASBENCH_DATA": str(folder / "data"),
        "PYTHONPATH": str(code),
    }
    for line, shown in sessions(page):
        yield Typed(
            line,
            shown,
            subprocess.run(
                line, shell=True, cwd=folder, env=os.environ | places, capture_output=True, text=True, check=False
            ),
        )


def _clone(page: str, folder: Path) -> Path:
    """Copies the checkout, and adds the file of a page."""
    for name in subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines():
        if not name.startswith(("docs/", "tests/")) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    (code,) = (block for _, language, block in _BLOCK.findall(text) if language == "python")
    (folder / _FILES[page]).write_text(code)
    return folder


def main(pages: list[str]) -> None:
    """Makes the pictures of pages, and the screenshot of the first one's report."""
    for page in pages or list(PICTURES):
        begun = monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder, kept = Path(name), DOCS / "reproduced" / page
            for command, _, done in typed(page, folder):
                if done.returncode:
                    sys.exit(f"{page}: {command}\n{done.stderr}")
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / PICTURES[page], kept / Path(PICTURES[page]).name)
            print(f"{page}: typed in {monotonic() - begun:.0f} s", flush=True)
            if page == "first-comparison":
                _photograph(folder / "report" / "index.html", kept / "page.png")


def _photograph(page: Path, picture: Path) -> None:
    """The beginning of a page, as Chromium shows it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no screenshot without Chromium (Debian's package chromium)")
        return
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        size = ["--window-size=1100,1250", f"--screenshot={picture}"]
        subprocess.run([chromium, *flags, *size, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What the README and the pages of docs/ show is what the code does."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

import nasbench as front
from nasbench.base.registry import Registry
from nasbench.benchmarks import BENCHMARKS
from nasbench.benchmarks.spaces.trainable import SPACES
from nasbench.benchmarks.tabular.guess import guess
from nasbench.cli.engine.executors import EXECUTORS
from nasbench.cli.engine.suites import load_suite
from nasbench.cli.main import COMMANDS
from nasbench.methods import METHODS
from research.tutorials import typed
from tests.conftest import Printed

ROOT = Path(__file__).parent.parent
FILES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
FILES += sorted(path for path in (ROOT / "docs").glob("**/*.md") if not path.is_symlink())
PAGES = {str(path.relative_to(ROOT)): path.read_text() for path in FILES}
GROUPS = {
    "archive": ("make", "check"),
    "data": ("list", "fetch", "verify"),
    "import": ("table", "nas-bench-201", "nas-bench-101", "nats-bench-size", "taskset", "columns", "runs"),
}
DOCTEST = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL

each_page = pytest.mark.parametrize("page", sorted(PAGES))


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    runs: bool
    """False below the comment `<!-- not run: why -->`."""


def blocks(page: str) -> list[Block]:
    found = re.findall(r"(<!-- not run: [^\n]+ -->\n)?```([a-z]*)\n(.*?)```", PAGES[page], re.DOTALL)
    return [Block(language, text, not comment) for comment, language, text in found]


def prose(page: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"```.*?```", "", PAGES[page], flags=re.DOTALL)


def commands(page: str) -> Iterator[list[str]]:
    """The words after `nasbench` of every command line in a page, in its blocks and in its sentences."""
    for block in blocks(page):
        if not block.language:
            text = re.sub(r"\\\n\s*", "", block.text)
            for line in re.findall(r"^(?:\$ )?nasbench (.+)$", text, re.MULTILINE):
                yield shlex.split(line, comments=True)
    for line in re.findall(r"`nasbench ([^`]+)`", prose(page)):
        yield shlex.split(line.replace("\\|", "|").replace("'", ""))


@pytest.fixture(scope="module")
def helped() -> Callable[[tuple[str, ...]], str]:
    """The help of a command, read once."""
    from click.testing import CliRunner

    from nasbench.cli.main import cli

    known: dict[tuple[str, ...], str] = {}

    def read(words: tuple[str, ...]) -> str:
        if words not in known:
            known[words] = CliRunner().invoke(cli, [*words, "--help"]).output
        return known[words]

    return read


@each_page
def test_every_command_on_a_page_exists_with_all_of_its_options(page: str, helped: Callable[..., str]) -> None:
    for words in commands(page):
        name = words[0]
        if name.startswith("-") or not re.fullmatch(r"[a-z-]+", name):
            continue  # `nasbench --help`, `nasbench COMMAND`
        assert name in COMMANDS, words
        inner = tuple(words[1:2]) if name in GROUPS and words[1:] else ()
        assert not inner or inner[0] in GROUPS[name], words
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words[1:])):
            assert re.search(rf"{option}\b(?!-)", helped((name, *inner))), f"nasbench {name} has no {option}"


@each_page
def test_every_option_named_in_a_sentence_exists(page: str, helped: Callable[..., str]) -> None:
    everything = [(name,) for name in COMMANDS] + [(group, name) for group, names in GROUPS.items() for name in names]
    known = " ".join(map(helped, everything))
    named = set(re.findall(r"`(--[a-z][a-z-]+)[^`]*`", prose(page)))
    assert {option for option in named if not re.search(rf"{option}\b(?!-)", known)} == set()


@each_page
def test_every_suite_and_every_target_of_make_exists(page: str) -> None:
    for name in re.findall(r"--suite (?:suites/)?([a-z0-9-]+)", PAGES[page]):
        assert (ROOT / "suites" / f"{name}.toml").exists(), name
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`|\. )make ([a-z-]+)\b(?! [a-z])", PAGES[page], re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_an_extra_that_is_not_there_is_refused_before_pip() -> None:
    make = ["make", "-s", "-o", ".venv/core", f"BIN={Path(sys.executable).parent}", "PIP=echo pip", "setup"]
    refused = subprocess.run([*make, "EXTRAS=dev,foo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "EXTRAS: there is no foo; allowed: dev, docs, gp, live" in refused.stderr
    assert refused.stdout == ""
    accepted = subprocess.run([*make, "EXTRAS=dev,live"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "pip --no-build-isolation -e .[dev,live]" in accepted.stdout


@each_page
def test_every_path_on_a_page_exists(page: str) -> None:
    rooms = "nasbench_cli|methods|benchmarks|results|tests|suites|examples|research|docs"
    for path in re.findall(rf"`((?:{rooms})/[\w./-]*)`", prose(page)):
        assert (ROOT / path).exists(), path


@each_page
def test_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE) if path.suffix == ".md" else []
        slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}
        assert not anchor or anchor in slugs, target


@each_page
def test_every_toml_block_loads(page: str, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            facts = tomllib.loads(block.text)
            if "grid" in facts:
                path = tmp_path / "suite.toml"
                path.write_text(block.text)
                assert load_suite(path).grids


@pytest.fixture
def workplace(nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the store `runs/demo`; what pages register is forgotten afterwards."""
    registries: list[Registry[object]] = [METHODS, BENCHMARKS, SPACES, EXECUTORS]  # type: ignore[list-item]
    for registry in registries:
        registry.names()
        # Whoever follows a page has what it registers already.
        own = {"greedy", "restarts", "first-choice", "my-space", "parabola", "subsets", "small", "pool"}
        monkeypatch.setattr(registry, "_items", {n: item for n, item in registry._items.items() if n not in own})
    monkeypatch.chdir(tmp_path)
    asked = ["--method", "random", "--method", "evolution", "--bench", "nb201-cifar10", "--seeds", 2, "--evals", 20]
    assert nasbench("run", *asked, "--store", "runs/demo").code == 0
    return tmp_path


def run_python(page: str) -> None:
    """Runs the Python blocks of a page one after the other: sessions as doctests, files as they stand."""
    names: dict[str, object] = {"__name__": "page"}
    runner = doctest.DocTestRunner(optionflags=DOCTEST)
    for number, block in enumerate(block for block in blocks(page) if block.language == "python" and block.runs):
        if block.text.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block.text, names, f"{page}[{number}]", page, 0)
            runner.run(test, clear_globs=False)
            names |= test.globs
        else:
            exec(compile(block.text, page, "exec"), names)
    assert runner.summarize(verbose=False).failed == 0


def test_the_toml_of_the_page_on_a_csv_is_guessed(tmp_path: Path) -> None:
    data = tmp_path / "perceptrons.csv"
    shutil.copy(ROOT / "examples" / "digits_mlp.csv", data)
    (shown,) = (block.text for block in blocks("docs/from-csv-to-figure.md") if block.language == "toml")
    assert shown in guess(data).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "count", "made"),
    [
        ("from-csv-to-figure", 6, "paper/fig-ranks.pdf"),
        ("first-comparison", 4, "paper/fig-ranks.pdf"),
        ("elsewhere", 8, "report-both/index.html"),
        ("own-method", 5, "paper/fig-ranks.pdf"),
        ("train-networks", 4, "paper/fig-ranks.pdf"),
        ("programs", 3, "runs/agent/0-schema.parquet"),
    ],
)
def test_the_commands_of_a_page_print_what_it_shows(page: str, count: int, made: str, tmp_path: Path) -> None:
    results = list(typed(page, tmp_path))
    assert len(results) == count
    for command, expected, done in results:
        assert done.returncode == 0, done.stderr
        found, wanted = (re.sub(r"in [\d.]+ s \([\d,]+/s\)", "in time", text) for text in (done.stdout, expected))
        pattern = ".*".join(map(re.escape, wanted.strip().split("…")))
        assert re.fullmatch(pattern, found.strip(), re.DOTALL), (command, found)
    assert (tmp_path / made).is_file()


@pytest.mark.parametrize("page", [p for p in sorted(PAGES) if any(b.language == "python" for b in blocks(p))])
def test_the_python_of_a_page_runs(page: str, workplace: Path) -> None:
    if "network import Network" in PAGES[page] or "SPACES.register" in PAGES[page]:
        pytest.importorskip("torch")
    run_python(page)


def test_the_examples_of_the_public_interface_run(workplace: Path) -> None:
    found = doctest.testmod(front, optionflags=DOCTEST)
    assert found.failed == 0
    assert found.attempted > 5


def test_the_method_of_the_readme_runs(nasbench: Callable[..., Printed], workplace: Path) -> None:
    run_python("README.md")
    asked = ["--method", "greedy:restart=0.2", "--method", "random", "--bench", "hpolib-naval", "--seeds", 3]
    assert nasbench("run", *asked, "--constrain", "train_time@0.1", "--evals", 50, "--store", "s").code == 0
    assert set(pd.read_parquet("s")["method"]) == {"greedy:restart=0.2", "random"}


def test_the_methods_and_benchmarks_of_the_pages_keep_their_promises(
    nasbench: Callable[..., Printed], workplace: Path
) -> None:
    run_python("README.md")
    run_python("docs/plugins.md")
    for words in (["greedy"], ["restarts", "--bench", "parabola"], ["parabola"], ["subsets"], ["orders"]):
        checked = nasbench("check", *words)
        assert checked.code == 0, checked.out
    matrix = json.loads(nasbench("list", "--matrix", "--json").out)
    ours = [m for m in METHODS.names() if not METHODS.is_foreign(m) and m not in ("greedy", "restarts")]
    assert {m for m in ours if matrix[m]["orders"] == "fits"} == {"random", "local", "evolution", "smbo", "bananas"}


@pytest.mark.slow
def test_the_executor_of_the_pages_keeps_its_promises(nasbench: Callable[..., Printed], workplace: Path) -> None:
    run_python("docs/plugins.md")
    checked = nasbench("check", "pool")
    assert checked.code == 0, checked.out


def test_the_search_space_of_the_pages_is_one(nasbench: Callable[..., Printed], workplace: Path) -> None:
    pytest.importorskip("torch")
    run_python("docs/search-space-language.md")
    assert "repeat-0/conv2d-1.kernel_size" in nasbench("show", "my-space").out
    checked = nasbench("check", "my-space")
    assert checked.code == 0, checked.out
    asked = ["--method", "random", "--method", "smbo", "--method", "mcts", "--method", "c-tpe", "--bench", "my-space"]
    done = nasbench("run", *asked, "--constrain", "filters<=60", "--seeds", 3, "--evals", 30, "--store", "s")
    assert done.code == 0, done.err
    frame = pd.read_parquet("s")
    assert set(frame["method"]) == {"random", "smbo", "mcts", "c-tpe"}
    assert frame.groupby(["method", "seed"])["incumbent"].last().min() < 20


def test_the_trained_space_of_the_pages_is_one(nasbench: Callable[..., Printed], workplace: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    run_python("docs/live-training.md")
    asked = ["run", "--method", "smbo", "--bench", "digits/small@1", "--seeds", 1, "--evals", 3]
    done = nasbench(*asked, "--store", "s")
    assert done.code == 0, done.err
    assert set(pd.read_parquet("s")["status"]) == {"ok"}


def test_the_columns_of_the_store_are_those_of_its_page(workplace: Path) -> None:
    (table,) = re.findall(r"## Columns.*?\n(\| column.*?)\n\n", PAGES["docs/store.md"], re.DOTALL)
    named = re.findall(r"`([\w.]+)`", " ".join(row.split("|")[1] for row in table.splitlines()))
    stored = [name for name in pd.read_parquet("runs/demo").columns if not name.startswith("metric.")]
    assert named == [*stored, "metric.NAME"]


def test_published_numbers_on_the_pages_are_those_of_the_file() -> None:
    table = json.loads((ROOT / "suites" / "claims" / "deep_architect.json").read_text())["table_2_test_accuracy"]
    names = {"random": "random", "mcts": "MCTS", "smbo": "SMBO", "evolution": "evolution"}
    for name, (mean, _) in table.items():
        assert re.search(rf"{names[name]}\s{mean:.2f}", PAGES["docs/findings/deep-architect.md"])


def test_the_site_has_every_page() -> None:
    """The notebook is linked from its own pages alone."""
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("**/*.md")}
    apart = {page for page in there if page.startswith(("findings/", "notebook/", "reference/methods/"))}
    assert sorted(listed) == sorted(there - apart)


def test_every_page_of_the_notebook_is_linked() -> None:
    for folder in ("findings", "notebook"):
        index = PAGES["docs/notebook/index.md"] + PAGES["docs/findings/index.md"]
        for path in (ROOT / "docs" / folder).glob("*.md"):
            assert path.stem == "index" or re.search(rf"[(/]{path.stem}\.md", index), path


def test_the_readme_is_a_front_page() -> None:
    text = PAGES["README.md"]
    assert len(text.split()) <= 900
    assert "nasbench run" in "\n".join(text.splitlines()[:25])
    assert "Wilcoxon" in "\n".join(text.splitlines()[:25])
    assert text.count("![") == 1


def test_answers_are_short_and_questions_are_questions() -> None:
    questions = re.split(r"^### ", PAGES["docs/faq.md"], flags=re.MULTILINE)[1:]
    assert len(questions) >= 30
    for question, _, answer in (text.partition("\n") for text in questions):
        assert question.endswith("?")
        assert len(re.split(r"^## ", answer, flags=re.MULTILINE)[0].split()) <= 60, question


def test_the_site_builds_offline(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr

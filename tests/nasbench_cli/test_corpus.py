"""A thousand command lines and two thousand files that somebody got wrong: each is refused in one sentence, at once."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.benchmarks.small_table import CSV, SPEC
from tests.conftest import Printed, at_most
from tests.methods.fixtures import FIXTURES

pytest.importorskip("torch")
pytest.importorskip("sklearn")

pytestmark = pytest.mark.slow

Command: TypeAlias = Callable[..., Printed]
Edit: TypeAlias = Callable[[random.Random, bytes], bytes]

ODD_WORDS = [
    "",
    " ",
    "é",
    "\u202e",
    "=1+1",
    "<b>",
    "%s",
    "{}",
    "[",
    "\\",
    "'",
    '"',
    "\x1b]0;t\x07",
    "x" * 300,
    "9" * 5000,
]
BAD_COUNTS = ["", "x", "1.5", "1e3", "nan", "inf", "-1", "0", "9" * 5000, "0x10", "½"]
BAD_SECONDS = ["", "x", "nan", "inf", "-1", "0", "1e400", "1:00"]
BAD_METHODS = [
    "",
    "rnadom",
    "random:x=1",
    "evolution:population=0",
    "evolution:population=nan",
    "evolution:population=",
]
BAD_METHODS += ["evolution:population", "evolution::", "evolution:population=1e400", ":", "nb201-cifar10"]
BAD_METHODS += [f"evolution:population={'9' * 5000}", "tpe:initial=[[", "own.py:", "absent.py:X"]
BAD_BENCHES = ["", "nb201", "nb201-cifar10@3", "mlp:", "mlp:absent.csv", "mlp:.@3", "digits@0", "digits/none"]
BAD_BENCHES += [
    "digits@",
    "digits@x",
    "digits/nasbench201@-1",
    "@",
    "/",
    "..",
    "hpolib-naval@1@2",
    "nb201-cifar10:x",
    "digits@" + "9" * 5000,
]
BAD_CONSTRAINTS = ["a", "model_size", "model_size@", "model_size@2", "model_size@nan", "model_size<=", "model_size<=x"]
BAD_CONSTRAINTS += ["absent<=1", "<=", "@", "model_size==1", "model_size<=nan", "model_size@XL", "a@b@c", "none,none"]
BAD_SEEDS = ["", "0", "-1", "3:1", "3:3", "x", ":", "1:", "1.5", "9" * 12, "0:99999999", "1:2:3", "٣٣٣x"]
BAD_EXECUTORS = ["slurm", "serial:", "serial:jobs=2", *ODD_WORDS]
BAD_EXECUTORS += [f"processes:ask_seconds={seconds}" for seconds in ("", "0", "-1", "nan", "x")]
BAD_SHARDS = ["", "0/2", "3/2", "1/0", "x", "1", "-1/2", "1/2/3", "1.5/2", "1/" + "9" * 5000]
BAD_STORES = ["s\udcff", "absent", "file", "folder", "x" * 300, "file/below", "/dev/null", "", "loop"]
BAD_SUITES = ["f\udcff", "absent", "file", "folder", "/dev/null", "x" * 300, "loop", "binary", "../absent.toml", ""]
BAD_FILES = ["f\udcff", "absent", "file", "folder", "/dev/null", "x" * 300, "loop", "binary", ""]

POSSIBLE: dict[str, dict[str, tuple[list[str], list[str]]]] = {
    "run": {
        "--method": (["random", "evolution:population=5"], [*BAD_METHODS, *ODD_WORDS]),
        "--bench": (["nb201-cifar10", "hpolib-naval"], [*BAD_BENCHES, *ODD_WORDS]),
        "--constrain": (["none", "model_size@0.5"], [*BAD_CONSTRAINTS, *ODD_WORDS]),
        "--seeds": (["1", "0:2"], [*BAD_SEEDS, *ODD_WORDS]),
        "--evals": (["3"], [*BAD_COUNTS, *ODD_WORDS]),
        "--workers": (["2"], [*BAD_COUNTS, *ODD_WORDS]),
        "--jobs": (["1"], BAD_COUNTS),
        "--budget-seconds": (["50"], BAD_SECONDS),
        "--shard": (["1/2"], [*BAD_SHARDS, *ODD_WORDS]),
        "--executor": (["serial", "processes:ask_seconds=50"], BAD_EXECUTORS),
        "--store": (["new"], [store for store in BAD_STORES if store not in ("absent", "")]),
        "--data-dir": (["folder"], ["file"]),
    },
    "plan": {
        "": (["suite.toml"], BAD_SUITES),
        "--shard": (["1/2"], [*BAD_SHARDS, *ODD_WORDS]),
        "--without": (["random"], ["", "tpe", *ODD_WORDS]),
        "--store": (["store"], ["file", "folder", "x" * 300, "/dev/null"]),
    },
    "report": {
        "": (["store"], BAD_STORES),
        "--baseline": (["random"], ["tpe", *BAD_METHODS, *ODD_WORDS]),
        "--checkpoints": (["2", "1,3"], ["", "0", "x", "1,,2", "-1", "99", "1.5", "9" * 5000, *ODD_WORDS]),
        "--protocol": (["3 evaluations"], ["nothing", *ODD_WORDS]),
        "--score": (["mean"], ["", "means", *ODD_WORDS]),
        "--out": (["page"], ["store", "store/page", "file", "folder", "loop"]),
        "--format": (["csv"], ["", "docx", "csv,", ",", *ODD_WORDS]),
    },
    "status": {"": (["store"], BAD_STORES), "--data-dir": (["folder"], ["file"])},
    "show": {"": (["random", "hpolib-naval"], [*BAD_METHODS[:2], *BAD_BENCHES, *ODD_WORDS])},
    "check": {
        "": (["random"], [*BAD_METHODS, *ODD_WORDS]),
        "--bench": (["nb201-cifar10"], [*BAD_BENCHES, *ODD_WORDS]),
    },
    "list": {"": (["methods", "suites"], ["", "everything", *ODD_WORDS]), "--data-dir": (["folder"], ["file"])},
    "distance": {
        "": (["net.json"], BAD_FILES),
        " ": (["net.json"], BAD_FILES),
        "--nu": (["0.5"], ["", "x", "nan", "-1", "0", *ODD_WORDS]),
    },
    "import table": {"": (["table.csv"], BAD_FILES), "--spec": (["spec.toml"], BAD_FILES)},
    "import nas-bench-201": {"": ([], BAD_FILES)},
    "tabulate": {
        "": (["digits/nasbench201"], [*BAD_BENCHES, "nb201-cifar10", *ODD_WORDS]),
        "--sample": (["200"], ["", "x", "0", "-1", "99999", "1e3", *ODD_WORDS]),
        "--shard": (["1/2"], [*BAD_SHARDS, *ODD_WORDS]),
        "--repetitions": (["1"], [*BAD_COUNTS, "256"]),
        "--out": (["folder/table"], ["file/below/table"]),
    },
    "data verify": {"": ([], ["", "absent", "digits", *ODD_WORDS])},
    "show-run": {
        "": (["store"], BAD_STORES),
        " ": (["random"], ["tpe", *BAD_METHODS, *ODD_WORDS]),
        "  ": (["nb201-cifar10"], ["hpolib-naval", *BAD_BENCHES, *ODD_WORDS]),
        "   ": (["0"], ["99", *BAD_COUNTS[:-4], *ODD_WORDS]),
        "--constrain": (["none"], [*BAD_CONSTRAINTS, *ODD_WORDS]),
    },
}
"""Command → option (blank: an argument) → values that are good, and values that are not."""

SUITE = """
title = "a suite"
checkpoints = [2, 3]
baseline = "random"
[[grid]]
methods = ["random", "evolution:population=5,tournament=2"]
benchmarks = ["nb201-cifar10"]
constraints = ["none", "model_size@0.5"]
seeds = 2
evals = 3
[[grid]]
methods = ["random"]
benchmarks = ["hpolib-naval"]
seeds = "0:2"
budget_seconds = 50.5
workers = 2
charge_thinking = true
"""
WHOLE_SPEC = (
    SPEC.replace("cost =", 'family = "own"\nsource = "me"\nlicence = "MIT"\ncost =')
    .replace('name = "act"', 'name = "act"\ncolumn = "what"')
    .replace('unit = "s"', 'unit = "s"\ndirection = "minimise"')
) + "[extract]\nact = '(?P<what>[a-z]+)'\n"
NETWORK = next(n for n in FIXTURES["fig1"]["code_default"]["networks"] if n["name"] == "a")


@pytest.fixture
def timed(nasbench: Command) -> Command:
    """A command line that may take five seconds."""

    def call(*words: object) -> Printed:
        with at_most(5.0):
            return nasbench(*words)

    return call


@pytest.fixture
def here(tmp_path: Path, nasbench: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store and with good and bad files, in which everything has been used once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("precious")
    (tmp_path / "file").write_text("neither this nor that")
    (tmp_path / "f\udcff").write_text("its name is not text")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "net.json").write_text(json.dumps(NETWORK))
    (tmp_path / "table.csv").write_text(CSV)
    (tmp_path / "spec.toml").write_text(WHOLE_SPEC)
    run = ["run", "--method", "random", "--method", "evolution:population=5", "--bench", "nb201-cifar10"]
    good = [[*run, "--seeds", "2", "--evals", "3", "--store", "store"], ["report", "store", "--format", "csv"]]
    good += [["plan", "suite.toml"], ["status", "store"], ["distance", "net.json", "net.json"]]
    good += [["import", "table", "table.csv", "--spec", "spec.toml"], ["show", "digits/nasbench201"]]
    good += [["show-run", "store", "random", "nb201-cifar10", "0"], ["check", "random", "--bench", "nb201-cifar10"]]
    for words in good:
        assert nasbench(*words).code == 0, words
    return tmp_path


def is_refused(done: Printed, said: object) -> bool:
    """Whether a command line was refused, and then in one sentence; otherwise it must have done what it was asked."""
    assert done.code in (0, 2), (said, done)
    assert "Traceback" not in done.err, said
    assert "defect" not in done.err, (said, done.err)
    if done.code == 2:
        assert done.err.startswith("nasbench: "), (said, done.err)
        assert done.err.count("\n") == 1, (said, done.err)
        assert done.err[:-1].isprintable(), (said, done.err)
        assert len(done.err) < 4000, (said, done.err)
    return done.code == 2


def line(rng: random.Random) -> list[str]:
    """A command line of which one value, or more, is wrong, or that has an option too many or an argument too few."""
    command = rng.choice(list(POSSIBLE))
    options = POSSIBLE[command]
    wrong = {rng.choice(list(options)) for _ in range(rng.choice((1, 1, 1, 2, 3)))}
    words = command.split()
    for option, (good, bad) in options.items():
        if (
            option.strip()
            and option not in wrong
            and rng.random() < 0.5
            and option not in ("--method", "--bench", "--spec")
        ):
            continue
        value = rng.choice(bad if option in wrong else good or bad)
        words += [value] if not option.strip() else [f"{option}={value}"] if rng.random() < 0.5 else [option, value]
    return words


def test_a_thousand_wrong_command_lines_are_refused_in_one_sentence(here: Path, timed: Command) -> None:
    rng = random.Random(17)
    before = sorted(here.rglob("*"))
    accepted = []
    for _ in range(1000):
        words = line(rng)
        if not is_refused(timed(*words), words):
            accepted.append(words)
    assert accepted == []
    assert sorted(here.rglob("*")) == before


def test_no_specification_is_guessed_of_what_is_no_table(here: Path, timed: Command) -> None:
    before = sorted(here.rglob("*"))
    for name in [*BAD_FILES, "", "."]:
        assert is_refused(timed("import", "table", name, "--guess"), name)
    assert sorted(here.rglob("*")) == before


def some(rng: random.Random, content: bytes) -> tuple[int, int]:
    begin = rng.randrange(len(content) + 1)
    return begin, min(len(content), begin + rng.choice((1, 1, 5, 50)))


def flip(rng: random.Random, content: bytes) -> bytes:
    begin, end = some(rng, content)
    return (
        content[:begin] + bytes(byte ^ 1 << rng.randrange(8) for byte in content[begin:end][:1]) + content[begin + 1 :]
    )


def leave_out(rng: random.Random, content: bytes) -> bytes:
    begin, end = some(rng, content)
    return content[:begin] + content[end:]


def double(rng: random.Random, content: bytes) -> bytes:
    begin, end = some(rng, content)
    return content[:end] + content[begin:]


def cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def move_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def drop_line(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(part for i, part in enumerate(lines) if i != rng.randrange(len(lines) + 1))


INSERTED = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\t",
    b"\x1b]0;t\x07",
    b'"',
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b"#",
    b",",
]
INSERTED += [
    b"[" * 500,
    b"a." * 3000,
    b"{a=" * 300,
    b"x" * 2_000_000,
    b'"""',
    b"\n\n",
    "é\u202e".encode(),
    b"nan",
    b"= 1",
]


def insert(rng: random.Random, content: bytes) -> bytes:
    begin, _ = some(rng, content)
    return content[:begin] + rng.choice(INSERTED) + content[begin:]


VALUES = [
    b"0",
    b"-1",
    b"1e400",
    b"nan",
    b"-inf",
    b"NaN",
    b"Infinity",
    b"-0.0",
    b"1e-320",
    b"1" + b"0" * 400,
    b"9" * 5000,
]
VALUES += [
    b"true",
    b"null",
    b'"text"',
    b'""',
    b"[]",
    b"{}",
    b"[[]]",
    b"[1, 2]",
    b"1979-05-27",
    b"0x10",
    b"1_000",
    b"1000000",
]
VALUES += [
    b'"=HYPERLINK(1)"',
    b'"<script>"',
    b'"a\\u0000b"',
    b'"mlp:a\\u0000b.csv"',
    b'"' + b"x" * 5000 + b'"',
    b'"\\ud800"',
]
VALUES += [b"{a = 1}", b'["random"]', b'[""]', b'"digits"', b'"("', b'"(?P<lr>.*)"', b'"minimise"', b'"nasbench201"']


def replace_value(rng: random.Random, content: bytes) -> bytes:
    places = list(re.finditer(rb'"[^"\n]*"|[\d.]+|true|null|\[[^\[\]]*\]', content))
    if not places:
        return content
    found = rng.choice(places)
    return content[: found.start()] + rng.choice(VALUES) + content[found.end() :]


def swap_values(rng: random.Random, content: bytes) -> bytes:
    """One value stands where another one stood."""
    values = re.findall(rb'"[^"\n]*"|[\d.]+', content)
    return content.replace(rng.choice(values), rng.choice(values), 1) if values else content


EDITS: list[Edit] = [flip, leave_out, double, cut, move_lines, drop_line, insert, swap_values, *[replace_value] * 4]


def spoilt(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = rng.choice(EDITS)(rng, content)
    return content


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("suite.toml", ["plan", "suite.toml"]),
        ("spec.toml", ["import", "table", "table.csv", "--spec", "spec.toml"]),
        ("table.csv", ["import", "table", "table.csv", "--spec", "spec.toml"]),
        ("net.json", ["distance", "net.json", "good.json"]),
    ],
)
def test_five_hundred_spoilt_files_are_read_or_refused_in_one_sentence(
    name: str, command: list[str], here: Path, timed: Command
) -> None:
    rng = random.Random(name)
    (here / "net.json").rename(here / "good.json")
    if name == "net.json":
        (here / name).write_text(json.dumps(NETWORK, indent=1))
    good = (here / name).read_bytes()
    refused = 0
    for number in range(500):
        (here / name).write_bytes(spoilt(rng, good))
        refused += is_refused(timed(*command), (number, (here / name).read_bytes()[:3000]))
    assert refused > 200

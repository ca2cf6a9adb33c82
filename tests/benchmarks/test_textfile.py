"""Files that a user writes: what is too large, too deep or no text is one sentence, at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nasbench.base import textfile
from nasbench.benchmarks import UsageError
from tests.conftest import at_most

PARSERS: list[Callable[[Path, str], object]] = [textfile.parse_toml, textfile.parse_json]


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Five seconds of the processor; one of these files took the parser 86."""
    with at_most(5.0):
        yield


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"#" * 10_000_000, "more than 1,048,576 bytes"), (b"a = '\xff'", "not a text file"), (b"", "")],
)
def test_what_is_no_small_text_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    if said:
        with pytest.raises(UsageError, match=f"file.toml .*{said}"):
            textfile.read(path)
    else:
        assert textfile.read(path) == ""


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(os.devnull), tmp_path / "pipe"):
        with pytest.raises(UsageError, match=f"{path} is not a regular file"):
            textfile.read(path)
    with pytest.raises(IsADirectoryError):
        textfile.read(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 50_000) + " = 1",
        "[" + " . ".join(["a-b"] * 50_000) + "]",
        "\n".join(f"[{'.'.join(['a'] * 900)}.b{i}]" for i in range(500)),
        '"a b".' * 50_000 + "c = 1",
        "a = {b = '''c'd''', " + ".".join(["x"] * 50_000) + " = 1, e = 'f'}",
        'a = {b = """c"d"""", ' + '"x".' * 50_000 + "y = 1, e = 'f'}",
        "# don't\n" + ".".join(["x"] * 50_000) + " = '1'",
        r'"\"".' * 17_000 + "c = 1",
        "a = " + "[" * 100_000,
        "a = " + "{a = " * 900 + "1" + "}" * 900,
    ],
)
def test_toml_that_is_nested_deeply_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="file is nested too deeply"):
        textfile.parse_toml(Path("file"), text)


def test_json_that_is_nested_deeply_is_refused() -> None:
    with pytest.raises(UsageError, match="file is nested too deeply"):
        textfile.parse_json(Path("file"), "[" * 100_000)


@pytest.mark.parametrize("text", ["{" + "1" * 5000, "9" * 5000, '{"a": ' + "9" * 5000 + "}", "a = " + "9" * 5000])
@pytest.mark.parametrize("parse", PARSERS)
def test_what_is_neither_is_said(parse: Callable[[Path, str], object], text: str) -> None:
    with pytest.raises(UsageError, match=r"file is not (TOML|JSON)"):
        parse(Path("file"), text)


@pytest.mark.parametrize("number", [2**63, -(10**400)])
def test_whole_numbers_have_64_bits(number: int) -> None:
    for parse, text in zip(PARSERS, (f"a = [{{b = {number}}}]", f'{{"a": [{number}]}}'), strict=True):
        with pytest.raises(UsageError, match="more than 64 bits"):
            parse(Path("file"), text)


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert textfile.read(tmp_path / "file.toml") == "a = 1\n"


def test_what_people_write_is_read() -> None:
    text = "# don't\n[a.b.'c d']\ne = [0.1, 0.2, 3.4]\nf = 'a.b.c'\n"
    text += f"g = {[i / 7 for i in range(1000)]}\nh = '{'.'.join('word' for _ in range(200))}'\n"
    found = textfile.parse_toml(Path("file"), text)
    assert found["a"]["b"]["c d"]["e"] == [0.1, 0.2, 3.4]
    assert len(found["a"]["b"]["c d"]["g"]) == 1000

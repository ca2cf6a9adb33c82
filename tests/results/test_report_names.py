"""Names and numbers as a report writes them, and what an earlier report left."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from nasbench.base.numbers import fixed, p_is, p_value
from nasbench.results import Store
from nasbench.results.report import report
from nasbench.results.report.request import Request
from tests.results.conftest import Fill, make_run, make_setup


@pytest.fixture
def compared(filled: Fill) -> Store:
    return filled({make_setup(m): [make_run(s, [3.0, 2.0 + s + i]) for s in range(6)] for i, m in enumerate(METHODS)})


METHODS = ("random", "evolution")


def test_names_of_methods_are_plain_text_in_every_head(compared: Store, tmp_path: Path) -> None:
    labels = {"random": "a|b", "evolution": "=EA"}
    request = Request(tmp_path / "out", formats=("md", "csv"), labels=labels)
    report.write([compared], request)
    heads = (tmp_path / "out" / "medians.csv").read_text().splitlines()[0]
    assert "'=EA" in heads
    rows = (tmp_path / "out" / "report.md").read_text().splitlines()
    tables = [(a, b) for a, b in pairwise(rows) if b.startswith("| ---")]
    assert tables
    assert all(len(re.findall(r"(?<!\\)\|", a)) == b.count("|") for a, b in tables)


def test_what_a_killed_report_left_is_no_obstacle(compared: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    left = out / f"..nasbench-report.{os.uname().nodename[:40]}.123.tmp"
    left.write_text("half")
    report.write([compared], Request(out, formats=("md",)))
    assert left.exists()  # it may be that of another report, which is being written
    os.utime(left, (0, 0))
    report.write([compared], Request(out, formats=("md",)))
    assert not left.exists()


def test_no_rounded_number_is_minus_zero() -> None:
    assert [fixed(value) for value in (-0.001, -0.005001, 0.0, -0.0, float("nan"))] == [
        "0.00",
        "-0.01",
        "0.00",
        "0.00",
        "-",
    ]


def test_a_p_value_has_three_digits_a_power_of_ten_or_a_bound() -> None:
    values = (0.0321, 0.001, 0.00099, 3e-99, 1e-200, float("nan"))
    assert [p_value(p) for p in values] == ["0.032", "0.001", "1e-03", "3e-99", "<1e-99", "-"]
    assert [p_is(p) for p in values[::4]] == ["p = 0.032", "p < 1e-99"]

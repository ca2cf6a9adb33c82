"""Size classes from searches: which networks count, and between which percentiles."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch")

from nasbench.benchmarks import abilities, open_benchmark, parse_constraints
from research import size_classes
from tests import few_digits
from tests.conftest import Lend


def test_classes_lie_between_the_percentiles_of_the_paper() -> None:
    found = size_classes.classes(partial(np.quantile, np.arange(101.0)), "size")  # type: ignore[arg-type]
    assert found == {"S": "size<=20", "M": "size>=40+size<=60", "L": "size>=80+size<=95"}
    assert [len(parse_constraints([text])) for text in found.values()] == [1, 2, 2]


def test_every_search_draws_networks_of_its_own(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    benchmark = open_benchmark(few_digits.register(monkeypatch, lend))
    drawn = size_classes.sizes_drawn(benchmark, "one-shot-random", size_classes.METRIC, 2, 20)
    assert len(drawn) == 40
    assert drawn[:20] != drawn[20:]
    smallest = min(abilities.quantile(benchmark, size_classes.METRIC, q) for q in (0.0, 1.0))
    assert min(drawn) >= 0.5 * smallest > 0


def test_classes_of_searches_stand_beside_those_of_random_networks(
    monkeypatch: pytest.MonkeyPatch, lend: Lend, capsys: pytest.CaptureFixture[str]
) -> None:
    name = few_digits.register(monkeypatch, lend)
    monkeypatch.setattr(sys, "argv", ["size_classes", name, "--method", "one-shot-random", "--draws", "5"])
    size_classes.main()
    header, *lines = capsys.readouterr().out.splitlines()
    assert "random networks" in header
    assert [line.split()[0] for line in lines] == ["S", "M", "L"]
    limit = abilities.quantile(open_benchmark(name), size_classes.METRIC, 0.2)
    assert lines[0].endswith(f"parameters_paper<={limit:.0f}")

"""A small trial of a suite: --bench and --seeds choose a part of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import Printed

SUITE = """
seeds = "5:9"
evals = 4
methods = ["random", "local"]
[[grid]]
benchmarks = ["nb201-cifar10", "nb201-cifar100"]
[[grid]]
benchmarks = ["hpolib-naval"]
seeds = 2
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return path


def planned(nasbench: Callable[..., Printed], suite: Path, *words: str) -> list[tuple[str, str, int]]:
    done = nasbench("plan", suite, *words, "--json", "--store", suite.parent / "store")
    assert done.code == 0, done.err
    return [(entry["method"], entry["bench"], entry["runs"]) for entry in json.loads(done.out)["setups"]]


def test_bench_and_seeds_choose_a_part(nasbench: Callable[..., Printed], suite: Path, tmp_path: Path) -> None:
    words = ["--bench", "nb201-cifar10", "--seeds", "3"]
    assert planned(nasbench, suite, *words) == [("random", "nb201-cifar10", 3), ("local", "nb201-cifar10", 3)]
    done = nasbench("run", "--suite", suite, *words, "--store", tmp_path / "store")
    assert done.code == 0, done.err
    frame = pd.concat(map(pd.read_parquet, (tmp_path / "store").glob("*nb201*.parquet")))
    assert set(frame["seed"]) == {5, 6, 7}
    whole = nasbench("run", "--suite", suite, "--store", tmp_path / "store")
    assert "20 runs in 6 setups: 6 (cached), 14 to run" in whole.out


def test_a_grid_with_fewer_seeds_keeps_all_of_its_own(nasbench: Callable[..., Printed], suite: Path) -> None:
    assert {(bench, runs) for _, bench, runs in planned(nasbench, suite, "--seeds", "3")} == {
        ("nb201-cifar10", 3), ("nb201-cifar100", 3), ("hpolib-naval", 2),
    }  # fmt: skip


def test_seeds_by_number_are_those_of_the_suite(nasbench: Callable[..., Printed], suite: Path) -> None:
    found = planned(nasbench, suite, "--seeds", "7:9")
    assert {(bench, runs) for _, bench, runs in found} == {("nb201-cifar10", 2), ("nb201-cifar100", 2)}


def test_method_still_replaces_the_methods_of_the_part(nasbench: Callable[..., Printed], suite: Path) -> None:
    words = ["--method", "evolution", "--bench", "hpolib-naval", "--seeds", "1"]
    assert planned(nasbench, suite, *words) == [("evolution", "hpolib-naval", 1)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--bench", "hpolib-slice"],
            "unknown benchmark of this suite 'hpolib-slice' (did you mean hpolib-naval?); allowed: hpolib-naval,",
        ),
        (["--bench", "nb201-cifar1000"], "did you mean nb201-cifar100?"),
        (["--seeds", "5"], "--seeds 5 is more than this suite has: its seeds are 5 to 8"),
        (["--seeds", "8:10"], "--seeds 8:10 is more than this suite has: its seeds are 5 to 8"),
        (["--seeds", "x"], "seeds 'x' must be a count"),
        (["--evals", "5"], "leave out --evals, or the suite; --bench and --seeds choose a part of it"),
    ],
)
def test_what_a_suite_has_not_is_one_sentence_with_what_it_has(
    words: list[str], sentence: str, nasbench: Callable[..., Printed], suite: Path, tmp_path: Path
) -> None:
    for command in (["run", "--suite", suite], ["plan", suite]):
        done = nasbench(*command, *words, "--store", tmp_path / "store")
        assert done.code == 2
        assert sentence in done.err

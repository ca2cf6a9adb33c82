"""A search that cannot end within its budget is refused before it begins, with the options that fit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import nasbench as package
from nasbench.benchmarks import UsageError, open_benchmark
from nasbench.cli.engine.long_searches import beginning
from nasbench.methods import METHODS, MethodSpec, Problem
from nasbench.methods.oneshot.one_shot import OneShot
from tests.conftest import Printed

ONE_SHOT = sorted(name for name in METHODS.names() if issubclass(METHODS.get(name), OneShot))


def test_a_search_longer_than_its_budget_is_not_begun(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["--method", "zo-darts++", "--bench", "digits", "--budget-seconds", "20", "--store", tmp_path / "store"]
    for command in ("plan", "run"):
        done = nasbench(command, *asked)
        assert done.code == 2
        assert "zo-darts++ does not run on digits: it searches for about" in done.err
        assert "the budget is 20 s" in done.err
    assert not (tmp_path / "store").exists()
    with pytest.raises(UsageError, match=r"zo-darts\+\+ does not run on digits: it searches for about"):
        package.run("zo-darts++", "digits", seconds=20)


def test_others_run_beside_it_and_force_searches_all_the_same(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["plan", "--method", "zo-darts++", "--method", "random", "--bench", "digits", "--budget-seconds", "20"]
    without = nasbench(*asked, "--store", tmp_path / "store", "--json")
    assert without.code == 0, without.err
    assert {entry["method"] for entry in json.loads(without.out)["setups"]} == {"random"}
    forced = nasbench(*asked, "--store", tmp_path / "store", "--json", "--force")
    assert {entry["method"] for entry in json.loads(forced.out)["setups"]} == {"zo-darts++", "random"}
    assert "nothing will be left of 20 s" in forced.err


def test_a_budget_of_evaluations_refuses_no_search(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["plan", "--method", "zo-darts++", "--bench", "digits", "--evals", "2", "--store", tmp_path / "store"]
    assert nasbench(*asked).code == 0


@pytest.mark.parametrize("name", ONE_SHOT)
def test_the_options_that_are_named_fit_the_budget(name: str, nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    problem = Problem.of(open_benchmark("digits"))
    whole = beginning(MethodSpec(name), problem)
    if not whole:
        assert not METHODS.get(name).about.shortened_by
        return
    asked = ["plan", "--bench", "digits", "--budget-seconds", f"{whole / 2:g}", "--store", tmp_path / "store"]
    refused = nasbench(*asked, "--method", name)
    named = re.search(r"the budget is \S+ s: (\S+) searches for about ", refused.err)
    assert named, refused.err
    assert beginning(MethodSpec.parse(named[1]), problem) <= whole / 2
    assert nasbench(*asked, "--method", named[1]).code == 0


def test_where_no_options_fit_none_are_named(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["plan", "--bench", "digits", "--budget-seconds", "1e-6", "--store", tmp_path / "store"]
    refused = nasbench(*asked, "--method", "zo-darts")
    assert refused.code == 2
    assert "the budget is 1e-06 s: a budget above" in refused.err

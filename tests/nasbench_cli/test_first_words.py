"""What a command says before it computes: why it refuses, what it computes on, what a budget will not show."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.methods import MethodSpec
from tests.conftest import Printed


@pytest.mark.parametrize("method", ["hyperband", "bohb"])
def test_a_method_that_needs_fidelities_is_refused_with_benchmarks_that_have_them(
    method: str, nasbench: Callable[..., Printed]
) -> None:
    refused = nasbench("run", "--method", method, "--bench", "hpolib-naval")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert (
        "that benchmark has one fidelity only; these have several: cells-organa, sk-boosting-cancer (and "
        in refused.err
    )
    assert " more sk-…), digits, medmnist-path (and 10 more medmnist-…)\n" in refused.err
    other = nasbench("run", "--method", "zo-darts", "--bench", "hpolib-naval")
    assert "these have several" not in other.err


def test_a_plan_warns_of_budgets_that_a_method_spends_at_random(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(
        'methods = ["random", "evolution", "tpe", "smbo:initial=3"]\nbenchmarks = ["hpolib-naval"]\nevals = 4\n'
    )
    asked = ("--store", tmp_path / "store")
    planned = nasbench("plan", tmp_path / "s.toml", *asked, "--json")
    assert json.loads(planned.out)["runs"] == 4
    told = "notice: the first {} configurations of {} are random, and its budget of 4 evaluations ends before"
    assert [told.format(*each) in planned.err for each in ((100, "evolution"), (10, "tpe"))] == [True, True]
    assert "smbo" not in planned.err
    assert nasbench("run", "--suite", tmp_path / "s.toml", *asked).err.count("are random") == 2
    assert "are random" not in nasbench("plan", tmp_path / "s.toml", *asked).err  # nothing is to run


@pytest.mark.slow
def test_a_plan_warns_of_searches_that_leave_nothing_of_a_budget(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    classes = 'constraints = ["parameters@S", "parameters@M"]\n'
    (tmp_path / "s.toml").write_text(f'methods = ["milenas"]\nbenchmarks = ["digits"]\nbudget_seconds = 0.5\n{classes}')
    planned = nasbench("plan", tmp_path / "s.toml", "--store", tmp_path / "store", "--force")
    assert planned.code == 0
    assert planned.err.count("nothing will be left of 0.5 s") == 1  # once for both constraints


@pytest.mark.parametrize(
    ("spec", "initial"),
    [("optuna", 10), ("optuna:sampler=nsga2", 50), ("optuna:sampler=gp,initial=4", 4), ("optuna:sampler=qmc", 0)],
)
def test_a_sampler_of_optuna_has_an_initial_phase_of_its_own(spec: str, initial: int) -> None:
    pytest.importorskip("optuna")
    assert MethodSpec.parse(spec).initial == initial


@pytest.mark.parametrize(
    ("spec", "initial"), [("popnas", 30), ("popnas:first=7", 7), ("evolution", 100), ("tpe", 10), ("random", 0)]
)
def test_a_method_says_how_much_it_proposes_before_it_learns(spec: str, initial: int) -> None:
    assert MethodSpec.parse(spec).initial == initial

"""A method that does not fit a benchmark is left out there with a sentence, and the others run."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import nasbench as package
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.plan import fitting
from nasbench.cli.engine.suites import load_suite
from nasbench.methods import METHODS, Needs
from tests.conftest import Lend, Printed
from tests.nasbench_cli.toys import Careful

SENTENCE = "hyperband does not run on nb201-cifar10 and nb201-imagenet16: it chooses how long to train"
ASKED = ["--method", "hyperband", "--method", "random", "--bench", "nb201-cifar10", "--bench", "nb201-imagenet16"]
SMALL = ["--seeds", "2", "--evals", "3"]


def test_a_misfit_is_left_out_and_the_others_run(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    done = nasbench("run", *ASKED, *SMALL, "--store", tmp_path / "store")
    assert done.code == 0, done.err
    assert done.err.count(f"left out: {SENTENCE}") == 2  # at the beginning and at the end
    assert done.err.rstrip().splitlines()[-1].startswith("left out: ")
    assert "4 runs computed, 12 evaluations" in done.out
    status = nasbench("status", tmp_path / "store")
    assert "hyperband" not in status.out


def test_plan_leaves_a_misfit_out_too(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    planned = nasbench("plan", *ASKED, *SMALL, "--store", tmp_path / "store", "--json")
    assert planned.code == 0, planned.err
    assert f"left out: {SENTENCE}" in planned.err
    facts = json.loads(planned.out)
    assert facts["runs"] == 4
    assert [sentence.startswith(SENTENCE) for sentence in facts["left_out"]] == [True]


def test_if_nothing_fits_it_is_an_error(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    for command in ("run", "plan"):
        done = nasbench(command, *ASKED[:2], *ASKED[4:], "--store", tmp_path / "store")
        assert done.code == 2
        assert SENTENCE in done.err
    assert not (tmp_path / "store").exists()


def test_a_wrong_option_is_an_error_even_if_others_fit(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    done = nasbench("run", "--method", "evolution:population=0", *ASKED, "--store", tmp_path / "store")
    assert done.code == 2
    assert "population" in done.err


def test_from_python_a_misfit_is_a_warning() -> None:
    with pytest.warns(UserWarning, match=f"^{SENTENCE}"):
        frame = package.run(["hyperband", "random"], ["nb201-cifar10", "nb201-imagenet16"], seeds=1, evals=2)
    assert set(frame["method"]) == {"random"}
    with warnings.catch_warnings(), pytest.raises(UsageError, match="hyperband does not run on nb201-cifar10"):
        warnings.simplefilter("error")
        package.run("hyperband", "nb201-cifar10")


def test_a_suite_leaves_a_misfit_out(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('methods = ["hyperband", "random"]\nbenchmarks = ["nb201-cifar10", "sk-boosting-wine"]\n')
    found = fitting(load_suite(file).grids)
    assert [(p.setup.method, p.setup.bench) for p in found.planned] == [
        ("random", "nb201-cifar10"), ("hyperband", "sk-boosting-wine"), ("random", "sk-boosting-wine"),
    ]  # fmt: skip
    (sentence,) = found.left_out
    assert sentence.startswith("hyperband does not run on nb201-cifar10: it chooses how long to train")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (
            lambda problem, _: "" if problem.flat.hyperparameters else "is odd",
            "this space is no list of hyper-parameters",
        ),
        (lambda problem, _: problem.no_such, r"AttributeError: .*no_such.* \(test_left_out.py:\d+\)"),
    ],
)
def test_a_method_that_fails_when_it_is_asked_is_left_out(
    nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend, answers: Callable[..., str], why: str
) -> None:
    """An error of its author in `Needs` ended the command for all."""

    class Failing(Careful):
        needs = Needs(unless=answers)

    lend(METHODS, "failing", Failing)
    asked = ["--method", "failing", "--method", "random", "--bench", "synthetic-cnn", "--seeds", "1", "--evals", "2"]
    done = nasbench("run", *asked, "--store", tmp_path / "store")
    assert done.code == 0, done.err
    said = f"left out: failing does not run on synthetic-cnn: it fails when asked whether it fits: {why}"
    assert re.search(said, done.err)


def test_what_a_constructor_finds_unfit_is_left_out(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["--method", "zo-darts", "--method", "random", "--bench", "digits", "--constrain", "parameters<=20"]
    planned = nasbench("plan", *asked, "--evals", "2", "--seeds", "1", "--store", tmp_path / "store", "--json")
    assert planned.code == 0, planned.err
    assert "left out: zo-darts does not run on digits: at most 20 parameters is below the smallest" in planned.err
    assert json.loads(planned.out)["runs"] == 1

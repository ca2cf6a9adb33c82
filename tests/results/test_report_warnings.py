"""Why methods are one, as a report says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.store.trajectory import Setup
from tests.results.conftest import SETTING, Fill, make_run, make_setup


@pytest.fixture
def warned(filled: Fill, tmp_path: Path) -> Callable[[dict[Setup, float]], list[str]]:
    """The warnings of a report on two seeds of each setup, whose three evaluations end at this value."""

    def warn(ends: dict[Setup, float]) -> list[str]:
        store = filled({setup: [make_run(s, [9.0, 8.0 - s, end]) for s in range(2)] for setup, end in ends.items()})
        found = report.write([store], Request(tmp_path / "out", formats=("md",))).verdict
        return [f"{warning}." for warning in found.warnings]

    return warn


def told(warnings: list[str], of: str) -> str:
    (found,) = [warning for warning in warnings if of in warning]
    return found


def test_methods_that_are_one_because_their_budget_ends_in_the_initial_phase(
    warned: Callable[[dict[Setup, float]], list[str]],
) -> None:
    same = {make_setup("a"): 2.0, make_setup("b", initial=10): 2.0, make_setup("c", initial=3): 2.0}
    found = warned(same | {make_setup("d", initial=3): 1.0, make_setup("e", initial=2): 3.0})
    why = "Their budget ends before they learn: the first 10 of b and 3 of c are random"
    assert told(found, "same incumbents").startswith("a, b and c have the same incumbents after every evaluation")
    assert told(found, "same incumbents").endswith(f"in ranks. {why}.")
    assert [w for w in found if "initial phase" in w] == [told(found, "d made at most 3 evaluations")]


def test_methods_that_are_one_although_they_learn_are_not_said_to_be_random(
    warned: Callable[[dict[Setup, float]], list[str]],
) -> None:
    there = {"constraint": "size@0.1"}
    found = warned({make_setup(m, initial=2, **there): 2.0 for m in "ab"} | {make_setup("c", **there): 1.0})
    assert told(found, "same incumbents").endswith("so they count as one method in ranks.")


def test_methods_that_are_one_for_want_of_a_constraint(warned: Callable[[dict[Setup, float]], list[str]]) -> None:
    found = warned({make_setup("a", initial=2): 2.0, make_setup("b", initial=2): 2.0, make_setup("c"): 1.0})
    assert "Perhaps they differ only under constraints, and no setting has one" in told(
        found, "a and b have the same incumbents"
    )


def test_methods_that_differ_under_constraints_alone(warned: Callable[[dict[Setup, float]], list[str]]) -> None:
    free, bound = (
        {make_setup(m, constraint=c): v for m, v in ends}
        for c, ends in (
            ("none", (("a", 2.0), ("b", 2.0), ("c", 1.0))),
            ("size@0.1", (("a", 2.0), ("b", 3.0), ("c", 1.0))),
        )
    )
    found = warned(free | bound)
    assert told(found, "identical") == (
        "a and b are identical where there is no constraint: they differ only under constraints."
    )


def test_a_caution_of_a_benchmark_is_repeated_once(warned: Callable[[dict[Setup, float]], list[str]]) -> None:
    setting = replace(SETTING, caution="short trainings rank something else")
    found = warned({make_setup(m, bench=b, setting=setting): 2.0 for m in "ab" for b in ("x", "y")})
    assert told(found, "something else") == "x and y: short trainings rank something else."


def test_a_caution_changes_no_identity_and_is_stored() -> None:
    plain, cautious = make_setup(), make_setup(setting=replace(SETTING, caution="short trainings"))
    assert plain.id == cautious.id
    assert Setup.from_json(cautious.to_json()) == cautious
    assert Setup.from_json(plain.to_json()) == plain


def test_methods_with_other_seeds_are_judged_on_those_in_common(filled: Fill, tmp_path: Path) -> None:
    def warnings(first: int) -> str:
        seeds = {"a": range(9), "b": range(first, first + 9)}
        runs = {make_setup(m): [make_run(s, [9.0, 8.0 - s, 1.0]) for s in own] for m, own in seeds.items()}
        asked = Request(tmp_path / f"{first}", formats=("md",))
        return " ".join(report.write([filled(runs)], asked).text.split())

    assert "methods have other seeds, in one setting only 6 in common" in warnings(3)
    assert "other seeds" not in warnings(0)

"""Claims of papers, held against runs."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.results.parts.claims import claims, part
from nasbench.results.reading import load, select
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from tests.results.conftest import LITERATURE, Fill, make_run, make_setup
from tests.results.drawn_runs import Values, clear, compared, setups


def held(filled: Fill, values: Values) -> dict[str, str]:
    found = claims(compared(filled, values), LITERATURE.claims, workers=1)
    return dict(zip(found["worse"], found["verdict"], strict=True)) if len(found) else {}


def test_claims_are_supported_reversed_not_supported_or_cannot_be_told(filled: Fill) -> None:
    rng = np.random.default_rng(5)
    place = ("x", "b", "none")
    many = {
        "nasbot": {place: rng.normal(5, 1, 20).tolist()},
        "nasbot-ea": {place: rng.normal(9, 1, 20).tolist()},
        "nasbot-rand:x=1": {place: rng.normal(1, 1, 20).tolist()},
        "random": {place: rng.normal(5, 1, 20).tolist()},
    }
    assert held(filled, many) == {
        "nasbot-ea": "supported",
        "nasbot-rand:x=1": "reversed",
        "random": "inconclusive",
    }


def test_an_advantage_that_is_excluded_is_not_supported(filled: Fill) -> None:
    rng = np.random.default_rng(2)
    places = [("x", f"b{i}", "none") for i in range(60)]
    values = {m: {place: rng.normal(5, 1, 20).tolist() for place in places} for m in ("nasbot", "random")}
    assert held(filled, values) == {"random": "not supported"}


def test_few_seeds_decide_no_claim(filled: Fill) -> None:
    values = dict(zip(("nasbot", "random"), clear("ab", seeds=4).values(), strict=True))
    assert held(filled, values) == {"random": "inconclusive"}


def test_a_claim_about_constraints_is_held_against_constrained_runs_alone(filled: Fill) -> None:
    values = dict(zip(("c-tpe", "tpe"), clear("ab").values(), strict=True))
    assert held(filled, values) == {}
    under = dict(zip(("c-tpe", "tpe"), clear("ab", place=("x", "b", "size@S")).values(), strict=True))
    assert held(filled, {m: values[m] | under[m] for m in values}) == {"tpe": "supported"}
    assert len(setups(under)) == 2


def test_a_foil_is_not_the_method_that_it_is_made_of(filled: Fill) -> None:
    values = dict(zip(("zo-darts++:T=8,estimate=noise", "darts", "zo-darts++:T=8"), clear("abc").values(), strict=True))
    found = claims(compared(filled, values), LITERATURE.claims, workers=1)
    assert found[["better", "worse"]].to_numpy().tolist() == [["zo-darts++:T=8", "darts"]]


def test_multi_fidelity_methods_have_claims_too(filled: Fill) -> None:
    values = dict(zip(("bohb", "hyperband", "random"), clear("abc").values(), strict=True))
    found = claims(compared(filled, values), LITERATURE.claims, workers=1)
    assert set(zip(found["better"], found["worse"], strict=True)) == {
        ("hyperband", "random"),
        ("bohb", "random"),
        ("bohb", "hyperband"),
    }


@pytest.mark.parametrize(("workers", "judged"), [(1, []), (4, [["asha", "bohb"]])])
def test_a_claim_about_several_workers_is_held_against_runs_on_several_alone(
    filled: Fill, workers: int, judged: list[list[str]]
) -> None:
    setups = {
        make_setup(method, workers=workers): [make_run(seed, [worse, worse, worse + seed]) for seed in range(20)]
        for worse, method in enumerate(("asha", "bohb"), 1)
    }
    chosen = select([filled(setups)])
    curves = load(chosen)
    found = part(Subject(Comparison(curves, 0, (curves.end,)), chosen, literature=LITERATURE))
    assert ([] if found is None else found.tables[0].data[["better", "worse"]].to_numpy().tolist()) == judged

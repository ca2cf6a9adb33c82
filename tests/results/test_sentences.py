"""What a report says in words, and what it must not say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nasbench.results.parts.claims import claims, part
from nasbench.results.parts.part import Subject
from nasbench.results.parts.questions import answers
from nasbench.results.parts.sentences import answer, headline
from nasbench.results.parts.standing import table
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from tests.results.conftest import LITERATURE, Fill, load_all, make_run, make_setup
from tests.results.drawn_runs import Values, compared, drawn, one_family_of_four, setups

from nasbench.results.statistics.comparison import Comparison  # isort: skip

PLACE = ("x", "b", "none")


def clear(methods: str = "abc", seeds: int = 20, place: tuple[str, str, str] = PLACE) -> Values:
    """Each method beats the next in every run, on one benchmark."""
    return {m: {place: [i + s / 100 for s in range(seeds)]} for i, m in enumerate(methods, 1)}


def words(comparison: Comparison) -> str:
    return " ".join(answer(comparison))


def test_the_first_is_named_with_whom_it_beats_and_by_how_much(filled: Fill) -> None:
    said = words(compared(filled, clear()))
    assert "On b, after 3 evaluations on 1 worker, a is first (expected rank 1.00 of 3" in said
    assert "1.00 (0.88-1.00) against b; 1.00 (0.88-1.00) against c; p < 0.001 (20 seeds; Holm over 3 pairs)" in said
    assert "This says nothing about new tasks: one benchmark." in said


def test_a_headline_tells_of_the_baseline_where_that_was_asked_for(filled: Fill) -> None:
    comparison = compared(filled, clear("abcd"), baseline=1)
    told = "On b a is first; d is last. One benchmark says nothing about new tasks."
    assert headline(comparison) == told
    own = "last. b is better than c and d and worse than a. One"
    assert headline(comparison, names_baseline=True) == told.replace("last. One", own)


def test_a_headline_tells_of_a_baseline_that_differs_from_none(filled: Fill) -> None:
    """It is best in half of its runs, and worst in the others."""
    comparison = compared(filled, clear("ab") | {"c": {PLACE: [0.0, 100.0] * 10}}, baseline=2)
    assert "c differs significantly from no other method." in headline(comparison, names_baseline=True)


def test_no_first_is_named_where_one_other_does_not_differ(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    values = {m: {PLACE: rng.normal(5, 1, 20).tolist()} for m in "ab"} | {"c": {PLACE: [20.0 + i for i in range(20)]}}
    said = words(compared(filled, values))
    assert "no method is better than all others" in said
    assert "it does not differ significantly from" in said
    assert " is first" not in said


def test_no_first_is_named_where_nothing_is_told(filled: Fill) -> None:
    rng = np.random.default_rng(1)
    said = words(compared(filled, {m: {PLACE: rng.normal(5, 1, 20).tolist()} for m in "abc"}))
    assert "there is no clear winner" in said
    assert "differs significantly from none of the others" in said


def test_no_first_is_named_where_two_share_the_lowest_rank(filled: Fill) -> None:
    """Each wins the half of the seeds that the other loses."""
    values = {"a": [1.0] * 10 + [3.0] * 10, "b": [3.0] * 10 + [1.0] * 10, "c": [9.0 + i for i in range(20)]}
    said = words(compared(filled, {m: {PLACE: own} for m, own in values.items()}))
    assert "a and b share the lowest expected rank" in said
    assert " is first" not in said


def test_identical_methods_are_called_that(filled: Fill) -> None:
    same = clear("a")["a"]
    assert words(compared(filled, {"a": same, "b": same})) == (
        "a and b are identical here: every run of one is that of the other."
    )


def test_with_a_twin_the_first_is_named_with_it(filled: Fill) -> None:
    values = clear("ab")
    said = words(compared(filled, {**values, "twin": values["a"]}))
    assert "a = twin is first (expected rank 1.00 of 2" in said


@pytest.mark.parametrize("seeds", [1, 4])
def test_too_few_seeds_name_nobody(filled: Fill, seeds: int) -> None:
    said = words(compared(filled, clear(seeds=seeds)))
    assert said.startswith("No verdict: ")
    assert "5 at least, 10 are advised, 20 where there is one benchmark" in said
    assert "first" not in said


def test_where_nothing_feasible_was_found_nobody_is_named(filled: Fill) -> None:
    for method in "ab":
        filled({make_setup(method): [make_run(s, [1.0, 2.0], [False, False]) for s in range(6)]})
    comparison = Comparison(load_all(filled({})), 0, (2.0,))
    assert words(comparison) == "No method found anything feasible: there is nothing to compare."


def test_where_every_run_failed_that_is_said(filled: Fill) -> None:
    for method in "ab":
        filled({make_setup(method): [make_run(s, [np.nan], failure="constructor: no") for s in range(6)]})
    comparison = Comparison(load_all(filled({})), 0, (1.0,))
    assert words(comparison).startswith("No run has an evaluation")


def test_one_method_alone_is_no_first(filled: Fill) -> None:
    assert answer(compared(filled, clear("a"))) == ["There is one method: nothing is compared."]


def test_a_win_on_one_space_is_called_that(filled: Fill) -> None:
    said = words(compared(filled, one_family_of_four()))
    assert "against b, ahead in 1 of 4 spaces; p < 0.001" in said
    assert "On new tasks nothing is significant for a: the probability that it is better than b" in said
    assert "; 4 spaces; t with 3 df)" in said


def test_seeds_that_can_tell_nothing_are_said_to_be_too_few(filled: Fill) -> None:
    """Five seeds on one benchmark: p is 0.008 at best, times 10 pairs, by 0.8."""
    said = words(compared(filled, clear("abcde", seeds=5)))
    assert "5 seeds cannot make a difference among 5 methods significant, however large" in said


def test_what_is_equal_on_average_is_not_called_equivalent(filled: Fill) -> None:
    """Ahead in one space as it is behind in another, on 2 x 40 settings of 10 seeds; the third does as the first."""
    rng = np.random.default_rng(2)
    values: Values = {m: {} for m in "abc"}
    for i in range(40):
        for space, shift in (("x", 0.8), ("y", -0.8)):
            for method, own in (("a", 0.0), ("b", shift), ("c", 0.0)):
                values[method][space, f"{space}{i}", "none"] = rng.normal(5 + own, 1, 10).tolist()
    said = words(compared(filled, values))
    assert "Equivalent, for the probability" not in said or "a and b" not in said.partition("Equivalent, for")[2][:150]
    assert "not shown to be equivalent: a and b (a is ahead in x (0.7" in said
    assert "behind in y (0.2" in said or "behind in y (0.3" in said


def test_what_is_equivalent_where_both_have_runs_is_said_to_be_so_there(filled: Fill) -> None:
    """c has no runs in y; b has those of a in another order of seeds, everywhere."""
    rng = np.random.default_rng(0)
    values: Values = {m: {} for m in "abc"}
    for space in "xy":
        for i in range(60):
            own = rng.normal(5, 1, 20)
            for method in "abc" if space == "x" else "ab":
                values[method][space, f"{space}{i}", "none"] = rng.permutation(own).tolist()
    said = words(compared(filled, values))
    assert (
        "on every search space: a and b; a and c (on 1 of 2 search spaces); b and c (on 1 of 2 search spaces)." in said
    )


def test_every_constraint_has_its_sentence(filled: Fill) -> None:
    said = words(compared(filled, drawn("ab", seeds=20)))
    assert "Without a constraint: " in said
    assert "Under size@0.1: " in said


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


def test_identical_methods_are_not_said_to_have_too_few_seeds(filled: Fill, tmp_path: Path) -> None:
    own = {place: [float(s) for s in range(20)] for place in (PLACE, ("x", "b", "size@0.1"))}
    store = filled(setups({"a": own, "b": own}))
    printed = report.write([store], Request(tmp_path / "out", formats=("md",), wilcoxon=True)).text
    told = printed + (tmp_path / "out" / "report.md").read_text()
    assert "are identical here: every run of one is that of the other" in told
    assert "This report gives no verdict: all methods are identical." in told
    assert "seeds for intervals" not in told
    assert "fewer than 5 seeds" not in told


def test_where_one_method_lacks_seeds_the_pairs_of_the_others_are_told_of(filled: Fill) -> None:
    places = [("x", f"x{i}", "none") for i in range(2)]
    values = {m: {p: [i + s / 100 for s in range(20 if m != "c" else 3)] for p in places} for i, m in enumerate("abc")}
    comparison = compared(filled, values)
    assert comparison.overall.pairs[0, 1].verdict == 1
    said = headline(comparison)
    assert said.startswith("No verdict on all methods together: 3 seeds are common to all methods and settings")
    assert said.endswith("Pairs that have more seeds in common are compared below.")


def test_where_no_pair_has_enough_seeds_none_is_told_of(filled: Fill) -> None:
    values = {m: {PLACE: [i + s / 100 for s in range(n)]} for i, (m, n) in enumerate((("a", 20), ("b", 3)))}
    said = headline(compared(filled, values))
    assert said.startswith("No verdict: 3 seeds are common")
    assert "below" not in said


@pytest.mark.parametrize("last", ["b", "c"])
def test_the_evidence_on_new_tasks_is_that_of_the_pairs_own_settings(filled: Fill, last: str) -> None:
    """One method has runs on one benchmark alone, the others on two of different spaces."""
    places = [("x", "x1", "none"), ("y", "y1", "none")]
    values = {m: {p: [i + s / 100 for s in range(20)] for p in places} for i, m in enumerate("abc")}
    values[last][places[1]] = values["a"][places[1]]
    lacking = {"b": "c", "c": "b"}[last]
    del values[lacking][places[1]]
    comparison = compared(filled, values)
    assert comparison.overall.unit == ""
    assert "On new tasks (2 spaces are the evidence)" in headline(comparison)
    said = words(comparison)
    assert f"better than {last}, its clearest case, has the 95 % CI 0." in said
    assert "2 spaces; t with 1 df" in said


def with_few_seeds_of_b(methods: str) -> Values:
    """The runs of `clear`, and a second benchmark that c lacks and where b has three seeds."""
    values = clear(methods)
    values["a"]["x", "e", "none"] = [1.0 + s for s in range(20)]
    values["b"]["x", "e", "none"] = [2.0, 2.1, 2.2]
    return values


def test_a_method_that_is_not_tested_against_the_first_does_not_share_first_place(filled: Fill) -> None:
    """It loses every run to a, and c beats it."""
    comparison = compared(filled, with_few_seeds_of_b("acb"))
    why = "not tested against b (fewer than 5 common seeds in some setting)"
    assert headline(comparison).startswith(f"On b a has the lowest expected rank; a is {why}.")
    assert "no advantage" not in headline(comparison)
    said = words(comparison)
    assert f"a has the lowest expected rank 1.00 of 3, 95 % CI 1.00-1.15; it is {why}. It is better than" in said
    assert "share" not in said
    assert " is first" not in said
    row = table(comparison).shown.iloc[0]
    assert (row["first"], row["tied with"]) == ("no clear winner; lowest rank: a", "-")


def test_where_the_first_is_tested_against_none_nothing_is_called_significant(filled: Fill) -> None:
    values = clear("abcd")
    for other in "bcd":
        place = ("x", f"e{other}", "none")
        values["a"][place], values[other][place] = [1.0] * 20, [2.0, 2.1, 2.2]
    comparison = compared(filled, values)
    assert headline(comparison) == (
        "On b a has the lowest expected rank, not tested against b, c or d (fewer than 5 common seeds in some setting)."
    )
    said = words(comparison)
    assert "This says nothing about new tasks: no pair of a is tested." in said
    assert "significantly" not in said


def test_pairs_without_a_test_do_not_count_among_those_that_differ(filled: Fill) -> None:
    comparison = compared(filled, with_few_seeds_of_b("acb"))
    found = {own.question: own.text for own in answers(Subject(comparison, []))}
    assert found["What is tied?"] == (
        "Every tested pair differs significantly. Not tested, with fewer than 5 common seeds in some setting: a and b."
    )


def test_spaces_are_not_counted_for_pairs_that_have_others(filled: Fill) -> None:
    """c lacks two of four spaces: the pair of a and b is judged on all, and that is said."""
    values: Values = {
        m: {(f"f{i}", f"f{i}b", "none"): [k + s / 100 for s in range(20)] for i in range(4 if m != "c" else 2)}
        for k, m in enumerate("abc")
    }
    said = words(compared(filled, values))
    assert "On these 2 benchmarks of 2 search spaces" in said
    assert "against b on 4 settings; " in said
    assert "against c; p < 0.001 (20 seeds" in said
    assert "ahead in all" not in said


def test_a_headline_names_all_that_share_the_lowest_rank(filled: Fill) -> None:
    values = {m: {PLACE: own} for m, own in {"a": [1.0, 3.0] * 10, "b": [3.0, 1.0] * 10}.items()}
    comparison = compared(filled, values)
    told = "On b a and b share the lowest expected rank, and no method differs significantly from a."
    assert headline(comparison) == told

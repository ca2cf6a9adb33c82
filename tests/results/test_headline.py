"""The headline of a report, and what it must not say."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.results.reading import load, select
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.verdict.headline import headline
from tests.results.conftest import Fill, load_all, make_run, make_setup
from tests.results.drawn_runs import CONTRADICTING, PLACE, Values, clear, compared


def test_the_first_and_the_last_are_named(filled: Fill) -> None:
    told = "On b a is first; d is last. One benchmark says nothing about new tasks."
    assert headline(compared(filled, clear("abcd"))) == told


def test_a_baseline_is_told_of_where_that_was_asked_for(filled: Fill) -> None:
    comparison = compared(filled, clear("abcd"), baseline=1)
    own = "d is last. b is better than c and d and worse than a. One benchmark"
    assert own in headline(comparison, names_baseline=True)
    assert "b is better" not in headline(comparison)


def test_a_baseline_that_differs_from_none_is_told_of(filled: Fill) -> None:
    """It is best in half of its runs, and worst in the others."""
    differs = compared(filled, clear("ab") | {"c": {PLACE: [0.0, 100.0] * 10}}, baseline=2)
    assert "c differs significantly from no other method." in headline(differs, names_baseline=True)


def test_no_first_is_named_where_one_other_does_not_differ(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    values = {m: {PLACE: rng.normal(5, 1, 20).tolist()} for m in "ab"} | {"c": {PLACE: [20.0 + i for i in range(20)]}}
    said = headline(compared(filled, values))
    assert said.startswith(("On b a and b share first place; c is last.", "On b b and a share first place; c is last."))


def test_no_first_is_named_where_nothing_is_told(filled: Fill) -> None:
    rng = np.random.default_rng(1)
    said = headline(compared(filled, {m: {PLACE: rng.normal(5, 1, 20).tolist()} for m in "abc"}))
    assert said.startswith("On b no method differs significantly from ")
    assert " first" not in said


def test_all_that_share_the_lowest_rank_are_named(filled: Fill) -> None:
    values = {m: {PLACE: own} for m, own in {"a": [1.0, 3.0] * 10, "b": [3.0, 1.0] * 10}.items()}
    told = "On b a and b share the lowest expected rank; no method differs significantly from a."
    assert headline(compared(filled, values)) == told


def test_identical_methods_are_called_that(filled: Fill) -> None:
    same = clear("a")["a"]
    said = headline(compared(filled, {"a": same, "b": same}))
    assert said == "a and b are identical here: every run of one is that of the other."


def test_a_twin_stands_beside_its_like(filled: Fill) -> None:
    values = clear("ab")
    assert headline(compared(filled, {**values, "twin": values["a"]})).startswith("On b a = twin is first")


@pytest.mark.parametrize("seeds", [1, 4])
def test_too_few_seeds_name_nobody(filled: Fill, seeds: int) -> None:
    said = headline(compared(filled, clear(seeds=seeds)))
    assert said.startswith("No verdict: ")
    assert "5 at least, 10 are advised, 20 where there is one benchmark" in said
    assert "first" not in said


def test_where_nothing_was_found_or_every_run_failed_nobody_is_named(filled: Fill) -> None:
    for method in "ab":
        filled({make_setup(method): [make_run(s, [1.0, 2.0], [False, False]) for s in range(6)]})
    said = headline(Comparison(load_all(filled({})), 0, (2.0,)))
    assert said == "No method found anything feasible: there is nothing to compare."


def test_where_every_run_failed_that_is_said(filled: Fill) -> None:
    for method in "ab":
        filled({make_setup(method): [make_run(s, [np.nan], failure="constructor: no") for s in range(6)]})
    assert headline(Comparison(load_all(filled({})), 0, (1.0,))).startswith("No run has an evaluation")


def test_one_method_alone_is_no_first(filled: Fill) -> None:
    assert headline(compared(filled, clear("a"))) == "There is one method: nothing is compared."


def test_a_pair_that_contradicts_the_ranks_is_no_tie(filled: Fill) -> None:
    """a has the lowest expected rank, but b is significantly better than it."""
    comparison = compared(filled, CONTRADICTING)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    assert (comparison.overall.ranks[0].method, pair.verdict) == (0, -1)
    b_wins = "b is better than each other method, one against one"
    assert headline(comparison).startswith(f"On these 5 benchmarks a has the lowest expected rank, but {b_wins}")


def test_who_is_better_than_the_leader_on_new_tasks_is_said(filled: Fill) -> None:
    """As above, on seven search spaces: b is better than a there, too, and a has no advantage that is significant."""
    values = {
        method: {(f"f{n}", f"{bench}-{n}", c): own for n in range(7) for (_, bench, c), own in places.items()}
        for method, places in CONTRADICTING.items()
        if method != "c"
    }
    values["c"] = {place: [9.0 + value for value in own] for place, own in values["a"].items()}
    for place, own in values["a"].items():  # b fails where it loses, so that it loses to c as well
        if place[1].startswith(("bench3", "bench4")):
            values["b"][place] = [99.0 + value for value in own]
    comparison = compared(filled, values)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    assert (pair.verdict, pair.verdict_new) == (-1, -1)
    assert headline(comparison).endswith("(7 spaces are the evidence) a is better than c, and b is better.")


def test_methods_that_another_one_beats_do_not_share_first_place(filled: Fill) -> None:
    """a, whose runs are best or last, differs from neither b nor c; but b beats c."""
    runs = {"a": [-9.0 + s / 9 for s in range(7)] + [1.8, 1.85, 1.9]}
    runs |= {"b": [s / 10 for s in range(10)], "c": [1 + s / 10 for s in range(10)]}
    comparison = compared(filled, {method: {("f", "x", "none"): own} for method, own in runs.items()})
    pairs = [comparison.overall.pair(*pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert [pair.verdict for pair in pairs if pair] == [0, 0, 1]
    assert comparison.overall.ranks[0].method == 0
    assert headline(comparison).startswith("On x no method differs significantly from a")
    runs["d"] = [9.0 + s for s in range(10)]
    comparison = compared(filled, {method: {("f", "y", "none"): own} for method, own in runs.items()})
    assert headline(comparison).startswith("On y a and b share first place")


def test_few_noisy_seeds_share_no_first_place(filled: Fill) -> None:
    """b is often better and often worse than all: its place is open, and that is no better headline."""
    runs = {name: [10.0 * i + s / 10 for s in range(10)] for i, name in enumerate("acde")}
    runs["b"] = [-1.0, 95.0, -2.0, 96.0, -3.0, 97.0]
    comparison = compared(filled, {method: {("f", "x", "none"): own} for method, own in runs.items()})
    rank = comparison.overall.rank_of(comparison.methods.index("b"))
    assert rank is not None
    assert (rank.first, rank.last) == (1, 5)
    said = headline(comparison)
    assert said.startswith("On x a has the lowest expected rank, but is not to be told from b (places 1 to 5)")
    assert "share" not in said


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
    del values[{"b": "c", "c": "b"}[last]][places[1]]
    comparison = compared(filled, values)
    assert comparison.overall.unit == ""
    assert "On new tasks (2 spaces are the evidence)" in headline(comparison)


def with_few_seeds_of_b(methods: str) -> Values:
    """The runs of `clear`, and a second benchmark that c lacks and where b has three seeds."""
    values = clear(methods)
    values["a"]["x", "e", "none"] = [1.0 + s for s in range(20)]
    values["b"]["x", "e", "none"] = [2.0, 2.1, 2.2]
    return values


def test_a_method_that_is_not_tested_against_the_first_does_not_share_first_place(filled: Fill) -> None:
    """It loses every run to a, and c beats it."""
    said = headline(compared(filled, with_few_seeds_of_b("acb")))
    why = "not tested against b (fewer than 5 common seeds in some setting)"
    assert said.startswith(f"On b a has the lowest expected rank. a is {why}.")
    assert "no advantage" not in said
    assert "share" not in said
    assert " is first" not in said


def test_where_the_first_is_tested_against_none_nothing_is_called_significant(filled: Fill) -> None:
    values = clear("abcd")
    for other in "bcd":
        place = ("x", f"e{other}", "none")
        values["a"][place], values[other][place] = [1.0] * 20, [2.0, 2.1, 2.2]
    assert headline(compared(filled, values)) == (
        "On b a has the lowest expected rank, not tested against b, c or d (fewer than 5 common seeds in some setting)."
    )


def test_long_lists_of_names_end_in_a_number(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    values = {m: {PLACE: rng.normal(5, 1, 20).tolist()} for m in "abcdefg"}
    said = headline(compared(filled, values | {"z": {PLACE: [99.0 + s for s in range(20)]}}))
    assert " or 2 more (places 1 to 7); z is last." in said


def test_a_level_start_is_no_lead(filled: Fill) -> None:
    """The methods have the same runs but for one evaluation: an end that is shared is a shared rank."""
    own = {make_setup(m): [make_run(s, [5.0, 4.0, 1.0]) for s in range(6)] for m in "ab"}
    assert "identical here" in headline(Comparison(load(select([filled(own)])), 0, (3.0,)))

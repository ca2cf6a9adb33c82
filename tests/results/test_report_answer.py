"""The first table of a report: who is first, who is tied, by how much, and in how many search spaces."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.results.parts import questions, sentences
from nasbench.results.parts.answer import over_budget
from nasbench.results.parts.part import Subject
from nasbench.results.parts.questions import answers, minute
from nasbench.results.parts.standing import table
from nasbench.results.reading import load, select
from nasbench.results.statistics.comparison import Comparison
from tests.results.conftest import Fill, make_run, make_setup
from tests.results.drawn_runs import Values, compared


def rows(filled: Fill, values: Values) -> list[dict[str, str]]:
    found: list[dict[str, str]] = table(compared(filled, values)).shown.to_dict("records")  # type: ignore[assignment]
    return found


def test_the_first_is_named_with_its_margin_over_the_next(filled: Fill) -> None:
    values = {m: {("f", "b", "none"): [i + s / 100 for s in range(20)]} for i, m in enumerate("abc")}
    ((row),) = rows(filled, values)
    assert row["where"] == "all together"
    assert (row["first"], row["tied with"], row["ahead in"]) == ("a", "-", "-")
    assert row["margin"] == "1.00 (0.88-1.00) over b"


def test_nobody_is_first_where_the_leader_does_not_differ_from_all(filled: Fill) -> None:
    rng = np.random.default_rng(0)
    place = ("f", "b", "none")
    values = {m: {place: rng.normal(5, 1, 20).tolist()} for m in "ab"} | {"c": {place: [20.0 + i for i in range(20)]}}
    (row,) = rows(filled, values)
    leader, other = ("a", "b") if row["first"].endswith("a") else ("b", "a")
    assert row["first"] == f"no clear winner; lowest rank: {leader}"
    assert row["tied with"] == other
    bold = table(compared(filled, values)).bold
    assert bold is not None
    assert not bold.any()


def test_identical_methods_stand_as_one_and_lose_to_nobody(filled: Fill) -> None:
    place = ("f", "b", "none")
    values = {"a": {place: [float(s) for s in range(20)]}, "c": {place: [50.0 + s for s in range(20)]}}
    (row,) = rows(filled, {**values, "twin": values["a"]})
    assert (row["first"], row["tied with"]) == ("a = twin", "-")


def test_each_constraint_has_a_row_and_spaces_are_counted(filled: Fill) -> None:
    """a wins where there is no constraint, b under one; in space g b wins throughout."""
    values: Values = {"a": {}, "b": {}}
    for family, bench in (("f", "x"), ("g", "y")):
        for constraint in ("none", "size@0.1"):
            a_wins = family == "f" and constraint == "none"
            for method in "ab":
                better = (method == "a") == a_wins
                values[method][family, bench, constraint] = [(0.0 if better else 5.0) + s / 100 for s in range(12)]
    overall, none, size = rows(filled, values)
    assert [r["where"] for r in (overall, none, size)] == ["all together", "no constraint", "size@0.1"]
    assert size["first"] == "b"
    assert size["ahead in"] == "2 of 2 spaces"
    assert none["margin"].startswith("0.50")
    assert overall["ahead in"] in ("1 of 2 spaces", "2 of 2 spaces")


def test_too_few_seeds_name_nobody_and_no_interval(filled: Fill) -> None:
    values = {m: {("f", "b", "none"): [float(i)] * 3} for i, m in enumerate("ab")}
    (row,) = rows(filled, values)
    assert row["first"] == "no clear winner; lowest rank: a"
    assert row["tied with"] == "?"
    assert row["margin"] == "1.00 over b"


def test_the_bands_of_the_rank_plot_are_the_intervals_of_the_table(filled: Fill) -> None:
    rng = np.random.default_rng(1)
    values = {m: {("f", b, "none"): rng.normal(i, 2, 15).tolist() for b in "xy"} for i, m in enumerate("abcd")}
    comparison = compared(filled, values)
    panel = over_budget(comparison, 5)
    assert len(panel.series) == 4
    for series in panel.series:
        rank = comparison.overall.rank_of(series.method)
        assert rank is not None
        assert series.low is not None
        assert series.high is not None
        assert series.y[-1] == pytest.approx(rank.these.value)
        assert (series.low[-1], series.high[-1]) == pytest.approx(rank.these.interval(1.0, 4))


def test_perhaps_it_is_the_seeds(filled: Fill) -> None:
    """a wins with every even seed, b with every odd one."""
    place = ("f", "b", "none")
    values = {m: {place: [float((s + i) % 2) + s / 1000 for s in range(20)]} for i, m in enumerate("ab")}
    comparison = compared(filled, values)
    found = {own.question: own.text for own in answers(Subject(comparison, []))}
    assert found["Is it the seeds?"].startswith("Perhaps: the two halves of the seeds alone")


def test_leaving_a_benchmark_out_counts_the_seeds_that_ranks_count(filled: Fill) -> None:
    """a is better on the five seeds that both have, and worse on the seven that it has alone."""
    values: Values = {"a": {}, "b": {}}
    for bench in ("x", "y"):
        values["a"]["f", bench, "none"] = [s / 100 for s in range(5)] + [9.0 + s for s in range(7)]
        values["b"]["f", bench, "none"] = [1 + s / 100 for s in range(5)]
    found = {own.question: own.text for own in answers(Subject(compared(filled, values), []))}
    assert found["Is it one benchmark?"].startswith("No: whichever of the 2 benchmarks is left out, a has the lowest")


# Against each other b wins three benchmarks of five from a; but where it loses, it loses to all.
CONTRADICTING: Values = {
    method: {("f", f"bench{i}", "none"): [place + s / 100 for s in range(20)] for i, place in enumerate(places)}
    for method, places in {"a": [2, 2, 2, 1, 1], "b": [1, 1, 1, 3, 3], "c": [3, 3, 3, 2, 2]}.items()
}


def test_a_pair_that_contradicts_the_ranks_is_no_tie(filled: Fill) -> None:
    """a has the lowest expected rank, but b is significantly better than it."""
    comparison = compared(filled, CONTRADICTING)
    pair = comparison.overall.pair(0, 1)
    assert pair is not None
    assert (comparison.overall.ranks[0].method, pair.verdict) == (0, -1)
    (row,) = table(comparison).shown.to_dict("records")
    assert (row["first"], row["tied with"]) == (
        "no clear winner; lowest rank: a, but b is better than each other method",
        "-",
    )
    who = answers(Subject(comparison, []))[0].text
    b_wins = "b is better than each other method, one against one"
    assert who == f"No clear winner: a has the lowest expected rank 1.60 of 3, but {b_wins}."
    said = sentences.answer(comparison)[0]
    assert "there is no clear winner. a has the lowest expected rank 1.60 of 3" in said
    assert f"{b_wins}. a is better than the rest: its run is the better one with probability" in said
    assert sentences.headline(comparison).startswith(
        f"On these 5 benchmarks a has the lowest expected rank, but {b_wins}"
    )
    assert "differ significantly" not in said
    sure = {own.question: own.text for own in minute(Subject(comparison, []))}["How sure is that?"]
    assert "on these benchmarks (Holm), and significantly worse. a differs significantly from 2 of 2 other" in sure
    assert "on these benchmarks (it is worse than 1 of them)" in sure


def test_a_constraint_under_which_a_pair_contradicts_the_ranks_is_no_tie(filled: Fill) -> None:
    values = {
        m: {(f, b, c): own for (f, b, _), own in places.items() for c in ("none", "x@0.5")}
        for m, places in CONTRADICTING.items()
    }
    said = [one for one in sentences.answer(compared(filled, values)) if one.startswith("Under x@0.5")]
    lowest = "no clear winner; the lowest expected rank, 1.60 of 3, has a, better than c; b is better than each other"
    assert said == [f"Under x@0.5: {lowest} method, one against one."]


def test_a_leader_leads_where_another_method_stands_for_its_class(filled: Fill) -> None:
    """Without a constraint two methods are one, and the baseline stands for both; under one, the other is better."""
    free, bound = ("x", "b", "none"), ("x", "b", "size@0.1")
    values = {
        "leader": {free: [1 + s / 100 for s in range(20)], bound: [1 + s / 100 for s in range(20)]},
        "twin": {free: [1 + s / 100 for s in range(20)], bound: [2 + s / 100 for s in range(20)]},
        "last": {place: [3 + s / 100 for s in range(20)] for place in (free, bound)},
    }
    comparison = compared(filled, values, baseline=2)
    names = list(comparison.methods)
    assert names[comparison.overall.ranks[0].method] == "leader"
    assert names[comparison.by_constraint["none"].ranks[0].method] == "twin"
    assert "no constraint" not in questions._where_not(comparison)


def test_a_lead_that_is_shared_is_no_lead(filled: Fill) -> None:
    """The methods begin alike; a is better at the last of three evaluations, or neither is."""
    said = {}
    for bench, last in (("x", 2.0), ("y", 1.0)):
        methods = {"a": [5.0, 4.0, 1.0], "b": [5.0, 4.0 + 1e-3 * (bench == "y"), last]}
        own = {make_setup(m, bench): [make_run(s, v) for s in range(6)] for m, v in methods.items()}
        chosen = [pair for pair in select([filled(own)]) if pair[1].setup.bench == bench]
        said[bench] = questions._budget(Comparison(load(chosen), 0, (3.0,)))
    assert said["x"].startswith(
        "a has the lowest expected rank from 3 evaluations on; just before, it shared that with"
    )
    assert said["y"].startswith("At none: a shares the lowest expected rank at the end")


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
    assert sentences.headline(comparison).endswith("a is better than c, and b is better.")
    assert sentences.answer(comparison)[1].startswith("On new tasks, a is better than c")
    assert sentences.answer(comparison)[1].endswith(" b is better.")


def test_methods_that_another_one_beats_do_not_share_first_place(filled: Fill) -> None:
    """a, whose runs are best or last, differs from neither b nor c; but b beats c."""
    runs = {"a": [-9.0 + s / 9 for s in range(7)] + [1.8, 1.85, 1.9]}
    runs |= {"b": [s / 10 for s in range(10)], "c": [1 + s / 10 for s in range(10)]}
    comparison = compared(filled, {method: {("f", "x", "none"): own} for method, own in runs.items()})
    pairs = [comparison.overall.pair(*pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert [pair.verdict for pair in pairs if pair] == [0, 0, 1]
    assert comparison.overall.ranks[0].method == 0
    assert sentences.headline(comparison).startswith("On x no method differs significantly from a")
    runs["d"] = [9.0 + s for s in range(10)]
    comparison = compared(filled, {method: {("f", "y", "none"): own} for method, own in runs.items()})
    assert sentences.headline(comparison).startswith("On y a and b share first place")


def test_few_noisy_seeds_share_no_first_place(filled: Fill) -> None:
    """b is often better and often worse than all: its place is open, and that is no better headline."""
    runs = {name: [10.0 * i + s / 10 for s in range(10)] for i, name in enumerate("acde")}
    runs["b"] = [-1.0, 95.0, -2.0, 96.0, -3.0, 97.0]
    comparison = compared(filled, {method: {("f", "x", "none"): own} for method, own in runs.items()})
    rank = comparison.overall.rank_of(comparison.methods.index("b"))
    assert rank is not None
    assert (rank.first, rank.last) == (1, 5)
    said = sentences.headline(comparison)
    assert said.startswith("On x a has the lowest expected rank, but is not to be told from b (places 1 to 5)")
    assert "share" not in said

"""Sentences of a report: from hand-made runs of which the answer is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

from nasbench.results import Store
from nasbench.results.curves import Curves, load, select
from nasbench.results.report import report
from nasbench.results.report.verdicts import claims, sentences, winners
from tests.results.conftest import make_cell, make_run


def curves_of(store: Store) -> Curves:
    return load(select([store], None))


def store_of(filled: Callable[..., Store], values: dict[str, list[float]], constraint: str = "none") -> Store:
    """Two benchmarks on which each method ends with these values, a seed each."""
    return filled(
        {
            make_cell(method, bench=bench, constraint=constraint): [
                make_run(seed, [value + shift]) for seed, value in enumerate(own)
            ]
            for method, own in values.items()
            for bench, shift in (("one", 0.0), ("two", 100.0))
        }
    )


CLEAR = {
    "nasbot": [1.0 + i / 10 for i in range(8)],
    "nasbot-ea:brood=5": [3.0 + i / 9 for i in range(8)],
    "random": [2.0 + i / 7 for i in range(8)],
}


def test_the_first_is_named_with_whom_it_is_told_apart_from(filled: Callable[..., Store]) -> None:
    (row,) = winners(curves_of(store_of(filled, CLEAR))).to_dict("records")
    assert (row["method"], row["rank"], row["settings"], row["pairs"]) == ("nasbot", 1.0, 2, 16)
    assert row["better"] == 2
    assert row["floor"] == 3 * 2.0**-15


def test_claims_are_counted_over_settings_and_seeds(filled: Callable[..., Store]) -> None:
    found = claims(curves_of(store_of(filled, CLEAR)))
    assert set(found["paper"]) == {"NASBOT (Kandasamy et al., 2018)"}
    assert found["worse"].tolist() == ["nasbot-ea:brood=5", "random"]
    assert found["wins"].tolist() == [16, 16]
    assert found["here"].tolist() == ["holds", "holds"]
    assert found["p"].iloc[0] == pytest.approx(stats.wilcoxon(range(1, 17)).pvalue)  # all of one sign


def test_what_is_the_other_way_round_contradicts_and_few_seeds_tell_nothing(filled: Callable[..., Store]) -> None:
    turned = {"nasbot": CLEAR["nasbot-ea:brood=5"], "nasbot-ea": CLEAR["nasbot"]}
    assert claims(curves_of(store_of(filled, turned)))["here"].tolist() == ["is contradicted"]


def test_few_seeds_tell_nothing_and_it_is_said(filled: Callable[..., Store]) -> None:
    few = {method: values[:2] for method, values in CLEAR.items()}
    curves = curves_of(store_of(filled, few))
    assert claims(curves)["here"].tolist() == ["cannot be told", "cannot be told"]
    first, second = sentences(curves)
    assert "told apart from 0 of the 2 others" in first
    assert "4 pairs are too few for more certainty" in first
    assert "of nasbot against nasbot-ea:brood=5 4/0/0, cannot be told" in second


def test_many_small_wins_do_not_outweigh_fewer_large_losses(filled: Callable[..., Store]) -> None:
    """The direction is the test's, which weighs by ranks of size, not that of a count."""
    runs = [(1.0, 1.0 + (i + 1) / 1e4) for i in range(32)] + [(1.0, 0.5 - i / 100) for i in range(28)]
    store = filled(
        {
            make_cell("nasbot", bench="one"): [make_run(seed, [a]) for seed, (a, _) in enumerate(runs)],
            make_cell("nasbot-ea", bench="one"): [make_run(seed, [b]) for seed, (_, b) in enumerate(runs)],
        }
    )
    (row,) = claims(curves_of(store)).to_dict("records")
    assert (row["wins"], row["losses"]) == (32, 28)
    assert row["p_holm"] < 0.05
    assert row["here"] == "is contradicted"


def test_variants_of_a_method_are_told_apart(filled: Callable[..., Store]) -> None:
    values = {"nasbot": CLEAR["nasbot"], "nasbot:power=2.0": CLEAR["nasbot-ea:brood=5"], "random": CLEAR["random"]}
    words = " ".join(sentences(curves_of(store_of(filled, values))))
    assert "of nasbot against random 16/0/0, holds" in words
    assert "of nasbot:power=2.0 against random 0/16/0, is contradicted" in words


def test_a_claim_about_constraints_is_held_against_constrained_runs_alone(filled: Callable[..., Store]) -> None:
    values = {"c-tpe": CLEAR["nasbot"], "tpe": CLEAR["random"]}
    assert claims(curves_of(store_of(filled, values))).empty


def test_constraints_are_told_apart(filled: Callable[..., Store], tmp_path: Path) -> None:
    values = {"c-tpe": CLEAR["nasbot"], "tpe": CLEAR["random"]}
    store = store_of(filled, values, "size@S")
    curves = curves_of(store)
    assert winners(curves)["constraint"].tolist() == ["size@S"]
    assert claims(curves)["here"].tolist() == ["holds"]
    written = report.write([store], tmp_path / "out", formats=("html", "csv", "md"))
    assert "Under size@S, after 3 evaluations on 1 worker: c-tpe is first" in " ".join(written.text.split())
    assert "c-tpe is first" in (tmp_path / "out" / "index.html").read_text()
    assert "c-tpe is first" in (tmp_path / "out" / "report.md").read_text()
    assert (tmp_path / "out" / "claims.csv").exists()


def test_a_budget_in_seconds_is_compared_at_equal_seconds(filled: Callable[..., Store], tmp_path: Path) -> None:
    """The terminal begins with ranks over seconds, and the winner is who ends best, however many evaluations it had."""
    store = filled(
        {
            make_cell("slow", evals=None, seconds=9.0): [make_run(0, [5.0, 1.0])],
            make_cell("fast", evals=None, seconds=9.0): [make_run(0, [4.0, 3.0, 3.0, 3.0, 2.0])],
        }
    )
    written = report.write([store], tmp_path / "out", formats=("csv",))
    assert written.text.startswith("Average rank at shares of the time horizon")
    assert "slow is first" in " ".join(written.text.split())


def test_one_method_alone_is_no_winner(filled: Callable[..., Store]) -> None:
    assert sentences(curves_of(store_of(filled, {"random": CLEAR["random"]}))) == []

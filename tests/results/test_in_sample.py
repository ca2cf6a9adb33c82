"""In sample and out of sample: where the defaults of methods were chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from nasbench.results import Setup, Store, Trajectory
from nasbench.results.literature import Claim
from nasbench.results.parts import claims, in_sample
from nasbench.results.reading import load, select
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict.headline import headline
from tests.results.conftest import SETTING, make_run, make_setup

SPACES = {"one": ("s1", False), "two": ("s2", False), "three": ("s3", True)}
TUNED = {"c-tpe": ("s1",), "random": (), "local": ()}
BEST = {"c-tpe": {"one": 1.0, "two": 3.0, "three": 2.0}, "random": {"one": 2.0, "two": 2.0, "three": 3.0}}


def runs(method: str, bench: str) -> list[Trajectory]:
    base = BEST.get(method, dict.fromkeys(SPACES, 4.0))[bench]
    return [make_run(seed, [9.0, 9.0, base + 0.01 * seed]) for seed in range(6)]


def setup(method: str, bench: str) -> Setup:
    space, sealed = SPACES[bench]
    setting = replace(SETTING, space=space, family=bench, sealed=sealed)
    return make_setup(method, bench, setting=setting, tuned_on=TUNED[method])


@pytest.fixture
def subject(filled: Callable[..., Store]) -> Subject:
    store = filled({setup(m, b): runs(m, b) for m in TUNED for b in SPACES})
    chosen = select([store])
    return Subject(Comparison(load(chosen), 0, (3.0,)), chosen)


def test_ranks_of_a_method_stand_apart_where_its_defaults_were_chosen(subject: Subject) -> None:
    part = in_sample.part(subject)
    assert part is not None
    rows = part.tables[0].data.set_index("method")
    assert rows.loc["c-tpe", ["in_sample", "sealed"]].tolist() == [1.0, 1.0]
    assert rows.loc["c-tpe", "out_of_sample"] == pytest.approx(1.5)  # second on s2, first on s3
    assert rows.loc["random", ["in_sample", "out_of_sample", "sealed"]].tolist() == pytest.approx([2.0, 1.5, 2.0])
    assert rows["tuned_on"].to_dict() == {"c-tpe": "s1", "random": "", "local": ""}
    assert part.sentences == [
        "Defaults of c-tpe were chosen on s1, 1 of the 3 search spaces here: verdicts on these are in sample."
    ]


def test_the_answer_says_on_how_many_spaces_the_leader_was_tuned(subject: Subject) -> None:
    assert "were chosen on 1 of these 3 search spaces (s1): in sample." in headline(subject.comparison)


def test_a_method_counts_as_tuned_where_one_identical_to_it_was(filled: Callable[..., Store]) -> None:
    own = {setup(m, b): runs(m, b) for m in ("c-tpe", "local") for b in SPACES}
    twins = {replace(setup("random", b), method="a-twin"): runs("c-tpe", b) for b in SPACES}
    chosen = select([filled(own | twins)])
    subject = Subject(Comparison(load(chosen), 0, (3.0,)), chosen)
    assert "were chosen on 1 of these 3 search spaces (s1): in sample." in headline(subject.comparison)
    part = in_sample.part(subject)
    assert part is not None
    assert part.tables[0].shown["tuned"].tolist()[0] == "1 of 3"


def test_families_of_one_name_in_two_spaces_are_two(filled: Callable[..., Store]) -> None:
    def same(bench: str) -> Setup:
        return make_setup("random", bench, setting=replace(SETTING, space=SPACES[bench][0], family=bench[0]))

    stored = filled({same(b): runs("random", b) for b in SPACES})
    comparison = Comparison(load(select([stored])), 0, (3.0,))
    assert sorted(comparison.families) == ["o", "t in s2", "t in s3"]
    assert sorted(comparison.by_family) == ["o", "t in s2", "t in s3"]


@pytest.mark.parametrize(("tuned", "sample"), [(("s1", "s2", "s3"), "in"), (("s2",), "partly in"), ((), "out of")])
def test_a_claim_says_whether_its_method_was_tuned_there(
    tuned: tuple[str, ...], sample: str, filled: Callable[..., Store]
) -> None:
    own = {replace(setup("c-tpe", b), tuned_on=tuned): runs("c-tpe", b) for b in SPACES}
    chosen = select([filled(own | {setup("local", b): runs("local", b) for b in SPACES})])
    comparison = Comparison(load(chosen), 0, (3.0,))
    claim = Claim(paper="P", claim="better", better="c-tpe", worse=("local",), constrained=None)
    rows = claims.claims(comparison, [claim], workers=1)
    assert rows[["verdict", "sample"]].to_numpy().tolist() == [["supported", f"{sample} sample"]]


def test_nothing_is_said_where_no_default_was_chosen(filled: Callable[..., Store]) -> None:
    store = filled({setup(m, b): runs(m, b) for m in ("random", "local") for b in ("one", "two")})
    chosen = select([store])
    subject = Subject(Comparison(load(chosen), 0, (3.0,)), chosen)
    assert in_sample.part(subject) is None
    assert "in sample" not in headline(subject.comparison)


def test_a_setup_keeps_where_it_was_tuned_and_its_identity_does_not_depend_on_it() -> None:
    tuned = setup("c-tpe", "one")
    assert Setup.from_json(tuned.to_json()) == tuned
    assert replace(tuned, tuned_on=()).id == tuned.id


def test_stores_without_the_facts_are_read(filled: Callable[..., Store]) -> None:
    curves = load(select([filled({make_setup(): [make_run(0, [1.0, 1.0, 1.0])]})]))
    assert not curves.in_sample([0]).any()
    assert replace(curves, tuned_on=()).in_sample([0]).tolist() == [False]
    assert curves.settings["sealed"].dtype == np.dtype(bool)


def test_the_headline_says_who_is_first_where_it_was_tuned_and_who_is_last(subject: Subject) -> None:
    assert headline(subject.comparison) == (
        "On these 3 benchmarks c-tpe and random share first place; local is last. Defaults of c-tpe were chosen on 1 "
        "of these 3 search spaces (s1): in sample. On new tasks (3 spaces are the evidence) no advantage of c-tpe is "
        "significant."
    )


def test_the_headline_of_one_search_space_speaks_of_its_families_alone(filled: Callable[..., Store]) -> None:
    def one_space(method: str, bench: str) -> Setup:
        return make_setup(method, bench, setting=replace(SETTING, space="s1", family=bench))

    store = filled({one_space(m, b): runs(m, b) for m in ("c-tpe", "local") for b in SPACES})
    said = headline(Comparison(load(select([store])), 0, (3.0,)))
    assert "On new families of tasks in the search space s1 (3 families are the evidence) " in said


def test_a_method_that_is_identical_to_another_has_its_rank_in_each_scope(filled: Callable[..., Store]) -> None:
    twins = {**{m: runs("random", "two") for m in ("c-tpe", "local")}, "random": runs("c-tpe", "two")}
    store = filled(
        {setup(m, "one"): runs(m, "one") for m in TUNED} | {setup(m, "two"): own for m, own in twins.items()}
    )
    chosen = select([store])
    part = in_sample.part(Subject(Comparison(load(chosen), 0, (3.0,)), chosen))
    assert part is not None
    rows = part.tables[0].data.set_index("method")
    assert rows.loc["c-tpe", "out_of_sample"] == rows.loc["local", "out_of_sample"] == 1.0


def test_the_only_search_space_is_not_counted(filled: Callable[..., Store]) -> None:
    chosen = select([filled({setup(m, "one"): runs(m, "one") for m in ("c-tpe", "random")})])
    part = in_sample.part(Subject(Comparison(load(chosen), 0, (3.0,)), chosen))
    assert part is not None
    assert part.sentences == [
        "Defaults of c-tpe were chosen on s1, the only search space here: verdicts on it are in sample.",
    ]

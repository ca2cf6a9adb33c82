"""Methods and benchmarks that were edited since their runs, by the digests that are stored with these."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from nasbench.results import Setup, Store
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.sources import SourceDigest, Sources, changed
from tests.results.conftest import FACTS, make_run, make_setup

OLD, NEW = "0" * 16, "1" * 16


def source(
    digest: str, name: str = "bob.py", of: Literal["method", "benchmark"] = "method", released: bool = False
) -> SourceDigest:
    return SourceDigest(of, name, digest, released)


def stored(store: Store, setup: Setup, seeds: range, *recorded: SourceDigest) -> None:
    runs = [make_run(seed, [3.0, 2.0, 1.0]) for seed in seeds]
    store.commit(setup, runs, FACTS | {"sources": [vars(one) for one in recorded]})


def now(*sources: SourceDigest) -> Sources:
    return lambda setup: sources


def test_one_sentence_names_the_changed_file_its_methods_and_what_to_do(store: Store) -> None:
    stored(store, make_setup("bob:x=2"), range(2), source(OLD))
    stored(store, make_setup("al"), range(3), source(OLD))
    stored(store, make_setup("al"), range(3, 7), source(NEW))
    assert changed(store.fragments(), now(source(NEW))) == [
        "bob.py has changed since these runs (5 of al and bob): raise `version`, or `--anew al --anew bob`"
    ]


def test_a_benchmark_that_was_edited_has_a_checksum_to_raise(store: Store) -> None:
    stored(store, make_setup("bob"), range(2), source(OLD), source(OLD, "hill.py", "benchmark"))
    today = now(source(OLD), source(NEW, "hill.py", "benchmark"))
    assert changed(store.fragments(), today) == [
        "hill.py has changed since these runs (2 on toy): raise `checksum`, or `--anew METHOD`"
    ]


def test_a_file_of_another_name_with_the_same_code_is_no_change(store: Store) -> None:
    stored(store, make_setup(), range(2), source(OLD, "robert.py"))
    assert changed(store.fragments(), now(source(OLD, "bob.py"))) == []


@pytest.mark.parametrize(
    "recorded",
    [{}, {"sources": []}, {"sources": None}, {"sources": ["bob.py", 3]}, {"sources": [{"of": "benchmark"}]}],
    ids=str,
)
def test_nothing_is_said_of_runs_without_a_digest(store: Store, recorded: dict[str, Any]) -> None:
    store.commit(make_setup(), [make_run(0, [1.0])], FACTS | recorded)
    assert changed(store.fragments(), now(source(NEW))) == []


@pytest.mark.parametrize(
    ("before", "after", "is_told"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, True)],
)
def test_what_was_released_states_by_its_version_whether_it_changed(
    store: Store, before: bool, after: bool, is_told: bool
) -> None:
    stored(store, make_setup(), range(2), source(OLD, released=before))
    assert bool(changed(store.fragments(), now(source(NEW, released=after)))) == is_told


def test_a_report_warns_of_changed_sources_and_of_none_where_the_method_is_absent(store: Store, tmp_path: Path) -> None:
    for method in ("random", "bob"):
        stored(store, make_setup(method), range(2), source(OLD))
    request = Request(tmp_path / "out", formats=("md",))
    told = report.write([store], request, sources=now(source(NEW))).text
    assert "bob.py has changed since these runs (4 of bob and random)" in " ".join(told.split())
    assert "has changed" not in report.write([store], request).text
    stale = report.write([store], request, lambda setup: setup.method != "bob", now(source(NEW))).text
    assert "bob.py has changed since these runs (2 of random)" in " ".join(stale.split())

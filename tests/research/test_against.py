"""The table of how often a run of one method ends better than one of another."""

from __future__ import annotations

from pathlib import Path

from nasbench.results import Store
from research.against import table
from tests.results.conftest import FACTS, make_run, make_setup


def test_pairs_of_runs_count_once_and_tasks_alike(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    for bench, own in {"one": {"a": [1.0, 4.0], "b": [3.0, 4.0]}, "two": {"a": [1.0], "b": [0.5]}}.items():
        for method, values in own.items():
            for seed, value in enumerate(values):  # a fragment each
                store.commit(make_setup(method, bench), [make_run(seed, [9.0, value, 8.0])], FACTS)
    store.commit(make_setup("c", "one"), [make_run(0, [1.0, 1.0, 1.0])], FACTS)  # on one task only
    assert table(store, ("b",))[1:] == [["b", "0.50 (0.50 to 0.50)"], ["a", "0.31 (0.00 to 0.62)"]]

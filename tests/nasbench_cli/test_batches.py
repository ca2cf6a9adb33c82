"""What is stored of a run that did not come to its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from nasbench.cli.engine.executors import Batch, Lost, Work
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.results import Store
from nasbench.results.reading import load, select
from tests.results.conftest import FACTS, begin, make_setup


def test_a_run_that_a_crash_has_ended_is_stored_with_what_its_journal_holds(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    setup = make_setup(evals=9)
    begin(store, setup, 4, [9.0, 7.0, 8.0])
    batch = Batch(cast(PlannedSetup, SimpleNamespace(setup=setup)), (4,))
    Work(store, made_by=FACTS).give_up(batch, Lost("an ask took longer than 60 s"))
    (fragment,) = store.fragments()
    table = fragment.table()
    assert table["objective"].to_pylist()[:3] == [9.0, 7.0, 8.0]
    assert table["incumbent"].to_pylist() == [9.0, 7.0, 7.0, 7.0]
    assert fragment.runs[0].failure == "an ask took longer than 60 s"
    assert load(select([store])).incumbent.tolist() == [[9.0, 7.0, 7.0]]

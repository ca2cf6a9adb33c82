"""What is stored of a run that did not come to its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from nasbench.cli.engine.batches import Batch, give_up
from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.engine.pool import Lost
from nasbench.results import Store
from nasbench.results.curves import load, select
from tests.results.conftest import FACTS, make_cell
from tests.results.test_under_way import begin


def test_a_run_that_a_crash_has_ended_is_stored_with_what_its_journal_holds(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    cell = make_cell(evals=9)
    begin(store, cell, 4, [9.0, 7.0, 8.0])
    batch = Batch(cast(PlannedCell, SimpleNamespace(cell=cell)), (4,))
    give_up(batch, Lost("an ask took longer than 60 s"), store, FACTS)
    (fragment,) = store.fragments()
    table = fragment.table()
    assert table["objective"].to_pylist()[:3] == [9.0, 7.0, 8.0]
    assert table["incumbent"].to_pylist() == [9.0, 7.0, 7.0, 7.0]
    assert fragment.runs[0].failure == "an ask took longer than 60 s"
    assert load(select([store])).incumbent.tolist() == [[9.0, 7.0, 7.0]]

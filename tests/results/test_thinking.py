"""The optional part that sets ranks beside the methods' own time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.results import Store, StoreError, Trajectory
from nasbench.results.parts.thinking import part, seconds
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from tests.results.conftest import Fill, make_run, make_setup


def thought(seed: int, objective: float, thinking: list[float]) -> Trajectory:
    run = make_run(seed, [9.0, 9.0, objective])
    return replace(run, columns=run.columns | {"thinking": np.array(thinking)})


@pytest.fixture
def thoughts(filled: Fill) -> Store:
    """Good and slow, middling and quick, bad and middling; the first run of `good` loads a library for a minute."""
    setups = {
        make_setup(name, constraint=constraint): [
            thought(s, objective + 0.1 * s, [60.0 if name == "good" and s == 0 else time, time, time]) for s in range(5)
        ]
        for name, objective, time in (("good", 1.0, 2.0), ("middling", 3.0, 0.001), ("bad", 7.0, 0.5))
        for constraint in ("none", "x@0.5")
    }
    return filled(setups)


def test_times_are_those_of_usual_runs_and_the_front_is_what_nothing_dominates(thoughts: Store) -> None:
    chosen = select([thoughts])
    curves = load(chosen)
    subject = Subject(Comparison(curves, 0, (curves.end,)), chosen)
    assert seconds(subject) == pytest.approx({"good": 2.0, "middling": 0.001, "bad": 0.5})
    (table,) = part(subject).tables
    assert list(table.data["method"]) == ["middling", "bad", "good"]
    assert list(table.data["front"]) == [True, False, True]
    assert list(table.shown["ms per suggestion"]) == ["1", "500", "2,000"]
    assert list(table.data["rank"]) == [2.0, 3.0, 1.0]
    with pytest.raises(StoreError, match="takes no options"):
        report.requested("thinking:x")


def test_a_front_holds_equals_and_no_dominated_point(filled: Fill) -> None:
    rows = (("one", 1.0, 2.0), ("equal", 1.0, 2.0), ("slower", 1.0, 3.0), ("worse", 2.0, 2.0), ("quick", 3.0, 1.0))
    runs = {  # equal ranks of different runs: the same objectives by other seeds
        make_setup(name): [thought(s, objective + 0.01 * ((s + shift) % 5), [time] * 3) for s in range(5)]
        for shift, (name, objective, time) in enumerate(rows)
    }
    chosen = select([filled(runs)])
    curves = load(chosen)
    (table,) = part(Subject(Comparison(curves, 0, (curves.end,)), chosen)).tables
    on_it = dict(zip(table.data["method"], table.data["front"], strict=True))
    assert on_it == {"one": True, "equal": True, "slower": False, "worse": False, "quick": True}


def test_the_report_has_it_on_request(thoughts: Store, tmp_path: Path) -> None:
    report.write([thoughts], Request(tmp_path / "out", formats=("csv",), optional=["thinking"]))
    assert (tmp_path / "out" / "thinking.csv").read_text().startswith("method,seconds,rank,front\n")


def test_the_row_that_closes_a_failed_run_is_no_suggestion(filled: Fill) -> None:
    run = make_run(0, [9.0, 8.0, math.nan], failure="ask: it took too long")
    columns = run.columns | {"thinking": np.array([2.0, 2.0, 0.0])}
    chosen = select([filled({make_setup("slow"): [replace(run, columns=columns)]})])
    curves = load(chosen)
    assert seconds(Subject(Comparison(curves, 0, (curves.end,)), chosen)) == {"slow": 2.0}

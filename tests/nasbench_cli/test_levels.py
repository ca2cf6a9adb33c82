"""Live trainings that are continued: killed or not, the same rows; and what is on the clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.runner import run
from nasbench.methods import MethodSpec
from nasbench.results import Trajectory
from nasbench.results.store.journal import Journal

pytest.importorskip("torch")
pytest.importorskip("sklearn")

SAME = ("trial", "level", "configuration", "objective", "incumbent", "status", "spent")


def searched(path: Path, method: str = "successive-halving:eta=2", evals: int = 3, workers: int = 1) -> Trajectory:
    grid = Grid((MethodSpec.parse(method),), ("digits@4",), ((),), (0,), Protocol(evals, workers=workers))
    (planned,) = expand([grid])
    journal = Journal(path, "id")
    try:
        return run(planned.cell, 0, planned.spec, open_benchmark(planned.cell.bench), (), journal)
    finally:
        journal.close()


def test_a_search_on_live_trainings_is_resumed_at_any_piece(tmp_path: Path) -> None:
    """Levels 1, 2, 4: four trainings of an epoch, two of which go on, and one of these to the end."""
    whole = searched(tmp_path / "whole.jsonl")
    assert whole.columns["level"].tolist() == [1, 1, 1, 1, 2, 2, 4, 1, 1, 1, 1][: len(whole)]
    assert len(list(tmp_path.glob("whole.*.state"))) > 0  # of trainings that may still be continued
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    for kept in (0, 3, 5):
        path = tmp_path / f"from{kept}.jsonl"
        path.write_bytes(b"".join(lines[: kept + 1]))
        for state in tmp_path.glob("whole.*.state"):  # some are further than the journal: they were told of later
            path.with_name(state.name.replace("whole", f"from{kept}")).write_bytes(state.read_bytes())
        resumed = searched(path)
        for name in SAME:
            assert resumed.columns[name].tolist() == pytest.approx(whole.columns[name].tolist(), nan_ok=True)


def test_without_its_state_a_training_begins_again_and_has_the_same_scores(tmp_path: Path) -> None:
    whole = searched(tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines[:5]))  # all of the first rung, and no state
    resumed = searched(tmp_path / "run.jsonl")
    for name in SAME:
        assert resumed.columns[name].tolist() == whole.columns[name].tolist()


def test_a_trained_network_leaves_no_state_when_it_has_reached_the_end(tmp_path: Path) -> None:
    searched(tmp_path / "run.jsonl", "random", evals=2)
    assert not list(tmp_path.glob("*.state"))


def test_the_clock_of_a_continued_training_counts_what_is_added(tmp_path: Path) -> None:
    found = searched(tmp_path / "run.jsonl")
    assert found.columns["finished"][-1] >= found.columns["cost"].sum() * 0.999
    assert (np.diff(found.columns["finished"]) > 0).all()

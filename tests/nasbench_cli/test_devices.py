"""A device that fails ends its process, not the evaluation: that is repeated in a new one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.pool import Lost, in_processes
from tests.conftest import Printed

BROKEN = """
import nasbench.benchmarks.training.training as training
whole, calls = training.train, []
def train(*arguments):
    calls.append(1)
    if len(calls) > 1:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    return whole(*arguments)
training.train = train
from nasbench.cli.main import main
main()
"""
"""The command, whose second training and all later ones meet a failed device; processes that it starts do not."""


def fails_first(task: str) -> str:
    """A device that fails in the first process, and in a second one, too, if the task ends so."""
    marks = [Path(f"{task}.{number}") for number in range(9)]
    mark = next(mark for mark in marks if not mark.exists())
    mark.touch()
    if mark == marks[0] or task.endswith("always"):
        raise DeviceLost("the device has failed: a test")
    return mark.name


def test_a_task_whose_device_failed_is_done_in_a_new_process(tmp_path: Path) -> None:
    tasks = [str(tmp_path / "once"), str(tmp_path / "always")]
    found = dict(in_processes(fails_first, tasks, 1, lambda task: [task]))
    assert found[tasks[0]] == "once.1"
    lost = found[tasks[1]]
    assert isinstance(lost, Lost)
    assert lost.reason == "its device failed in 3 processes, one after the other"
    assert not lost.killed  # it is recorded as failed, not left missing for ever
    assert len(list(tmp_path.glob("always.*"))) == 3


def test_a_run_goes_on_in_a_new_process_as_if_nothing_had_happened(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    asked = ["run", "--bench", "digits@1", "--method", "random", "--seeds", "1", "--evals", "2", "--store"]
    broken = [sys.executable, "-c", BROKEN, *asked, str(tmp_path / "broken")]
    assert nasbench(*asked, tmp_path / "whole").code == 0
    done = subprocess.run(broken, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the device has failed: CUDA error: an illegal memory access" in done.stderr
    assert "in a new process" in done.stderr
    frames = [pd.read_parquet(tmp_path / name).sort_values("evaluation") for name in ("whole", "broken")]
    for column in ("configuration", "objective", "status", "metric.test-error@1"):
        assert frames[0][column].tolist() == frames[1][column].tolist()
    assert set(frames[1]["status"]) == {"ok"}

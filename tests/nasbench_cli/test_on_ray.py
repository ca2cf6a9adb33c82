"""A suite on a cluster of several nodes on this machine: the same bytes as alone, also when a node dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("ray")

from nasbench.results import Store
from nasbench.results.store import content_hash
from tests.conftest import Printed
from tests.nasbench_cli.conftest import importing
from tests.nasbench_cli.spied import check_store

MARKED = """
methods = ["careful", "toy-local"]
benchmarks = ["toy-marked"]
seeds = 3
evals = 30
"""
LIVE = """
methods = ["random", "careful"]
benchmarks = ["toy-live"]
seeds = 4
evals = 150
"""


@pytest.fixture
def cluster(plugged: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that computes nothing, and two nodes of one CPU."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv(*importing(plugged).popitem())
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    made.shutdown()


def started(cluster: Any, suite: Path, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "nasbench", "run", "--suite", str(suite), "--store", str(store)]
    ray = ["--executor", f"ray:address={cluster.address}"]
    return subprocess.Popen(
        [*command, *ray], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=suite.parent
    )


def finished(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    return out


def write(folder: Path, text: str) -> Path:
    (folder / "suite.toml").write_text(text)
    return folder / "suite.toml"


def wait_for(condition: Callable[[], bool], what: str) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def test_a_node_that_dies_in_the_middle_changes_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, gate = tmp_path / "marks", tmp_path / "gate"
    monkeypatch.setenv("TOY_MARKS", str(marks))
    monkeypatch.setenv("TOY_GATE", str(gate))
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    suite = write(tmp_path, MARKED)
    process = started(cluster, suite, tmp_path / "cluster")
    wait_for(lambda: marks.exists() and len(marks.read_text().split()) == 2, "a run is under way on either node")
    cluster.remove_node(nodes[0], allow_graceful=False)
    gate.touch()
    assert "6 runs computed" in finished(process)
    alone = [sys.executable, "-m", "nasbench", "run", "--suite", str(suite), "--store", str(tmp_path / "alone")]
    assert subprocess.run(alone, check=False).returncode == 0
    assert content_hash(Store.open(tmp_path / "cluster")) == content_hash(Store.open(tmp_path / "alone"))
    again = started(cluster, suite, tmp_path / "cluster")
    assert "all (cached)" in finished(again)


def test_live_runs_of_a_dead_node_go_on_elsewhere_from_their_journals(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    monkeypatch.setenv("TOY_MARKS", str(marks))
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    process = started(cluster, write(tmp_path, LIVE), tmp_path / "store")
    journals = tmp_path / "store" / "_journals"
    wait_for(lambda: len(list(journals.glob("*.jsonl"))) > 1, "runs are under way on both nodes")
    wait_for(lambda: marks.exists() and len(marks.read_text().split()) > 60, "evaluations are under way")
    cluster.remove_node(nodes[0], allow_graceful=False)
    finished(process)
    store = Store.open(tmp_path / "store")
    rows = pd.concat([f.table().to_pandas() for f in store.fragments()])
    assert rows.groupby("seed").size().to_dict() == dict.fromkeys(range(4), 300)
    assert len(marks.read_text().split()) <= 8 * 150 + 2  # at most what was under way when the node died is repeated
    assert not list(store.journals.glob("*.jsonl"))


def test_what_takes_its_worker_down_is_recorded_as_failed(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    suite = write(tmp_path, 'methods = ["dies", "careful"]\nbenchmarks = ["toy"]\nseeds = 2\nevals = 10\n')
    process = started(cluster, suite, tmp_path / "store")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 1, out
    records = {
        (f.setup.method, run.seed): run.failure for f in Store.open(tmp_path / "store").fragments() for run in f.runs
    }
    assert len(records) == 4
    assert records["careful", 0] == records["careful", 1] == ""
    assert "died" in records["dies", 0]


def test_no_method_sees_test_metrics_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    text = 'methods = ["spy"]\nbenchmarks = ["toy-tested", "toy-tested-live"]\nseeds = 2\nevals = 7\n'
    finished(started(cluster, write(tmp_path, text), tmp_path / "store"))
    check_store(tmp_path / "store", runs=4)


def test_without_an_address_a_cluster_begins_here(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    suite = write(tmp_path, 'methods = ["random", "evolution"]\nbenchmarks = ["hpolib-naval"]\nseeds = 4\nevals = 30\n')
    command = [sys.executable, "-m", "nasbench", "run", "--suite", str(suite), "--executor", "ray", "--jobs", "2"]
    done = subprocess.run(
        [*command, "--store", str(tmp_path / "ray")], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "alone").code == 0
    assert content_hash(Store.open(tmp_path / "ray")) == content_hash(Store.open(tmp_path / "alone"))


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        ("ray:cpus=-1", "cpus must be 0 or more"),
        ("ray:gpus=-2", "gpus must be 0 or more, or -1"),
        ("ray:cpus=64", "takes 64 CPUs and 0 GPUs, and no node has them"),
        ("ray:address=127.0.0.1:1", "there is no Ray cluster at 127.0.0.1:1"),
        ("ray:address=nowhere", "there is no Ray cluster at nowhere"),
    ],
)
def test_bad_input_is_one_sentence(executor: str, sentence: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nasbench", "run", "--method", "random", "--bench", "hpolib-naval"]
    command += ["--store", str(tmp_path / "store"), "--executor", executor]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr

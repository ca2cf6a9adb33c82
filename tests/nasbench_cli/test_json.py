"""What commands print as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from nasbench.methods import METHODS
from tests.conftest import Printed
from tests.nasbench_cli import toys


def test_a_benchmark_is_shown_with_its_space_and_metrics(nasbench: Callable[..., Printed]) -> None:
    facts = json.loads(nasbench("show", "nbgraph-cora", "--json").out)
    assert (facts["name"], facts["objective"], facts["configurations"]) == ("nbgraph-cora", "valid-error", 26_206)
    assert {m["name"]: m["is_test"] for m in facts["metrics"]}["test-error"] is True
    tree = json.loads(nasbench("show", "synthetic-tree", "--json").out)
    assert {"name": "x2", "kind": "categorical", "values": [0, 1], "if": {"name": "x1", "values": [0]}} in tree["space"]
    net = json.loads(nasbench("show", "synthetic-cnn", "--json").out)
    assert set(net["space"][0]) == {"name", "kind", "values"}


def test_methods_and_executors_are_shown_with_their_options(nasbench: Callable[..., Printed]) -> None:
    facts = json.loads(nasbench("show", "evolution", "--json").out)
    assert {"name": "population", "type": "int"}.items() <= facts["options"][0].items()
    assert (facts["repeatable"], facts["version"]) == ("any processor", METHODS.get("evolution").about.version)
    assert json.loads(nasbench("show", "serial", "--json").out)["name"] == "serial"


def test_a_check_states_each_promise(nasbench: Callable[..., Printed]) -> None:
    done = nasbench("check", "random", "--json")
    facts = json.loads(done.out)
    assert (done.code, facts["name"], facts["on"]) == (0, "random", ["nb201-cifar10"])
    assert {one["state"] for one in facts["promises"]} == {"kept"}
    assert len(facts["promises"]) == 14
    with METHODS.temporarily("crashing", toys.RaisesInTell):
        broken = nasbench("check", "crashing", "--json")
    states = [one["state"] for one in json.loads(broken.out)["promises"]]
    assert (broken.code, "broken" in states) == (1, True)
    assert any(one["remark"] for one in json.loads(broken.out)["promises"] if one["state"] == "broken")


def test_a_run_states_what_it_did(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    words = [
        "run",
        "--method",
        "random",
        "--bench",
        "hpolib-naval",
        "--evals",
        "5",
        "--store",
        tmp_path / "s",
        "--json",
    ]
    done = nasbench(*words, "--seeds", "2")
    assert done.code == 0
    assert json.loads(done.out) == {
        "store": str(tmp_path / "s"),
        "runs": 2,
        "cached": 0,
        "missing": 0,
        "failures": [],
        "left_out": [],
        "notices": [],
        "shard": None,
    }
    assert "2 runs computed" in done.err
    assert json.loads(nasbench(*words, "--seeds", "3").out)["cached"] == 2
    part = json.loads(nasbench(*words, "--seeds", "3", "--shard", "2/2").out)
    assert (part["shard"], part["runs"], part["cached"]) == ("2/2", 1, 1)


def test_failed_runs_are_stated(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    with METHODS.temporarily("crashing", toys.RaisesInTell):
        done = nasbench(
            "run", "--method", "crashing", "--bench", "hpolib-naval", "--evals", "5", "--seeds", "1",
            "--store", tmp_path / "s", "--json",
        )  # fmt: skip
    (failure,) = json.loads(done.out)["failures"]
    assert done.code == 1
    assert (failure["method"], failure["seed"]) == ("crashing", 0)
    assert failure["failure"]

"""A benchmark that is offered to programs in lines of JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench
from nasbench.base.errors import UsageError
from nasbench.cli.outside.serve import serve
from nasbench.results import Store
from tests.nasbench_cli.outside.test_task import SAME


def cells(n: int) -> list[dict[str, Any]]:
    space, rng = nasbench.task("nb201-cifar10").space, np.random.default_rng(0)
    return [dict(space.values(space.sample(rng))) for _ in range(n)]


def served(lines: list[object], **options: Any) -> tuple[list[dict[str, Any]], bool]:
    """The answers to lines, and whether a recording is complete."""
    task = nasbench.task("nb201-cifar10", "model_size@0.5")
    run = task.record("mine", seed=3, **options) if options else None
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    said: list[dict[str, Any]] = []
    done = serve(task, io.StringIO(text), said.append, 3, run)
    json.dumps(said, allow_nan=False)
    return said, done


def test_a_configuration_is_answered_by_what_came_of_it() -> None:
    task, (cell,) = nasbench.task("nb201-cifar10", "model_size@0.5"), cells(1)
    (first, tell, other), _ = served([{"configuration": cell}, {"configuration": cell, "seed": 1}])
    assert first["hello"]["constraints"][0]["metric"] == "model_size"
    expected = task.evaluate(cell, seed=3)
    assert (tell["tell"]["value"], tell["tell"]["feasible"]) == (expected.value, expected.feasible)
    assert tell["tell"]["metrics"] == expected.metrics
    assert other["tell"]["value"] == task.evaluate(cell, seed=1).value


def test_a_recorded_run_is_that_of_task_record(tmp_path: Path) -> None:
    proposals = cells(5)
    said, done = served([{"configuration": cell} for cell in proposals], store=tmp_path / "served", evals=5)
    assert done
    assert [next(iter(one)) for one in said] == ["hello", *["tell"] * 5, "bye"]
    assert said[0]["hello"]["budget"] == {"evaluations": 5, "seconds": None}
    with nasbench.task("nb201-cifar10", "model_size@0.5").record(
        "mine", seed=3, evals=5, store=tmp_path / "ours"
    ) as run:
        for cell in proposals:
            run.evaluate(cell)
    tables = [Store.open(tmp_path / name).fragments()[0].table().to_pandas()[SAME] for name in ("served", "ours")]
    assert tables[0].to_csv() == tables[1].to_csv()


WRONG = [
    "x",
    "[]",
    '{"configuration": 3}',
    '{"configuration": {"Op9": "none"}}',
    {"configuration": {}, "seed": -1},
    {"configuration": {}, "seed": 4},
    {"configuration": {}, "level": {"epochs": 1}},
    "x" * (3 << 20),
]


def test_a_wrong_line_is_an_error_at_no_expense(tmp_path: Path) -> None:
    (cell,) = cells(1)
    said, done = served([*WRONG, {"configuration": cell}], store=tmp_path / "s", evals=1)
    assert [next(iter(one)) for one in said] == ["hello", *["error"] * 8, "tell", "bye"]
    assert done
    assert "hyper-parameter 'Op9'" in said[4]["error"]
    assert "seed must be a whole number" in said[5]["error"]
    assert "is that of its run" in said[6]["error"]
    assert "perhaps a seed, and no level" in said[7]["error"]


def test_a_program_that_ends_before_its_budget_leaves_a_failed_run(tmp_path: Path) -> None:
    said, done = served([{"configuration": cells(1)[0]}], store=tmp_path / "s", evals=2)
    assert not done
    assert "bye" not in said[-1]
    assert Store.open(tmp_path / "s").fragments()[0].runs[0].failure == (
        "its loop ended after 1 evaluation, before its budget"
    )


def test_a_space_that_is_no_list_is_refused() -> None:
    with pytest.raises(UsageError, match="no list of hyper-parameters"):
        serve(nasbench.task("synthetic-cnn"), io.StringIO(), lambda _: None)


def test_at_the_command_line_lines_come_as_they_are_asked_for(tmp_path: Path) -> None:
    """Each answer is there before the next line is written."""
    command = [sys.executable, "-m", "nasbench", "serve", "nb201-cifar10", "--store", str(tmp_path / "s")]
    command += ["--name", "mine", "--evals", "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert "hello" in json.loads(process.stdout.readline())
        for cell in cells(2):
            process.stdin.write(json.dumps({"configuration": cell}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["tell"]["configuration"] == cell
        assert json.loads(process.stdout.readline()) == {"bye": None}
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--name", "x"], "both --store DIR and --name NAME"),
        (["--evals", "3"], "a budget is that"),
        (["--evals", "0"], "a budget is that"),
    ],
)
def test_options_that_need_others_are_refused(nasbench: Any, options: list[str], said: str) -> None:
    done = nasbench("serve", "nb201-cifar10", *options)
    assert done.code == 2
    assert said in done.err

"""A description of a table with a right digest and other values is refused in a sentence, or used without an error."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.base.metrics import Metric
from nasbench.benchmarks import UsageError
from nasbench.benchmarks.tabular import added, description
from nasbench.benchmarks.tabular.imported import open_imported, save
from nasbench.benchmarks.tabular.user_table import read_table
from nasbench.cli.commands.show import _show_benchmark
from tests.benchmarks.small_table import CSV, SPEC

VALUES = (
    None,
    True,
    0,
    -1,
    1.5,
    math.nan,
    10**30,
    "",
    "x",
    "0" * 64,
    "time",
    [],
    [1],
    ["a", "a"],
    [None],
    {},
    {"a": 1},
)
CURVES = """
name = "curves"
space = "listed"
cost = "time"
[[hyperparameter]]
name = "lr"
kind = "float"
[[hyperparameter]]
name = "width"
kind = "integer"
[[metric]]
name = "valid-error@2"
column = "acc_{epoch}"
complement_of = 1
split = "valid"
epoch = 2
[[metric]]
name = "time"
unit = "s"
"""
ROWS = "lr,width,acc_1,acc_2,time\n0.1,1,0.1,0.2,1\n0.2,2,0.2,0.3,2\n0.3,3,0.3,0.4,3\n"


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def changed(facts: dict[str, Any], path: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    for value in (*VALUES, ...):
        other = copy.deepcopy(facts)
        part: Any = other
        for key in path[:-1]:
            part = part[key]
        if value is ...:
            del part[path[-1]]
        else:
            part[path[-1]] = value
        yield other


def use(name: str) -> None:
    table = open_imported(name)
    added.add_to(table)
    assert _show_benchmark(table)
    for row in range(min(3, table.space.size)):
        table.evaluate(table.space.configuration(row), 0)


@pytest.mark.slow
@pytest.mark.parametrize(("csv", "spec", "name"), [(CSV, SPEC, "mine"), (ROWS, CURVES, "curves")])
@pytest.mark.parametrize("file", ["table.json", "columns.json"])
def test_every_other_value_is_refused_or_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, csv: str, spec: str, name: str, file: str
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    (tmp_path / "t.csv").write_text(csv)
    (tmp_path / "t.toml").write_text(spec)
    save(read_table(tmp_path / "t.csv", tmp_path / "t.toml"))
    space = open_imported(name).space
    added.save(name, added.Columns((Metric("energy", "J"),), np.ones((space.size, 1)), added.digest_of(space)))
    use(name)
    path = next(tmp_path.glob(f"*/{name}/{file}"))
    facts = json.loads(path.read_bytes())
    del facts["digest"]
    outcomes = []
    for other in (other for place in places(facts) for other in changed(facts, place)):
        description.write(path, other)
        try:
            use(name)
            outcomes.append("used")
        except UsageError as error:
            assert "\n" not in str(error)
            outcomes.append("refused")
    assert min(outcomes.count("used"), outcomes.count("refused")) > 10

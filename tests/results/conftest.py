"""Hand-made setups and trajectories: the results room needs neither methods nor benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.results import Row, Setting, Setup, Store, Trajectory
from nasbench.results.curves import Curves
from nasbench.results.literature import Literature
from nasbench.results.parts import PARTS
from nasbench.results.reading import load, select
from nasbench.results.report.single_run import describe, find_runs
from nasbench.results.store.journal import Journal, Record
from nasbench.results.store.trajectory import to_columns

Fill = Callable[..., Store]
"""The fixture `filled`: a store with the given setups and their runs."""

SETTING = Setting(
    family="toy",
    objective="valid-error@1",
    unit="%",
    split="valid",
    bounds=("size <= 1",),
    oracle=1.0,
    worst=100.0,
    feasible_share=0.5,
    median=10.0,
    noise=0.5,
)


def make_setup(method: str = "random", bench: str = "toy", constraint: str = "none", **changes: object) -> Setup:
    facts = {
        "method": method,
        "parameters": (),
        "method_version": 1,
        "bench": bench,
        "data": "sha256:0",
        "constraint": constraint,
        "evals": 3,
        "seconds": None,
        "workers": 1,
        "charge_thinking": False,
        "metrics": ("valid-error@1", "time"),
        "setting": SETTING,
    }
    facts |= changes
    setting: Setting = facts["setting"]  # type: ignore[assignment]
    return Setup(**facts | {"setting": replace(setting, space=setting.space or setting.family)})  # type: ignore[arg-type]


def make_run(
    seed: int,
    objectives: Sequence[float],
    feasible: Sequence[bool] | None = None,
    failure: str = "",
    scores: Sequence[tuple[float, bool | None]] | None = None,
    hidden: Sequence[tuple[float, bool | None]] | None = None,
) -> Trajectory:
    """A run whose evaluations take a second each; NaN objectives are failed evaluations; without scores it is live."""
    rows, incumbent = [], math.nan
    for i, objective in enumerate(objectives):
        failed = math.isnan(objective)
        good = not failed and (feasible is None or feasible[i])
        if good and not objective >= incumbent:
            incumbent = objective
        status, reason = ("failed", "boom") if failed else ("ok", "")
        configuration = None if failure and i == len(objectives) - 1 else f'{{"x": {i}}}'
        reason = failure if configuration is None else reason
        metrics = (objective, math.nan if failed else 1.0)
        score = scores[i] if scores is not None else (math.nan, None)
        known = (configuration, objective, good, incumbent, i, i + 1, 0.5, status, reason, metrics)
        worth = hidden[i] if hidden is not None else (math.nan, None)
        rows.append(Row(i + 1, 0, *known, *score, hidden=worth[0], hidden_feasible=worth[1]))
    return Trajectory(seed, to_columns(rows, 2), failure, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00")


LITERATURE = Literature.read(Path(__file__).parents[2] / "suites" / "claims")

FACTS = {"versions": {"python": "3"}, "commit": "c0ffee", "machine": {"cpu": "x", "gpu": ""}}


PARTS.also("nasbench.methods")  # as the command does


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


@pytest.fixture
def filled(store: Store) -> Fill:
    """Commits runs: `filled({setup: [objectives of seed 0, objectives of seed 1, …]})`."""

    def fill(contents: dict[Setup, list[Trajectory]]) -> Store:
        for setup, runs in contents.items():
            store.commit(setup, runs, FACTS)
        return store

    return fill


def described(store: Store, method: str, bench: str, constraint: str | None, seed: int) -> str:
    """The text of a run."""
    return describe(store, find_runs(store, method, bench, constraint, seed))


def load_all(*stores: Store) -> Curves:
    return load(select(stores))


@pytest.fixture
def curves(filled: Fill) -> Curves:
    """Two methods, two settings; oracle 1, worst 100."""
    return load_all(
        filled(
            {
                make_setup("a", constraint="size@0.1"): [
                    make_run(0, [5.0, 4.0, 2.0], [False, True, True]),
                    make_run(1, [9.0, 9.0, 3.0], [False, False, True]),
                    make_run(2, [9.0, 9.0, 9.0], [False, False, False]),
                ],
                make_setup("b", constraint="size@0.1"): [make_run(s, [8.0, 8.0, 8.0 - s]) for s in (0, 1, 2)],
                make_setup("a"): [make_run(0, [2.0, 2.0, 1.5])],
                make_setup("b"): [make_run(0, [2.0, 2.0, 1.5 * (1 + 1e-12)])],
            }
        )
    )


def begin(store: Store, setup: Setup, seed: int, objectives: Sequence[float], **known: object) -> None:
    """Writes the journal of a run whose evaluations take a second each; those of NaN fail."""
    journal = Journal(store.journals / f"{setup.run_id(seed)}.jsonl", setup.run_id(seed))
    for i, value in enumerate(objectives):
        status, reason = ("failed", "boom") if math.isnan(value) else ("ok", "")
        record = Record(i, f'{{"x": {i}}}', (value, 1.0), 1.0, status, reason, i, i + 1, i, 1, status == "ok")
        journal.append(record._replace(**known))
    journal.close()

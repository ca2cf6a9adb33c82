"""`nasbench plan`: estimates runs, hours and storage of a suite or a grid before anything runs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import click

from nasbench.base.layout import span, table
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks import abilities, open_benchmark
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands._options import asked_suite, default_store, takes_force, takes_grid, takes_shard
from nasbench.cli.commands.forewarnings import warn_of_small_budgets, warn_of_void_constraints
from nasbench.cli.commands.messages import say_left_out, say_notices
from nasbench.cli.engine.costs import Cost, Costs
from nasbench.cli.engine.plan import PlannedSetup, fitting
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.results import Store


@click.command(cls=Command)
@click.argument("suite", required=False, type=click.Path(path_type=Path), shell_complete=_completion.suites)
@takes_grid
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Store with finished runs and measured costs.  [default: runs/default, or runs/SUITE]",
)
@takes_shard
@takes_force
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
@click.pass_context
def plan(
    context: click.Context,
    /,
    suite: Path | None,
    folder: Path | None,
    shard: str | None,
    force: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Estimate the runs, hours and storage of a suite or a grid, beyond what the store already has.

    Takes a suite, or the options of `nasbench run`. Times are for one core: medians of stored runs, else what methods
    and benchmarks state.
    """
    wanted = asked_suite(context, suite)
    part = None if shard is None else Shard.parse(shard)
    print_plan(wanted, folder or default_store(suite), part, as_json, force)


def print_plan(suite: Suite, folder: Path, shard: Shard | None, as_json: bool, force: bool) -> None:
    """Prints runs, hours and storage of a suite by method and benchmark, and the number of stored runs."""
    store = Store.open(folder) if not _is_new(folder) else None
    wanted = fitting(suite.grids, force)
    planned = wanted.planned
    say_left_out(wanted.left_out)
    if shard is not None:
        planned = shard.of(planned)
    stored = store.runs() if store else {}
    incomplete = [p for p in planned if not set(p.seeds) <= stored.get(p.setup.id, {}).keys()]
    warn_of_void_constraints(incomplete)
    warn_of_small_budgets(incomplete)
    costs = Costs(store)
    rows = [_Estimate(p, costs.of(p), len(set(p.seeds) & stored.get(p.setup.id, {}).keys())) for p in planned]
    facts = _facts(rows, costs.bytes_a_row) | {"left_out": list(wanted.left_out)}
    if store is not None:
        say_notices(store)
    if as_json:
        say(json.dumps(_without_nan(facts), indent=2))
        return
    lines = [("method", "benchmark", "runs", "stored", "CPU time", "GPU time", "each", "from")]
    for entry in facts["setups"]:
        lines.append(
            (
                entry["method"],
                entry["bench"],
                f"{entry['runs']:,}",
                f"{entry['stored']:,}",
                span(entry["cpu_seconds"]),
                _on_gpu(entry["gpu_seconds"]) or "-",
                span(entry["seconds_a_run"]),
                "the store" if entry["measured"] else "stated",
            )
        )
    say(table(lines))
    runs = f"{count(facts['runs'], 'run')}, {facts['stored']:,} of them in {folder}"
    on_gpus = _on_gpu(facts["gpu_seconds"])
    of_a_gpu = f"; on a GPU: {on_gpus}" if on_gpus else ""
    say(f"\n{runs}; to run: {span(facts['cpu_seconds'])} of one CPU core{of_a_gpu}")
    say(f"Storage: about {_size(facts['bytes'])} in all, {facts['bytes_a_row']:.0f} bytes per evaluation")
    say(
        "Times assume an otherwise idle machine. stated: by the methods and benchmarks themselves, for one core, "
        "and 20 µs per evaluation for the runner; the store: median of its runs, which replaces stated times as runs "
        "finish"
    )


def _is_new(folder: Path) -> bool:
    """Whether there is no store yet, so that `nasbench run` makes one."""
    return not folder.exists() or (folder.is_dir() and os.access(folder, os.R_OK) and not os.listdir(folder))


class _Estimate:
    """A planned setup with its number of runs and the cost of one run."""

    def __init__(self, planned: PlannedSetup, cost: Cost, stored: int) -> None:
        self.planned, self.cost, self.stored = planned, cost, stored
        self.runs = len(planned.seeds)
        self.missing = self.runs - stored
        self.seconds = self.missing * cost.seconds * (planned.setup.workers if planned.live else 1)
        benchmark = open_benchmark(planned.setup.bench)
        share = abilities.gpus(benchmark) if abilities.device(benchmark) else 0.0
        self.gpu_seconds = math.nan if share and self.missing and not cost.on_gpu else self.seconds * share
        """NaN if a GPU would be used, and no run on a GPU has been measured."""


def _facts(rows: list[_Estimate], bytes_a_row: float) -> dict[str, Any]:
    setups: dict[tuple[str, str], list[_Estimate]] = {}
    for row in rows:
        setups.setdefault((row.planned.setup.method, row.planned.setup.bench), []).append(row)
    entries = [
        {
            "method": method,
            "bench": bench,
            **_sums(estimates),
            "seconds_a_run": sum(row.cost.seconds * row.runs for row in estimates) / sum(row.runs for row in estimates),
            "measured": all(row.cost.measured for row in estimates),
        }
        for (method, bench), estimates in setups.items()
    ]
    evaluations = sum(row.cost.rows * row.runs for row in rows)
    return {"setups": entries, **_sums(rows), "bytes": evaluations * bytes_a_row, "bytes_a_row": bytes_a_row}


def _sums(rows: list[_Estimate]) -> dict[str, float]:
    return {
        "runs": sum(row.runs for row in rows),
        "stored": sum(row.stored for row in rows),
        "cpu_seconds": sum(row.seconds for row in rows),
        "gpu_seconds": sum(row.gpu_seconds for row in rows),
    }


def _on_gpu(seconds: float) -> str:
    return "unknown" if math.isnan(seconds) else span(seconds) if seconds else ""


def _without_nan(facts: Any) -> Any:
    """The facts with null in place of NaN, which JSON does not have."""
    if isinstance(facts, dict):
        return {key: _without_nan(value) for key, value in facts.items()}
    if isinstance(facts, list):
        return [_without_nan(value) for value in facts]
    return None if isinstance(facts, float) and math.isnan(facts) else facts


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"

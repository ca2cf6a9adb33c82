"""`nasbench plan`: estimates runs, hours and storage of a suite before anything runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from nasbench.benchmarks import open_benchmark
from nasbench.cli.commands import completion
from nasbench.cli.commands.forewarnings import say_what_budgets_hide
from nasbench.cli.commands.options import takes_data_dir, takes_shard
from nasbench.cli.engine.costs import Cost, Costs
from nasbench.cli.engine.plan import PlannedCell, expand
from nasbench.cli.engine.suites import Shard, Suite, load_suite
from nasbench.cli.layout import span, table
from nasbench.results import Store
from nasbench.results.display.numbers import count


@click.command()
@click.argument("suite", type=click.Path(path_type=Path), shell_complete=completion.suites)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="What is there already, and measured costs.  [default: runs/SUITE]",
)
@click.option("--without", multiple=True, metavar="NAME", help="Leave a method of the suite out; repeatable.")
@takes_shard
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
def plan(suite: Path, folder: Path | None, without: tuple[str, ...], shard: str | None, as_json: bool) -> None:
    """Say how many runs a suite has, what they take on one core, how much they store, and what is there already.

    Times are the medians of the runs that the store has; for the others what methods and benchmarks state.
    """
    wanted = load_suite(suite).without(without)
    part = None if shard is None else Shard.parse(shard)
    print_plan(wanted, folder or Path("runs") / suite.stem, part, as_json)


def print_plan(suite: Suite, folder: Path, shard: Shard | None, as_json: bool) -> None:
    """Prints runs, hours and storage of a suite by method and benchmark, and what the store has of it."""
    store = Store.open(folder) if folder.exists() else None
    planned = expand(suite.grids)
    if shard is not None:
        planned = shard.of(planned)
    stored = store.runs() if store else {}
    say_what_budgets_hide([p for p in planned if not set(p.seeds) <= stored.get(p.cell.id, {}).keys()])
    costs = Costs(store)
    rows = [_Row(p, costs.of(p), len(set(p.seeds) & stored.get(p.cell.id, {}).keys())) for p in planned]
    facts = _facts(rows, costs.bytes_a_row)
    if as_json:
        click.echo(json.dumps(_without_nan(facts), indent=2))
        return
    lines = [("method", "benchmark", "runs", "stored", "CPU time", "GPU time", "each", "from")]
    for entry in facts["cells"]:
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
    click.echo(table(lines))
    runs = f"{count(facts['runs'], 'run')}, {facts['stored']:,} of them in {folder}"
    on_gpus = _on_gpu(facts["gpu_seconds"])
    of_a_gpu = f"; on a GPU: {on_gpus}" if on_gpus else ""
    click.echo(f"\n{runs}; to run: {span(facts['cpu_seconds'])} of one CPU core{of_a_gpu}")
    click.echo(f"Storage: about {_size(facts['bytes'])} in all, {facts['bytes_a_row']:.0f} bytes per evaluation")
    click.echo(
        "Times assume an otherwise idle machine. stated: as methods and benchmarks say of themselves, on one core; "
        "the store: the median of its runs, which takes the place of that as they finish"
    )


class _Row:
    """A planned cell, with the cost of one of its runs and the number of runs."""

    def __init__(self, planned: PlannedCell, cost: Cost, stored: int) -> None:
        self.planned, self.cost, self.stored = planned, cost, stored
        self.runs = len(planned.seeds)
        self.missing = self.runs - stored
        self.seconds = self.missing * cost.seconds * (planned.cell.workers if _is_live(planned) else 1)
        benchmark = open_benchmark(planned.cell.bench)
        share = benchmark.gpus if benchmark.device else 0.0
        self.gpu_seconds = math.nan if share and self.missing and not cost.on_gpu else self.seconds * share
        """NaN where a GPU would be used, and nobody has measured how long."""


def _facts(rows: list[_Row], bytes_a_row: float) -> dict[str, Any]:
    cells: dict[tuple[str, str], list[_Row]] = {}
    for row in rows:
        cells.setdefault((row.planned.cell.method, row.planned.cell.bench), []).append(row)
    entries = [
        {
            "method": method,
            "bench": bench,
            **_sums(own),
            "seconds_a_run": sum(row.cost.seconds * row.runs for row in own) / sum(row.runs for row in own),
            "measured": all(row.cost.measured for row in own),
        }
        for (method, bench), own in cells.items()
    ]
    evaluations = sum(row.cost.rows * row.runs for row in rows)
    return {"cells": entries, **_sums(rows), "bytes": evaluations * bytes_a_row, "bytes_a_row": bytes_a_row}


def _sums(rows: list[_Row]) -> dict[str, float]:
    return {
        "runs": sum(row.runs for row in rows),
        "stored": sum(row.stored for row in rows),
        "cpu_seconds": sum(row.seconds for row in rows),
        "gpu_seconds": sum(row.gpu_seconds for row in rows),
    }


def _on_gpu(seconds: float) -> str:
    return "unknown" if math.isnan(seconds) else span(seconds) if seconds else ""


def _without_nan(facts: Any) -> Any:
    """JSON knows no NaN: what is unknown is null."""
    if isinstance(facts, dict):
        return {key: _without_nan(value) for key, value in facts.items()}
    if isinstance(facts, list):
        return [_without_nan(value) for value in facts]
    return None if isinstance(facts, float) and math.isnan(facts) else facts


def _is_live(planned: PlannedCell) -> bool:
    return open_benchmark(planned.cell.bench).live


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"

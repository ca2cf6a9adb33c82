"""Makes a table of a live benchmark by evaluating many of its configurations (`nasbench tabulate`)."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from nasbench.benchmarks import Benchmark, BenchmarkSpec, Evaluation, Metric, UsageError, open_benchmark
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.flat import Flat
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer, Ordinal
from nasbench.benchmarks.tabular.own import MOST_ABSENT
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.cli.engine.progress import Progress
from nasbench.cli.engine.workers import attempt
from nasbench.results.store.journal import Journal, Record

_FEWEST = int(0.9 * MOST_ABSENT)  # times fewer than the grid has: some cannot be trained, and are no rows
_MOST = 100_000  # of the configurations that "all" may mean

_COST = Metric("evaluation_time", "s", description="wall time of the whole evaluation")


class Task(NamedTuple):
    """One evaluation to be made for a table."""

    configuration: Configuration
    """What is evaluated."""
    repetition: int
    """Number of the repetition, from 0: it determines the training seed."""


def tabulate(name: str, epochs: int | None, sample: int | None, repetitions: int, out: Path, jobs: int) -> bool:
    """Evaluates configurations, and writes OUT.csv with its specification OUT.toml for `nasbench import table`.

    Evaluations are kept in OUT.jsonl: the same request continues there, and so does one for a larger sample. Failed
    evaluations are tried again. Returns whether any evaluation failed.

    Args:
        name: the benchmark.
        epochs: training epochs of each evaluation; None for the benchmark's own.
        sample: number of distinct configurations, drawn in a fixed order; None for all of them.
        repetitions: number of training seeds per configuration.
        out: path of the table without its suffix.
        jobs: number of evaluations computed at the same time.

    Raises UsageError if the space is no grid, or has fewer configurations than the sample.
    """
    if not next(folder for folder in out.parents if folder.exists()).is_dir():
        raise UsageError(f"cannot write {out}: what stands above it is no folder")
    spec = BenchmarkSpec.parse(name)
    if epochs is not None and spec.fidelity is not None:
        raise UsageError(f"{name} says its epochs already: leave --epochs out")
    name = name if epochs is None else replace(spec, fidelity=epochs).label
    benchmark = open_benchmark(name)
    flat = _grid(benchmark)
    tasks = [Task(c, r) for c in _configurations(benchmark, flat, sample) for r in range(repetitions)]
    benchmark.make_ready()
    out.parent.mkdir(parents=True, exist_ok=True)
    with closing(Journal(Path(f"{out}.jsonl"), f"{benchmark.name} {benchmark.checksum}")) as journal:
        to_json = benchmark.space.to_json
        known = {(r.configuration, r.ask): r for r in journal.records if r.status != "failed"}
        missing = [t for t in tasks if (to_json(t.configuration), t.repetition) not in known]
        click.echo(
            f"{name}: {len(tasks):,} evaluations, {len(tasks) - len(missing):,} (cached), {len(missing):,} to run"
        )
        with Progress(len(missing), "evaluations") as progress, closing(_evaluated(name, missing, jobs)) as evaluated:
            for task, evaluation in evaluated:
                configuration = to_json(task.configuration)
                record = Record(task.repetition, configuration, *evaluation[:4], started=0.0, finished=evaluation.cost)
                journal.append(record)
                known[configuration, task.repetition] = record
                progress.advance(1)
    records = [known[to_json(t.configuration), t.repetition] for t in tasks]
    _write(benchmark, flat, records, out)
    _say(records, out)
    return any(record.status == "failed" for record in records)


def _grid(benchmark: Benchmark) -> Flat:
    """The flat view of a benchmark's space if that is a finite grid. Raises UsageError for any other space."""
    if not benchmark.live:
        raise UsageError(f"{benchmark.name} is a table already")
    no_grid = UsageError(
        f"the space of {benchmark.name} is no grid (what can be chosen depends on other choices, or has no end of "
        "values), and a table is one: take another, such as digits/nasbench201"
    )
    if not isinstance(benchmark.space, AsFlat):
        raise no_grid
    found = benchmark.space.as_flat()
    if not found.hyperparameters:
        raise UsageError(f"there is nothing to choose in {benchmark.name}: no table")
    if any(found.conditions) or any(isinstance(h, Float | Integer) for h in found.hyperparameters):
        raise no_grid
    return found


def _configurations(benchmark: Benchmark, flat: Flat, sample: int | None) -> list[Configuration]:
    size = math.prod(len(h.values) for h in flat.hyperparameters if not isinstance(h, Float | Integer))
    if sample is None:
        if size > _MOST:
            raise UsageError(f"{benchmark.name} has {size:,} configurations: give --sample N instead of all")
        space: Iterable[Configuration] = benchmark.space  # type: ignore[assignment]
        return list(space)
    least = -(-size // _FEWEST)
    if not least <= sample <= size:
        raise UsageError(
            f"sample must lie in [{least:,}, {size:,}] on {benchmark.name}, or be all, not {sample:,}: of a smaller "
            "part of its grid no table is made"
        )
    rng, found = np.random.default_rng(0), dict[Configuration, None]()
    while len(found) < sample:
        found[benchmark.space.sample(rng)] = None
    return list(found)


def _evaluated(name: str, tasks: list[Task], jobs: int) -> Generator[tuple[Task, Evaluation], None, None]:
    """Each task with its evaluation, in the order in which they finish."""
    if jobs == 1 or len(tasks) < 2:
        yield from ((task, _evaluate(name, task)) for task in tasks)
        return
    nothing = (math.nan,) * len(open_benchmark(name).metrics)
    with closing(in_processes(partial(_evaluate, name), tasks, jobs, lambda task: [task])) as results:
        for task, found in results:
            yield task, Evaluation(nothing, 0.0, "failed", found.reason) if isinstance(found, Lost) else found


def _evaluate(name: str, task: Task) -> Evaluation:
    benchmark = open_benchmark(name)
    benchmark.make_ready()
    text = f"{benchmark.space.to_json(task.configuration)} {task.repetition}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
    return attempt(benchmark, task.configuration, seed)


def _write(benchmark: Benchmark, flat: Flat, records: list[Record], out: Path) -> None:
    metrics = [*benchmark.metrics, _COST]
    names = [h.name for h in flat.hyperparameters]
    aside = Path(f"{out}.csv.tmp")
    with aside.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*names, "repetition", *(metric.name for metric in metrics)])
        for record in records:
            if record.status == "ok":
                values = json.loads(record.configuration)
                rows.writerow([*(values[name] for name in names), record.ask, *record.metrics, record.cost])
    aside.replace(f"{out}.csv")
    evaluated = len({record.configuration for record in records})
    facts = {
        "name": benchmark.name.replace("/", "-").replace("@", "-"),
        "family": benchmark.family,
        "source": f"nasbench tabulate {benchmark.name}: {evaluated} configurations; {benchmark.source}",
        "licence": benchmark.licence,
        "cost": _COST.name,
        "repetition": "repetition",
        "missing": "infeasible",  # what was not drawn, or cannot be trained
    }
    if benchmark.space.table_kind:
        facts["space"] = benchmark.space.table_kind
    lines = _lines(facts)
    for h in flat.hyperparameters:
        assert not isinstance(h, Float | Integer)
        entry: dict[str, Any] = {"name": h.name, "kind": h.kind, "values": list(h.values)}
        if isinstance(h, Ordinal) and h.log:
            entry["log"] = True
        lines += ["", "[[hyperparameter]]", *_lines(entry)]
    for metric in metrics:
        entry = {"name": metric.name, "unit": metric.unit, "direction": metric.direction}
        entry |= {"description": metric.description, "cheap": metric.cheap}
        if metric.split is not None:
            entry["split"] = metric.split
        if metric.name.endswith(f"@{metric.epoch}"):
            entry["epoch"] = metric.epoch
        lines += ["", "[[metric]]", *_lines(entry)]
    Path(f"{out}.toml").write_text("\n".join(lines) + "\n")


def _lines(facts: dict[str, Any]) -> list[str]:
    """Facts as lines of TOML, which writes text, numbers, booleans and lists of them as JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]


def _say(records: list[Record], out: Path) -> None:
    rows = [record for record in records if record.status == "ok"]
    lost: dict[str, list[str]] = {}
    for record in records:
        if record.status != "ok":
            lost.setdefault(record.status, []).append(record.reason)
    for status, reasons in lost.items():
        again = "; the same command tries them again" if status == "failed" else ""
        click.echo(f"{len(reasons)} evaluations {status}, and left out; the first: {reasons[0]}{again}", err=True)
    command = f"nasbench import table {out}.csv --spec {out}.toml"
    click.echo(f"{len(rows):,} rows in {out}.csv; `{command}` makes a benchmark of them")

"""Makes a table of a live benchmark by evaluating many of its configurations (`nasbench tabulate`)."""

from __future__ import annotations

import csv
import glob
import hashlib
import json
import math
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
import numpy as np

from nasbench.benchmarks import Benchmark, BenchmarkSpec, Evaluation, Metric, UsageError, open_benchmark
from nasbench.benchmarks.images import ImageBenchmark
from nasbench.benchmarks.images.curves import TrainingCurves
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.flat import Flat
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer, Ordinal
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spaces.trainable.cells import CellSpace
from nasbench.benchmarks.tabular.own import MOST_ABSENT
from nasbench.benchmarks.tabular.specification import PLACE
from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.parts import Part, Row, rows_in
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.cli.engine.progress import Progress
from nasbench.cli.engine.suites import Shard
from nasbench.cli.engine.workers import attempt
from nasbench.results.display.numbers import count

_MOST = 100_000  # of the configurations that "all" may mean

_COST = Metric("evaluation_time", "s", description="wall time of the whole evaluation")


class Task(NamedTuple):
    """One evaluation to be made for a table."""

    configuration: Configuration
    """What is evaluated."""
    repetition: int
    """Number of the repetition, from 0: it determines the training seed."""


Stack: TypeAlias = tuple[Task, ...]
"""Repetitions of one configuration that are trained as one."""


def tabulate(
    name: str,
    epochs: int | None,
    sample: int | None,
    repetitions: int,
    out: Path,
    jobs: int,
    shard: Shard | None,
    stack: int = 1,
) -> bool:
    """Evaluates configurations, and writes OUT.csv with its specification OUT.toml for `nasbench import table`.

    One configuration of each class is evaluated (`Benchmark.canonical`), and its results are written for all of them.
    Evaluations are kept in OUT.jsonl, or in the shard's OUT.I-of-N.jsonl: the same request continues there, and so does
    one for a larger sample; what other parts beside it hold is not made again. Failed evaluations are tried again.
    Returns whether any evaluation failed.

    Args:
        name: the benchmark.
        epochs: training epochs of each evaluation; None for the benchmark's own.
        sample: number of distinct configurations, drawn in a fixed order; None for all of them.
        repetitions: number of training seeds per configuration.
        out: path of the table without its suffix.
        jobs: number of evaluations computed at the same time.
        stack: number of repetitions of a configuration that are trained as one.
        shard: the part of the evaluations to make; None for all of them. The table is written once all parts are there.

    Raises UsageError if the space is no grid, or has fewer configurations than the sample, or its networks cannot be
    trained as one; StoreError if a part is of another benchmark.
    """
    if not next(folder for folder in out.parents if folder.exists()).is_dir():
        raise UsageError(f"cannot write {out}: what stands above it is no folder")
    spec = BenchmarkSpec.parse(name)
    if epochs is not None and spec.fidelity is not None:
        raise UsageError(f"{name} says its epochs already: leave --epochs out")
    name = name if epochs is None else replace(spec, fidelity=epochs).label
    benchmark = _opened(name)
    flat = _grid(benchmark)
    if stack > 1 and repetitions == 1:
        raise UsageError("--stack trains repetitions of a network as one: give --repetitions, too")
    if stack > 1 and not (isinstance(benchmark, ImageBenchmark) and isinstance(benchmark.networks, CellSpace)):
        raise UsageError(f"--stack trains networks of cells as one, as those of digits/nasbench201; {name} has others")
    found = {c: benchmark.canonical(c) for c in _configurations(benchmark, flat, sample)}
    classes = list(dict.fromkeys(found.values()))
    own = classes if shard is None else classes[shard.number - 1 :: shard.count]
    benchmark.make_ready()
    out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [Task(c, r) for r in range(repetitions) for c in own]  # one seed of all comes before the next
    click.echo(f"{name}: {count(len(found), 'configuration')}, of which {len(classes):,} differ")
    known = _evaluate_missing(name, tasks, out, shard, jobs, stack)
    to_json = cache(benchmark.space.to_json)
    lacking = sum((to_json(c), r) not in known for c in classes for r in range(repetitions))
    if lacking:
        click.echo(
            f"{count(lacking, 'evaluation')} of other shards {'is' if lacking == 1 else 'are'} not here: put their "
            f"parts ({out}.*-of-*.jsonl) beside this one, and give the command again"
        )
        return any(known[to_json(t.configuration), t.repetition].status == "failed" for t in tasks)
    numbers = {c: number for number, c in enumerate(classes)}
    made = [
        _Made(to_json(c), r, numbers[first], known[to_json(first), r])
        for c, first in found.items()
        for r in range(repetitions)
    ]
    _write(benchmark, flat, made, out)
    _say(made, out)
    return any(row.evaluation.status == "failed" for row in made)


class _Made(NamedTuple):
    """A configuration's repetition, as the table has it."""

    configuration: str
    repetition: int
    number: int
    """Of the class of configurations that share their evaluations."""
    evaluation: Evaluation


def _evaluate_missing(
    name: str, tasks: list[Task], out: Path, shard: Shard | None, jobs: int, stack: int
) -> dict[tuple[str, int], Evaluation]:
    """Makes the evaluations that no part of the table holds; returns what all parts hold then."""
    benchmark = _opened(name)
    own = Path(f"{out}.jsonl" if shard is None else f"{out}.{shard.number}-of-{shard.count}.jsonl")
    paths = {Path(f"{out}.jsonl"), *out.parent.glob(f"{glob.escape(out.name)}.*-of-*.jsonl")} - {own}
    rows = [row for path in sorted(paths) if path.exists() for row in rows_in(path, benchmark)]
    with closing(Part(own, benchmark)) as part:
        rows += part.rows
        rows.sort(key=lambda row: row.evaluation.status != "failed")  # of two the second counts
        known = {row[:2]: row.evaluation for row in rows}
        done = {key for key, evaluation in known.items() if evaluation.status != "failed"}
        keys = [(benchmark.space.to_json(task.configuration), task.repetition) for task in tasks]
        missing = {key: task for key, task in zip(keys, tasks, strict=True) if key not in done}
        whose = "" if shard is None else f" of shard {shard.number}/{shard.count}"
        click.echo(
            f"{count(len(tasks), 'evaluation')}{whose}, {len(tasks) - len(missing):,} (cached), {len(missing):,} to run"
        )
        evaluations = _evaluated(name, _stacks(list(missing.values()), stack), jobs)
        with Progress(len(missing), "evaluations") as progress, closing(evaluations):
            for task, evaluation in evaluations:
                key = benchmark.space.to_json(task.configuration), task.repetition
                part.append(Row(*key, evaluation))
                known[key] = evaluation
                progress.advance(1)
    return known


@cache
def _opened(name: str) -> Benchmark:
    """A benchmark as its table records it."""
    found = open_benchmark(name)
    return TrainingCurves(found) if isinstance(found, ImageBenchmark) else found


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
    size = _size(flat)
    if sample is None:
        if size > _MOST:
            raise UsageError(f"{benchmark.name} has {size:,} configurations: give --sample N instead of all")
        space: Iterable[Configuration] = benchmark.space  # type: ignore[assignment]
        return list(space)
    if not 1 <= sample <= size:
        raise UsageError(f"sample must lie in [1, {size:,}] on {benchmark.name}, or be all, not {sample:,}")
    rng, found = np.random.default_rng(0), dict[Configuration, None]()
    while len(found) < sample:
        found[benchmark.space.sample(rng)] = None
    return list(found)


def _size(flat: Flat) -> int:
    return math.prod(len(h.values) for h in flat.hyperparameters if not isinstance(h, Float | Integer))


def _stacks(tasks: list[Task], most: int) -> list[Stack]:
    """So many repetitions of a configuration together at most; their order is that of the first ones."""
    own: dict[Configuration, list[Task]] = {}
    for task in tasks:
        own.setdefault(task.configuration, []).append(task)
    found = [tuple(alike[i : i + most]) for alike in own.values() for i in range(0, len(alike), most)]
    return sorted(found, key=lambda stack: stack[0].repetition)


def _evaluated(name: str, stacks: list[Stack], jobs: int) -> Generator[tuple[Task, Evaluation], None, None]:
    """Each task with its evaluation, in the order in which they finish."""
    if jobs == 1 or len(stacks) < 2:
        for stack in stacks:
            yield from zip(stack, _evaluate_as_one(name, stack), strict=True)
        return
    nothing = (math.nan,) * len(_opened(name).metrics)
    evaluate = partial(_evaluate_as_one, name)
    with closing(in_processes(evaluate, stacks, jobs, lambda stack: [(task,) for task in stack])) as results:
        for stack, found in results:
            if isinstance(found, Lost):
                yield from ((task, Evaluation(nothing, 0.0, "failed", found.reason)) for task in stack)
            else:
                yield from zip(stack, found, strict=True)


def _evaluate_as_one(name: str, stack: Stack) -> list[Evaluation]:
    """The evaluations of a stack; what fails in company is evaluated again alone."""
    if len(stack) == 1:
        return [_evaluate(name, stack[0])]
    from nasbench.benchmarks.training import lockstep, training

    _opened(name).make_ready()
    together = [partial(_evaluate, name, task) for task in stack]
    all_found = lockstep.Lockstep(together, training.own_clock(training.device())).run()
    evaluations = []
    for task, found in zip(stack, all_found, strict=True):
        if isinstance(found, DeviceLost):
            raise found
        if isinstance(found, BaseException) or found.status == "failed":
            found = _evaluate(name, task)  # noqa: PLW2901
        evaluations.append(found)
    return evaluations


def _evaluate(name: str, task: Task) -> Evaluation:
    benchmark = _opened(name)
    benchmark.make_ready()
    # The name says the epochs: a longer training is not the continuation of a shorter one.
    text = f"{benchmark.name} {benchmark.space.to_json(task.configuration)} {task.repetition}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
    return attempt(benchmark, task.configuration, seed)


def _write(benchmark: Benchmark, flat: Flat, made: list[_Made], out: Path) -> None:
    metrics, cost = [*benchmark.metrics], _COST.name
    if isinstance(benchmark, TrainingCurves):
        cost = benchmark.cost
    else:
        metrics.append(_COST)
    names = [h.name for h in flat.hyperparameters]
    good = [row for row in made if row.evaluation.status == "ok"]
    aside = Path(f"{out}.csv.tmp")
    with aside.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*names, "class", "repetition", *(metric.name for metric in metrics)])
        for configuration, repetition, number, evaluation in good:
            values = json.loads(configuration)
            scores = (*evaluation.metrics, evaluation.cost)[: len(metrics)]
            rows.writerow([*(values[name] for name in names), number, repetition, *scores])
    aside.replace(f"{out}.csv")
    facts = {
        "name": benchmark.name.replace("/", "-").replace("@", "-"),
        "family": benchmark.family,
        "source": f"nasbench tabulate {benchmark.name}: {_counted(made)}; {benchmark.source}",
        "licence": benchmark.licence,
        "cost": cost,
        "repetition": "repetition",
        "missing": "infeasible",  # what was not drawn, or cannot be trained
    }
    if _size(flat) > MOST_ABSENT * len(good):  # no grid is read from so few
        facts["space"] = ListedSpace.table_kind
    elif benchmark.space.table_kind:
        facts["space"] = benchmark.space.table_kind
    lines = _lines(facts)
    for h in flat.hyperparameters:
        assert not isinstance(h, Float | Integer)
        entry: dict[str, Any] = {"name": h.name, "kind": h.kind, "values": list(h.values)}
        if isinstance(h, Ordinal) and h.log:
            entry["log"] = True
        lines += ["", "[[hyperparameter]]", *_lines(entry)]
    for entry in _sections(metrics):
        lines += ["", "[[metric]]", *_lines(entry)]
    Path(f"{out}.toml").write_text("\n".join(lines) + "\n")


def _counted(made: list[_Made]) -> str:
    evaluated = len({row.configuration for row in made})
    classes = len({row.number for row in made})
    return count(evaluated, "configuration") + (f", of which {classes} differ" if classes < evaluated else "")


def _sections(metrics: list[Metric]) -> list[dict[str, Any]]:
    """What the specification says of each metric; one that is there at several epochs is one with a curve."""
    last = metrics[0].epoch
    stems = [metric.name.rpartition("@")[0] for metric in metrics if metric.epoch not in (None, last)]
    found = []
    for metric in metrics:
        if metric.epoch not in (None, last):
            continue
        entry: dict[str, Any] = {"name": metric.name, "unit": metric.unit, "direction": metric.direction}
        entry |= {"description": metric.description, "cheap": metric.cheap}
        if metric.split is not None:
            entry["split"] = metric.split
        if metric.name.endswith(f"@{metric.epoch}"):
            entry["epoch"] = metric.epoch
        stem = metric.name.rpartition("@")[0]
        if stem in stems:
            entry["column"] = f"{stem}@{PLACE}"
        found.append(entry)
    return found


def _lines(facts: dict[str, Any]) -> list[str]:
    """Facts as lines of TOML, which writes text, numbers, booleans and lists of them as JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]


def _say(made: list[_Made], out: Path) -> None:
    lost: dict[str, list[str]] = {}
    for _, _, _, evaluation in made:
        if evaluation.status != "ok":
            lost.setdefault(evaluation.status, []).append(evaluation.reason)
    for status, reasons in lost.items():
        again = "; the same command tries them again" if status == "failed" else ""
        click.echo(
            f"{count(len(reasons), 'evaluation')} {status}, and left out; the first: {reasons[0]}{again}", err=True
        )
    command = f"nasbench import table {out}.csv --spec {out}.toml"
    rows = sum(row.evaluation.status == "ok" for row in made)
    click.echo(f"{count(rows, 'row')} in {out}.csv; `{command}` makes a benchmark of them")

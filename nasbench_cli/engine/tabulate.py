"""Makes a table of a live benchmark by evaluating many of its configurations (`nasbench tabulate`)."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import math
import re
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import ends_nothing
from nasbench.base.numbers import count
from nasbench.benchmarks import (
    BENCHMARKS,
    Benchmark,
    Evaluation,
    Metric,
    UsageError,
    abilities,
    open_benchmark,
)
from nasbench.benchmarks.abilities import Canonical
from nasbench.benchmarks.images import ImageBenchmark
from nasbench.benchmarks.images.curves import TrainingCurves
from nasbench.benchmarks.learners import LearnerBenchmark, LearnerCurves
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.flat import Flat
from nasbench.benchmarks.spaces.hyperparameters import Float, Integer, Ordinal
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.tabular.imported import NAME
from nasbench.benchmarks.tabular.specification import PLACE, metric_of, objective_of
from nasbench.benchmarks.tabular.user_table import MOST_ABSENT
from nasbench.cli.engine._table_journal import TableJournal, TableRecord, entries_in
from nasbench.cli.engine.evaluations import attempt
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.cli.engine.suites import Shard
from nasbench.results.store import disk

_MOST = 100_000  # configurations of a table without --sample

_LOG = logging.getLogger("nasbench")
_NUMBERS = ("class", "repetition")  # columns: of configurations that share evaluations, and of their seeds
_COST = Metric("evaluation_time", "s", description="wall time of the whole evaluation")


class Drawn(NamedTuple):
    """An event: the configurations of the table are chosen."""

    name: str
    """The benchmark, with its epochs."""
    configurations: int
    classes: int
    """Number of classes of equivalent configurations; one configuration per class is evaluated."""


class TabulationBegun(NamedTuple):
    """An event: the evaluations of this request, or of its shard, begin."""

    evaluations: int
    """Number of evaluations that it needs."""
    missing: int
    """Number of evaluations that no journal has yet."""
    shard: Shard | None


class Evaluated(NamedTuple):
    """An event: one evaluation is finished and in the journal."""


class Incomplete(NamedTuple):
    """The last event of a shard while other shards are missing: no table is written yet."""

    lacking: int
    """Number of evaluations of other shards that are not here."""
    failed: bool
    """Whether an evaluation of this request failed."""


class Written(NamedTuple):
    """The last event: the table is written."""

    rows: int
    left_out: dict[str, list[str]]
    """Status → reasons of the evaluations that are not in the table."""

    @property
    def failed(self) -> bool:
        """Whether an evaluation of this request failed."""
        return "failed" in self.left_out


Event: TypeAlias = Drawn | TabulationBegun | Evaluated | Incomplete | Written
"""An event while a table is made; they come in this order."""


class Task(NamedTuple):
    """One evaluation that a table needs."""

    configuration: Configuration
    repetition: int
    """Number of the repetition, from 0: it determines the training seed."""


def tabulate(
    name: str,
    sample: int | None,
    repetitions: int,
    out: Path,
    jobs: int,
    shard: Shard | None,
) -> Generator[Event, None, None]:
    """Evaluates configurations, and writes OUT.csv with its specification OUT.toml for `nasbench import table`.

    One configuration per class of equivalent ones is evaluated (`Benchmark.canonical`); its results are written for
    all of them. Evaluations are kept in the journal OUT.jsonl, or OUT.I-of-N.jsonl for a shard: the same request
    continues there, and so does a request for a larger sample. Evaluations in other journals beside it are not made
    again. Failed evaluations are tried again. Yields events; closing the iterator stops the work.

    Args:
        name: the benchmark.
        sample: number of distinct configurations, drawn in a fixed order; None for all of them.
        repetitions: number of training seeds per configuration.
        out: path of the table without its suffix.
        jobs: number of evaluations computed at the same time.
        shard: which of several shards to evaluate; None for everything. The table is written once all shards are done.

    Raises UsageError if the space is no grid, has fewer configurations than the sample, or a table is there that was
    not made here; StoreError if a journal belongs to another benchmark.
    """
    if not out.name:
        raise UsageError(f"--out names the table without its suffix, such as runs/table, not {out}")
    if not next(folder for folder in out.parents if folder.exists()).is_dir():
        raise UsageError(f"cannot write {out}: its parent is not a folder")
    taken = [path for path in (Path(f"{out}.csv"), Path(f"{out}.toml")) if path.exists()]
    if taken and not _journals(out):
        raise UsageError(f"{taken[0]} is there, and no evaluations of its own: choose another --out, or delete it")
    benchmark = _opened(name)
    flat = _grid(benchmark)
    _check_importable(benchmark, flat)
    same = benchmark.canonical if isinstance(benchmark, Canonical) else lambda c: c
    chosen = {c: same(c) for c in _configurations(benchmark, flat, sample)}
    classes = list(dict.fromkeys(chosen.values()))
    here = classes if shard is None else classes[shard.number - 1 :: shard.count]
    abilities.make_ready(benchmark)
    out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [Task(c, r) for r in range(repetitions) for c in here]  # the first seed of every class first
    yield Drawn(name, len(chosen), len(classes))
    known = yield from _evaluate_missing(name, tasks, out, shard, jobs)
    to_json = cache(benchmark.space.to_json)
    lacking = sum((to_json(c), r) not in known for c in classes for r in range(repetitions))
    if lacking:
        failed = any(known[to_json(t.configuration), t.repetition].status == "failed" for t in tasks)
        yield Incomplete(lacking, failed)
        return
    numbers = {c: number for number, c in enumerate(classes)}
    made = [
        _Made(to_json(c), r, numbers[first], known[to_json(first), r])
        for c, first in chosen.items()
        for r in range(repetitions)
    ]
    _write(benchmark, flat, made, out)
    left_out: dict[str, list[str]] = {}
    for row in made:
        if row.evaluation.status != "ok":
            left_out.setdefault(row.evaluation.status, []).append(row.evaluation.reason)
    yield Written(len(made) - sum(map(len, left_out.values())), left_out)


class _Made(NamedTuple):
    """One row of the table: a configuration with one repetition."""

    configuration: str
    repetition: int
    number: int
    """Number of the class of configurations that share their evaluations."""
    evaluation: Evaluation


def _evaluate_missing(
    name: str, tasks: list[Task], out: Path, shard: Shard | None, jobs: int
) -> Generator[Event, None, dict[tuple[str, int], Evaluation]]:
    """Makes the evaluations that no journal of the table has; returns what all journals then have."""
    benchmark = _opened(name)
    here = Path(f"{out}.jsonl" if shard is None else f"{out}.{shard.number}-of-{shard.count}.jsonl")

    def others() -> list[TableRecord]:
        return [entry for path in sorted(_journals(out) - {here}) for entry in entries_in(path, benchmark)]

    with closing(TableJournal(here, benchmark)) as journal:
        entries = [*others(), *journal.entries]
        entries.sort(key=lambda entry: entry.evaluation.status != "failed")  # a later one replaces an earlier one
        known = {entry[:2]: entry.evaluation for entry in entries}
        done = {key for key, evaluation in known.items() if evaluation.status != "failed"}
        keys = [(benchmark.space.to_json(task.configuration), task.repetition) for task in tasks]
        missing = {key: task for key, task in zip(keys, tasks, strict=True) if key not in done}
        yield TabulationBegun(len(tasks), len(missing), shard)
        with closing(_evaluated(name, list(missing.values()), jobs)) as evaluations:
            for task, evaluation in evaluations:
                key = benchmark.space.to_json(task.configuration), task.repetition
                journal.append(TableRecord(*key, evaluation))
                known[key] = evaluation
                yield Evaluated()
    theirs = others()  # shards that ran at the same time have gone on
    succeeded = {entry[:2]: entry.evaluation for entry in theirs if entry.evaluation.status != "failed"}
    return {entry[:2]: entry.evaluation for entry in theirs} | known | succeeded


def _journals(out: Path) -> set[Path]:
    """The journals of a table that exist: its own, and those of shards."""
    of_table = re.compile(re.escape(out.name) + r"(\.\d+-of-\d+)?\.jsonl")
    return {path for path in out.parent.glob("*.jsonl") if of_table.fullmatch(path.name)}


@cache
def _opened(name: str) -> Benchmark:
    """The benchmark, with learning curves where it knows them."""
    benchmark = open_benchmark(name)
    if isinstance(benchmark, LearnerBenchmark):
        return LearnerCurves(benchmark)
    return TrainingCurves(benchmark) if isinstance(benchmark, ImageBenchmark) else benchmark


def _grid(benchmark: Benchmark) -> Flat:
    """The flat view of a benchmark's space if that is a finite grid. Raises UsageError for any other space."""
    if not benchmark.live:
        raise UsageError(f"{benchmark.name} trains nothing ({benchmark.kind}): a table is made of trainings")
    no_grid = UsageError(
        f"a table needs a grid, and the space of {benchmark.name} is none (it has conditional or continuous "
        "hyper-parameters): take another, such as digits/nasbench201"
    )
    if not isinstance(benchmark.space, AsFlat):
        raise no_grid
    flat = benchmark.space.as_flat()
    if not flat.hyperparameters:
        raise UsageError(f"there is nothing to choose in {benchmark.name}: no table")
    if any(flat.conditions) or any(isinstance(h, Float | Integer) for h in flat.hyperparameters):
        raise no_grid
    return flat


def _name(benchmark: Benchmark) -> str:
    """The name of the table."""
    name = re.sub("[/@:]", "-", benchmark.name)
    return f"{name}-table" if BENCHMARKS.is_taken(name) else name


def _columns(benchmark: Benchmark) -> tuple[list[Metric], str]:
    """The metrics of the table, and the name of the one that is its cost."""
    if isinstance(benchmark, TrainingCurves | LearnerCurves):
        return [*benchmark.metrics], benchmark.cost
    return [*benchmark.metrics, _COST], _COST.name


def _check_importable(benchmark: Benchmark, flat: Flat) -> None:
    """Raises UsageError, before anything is trained, if the table could not be imported."""
    metrics, _ = _columns(benchmark)
    for number, entry in enumerate(_sections(metrics)):
        (metric_of if number else objective_of)(entry, Path(benchmark.name))
    if not re.fullmatch(NAME, _name(benchmark)):
        raise UsageError(f"{_name(benchmark)} cannot be the name of a table: it needs lower-case letters, at most 60")
    names = [*(h.name for h in flat.hyperparameters), *_NUMBERS, *(metric.name for metric in metrics)]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise UsageError(f"two columns of the table of {benchmark.name} would be called {twice[0]}: rename one")


def _configurations(benchmark: Benchmark, flat: Flat, sample: int | None) -> list[Configuration]:
    size = _size(flat)
    if sample is None:
        if size > _MOST:
            raise UsageError(f"{benchmark.name} has {size:,} configurations: give --sample N instead of all")
        space: Iterable[Configuration] = benchmark.space  # type: ignore[assignment]
        return list(space)
    if not 1 <= sample <= size:
        raise UsageError(f"sample must lie in [1, {size:,}] on {benchmark.name}, or be all, not {sample:,}")
    rng, drawn = np.random.default_rng(0), dict[Configuration, None]()
    while len(drawn) < sample:
        drawn[benchmark.space.sample(rng)] = None
    return list(drawn)


def _size(flat: Flat) -> int:
    return math.prod(len(h.values) for h in flat.hyperparameters if not isinstance(h, Float | Integer))


def _evaluated(name: str, tasks: list[Task], jobs: int) -> Generator[tuple[Task, Evaluation], None, None]:
    """Each task with its evaluation, in the order in which they finish."""
    evaluate = partial(_evaluate, name)
    if jobs == 1 or len(tasks) < 2:
        left = deque(tasks)
        try:
            while left:
                yield left[0], evaluate(left[0])
                left.popleft()
            return
        except DeviceLost as error:
            _LOG.warning("%s; another process repeats it, and computes the rest, too", error)
            jobs, tasks = 1, list(left)
    nothing = {metric.name: math.nan for metric in _opened(name).metrics}
    with closing(in_processes(evaluate, tasks, jobs)) as results:
        for task, result in results:
            yield task, Evaluation(nothing, 0.0, "failed", result.reason) if isinstance(result, Lost) else result


def _evaluate(name: str, task: Task) -> Evaluation:
    benchmark = _opened(name)
    abilities.make_ready(benchmark)
    # The name includes the epochs: a longer training does not continue a shorter one.
    whose = "" if isinstance(benchmark, LearnerCurves) else f" {benchmark.space.to_json(task.configuration)}"
    text = f"{benchmark.name}{whose} {task.repetition}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
    with ends_nothing():
        return attempt(benchmark, task.configuration, seed)


def _write(benchmark: Benchmark, flat: Flat, made: list[_Made], out: Path) -> None:
    metrics, cost = _columns(benchmark)
    names = [h.name for h in flat.hyperparameters]
    good = [row for row in made if row.evaluation.status == "ok"]
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*names, *_NUMBERS, *(metric.name for metric in metrics)])
    for configuration, repetition, number, evaluation in good:
        values = json.loads(configuration)
        scores = (*evaluation.metrics.values(), evaluation.cost)[: len(metrics)]
        rows.writerow([*(values[name] for name in names), number, repetition, *scores])
    disk.write(Path(f"{out}.csv"), text.getvalue().encode())
    facts = {
        "name": _name(benchmark),
        "family": benchmark.family,
        "search_space": benchmark.search_space,
        "source": f"nasbench tabulate {benchmark.name}: {_counted(made)}; {benchmark.source}",
        "licence": benchmark.licence,
        "cost": cost,
        "repetition": "repetition",
        "missing": "infeasible",  # what was not drawn, or cannot be trained
    }
    if _size(flat) > MOST_ABSENT * len({row.configuration for row in good}):  # no grid is read from so few
        facts["space"] = ListedSpace.table_kind
    elif benchmark.space.table_kind:
        facts["space"] = benchmark.space.table_kind
    lines = _lines({key: value for key, value in facts.items() if value != ""})  # an import refuses empty ones
    for h in flat.hyperparameters:
        assert not isinstance(h, Float | Integer)
        entry: dict[str, Any] = {"name": h.name, "kind": h.kind.partition(",")[0], "values": list(h.values)}
        if isinstance(h, Ordinal) and h.log:
            entry["log"] = True
        lines += ["", "[[hyperparameter]]", *_lines(entry)]
    for entry in _sections(metrics):
        lines += ["", "[[metric]]", *_lines(entry)]
    disk.write(Path(f"{out}.toml"), ("\n".join(lines) + "\n").encode())


def _counted(made: list[_Made]) -> str:
    evaluated = len({row.configuration for row in made})
    classes = len({row.number for row in made})
    return count(evaluated, "configuration") + (f", of which {classes} differ" if classes < evaluated else "")


def _sections(metrics: list[Metric]) -> list[dict[str, Any]]:
    """Entries of the specification, one per metric; a metric that exists at several epochs has a curve."""
    last = metrics[0].epoch
    stems = [metric.name.rpartition("@")[0] for metric in metrics if metric.epoch not in (None, last)]
    entries = []
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
        entries.append(entry)
    return entries


def _lines(facts: dict[str, Any]) -> list[str]:
    """Facts as lines of TOML, which writes text, numbers, booleans and lists of them as JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]

"""`nasbench show`: describes one benchmark, method or executor in full."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np

from nasbench.base.errors import unknown
from nasbench.base.layout import filled, in_columns, prose, terminal_width
from nasbench.base.metrics import ONLY
from nasbench.base.numbers import count
from nasbench.base.options import description, option_defaults, option_meanings, option_text
from nasbench.base.registry import with_reasons
from nasbench.base.streams import say
from nasbench.benchmarks import BENCHMARKS, Benchmark, UsageError, abilities, open_benchmark
from nasbench.benchmarks.constraints import NO_BOUNDS
from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.spaces import AsFlat
from nasbench.benchmarks.spaces.flat import Named
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.engine.executors import EXECUTORS, Executor
from nasbench.cli.engine.sealed import is_sealed
from nasbench.cli.engine.suite_files import suite_files
from nasbench.cli.engine.suites import with_target
from nasbench.methods import METHODS, Method, MethodSpec
from nasbench.methods.messages import stated

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@click.command(cls=Command)
@click.argument("name", shell_complete=_completion.anything)
@click.option("--target", metavar="COLUMN", help="Column to predict, for benchmarks mlp:FILE.csv.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
def show(name: str, target: str | None, as_json: bool) -> None:
    """Show a benchmark (space, metrics, extremes, quantiles, source), a method (options, source) or an executor.

    `nasbench show-run` shows one run of a store.
    """
    names = (name,) if target is None else with_target((name,), target)
    shown = _found(*names)
    if as_json:
        facts = _benchmark_facts(shown) if isinstance(shown, Benchmark) else _class_facts(name, shown)
        say(json.dumps(facts, indent=1, ensure_ascii=False))
    else:
        say(_show_benchmark(shown) if isinstance(shown, Benchmark) else _show_class(name, shown))


def _found(name: str) -> Benchmark | type[Method] | type[Executor]:
    """The benchmark, method or executor of a name. Raises UsageError if there is none."""
    place = re.split("[/@]", name)[0]
    known = (*BENCHMARKS.names(), *BENCHMARKS.broken)
    if place in known or place.startswith(tuple(BENCHMARKS.advice)) or name.partition(":")[0] in ON_FILES.names():
        return open_benchmark(name)
    for registry in (METHODS, EXECUTORS):
        if name in registry.names() or name in registry.broken:  # `get` says why it is broken
            found: type[Method] | type[Executor] = registry.get(name)
            return found
    if Path(name).is_dir():
        store = shlex.quote(name)
        raise UsageError(
            f"{name} is a store: `nasbench show-run {store} METHOD BENCH SEED` shows a run, `nasbench status {store}` "
            "lists all"
        )
    if name in (path.stem for path in suite_files()):
        raise UsageError(f"{name} is a suite: `nasbench plan {name}` shows its runs and what they cost")
    error = unknown("benchmark, method or executor", name, [*METHODS.names(), *EXECUTORS.names()], BENCHMARKS.names())
    raise with_reasons(error, BENCHMARKS, METHODS, EXECUTORS)


def _class_facts(name: str, shown: type[Method] | type[Executor]) -> dict[str, Any]:
    """A class with options, for JSON."""
    meanings = option_meanings(shown)
    options = [
        {"name": option, "type": kind.__name__, "default": default, "meaning": meanings[option]}
        for option, (kind, default) in option_defaults(shown).items()
    ]
    facts = {"name": name, "description": " ".join(description(shown).split()), "options": options}
    if not issubclass(shown, Method):
        return facts
    spec = MethodSpec(name)
    return facts | {
        "source": shown.about.source,
        "version": spec.version,
        "tuned_on": spec.tuned_on,
        "repeatable": str(spec.repeatable),
    }


def _benchmark_facts(benchmark: Benchmark) -> dict[str, Any]:
    """A benchmark, for JSON."""
    space = [dict(zip(("name", "kind", "values"), row, strict=True)) for row in benchmark.space.describe()]
    if isinstance(benchmark.space, AsFlat):
        with suppress(UsageError):  # it is infinite
            space = stated(Named(benchmark.space.as_flat()))
    metrics = [
        {"name": m.name, "unit": m.unit, "direction": m.direction, "split": m.split, "epoch": m.epoch}
        | {"cheap": m.cheap, "is_test": m.is_test, "description": m.description}
        for m in benchmark.metrics
    ]
    return {
        "name": benchmark.name,
        "kind": benchmark.kind,
        "family": benchmark.family,
        "search_space": benchmark.search_space or benchmark.family,
        "sealed": is_sealed(benchmark),
        "space": space,
        "objective": benchmark.objective.name,
        "metrics": metrics,
        "levels": [dict(level) for level in benchmark.fidelity.levels] if benchmark.fidelity else None,
        "configurations": benchmark.space.size if isinstance(benchmark, TabularBenchmark) else None,
        "source": benchmark.source,
        "licence": benchmark.licence,
        "checksum": benchmark.checksum,
        "caution": benchmark.caution,
    }


def _show_class(name: str, shown: type[Method] | type[Executor]) -> str:
    """A class with options: its description, its options, and its publication if it has one."""
    width, meanings = terminal_width(), option_meanings(shown)
    options = [
        (option, kind.__name__, f"{default:.4g}" if kind is float else option_text(default), meanings[option])
        for option, (kind, default) in option_defaults(shown).items()
    ]
    paragraphs = f"{name}: {description(shown)}".split("\n\n")
    parts = [filled(" ".join(words.split()), width, further="") for words in paragraphs]
    parts.append(prose([("option", "type", "default", "meaning"), *options], width) if options else "No options.")
    if issubclass(shown, Method):
        chosen = f"Defaults chosen on: {', '.join(MethodSpec(name).tuned_on) or 'no search space'}"
        facts = [f"Source: {shown.about.source}"] * bool(shown.about.source) + [chosen]
        facts += ["May ask a simulated expert, who knows the table: see its options"] * shown.needs.experts
        parts.append("\n".join(filled(fact, width) for fact in facts))
    return "\n\n".join(parts)


def _show_benchmark(benchmark: Benchmark) -> str:
    width, variants = terminal_width(), abilities.variants(benchmark)
    metrics = [("metric", "unit", "direction", "split", "epoch", "")]
    for metric in benchmark.metrics:
        role = "objective" if metric is benchmark.objective else "cheap" if metric.cheap else ""
        role = "reported only" if metric.is_test else role
        role = f"{role}, selected and reported on the same split".lstrip(", ") if metric.split == ONLY else role
        split, epoch = metric.split or "-", "-" if metric.epoch is None else str(metric.epoch)
        metrics.append((metric.name, metric.unit or "-", metric.direction, split, epoch, role))
    parts = [
        f"{benchmark.name} ({benchmark.kind}, family {benchmark.family}, search space "
        f"{benchmark.search_space or benchmark.family})",
        "Space\n" + prose(benchmark.space.describe(), width),
        "Metrics\n" + in_columns(metrics, width),
        "\n".join(f"{m.name}: {m.description}" for m in benchmark.metrics if m.description),
        f"Evaluation: {benchmark.procedure}" if benchmark.procedure else "",
        f"Caution: {benchmark.caution}" if benchmark.caution else "",
        f"Fidelity: {'; '.join(f'{axis} (an increase by 1 is {axis.unit})' for axis in benchmark.fidelity.axes)}"
        if benchmark.fidelity
        else "",
        f"Variants: {', '.join(f'{benchmark.name}/{v}' for v in variants)}" if variants else "",
        *(_table_facts(benchmark, width) if isinstance(benchmark, TabularBenchmark) else []),
        f"Sealed: no default of a method may be chosen on {benchmark.search_space or benchmark.family}; `nasbench run` "
        "asks for --sealed"
        if is_sealed(benchmark)
        else "",
        f"Source: {benchmark.source}\nLicence: {benchmark.licence}\nChecksum: {benchmark.checksum}",
    ]
    lines = [line for part in parts if part for line in [*part.splitlines(), ""]]
    wrapped = [filled(line, width) if len(line) > width else line for line in lines]
    return "\n".join(wrapped)


def _table_facts(benchmark: TabularBenchmark, width: int) -> list[str]:
    counts = benchmark.repetition_counts
    oracle, objective = benchmark.oracle(NO_BOUNDS), benchmark.objective
    most = count(max(counts), "repetition")
    repetitions = most if min(counts) == max(counts) else f"{min(counts)} to {most}"
    best = f"{oracle.best:.7g} {objective.unit}".rstrip()
    best_mean = f"{np.nanmin(benchmark.means(0)):.7g} {objective.unit}".rstrip()
    rows = [("quantile", *(f"@{q}" for q in _QUANTILES), "smallest", "largest")]
    for column, metric in enumerate(benchmark.metrics):
        if metric.is_test:
            continue  # it can be neither constrained nor minimised
        values = [*(benchmark.quantile(metric.name, q) for q in _QUANTILES), *benchmark.extremes(column)]
        rows.append((metric.name, *(f"{value:.7g}" for value in values)))
    return [
        f"{count(benchmark.space.size, 'configuration')}, {repetitions} each\n"
        f"Best {objective.name}: {best} (one repetition), {best_mean} (mean over repetitions)",
        "Limits that --constrain METRIC@QUANTILE sets, and the extremes of single repetitions\n"
        + in_columns(rows, width),
    ]

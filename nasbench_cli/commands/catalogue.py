"""What there is: methods, benchmarks and suites, as text or JSON."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nasbench.benchmarks import BENCHMARKS, Benchmark, UsageError
from nasbench.benchmarks.spaces.errors import unknown
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.plan import open_benchmark
from nasbench.cli.engine.suites import load_suite
from nasbench.methods import METHODS, Method
from nasbench.methods.spec import option_defaults

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def listing(kind: str | None, as_json: bool) -> str:
    """The names of one kind (or of all three) with a line on each."""
    makers = {"methods": _methods, "benchmarks": _benchmarks, "suites": _suites}
    found = {name: make() for name, make in makers.items() if kind in (None, name)}
    if as_json:
        return json.dumps(found if kind is None else found[kind], indent=2)
    parts = []
    for name, rows in found.items():
        lines = table([(row["name"], row["summary"]) for row in rows]) or "  none here"
        parts.append(f"{name}:\n{textwrap.indent(lines, '  ')}")
    return "\n\n".join(parts)


def matrix(as_json: bool) -> str:
    """Which method fits which benchmark; where one does not, why."""
    misfits = {
        method: {name: _misfit(METHODS.get(method), name) for name in BENCHMARKS.names()} for method in METHODS.names()
    }
    if as_json:
        return json.dumps({m: {b: why or "fits" for b, why in row.items()} for m, row in misfits.items()}, indent=2)
    rows = [("", *misfits)]
    rows += [(name, *("no" if row[name] else "yes" for row in misfits.values())) for name in BENCHMARKS.names()]
    reasons = {f"{method}: {why}" for method, row in misfits.items() for why in row.values() if why}
    return "\n".join([table(rows), *sorted(reasons)])


def show(name: str) -> str:
    """Everything about one benchmark or method. Raises UsageError if the name is neither."""
    if re.split("[/@]", name)[0] in BENCHMARKS.names():
        return _show_benchmark(open_benchmark(name))
    if name in METHODS.names():
        return _show_method(name, METHODS.get(name))
    if Path(name).is_dir():
        raise UsageError(f"to see a run of the store {name}, add METHOD BENCH SEED; `nasbench status {name}` lists all")
    raise unknown("benchmark or method", name, [*BENCHMARKS.names(), *METHODS.names()])


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _misfit(method: type[Method], benchmark: str) -> str:
    try:
        return method.misfit(open_benchmark(benchmark).space)
    except UsageError as error:
        return str(error)


def _methods() -> list[dict[str, str]]:
    rows = []
    for name in METHODS.names():
        method = METHODS.get(name)
        options = ", ".join(f"{option}={default}" for option, (_, default) in option_defaults(method).items())
        rows.append({"name": name, "summary": _summary(method), "options": options})
    return rows + _broken(METHODS.broken)


def _benchmarks() -> list[dict[str, str]]:
    rows = []
    for name in BENCHMARKS.names():
        try:
            benchmark = open_benchmark(name)
        except UsageError as error:
            rows.append({"name": name, "summary": str(error)})
            continue
        kind = _kind(benchmark)
        rows.append(
            {"name": name, "summary": f"{kind}; minimises {benchmark.objective.name}", "family": benchmark.family}
        )
    return rows + _broken(BENCHMARKS.broken)


def _suites() -> list[dict[str, str]]:
    """The suite files of the current folder, or else of the source tree this code runs from."""
    here, source = Path("suites"), Path(__file__).parent.parent / "suites"
    rows = []
    for path in sorted((here if here.is_dir() else source).glob("*.toml")):
        try:
            rows.append({"name": path.stem, "summary": load_suite(path).title, "file": str(path)})
        except UsageError as error:
            rows.append({"name": path.stem, "summary": f"unusable: {error}", "file": str(path)})
    return rows


def _kind(benchmark: Benchmark) -> str:
    """Where its scores come from: computed now, looked up, or computed with a simulated cost."""
    return "live" if benchmark.live else "table" if isinstance(benchmark, TabularBenchmark) else "simulated"


def _broken(broken: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "summary": f"cannot be loaded: {why}"} for name, why in broken.items()]


def _summary(item: object) -> str:
    return (inspect.getdoc(item) or "").partition("\n")[0]


def _show_method(name: str, method: type[Method]) -> str:
    options = [(o, kind.__name__, str(default)) for o, (kind, default) in option_defaults(method).items()]
    return "\n\n".join(
        [
            f"{name}: {inspect.getdoc(method)}",
            table([("option", "type", "default"), *options]) if options else "No options.",
        ]
    )


def _show_benchmark(benchmark: Benchmark) -> str:
    metrics = [("metric", "unit", "direction", "split", "epoch", "")]
    for metric in benchmark.metrics:
        role = "objective" if metric is benchmark.objective else "cheap" if metric.cheap else ""
        role = "reported only" if metric.held_out else role
        split, epoch = metric.split or "-", "-" if metric.epoch is None else str(metric.epoch)
        metrics.append((metric.name, metric.unit or "-", metric.direction, split, epoch, role))
    parts = [
        f"{benchmark.name} ({_kind(benchmark)}, family {benchmark.family})",
        "Space\n" + table(benchmark.space.describe()),
        "Metrics\n" + table(metrics),
        "\n".join(f"{m.name}: {m.description}" for m in benchmark.metrics if m.description),
        f"Evaluation: {benchmark.procedure}" if benchmark.procedure else "",
        f"Variants: {', '.join(f'{benchmark.name}/{v}' for v in benchmark.variants)}" if benchmark.variants else "",
        *(_table_facts(benchmark) if isinstance(benchmark, TabularBenchmark) else []),
        f"Source: {benchmark.source}\nLicence: {benchmark.licence}\nChecksum: {benchmark.checksum}",
    ]
    width = shutil.get_terminal_size((100, 24)).columns
    lines = [line for part in parts if part for line in [*part.splitlines(), ""]]
    wrapped = [textwrap.fill(line, width, subsequent_indent="    ") if len(line) > width else line for line in lines]
    return "\n".join(wrapped)


def _table_facts(benchmark: TabularBenchmark) -> list[str]:
    counts = benchmark.repetition_counts
    oracle, objective = benchmark.oracle(()), benchmark.objective
    repetitions = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    best = f"{oracle.best:.7g} {objective.unit}".rstrip()
    best_mean = f"{np.nanmin(benchmark.means(0)):.7g} {objective.unit}".rstrip()
    rows = [("quantile", *(f"@{q}" for q in _QUANTILES), "smallest", "largest")]
    for column, metric in enumerate(benchmark.metrics):
        if metric.held_out:
            continue  # it can be neither constrained nor minimised
        values = [*(benchmark.quantile(column, q) for q in _QUANTILES), *benchmark.extremes(column)]
        rows.append((metric.name, *(f"{value:.7g}" for value in values)))
    return [
        f"{benchmark.space.size} configurations, {repetitions} repetitions each\n"
        f"Best {objective.name}: {best} (one repetition), {best_mean} (mean over repetitions)",
        "Limits that --constrain METRIC@QUANTILE sets, and the extremes of single repetitions\n" + table(rows),
    ]

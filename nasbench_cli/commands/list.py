"""`nasbench list`: methods, benchmarks and suites, as text or JSON."""

from __future__ import annotations

import inspect
import json
import textwrap

import click

from nasbench.benchmarks import BENCHMARKS, UsageError, open_benchmark
from nasbench.benchmarks.spaces import FiniteSpace
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.suites import load_suite, suite_files
from nasbench.cli.layout import in_columns, prose, terminal_width
from nasbench.methods import METHODS, Method
from nasbench.methods.spec import misfit, option_defaults


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(["methods", "benchmarks", "suites"]))
@click.option("--matrix", is_flag=True, help="Which method runs on which benchmark, and why not.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
def list_(kind: str | None, matrix: bool, as_json: bool) -> None:
    """List methods, benchmarks and suites."""
    click.echo(matrix_of_fits(as_json) if matrix else listing(kind, as_json))


def listing(kind: str | None, as_json: bool) -> str:
    """The names of one kind with one line about each, as text or JSON.

    Args:
        kind: `methods`, `benchmarks` or `suites`; None for all three.
        as_json: whether to return JSON.
    """
    makers = {"methods": _methods, "benchmarks": _benchmarks, "suites": _suites}
    found = {name: make() for name, make in makers.items() if kind in (None, name)}
    if as_json:
        return json.dumps(found if kind is None else found[kind], indent=2)
    parts = []
    for name, rows in found.items():
        lines = prose([(row["name"], row["summary"]) for row in rows], terminal_width() - 2) or "none here"
        parts.append(f"{name}:\n{textwrap.indent(lines, '  ')}")
    return "\n\n".join(parts)


def matrix_of_fits(as_json: bool) -> str:
    """Which method fits which benchmark, and the reasons where one does not, as text or JSON."""
    misfits = {
        method: {name: _misfit(METHODS.get(method), name) for name in BENCHMARKS.names()} for method in METHODS.names()
    }
    if as_json:
        return json.dumps({m: {b: why or "fits" for b, why in row.items()} for m, row in misfits.items()}, indent=2)
    groups: dict[str, list[str]] = {}
    for name in BENCHMARKS.names():
        groups.setdefault(name.partition("-")[0], []).append(name)
    rows = [("", *groups)]
    rows += [(m, *(_fits([not row[n] for n in names]) for names in groups.values())) for m, row in misfits.items()]
    reasons: dict[str, list[str]] = {}
    for method, row in misfits.items():
        for why in dict.fromkeys(filter(None, row.values())):
            reasons.setdefault(why, []).append(method)
    width = terminal_width()
    why_not = [f"{', '.join(methods)}: {why}" for why, methods in sorted(reasons.items())]
    wrapped = [textwrap.fill(line, width, subsequent_indent="    ", break_on_hyphens=False) for line in why_not]
    return "\n".join([in_columns(rows, width), "", *wrapped])


def _fits(fits: list[bool]) -> str:
    """On how many benchmarks of a group a method runs."""
    return "yes" if all(fits) else f"{sum(fits)} of {len(fits)}" if any(fits) else "no"


def _misfit(method: type[Method], benchmark: str) -> str:
    try:
        opened = open_benchmark(benchmark)
        return misfit(method, opened.space, opened.fidelity)
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
        size = benchmark.space.size if isinstance(benchmark.space, FiniteSpace) else None
        facts = {
            "kind": benchmark.kind,
            "configurations": "" if size is None else f"{size:,}",
            "objective": benchmark.objective.name,
            "constrain": ", ".join(benchmark.constrainable),
            "fidelity": str(benchmark.fidelity or ""),
            "family": benchmark.family,
        }
        rows.append({"name": name, "summary": _in_a_line(facts)} | facts)
    return rows + _broken(BENCHMARKS.broken)


def _in_a_line(facts: dict[str, str]) -> str:
    words = [f"{facts['kind']} of {facts['configurations']}" if facts["configurations"] else facts["kind"]]
    words.append(f"minimises {facts['objective']}")
    words += [f"{key} {facts[key]}" for key in ("constrain", "fidelity", "family") if facts[key]]
    return "; ".join(words)


def _suites() -> list[dict[str, str]]:
    rows = []
    for path in suite_files():
        try:
            rows.append({"name": path.stem, "summary": load_suite(path).title, "file": str(path)})
        except UsageError as error:
            rows.append({"name": path.stem, "summary": f"unusable: {error}", "file": str(path)})
    return rows


def _broken(broken: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "summary": f"cannot be loaded: {why}"} for name, why in broken.items()]


def _summary(item: object) -> str:
    return (inspect.getdoc(item) or "").partition("\n")[0]

"""`nasbench list`: methods, benchmarks, suites, executors and parts of reports, as text or JSON."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from nasbench.base.catalogue import catalogue
from nasbench.base.errors import UsageError, counted
from nasbench.base.layout import filled, in_columns, prose, terminal_width
from nasbench.base.options import option_defaults
from nasbench.base.registry import NotHere, Registry
from nasbench.base.streams import say
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command


@click.command("list", cls=Command)
@click.argument("kind", required=False, type=click.Choice(["methods", "benchmarks", "suites", "executors", "parts"]))
@click.option("--matrix", is_flag=True, help="Show which method runs on which benchmark, and why not.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@takes_data_dir
def list_(kind: str | None, matrix: bool, as_json: bool) -> None:
    """List methods, benchmarks, suites and executors; with a word after it, more of these.

    `nasbench list parts` has the parts of a report that are made on request.
    """
    if matrix and kind is not None:
        raise UsageError(f"--matrix lists methods beside benchmarks: leave out {kind}, or --matrix")
    if matrix:
        say(matrix_of_fits(as_json))
    elif kind is None and not as_json:
        say(overview())
    else:
        say(listing(kind, as_json))


def overview() -> str:
    """Every name, with a line each where there are not too many; no method and no benchmark is opened."""
    from nasbench.benchmarks import BENCHMARKS
    from nasbench.cli.engine.suite_files import suite_files, title

    groups: dict[str, list[tuple[str, str]]] = {}
    for name, summary, group in catalogue("nasbench.methods", "METHODS", "nasbench.methods"):
        groups.setdefault(group or "classics", []).append((name, summary))
    methods = [_listed(f"methods, {group}", rows) for group, rows in groups.items()]
    names = filled(", ".join(counted(BENCHMARKS.names())), terminal_width() - 2, further="")
    suites = [(path.stem, title(path)) for path in suite_files()]
    executors = [entry[:2] for entry in catalogue("nasbench.cli.engine.executors", "EXECUTORS", "nasbench.executors")]
    benchmarks = f"benchmarks (`nasbench list benchmarks` says more of each):\n{textwrap.indent(names, '  ')}"
    return "\n\n".join([*methods, benchmarks, _listed("suites", suites), _listed("executors", executors)])


def _listed(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    """Names with a line each, below a heading."""
    lines = prose(rows, terminal_width() - 2) or "none here"
    return f"{heading}:\n{textwrap.indent(lines, '  ')}"


def listing(kind: str | None, as_json: bool) -> str:
    """The names of one kind with one line about each, as text or JSON.

    Args:
        kind: `methods`, `benchmarks`, `suites`, `executors` or `parts`; None for all of them but parts.
        as_json: whether to return JSON.
    """
    makers = {"methods": _methods, "benchmarks": _benchmarks, "suites": _suites, "executors": _executors}
    lists = {"parts": _parts()} if kind == "parts" else {n: make() for n, make in makers.items() if kind in (None, n)}
    if as_json:
        return json.dumps(lists if kind is None else lists[kind], indent=2)
    return "\n\n".join(_listed(n, [(row["name"], row["summary"]) for row in rows]) for n, rows in lists.items())


def matrix_of_fits(as_json: bool) -> str:
    """A table of methods that fit benchmarks, with reasons where they do not, as text or JSON."""
    from nasbench.benchmarks import BENCHMARKS
    from nasbench.methods import METHODS

    misfits = {method: {name: _misfit(method, name) for name in BENCHMARKS.names()} for method in METHODS.names()}
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
    wrapped = [filled(line, width) for line in why_not]
    return "\n".join([in_columns(rows, width), "", *wrapped])


def _fits(fits: list[bool]) -> str:
    """Whether a method runs on the benchmarks of a group, in words."""
    return "yes" if all(fits) else f"{sum(fits)} of {len(fits)}" if any(fits) else "no"


def _misfit(method: str, benchmark: str) -> str:
    from nasbench.benchmarks import open_benchmark
    from nasbench.cli.engine.plan import misfit
    from nasbench.methods import MethodSpec, Problem

    try:
        opened = open_benchmark(benchmark)
        return misfit(MethodSpec(method), Problem.of(opened)).removeprefix("it ")
    except UsageError as error:
        return str(error)


def _methods() -> list[dict[str, str]]:
    from nasbench.methods import METHODS

    return _with_options(METHODS)


def _executors() -> list[dict[str, str]]:
    from nasbench.cli.engine.executors import EXECUTORS

    return _with_options(EXECUTORS)


def _with_options(registry: Registry[Any]) -> list[dict[str, str]]:
    """The classes of a registry with their options."""
    rows = []
    for name in registry.names():
        try:
            options = ", ".join(f"{o}={default}" for o, (_, default) in option_defaults(registry.get(name)).items())
            rows.append({"name": name, "summary": _summary(registry.get(name)), "options": options})
        except UsageError as error:
            rows.append({"name": name, "summary": str(error), "options": ""})
    return rows + _broken(registry.broken)


def _benchmarks() -> list[dict[str, str]]:
    from nasbench.benchmarks import BENCHMARKS, abilities, open_benchmark
    from nasbench.benchmarks.spaces import FiniteSpace

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
            "constrain": ", ".join(abilities.constrainable(benchmark)),
            "fidelity": str(benchmark.fidelity or ""),
            "family": benchmark.family,
            "search space": benchmark.search_space,
        }
        rows.append({"name": name, "summary": _in_a_line(facts)} | facts)
    return rows + _broken(BENCHMARKS.broken)


def _in_a_line(facts: dict[str, str]) -> str:
    words = [f"{facts['kind']} of {facts['configurations']}" if facts["configurations"] else facts["kind"]]
    words.append(f"minimises {facts['objective']}")
    words += [f"{key} {facts[key]}" for key in ("constrain", "fidelity", "family", "search space") if facts[key]]
    return "; ".join(words)


def _suites() -> list[dict[str, str]]:
    from nasbench.cli.engine.suite_files import suite_files
    from nasbench.cli.engine.suites import load_suite

    rows = []
    for path in suite_files():
        try:
            rows.append({"name": path.stem, "summary": load_suite(path).title, "file": str(path)})
        except NotHere:
            needs = f"needs tables that are not here: nasbench plan {path.stem} names them"
            rows.append({"name": path.stem, "summary": needs, "file": str(path)})
        except UsageError as error:
            rows.append({"name": path.stem, "summary": f"unusable: {error}", "file": str(path)})
    return rows


def _parts() -> list[dict[str, str]]:
    from nasbench.cli.engine.reporting import PARTS
    from nasbench.results.parts import Plain  # with pandas and scipy: heavy

    parts = [(name, PARTS.get(name)) for name in PARTS.names()]
    rows = [{"name": name, "summary": _summary(p.make if isinstance(p, Plain) else p)} for name, p in parts]
    return rows + _broken(PARTS.broken)


def _broken(broken: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "summary": f"cannot be loaded: {why}"} for name, why in broken.items()]


def _summary(item: object) -> str:
    own = vars(item).get("__doc__") if isinstance(item, type) else item.__doc__  # not that of a base class
    return inspect.cleandoc(own or "").partition("\n")[0]

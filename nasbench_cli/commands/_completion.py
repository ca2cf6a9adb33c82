"""Completes names in a shell (`shell_complete` of click's parameters)."""

from __future__ import annotations

from pathlib import Path

import click


def methods(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of methods that begin with `begun`."""
    from nasbench.methods import METHODS

    return _fitting(METHODS.names(), begun)


def benchmarks(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of benchmarks that begin with `begun`."""
    from nasbench.benchmarks import BENCHMARKS

    return _fitting(BENCHMARKS.names(), begun)


def executors(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of executors that begin with `begun`."""
    from nasbench.cli.engine.executors import EXECUTORS

    return _fitting(EXECUTORS.names(), begun)


def anything(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of methods, benchmarks and executors that begin with `begun`."""
    return sorted(name for names in (methods, benchmarks, executors) for name in names(context, parameter, begun))


def suites(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of suites that begin with `begun`, and paths of suites in `suites/`."""
    from nasbench.cli.engine.suite_files import suite_files

    return _fitting([*(p.stem for p in suite_files()), *map(str, Path("suites").glob("[!.]*.toml"))], begun)


def _fitting(names: list[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))

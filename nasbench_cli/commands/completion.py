"""Completes unfinished names in a shell (`shell_complete` of click's parameters)."""

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


def either(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Names of methods and benchmarks that begin with `begun`."""
    return sorted([*methods(context, parameter, begun), *benchmarks(context, parameter, begun)])


def suites(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Suites that begin with `begun`: their names, and the paths of those in `suites/`."""
    from nasbench.cli.engine.suites import suite_files

    return _fitting([*(p.stem for p in suite_files()), *map(str, Path("suites").glob("*.toml"))], begun)


def _fitting(names: list[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))

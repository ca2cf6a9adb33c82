"""Options that several commands take."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import click
from click.core import ParameterSource

from nasbench.benchmarks import UsageError
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import Command
from nasbench.cli.engine.keys import KEYS, Key, asked_grid
from nasbench.cli.engine.suite_files import lasting
from nasbench.cli.engine.suites import Suite, load_suite, with_target

_COMPLETIONS = {"methods": _completion.methods, "benchmarks": _completion.benchmarks}
_TYPES: dict[tuple[type, ...], type] = {(str,): str, (int, str): str, (int,): int, (int, float): float, (bool,): bool}
_TARGET = "target"
_WITH_SUITES = ("--method", "--bench", "--seeds")


def takes_shard(command: Command) -> Command:
    """Adds the option --shard to a command."""
    return click.option("--shard", metavar="I/N", help="Only the I-th of N shards, which together are everything.")(
        command
    )


def takes_force(command: Command) -> Command:
    """Adds the option --force to a command."""
    return click.option(
        "--force", is_flag=True, help="Also begin searches that are expected to take longer than --budget-seconds."
    )(command)


def takes_grid(command: Command) -> Command:
    """Adds the options that describe a grid of runs, or reduce a suite, to a command; `asked_suite` reads them."""
    options = [_option(key) for key in KEYS]
    options.insert(
        2, click.option("--target", metavar="COLUMN", help="Column to predict, for benchmarks mlp:FILE.csv.")
    )
    options.append(
        click.option("--without", multiple=True, metavar="NAME", help="Leave a method of the suite out; repeatable.")
    )
    for option in reversed(options):
        command = option(command)
    return command


def _option(key: Key) -> Callable[[Command], Command]:
    if key.types == (bool,):
        return click.option(key.option, key.name, is_flag=True, help=key.help)
    return click.option(
        key.option,
        key.name,
        type=_TYPES[key.types],
        multiple=key.several,
        default=None if key.several else key.default,
        metavar=key.metavar,
        shell_complete=_COMPLETIONS.get(key.name),
        help=key.help,
    )


def default_store(file: Path | None) -> Path:
    """The store of a suite file's runs, or of a grid's, where the user names none."""
    return Path("runs") / (file.name.removesuffix(".toml") if file else "default")


def asked_suite(context: click.Context, file: Path | None) -> Suite:
    """The runs that the user describes: a suite file, perhaps a part of it or with other methods, or a grid.

    Raises UsageError if neither is given, or options that a suite does not take.
    """
    given = {key.name: context.params[key.name] for key in KEYS if is_given(context, key.name)}
    options = [key.option for key in KEYS if key.name in given] + ["--target"] * is_given(context, _TARGET)
    without, target = context.params["without"], context.params[_TARGET]
    if file is not None:
        strange = [option for option in options if option not in _WITH_SUITES]
        if strange:
            raise UsageError(
                f"a suite describes the whole grid: leave out {' and '.join(strange)}, or the suite; --bench and "
                "--seeds choose a part of it, --method other methods"
            )
        if "methods" in given and without:
            raise UsageError(
                "--method replaces all methods of a suite, so that --without leaves nothing out: give one of them"
            )
        suite = load_suite(file)
        suite = suite.with_methods(given["methods"]) if "methods" in given else suite.without(without)
        suite = suite.on(given["benchmarks"]) if "benchmarks" in given else suite
        return suite.with_seeds(given["seeds"]) if "seeds" in given else suite
    if without:
        raise UsageError("--without leaves methods of a suite out: here, name only the methods you want")
    if "methods" not in given or "benchmarks" not in given:
        raise UsageError("give a --method and a --bench (see `nasbench list`), or a suite")
    if target is not None:
        given["benchmarks"] = with_target(given["benchmarks"], target)
    if "constraints" in given:
        given["constraints"] = [given["constraints"]]  # they hold together
    return Suite((asked_grid(**given),))


def is_given(context: click.Context, name: str) -> bool:
    """Whether the user gave an option, even with its default value."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def command_line(context: click.Context, *left_out: str) -> str:
    """The command line that the user gave, with absolute paths, so that it works from any folder.

    Only a benchmark on a file stays as it was given: its name is part of its runs' identity.

    Args:
        left_out: names of parameters to leave out.
    """
    words = [context.command_path]
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in left_out or not is_given(context, name):
            continue
        value = os.environ["NASBENCH_DATA"] if name == "data_dir" else context.params[name]
        value = lasting(Path(value)) if name == "suite" else value
        for one in value if isinstance(value, tuple) else (value,):
            flag = parameter.opts[0] if isinstance(parameter, click.Option) else ""
            words += [word for word in (flag, "" if one is True else _word(one)) if word]
    return f"{words[0]} {shlex.join(words[1:])}"


def _word(value: object) -> str:
    if isinstance(value, Path):
        return str(value.resolve() if value.exists() else value)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)

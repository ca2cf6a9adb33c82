"""The `nasbench` command line: assembles the commands, and turns whatever goes wrong into one sentence and a code."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
import threading
import traceback
from itertools import pairwise

import click
from click.shell_completion import CompletionItem

from nasbench.cli.exits import BAD_USAGE, DONE, INTERRUPTED, READER_GONE, SOME_FAILED
from nasbench.cli.layout import one_line

COMMANDS = {
    "list": ("list:list_", "List methods, benchmarks and suites."),
    "show": ("show:show", "Show a benchmark or a method."),
    "run": ("run:run", "Run methods on benchmarks and store every seed's trajectory."),
    "status": ("status:status", "Say what a store holds, and how to finish it."),
    "report": ("report:report", "Turn stores into tables and plots."),
    "show-run": ("show_run:show_run", "Show one run of a store."),
    "plan": ("plan:plan", "Say what a suite takes: runs, hours, storage."),
    "check": ("check:check", "Try whether a method or a benchmark keeps its promises."),
    "import": ("import_:import_", "Make a benchmark of a table you have."),
    "tabulate": ("tabulate:tabulate", "Make a table of a live benchmark."),
    "data": ("data:data", "Fetch and check the images of live benchmarks."),
    "distance": ("distance:distance", "Print how far two networks are apart (OTMANN)."),
    "speed": ("speed:speed", "Measure our speed beside a peer's."),
}
"""Name of each command → where it is (`module:attribute` in `commands/`), and what it does, in one line."""

_OF_A_PATH = {errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_LONGEST_SENTENCE = 3000  # letters: a name may be longer than any screen
_ALIASES = {"bench": "speed"}  # an earlier name, which still works


class _Commands(click.Group):
    """Imports a command when it is called, so that `nasbench --help` loads nothing that only `nasbench run` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"nasbench.cli.commands.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        nearest = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and args[0] not in _ALIASES and nearest:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {nearest[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(n, help=says) for n, (_, says) in COMMANDS.items() if n.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="nasbench")
@click.option("--debug", is_flag=True, help="Show a traceback where something goes wrong.")
def cli(debug: bool) -> None:
    """Compare NAS and HPO methods fairly: one space, one budget, one clock, honest statistics.

    \b
    nasbench run --method random --method evolution --bench nb201-cifar10 --seeds 20
    nasbench report runs/default
    """
    from nasbench.cli.engine.progress import echo_notices

    echo_notices()


def main() -> None:
    """Entry point of the command line: ends the process with an exit code of `nasbench.cli.exits`."""
    _replace_closed()
    code = run_command(sys.argv[1:])
    if threading.active_count() > 1:
        # Evaluations that nobody waits for any more: Python's own end would tear PyTorch away beneath them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _replace_closed() -> None:
    """Puts /dev/null where a standard stream is closed (`2>&-`), before a file of ours gets its number.

    What this process and those that it begins print would else fail, or land in that file.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream which is closed.
            stream = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def run_command(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code.

    An error is printed as one sentence on standard error; with `--debug` its traceback comes first.
    """
    try:
        _refuse_empty(arguments)
        return cli.main(arguments, prog_name="nasbench", standalone_mode=False) or DONE
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; nor must Python's last flush complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments:
            traceback.print_exc()
        sentence, code = _explain(error)
        click.echo(f"nasbench: {one_line(sentence, _LONGEST_SENTENCE)}", err=True)
        return code


def _refuse_empty(arguments: list[str]) -> None:
    """No empty text means anything here: it is what a shell makes of a variable that is not set."""
    for before, argument in pairwise(["", *arguments]):
        name, equals, value = argument.partition("=")
        if not argument or (name.startswith("--") and equals and not value):
            option = name or (before if before.startswith("-") else "an argument")
            raise click.UsageError(f"{option} is empty: is a variable of the shell not set?")


def _explain(error: BaseException) -> tuple[str, int]:
    """The sentence that describes an error, and the exit code for it."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "stopped; what was stored is kept, and the same run, tabulate or fetch goes on from it", INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        context = error.ctx or click.Context(cli, info_name="nasbench")
        group = context.command if isinstance(context.command, click.Group) else cli
        names = ", ".join(group.list_commands(context))
        return f"give a command: {names} ({context.command_path} --help says more)", BAD_USAGE
    if isinstance(error, click.UsageError) and error.ctx is not None and isinstance(error.ctx.command, click.Group):
        return f"{error.format_message()} Allowed: {', '.join(error.ctx.command.list_commands(error.ctx))}", BAD_USAGE
    if isinstance(error, click.ClickException):
        return error.format_message(), BAD_USAGE
    from nasbench.benchmarks import UsageError
    from nasbench.benchmarks.spaces.foreign import plain
    from nasbench.results import Interrupted, StoreError

    if isinstance(error, UsageError | StoreError):
        return plain(str(error)), SOME_FAILED if isinstance(error, Interrupted) else BAD_USAGE
    if isinstance(error, RecursionError):
        return "a file is nested too deeply to be read (--debug shows where)", BAD_USAGE
    if isinstance(error, UnicodeEncodeError):
        return f"a name or a path is not UTF-8 text: {error.object}", BAD_USAGE
    if isinstance(error, OSError) and error.errno in _OF_A_PATH:
        return f"cannot use {error.filename}: {error.strerror}", BAD_USAGE
    if isinstance(error, OSError):
        return f"the system refused: {error}", SOME_FAILED
    return f"{type(error).__name__}: {error} (this is a defect; --debug shows where)", SOME_FAILED

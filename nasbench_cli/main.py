"""The `nasbench` command line: assembles the commands, and turns each error into a sentence and an exit code."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from itertools import pairwise
from types import FrameType

import click
from click.shell_completion import CompletionItem

from nasbench.base.errors import Interrupted, NasbenchError, StoppedAt
from nasbench.base.exits import BAD_USAGE, DONE, INTERRUPTED, READER_GONE, SIGNALLED, SOME_FAILED
from nasbench.base.layout import one_line
from nasbench.base.streams import OUTPUT, ReaderGone, drop_unwritable_errors, name_output, replace_closed, say

COMMANDS = {
    "list": ("list:list_", "List methods, benchmarks, suites and executors."),
    "show": ("show:show", "Show a benchmark, a method or an executor."),
    "run": ("run:run", "Run methods on benchmarks and store every seed's trajectory."),
    "status": ("status:status", "Report what a store has, and how to finish it."),
    "report": ("report:report", "Turn stores into tables and plots."),
    "merge": ("merge:merge", "Copy the runs of several stores into one."),
    "archive": ("archive:archive", "Pack a store into one file that others can report against."),
    "show-run": ("show_run:show_run", "Show one run of a store."),
    "plan": ("plan:plan", "Estimate runs, hours and storage of a suite or a grid."),
    "check": ("check:check", "Test what a method, a benchmark or an executor promises."),
    "import": ("import_:import_", "Turn a table that you have into a benchmark."),
    "serve": ("serve:serve", "Offer a benchmark to a program: lines of JSON in and out."),
    "tabulate": ("tabulate:tabulate", "Make a table of a live benchmark."),
    "data": ("data:data", "Fetch and check images, published tables and surrogates."),
    "distance": ("distance:distance", "Print the OTMANN distance of two networks."),
    "speed": ("speed:speed", "Measure our speed beside a peer's."),
}
"""Name of each command → its place (`module:attribute` in `commands/`), and its description in one line."""

_CONTINUE = ("run", "tabulate", "data")  # a command that was stopped goes on where it was when it is given again
_STOPS = (signal.SIGTERM, signal.SIGHUP)  # sent by `kill`, a scheduler, or a terminal that is closed
_stopped_by: list[int] = []  # the first of them that has arrived
_OF_A_PATH = {errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
_LONGEST_SENTENCE = 3000  # letters: names can be longer than any screen


class _Commands(click.Group):
    """Imports a command only when it is called, so that `nasbench --help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"nasbench.cli.commands.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        nearest = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and nearest:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {nearest[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(n, help=says) for n, (_, says) in COMMANDS.items() if n.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="nasbench-cli")
@click.option("--debug", is_flag=True, help="Show the traceback of an error, also of a method or a benchmark.")
@click.pass_context
def cli(context: click.Context, /, debug: bool) -> None:
    """Compare NAS and HPO methods fairly: one space, one budget, one clock, honest statistics.

    \b
    nasbench run --method random --method local --bench nb201-cifar10 --seeds 20
    nasbench report runs/default
    """
    from nasbench.cli.commands.progress import show_notices
    from nasbench.cli.engine.events import DEBUG

    if debug:
        os.environ[DEBUG] = "1"
        context.call_on_close(lambda: os.environ.pop(DEBUG, None))
    show_notices()


def main() -> None:
    """Entry point of the command line: ends the process with an exit code from `nasbench.base.exits`."""
    if os.environ.get("MPLBACKEND", "").startswith("module://"):  # of a notebook's kernel; it may not be installed here
        del os.environ["MPLBACKEND"]
    replace_closed()
    drop_unwritable_errors()
    name_output()
    for number in _STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
            signal.signal(number, _stop_like_ctrl_c)
    code = run_command(sys.argv[1:])
    if threading.active_count() > 1:
        # Evaluations that are no longer needed still run: a normal exit would unload PyTorch beneath them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _stop_like_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Stops the command as Ctrl-C does, at the same places; a second such signal does not disturb its end."""
    if _stopped_by:
        return
    _stopped_by.append(number)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def run_command(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code.

    An error is printed as one sentence on standard error; with `--debug` its traceback comes first.
    """
    try:
        _refuse_empty(arguments)
        code: int = cli.main(arguments, prog_name="nasbench", standalone_mode=False) or DONE
        sys.stdout.flush()
        return code
    except ReaderGone:
        _drop_output()
        return READER_GONE
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, SystemExit) and "_NASBENCH_COMPLETE" in os.environ:
            raise
        if isinstance(error, OSError) and error.filename == OUTPUT:
            _drop_output()
        if "--debug" in arguments:
            traceback.print_exc()
        sentence, code = _explain(error)
        if (
            isinstance(error, KeyboardInterrupt | click.Abort)
            and next((word for word in arguments if word in COMMANDS), "") in _CONTINUE
        ):
            without = " without --anew" if any(word.partition("=")[0] == "--anew" for word in arguments) else ""
            sentence += f"; what was stored is kept, and the same command{without} continues from it"
        say(f"nasbench: {one_line(sentence, _LONGEST_SENTENCE)}", err=True)
        return code


def _drop_output() -> None:
    """Sends standard output to /dev/null, so that Python's last flush cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_empty(arguments: list[str]) -> None:
    """Refuses empty arguments, which a shell makes of variables that are not set."""
    for before, argument in pairwise(["", *arguments]):
        name, equals, value = argument.partition("=")
        if not argument or (name.startswith("--") and equals and not value):
            option = name or (before if before.startswith("-") else "an argument")
            raise click.UsageError(f"{option} is empty: is a variable of the shell not set?")


def _explain(error: BaseException) -> tuple[str, int]:
    """The sentence that describes an error, and the exit code for it."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        by = f" by {signal.Signals(_stopped_by[0]).name}" if _stopped_by else ""
        stop = error.__cause__ if isinstance(error, click.Abort) else error
        at = f" in {stop}" if isinstance(stop, StoppedAt) else ""
        return f"stopped{by}{at}", SIGNALLED + _stopped_by[0] if _stopped_by else INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        context = error.ctx or click.Context(cli, info_name="nasbench")
        group = context.command if isinstance(context.command, click.Group) else cli
        names = ", ".join(group.list_commands(context))
        return f"give a command: {names} ({context.command_path} --help says more)", BAD_USAGE
    if isinstance(error, click.UsageError) and error.ctx is not None and isinstance(error.ctx.command, click.Group):
        return f"{error.format_message()} Allowed: {', '.join(error.ctx.command.list_commands(error.ctx))}", BAD_USAGE
    if isinstance(error, click.ClickException):
        return error.format_message(), BAD_USAGE
    if isinstance(error, ImportError):  # what follows may need the same package
        return f"a package cannot be imported: {error} (--debug shows where)", SOME_FAILED
    from nasbench.base.errors import not_utf8
    from nasbench.base.foreign import plain

    if isinstance(error, NasbenchError):
        return plain(str(error)), SOME_FAILED if isinstance(error, Interrupted) else BAD_USAGE
    if isinstance(error, SystemExit):  # click raises none here, but for the completion of the shell
        return f"a plug-in ended the command (sys.exit({error.code!r}); --debug shows where)", SOME_FAILED
    if isinstance(error, MemoryError):
        return "there is not enough memory (--debug shows where)", SOME_FAILED
    if isinstance(error, RecursionError):
        return "a file is nested too deeply to be read (--debug shows where)", BAD_USAGE
    if isinstance(error, UnicodeEncodeError):
        return f"cannot use {error.object}: {not_utf8('a name or a path')}", BAD_USAGE
    if isinstance(error, OSError) and error.errno in _OF_A_PATH:
        return f"cannot use {error.filename}: {error.strerror}", BAD_USAGE
    if isinstance(error, OSError):
        return f"the system refused: {error}", SOME_FAILED  # such as: No space left on device: 'standard output'
    return f"{type(error).__name__}: {error} (this is a defect; --debug shows where)", SOME_FAILED

"""Commands that refuse an option of one value that is given twice; click would take the last one without a word."""

from __future__ import annotations

import click


class Command(click.Command):
    """A command of nasbench."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [] if ctx.resilient_parsing else self.make_parser(ctx).parse_args(args=list(args))[2]
        is_asked_for_help = self.get_help_option(ctx) in given
        for option in () if is_asked_for_help else given:
            is_single = isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count)
            if is_single and given.count(option) > 1:
                raise click.UsageError(f"{option.opts[0]} is given twice, and takes one value", ctx)
        return super().parse_args(ctx, args)


class Group(click.Group):
    """A command with such commands inside."""

    command_class = Command

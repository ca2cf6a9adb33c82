"""`nasbench merge`: several stores as one."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.foreign import interrupts_noted
from nasbench.base.numbers import count, listed
from nasbench.base.streams import say
from nasbench.cli.commands._once import Command
from nasbench.cli.commands.messages import say_notices
from nasbench.results import Store


@click.command(cls=Command)
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--store", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The one store.")
def merge(stores: tuple[Path, ...], folder: Path) -> int:
    """Copy the finished runs of stores, such as the shards of a suite, into one store.

    A run that two of them have counts once; if one of the two has failed, the other counts. The stores themselves stay
    as they are, but damaged files are set aside, and then the exit code is 1.
    """
    from nasbench.results.store.merging import merge as merged
    from nasbench.results.store.status import absent

    opened = [Store.open(store) for store in stores]
    with interrupts_noted():
        together, added = merged(opened, folder)
    for store in [*opened, together]:
        say_notices(store)
    whole = sum(len(f.runs) for f in together.fragments())
    say(f"{count(added, 'run')} copied; {folder} has {count(whole, 'run')}")
    for lacking in absent([together]):
        say(f"notice: {lacking}", err=True)
    if whole:
        say(f"next: nasbench report {shlex.quote(str(folder))}")
    if damaged := [str(store.folder) for store in opened if store.notices]:
        say(f"not all of {listed(damaged)} is copied: the notices say why", err=True)
    return SOME_FAILED if damaged else DONE

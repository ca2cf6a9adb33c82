"""`nasbench archive`: packs a store into one file, and computes some of its runs again."""

from __future__ import annotations

import os
import secrets
import shlex
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from nasbench.base.errors import UsageError
from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.foreign import interrupts_noted
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Group
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.engine.archives import open_archive, recompute
from nasbench.results import Store, StoreError


@click.group(cls=Group)
def archive() -> None:
    """Pack a store into one file that others can report against, and check such a file."""


@archive.command(short_help="Pack what reports read of a store's runs.")
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The archive.  [default: STORE.zip, beside the store]",
)
def make(stores: tuple[Path, ...], out: Path | None) -> int:
    """Pack what reports read of the runs of stores, taken together.

    That is incumbents and their scores, feasibility, provenance. Configurations, measured times and search logs stay in
    the stores.
    """
    from nasbench.results.report.files import refuse_inside
    from nasbench.results.store.merging import merge

    if len(stores) > 1 and out is None:
        raise UsageError("--out names the archive of several stores")
    opened, path = [Store.open(store) for store in stores], out or Path(f"{os.path.abspath(stores[0])}.zip")
    for store in opened:
        refuse_inside(path, store)
    with TemporaryDirectory() as scratch:
        try:
            together = opened[0] if len(opened) == 1 else merge(opened, Path(scratch) / "store")[0]
            return _make(together, shlex.join(map(str, stores)), path)
        finally:
            for store in opened:
                say_notices(store)  # such as of files that could not be read


def _make(opened: Store, name: str, path: Path) -> int:
    """Packs a store, and says what is in the archive.

    Args:
        name: how messages call the store.
    """
    from nasbench.results.store.archive import Archive
    from nasbench.results.store.folder import is_store
    from nasbench.results.store.packing import pack
    from nasbench.results.store.status import absent

    if path.is_dir() or not path.parent.is_dir():
        what = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise UsageError(f"{what}: --out names the file to write, in a folder that exists")
    if is_store(path.parent):
        raise UsageError(f"{path.parent} is a store, which sets aside what it does not know: choose another --out")
    _refuse_others(path, opened, name)
    size = pack(opened, path, name)
    made = Archive(path)
    runs = sum(len(f.runs) for f in made.fragments())
    taken = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    say(f"{count(runs, 'run')} of {name} in {taken}: {path}")
    say(f"contents sha256:{made.contents}")
    if made.missing:
        say(
            f"notice: {count(made.missing, 'run')} that were asked for are missing, and reports will say so: "
            f"`nasbench status {name}` says which",
            err=True,
        )
    for lacking in absent([made]):
        say(f"notice: {lacking}, and reports will say so", err=True)
    return DONE


def _refuse_others(path: Path, store: Store, name: str) -> None:
    """Raises UsageError if there is already a file that is not an archive of some of a store's runs."""
    from nasbench.results.store.archive import Archive

    if not os.path.lexists(path):
        return
    own = {(f.setup.id, seed) for f in store.fragments() for seed in f.seeds}
    try:
        others = {(f.setup.id, seed) for f in Archive(path).fragments() for seed in f.seeds} - own
    except StoreError:
        raise UsageError(f"{path} is there already, and no archive: choose another --out, or delete it") from None
    if others:
        raise UsageError(
            f"{path} is there already, an archive with {count(len(others), 'run')} that {name} does not have: "
            "choose another --out, or delete it"
        )


@archive.command(short_help="Compute some of an archive's runs again, and compare.")
@click.argument("name", metavar="ARCHIVE")
@click.option(
    "--share", type=float, default=0.02, show_default=True, metavar="P", help="Share of the runs, above 0 and up to 1."
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="Seed of the choice of runs.  [default: another each time]"
)
@takes_data_dir
def check(name: str, share: float, seed: int | None) -> int:
    """Compute a random share of an archive's runs again, and compare them bit for bit.

    ARCHIVE is a file, or the name of an archive that comes with nasbench. The exit code is 1 if a run differs, or none
    could be computed.
    """
    if not 0 < share <= 1:
        raise UsageError(f"--share must be above 0 and at most 1, not {share:g}")
    opened = open_archive(name)
    runs = sum(len(f.runs) for f in opened.fragments())
    chosen = secrets.randbelow(1 << 31) if seed is None else seed
    say(f"contents sha256:{opened.contents} (stated by the archive)")
    say(f"{max(1, round(share * runs)):,} of {count(runs, 'run')}, chosen by --seed {chosen}")
    same, reasons, different = 0, Counter[str](), 0
    with interrupts_noted():
        for found in recompute(opened, share, chosen):
            if found.same:
                same += 1
            elif found.same is None:
                reasons[found.why] += 1
            else:
                different += 1
                why = f" ({found.why})" if found.why else ""
                say(f"DIFFERENT  {found.setup.title}, seed {found.seed}{why}")
    say(f"{count(same, 'run')} computed again with the same bits, {different} with others")
    for why, number in reasons.most_common():
        say(f"{count(number, 'run')} not computed: {why}")
    return DONE if same and not different else SOME_FAILED

"""`nasbench data`: fetches and checks the images of live benchmarks, and published tables and surrogates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from nasbench.base.errors import unknown
from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.layout import prose, table, terminal_width
from nasbench.base.streams import say
from nasbench.benchmarks import BENCHMARKS, UsageError
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.images import DATASETS, medmnist
from nasbench.benchmarks.images.medmnist import DataFile
from nasbench.benchmarks.sources import SOURCES, Source, fetch, take
from nasbench.cli.commands._data_dir import makes_data_dir, takes_data_dir
from nasbench.cli.commands._once import Group
from nasbench.cli.commands._saving import keep
from nasbench.cli.commands.progress import Progress


@click.group(cls=Group)
def data() -> None:
    """Fetch images, published tables and surrogates, and check them; no other command uses the network."""


@data.command("list", short_help="List what can be fetched, and what is here.")
@takes_data_dir
def data_list() -> None:
    """List what can be fetched, with its licence, and what is here."""
    rows = [("benchmark", "train / val / test", "channels", "classes", "licence", "file")]
    for dataset in map(DATASETS.get, DATASETS.names()):
        data = medmnist.files().get(dataset.name)
        place = dataset.place if data is None else str(medmnist.located(data) or "not here")
        counts = " / ".join(f"{dataset.counts[split]:,}" for split in ("train", "val", "test"))
        rows.append((dataset.name, counts, str(dataset.channels), str(dataset.classes), dataset.licence, place))
    say(f"{table(rows)}\n")
    here = BENCHMARKS.names()
    published = [("published", "here", "what; licence")]
    for source in map(SOURCES.get, SOURCES.names()):
        published.append((source.name, source.made(here) or "not here", f"{source.what}; {source.licence}"))
    say(prose(published, terminal_width()))


@data.command("fetch", short_help="Fetch official files, and check them.")
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option(
    "--all", "everything", is_flag=True, help="All of MedMNIST; with a surrogate, all of its tasks instead of eight."
)
@click.option(
    "--from",
    "given",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files of a table or a surrogate from this folder, without the network.",
)
@makes_data_dir
def data_fetch(names: tuple[str, ...], everything: bool, given: Path | None) -> None:
    """Fetch official files into $NASBENCH_DATA, or your data directory, and check them.

    A data set of MedMNIST is kept as it is. A published table or surrogate (`nasbench data list`) becomes benchmarks;
    nas-bench-201-latency becomes metrics of the tables of NAS-Bench-201.
    The same command continues an interrupted download.
    """
    sources = SOURCES.names()
    published = [SOURCES.get(name) for name in names if name in sources]
    images = [name for name in names if name not in sources]
    if not names and not everything:
        raise UsageError(f"name what to fetch, or give --all; allowed: {', '.join([*medmnist.files(), *sources])}")
    for name in images:
        if name not in DATASETS.names() and not name.startswith(tuple(DATASETS.advice)):
            raise unknown("data set, table or surrogate", name, [*DATASETS.names(), *sources])
    if everything and (images or not all(source.offers_all for source in published)):
        offering = ", ".join(name for name in sources if SOURCES.get(name).offers_all)
        raise UsageError(f"--all stands alone, or with one of {offering}")
    if given is not None and (images or not published):
        raise UsageError(
            f"--from takes the files of {', '.join(sources)}, not those of {', '.join(images) or 'images'}"
        )
    files = [_file(name) for name in images] or list(medmnist.files().values())
    for source in published:
        _fetch_source(source, given, everything)
    if images or not names:
        _fetch_images(files)


@data.command("verify", short_help="Compare files with their official MD5 sums.")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@takes_data_dir
def data_verify(names: tuple[str, ...]) -> int:
    """Compare the named files, or all that are here, with the official MD5 sums.

    Exit codes: 0 if all files are the official ones; 1 if a file is missing or differs, or there is none; 2 if there
    is no such data set.
    """
    files = [_file(name) for name in names] or [f for f in medmnist.files().values() if medmnist.located(f)]
    if not files:
        say(f"no images in {data_folder()}: `nasbench data fetch NAME` downloads some", err=True)
    good = bool(files)
    for data in files:
        path = medmnist.located(data)
        try:
            if path is None:
                raise UsageError(
                    f"{data.file} is not in {data_folder()}: `nasbench data fetch {data.name}` downloads it"
                )
            medmnist.checked(path, data)
            say(f"{data.name}: {path}, MD5 {data.md5} is correct")
        except UsageError as error:
            good = False
            say(f"{data.name}: {error}", err=True)
    return DONE if good else SOME_FAILED


def _fetch_source(source: Source, given: Path | None, every: bool) -> None:
    """Makes benchmarks of a published table or surrogate, or metrics of embedded tables.

    Args:
        given: a folder that has its files; None to download them.
        every: whether all tasks of a surrogate become benchmarks, instead of the chosen ones.

    Raises UsageError if a file cannot be had, or is another one.
    """
    say(
        f"{source.name}: {source.what}\nsource: {source.origin}\ncitation: {source.citation}\nlicence: {source.licence}"
    )
    keep(source, fetch(source) if given is None else take(source, given), every)


def _fetch_images(files: Sequence[DataFile]) -> None:
    """Downloads the files that are not here yet.

    Raises UsageError if a file cannot be downloaded; earlier files are kept.
    """
    for data in files:
        path = medmnist.located(data)
        if path is not None:
            medmnist.checked(path, data)
            say(f"{data.name}: already here, {path}")
            continue
        with ExitStack() as stack:
            path = medmnist.fetch(data, _Shown(stack))
        say(f"{data.name}: {path}, MD5 {data.md5} is correct")


class _Shown:
    """Shows the number of downloaded bytes of a file."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._here = stack, 0
        self._bar: Progress | None = None

    def __call__(self, here: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._stack.enter_context(Progress(total, "bytes"))
        self._bar.advance(here - self._here)
        self._here = here


def _file(name: str) -> DataFile:
    if name not in medmnist.files():
        raise UsageError(f"{name} {DATASETS.get(name).place}: there is nothing to fetch or verify")
    return medmnist.files()[name]

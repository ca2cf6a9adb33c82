"""`nasbench data`: fetches and checks the image files that live benchmarks need."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import click

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.images import DATASETS, medmnist
from nasbench.benchmarks.images.medmnist import DataFile
from nasbench.cli.commands.options import makes_data_dir, takes_data_dir
from nasbench.cli.commands.progress import Progress
from nasbench.cli.exits import DONE, SOME_FAILED
from nasbench.cli.layout import table


@click.group()
def data() -> None:
    """Fetch and check the images that live benchmarks train on; no other command uses the network."""


@data.command("list")
@takes_data_dir
def data_list() -> None:
    """List the data sets and the places of their files."""
    listing()


@data.command("fetch")
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option("--all", "everything", is_flag=True, help="Fetch all of MedMNIST.")
@makes_data_dir
def data_fetch(names: tuple[str, ...], everything: bool) -> None:
    """Download official files of MedMNIST into $NASBENCH_DATA, or your data directory, and check them.

    The same command continues an interrupted download.
    """
    if bool(names) == everything:
        raise UsageError(f"name data sets to fetch, or give --all; allowed: {', '.join(medmnist.files())}")
    fetch(names or list(medmnist.files()))


@data.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@takes_data_dir
def data_verify(names: tuple[str, ...]) -> int:
    """Compare the named files, or all that are here, with the official MD5 sums.

    Exit codes: 0 if all files are the official ones; 1 if a file is missing or differs, or there is none; 2 if there
    is no such data set.
    """
    return DONE if verify(names) else SOME_FAILED


def listing() -> None:
    """Prints every data set of images with the place of its file."""
    rows = [("benchmark", "train / val / test", "channels", "classes", "licence", "file")]
    for dataset in map(DATASETS.get, DATASETS.names()):
        data = medmnist.files().get(dataset.name)
        place = dataset.place if data is None else str(medmnist.located(data) or "not here")
        counts = " / ".join(f"{dataset.counts[split]:,}" for split in ("train", "val", "test"))
        rows.append((dataset.name, counts, str(dataset.channels), str(dataset.classes), dataset.licence, place))
    click.echo(table(rows))


def fetch(names: Sequence[str]) -> None:
    """Downloads the files that are not here yet.

    Raises UsageError if a file cannot be downloaded; earlier files are kept.
    """
    for data in [_file(name) for name in names]:
        path = medmnist.located(data)
        if path is not None:
            medmnist.check(path, data)
            click.echo(f"{data.name}: already here, {path}")
            continue
        with ExitStack() as stack:
            path = medmnist.fetch(data, _Shown(stack))
        click.echo(f"{data.name}: {path}, MD5 {data.md5} is correct")


def verify(names: Sequence[str]) -> bool:
    """Compares files with the official MD5 sums; returns whether there are files, and all are the official ones.

    Args:
        names: the data sets; if empty, those whose files are here.
    """
    files = [_file(name) for name in names] or [f for f in medmnist.files().values() if medmnist.located(f)]
    if not files:
        click.echo(f"no file in {data_folder()}: `nasbench data fetch NAME` downloads one", err=True)
    good = bool(files)
    for data in files:
        path = medmnist.located(data)
        try:
            if path is None:
                raise UsageError(
                    f"{data.file} is not in {data_folder()}: `nasbench data fetch {data.name}` downloads it"
                )
            medmnist.check(path, data)
            click.echo(f"{data.name}: {path}, MD5 {data.md5} is correct")
        except UsageError as error:
            good = False
            click.echo(f"{data.name}: {error}", err=True)
    return good


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

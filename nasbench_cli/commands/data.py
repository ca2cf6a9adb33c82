"""`nasbench data`: the image files that live benchmarks need."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import click

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.images import DATASETS, medmnist
from nasbench.benchmarks.images.medmnist import DataFile
from nasbench.benchmarks.spaces.errors import unknown
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.progress import Progress
from nasbench.cli.exits import DONE, SOME_FAILED
from nasbench.cli.layout import table


@click.group()
def data() -> None:
    """Fetch and check the images that live benchmarks train on; nothing else here uses the network."""


@data.command("list")
@takes_data_dir
def data_list() -> None:
    """List the data sets, and where their files are."""
    listing()


@data.command("fetch")
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option("--all", "everything", is_flag=True, help="All of MedMNIST.")
@takes_data_dir
def data_fetch(names: tuple[str, ...], everything: bool) -> None:
    """Download MedMNIST's official files into $NASBENCH_DATA, or your data directory, and check them.

    An interrupted download is continued by the same command.
    """
    if bool(names) == everything:
        raise UsageError(f"name what to fetch, or give --all; allowed: {', '.join(medmnist.files())}")
    fetch(names or list(medmnist.files()))


@data.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@takes_data_dir
def data_verify(names: tuple[str, ...]) -> int:
    """Compare the files that are here, or those named, with the official MD5s.

    Exit codes: 0, all of them are the official ones; 1, one is missing or differs, or none is here; 2, there is no
    such data set to verify.
    """
    return DONE if verify(names) else SOME_FAILED


def listing() -> None:
    """Prints every data set of images, and where its file is."""
    rows = [("benchmark", "train / val / test", "channels", "classes", "licence", "file")]
    for dataset in map(DATASETS.get, DATASETS.names()):
        data = medmnist.files().get(dataset.name)
        place = dataset.place if data is None else str(medmnist.located(data) or "not here")
        counts = " / ".join(f"{dataset.counts[split]:,}" for split in ("train", "val", "test"))
        rows.append((dataset.name, counts, str(dataset.channels), str(dataset.classes), dataset.licence, place))
    click.echo(table(rows))


def fetch(names: Sequence[str]) -> None:
    """Downloads the files that are not here yet.

    Raises UsageError if a file cannot be downloaded; files that came before it are kept.
    """
    for data in [_file(name) for name in names]:
        path = medmnist.located(data)
        if path is not None:
            medmnist.check(path, data)
            click.echo(f"{data.name}: here already, {path}")
            continue
        with ExitStack() as stack:
            path = medmnist.fetch(data, _Shown(stack))
        click.echo(f"{data.name}: {path}, MD5 {data.md5} as it should be")


def verify(names: Sequence[str]) -> bool:
    """Compares files with the official MD5 sums; returns whether there are any, and all are the official ones.

    Args:
        names: the data sets; if empty, all whose files are here.
    """
    files = [_file(name) for name in names] or [f for f in medmnist.files().values() if medmnist.located(f)]
    if not files:
        click.echo(f"no file in {data_folder()}: `nasbench data fetch NAME` brings one", err=True)
    good = bool(files)
    for data in files:
        path = medmnist.located(data)
        try:
            if path is None:
                raise UsageError(f"{data.file} is not in {data_folder()}: `nasbench data fetch {data.name}` brings it")
            medmnist.check(path, data)
            click.echo(f"{data.name}: {path}, MD5 {data.md5} as it should be")
        except UsageError as error:
            good = False
            click.echo(f"{data.name}: {error}", err=True)
    return good


class _Shown:
    """Shows how many bytes of a file have been downloaded."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._here = stack, 0
        self._bar: Progress | None = None

    def __call__(self, here: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._stack.enter_context(Progress(total, "bytes"))
        self._bar.advance(here - self._here)
        self._here = here


def _file(name: str) -> DataFile:
    if name in DATASETS.names() and name not in medmnist.files():
        raise UsageError(f"{name} {DATASETS.get(name).place}: there is nothing to fetch or verify")
    if name not in medmnist.files():
        raise unknown("data set", name, medmnist.files())
    return medmnist.files()[name]

"""Published data that a user fetches: repository, licence, citation and digests of the files."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of
from nasbench.base.numbers import count
from nasbench.base.registry import Registry
from nasbench.base.textfile import content_of
from nasbench.benchmarks.folders import data_folder

T = TypeVar("T")

_LARGEST = 1 << 28  # bytes of a file that is read at once


@dataclass(frozen=True)
class Source(ABC):
    """Files at a fixed commit of a public repository."""

    name: str
    """Name for `nasbench data fetch`."""
    what: str
    """Contents in one line."""
    repository: str
    """Owner and name at GitHub."""
    commit: str
    """The commit, in full."""
    path: str
    """Place of the data in the repository."""
    licence: str
    """Licence of the data; if the repository has no licence file, this says so."""
    citation: str
    """The publication to cite."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that is read, by name."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Path in the repository of each file that is an original; all other files were made from the data at `path`."""

    offers_all: ClassVar[bool] = False
    """Whether `--all` makes benchmarks of more of its tasks."""

    @abstractmethod
    def convert(self, folder: Path, every: bool = False) -> Iterator[Any]:
        """What becomes of the files in a folder, one after the other.

        A table (`TableData`), metrics of a table (its name and `Columns`), or a sentence about what it has kept itself.

        Args:
            every: whether all tasks become benchmarks, instead of the chosen ones (`offers_all`).

        Raises UsageError if a file is missing, cut off, or another one.
        """

    @property
    def beginning(self) -> str:
        """How the names of its benchmarks begin."""
        return f"{self.name}-"

    def made(self, here: Sequence[str]) -> str:
        """The number of benchmarks or metrics that it has become, in words; empty if there are none.

        Args:
            here: the names of all benchmarks.
        """
        made = sum(name == self.name or name.startswith(self.beginning) for name in here)
        return count(made, "benchmark") if made else ""

    @property
    def can_be_downloaded(self) -> bool:
        """Whether every file is an original."""
        return self.files.keys() == self.origins.keys()

    @property
    def origin(self) -> str:
        """Origin of the data in one line."""
        return f"{self.path} of https://github.com/{self.repository} at commit {self.commit}"

    def address(self, file: str) -> str:
        """Download address of an original file."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.origins[file]}"


SOURCES: Registry[Source] = Registry(
    "source", "nasbench.benchmarks", "nasbench.sources", lambda item: isinstance(item, Source)
)
"""Every source by its name for `nasbench data fetch`."""


def take(source: Source, folder: Path) -> Path:
    """Checks the files in a folder, and returns it. Raises UsageError if a file is missing or not the expected one."""
    for name, digest in source.files.items():
        check(folder / name, digest, source.name)
    return folder


def fetch(source: Source) -> Path:
    """Downloads missing files, and returns their folder.

    Raises UsageError if a file is not an original, cannot be downloaded, or is not the expected one.
    """
    if not source.can_be_downloaded:
        made = [name for name in source.files if name not in source.origins]
        raise UsageError(
            f"{source.name} cannot be downloaded: nobody publishes {made[0]}"
            f"{f', … ({len(made)} files)' if len(made) > 1 else ''}, made from {source.origin}; `nasbench data fetch "
            f"{source.name} --from FOLDER` takes a folder that has the files of which this project keeps the digests, "
            "and no table is needed to report our runs, as `nasbench report --against wide`"
        )
    from nasbench.benchmarks.download import FAILURES, fetched, why

    folder = data_folder() / "sources" / source.name
    for name in source.files:
        try:
            fetched(source.address(name), folder / name, partial(_check_download, source, name))
        except FAILURES as error:
            raise UsageError(
                f"{source.name} cannot be fetched from {source.address(name)}: {why(error)}; run the command again, "
                f"or name a folder that has {', '.join(source.files)} with --from"
            ) from None
    return take(source, folder)


def _check_download(source: Source, name: str, path: Path) -> None:
    digest = source.files[name]
    try:
        check(path, digest, source.name)
    except UsageError:
        raise UsageError(
            f"what came from {source.address(name)} is not the file of {source.name}: its SHA-256 is not {digest}; "
            "it is deleted"
        ) from None


def check(path: Path, digest: str, name: str) -> None:
    """Raises UsageError unless a file has a SHA-256."""
    _readable(path, name, lambda: _check(path, digest_of(path), digest, name))


def read_checked(path: Path, digest: str, name: str) -> bytes:
    """The bytes of a file, read once, so that they are those that were checked.

    Raises UsageError unless they have a SHA-256.
    """
    content = _readable(path, name, lambda: content_of(path, _LARGEST, f"{name} has no such file"))
    _check(path, hashlib.sha256(content).hexdigest(), digest, name)
    return content


def _readable(path: Path, name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except OSError as error:
        raise UsageError(f"cannot read {path}, which {name} needs: {error.strerror}") from None


def _check(path: Path, actual: str, digest: str, name: str) -> None:
    if actual != digest:
        raise UsageError(
            f"{path} is not the file of {name}: its SHA-256 is {actual}, not {digest}; it is cut off or another version"
        )

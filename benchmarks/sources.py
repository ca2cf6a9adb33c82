"""Sources of benchmarks that a user fetches: where their files are, under which licence, and what their digests are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from nasbench.benchmarks.download import download, why
from nasbench.benchmarks.folders import data_folder
from nasbench.benchmarks.spaces.errors import UsageError


@dataclass(frozen=True)
class Source:
    """Files at a fixed commit of a public repository, and what a user must know of them."""

    name: str
    """What `nasbench data fetch` calls it."""
    what: str
    """What is in it, in one line."""
    repository: str
    """Owner and name at GitHub."""
    commit: str
    """The commit, in full."""
    path: str
    """Where the data are in the repository, for people."""
    licence: str
    """Licence of the data; says so where the repository has no licence file."""
    citation: str
    """The publication to cite."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The files that are read, by name, with their SHA-256."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """The path in the repository of each file that is the source's own; others were made from what is at `path`."""

    @property
    def origin(self) -> str:
        """Where the data come from, in one line."""
        return f"{self.path} of https://github.com/{self.repository} at commit {self.commit}"

    def address(self, file: str) -> str:
        """The address of one of the source's own files."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.origins[file]}"


def take(source: Source, folder: Path) -> Path:
    """The folder, whose files are now known to be the source's. Raises UsageError if one is missing, or another."""
    for name, digest in source.files.items():
        check(folder / name, digest, source.name)
    return folder


def fetch(source: Source) -> Path:
    """Downloads the files that are not here yet, and returns their folder.

    Raises UsageError if the files are not the source's own, one cannot be had, or is another.
    """
    if source.files.keys() != source.origins.keys():
        made = ", ".join(name for name in source.files if name not in source.origins)
        raise UsageError(
            f"{source.name} cannot be downloaded: {made} was made from {source.origin}; `nasbench data fetch "
            f"{source.name} --from FOLDER` takes it from a folder of yours"
        )
    folder = data_folder() / "sources" / source.name
    folder.mkdir(parents=True, exist_ok=True)
    for name, digest in source.files.items():
        if (folder / name).exists():
            continue
        part = folder / f".{name}.part"
        try:
            download(source.address(name), part, lambda here, total: None)
        except (OSError, HTTPException) as error:
            raise UsageError(
                f"{source.name} cannot be fetched from {source.address(name)}: {why(error)}; give the command again, "
                f"or name a folder that has {', '.join(source.files)} with --from"
            ) from None
        try:
            check(part, digest, source.name)
        except UsageError:
            part.unlink()
            raise UsageError(
                f"what came from {source.address(name)} is not the file of {source.name}: its SHA-256 is not {digest}; "
                "it is deleted"
            ) from None
        part.replace(folder / name)
    return take(source, folder)


def check(path: Path, digest: str, name: str) -> None:
    """Raises UsageError unless a file has a SHA-256."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read {path}, which {name} needs: {error.strerror}") from None
    if found != digest:
        raise UsageError(
            f"{path} is not the file of {name}: its SHA-256 is {found}, not {digest}; it is cut off, or another version"
        )

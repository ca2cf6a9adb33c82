"""The files of suites: which there are, and which one a user means."""

from __future__ import annotations

from pathlib import Path

from nasbench.base import textfile
from nasbench.base.errors import UsageError

_OURS = Path(__file__).parents[2] / "suites"


def suite_files() -> list[Path]:
    """Suite files by name: those that come with nasbench, and those of the folder `suites` of the working directory.

    Of two with the same name the working directory's counts. Hidden files, as editors leave, are none.
    """
    files = {path.name: path for folder in (_OURS, Path("suites")) for path in folder.glob("[!.]*.toml")}
    return [files[name] for name in sorted(files)]


def found(path: Path) -> Path:
    """The suite file that the user means by a path: it may lack the suffix, or be the name of a suite of nasbench."""
    if path.exists() and not path.is_dir():
        return path
    name = path.name.removesuffix(".toml") + ".toml"
    folders = (Path("suites"), _OURS) if path.parent in (Path(), Path("suites")) else (path.parent,)
    return next((folder / name for folder in folders if (folder / name).exists()), path.with_name(name))


def lasting(path: Path) -> str:
    """The suite that the user means by a path as a word that means it from any folder: a name of ours, or its file."""
    file = found(path)
    if not file.exists():
        return str(path)
    return file.stem if file.resolve().parent == _OURS.resolve() else str(file.resolve())


def title(path: Path) -> str:
    """What a suite file says of itself in a line; the reason if it cannot be read."""
    try:
        return str(textfile.parse_toml(path, textfile.read(path)).get("title", ""))
    except (OSError, UsageError) as error:
        return f"unusable: {error}"

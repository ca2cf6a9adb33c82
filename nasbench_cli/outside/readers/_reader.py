"""The contract of a reader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from nasbench.base.registry import Registry
from nasbench.cli.outside.rows import Asked, Rows


class Reader(ABC):
    """Reads the runs in files of one tool."""

    title: ClassVar[str]
    """What it reads, for messages: `a table (CSV, Parquet or JSON lines)`."""

    @abstractmethod
    def knows(self, path: Path) -> bool:
        """Whether a file or folder is of this tool, by its name and its first bytes; imports nothing heavy."""

    @abstractmethod
    def read(self, path: Path, asked: Asked) -> Rows:
        """The rows of a file or folder. Raises UsageError for one that is damaged or of another tool."""


READERS: Registry[Reader] = Registry(
    "reader", "nasbench.cli.outside.readers", "nasbench.readers", lambda item: isinstance(item, Reader)
)
"""Every reader by name."""

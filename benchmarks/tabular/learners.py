"""The tables that come with this package: `sk-…` of scikit-learn's estimators (`make tables`), and `cells-organa`.

A folder each, as `imported` has them, but every array is compressed: `packed/NAME/<sha256>.npy.xz`.
"""

from __future__ import annotations

import hashlib
import io
import lzma
from pathlib import Path

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.imported import ImportedTable, TableData, fitting, write
from nasbench.benchmarks.tabular.table import Array

FOLDER = Path(__file__).parent / "packed"
"""Where the tables are."""
NAMES = tuple(sorted(path.parent.name for path in FOLDER.glob("*/table.json")))
"""Names of all of them."""


class PackedTable(ImportedTable):
    """A table in a folder whose arrays are compressed."""

    def _array(self, digest: str, *shape: int | None) -> Array:
        path = self._folder / f"{digest}.npy.xz"
        try:
            content = lzma.decompress(path.read_bytes())
        except (OSError, lzma.LZMAError) as error:
            raise UsageError(f"cannot read {path} ({error}): reinstall nasbench") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise UsageError(f"what {path} holds is not what its name says: reinstall nasbench")
        return fitting(np.load(io.BytesIO(content)), path, shape)


def open_learner_table(name: str) -> PackedTable:
    """Opens one of the tables. Its values are read when first needed."""
    return PackedTable(FOLDER / name)


def pack(table: TableData, folder: Path) -> None:
    """Writes a table into a folder with its arrays compressed, in place of an earlier one."""
    for path in folder.glob("*.npy.xz"):
        path.unlink()
    write(table, folder)
    for path in folder.glob("*.npy"):
        path.with_suffix(".npy.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
        path.unlink()

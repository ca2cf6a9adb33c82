"""Writes the 24 embedded tables of other packages into one file, for the day when such a package no longer installs.

    python -m research.kept_tables kept-tables.zip      # a minute, 20 MB

Unpacked into the folder of data (`$NASBENCH_DATA`), it stands in for the packages: docs/tables.md. Every table is
checked by its digest when it is read, so that it does not matter where the file comes from.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from nasbench.benchmarks.folders import cache_folder
from nasbench.benchmarks.tabular import embedded, nasbench_graph, open_table
from nasbench.benchmarks.tabular.cache import KEPT, keep

NAMES = (*embedded.NAMES, *nasbench_graph.NAMES)


def write(to: Path, names: tuple[str, ...] = NAMES) -> None:
    """Writes tables into a zip file, each with its source and its licence in LICENCES.txt; converts them anew."""
    said = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(to, "w") as file:
        os.environ["NASBENCH_CACHE"] = folder
        for name in names:
            table = open_table(name)
            table.means(0)  # reads, and so converts it
            (path,) = (cache_folder() / "tables").glob(f"{name}-*.npy")
            entry, content = keep(path.stem, np.load(path))
            file.writestr(f"{KEPT}/{entry}", content)
            said.append(f"{name}: {table.source}. Licence: {table.licence}\n")
        file.writestr(f"{KEPT}/LICENCES.txt", "".join(said))


if __name__ == "__main__":
    write(Path(sys.argv[1]))

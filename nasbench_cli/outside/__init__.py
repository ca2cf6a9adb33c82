"""Runs that were made elsewhere: files of other tools, and tables of results, as runs of a store."""

from nasbench.cli.outside.importing import as_stores, import_runs
from nasbench.cli.outside.readers import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows

__all__ = ["READERS", "Asked", "Reader", "Rows", "as_stores", "import_runs"]

"""Display of reports: tables, charts, figures, and formatted numbers."""

from nasbench.results.display.table import Table

__all__ = ["Table"]

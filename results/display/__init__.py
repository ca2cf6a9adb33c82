"""Display of reports: tables, charts, figures, and formatted numbers."""

"""The report: one page, tables, figures, and the sentences that say what they mean."""

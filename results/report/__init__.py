"""The report: one page, with tables, figures, and sentences that interpret them."""

"""What parts and reports are drawn with: tables, charts, figures, and numbers as people read them."""

"""Parts that a report has only where some of its runs ask for them: one-shot searches, networks, published numbers."""

"""The part of reports on one-shot searches: what became of them, from their logs."""

"""Compares neural-architecture-search and hyper-parameter-optimisation methods fairly."""

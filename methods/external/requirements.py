"""A clear sentence where a peer's library is not installed."""

from __future__ import annotations

import importlib.util

from nasbench.benchmarks.spaces.errors import UsageError, with_extra


def require(method: str, extra: str, *modules: str) -> None:
    """Raises UsageError, naming the extra that installs them, unless all modules are there; imports nothing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise UsageError(f"{method} needs {' and '.join(missing)}: {with_extra(extra)}")

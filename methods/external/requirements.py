"""A clear error message if a library is not installed."""

from __future__ import annotations

import importlib.util

from nasbench.base.errors import UsageError, with_extra


def require(method: str, extra: str, *modules: str) -> None:
    """Raises UsageError, with the extra to install, unless all modules are installed; imports nothing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise UsageError(f"{method} needs {' and '.join(missing)}: {with_extra(extra)}")

"""Groups of methods, and checks by their words."""

from __future__ import annotations

from nasbench.cli.checks import Check
from tests.methods.libraries import LIBRARIES

ONE_SHOT = ("darts", "milenas", "zo-darts", "zo-darts+", "zo-darts++", "spos")
EXTRAS = LIBRARIES | {"optuna-gp": "optuna"} | dict.fromkeys((*ONE_SHOT, "one-shot-random", "proxy"), "torch")
"""Method → the module that it needs."""


def by_promise(checks: tuple[Check, ...], words: str) -> Check:
    """The check whose promise has these words."""
    (found,) = (check for check in checks if words in check.promise)
    return found

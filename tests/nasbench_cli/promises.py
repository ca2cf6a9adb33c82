"""Groups of methods, and checks by their words."""

from __future__ import annotations

from nasbench.cli.checks import Check

ONE_SHOT = ("darts", "milenas", "zo-darts", "zo-darts+", "zo-darts++", "spos")
EXTRAS = {
    **dict.fromkeys(("ax-nei", "ax-nehvi"), "ax"),
    **dict.fromkeys(("cnsga2", "nsga2", "motpe", "optuna-tpe", "optuna-gp", "optuna"), "optuna"),
    "smac": "smac",
    "rf-cei": "sklearn",
    **dict.fromkeys((*ONE_SHOT, "one-shot-random", "proxy"), "torch"),
}
"""Method → the module that it needs."""


def by_promise(checks: tuple[Check, ...], words: str) -> Check:
    """The check whose promise has these words."""
    (found,) = (check for check in checks if words in check.promise)
    return found

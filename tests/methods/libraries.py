"""The libraries that wrapped methods need."""

LIBRARIES = {
    "cnsga2": "optuna",
    "nsga2": "optuna",
    "motpe": "optuna",
    "optuna-tpe": "optuna",
    "optuna": "optuna",
    "rf-cei": "sklearn",
    "optuna-gp": "torch",
    "ax-nei": "ax",
    "ax-nehvi": "ax",
    "hyperopt": "hyperopt",
    "smac": "smac",
    "catcma": "cmaes",
}
"""Method → the module that it needs."""

"""Methods that choose how long to train, such as Hyperband, whose rungs let only the better trainings continue."""

from nasbench.methods.fidelity import (  # registers them
    asha,
    bohb,
    dehb,
    freeze_thaw,
    hyperband,
    mo_asha,
    pasha,
    priorband,
)

__all__ = ["asha", "bohb", "dehb", "freeze_thaw", "hyperband", "mo_asha", "pasha", "priorband"]

"""Methods that choose how long to train: brackets of rungs, from which only the better trainings go on."""

from nasbench.methods.fidelity import asha, bohb, dehb, freeze_thaw, hyperband  # registers them

__all__ = ["asha", "bohb", "dehb", "freeze_thaw", "hyperband"]

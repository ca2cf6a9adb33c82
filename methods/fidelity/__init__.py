"""Methods that choose how long to train, such as Hyperband, whose rungs let only the better trainings continue."""

from nasbench.methods.fidelity import asha, bohb, dehb, freeze_thaw, hyperband, mo_asha, pasha  # registers them

__all__ = ["asha", "bohb", "dehb", "freeze_thaw", "hyperband", "mo_asha", "pasha"]

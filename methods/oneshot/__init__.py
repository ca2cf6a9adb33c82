"""One-shot methods: a supernet holds every architecture, and is trained once."""

from nasbench.methods.oneshot.foils import SPOS, OneShotRandom
from nasbench.methods.oneshot.methods import DARTS, ZODARTS, MiLeNAS, ZODARTSPlus, ZODARTSPlusPlus

__all__ = ["DARTS", "SPOS", "ZODARTS", "MiLeNAS", "OneShotRandom", "ZODARTSPlus", "ZODARTSPlusPlus"]

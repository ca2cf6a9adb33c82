"""One-shot methods: a supernet holds every architecture, and is trained once."""

from nasbench.methods.oneshot.darts import DARTS, ZODARTS, MiLeNAS, ZODARTSPlus, ZODARTSPlusPlus
from nasbench.methods.oneshot.foils import SPOS, OneShotRandom

__all__ = ["DARTS", "SPOS", "ZODARTS", "MiLeNAS", "OneShotRandom", "ZODARTSPlus", "ZODARTSPlusPlus"]

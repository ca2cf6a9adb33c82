"""One-shot methods: a supernet that holds every architecture is trained once, and architectures are drawn from it."""

from nasbench.methods.oneshot.baselines import SPOS, OneShotRandom
from nasbench.methods.oneshot.darts import DARTS, ZODARTS, MiLeNAS, ZODARTSPlus, ZODARTSPlusPlus
from nasbench.methods.oneshot.proxy import Proxy

__all__ = ["DARTS", "SPOS", "ZODARTS", "MiLeNAS", "OneShotRandom", "Proxy", "ZODARTSPlus", "ZODARTSPlusPlus"]

"""NASBOT: Bayesian optimisation over networks with optimal transport between them as the distance."""

from nasbench.methods.nasbot.nasbot import Nasbot, NasbotEvolution, NasbotRandom

__all__ = ["Nasbot", "NasbotEvolution", "NasbotRandom"]

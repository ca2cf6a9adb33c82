"""Other people's methods behind our contract. Their libraries are imported when a run begins, not before."""

from methods.external.ax_sampler import AxNEI
from methods.external.optuna_samplers import CNSGA2, OptunaGP, OptunaTPE
from methods.external.random_forest import RandomForestCEI

__all__ = ["CNSGA2", "AxNEI", "OptunaGP", "OptunaTPE", "RandomForestCEI"]

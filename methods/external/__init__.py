"""Other people's methods behind our contract. Their libraries are imported when a run begins, not before."""

from nasbench.methods.external.ax_sampler import AxNEI
from nasbench.methods.external.optuna_samplers import CNSGA2, OptunaGP, OptunaTPE
from nasbench.methods.external.random_forest import RandomForestCEI

__all__ = ["CNSGA2", "AxNEI", "OptunaGP", "OptunaTPE", "RandomForestCEI"]

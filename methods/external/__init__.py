"""Methods of other libraries behind our contract. The libraries are imported only when a run begins."""

from nasbench.methods.external.ax_sampler import AxNEI
from nasbench.methods.external.optuna_hub import OptunaHub
from nasbench.methods.external.optuna_samplers import CNSGA2, Optuna, OptunaGP, OptunaTPE
from nasbench.methods.external.random_forest import RandomForestCEI
from nasbench.methods.external.smac_forest import Smac

__all__ = ["CNSGA2", "AxNEI", "Optuna", "OptunaGP", "OptunaHub", "OptunaTPE", "RandomForestCEI", "Smac"]

"""What can be chosen: spaces of configurations."""

from nasbench.benchmarks.space.base import Block, Configuration, ForeignConfiguration, Space
from nasbench.benchmarks.space.features import Hashed
from nasbench.benchmarks.space.flat import Condition, Coordinate, Flat
from nasbench.benchmarks.space.grid import GridSpace
from nasbench.benchmarks.space.hyperparameters import Categorical, Choice, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.space.parameters import ParameterSpace
from nasbench.benchmarks.space.sequence import Walk

__all__ = [
    "Block",
    "Categorical",
    "Choice",
    "Condition",
    "Configuration",
    "Coordinate",
    "Flat",
    "Float",
    "ForeignConfiguration",
    "GridSpace",
    "Hashed",
    "Hyperparameter",
    "Integer",
    "Ordinal",
    "ParameterSpace",
    "Space",
    "Walk",
]

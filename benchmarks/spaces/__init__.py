"""Search spaces: sets of configurations."""

from nasbench.benchmarks.spaces._finite import FiniteSpace
from nasbench.benchmarks.spaces._sequence import Walk
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Space
from nasbench.benchmarks.spaces.features import Hashed
from nasbench.benchmarks.spaces.flat import Condition, Coordinate, Flat
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Choice, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.parameters import ParameterSpace
from nasbench.benchmarks.spaces.views import AsBlocks, AsFlat, AsGraph, AsScalars, AsSequence, AsSupernet, AsTokens

__all__ = [
    "AsBlocks",
    "AsFlat",
    "AsGraph",
    "AsScalars",
    "AsSequence",
    "AsSupernet",
    "AsTokens",
    "Categorical",
    "Choice",
    "Condition",
    "Configuration",
    "Coordinate",
    "FiniteSpace",
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

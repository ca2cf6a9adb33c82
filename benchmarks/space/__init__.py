"""What can be chosen: spaces of configurations."""

from benchmarks.space.base import Block, Configuration, ForeignConfiguration, Space
from benchmarks.space.features import Hashed
from benchmarks.space.flat import Condition, Coordinate, Flat
from benchmarks.space.grid import GridSpace
from benchmarks.space.hyperparameters import Categorical, Choice, Float, Hyperparameter, Integer, Ordinal
from benchmarks.space.parameters import ParameterSpace
from benchmarks.space.sequence import Walk

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

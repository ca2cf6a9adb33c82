"""What can be chosen: spaces of configurations."""

from benchmarks.space.base import Block, Configuration, ForeignConfiguration, Space
from benchmarks.space.grid import GridSpace
from benchmarks.space.hyperparameters import Categorical, Hyperparameter, Ordinal

__all__ = [
    "Block",
    "Categorical",
    "Configuration",
    "ForeignConfiguration",
    "GridSpace",
    "Hyperparameter",
    "Ordinal",
    "Space",
]

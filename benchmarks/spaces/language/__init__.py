"""The search-space language of DeepArchitect (Negrinho and Gordon, 2017; Negrinho et al., 2019)."""

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language._steps import Choices
from nasbench.benchmarks.spaces.language.choices import forbid, subset
from nasbench.benchmarks.spaces.language.combinators import (
    lstm_cell,
    mimo_or,
    rnn_cell,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_residual,
    siso_sequential,
    siso_split_combine,
    substitution,
)
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import Basic, D, Part, constant, integer, ordinal, real
from nasbench.benchmarks.spaces.language.program import Program

__all__ = [
    "Basic",
    "Choices",
    "D",
    "Part",
    "Program",
    "constant",
    "count",
    "forbid",
    "integer",
    "layers",
    "lstm_cell",
    "mimo_or",
    "ordinal",
    "real",
    "rnn_cell",
    "siso_optional",
    "siso_or",
    "siso_repeat",
    "siso_residual",
    "siso_sequential",
    "siso_split_combine",
    "subset",
    "substitution",
]

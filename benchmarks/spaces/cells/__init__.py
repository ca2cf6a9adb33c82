"""Networks of NAS-Bench-201 cells (ZO-DARTS++, section III): pruning, size, and PyTorch modules."""

from nasbench.benchmarks.spaces.cells.size import Size, parameters_paper, size
from nasbench.benchmarks.spaces.cells.stages import (
    Stage,
    Ties,
    choices_of,
    dead_stages,
    equal_stages,
    miniature_stages,
    pruned,
    stages_of,
    without_dead_edges,
)

__all__ = [
    "Size",
    "Stage",
    "Ties",
    "choices_of",
    "dead_stages",
    "equal_stages",
    "miniature_stages",
    "parameters_paper",
    "pruned",
    "size",
    "stages_of",
    "without_dead_edges",
]

"""NAS-Bench-Macro (Su et al., CVPR 2021): all 6,561 networks of eight layers on CIFAR-10, three trainings each."""

from __future__ import annotations

from pathlib import Path

from nasbench.benchmarks.families._family import Family, complete
from nasbench.benchmarks.spaces import Categorical
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.tabular.imported import TableData

_FILE = "nas-bench-macro_cifar10.json"
_LAYERS = 8
_OPERATIONS = ("identity", "mb3-conv3x3", "mb6-conv5x5")


def _tables(family: Family, folder: Path) -> list[TableData]:
    space = GridSpace([Categorical(f"layer_{k}", _OPERATIONS) for k in range(1, _LAYERS + 1)])
    return [complete(family, folder / _FILE, space, lambda digits: "".join(map(str, digits)), "test_acc")]


FAMILY = Family(
    name="nas-bench-macro",
    what="all 6,561 networks of 8 layers on CIFAR-10, 3 trainings each",
    repository="xiusu/NAS-Bench-Macro",
    commit="2e008c81227ef83836a934d7e045427c4e9fdeeb",
    path=_FILE,
    licence="no licence file at this commit: fetch it, do not pass it on",
    citation="NAS-Bench-Macro (Su et al., CVPR 2021)",
    files={_FILE: "686dee8363cc21cca8c1f321ad5749454f2d9b9ca5972682e137e539bc522297"},
    origins={_FILE: _FILE},
    tables=_tables,
)

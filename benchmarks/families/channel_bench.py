"""Channel-Bench-Macro (Su et al., 2021): all 16,384 widths of seven layers on CIFAR-10, three trainings each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nasbench.benchmarks.families._family import Family, complete
from nasbench.benchmarks.spaces import Ordinal
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.tabular.imported import TableData

_LAYERS = 7
_WIDTHS = (0.25, 0.5, 0.75, 1.0)  # of the channels; digits 1 to 4 of a code


def _tables(family: Family, folder: Path, *, file: str) -> list[TableData]:
    space = GridSpace([Ordinal(f"width_{k}", _WIDTHS) for k in range(1, _LAYERS + 1)])
    return [complete(family, folder / file, space, _code, "acc", search_space="channel-bench")]


def _code(digits: Sequence[int]) -> str:
    return "".join(str(k + 1) for k in digits)


def _family(network: str, digest: str) -> Family:
    file = f"Results_{network}.json"
    return Family(
        name=f"channel-bench-{network.lower()}",
        what=f"all 16,384 widths of 7 layers of a {network} on CIFAR-10, 3 trainings each",
        repository="xiusu/Channel-Bench-Macro",
        commit="36c678dc785a9a3e20b84340664a96cd0c8f2d04",
        path=file,
        licence="no licence file at this commit: fetch it, do not pass it on",
        citation="Channel-Bench-Macro (Su et al., 2021)",
        files={file: digest},
        origins={file: file},
        tables=partial(_tables, file=file),
    )


FAMILIES = (
    _family("ResNet", "bf13bcaea3f2076f2c1bfbf5c2fee044aafe0385fae6a0d64c433b1d7f5a7520"),
    _family("MobileNet", "f640474d8ff3ff2231d0c45986bb0f10af291545316342fb009952e7641908e0"),
)

"""HpBandSter: folders with results.json and configs.json, as its result logger writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count, listed
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import check_asked, files_below, near, numbers_of, values_of

_ROLES = ("method", "benchmark", "seed")


class HpBandSter(Reader):
    """A folder is a run; evaluations at a benchmark's highest budget count, and time passes during all.

    The files name no method, benchmark or seed: folders do (METHOD/BENCHMARK/SEED), or --column.
    """

    title = "folders of HpBandSter"

    def knows(self, path: Path) -> bool:
        return any((file.parent / "configs.json").is_file() for file in near(path, "results.json"))

    def read(self, path: Path, asked: Asked) -> Rows:
        check_asked(asked, ["trajectory"], _ROLES)
        folders = [file.parent for file in files_below(path, "results.json")]
        if not folders:
            raise UsageError("no folder in it has results.json")
        every = pd.concat([_run(folder, _marks(folder, path, asked)) for folder in folders], ignore_index=True)
        most = every.groupby("benchmark")["budget"].transform("max")
        kept = every[every["budget"] == most].copy()
        for (method, bench, seed), run in every.groupby([*_ROLES], sort=False):
            if not (run["budget"] == most[run.index]).any():
                raise UsageError(
                    f"{method} on {bench}, seed {seed}, has no evaluation at the highest budget there, "
                    f"{most[run.index[0]]:g}"
                )
        kept["evaluation"] = kept.groupby([*_ROLES], sort=False).cumcount() + 1
        notes = ["the value is loss", "an evaluation is one at the highest budget of its benchmark"]
        if lower := len(every) - len(kept):
            notes.append(f"{count(lower, 'evaluation')} at lower budgets left out, of which only the time counts")
        return Rows(kept.drop(columns="budget"), "loss", "trajectory", "minimise", "", "; ".join(notes))


def _marks(folder: Path, root: Path, asked: Asked) -> dict[str, str]:
    """Method, benchmark and seed of a run: what --column says, and the folders below `root` for the rest."""
    rest = [role for role in _ROLES if role not in asked.columns]
    parts = folder.relative_to(root).parts
    if len(parts) != len(rest):
        options = " ".join(f"--column {role}=…" for role in rest)
        raise UsageError(
            f"HpBandSter writes down no {listed(rest or list(_ROLES), 'or')}: give the folder above "
            f"{'/'.join(rest or _ROLES).upper()}/results.json" + (f", or say {options}" if rest else "")
        )
    return {**asked.columns, **dict(zip(rest, parts, strict=True))}


def _key(key: object) -> tuple[int, ...]:
    """The three numbers of a configuration. Raises ValueError for anything else."""
    if not isinstance(key, list) or len(key) != 3 or not all(isinstance(number, int) for number in key):
        raise ValueError("a configuration has three numbers")
    return tuple(key)


def _run(folder: Path, marks: dict[str, str]) -> pd.DataFrame:
    """Every evaluation of a run, in the order in which they finished. Raises UsageError for damaged files."""
    results = folder / "results.json"
    try:
        settings = {_key(key): setting for key, setting, *_ in values_of(folder / "configs.json")}
        rows = [
            {"budget": float(budget), "value": _loss(result), **_times(times), "configuration": settings[_key(key)]}
            for key, budget, times, result, _ in values_of(results)
        ]
    except (TypeError, ValueError, KeyError):
        raise UsageError(f"{results} or configs.json is damaged, or of another tool: a row is none of a run") from None
    if not rows:
        raise UsageError(f"{results} has no evaluations")
    frame = pd.DataFrame(rows).sort_values("seconds", kind="stable")
    frame["seconds"] -= frame.pop("submitted").min()
    return frame.assign(value=numbers_of(frame["value"], "loss"), **marks)


def _loss(result: dict[str, Any] | None) -> float | None:
    """The loss; none of an evaluation that failed."""
    return None if result is None else result["loss"]


def _times(times: dict[str, float]) -> dict[str, float]:
    return {"submitted": float(times["submitted"]), "seconds": float(times["finished"])}


READERS.add("hpbandster", HpBandSter())

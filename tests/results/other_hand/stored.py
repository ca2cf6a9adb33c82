"""What each run of a store is worth at the end of its budget, read from the Parquet files with pyarrow alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import parquet

Rows = list[dict[str, Any]]
UNREAD = ("worker", "started", "thinking", "status", "reason", "trial", "cost", "spent", "run")
COURSE = ("incumbent", "hidden", "hidden_feasible", "feasible")


class Place(NamedTuple):
    """Where a run was made: its setting (benchmark and constraint), and what that is nested in."""

    space: str
    family: str
    bench: str
    constraint: str


@dataclass(frozen=True)
class Read:
    """Every run of a store.

    Attributes:
        rows: The rows of each run, by place, method and seed.
        cells: What the metadata of a file say of its runs, by place and method.
    """

    rows: dict[tuple[Place, str, int], Rows]
    cells: dict[tuple[Place, str], dict[str, Any]]

    @cached_property
    def seeds(self) -> dict[tuple[Place, str], set[int]]:
        """The seeds of each method in each setting."""
        found: dict[tuple[Place, str], set[int]] = {}
        for place, method, seed in self.rows:
            found.setdefault((place, method), set()).add(seed)
        return found

    @cached_property
    def courses(self) -> dict[tuple[Place, str, int], int]:
        """What a run saw, as a number: its incumbent after every evaluation; 0 where nothing was ever feasible."""
        return {
            key: hash(repr([[row[name] for name in COURSE] for row in rows])) if incumbent(rows) is not None else 0
            for key, rows in self.rows.items()
        }

    @property
    def methods(self) -> list[str]:
        return sorted({method for _, method in self.cells})

    @property
    def places(self) -> list[Place]:
        return sorted({place for place, _ in self.cells})

    def worth(self, score: str) -> dict[tuple[Place, str, int], float]:
        """The score of each run's last incumbent: NaN where nothing was found."""
        return {
            key: worth(rows, score, self.cells[key[:2]]["setting"]["highest"], self.cells[key[:2]]["seconds"])
            for key, rows in self.rows.items()
        }


def read(folder: Path) -> Read:
    rows: dict[tuple[Place, str, int], Rows] = {}
    cells: dict[tuple[Place, str], dict[str, Any]] = {}
    for path in sorted(folder.glob("*.parquet")):
        if path.name == "0-schema.parquet":
            continue
        table = parquet.read_table(path)
        cell = json.loads(table.schema.metadata[b"nasbench"])["setup"]
        table = table.drop_columns([name for name in UNREAD if name in table.column_names])
        setting = cell["setting"]
        for row in table.to_pylist():
            place = Place(setting["space"] or setting["family"], setting["family"], row["bench"], row["constraint"])
            cells[place, row["method"]] = cell
            rows.setdefault((place, row["method"], row["seed"]), []).append(row)
    for run in rows.values():
        run.sort(key=lambda row: row["evaluation"])
    return Read(rows, cells)


def incumbent(rows: Rows) -> int | None:
    """Index of the best feasible row at the highest level that any has reached; the first of equals."""
    feasible = [i for i, row in enumerate(rows) if row["feasible"]]
    return min(feasible, key=lambda i: (-rows[i]["level"], rows[i]["objective"], i), default=None)


def worth(rows: Rows, score: str, highest: int, seconds: float | None) -> float:
    """The score of the incumbent by docs/store.md and docs/notebook/multi-fidelity.md, NaN where nothing was found."""
    rows = [row for row in rows if seconds is None or row["finished"] <= seconds]
    at = incumbent(rows)
    if at is None:
        return math.nan
    best, last = rows[at], rows[-1]
    if score == "hidden" and last["hidden_feasible"] is not None:
        return last["hidden"] if last["hidden_feasible"] else math.nan
    if score != "observed" and not math.isnan(best["score"]):
        return best["score"] if best["score_feasible"] is not False else math.nan
    return best["objective"] if best["level"] == highest else math.nan

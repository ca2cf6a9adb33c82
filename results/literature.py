"""Claims and numbers of papers about methods. A report gets them in its request, because it knows no method itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Paper: TypeAlias = Mapping[str, Any]
"""The numbers of a paper: `source` and `note` as text, and one of the following.

rows: wins, losses and ties of its `baseline`, for the settings of each row (`published.beside`).
scores: scores by method and benchmark (`published.scores`), with their names in `methods` and `benchmarks`.
accuracy, parameters, seconds: results of searches (`searches.tables`, `levels`).
"""


@dataclass(frozen=True)
class Claim:
    """A paper's claim that a method is better than others."""

    paper: str
    claim: str
    """The claim as a sentence without its full stop."""
    better: str
    """Name of the method."""
    worse: tuple[str, ...]
    """Names of the other methods."""
    constrained: bool | None
    """Whether the claim is about runs with constraints, or without; None for both."""
    foils: tuple[str, ...] = ()
    """Options that turn the method into an ablation, which the claim does not mean."""
    workers: int = 1
    """Least number of workers of the runs that the claim is about."""


@dataclass(frozen=True)
class Literature:
    """The papers with which a report compares its runs."""

    claims: tuple[Claim, ...] = ()
    papers: tuple[Paper, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Literature:
        """Reads a folder: `claims.json` has the claims, and every other JSON file is a paper."""
        contents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        claims = (
            Claim(**facts | {"worse": tuple(facts["worse"]), "foils": tuple(facts.get("foils", ()))})
            for facts in contents.pop("claims.json", [])
        )
        return cls(tuple(claims), tuple(contents.values()))


NOTHING = Literature()

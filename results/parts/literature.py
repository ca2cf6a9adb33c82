"""What papers claim of methods and print of them; a report gets it with its request, for it knows no method."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Paper: TypeAlias = Mapping[str, Any]
"""Numbers that a paper prints: `source` and `note` for people, and one of these.

rows: wins, losses and ties of its `baseline`, for the settings of each row (`published.beside`).
scores: by method and benchmark (`published.scores`), which are called `methods` and `benchmarks` there.
accuracy, parameters, seconds: of what searches led to (`searches.tables`, `levels`).
"""


@dataclass(frozen=True)
class Claim:
    """A paper says that a method is better than others."""

    paper: str
    claim: str
    """In a sentence without its full stop."""
    better: str
    """Name of the method."""
    worse: tuple[str, ...]
    """Names of the others."""
    constrained: bool | None
    """Whether it is about runs under constraints, or without; None for both."""
    foils: tuple[str, ...] = ()
    """Options that make a foil of the method, which learns nothing."""
    workers: int = 1
    """The fewest workers of the runs that it is about."""


@dataclass(frozen=True)
class Literature:
    """The papers that a report sets its runs against."""

    claims: tuple[Claim, ...] = ()
    papers: tuple[Paper, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Literature:
        """Reads a folder: `claims.json` has the claims, every other JSON file is a paper."""
        contents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        claims = (
            Claim(**facts | {"worse": tuple(facts["worse"]), "foils": tuple(facts.get("foils", ()))})
            for facts in contents.pop("claims.json", [])
        )
        return cls(tuple(claims), tuple(contents.values()))


NOTHING = Literature()

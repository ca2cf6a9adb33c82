"""What a report says: which method is first, which pairs differ, and where that holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nasbench.base.numbers import count
from nasbench.results.display.table import Table
from nasbench.results.subject import Subject
from nasbench.results.verdict import citation, pairs, ranks, scopes
from nasbench.results.verdict.headline import headline
from nasbench.results.verdict.limits import limits


@dataclass(frozen=True)
class Verdict:
    """The facts that a terminal, the page, LaTeX and JSON all show."""

    headline: str
    """Who is first, in a few sentences."""
    compared: str
    """What is compared, at which budget, and on how much."""
    ranks: Table | None
    """Which method is first? None for a single method."""
    pairs: Table | None
    """Which pairs differ? None where the baseline shares no setting with another method."""
    scopes: Table | None
    """Where does that hold? None where all settings are of one kind."""
    limits: Sequence[str]
    warnings: Sequence[str]
    """One sentence each, without its full stop."""
    protocol: str
    """What a paper should say of the runs and the tests."""
    bibtex: str
    version: str
    """Version and commits of nasbench that made the runs."""

    @property
    def tables(self) -> Iterator[Table]:
        """Its tables, in the order of the questions."""
        return (table for table in (self.ranks, self.pairs, self.scopes) if table is not None)

    def as_json(self) -> str:
        """The same as JSON: texts, and each table's rows in full precision by column; null where nothing is known."""
        texts = {name: getattr(self, name) for name in ("headline", "compared", "protocol", "version", "bibtex")}
        lists: dict[str, Any] = {"limits": [*self.limits], "warnings": [f"{text}." for text in self.warnings]}
        questions = {"ranks": self.ranks, "pairs": self.pairs, "scopes": self.scopes}
        rows = {name: None if table is None else _rows(table) for name, table in questions.items()}
        return json.dumps(texts | rows | lists, indent=1, ensure_ascii=False) + "\n"


def _rows(table: Table) -> Any:
    return json.loads(table.data.to_json(orient="records", double_precision=15))


def verdict(subject: Subject, warnings: Sequence[str] = (), names_baseline: bool = False) -> Verdict:
    """The verdict on a subject.

    Args:
        names_baseline: whether the headline tells of a baseline that is not first.
    """
    comparison = subject.comparison
    is_one = len(comparison.methods) < 2
    return Verdict(
        " ".join([*subject.failed, headline(comparison, names_baseline)]),
        _compared(subject),
        None if is_one else ranks.table(comparison),
        pairs.table(comparison),
        scopes.table(comparison),
        limits(comparison),
        warnings,
        f"{citation.protocol(subject)} {citation.tests(subject)}",
        citation.bibtex(subject),
        citation.version(subject),
    )


def _compared(subject: Subject) -> str:
    """The second line of a report: the compared quantity, its unit and its direction; budget, seeds and settings."""
    curves = subject.curves
    units = list(curves.settings["unit"].unique())
    is_known = curves.compared.is_of_objective and not curves.has_several_objectives and len(units) == 1
    unit = f" [{units[0]}]" if is_known and units[0] else ""
    unit += citation.not_hidden(curves)
    names = list(curves.settings["objective"].unique())
    what = f" ({names[0]})" if len(names) == 1 and is_known else ""
    return (
        f"Compared: {curves.compared.phrase}{what}{unit}, lower is better; {count(len(curves.runs), 'run')} of "
        f"{curves.protocol}, {count(curves.seeds, 'seed')}; {count(len(curves.settings), 'setting')} of "
        f"{count(curves.spaces, 'search space')}."
    )

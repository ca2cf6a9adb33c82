"""The runs of a report as data of a page, so that a reader can go from a method to single evaluations, offline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nasbench.base.numbers import with_unit
from nasbench.results.curves import Array
from nasbench.results.display.look import Look
from nasbench.results.store import Store
from nasbench.results.store.archive import ArchivedFragment
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.trajectory import incumbent_steps

LIMIT = 20_000_000
"""Bytes of evaluations that a page holds at most; of larger stores it holds names only."""
_LEAST = 20  # bytes per evaluation, at least
_COLUMNS = ["configuration", "objective", "feasible", "incumbent", "finished"]


_STYLE = """\
.run-line { fill: none; stroke-width: 2; }
.run-line.other { stroke-width: 1; opacity: .35; }
.dot { opacity: .7; }
.dot.infeasible { fill: none !important; }
"""


def style(looks: Sequence[Look]) -> str:
    """The style rules of the chart of a method's runs; a saved chart takes them along."""
    return _STYLE + "".join(
        f".m{i} .run-line, .m{i} .dot {{ stroke: {look.colour}; }} .m{i} .dot {{ fill: {look.colour}; }}\n"
        for i, look in enumerate(looks)
    )


def as_json(fragments: Sequence[tuple[Store, Fragment]], numbers: Mapping[str, int], names: Sequence[str]) -> str:
    """The setups and their seeds as JSON for a script element; with all evaluations if these fit in `LIMIT` bytes.

    Empty if all runs are from archives, which keep no evaluations.

    Args:
        numbers: the number of each method by its name with options.
        names: the methods for display, by number.
    """
    fragments = [
        (store, f) for store, f in fragments if f.setup.method in numbers and not isinstance(f, ArchivedFragment)
    ]
    if not fragments:
        return ""
    return with_evaluations(fragments, numbers, names) or _compact(_facts(fragments, numbers, names))


def with_evaluations(
    fragments: Sequence[tuple[Store, Fragment]], numbers: Mapping[str, int], names: Sequence[str]
) -> str:
    """The same with all evaluations; empty if they do not fit in `LIMIT` bytes."""
    if sum(run.rows for _, f in fragments for run in f.runs) * _LEAST > LIMIT:
        return ""
    spaces: dict[str, _Configurations] = {}
    facts = _facts(fragments, numbers, names)
    for entry, (_, f) in zip(facts["setups"], fragments, strict=True):
        entry.update(_rows(f, spaces.setdefault(f.setup.bench, _Configurations())))
    text = _compact(facts | {"spaces": {bench: known.facts for bench, known in spaces.items()}})
    return text if len(text) <= LIMIT else ""


def _facts(
    fragments: Sequence[tuple[Store, Fragment]], numbers: Mapping[str, int], names: Sequence[str]
) -> dict[str, Any]:
    entries = [_entry(store, f, numbers[f.setup.method]) for store, f in fragments]
    return {"methods": list(names), "setups": entries, "spaces": {}}


class _Configurations:
    """The configurations of a benchmark: each a list of numbers of items, which are pairs of a name and a value."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {}
        self._items: dict[str, int] = {}
        self._rows: list[list[int]] = []

    def number(self, text: str | None) -> int:
        """The number of a configuration, by its JSON."""
        if text not in self._numbers:
            self._numbers[text] = len(self._rows)
            value = json.loads(text or "null")
            pairs = value.items() if isinstance(value, dict) else [("configuration", value)]
            items = [_item(*pair) for pair in pairs]
            self._rows.append([self._items.setdefault(item, len(self._items)) for item in items])
        return self._numbers[text]

    @property
    def facts(self) -> dict[str, Any]:
        """All items and configurations, by their numbers; an item is the JSON of its pair."""
        return {"items": list(self._items), "configurations": self._rows}


def _entry(store: Store, fragment: Fragment, method: int) -> dict[str, Any]:
    setup = fragment.setup
    objective = with_unit(setup.setting.objective, setup.setting.unit)
    return {
        "store": str(store.folder),
        "method": method,
        "spec": setup.method,
        "bench": setup.bench,
        "constraint": setup.constraint,
        "objective": setup.objectives[0] if setup.objectives else objective,
        "several": bool(setup.objectives),
        "seeds": [run.seed for run in fragment.runs],
    }


def _rows(fragment: Fragment, known: _Configurations) -> dict[str, Any]:
    """The evaluations of all runs of a fragment, one after the other; its configurations are added to those known."""
    has_levels = fragment.setup.setting.highest > 1
    try:
        table = fragment.table([*_COLUMNS, *(["level"] if has_levels else [])])
    except Torn:
        return {}  # the report has said so
    spans = [span for _, span in fragment.spans()]
    table = pa.concat_tables([table[span] for span in spans]) if spans else table
    encoded = table["configuration"].combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode(null_encoding="encode")
    places = np.array([known.number(text) for text in encoded.dictionary.to_pylist()], np.int64)
    objective, feasible, incumbent, finished = (table[name].to_numpy() for name in _COLUMNS[1:])
    lengths = [span.stop - span.start for span in spans]
    if fragment.setup.objectives:  # the share of the hypervolume is no value of an objective
        incumbent = np.full(len(incumbent), np.nan)
    level = table["level"].to_numpy() if has_levels else np.ones(len(table), np.int64)
    is_new, _ = incumbent_steps(incumbent, feasible, level, lengths)
    return {
        "rows": lengths,
        "y": _rounded(objective),
        "ok": "".join("1" if good else "0" for good in feasible.tolist()),
        "t": _rounded(finished, 4),
        "c": places[encoded.indices.to_numpy()].tolist() if len(encoded) else [],
        "steps": np.flatnonzero(is_new).tolist(),
    } | ({"level": level.tolist()} if has_levels else {})


def _rounded(values: Array, digits: int = 6) -> list[float | None]:
    """Values with some significant digits; None for what is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values))))
        rounded = np.where(values == 0, 0.0, np.round(values * scale) / scale)
    plain = rounded.astype(object)
    plain[~np.isfinite(rounded)] = None
    listed: list[float | None] = plain.tolist()
    return listed


def _item(name: str, value: object) -> str:
    """The JSON of a pair; of a value that JSON does not have, such as a number that is not finite, its text."""
    try:
        return _compact((name, value))
    except ValueError:
        return _compact((name, str(value)))


def _compact(facts: object) -> str:
    return json.dumps(facts, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")

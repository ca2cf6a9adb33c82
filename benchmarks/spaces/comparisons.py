"""Comparisons with values of hyper-parameters: conditions and forbidden clauses of ConfigSpace's JSON."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from nasbench.base.errors import UsageError, unknown
from nasbench.benchmarks.spaces._conditions import JOINED, Facts

_MOST_COMPARISONS = 50_000  # in all forbidden clauses, and ANDs; a sample then takes half a second
_ORDERED = ("LT", "LE", "GT", "GE")
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq,
    "EQUALS": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "GT": operator.gt,
    "LE": operator.le,
    "GE": operator.ge,
}
_COMPARED = ("IN", *_COMPARISONS)
_OLD_RELATIONS = {"LESS": "RELATION_LT", "EQUALS": "RELATION_EQ", "GREATER": "RELATION_GT"}
"""`lambda` of ConfigSpace 0.6 and 0.7 → the type that 1.0 and later write."""


class Domain:
    """What comparisons need to know of the values of a hyper-parameter."""

    def __init__(self, h: Facts) -> None:
        self.name, self.is_ordinal, self._is_range = h["name"], h["type"] == "ordinal", "lower" in h
        key = {"categorical": "choices", "ordinal": "sequence", "constant": "value"}.get(h["type"], "lower")
        values = h[key] if key in ("choices", "sequence") else [h[key]]
        self.examples: dict[type, Any] = {}
        """A value of each type."""
        self.places: dict[Any, int] = {}
        """Each value → its place in the sequence. No list or object is a value."""
        for place, value in enumerate(values):
            self.examples.setdefault(type(value), value)
            if isinstance(value, Hashable):
                self.places.setdefault(value, place)

    def has(self, values: object) -> bool:
        """Whether the hyper-parameter can have each value of a list."""
        if not isinstance(values, list):
            return False
        if self._is_range:
            return all(type(value) in (int, float) for value in values)
        return all(isinstance(value, Hashable) and value in self.places for value in values)


def prepared(condition: Facts, domains: Mapping[str, Domain]) -> Facts:
    """A condition, or a clause about one hyper-parameter, as `holds` takes it. Raises UsageError if it cannot hold."""
    if condition["type"] in JOINED:
        return {**condition, "conditions": [prepared(part, domains) for part in condition["conditions"]]}
    return _with_values(condition, domains[condition["parent"]])


def _with_values(facts: Facts, h: Domain) -> Facts:
    """A comparison with values that the hyper-parameter can have: a set of them for IN, their places in its sequence
    for the order of an ordinal one."""
    kind = facts["type"]
    needed = "values" if kind == "IN" else "value"
    if needed not in facts:
        whose = f"a condition of {facts['child']}" if "child" in facts else f"a forbidden clause about {h.name}"
        raise UsageError(f"{whose} has no {needed}")
    is_by_size = kind in _ORDERED and not h.is_ordinal
    if not is_by_size and not h.has(facts[needed] if kind == "IN" else [facts[needed]]):
        whose = f"{facts['child']} depends on" if "child" in facts else "a forbidden clause has"
        raise UsageError(f"{whose} {facts[needed]!r}, no value of {h.name}")
    if kind == "IN":
        return {**facts, "values": frozenset(facts["values"])}
    if is_by_size:
        _check_order(kind, h.examples.values(), [facts["value"]])
    return {**facts, "places": h.places if kind in _ORDERED and h.is_ordinal else None}


def _check_order(kind: str, left: Iterable[Any], right: Iterable[Any]) -> None:
    """Raises UsageError for values that a comparison cannot order: numbers beside texts, or anything else."""
    values = [*left, *right]
    if kind in _ORDERED and not any(all(isinstance(v, sort) for v in values) for sort in (str, int | float)):
        raise UsageError(
            f"{kind} compares {values[0]!r} with {values[-1]!r}: only numbers, or only texts, have an order"
        )


def alternatives(clauses: Sequence[Facts], domains: Mapping[str, Domain]) -> list[Facts]:
    """Forbidden clauses without OR: each of them forbids by itself, whatever else is inactive.

    Raises UsageError if they make too many comparisons.
    """
    if sum(_size(clause)[1] for clause in clauses) > _MOST_COMPARISONS:
        raise UsageError(
            f"the forbidden clauses make more than {_MOST_COMPARISONS:,} comparisons with each OR written out, as in "
            "AND(a, b) and AND(a, c) for AND(a, OR(b, c)): forbid less"
        )
    return [one for clause in clauses for one in _alternatives(clause, domains)]


def _size(clause: Facts) -> tuple[int, int]:
    """How many clauses a forbidden clause becomes with each OR written out (at least 1), and their parts in all."""
    if clause["type"] not in JOINED:
        return 1, 1
    sizes = [_size(part) for part in clause["clauses"]]
    if clause["type"] == "OR":
        return max(1, sum(ways for ways, _ in sizes)), sum(parts for _, parts in sizes)
    total = prod(ways for ways, _ in sizes)
    return total, total + sum(parts * total // ways for ways, parts in sizes)


def _alternatives(clause: Facts, domains: Mapping[str, Domain]) -> list[Facts]:
    if clause["type"] == "OR":
        return [one for part in clause["clauses"] for one in _alternatives(part, domains)]
    if clause["type"] == "AND":
        parts = [_alternatives(part, domains) for part in clause["clauses"]]
        return [{"type": "AND", "clauses": list(chosen)} for chosen in product(*parts)]
    if clause["type"] == "RELATION":
        return _alternatives({**clause, "type": _relation(clause["lambda"])}, domains)
    kind = _plain(clause["type"])
    if kind not in _COMPARED:
        raise unknown("kind of forbidden clause", clause["type"], [*JOINED, *_COMPARED])
    if clause["type"].startswith("RELATION"):
        _check_order(kind, *(domains[clause[side]].examples.values() for side in ("left", "right")))
        return [clause]
    return [_with_values({**clause, "type": kind}, domains[clause["name"]])]


def _relation(name: str) -> str:
    """The type of a relation that ConfigSpace 0.6 or 0.7 has written as type RELATION with a lambda."""
    kind = _OLD_RELATIONS.get(name, f"RELATION_{name}")
    if _plain(kind) not in _COMPARISONS:
        raise unknown("lambda of a RELATION (as ConfigSpace 0.6 and 0.7 write it):", str(name), _OLD_RELATIONS)
    return kind


def holds(condition: Facts, given: Mapping[str, Any]) -> bool:
    """Whether a condition holds, given the values of its parents, None for an inactive parent."""
    kind = condition["type"]
    if kind in JOINED:
        return (all if kind == "AND" else any)(holds(part, given) for part in condition["conditions"])
    x = given[condition["parent"]]
    return kind == "NEQ" if x is None else _compared(kind, x, condition)


def _compared(kind: str, x: Any, facts: Facts) -> bool:
    if kind == "IN":
        return x in facts["values"]
    if kind not in _COMPARISONS:
        raise unknown("kind of condition", kind, [*JOINED, *_COMPARED])
    y, places = facts["value"], facts["places"]
    return bool(_COMPARISONS[kind](x, y) if places is None else _COMPARISONS[kind](places[x], places[y]))


def _plain(kind: str) -> str:
    """A kind of clause without what ConfigSpace 1.2 writes before it: CLAUSE_GT, RELATION_LE."""
    return kind.removeprefix("CLAUSE_").removeprefix("RELATION_")


def about(clause: Facts) -> list[str]:
    """The hyper-parameters of a forbidden clause."""
    if clause["type"] == "AND":
        return list(dict.fromkeys(name for part in clause["clauses"] for name in about(part)))
    return [clause["left"], clause["right"]] if clause["type"].startswith("RELATION") else [clause["name"]]


def forbids(clause: Facts, values: Mapping[str, Any]) -> bool:
    """Whether a clause without OR forbids values of its hyper-parameters."""
    kind = clause["type"]
    if kind == "AND":
        return all(forbids(part, values) for part in clause["clauses"])
    if kind.startswith("RELATION"):
        return _compared(_plain(kind), values[clause["left"]], {"value": values[clause["right"]], "places": None})
    return _compared(kind, values[clause["name"]], clause)

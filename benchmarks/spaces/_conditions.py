"""Where hyper-parameters with conditions, of ConfigSpace's JSON, are placed: below which of the others."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

Facts: TypeAlias = Mapping[str, Any]
"""An object of the JSON."""
JOINED = ("AND", "OR")


def parents_of(condition: Facts) -> list[str]:
    """The hyper-parameters that a condition is about."""
    if condition["type"] in JOINED:
        return list(dict.fromkeys(parent for part in condition["conditions"] for parent in parents_of(part)))
    return [condition["parent"]]


def all_ancestors(parents: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """For each hyper-parameter all that decide whether it is active, parents before children."""
    ancestors: dict[str, list[str]] = {}
    for name in TopologicalSorter(parents).static_order():
        ancestors[name] = list(dict.fromkeys(other for p in parents[name] for other in [*ancestors[p], p]))
    return ancestors


def all_owners(parents: Mapping[str, list[str]], conditions: Mapping[str, list[Facts]]) -> dict[str, str | None]:
    """For each hyper-parameter the parent below which it is placed: wherever it is active, all other parents are, too.

    None if there is no such parent, or if the hyper-parameter may be active without a parent.
    """
    owners: dict[str, str | None] = {}
    above: dict[str, set[str]] = {}  # what is active wherever a hyper-parameter is
    for name in TopologicalSorter(parents).static_order():
        mine, dispensable = parents[name], {p for condition in conditions[name] for p in _dispensable(condition)}
        candidates = [] if any(parents[p] for p in dispensable) else mine
        owners[name] = next((p for p in candidates if all(o in above[p] or not parents[o] for o in mine)), None)
        above[name] = {name}.union(*(above[p] for p in mine if owners[name] is not None))
    return owners


def _dispensable(condition: Facts) -> list[str]:
    """The parents that may be inactive while a condition holds."""
    parents = parents_of(condition)
    if condition["type"] == "NEQ" or (condition["type"] == "OR" and len(parents) > 1):
        return parents
    return [parent for part in condition.get("conditions", ()) for parent in _dispensable(part)]

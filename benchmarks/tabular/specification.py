"""The specification (TOML) of a table of the user's own: which keys it may have, and what they must be."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nasbench.benchmarks.base import BENCHMARKS, Status
from nasbench.benchmarks.metrics import Metric, sounds_held_out
from nasbench.benchmarks.spaces import textfile
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.benchmarks.tabular.imported import NAME

MISSING: dict[str, Status] = {"invalid": "failed", "infeasible": "infeasible"}
"""What `missing` may say, and how the evaluation of a configuration without a value then ends."""
PLACE = "{epoch}"
"""Stands for the epoch in the name of a column, where there is a column per epoch."""
METRIC_NAME = r"[A-Za-z][\w.-]*(@\d+)?"
"""Pattern of the names that a metric of a user's file may have."""

_TOP = {
    "name": str,
    "family": str,
    "source": str,
    "licence": str,
    "cost": (str, int, float),
    "repetition": str,
    "epoch": str,
    "missing": str,
    "space": str,
    "extract": dict,
    "hyperparameter": list,
    "metric": list,
}
_HYPERPARAMETER = {"name": str, "column": str, "kind": str, "values": list, "log": bool}
_METRIC = {
    "name": str,
    "column": str,
    "unit": str,
    "direction": str,
    "description": str,
    "split": str,
    "epoch": int,
    "cheap": bool,
    "curve": bool,
    "complement_of": (int, float),
    "missing_value": (int, float),
}


def read_specification(spec: Path) -> dict[str, Any]:
    """The keys and values of a specification. Raises UsageError, naming the key that is unknown, missing or wrong."""
    try:
        facts = textfile.parse_toml(spec, textfile.read(spec))
    except OSError as error:
        raise UsageError(f"cannot read the specification {spec}: {error.strerror}") from None
    _check(facts, _TOP, ("name", "cost", "hyperparameter", "metric"), str(spec))
    for section, keys, needed in (
        ("hyperparameter", _HYPERPARAMETER, ("name", "kind")),
        ("metric", _METRIC, ("name",)),
    ):
        if not facts[section] or not all(isinstance(entry, dict) for entry in facts[section]):
            raise UsageError(f"{spec} needs one or more [[{section}]] sections")
        for number, entry in enumerate(facts[section], 1):
            _check(entry, keys, needed, f"{spec}, [[{section}]] number {number}")
    name = facts["name"]
    if not re.fullmatch(NAME, name):
        raise UsageError(
            f"name = {name[:70]!r} in {spec} must be a letter, then up to 59 letters, digits, +, _ or -, all lower-case"
        )
    if BENCHMARKS.is_taken(name):
        raise UsageError(f"name = {name!r} in {spec} is that of another benchmark: give the table a name of its own")
    if facts.get("missing", "invalid") not in MISSING:
        raise UsageError(f"missing = {facts['missing']!r} in {spec} is not understood; allowed: {', '.join(MISSING)}")
    return facts


def columns_of(facts: dict[str, Any]) -> dict[str, str]:
    """The file's columns that are needed, and what for; those an `extract` pattern makes are not the file's.

    A name with `{epoch}` in it stands for several columns.
    """
    wanted = {}
    made: set[str] = set()
    for column, pattern in facts.get("extract", {}).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what a pattern will mean in a later Python
                made |= set(re.compile(pattern).groupindex)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise UsageError(f"the pattern that extracts from {column} is not a regular expression: {error}") from None
        wanted[column] = "extract"
    for section in ("hyperparameter", "metric"):
        for entry in facts[section]:
            column = entry.get("column", entry["name"])
            if column not in made:
                wanted[column] = f"{section} {entry['name']}"
    for key in ("repetition", "epoch"):
        if key in facts:
            wanted[facts[key]] = key
    return wanted


def texts_of(facts: dict[str, Any]) -> set[str]:
    """The columns of hyper-parameters whose values the specification gives as texts."""
    return {
        h.get("column", h["name"])
        for h in facts["hyperparameter"]
        if h.get("values") and all(isinstance(value, str) for value in h["values"])
    }


def metric_of(facts: dict[str, Any], spec: Path) -> Metric:
    """The metric that a section describes. Raises UsageError if its name, split and epoch do not fit together."""
    name, split, epoch = facts["name"], facts.get("split"), facts.get("epoch")
    if not re.fullmatch(METRIC_NAME, name):
        raise UsageError(
            f"metric name {name!r} of {spec} must be a letter, then letters, digits, _, . or -, and may end in @epoch"
        )
    if split is None and (epoch is not None or sounds_held_out(name) or sounds_held_out(facts.get("column", ""))):
        raise UsageError(
            f'metric {name} of {spec} is measured on data: its split must say on which (split = "valid"); one whose '
            "name contains test or holdout is reported, and never selected on"
        )
    if split is not None and not name.startswith(f"{split}-"):
        raise UsageError(f"metric {name} of {spec} is measured on {split}: its name must begin with {split}-")
    if epoch is not None and not name.endswith(f"@{epoch}"):
        raise UsageError(f"metric {name} of {spec} is measured at epoch {epoch}: its name must end in @{epoch}")
    direction = facts.get("direction", "minimise")
    if direction not in ("minimise", "maximise"):
        raise UsageError(f"direction = {direction!r} of {name} in {spec} is unknown; allowed: minimise, maximise")
    return Metric(
        name,
        facts.get("unit", ""),
        direction == "minimise",
        facts.get("description", ""),
        split,
        epoch,
        facts.get("cheap", False),
    )


def _check(facts: dict[str, Any], keys: dict[str, Any], needed: Iterable[str], where: str) -> None:
    for key, value in facts.items():
        if key not in keys:
            raise unknown(f"key in {where}:", key, keys)
        if not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
            raise UsageError(f"{key} in {where} has the wrong type: {value!r}")
        if isinstance(value, str) and not value.isprintable():
            raise UsageError(f"{key} in {where} must be one line of printable text, not {value!r}")
    for key in needed:
        if key not in facts:
            raise UsageError(f"{where} lacks the key {key!r}; allowed: {', '.join(keys)}")

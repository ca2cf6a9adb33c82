"""Specifications (TOML) of the user's tables: the possible keys and their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nasbench.base import textfile
from nasbench.base.errors import Problems, UsageError, unknown, unprintable
from nasbench.base.metrics import Metric, sounds_like_test
from nasbench.benchmarks.contract import BENCHMARKS, Status
from nasbench.benchmarks.tabular.extract import groups_of
from nasbench.benchmarks.tabular.imported import NAME

MISSING: dict[str, Status] = {"invalid": "failed", "infeasible": "infeasible"}
"""Values of `missing` → status of an evaluation of a configuration without a value."""
PLACE = "{epoch}"
"""Placeholder for the epoch in the name of a column, if there is one column per epoch."""
METRIC_NAME = r"[A-Za-z][\w.-]*(@\d+)?"
"""Pattern of the names of metrics in a user's file."""

_DIRECTION = "(?:min|max)imi[sz]e"
"""Pattern of the directions, in British and American spelling."""
_TOP = {
    "name": str,
    "family": str,
    "search_space": str,
    "source": str,
    "licence": str,
    "cost": (str, int, float),
    "repetition": str,
    "epoch": str,
    "first_epoch": int,
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


def read_specification(spec: Path, problems: Problems) -> dict[str, Any]:
    """The valid keys and values of a specification.

    A section that lacks a required key is left out. If that section is a metric, all metrics are left out, because the
    first of them is the objective.

    Args:
        spec: the file.
        problems: collects the errors: keys that are unknown, missing or of the wrong type.

    Raises UsageError if the file cannot be read or is not TOML.
    """
    try:
        written = textfile.parse_toml(spec, textfile.read(spec))
    except OSError as error:
        raise UsageError(f"cannot read the specification {spec}: {error.strerror}") from None
    facts = _right(written, _TOP, ("name", "cost", "hyperparameter", "metric"), str(spec), problems)
    for section, keys, needed in (
        ("hyperparameter", _HYPERPARAMETER, ("name", "kind")),
        ("metric", _METRIC, ("name",)),
    ):
        entries = facts.get(section, [])
        if section in facts and (not entries or not all(isinstance(entry, dict) for entry in entries)):
            problems.note(f"{spec} needs one or more [[{section}]] sections")
            entries = []
        places = [f"{spec}, [[{section}]] number {number}" for number in range(1, len(entries) + 1)]
        right = [_right(entry, keys, needed, place, problems) for entry, place in zip(entries, places, strict=True)]
        facts[section] = [entry for entry in right if set(needed) <= entry.keys()]
        if section == "metric" and len(facts[section]) < len(entries):
            facts[section] = []
    with problems.collecting():
        _check_name(facts.get("name"), spec)
    with problems.collecting():
        _check_metrics(facts, spec)
    if facts.get("missing", "invalid") not in MISSING:
        problems.note(f"missing = {facts['missing']!r} in {spec} is not understood; allowed: {', '.join(MISSING)}")
    if facts.get("first_epoch", 1) not in (0, 1):
        problems.note(f"first_epoch = {facts['first_epoch']} in {spec} is not understood; allowed: 0, 1")
    return facts


def _check_name(name: object, spec: Path) -> None:
    if isinstance(name, str) and not re.fullmatch(NAME, name):
        raise UsageError(
            f"name = {name[:70]!r} in {spec} must be a letter, then up to 59 letters, digits, +, _ or -, all lower-case"
        )
    if isinstance(name, str) and BENCHMARKS.is_taken(name):
        raise UsageError(f"name = {name!r} in {spec} is the name of another benchmark: choose another name")


def _check_metrics(facts: dict[str, Any], spec: Path) -> None:
    names = [entry["name"] for entry in facts["metric"]]
    if len(set(names)) < len(names):
        raise UsageError(f"{spec} gives two metrics the same name: {', '.join(names)}")
    if names and isinstance(facts.get("cost"), str) and facts["cost"] not in names:
        raise unknown(f"metric as the cost in {spec}", facts["cost"], names)
    if "cost" in names and not isinstance(facts.get("cost", ""), str):
        raise UsageError(f'{spec} has a metric called cost: cost = "cost" takes it, or give it another name')


def columns_of(facts: dict[str, Any]) -> dict[str, str]:
    """The columns of the file that are needed → their purposes; without those that `extract` patterns make.

    Raises UsageError for an invalid pattern, or for a column that is a hyper-parameter and something else.
    """
    wanted = {}
    made: set[str] = set()
    for column, pattern in facts.get("extract", {}).items():
        groups = set(groups_of(column, pattern))
        if groups & made:
            raise UsageError(f"two patterns in [extract] make {min(groups & made)}: rename one group")
        made |= groups
        wanted[column] = "extract"
    chosen = [entry.get("column", entry["name"]) for entry in facts["hyperparameter"]]
    # What is known of a network, such as its width, may be chosen and constrained.
    others = [m.get("column", m["name"]) for i, m in enumerate(facts["metric"]) if not i or m.get("split")]
    others += [facts[key] for key in ("repetition", "epoch") if key in facts]
    twice = [column for place, column in enumerate(chosen) if column in [*chosen[:place], *others]]
    if twice:
        raise UsageError(
            f"the column {twice[0]} is a hyper-parameter, and something else too: another one, a score, a repetition "
            "or an epoch"
        )
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
    """The columns of hyper-parameters whose values are texts in the specification, and those for patterns alone."""
    values = {h.get("column", h["name"]): h.get("values", ()) for h in facts["hyperparameter"]}
    texts = {column for column, own in values.items() if own and all(isinstance(value, str) for value in own)}
    return texts | (set(facts.get("extract", {})) - set(values))


def minimised(objective: dict[str, Any]) -> dict[str, Any]:
    """The section of an objective; if it is to be maximised, its complement or its negative is minimised."""
    if objective.get("direction") not in ("maximise", "maximize"):
        return objective
    return {"complement_of": 0} | objective | {"direction": "minimise"}


def metric_of(facts: dict[str, Any], spec: Path) -> Metric:
    """The metric of a section. Raises UsageError if its name, split and epoch do not fit together."""
    name, split, epoch = facts["name"], facts.get("split"), facts.get("epoch")
    if not re.fullmatch(METRIC_NAME, name):
        raise UsageError(
            f"metric name {name!r} of {spec} must be a letter, then letters, digits, _, . or -, and may end in @epoch"
        )
    if split is None and (epoch is not None or sounds_like_test(name) or sounds_like_test(facts.get("column", ""))):
        raise UsageError(
            f'metric {name} of {spec} is measured on data: its split must say on which (split = "valid"); one whose '
            "name contains test or holdout is reported, and never selected on"
        )
    if split is not None and not name.startswith(f"{split}-"):
        raise UsageError(f"metric {name} of {spec} is measured on {split}: its name must begin with {split}-")
    if epoch is not None and not name.endswith(f"@{epoch}"):
        raise UsageError(f"metric {name} of {spec} is measured at epoch {epoch}: its name must end in @{epoch}")
    direction = facts.get("direction", "minimise")
    if not re.fullmatch(_DIRECTION, direction):
        raise unknown(f"direction of {name} in {spec}:", direction, ("minimise", "maximise"))
    return Metric(
        name,
        facts.get("unit", ""),
        _directed(direction) == "minimise",
        facts.get("description", ""),
        split,
        epoch,
        facts.get("cheap", False),
    )


def objective_of(facts: dict[str, Any], spec: Path) -> Metric:
    """The metric of the first section. Raises UsageError as `metric_of` does, or if it cannot be the objective."""
    metric = metric_of(facts, spec)
    if metric.split is None:
        raise UsageError(
            f"the objective {metric.name} of {spec} needs a split: on which data is it measured? Its name begins with "
            'the split (valid-error, split = "valid")'
        )
    if metric.cheap:
        raise UsageError(f"the objective {metric.name} of {spec} is not known before training: leave cheap out")
    return metric


def _right(
    written: dict[str, Any], keys: dict[str, Any], needed: Iterable[str], where: str, problems: Problems
) -> dict[str, Any]:
    """The valid keys of a section; wrong and missing keys are noted in `problems`."""
    wrong = {key: sentence for key, value in written.items() if (sentence := _wrong(key, value, keys, where))}
    lacking = [key for key in needed if key not in written]
    for sentence in (*wrong.values(), *(f"{where} lacks the key {k!r}; allowed: {', '.join(keys)}" for k in lacking)):
        problems.note(sentence)
    return {key: value for key, value in written.items() if key not in wrong}


def _wrong(key: str, value: object, keys: dict[str, Any], where: str) -> str:
    """The error of a key, in one sentence; empty if it is valid."""
    if key not in keys and re.fullmatch(_DIRECTION, key):
        return f'unknown key in {where}: {key!r}; of a [[metric]], direction = "{_directed(key)}" says that'
    if key not in keys:
        return str(unknown(f"key in {where}:", key, keys))
    if not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
        return f"{key} in {where} has the wrong type: {value!r}"
    if isinstance(value, str) and (why := unprintable(value)):
        return f"{key} in {where} must be one line of printable text, not {value!r}: {why}"
    if key in ("family", "search_space", "values") and not (value.strip() if isinstance(value, str) else value):
        return f"{key} in {where} is empty: leave it out, or fill it in"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{key} in {where} must be a finite number, not {value}"
    return ""


def _directed(word: str) -> str:
    return "minimise" if word.startswith("min") else "maximise"

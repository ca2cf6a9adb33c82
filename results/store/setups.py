"""Setups as files state them, with every fact checked: a store or an archive may come from anywhere."""

from __future__ import annotations

import math
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from nasbench.base.metrics import Scale
from nasbench.results.store.trajectory import Setting, Setup


def setup_of(facts: dict[str, Any]) -> Setup:
    """A setup. Raises TypeError if a field is of another type than setups have, ValueError for what no setup has."""
    setup = Setup.from_json(facts)
    if wrong := next((name for name, hint in _HINTS[Setup].items() if not _fits(getattr(setup, name), hint)), ""):
        raise TypeError(f"{wrong} of a setup is of another type")
    if strange := {*setup.objectives, *setup.setting.test_metrics} - {*setup.metrics}:
        raise ValueError(f"no metric of its runs: {', '.join(sorted(strange))}")
    budgets = [budget for budget in (setup.evals, setup.seconds, setup.workers) if budget is not None]
    if not all(0 < budget < math.inf for budget in budgets) or len(set(setup.metrics)) < len(setup.metrics):
        raise ValueError("a budget that is no positive number, or two metrics of one name")
    return setup


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of an annotated type, and its parts of theirs; JSON writes some floats as integers."""
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple and isinstance(value, tuple):
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if hint in _HINTS:
        return all(_fits(getattr(value, name), kind) for name, kind in _HINTS[hint].items())
    return type(value) in ((float, int) if hint is float else (hint,))


_HINTS = {owner: get_type_hints(owner) for owner in (Setup, Setting, Scale)}

"""What a class of methods states of itself, checked when it enters the registry."""

from __future__ import annotations

import math
from typing import Any

from nasbench.base.errors import Types, UsageError, check_types
from nasbench.base.repeatability import Repeatable

_TYPES: Types = {
    "version": (int, "a whole number"),
    "seconds": ((int, float), "a number"),
    "source": (str, "a text"),
    "method_option": (str, "a text"),
    "serves_several": (bool, "True or False"),
    "learns_from_all": (bool, "True or False"),
    "needs_fidelity": (bool, "True or False"),
    "asks_experts": (bool, "True or False"),
    "tuned_on": (tuple, "a tuple of names"),
    "needs": (tuple, "a tuple of protocols"),
    "repeatable": (Repeatable, f"one of {', '.join(f'Repeatable.{place.name}' for place in Repeatable)}"),
}


def check_facts(method: Any) -> None:
    """Raises UsageError if an attribute of a class of methods has another type, or cannot be, as a time of NaN."""
    check_types(method, _TYPES, method.__name__)
    if not 0 <= method.seconds < math.inf:
        raise UsageError(f"seconds of {method.__name__} must be 0 or more, not {method.seconds}")
    if not all(isinstance(name, str) for name in method.tuned_on):
        raise UsageError(f"tuned_on of {method.__name__} must be a tuple of names, not {method.tuned_on!r}")

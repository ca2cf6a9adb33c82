"""What a class of methods states of itself, checked when it enters the registry."""

from __future__ import annotations

from collections.abc import Mapping

from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces.errors import UsageError

_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
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
    "newer_options": (Mapping, "a mapping of options to values"),
    "repeatable": (Repeatable, f"one of {', '.join(f'Repeatable.{place.name}' for place in Repeatable)}"),
}
"""Attribute → its type, and the type in words."""


def check_facts(method: type) -> None:
    """Raises UsageError if an attribute has another type: a text for a tuple would be taken for its letters."""
    for name, (kind, what) in _KINDS.items():
        value = getattr(method, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"{name} of {method.__name__} must be {what}, not {value!r}")

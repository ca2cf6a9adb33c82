"""Configurations of other tools, as they are stored."""

from __future__ import annotations

import ast
import json
import math
from contextlib import suppress
from functools import lru_cache
from typing import Any


def text_of(configuration: object) -> str:
    """A configuration as it is stored: an object of JSON, which is empty where nothing is known."""
    if configuration is None or (isinstance(configuration, float) and math.isnan(configuration)):
        return "{}"
    is_text = isinstance(configuration, str)
    return _object(str(configuration) if is_text else json.dumps(configuration, sort_keys=True, default=str))


@lru_cache(maxsize=1024)
def _object(text: str) -> str:
    """The object of JSON that a text is, or that a dict is which Python has printed; of anything else, one with it."""
    value: Any = text
    with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = _finite(json.dumps(ast.literal_eval(text)))
    with suppress(ValueError, RecursionError):
        value = _finite(text)
    return json.dumps(value if isinstance(value, dict) else {"configuration": value})


def _finite(text: str) -> Any:
    """The value of a text of JSON; numbers that are not finite are texts. Raises ValueError if it is no JSON."""

    def number(digits: str) -> float | str:
        return value if math.isfinite(value := float(digits)) else digits

    return json.loads(text, parse_constant=str, parse_float=number)

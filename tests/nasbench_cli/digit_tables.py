"""Tables of digits that tests make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BENCH = "digits/nasbench201/table@2"


def records(journal: Path) -> list[dict[str, Any]]:
    """The evaluations in a journal."""
    return [facts for facts in map(json.loads, journal.read_text().splitlines()) if "configuration" in facts]

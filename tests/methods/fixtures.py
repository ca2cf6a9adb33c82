"""Numbers that the authors' code of OTMANN computed."""

import json
from pathlib import Path

FIXTURES = json.loads((Path(__file__).parent / "otmann_fixtures.json").read_text())

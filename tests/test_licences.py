"""The table of licences says what the installed packages say; `python tests/test_licences.py` writes it anew."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
HEAD = """# Licences

nasbench itself is under the MIT licence. This table says what packages say of themselves, for the
core and the extras dev, peers and live in the versions of `constraints.txt`, with
PyTorch's CPU build; its CUDA build brings NVIDIA's packages under their own licences. Other extras (`gp`, `optuna`,
`smac`, `nb201`, `ray`) bring packages of their own. The licences of tables and images stand with each benchmark:
`nasbench show NAME`.

None is under a strong copyleft licence. Those under the LGPL (moocore) and the MPL (changes of their own files must be
published) are used unchanged, as packages of their own. `python tests/test_licences.py` writes the table anew, of an
environment with these extras alone.

| package | licence |
|---|---|
"""


def licence(name: str, version: str) -> str:
    """As the package states it; empty where this version is not installed."""
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        return ""
    if facts["Version"].partition("+")[0] != version:  # PyTorch's CPU build is 2.13.0+cpu
        return ""
    stated = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier") or [] if c.startswith("License :: ")]
    text = facts.get("License-Expression") or ", ".join(c for c in stated if c != "OSI Approved") or facts["License"]
    return str(text).strip().partition("\n")[0]


def licences() -> dict[str, str]:
    """The licences of the packages that are installed as constraints.txt pins them."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    stated = {line.partition("==")[0]: licence(*line.split("==")) for line in lines if "==" in line}
    return {name: text for name, text in stated.items() if text}


def test_the_table_of_licences_is_that_of_the_installed_packages() -> None:
    assert PAGE.read_text().startswith(HEAD)
    rows = dict(line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| "))
    assert {name: rows[name] for name in licences() if name in rows} == {
        name: text for name, text in licences().items() if name in rows
    }
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert {name.lower() for name in locked} <= {name.lower() for name in rows}
    assert {"numpy", "pyarrow", "torch", "optuna", "pytest"} <= rows.keys()


if __name__ == "__main__":
    PAGE.write_text(HEAD + "".join(f"| {name} | {text} |\n" for name, text in licences().items()))


def test_no_package_is_under_a_strong_copyleft_licence() -> None:
    rows = dict(line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| "))
    strong = r"(?<!L)GPL|Affero|(?<!Lesser )General Public"
    assert {name: text for name, text in rows.items() if re.search(strong, text)} == {}

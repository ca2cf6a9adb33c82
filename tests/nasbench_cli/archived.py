"""What tests of archives share: a store with its archive, and forged copies of it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nasbench import run
from nasbench.results import Store
from nasbench.results.store.packing import pack

SEEDS = 5


def store_with_archive(folder: Path) -> Path:
    """Fills a folder with a store of three methods, one of which trains in parts, and with its archive."""
    for method, bench in (("random", "sk-forest-wine"), ("asha", "sk-forest-wine"), ("random", "nb201-cifar10")):
        run(method, bench, seeds=SEEDS, evals=30, workers=2, store=folder / "store")
    run(
        ["random", "c-tpe"],
        "hpolib-naval",
        constraints="model_size@0.3",
        seeds=SEEDS,
        evals=30,
        workers=2,
        store=folder / "store",
    )
    pack(Store.open(folder / "store"), folder / "store.zip")
    return folder


def tampered(folder: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(folder / "store.zip") as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    path = folder / "tampered.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


Change = Callable[[dict[str, Any]], object]


def forged(folder: Path, change: Change, name: str = "forged.zip") -> Path:
    """The archive with other facts, as somebody writes them who knows the format."""

    def write(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        change(facts)
        members["facts.json"] = json.dumps(facts).encode()

    return tampered(folder, write).rename(folder / name)


def exchanged(facts: dict[str, Any]) -> None:
    """The seeds of each setup in reverse: the rows are those of other runs."""
    for setup in facts["setups"]:
        for one, seed in zip(setup["runs"], reversed([one["seed"] for one in setup["runs"]]), strict=True):
            one["seed"] = seed


LIES: dict[str, Change] = {
    "space": lambda facts: [s["setup"]["setting"].update(space=s["setup"]["bench"]) for s in facts["setups"]],
    "reference": lambda facts: [s["setup"]["setting"].update(reference=True) for s in facts["setups"]],
    "space, left empty": lambda facts: [s["setup"]["setting"].update(space="") for s in facts["setups"]],
    "oracle, left empty": lambda facts: [s["setup"]["setting"].update(oracle=None) for s in facts["setups"]],
    "oracle": lambda facts: [s["setup"]["setting"].update(oracle=1e-3) for s in facts["setups"]],
    "tuned_on": lambda facts: [s["setup"].update(tuned_on=["nowhere"]) for s in facts["setups"]],
    "failed_evaluations": lambda facts: [r.update(failed_evaluations=1) for s in facts["setups"] for r in s["runs"]],
}

"""A method of somebody's own, as its author may install it: a module, or a package, beside entry points."""

from __future__ import annotations

import os
from pathlib import Path

from tests.nasbench_cli.conftest import ROOT

BOB = """
import numpy as np

from nasbench import Method


class Bob(Method):
    def __init__(self, problem, rng):
        self.space, self.rng = problem.space, rng

    def ask(self):
        return self.space.sample(self.rng)

    def tell(self, observation):
        pass


class Bad(Bob):
    def ask(self):
        return self.decided()

    def decided(self):
        return np.linalg.cholesky(-np.eye(2) - self.rng.random())  # the line to blame
"""
TO_BLAME = f"bob.py:{1 + BOB[: BOB.index('  # the line to blame')].count(chr(10))}"


def install(folder: Path) -> dict[str, str]:
    """Installs the methods `bob` and `bad`; returns the variable by which a process finds them."""
    facts = folder / "bob-1.dist-info"
    facts.mkdir(parents=True)
    (folder / "bob.py").write_text(BOB)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: bob\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[nasbench.methods]\nbob = bob:Bob\nbad = bob:Bad\n")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}

"""Small stores of every kind, made through the command line, and the CSV files of reports on them."""

from __future__ import annotations

import csv
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

from nasbench.benchmarks import BENCHMARKS
from nasbench.benchmarks.tabular import open_table
from nasbench.cli import main

Table = list[dict[str, str]]

EA = "evolution:population=5,tournament=2"
CONSTRAINTS = f"""
methods = ["random", "{EA}", "c-tpe", "tpe"]
seeds = 6
evals = 15
[[grid]]
benchmarks = ["nb201-cifar10", "hpolib-naval"]
constraints = ["none", "model_size@0.1"]
[[grid]]
benchmarks = ["hpobench-blood"]
constraints = ["none", "train_time@0.3"]
[[grid]]
benchmarks = ["nb201-cifar100"]
constraints = ["model_size@0.1+train_time@0.3"]
"""
MANY = f"""
methods = ["random", "{EA}", "local", "tpe"]
seeds = 14
evals = 60
[[grid]]
benchmarks = ["nb201-cifar10", "hpolib-naval"]
constraints = ["none", "model_size@0.1"]
[[grid]]
benchmarks = ["nbgraph-cora", "nbgraph-citeseer", "nbgraph-cs"]
constraints = ["none", "latency@0.3"]
"""
EQUAL = """
methods = ["evolution:population=20,tournament=2", "evolution:population=20,tournament=3", "random"]
seeds = 40
evals = 24
[[grid]]
benchmarks = ["nb201-cifar10"]
constraints = ["none", "model_size@0.5", "train_time@0.5"]
[[grid]]
benchmarks = ["hpobench-blood", "hpobench-car"]
constraints = ["none", "train_time@0.5"]
"""
MISSING = f"""
methods = ["random", "{EA}", "local"]
seeds = 9
evals = 30
[[grid]]
benchmarks = ["nb201-cifar10", "hpolib-naval"]
constraints = ["none", "model_size@0.3"]
"""
LEVELS = """
name = "made-up"
cost = "seconds"
repetition = "seed"
epoch = "epoch"
[[hyperparameter]]
name = "a"
kind = "ordinal"
[[hyperparameter]]
name = "b"
kind = "ordinal"
[[metric]]
name = "valid-error@9"
column = "error"
unit = "%"
split = "valid"
epoch = 9
curve = true
[[metric]]
name = "seconds"
unit = "s"
curve = true
"""

CIFAR10, NAVAL = ["--bench", "nb201-cifar10"], ["--bench", "hpolib-naval"]
THREE = ["--method", "random", "--method", EA, "--method", "local"]
TPE = ["--method", "tpe"]
TIGHT = ["--constrain", "model_size@0.01+train_time@0.1"]
FIDELITY = ["--method", "random", "--method", "hyperband", "--method", "asha", "--method", "freeze-thaw"]
TIME = ["--constrain", "train_time@0.3", "--evals", "30"]

STORES: dict[str, list[list[str]]] = {
    "constraints": [["--suite", "constraints.toml"]],
    "many": [["--suite", "many.toml"]],
    "equal": [["--suite", "equal.toml"]],
    "table": [[*THREE, *TPE, *CIFAR10, "--seeds", "10", "--evals", "60"]],
    "identical": [["--method", "random", "--method", "c-tpe", *TPE, *CIFAR10, "--seeds", "7", "--evals", "15"]],
    "seconds": [[*THREE, *CIFAR10, *NAVAL, "--seeds", "7", "--budget-seconds", "20000", "--workers", "2"]],
    "infeasible": [[*THREE, *CIFAR10, *NAVAL, *TIGHT, "--seeds", "7", "--evals", "30"]],
    "levels": [[*FIDELITY, "--bench", "made-up", "--seeds", "7", "--evals", "8", "--workers", "2"]],
    "missing": [
        ["--suite", "missing.toml"],
        [*TPE, *CIFAR10, "--seeds", "6", "--evals", "30"],
        ["--method", "random", *CIFAR10, *TIME, "--seeds", "12"],
        ["--method", "local", *CIFAR10, *TIME, "--seeds", "2:9"],
    ],
}


@dataclass(frozen=True)
class Kind:
    """A report: of which store, by which score, on the benchmarks whose name begins with a pattern."""

    store: str
    score: str = "hidden"
    benches: str = ""


KINDS = [
    *(Kind(store) for store in STORES),
    Kind("constraints", "mean"),
    Kind("constraints", "observed"),
    Kind("levels", "observed"),
    Kind("equal", "mean"),
    Kind("many", benches="nbgraph"),
    Kind("many", benches="nbgraph-c[io]"),
]


PARTS = ("constraints", "families", "in-sample", "score")
"""Parts on request whose numbers are recomputed."""


class Folder:
    """Stores and reports, each made when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, text in (("constraints", CONSTRAINTS), ("many", MANY), ("equal", EQUAL), ("missing", MISSING)):
            (path / f"{name}.toml").write_text(text)

    def store(self, name: str) -> Path:
        folder = self.path / name
        if not folder.exists():
            if name == "levels":
                self._import_table()
            with BENCHMARKS.temporarily("made-up", partial(open_table, "made-up")):
                for request in STORES[name]:
                    words = [str(self.path / w) if w.endswith(".toml") else w for w in request]
                    assert main.run_command(["run", *words, "--store", str(folder)]) == 0
        return folder

    def report(self, kind: Kind, benches: list[str]) -> dict[str, Table]:
        """The rows of every CSV file."""
        out = self.path / f"report {kind}"
        words = ["report", str(self.store(kind.store)), "--score", kind.score, "--out", str(out), "--format", "csv"]
        words += [word for part in PARTS for word in ("--part", part)]
        if not out.exists():
            chosen = [word for bench in benches for word in ("--bench", bench)]
            with redirect_stdout(StringIO()) as printed:
                assert main.run_command([*words, *chosen, "--baseline", "random", "--wilcoxon"]) == 0
            (out / "printed.txt").write_text(printed.getvalue())
        return {path.stem: list(csv.DictReader(path.open())) for path in out.glob("*.csv")}

    def printed(self, kind: Kind) -> str:
        """What that report printed, on one line."""
        return " ".join((self.path / f"report {kind}" / "printed.txt").read_text().split())

    def _import_table(self) -> None:
        """36 configurations with three repetitions of nine epochs."""
        rng = np.random.default_rng(0)
        lines = ["a,b,seed,epoch,error,seconds"]
        for a, b, seed in np.ndindex(6, 6, 3):
            end, noise = 20 + 3 * (a - 2) ** 2 + 2 * (b - 4) ** 2, rng.normal(0, 1.5)
            for epoch in range(1, 10):
                error = end + 60 * np.exp(-epoch / 2) + noise + rng.normal(0, 0.5)
                lines.append(f"{a},{b},{seed},{epoch},{error:.4f},{epoch * (1 + a / 3):.4f}")
        (self.path / "curves.csv").write_text("\n".join(lines))
        (self.path / "curves.toml").write_text(LEVELS)
        words = ["import", "table", str(self.path / "curves.csv"), "--spec", str(self.path / "curves.toml")]
        assert main.run_command(words) == 0

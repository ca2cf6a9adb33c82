"""Reports `wide` by the kind of search space and by the noise of its benchmarks, for research/findings.py.

Each group of benchmarks has a separate report, whose sentence and expected ranks are kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np

from nasbench.benchmarks import Benchmark, open_benchmark

ROOT = Path(__file__).parents[1]
KINDS = {
    "Small grids, 200 to 576 configurations": ("sk-svm", "sk-boosting", "sk-forest", "sk-linear", "sk-knn"),
    "Large grids, 6,561 to 62,208 configurations": ("hpolib", "hpobench", "nas-bench-macro", "channel-bench"),
    "Mixed and conditional spaces": ("lcbench", "yahpo-rbv2-rpart", "yahpo-rbv2-xgboost"),
    "Cells and graphs": ("nas-bench-201", "nas-bench-graph", "ec-nas"),
    "Lists of configurations": ("arlbench-dqn", "nas-bench-mr"),
}
"""The search spaces of each kind."""
NOISE = "No noise, one value per configuration", "Little noise, below 1", "Much noise, 1 or more"
"""The levels of noise."""
_SAMPLE, _BEST, _REPETITIONS, _FEW = 500, 50, 8, 10


def kind(benchmark: Benchmark) -> str:
    """The kind of a benchmark's search space."""
    space = benchmark.search_space or benchmark.family
    return next(kind for kind, spaces in KINDS.items() if space in spaces)


def level(benchmark: Benchmark) -> str:
    """The level of a benchmark's noise."""
    spread = noise(benchmark)
    return NOISE[0 if spread == 0 else 1 if spread < 1 else 2]


def noise(benchmark: Benchmark) -> float:
    """The standard deviation of one evaluation over that of the means of good configurations.

    Good ones are the best tenth of 500 random ones, each evaluated with eight seeds. The part of the variance of the
    means that comes from the evaluations is subtracted. Infinite if nothing is left, zero if ten configurations have
    one value each.
    """
    rng = np.random.default_rng(0)
    configurations = list(dict.fromkeys(benchmark.space.sample(rng) for _ in range(_SAMPLE)))
    values = np.array([[_objective(benchmark, c, seed) for seed in range(_REPETITIONS)] for c in configurations[:_FEW]])
    if np.all(np.nanmax(values, axis=1) == np.nanmin(values, axis=1)):
        return 0.0
    values = np.array([[_objective(benchmark, c, seed) for seed in range(_REPETITIONS)] for c in configurations])
    best = values[np.argsort(values.mean(axis=1))[:_BEST]]  # NaN, of a failed evaluation, is last
    within = float(best.var(axis=1, ddof=1).mean())
    between = float(best.mean(axis=1).var(ddof=1)) - within / _REPETITIONS
    return float(np.sqrt(within / between)) if between > 0 else float("inf")


def _objective(benchmark: Benchmark, configuration: object, seed: int) -> float:
    metrics = benchmark.evaluate(configuration, seed).metrics  # type: ignore[arg-type]
    return metrics.get(benchmark.metrics[0].name, np.nan)


def reported(group: str, names: list[str]) -> str:
    """The head of the report on some benchmarks: its sentence, and the expected ranks."""
    spaces = {open_benchmark(name).search_space or open_benchmark(name).family for name in names}
    chosen = [word for name in names for word in ("--bench", name)]
    with tempfile.TemporaryDirectory() as folder:
        command = ["nasbench", "report", "runs/wide", "--out", folder, "--format", "csv", *chosen]
        shown = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True, capture_output=True, text=True)
    head, _, _ = shown.stdout.partition("CI: 95 %")
    return f"{group} ({len(names)} benchmarks of {', '.join(sorted(spaces))})\n{head.rstrip()}\n"


def write(into: Path) -> None:
    """Writes the reports on the groups of runs/wide to kinds.txt and noise.txt."""
    grids = tomllib.loads((ROOT / "suites" / "wide.toml").read_text(encoding="utf-8"))["grid"]
    benchmarks = [open_benchmark(name) for grid in grids for name in grid["benchmarks"]]
    for file, groups, group_of in (("kinds.txt", KINDS, kind), ("noise.txt", NOISE, level)):
        group = {benchmark.name: group_of(benchmark) for benchmark in benchmarks}
        texts = [reported(name, [b for b in group if group[b] == name]) for name in groups]
        (into / file).write_text("\n".join(texts), encoding="utf-8")

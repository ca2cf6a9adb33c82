"""Every method on every kind of problem, on one table of each space, the synthetic benchmarks and a live one."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Benchmark, Metric, abilities, open_benchmark
from nasbench.benchmarks.spaces import Categorical, Configuration, FiniteSpace, GridSpace, Ordinal
from nasbench.benchmarks.tabular.imported import ImportedTable, TableData, save
from nasbench.cli.checks import METHOD_CHECKS
from nasbench.cli.checks.methods import Trial
from nasbench.cli.checks.problems import PROBLEMS
from nasbench.methods import METHODS, MethodSpec, Problem
from tests.benchmarks.cells101 import SPACE as CELLS
from tests.conftest import Lend
from tests.few_digits import register as register_few_digits
from tests.nasbench_cli.promises import EXTRAS, ONE_SHOT
from tests.nasbench_cli.toys import Live, Separate, Toy, Watched

CHECKS = [check for check in METHOD_CHECKS if check.promise in PROBLEMS]
SOON = {
    "evolution": ["evolution:population=5,tournament=2"],
    "local": ["local:initial=3"],
    "popnas": ["popnas:first=10,children=6,exploration=2", "popnas:first=8,children=4,pareto=time+size"],
    "cnsga2": ["cnsga2:population=4"],
    "nsga2": ["nsga2:population=4"],
    "parego": ["parego", "parego:by=smbo"],
    "smbo": ["smbo:candidates=32"],
    "optuna": ["optuna", *(f"optuna:sampler={name}" for name in ("nsga3,population=4", "cmaes", "qmc"))],
    "c-tpe": ["c-tpe", "c-tpe:knowledge=20", "c-tpe:variant=paper", "c-tpe:variant=scripts"],
    "nasbot": ["nasbot:draws=20,initial=4"],
    "scbo": ["scbo:power=6,initial=20"],
    "treebo": ["treebo:initial=20"],
    "smac": ["smac:initial=20"],
    "ax-nei": ["ax-nei:initial=24"],
    "ax-nehvi": ["ax-nehvi:initial=24"],
    "optuna-gp": ["optuna-gp:initial=26"],
}
"""Options with which a model is used within 30 evaluations, at little cost; other methods as they are."""
DEAR = (
    "rgpe",
    "optuna",
    "motpe",
    "c-bohb",
    "treebo",
    "scbo",
    "turbo",
    "hyperopt",
    "bananas",
    "nasbot",
    "nasbot-rand",
    "nasbot-ea",
    "ax-nei",
    "ax-nehvi",
    "smac",
    "rf-cei",
    "optuna-gp",
    "optuna-tpe",
    "cnsga2",
    "nsga2",
    "parego",
    "popnas",
)
TABLES = ("nb201-cifar10", "hpolib-naval", "hpobench-segment", "nbgraph-cora")
LEVELS = (1, 3, 9, 27)


def table(name: str, space: FiniteSpace, **curves: object) -> TableData:
    """A table in which one configuration in seven has no values, and one in five no size."""
    rng = np.random.default_rng(3)
    values = rng.uniform(1, 50, (space.size, 2, 4))
    values[:, 1, 3] = values[:, 0, 3]
    values[::7] = np.nan
    values[::5, :, 3] = np.nan
    metrics = (
        Metric("valid-error@27", "%", split="valid", epoch=27),
        Metric("train_time", "s"),
        Metric("test-error@27", "%", split="test", epoch=27),
        Metric("size", "M", cheap=True),
    )
    if curves:
        shape = (*values.shape[:2], len(LEVELS), 2)
        watched = rng.uniform(0, 1, shape) + values[:, :, None, :2] + np.arange(len(LEVELS))[::-1, None]
        watched[:, :, :, 1] = values[:, :, None, 1] * np.array(LEVELS) / LEVELS[-1]
        watched[3, :, 2:, 0] = np.nan  # it diverges
        values[:, :, :2] = watched[:, :, -1]
        curves |= {"curves": watched, "recorded": ("valid-error@27", "train_time"), "levels": LEVELS}
    return TableData(name, "toy", space, metrics, "train_time", "here", "MIT", values, **curves)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Benchmark]]:
    """Tables of a user's own: a dozen numbers, cells of NAS-Bench-101, learning curves, trainings per level."""
    folder: Path = tmp_path_factory.mktemp("data")
    numbers = GridSpace([Ordinal("a", (1, 2, 3, 4)), Ordinal("b", (0.1, 1.0, 10.0), log=True)])
    mixed = GridSpace([Ordinal("a", tuple(range(12))), Categorical("b", ("x", "y", "z"))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASBENCH_DATA", str(folder))
        made = [
            table("numbers", numbers),
            table("cells", CELLS),
            table("curved", mixed, continuable=True),
            table("separate", mixed, continuable=False),
        ]
        yield [ImportedTable(save(one)) for one in made]


def broken(name: str, benchmarks: list[Benchmark]) -> list[str]:
    """The promises that a method breaks, with all of its options to try, and where."""
    found = []
    for text in SOON.get(name, [name]):
        spec = MethodSpec.parse(text)
        for benchmark in benchmarks:
            if spec.misfit(Problem.of(benchmark)):
                continue
            trial = Trial(spec, benchmark)
            for check in CHECKS:
                try:
                    check.function(trial)
                except Exception as error:
                    found.append(f"{text} on {benchmark.name} {check}: {type(error).__name__}: {error}")
    return found


def ready(name: str) -> str:
    """The name, where its method can be had here; the test is skipped otherwise."""
    if name == "process":
        pytest.skip("it needs a program; tests/methods/test_process.py tries some")
    if name == "optunahub":
        pytest.skip("it needs a clone of the registry; tests/methods/test_external.py makes one, and checks it")
    if name == "optuna-gp":
        pytest.importorskip("torch")
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    METHODS.get(name).make_ready()
    return name


NAMES = [name for name in METHODS.names() if name not in (*ONE_SHOT, "one-shot-random", "proxy")]  # see test_checks


def named(cheap: bool) -> list[Any]:
    """The methods as parameters of a test; those that take seconds, or all unless it is cheap, make it a slow one."""
    return [pytest.param(name, marks=[] if cheap and name not in DEAR else pytest.mark.slow) for name in NAMES]


@pytest.mark.parametrize("name", named(cheap=True))
def test_every_method_goes_on_with_every_kind_of_problem_on_a_table(name: str, tables: list[Benchmark]) -> None:
    opened = [open_benchmark(bench) for bench in TABLES]
    for benchmark in opened:
        abilities.make_ready(benchmark)
    assert broken(ready(name), [*opened, *tables, Toy(), Watched(), Separate(), Live()]) == []


@pytest.mark.parametrize("name", named(cheap=False))
def test_every_method_goes_on_with_every_kind_of_problem_on_formulas(name: str) -> None:
    benchmarks = [open_benchmark(f"synthetic-{kind}") for kind in ("tree", "cnn", "mlp")]
    assert broken(ready(name), benchmarks) == []


@pytest.mark.parametrize("name", named(cheap=False))
def test_every_method_goes_on_with_every_kind_of_problem_on_live_networks(
    name: str, monkeypatch: pytest.MonkeyPatch, lend: Lend
) -> None:
    if not all(map(importlib.util.find_spec, ("torch", "sklearn"))):
        pytest.skip("PyTorch or scikit-learn is not installed")
    live = open_benchmark(f"{register_few_digits(monkeypatch, lend)}@9")
    abilities.make_ready(live)
    assert broken(ready(name), [live]) == []


def test_a_benchmark_whose_metrics_are_all_known_beforehand_poses_no_problem_of_learning() -> None:
    class AllKnown(Toy):
        metrics = (Metric("loss", "", cheap=True),)

        def known(self, metric: str, configuration: Configuration) -> float:
            return float(sum(configuration))

    kinds = {promise: pose(AllKnown()) for promise, pose in PROBLEMS.items()}
    assert kinds["takes constraints that it must learn"] == kinds["takes both kinds of constraint at once"] == []
    assert all(posed for promise, posed in kinds.items() if "learn" not in promise and "both" not in promise)

"""Runs of toy methods on toy benchmarks, without a command or a store."""

from nasbench.benchmarks import Benchmark, abilities, parse_constraints
from nasbench.cli.engine.loop import run
from nasbench.methods import Method
from nasbench.results import Setting, Setup, Trajectory
from nasbench.results.store.journal import Journal
from tests.nasbench_cli import toys
from tests.nasbench_cli.toys import Spec

SETTING = Setting("toy", "loss", "", "", (), None, None, None)


def toy_run(
    method: type[Method] = toys.Careful,
    benchmark: Benchmark | None = None,
    seed: int = 0,
    constraint: str = "none",
    journal: Journal | None = None,
    **protocol: object,
) -> Trajectory:
    benchmark = benchmark or toys.Toy()
    facts = {"evals": 30, "seconds": None, "workers": 1, "charge_thinking": False} | protocol
    setup = Setup("toy", (), 1, benchmark.name, "toy-1", constraint, **facts, metrics=("loss", "size"), setting=SETTING)  # type: ignore[arg-type]
    bounds = abilities.bounds(benchmark, parse_constraints([constraint]))
    return run(setup, seed, Spec(method), benchmark, bounds, journal)


def rows(trajectory: Trajectory, *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(trajectory.columns[name].tolist() for name in names), strict=True))

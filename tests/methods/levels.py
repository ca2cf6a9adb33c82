"""Runs of multi-fidelity methods on a toy benchmark."""

from __future__ import annotations

import numpy as np

from nasbench.benchmarks import Benchmark, Level
from nasbench.benchmarks.constraints import Bound
from nasbench.cli.engine.loop import run
from nasbench.methods import Method, MethodSpec, Needs, Observation, Problem, Proposal
from nasbench.results import Setting, Setup, Trajectory
from nasbench.results.store.journal import Journal
from tests.nasbench_cli import toys


def trajectory(
    spec: str | type[Method],
    benchmark: Benchmark | None = None,
    seed: int = 0,
    bounds: tuple[Bound, ...] = (),
    journal: Journal | None = None,
    **protocol: object,
) -> Trajectory:
    benchmark = benchmark or toys.Watched()
    found = MethodSpec.parse(spec) if isinstance(spec, str) else toys.Spec(spec)
    facts = {"evals": 20, "seconds": None, "workers": 1, "charge_thinking": False} | protocol
    setting = Setting("toy", "loss", "", "", (), None, None, None, highest=benchmark.highest.work)
    cell = Setup(found.name, (), 1, benchmark.name, "toy", "none", **facts, metrics=("loss", "size"), setting=setting)  # type: ignore[arg-type]
    return run(cell, seed, found, benchmark, bounds, journal)


def named(values: list[int]) -> list[Level]:
    return [Level(epochs=value) for value in values]


class Stepwise(Method):
    """Trains each configuration up to 3, 9 and 27 epochs."""

    needs = Needs(fidelity=True)

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._space, self._rng = problem.space, rng
        self._last: Observation | None = None

    def ask(self) -> Proposal:
        last = self._last
        if last is None or last.level["epochs"] == 27:
            return Proposal(self._space.sample(self._rng), Level(epochs=3))
        return Proposal(last.configuration, Level(epochs=3 * last.level["epochs"]), last.trial)

    def tell(self, observation: Observation) -> None:
        self._last = observation

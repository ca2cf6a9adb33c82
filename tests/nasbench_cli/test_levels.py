"""Live trainings that are continued: killed or not, the same rows; and what is on the clock."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from nasbench.benchmarks import NO_BOUNDS, Evaluation, Level, open_benchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.methods import Method, MethodSpec, Needs, Observation, Problem, Proposal
from nasbench.results import Setting, Setup, Trajectory
from nasbench.results.store.journal import Journal, drop_failed, peek
from nasbench.results.store.under_way import BegunRun
from tests.few_digits import register as register_few_digits
from tests.nasbench_cli import toys
from tests.results.conftest import SETTING, make_setup

pytest.importorskip("torch")
pytest.importorskip("sklearn")

SEED = 3  # of a search whose networks can all be trained
SAME = ("trial", "level", "configuration", "objective", "incumbent", "status", "spent")


def searched(path: Path, method: str = "successive-halving:eta=2", evals: int = 2) -> Trajectory:
    grid = Grid((MethodSpec.parse(method),), ("few-digits@4",), ((),), (SEED,), Protocol(evals))
    (planned,) = expand([grid])
    journal = Journal(path, "id")
    try:
        return run(planned.setup, SEED, planned.spec, open_benchmark(planned.setup.bench), NO_BOUNDS, journal)
    finally:
        journal.close()


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed, ExitStack() as lent:
        register_few_digits(changed, lambda registry, name, item: lent.enter_context(registry.temporarily(name, item)))
        yield


@pytest.fixture(scope="module")
def whole(few: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trajectory]:
    """A search that nothing disturbed, and its journal."""
    path = tmp_path_factory.mktemp("whole") / "whole.jsonl"
    return path, searched(path)


def cut(path: Path, to: Path, kept: int) -> None:
    """A copy of a journal with so many records."""
    to.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: kept + 1]))


def test_trainings_go_on_from_level_to_level(whole: tuple[Path, Trajectory]) -> None:
    """Levels 1, 2, 4: four trainings of an epoch, two of which go on, and one of these to the end."""
    path, found = whole
    assert found.columns["level"].tolist() == [1, 1, 1, 1, 2, 2, 4]
    assert len(list(path.parent.glob("whole.*.state"))) == 3  # of trainings that may still be continued
    assert found.columns["finished"][-1] >= found.columns["cost"].sum() * 0.999
    assert (np.diff(found.columns["finished"]) > 0).all()


def test_the_journal_of_a_search_tells_what_its_trajectory_tells(whole: tuple[Path, Trajectory]) -> None:
    path, found = whole
    setup = make_setup(evals=2, setting=replace(SETTING, highest=4))
    rows = BegunRun(path, setup, 0, peek(path, "id") or []).rows
    for name in (*SAME, "evaluation", "feasible", "started", "finished", "cost"):
        assert [getattr(row, name) for row in rows] == found.columns[name].tolist()


@pytest.mark.parametrize("states", ["intact", "damaged", "lost"])
def test_a_search_on_live_trainings_is_resumed(
    states: str, whole: tuple[Path, Trajectory], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where its state is lost or damaged a training begins again, and has the same scores; damage is said."""
    path, found = whole
    cut(path, tmp_path / "run.jsonl", 4)
    for state in path.parent.glob("whole.*.state") if states != "lost" else ():
        # Some are further than the journal: as if what was told of them later had been lost.
        content = bytearray(state.read_bytes())
        content[len(content) // 2] ^= states == "damaged"
        (tmp_path / state.name.replace("whole", "run")).write_bytes(content)
    resumed = searched(tmp_path / "run.jsonl")
    for name in SAME:
        assert resumed.columns[name].tolist() == found.columns[name].tolist()
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == (states == "damaged")  # the other training that went on ended, and its state with it
    assert all("its digest is wrong): its training starts again" in line for line in said)


def test_a_trained_network_leaves_no_state_when_it_has_reached_the_end(tmp_path: Path) -> None:
    searched(tmp_path / "run.jsonl", "random", evals=1)
    assert not list(tmp_path.glob("*.state"))


class Watcher(Method):
    """Trains on while the curve falls, and remembers the curves that it is told."""

    needs = Needs(fidelity=True)

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._space, self._rng = problem.space, rng
        self._next: Proposal | None = None
        self.told: list[tuple[float, ...] | None] = []
        Watcher.last = self

    def ask(self) -> Proposal:
        return self._next or Proposal(self._space.sample(self._rng), Level(epochs=3))

    def tell(self, observation: Observation) -> None:
        curve = observation.curve
        self.told.append(curve)
        assert curve is not None
        falls = len(curve) < 27 and curve[-1] < curve[0]
        self._next = (
            Proposal(observation.configuration, Level(epochs=len(curve) * 3), observation.trial) if falls else None
        )

    last: ClassVar[Watcher]


class Kept(toys.Watched):
    """Trained now; what it keeps says of which configuration it is, and at which level."""

    name, kind = "toy-kept", "live"

    def __init__(self, fails: int | None = None) -> None:
        self._fails, self._calls = fails, itertools.count(1)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        assert state is not None
        level, since = upto["epochs"], 0
        if state.exists():
            owner, reached = json.loads(state.read_text())
            assert owner == list(configuration)
            since = reached if reached < level else 0
        if next(self._calls) == self._fails:
            raise MemoryError("no memory, this time")
        state.write_text(json.dumps([configuration, level]))
        return super().measure(configuration, seed, upto, state)._replace(cost=float(level - since))


def kept(path: Path, benchmark: Kept, workers: int, spec: MethodSpec | None = None) -> Trajectory:
    spec = spec or MethodSpec.parse("asha")
    setting = Setting("toy", "loss", "", "", (), None, None, None, highest=27)
    setup = Setup(spec.name, (), 1, "toy-kept", "toy", "none", 8, None, workers, False, ("loss", "size"), setting)
    journal = Journal(path, "id")
    try:
        return run(setup, 0, spec, benchmark, NO_BOUNDS, journal)
    finally:
        journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("fails", [2, 7, 20])
def test_after_a_retry_no_training_goes_on_from_the_state_of_another(tmp_path: Path, workers: int, fails: int) -> None:
    """Once the failed one succeeds the method asks otherwise: trials have other configurations than their states."""
    path = tmp_path / "run.jsonl"
    benchmark = Kept(fails)
    first = kept(path, benchmark, workers)
    assert (first.columns["status"] == "failed").sum() == 1
    drop_failed(path)
    again = kept(path, benchmark, workers)
    assert set(again.columns["status"]) == {"ok"}
    if workers == 1:  # else who is first is the machine's choice
        undisturbed = kept(tmp_path / "undisturbed.jsonl", Kept(), 1)
        for name in SAME:
            assert again.columns[name].tolist() == undisturbed.columns[name].tolist()


@pytest.mark.parametrize("records", [0, 1, 5])
def test_a_killed_search_is_told_the_curves_that_the_journal_holds(tmp_path: Path, records: int) -> None:
    whole = kept(tmp_path / "whole.jsonl", Kept(), 1, toys.Spec(Watcher))
    told = Watcher.last.told
    assert [None if curve is None else len(curve) for curve in told] == whole.columns["level"].tolist()
    assert [curve[-1] for curve in told if curve] == whole.columns["objective"].tolist()
    assert len(whole) > 8
    cut(tmp_path / "whole.jsonl", tmp_path / "run.jsonl", records)
    again = kept(tmp_path / "run.jsonl", Kept(), 1, toys.Spec(Watcher))
    assert Watcher.last.told == told
    for name in SAME:
        assert again.columns[name].tolist() == whole.columns[name].tolist()


def test_live_trainings_of_images_are_told_with_their_curves(whole: tuple[Path, Trajectory]) -> None:
    path, found = whole
    journal = Journal(path, "id")
    curves = {(record.trial, record.level): record.curve for record in journal.records}
    journal.close()
    objectives = dict(
        zip(
            zip(*(found.columns[n].tolist() for n in ("trial", "level")), strict=True),
            found.columns["objective"].tolist(),
            strict=True,
        )
    )
    assert curves.keys() == objectives.keys()
    for (trial, level), curve in curves.items():
        assert curve is not None
        assert len(curve) == level
        assert all(curve[early - 1] == objectives[trial, early] for early in (1, 2, 4) if early <= level)

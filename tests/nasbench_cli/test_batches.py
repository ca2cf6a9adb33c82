"""What belongs to a run: what is stored if it does not come to its end, and what its time does not count."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from nasbench.benchmarks import BENCHMARKS, UsageError, parse_constraints
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine import batches
from nasbench.cli.engine.batches import _compute_live, compute, cut
from nasbench.cli.engine.executors import Batch, Lost, Work
from nasbench.cli.engine.plan import Grid, PlannedSetup, Protocol, expand
from nasbench.cli.engine.session import _forget_failed
from nasbench.methods import METHODS, Method, MethodSpec, Observation
from nasbench.results import Store
from nasbench.results.reading import load, select
from nasbench.results.store.journal import Journal, Record
from tests.conftest import Lend, Printed
from tests.nasbench_cli.toys import Careful, Toy
from tests.results.conftest import FACTS, begin, make_setup


def test_a_run_that_a_crash_has_ended_is_stored_with_what_its_journal_holds(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    setup = make_setup(evals=9)
    begin(store, setup, 4, [9.0, 7.0, 8.0])
    batch = Batch(cast(PlannedSetup, SimpleNamespace(setup=setup, sources=())), (4,))
    Work(store, made_by=FACTS).give_up(batch, Lost("an ask took longer than 60 s"))
    (fragment,) = store.fragments()
    table = fragment.table()
    assert table["objective"].to_pylist()[:3] == [9.0, 7.0, 8.0]
    assert table["incumbent"].to_pylist() == [9.0, 7.0, 7.0, 7.0]
    assert fragment.runs[0].failure == "an ask took longer than 60 s"
    assert load(select([store])).incumbent.tolist() == [[9.0, 7.0, 7.0]]


@pytest.mark.parametrize(("statuses", "is_kept"), [((), False), (("ok", "failed"), True)])
def test_of_a_run_that_another_command_has_stored_a_journal_for_a_retry_is_kept(
    tmp_path: Path, statuses: tuple[str, ...], is_kept: bool
) -> None:
    setup = make_setup(evals=2)
    path = tmp_path / f"{setup.run_id(0)}.jsonl"
    journal = Journal(path, setup.run_id(0))
    for number, status in enumerate(statuses):
        journal.append(Record(number, "{}", (1.0,), 0.1, status, "", 0.0, 0.1, number, 1, True))
    journal.close()
    planned = cast(PlannedSetup, SimpleNamespace(setup=setup))
    assert not _compute_live(planned, 0, tmp_path, lambda seed: True).trajectories
    assert path.exists() is is_kept


def test_making_a_method_ready_belongs_to_no_run(nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend) -> None:
    """The time left is estimated from the times of runs: a compilation must not count."""
    called: list[str] = []

    class Compiled(Careful):
        @classmethod
        def make_ready(cls) -> None:
            called.append("ready")
            raise ImportError("a run records it, if it needs it")

        def ask(self) -> Configuration:
            called.append("ask")
            return super().ask()

    lend(METHODS, "compiled", Compiled)
    asked = ["run", "--method", "compiled", "--bench", "hpobench-car", "--seeds", 2, "--evals", 1, "--store", tmp_path]
    assert nasbench(*asked).code == 0
    assert called == ["ready", "ask", "ask"]


def test_what_a_method_sets_when_it_is_made_ready_ends_there(
    nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend
) -> None:
    """Neither what holds for the whole process nor an exit reaches the runs of other methods."""
    before, found = np.geterr(), []

    class Strict(Careful):
        @classmethod
        def make_ready(cls) -> None:
            np.seterr(all="raise")
            sys.exit("no licence")

        def ask(self) -> Configuration:
            found.append(np.geterr())
            return super().ask()

    lend(METHODS, "strict", Strict)
    asked = ["run", "--method", "strict", "--bench", "hpobench-car", "--seeds", 2, "--evals", 1, "--store", tmp_path]
    assert nasbench(*asked).code == 0
    assert found == [before, before]


class Leaky(Careful):
    """Keeps in its class what each of its searches should find by itself."""

    seen: ClassVar[dict[Configuration, float]] = {}
    best: ClassVar[Configuration | None] = None


class Gathering(Leaky):
    """Adds to what its base holds."""

    def tell(self, observation: Observation) -> None:
        self.seen[observation.configuration] = observation.objective


class Unpredictable(Careful):
    """Has a generator without a state, which cannot be pickled."""

    chance: ClassVar[random.Random] = random.SystemRandom()


class Binding(Leaky):
    """Binds a name of its class anew."""

    def tell(self, observation: Observation) -> None:
        Leaky.best = observation.configuration


@pytest.mark.parametrize(
    ("method", "name"), [(Gathering, "seen"), (Binding, "best"), (Unpredictable, ""), (Careful, "")]
)
def test_runs_that_leave_something_behind_are_told_of_once(
    method: type[Method], name: str, nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend
) -> None:
    lend(METHODS, "mine", method)
    asked = ["run", "--method", "mine", "--bench", "hpobench-car", "--seeds", 30, "--evals", 3, "--store", tmp_path]
    done = nasbench(*asked)
    assert done.code == 0
    told = f"mine: its runs leave something behind that later ones can see, in `{name} of {__name__}.Leaky`: "
    assert done.err.count(told) == bool(name)
    assert ("leave something behind" in done.err) is bool(name)


def test_few_missing_runs_are_cut_so_that_every_job_has_some() -> None:
    planned = cast(PlannedSetup, SimpleNamespace(live=False, setup=SimpleNamespace(evals=10, method="a")))
    assert [len(batch.seeds) for batch in cut([(planned, list(range(10)))], 4)] == [3, 3, 3, 1]
    assert [len(batch.seeds) for batch in cut([(planned, list(range(10)))] * 2, 1)] == [10, 10]


def test_the_first_batch_of_a_method_is_small() -> None:
    """What fails in all of its runs is noticed after ten."""
    one, other = (
        cast(PlannedSetup, SimpleNamespace(live=False, setup=SimpleNamespace(evals=100, method=name))) for name in "ab"
    )
    missing = [(one, list(range(600))), (other, list(range(5))), (one, list(range(30))), (other, list(range(20, 40)))]
    sizes = [(batch.planned.setup.method, batch.seeds[0], len(batch.seeds)) for batch in cut(missing, 1)]
    assert sizes == [
        ("a", 0, 10),
        ("a", 10, 500),
        ("a", 510, 90),
        ("b", 0, 5),
        ("a", 0, 30),
        ("b", 20, 5),
        ("b", 25, 15),
    ]


@pytest.mark.parametrize(
    ("error", "foreign"), [(OSError("no space"), True), (OSError("no space"), False), (RuntimeError("a slip"), False)]
)
def test_what_is_no_fault_of_a_method_is_no_failed_run(
    error: Exception, foreign: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed run would be stored, and the same command would not compute it again."""

    def fails(*_: object) -> None:
        raise error

    (planned,) = expand([Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(5))])
    monkeypatch.setattr(METHODS, "is_foreign", lambda _: foreign)
    monkeypatch.setattr(batches, "run", fails)
    with pytest.raises(type(error), match=str(error)):
        list(compute(Batch(planned, (0,)), tmp_path))


def test_an_error_of_the_harness_after_a_third_partys_method_is_its_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("somebody has replaced me")

    (planned,) = expand([Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (3,), Protocol(5))])
    monkeypatch.setattr(METHODS, "is_foreign", lambda _: True)
    monkeypatch.setattr(batches, "run", fails)
    ((trajectories, notices),) = compute(Batch(planned, (3,)), tmp_path)
    assert [(trajectory.seed, len(trajectory)) for trajectory in trajectories] == [(3, 1)]
    assert trajectories[0].failure.startswith("the process is not sound after this method: RuntimeError: somebody")
    assert notices == []


def test_a_third_partys_benchmark_that_fails_outside_evaluations_fails_its_own_runs(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Meanless(Toy):
        """It promises means, and has none."""

        name = "toy-meanless"

        def mean_metrics(self, configuration: Configuration) -> dict[str, float]:
            raise RuntimeError("no means today")

    lend(BENCHMARKS, "toy-meanless", Meanless)
    (planned,) = expand([Grid((MethodSpec("random"),), ("toy-meanless",), ((),), (0, 1), Protocol(5))])
    with pytest.raises(RuntimeError, match="no means today"):  # of ours: a defect
        list(compute(Batch(planned, (0, 1)), tmp_path))
    monkeypatch.setattr(BENCHMARKS, "is_foreign", lambda name: name == "toy-meanless")
    ((trajectories, _),) = compute(Batch(planned, (0, 1)), tmp_path)
    reasons = {trajectory.failure for trajectory in trajectories}
    (reason,) = reasons
    assert reason.startswith(
        "toy-meanless fails outside its evaluations: RuntimeError: no means today (test_batches.py:"
    )


def test_a_file_that_a_third_partys_benchmark_lacks_fails_its_runs_and_no_command(
    tmp_path: Path, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fileless(Toy):
        """It reads a file where the command happens to run."""

        name = "toy-fileless"

        def mean_metrics(self, configuration: Configuration) -> dict[str, float]:
            return dict(json.loads(Path("means.json").read_text()))

    lend(BENCHMARKS, "toy-fileless", Fileless)
    monkeypatch.setattr(BENCHMARKS, "is_foreign", lambda name: name == "toy-fileless")
    (planned,) = expand([Grid((MethodSpec("random"),), ("toy-fileless",), ((),), (0,), Protocol(5))])
    (((trajectory,), _),) = compute(Batch(planned, (0,)), tmp_path)
    assert trajectory.failure.startswith("toy-fileless fails outside its evaluations: FileNotFoundError: ")
    monkeypatch.setattr(Fileless, "mean_metrics", lambda *_: {"loss": 1.0, "size": 1.0})

    store: dict[str, Any] = {"__name__": "nasbench.results.store.disk"}
    exec('def full(*_): raise OSError(28, "No space left on device")', store)
    monkeypatch.setattr("nasbench.cli.engine.batches.run", store["full"])
    with pytest.raises(OSError, match="No space left"):
        list(compute(Batch(planned, (0,)), tmp_path))


def test_runs_are_not_computed_on_other_data_than_the_command_began_with() -> None:
    """Else they would be stored under a checksum that is not theirs."""
    grid = Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(evals=3))
    (planned,) = expand([grid])
    stale = replace(planned, setup=replace(planned.setup, data="sha256:0"))
    with pytest.raises(UsageError, match="the data of nb201-cifar10 are not those that the command began with"):
        list(compute(Batch(stale, (0,)), Path()))


def test_what_measured_times_decide_is_repeatable_nowhere() -> None:
    def of(bench: str, protocol: Protocol, constraint: str = "none") -> str:
        limits = (parse_constraints([constraint]),)
        (planned,) = expand([Grid((MethodSpec("random"),), (bench,), limits, (0,), protocol)])
        return Batch(planned, (0,)).repeatable

    assert of("hpolib-naval", Protocol(5, None, 4)) == "any processor"
    assert of("learner:knn:wine", Protocol(5, None, 1)) == "the same machine"
    for bench, protocol in (
        ("hpolib-naval", Protocol(5, None, 1, charge_thinking=True)),
        ("learner:knn:wine", Protocol(None, 3.0, 1)),
        ("learner:knn:wine", Protocol(5, None, 2)),
    ):
        assert of(bench, protocol) == ""
    assert of("learner:knn:wine", Protocol(5, None, 1), "predict_time<=1") == ""


def test_failed_evaluations_of_an_interrupted_run_are_retried(tmp_path: Path) -> None:
    """Else they would be told again, and a second retry would throw away what came after them."""
    store = Store.create(tmp_path / "store")
    setup = make_setup(evals=9)
    begin(store, setup, 0, [9.0, 7.0, 8.0])
    begin(store, setup, 1, [9.0, 7.0, math.nan, 8.0])
    _forget_failed(store, [cast(PlannedSetup, SimpleNamespace(setup=setup, seeds=(0, 1, 2)))])
    for seed, left in ((0, 3), (1, 2)):
        journal = Journal(store.journals / f"{setup.run_id(seed)}.jsonl", setup.run_id(seed))
        assert [record.status for record in journal.records] == ["ok"] * left
        journal.close()

"""A store on a disk that fails, loses its power, or changes its bits: nothing is lost, and nothing is silent."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nasbench.results import Store, StoreError, Trajectory
from nasbench.results.store import content_hash, disk, fragment, plans
from nasbench.results.store.status import status
from nasbench.results.store.trajectory import schema
from tests.results.conftest import FACTS, make_run, make_setup
from tests.results.faults import SHORT, Counting, Cutting, Failing, PowerCut, flipped

pytestmark = pytest.mark.usefixtures("without_fsync")

SLOW = pytest.mark.slow
ONE, OTHER = make_setup(), make_setup("other", metrics=("valid-error@1", "latency"))


def logged(seed: int) -> Trajectory:
    """A run with a search log."""
    run = make_run(seed, [2.0, 1.0])
    return Trajectory(**vars(run) | {"log": tuple((1, "found", float(i), None, "a", None, i) for i in range(3))})


def work(folder: Path) -> Store:
    """What a command does with a store: a plan, two setups, one of them in two parts with logs, a retried run."""
    store = Store.create(folder)
    store.save_plan("nasbench run", [(ONE, [0, 1, 2]), (OTHER, [0])], {"title": "t"})
    present = store.runs().get(ONE.id, {})
    if 1 in present and present[1].failed:
        store.forget(ONE, {1})
    for seeds in ([0, 1], [2]):
        store.commit(ONE, [logged(seed) for seed in seeds], FACTS)
    store.commit(OTHER, [make_run(0, [3.0])], FACTS)
    return store


def begun(folder: Path) -> None:
    """A store with a failed run, to be retried, in a fragment with one that is good."""
    store = Store.create(folder)
    failed = make_run(1, [float("nan")])
    store.commit(ONE, [logged(0), failed], FACTS)


@pytest.fixture
def expected(in_memory: Path) -> str:
    return content_hash(work(in_memory / "expected"))


def copies(source: Path, target: Path) -> Iterator[Path]:
    """Fresh copies of a store, one after the other at one place."""
    while True:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        yield target


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (errno.ENOSPC, 3),
        pytest.param(errno.ENOSPC, 1, marks=SLOW),
        pytest.param(errno.EIO, 1, marks=SLOW),
        pytest.param(SHORT, 1, marks=SLOW),
    ],
)
def test_whichever_operation_fails_the_same_command_finishes(
    code: int, step: int, expected: str, in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(in_memory / "begun")
    places = copies(in_memory / "begun", in_memory / "store")
    monkeypatch.setattr(disk, "system", counter := Counting())
    work(next(places))
    total = counter.count
    assert total > 80
    silent = 0
    for nth in range(0, total, step):
        folder = next(places)
        failing = Failing(nth, code)
        monkeypatch.setattr(disk, "system", failing)
        try:
            work(folder)
            silent += 1  # what is skipped or tried again is no error
        except StoreError as error:
            assert str(error).count("\n") == 0
        monkeypatch.setattr(disk, "system", Counting())
        seen = {seed: run.failed for seed, run in Store.open(folder).runs().get(ONE.id, {}).items()}
        assert 0 in seen or code == errno.EIO, (nth, failing.hit)  # what was stored before is still there
        assert content_hash(work(folder)) == expected, (nth, failing.hit)
        assert not list(folder.rglob("*.tmp")), (nth, failing.hit)
    assert silent < total / step / 2 or code == SHORT


@pytest.mark.parametrize(
    ("seed", "step"),
    [(0, 3), pytest.param(0, 1, marks=SLOW), pytest.param(1, 1, marks=SLOW), pytest.param(2, 1, marks=SLOW)],
)
def test_whenever_the_power_fails_the_same_command_finishes(
    seed: int, step: int, expected: str, in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    begun(in_memory / "begun")
    places = copies(in_memory / "begun", in_memory / "store")
    nth = 0
    while True:
        folder = next(places)
        cutting = Cutting(nth)
        monkeypatch.setattr(disk, "system", cutting)
        try:
            work(folder)
            break
        except PowerCut:
            pass
        cutting.settle(folder, rng)
        monkeypatch.setattr(disk, "system", Counting())
        assert content_hash(work(folder)) == expected, nth
        nth += step
    assert nth > 60


def test_a_run_is_never_reported_as_stored_before_it_is_safe(in_memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The power fails right after `commit` has returned: whatever was not synchronised is gone."""
    for seed in range(20):
        folder = in_memory / f"store{seed}"
        cutting = Cutting(10**9)
        monkeypatch.setattr(disk, "system", cutting)
        work(folder)
        cutting.settle(folder, random.Random(seed))
        monkeypatch.setattr(disk, "system", Counting())
        assert {s for runs in Store.open(folder).runs().values() for s in runs} == {0, 1, 2}


READERS = {
    "random*.parquet": fragment.read,
    "_plans/*.json": plans.read,
    "0-schema.parquet": fragment.read_header,
}


@pytest.mark.slow
@pytest.mark.parametrize("part", READERS)
def test_every_flipped_bit_of_a_file_is_noticed_or_without_effect(part: str, in_memory: Path) -> None:
    store = work(in_memory / "store")
    path = sorted(store.folder.glob(part))[0]
    content, intact = path.read_bytes(), READERS[part](path)
    silent = cases = 0
    for position, damaged in flipped(content):
        if part == "0-schema.parquet" and damaged[position] ^ content[position] != 1 << position % 8:
            continue  # one bit of each byte: Arrow needs a while for each
        cases += 1
        path.write_bytes(damaged)
        try:
            found = READERS[part](path)
        except fragment.Torn:
            continue
        assert part == "0-schema.parquet"  # of the others the name holds a digest
        assert found == intact
        assert pq.read_schema(path).equals(schema(tuple(intact.metrics)))
        silent += 1
    assert silent < cases / 2


def test_every_flipped_bit_of_a_search_log_is_noticed(in_memory: Path) -> None:
    store = work(in_memory / "store")
    (f, *_) = [f for f in store.fragments() if f.setup == ONE]
    path = store.folder / "_searches" / f"{ONE.run_id(f.seeds[0])}.parquet"
    assert fragment.read_log(path, f.runs[0].log).num_rows == 3
    for _, damaged in flipped(path.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(fragment.Torn, match="do not match the digest"):
            fragment.read_log(path, f.runs[0].log)


@pytest.mark.parametrize("part", [*READERS, "_searches/*.parquet"])
def test_what_is_damaged_is_said_and_healed_by_the_same_command(part: str, expected: str, in_memory: Path) -> None:
    folder = in_memory / "store"
    for share in (0.001, 0.5, 0.97):
        work(folder)
        path = sorted(folder.glob(part))[0]
        content = bytearray(path.read_bytes())
        content[int(share * len(content))] ^= 1
        path.write_bytes(content)
        store = Store.open(folder)
        found = content_hash(store)
        states = {c.state for c in status(store, lambda _: True)}
        assert (found != expected) == (states != {"complete"})
        if part != "0-schema.parquet":
            assert store.notices
            assert (found == expected) == (part == "_plans/*.json")
        healed = work(folder)
        assert content_hash(healed) == expected
        assert len(healed.plans()) == 1
        assert {c.state for c in status(healed, lambda _: True)} == {"complete"}
        assert content_hash(Store.open(folder)) == expected

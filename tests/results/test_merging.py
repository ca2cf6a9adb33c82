"""Several stores as one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from nasbench.methods import Logged
from nasbench.results import Store, StoreError
from nasbench.results.store import content_hash, disk
from nasbench.results.store.merging import merge
from nasbench.results.store.plans import PlanShard, digest_of
from nasbench.results.store.status import absent, shards
from tests.results.conftest import FACTS, make_run, make_setup

LOG = (Logged(1, "loss", 0.5),)


def made(folder: Path, seeds: dict[str, list[int]], value: float = 3.0) -> Store:
    """A store with these seeds of some methods, each with a search log."""
    store = Store.create(folder)
    for method, own in seeds.items():
        store.commit(make_setup(method), [replace(make_run(s, [value, 2.0]), log=LOG) for s in own], FACTS)
    store.save_plan(str(folder.name), [(make_setup(method), own) for method, own in seeds.items()], {"title": "t"})
    return store


def test_runs_logs_and_plans_are_those_of_one_store(tmp_path: Path) -> None:
    parts = [made(tmp_path / "a", {"x": [0, 1], "y": [0]}), made(tmp_path / "b", {"x": [2], "z": [5]})]
    whole = made(tmp_path / "whole", {"x": [0, 1, 2], "y": [0], "z": [5]})
    before = [content_hash(store) for store in parts]
    together, added = merge(parts, tmp_path / "all")
    assert added == 5
    assert content_hash(together) == content_hash(whole)
    assert [content_hash(store) for store in parts] == before
    assert sorted(plan["command"] for plan in together.plans()) == ["a", "b"]
    (x,) = (f for f in together.fragments() if f.seeds == [2])
    assert together.search_log(x, 2) is not None
    assert Store.create(tmp_path / "all").notices == []


def test_a_run_that_two_stores_have_counts_once(tmp_path: Path) -> None:
    parts = [made(tmp_path / "a", {"x": [0, 1]}), made(tmp_path / "b", {"x": [1, 2]})]
    together, added = merge(parts, tmp_path / "all")
    assert added == 3
    assert sorted(seed for f in together.fragments() for seed in f.seeds) == [0, 1, 2]
    assert merge(parts, tmp_path / "all")[1] == 0  # again: nothing is new
    assert content_hash(Store.open(tmp_path / "all")) == content_hash(made(tmp_path / "whole", {"x": [0, 1, 2]}))


def test_two_results_of_a_run_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    one, other = made(tmp_path / "a", {"x": [0, 1]}), made(tmp_path / "b", {"x": [1]}, value=4.0)
    with pytest.raises(StoreError, match=r"a and .*b have different results of x on toy, none, seed 1: leave one"):
        merge([one, other], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    merge([one], tmp_path / "all")
    with pytest.raises(StoreError, match="different results"):
        merge([other], tmp_path / "all")
    assert len(Store.open(tmp_path / "all").runs()[make_setup("x").id]) == 2


def test_a_sound_run_counts_and_not_one_that_failed_elsewhere(tmp_path: Path) -> None:
    setup, log = make_setup("x"), {"log": LOG}
    failed = replace(make_run(0, [3.0, math.nan]), **log, failure="killed")
    for name, run in (("failed", failed), ("sound", replace(make_run(0, [3.0, 2.0]), **log))):
        Store.create(tmp_path / name).commit(setup, [run], FACTS)
    failed_store, sound = Store.open(tmp_path / "failed"), Store.open(tmp_path / "sound")
    merge([failed_store], tmp_path / "later")
    for number, (sources, folder) in enumerate(
        [([failed_store, sound], "one"), ([sound, failed_store], "two"), ([sound], "later")]
    ):
        together, added = merge(sources, tmp_path / folder)
        assert added == 1, number
        assert content_hash(together) == content_hash(sound), number
    assert len(list((tmp_path / "later" / "_aside").glob("*.parquet"))) == 2  # the failed run with its log
    other = Store.create(tmp_path / "other")
    other.commit(setup, [replace(make_run(0, [4.0, math.nan]), failure="killed")], FACTS)
    with pytest.raises(StoreError, match="different results"):
        merge([failed_store, other], tmp_path / "all")


def test_shards_of_a_plan_that_a_later_one_replaces_are_not_missing(tmp_path: Path) -> None:
    """More seeds, or another version of a method: the same command was given again."""
    x, y = make_setup("x"), make_setup("y")
    store = Store.create(tmp_path / "s")
    store.save_plan("c", [(x, [0]), (y, [0])], {}, PlanShard(1, 2, "a" * 16, 4))
    store.save_plan("c", [(x, [0, 2]), (y, [1])], {}, PlanShard(1, 2, "b" * 16, 6))
    assert absent([store]) == ["shard 2 of 2 is missing (3 runs)"]
    assert shards(store) == [PlanShard(1, 2, "b" * 16, 6)]
    raised = replace(x, method_version=x.method_version + 1), replace(y, method_version=y.method_version + 1)
    store.save_plan("c", [(raised[0], [0, 2]), (raised[1], [1])], {}, PlanShard(1, 2, "c" * 16, 6))
    assert shards(store) == [PlanShard(1, 2, "c" * 16, 6)]
    store.save_plan("d", [(x, [0, 1, 2])], {})  # another plan: it has not all setups
    store.save_plan("e", [(x, [0]), (y, [0])], {})  # nor has one of fewer runs all seeds
    assert absent([store]) == ["shard 2 of 2 is missing (3 runs)"]
    store.save_plan("f", [(x, [0, 1, 2]), (y, [0, 1, 2])], {})
    assert absent([store]) == []


def test_shards_without_runs_stand_side_by_side(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    for number in (2, 3, 3):
        store.save_plan("c", [], {}, PlanShard(number, 3, "a" * 16, 1))
    assert shards(store) == [PlanShard(number, 3, "a" * 16, 1) for number in (2, 3)]
    assert absent([store]) == ["shard 1 of 3 is missing (1 run)"]
    assert len(list((store.folder / "_plans").iterdir())) == 2


def test_a_damaged_log_of_a_store_is_not_copied(tmp_path: Path) -> None:
    store = made(tmp_path / "a", {"x": [0]})
    (log,) = (store.folder / "_searches").iterdir()
    log.write_bytes(b"x" + log.read_bytes()[1:])
    together, added = merge([Store.open(tmp_path / "a")], tmp_path / "all")
    assert added == 0
    assert together.fragments() == []


def test_a_plan_that_names_no_shard_is_damaged(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s")
    store.save_plan("c", [(make_setup(), [0])], {}, PlanShard(1, 2, "0" * 16, 4))
    assert absent([store]) == ["shard 2 of 2 is missing (2 runs)"]
    (path,) = (store.folder / "_plans").glob("*.json")
    for shard in ([1, 2], [3, 2, "0" * 16, 4], [1, 2, "x", 4], [1.5, 2, "0" * 16, 4], "shard", [1, 2, "0" * 16, True]):
        content = json.dumps(json.loads(path.read_text()) | {"shard": shard}).encode()
        (store.folder / "_plans" / f"{'0' * 16}.{disk.digest(content)}.json").write_bytes(content)
        assert len(Store.open(tmp_path / "s").plans()) == 1


def test_shards_of_other_plans_and_of_the_whole(tmp_path: Path) -> None:
    grid = [(make_setup("x"), [0, 1]), (make_setup("y"), [0])]
    whole = digest_of(grid)
    assert whole == digest_of(grid[::-1]) != digest_of(grid[:1])
    first = Store.create(tmp_path / "first")
    first.save_plan("c", [(make_setup("x"), [0])], {}, PlanShard(1, 3, whole, 3))
    other = Store.create(tmp_path / "other")
    other.save_plan("c", [(make_setup("x"), [1])], {}, PlanShard(2, 3, "f" * 16, 3))
    assert len(absent([first, other])) == 2
    assert absent([first]) == ["shards 2 and 3 of 3 are missing (2 runs)"]
    many = Store.create(tmp_path / "many")
    many.save_plan("c", [(make_setup("x"), [0])], {}, PlanShard(1, 9, whole, 3))
    assert absent([many]) == ["shards 2 and 3 of 9 are missing (2 runs)"]
    many.save_plan("d", [], {}, PlanShard(2, 9, whole, 3))
    many.save_plan("e", [], {"title": "t"}, PlanShard(3, 9, whole, 3))
    assert absent([many]) == []  # the others have no run
    forged = Store.create(tmp_path / "forged")
    forged.save_plan("c", [], {}, PlanShard(1, 10**9, whole, 10**9))
    assert absent([forged]) == ["999,999,999 shards of 1,000,000,000 are missing (999,999,999 runs)"]
    halves = Store.create(tmp_path / "halves")
    halves.save_plan("h", grid[:1], {}, PlanShard(1, 2, whole, 3))
    halves.save_plan("i", grid[1:], {}, PlanShard(2, 2, whole, 3))
    assert absent([halves, first]) == []  # two halves are the whole, whatever a third of it is
    complete = Store.create(tmp_path / "complete")
    complete.save_plan("c", grid, {})
    assert absent([first, many, complete]) == []

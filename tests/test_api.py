"""The interface of NAS-Bench-101's own package: hashes of the official file, and answers by its rules."""

from __future__ import annotations

import gzip
import math
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench import api
from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.nasbench101 import OPERATIONS, matrix_of
from tests.benchmarks.cells101 import any_cell
from tests.benchmarks.test_nasbench101 import CELLS, numbers, written

SAMPLE = Path(os.environ.get("NASBENCH_SHARED") or Path(__file__).parents[2] / "shared") / "data" / "families"
SAMPLE /= "nas-bench-101-sample/nb101_subset30001.csv.gz"
INCEPTION = [  # the cell of the package's documentation
    [0, 1, 1, 1, 0, 1, 0],
    [0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 0],
]


def spec_of(cell: tuple[int, ...]) -> api.ModelSpec:
    matrix, operations = matrix_of(cell)
    side = len(operations)
    return api.ModelSpec(np.array([*map(int, matrix)]).reshape(side, side), operations)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> api.NASBench:
    return api.NASBench(written(tmp_path_factory.mktemp("nb101") / "few.tfrecord", CELLS), seed=3)


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample of NAS-Bench-101 is not here (NASBENCH_SHARED)")
def test_hashes_are_those_of_the_official_file() -> None:
    with gzip.open(SAMPLE, "rt") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1::25]
    assert len(rows) > 1000
    for module, vertices, upper, operations, *_ in rows:
        side = int(vertices)
        matrix = np.zeros((side, side), int)
        for row, bits in enumerate(upper.split("/")):
            matrix[row, row + 1 :] = [*map(int, bits)]
        spec = api.ModelSpec(matrix, ["input", *filter(None, operations.split("|")), "output"])
        assert spec.hash_spec(OPERATIONS) == module


def test_cells_are_pruned_as_the_package_of_others_prunes_them() -> None:
    theirs = pytest.importorskip("nasbench_pytorch.model.model_spec", exc_type=ImportError)
    graphs = pytest.importorskip("nasbench_pytorch.model.graph_util", exc_type=ImportError)
    rng, compared = random.Random(0), 0
    for _ in range(300):
        matrix = np.triu([[int(rng.random() < 0.35) for _ in range(7)] for _ in range(7)], 1)
        operations = ["input", *(rng.choice(OPERATIONS) for _ in range(5)), "output"]
        one = api.ModelSpec(matrix, operations)
        if one.valid_spec:  # theirs fails for others
            other = theirs.ModelSpec(matrix, operations)
            assert np.array_equal(one.matrix, np.array(other.matrix))  # type: ignore[arg-type]
            assert one.ops == other.ops
            assert one.hash_spec() == graphs.hash_module(
                np.array(other.matrix), [-1, *map(OPERATIONS.index, other.ops[1:-1]), -2]
            )
            compared += 1
    assert compared > 100


def test_dead_vertices_are_left_out_and_isomorphic_cells_are_one() -> None:
    operations = ["input", *(OPERATIONS[k] for k in (1, 0, 0, 0, 2)), "output"]
    spec = api.ModelSpec(INCEPTION, operations)
    assert spec.valid_spec
    assert np.array_equal(spec.matrix, INCEPTION)  # type: ignore[arg-type]
    dead = [[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    pruned = api.ModelSpec(dead, ["input", OPERATIONS[2], OPERATIONS[0], "output"])
    assert pruned.matrix is not None
    assert (pruned.matrix.tolist(), pruned.ops) == (
        [[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["input", OPERATIONS[0], "output"]
    )  # fmt: skip
    assert len(pruned.original_ops) == 4
    two = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    hashes = {
        api.ModelSpec(two, ["input", *pair, "output"]).hash_spec() for pair in (OPERATIONS[:2], OPERATIONS[1::-1])
    }
    assert len(hashes) == 1
    assert not api.ModelSpec([[0, 0], [0, 0]], ["input", "output"]).valid_spec


@pytest.mark.parametrize(
    ("matrix", "operations", "said"),
    [
        ([[0, 1]], ["input"], "square"),
        ([[0, 1], [0, 0]], ["input"], "length of ops"),
        ([[0, 0], [1, 0]], ["input", "output"], "upper triangular"),
        ([[1, 1], [0, 0]], ["input", "output"], "upper triangular"),
        ([[0, 2], [0, 0]], ["input", "output"], "must consist of 0 and 1"),
        ([[0, 0.5], [0, 0]], ["input", "output"], "must consist of 0 and 1"),
        ([[0, math.nan], [0, 0]], ["input", "output"], "must consist of 0 and 1"),
    ],
)
def test_what_is_no_cell_is_refused(matrix: Any, operations: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        api.ModelSpec(matrix, operations)


def test_every_training_of_the_file_is_there(benchmark: api.NASBench) -> None:
    assert benchmark.valid_epochs == {4, 108}
    assert len([*benchmark.hash_iterator()]) == len(benchmark.fixed_statistics) == 40
    for i, cell in enumerate(CELLS):
        fixed, computed = benchmark.get_metrics_from_spec(spec_of(cell))
        assert fixed["trainable_parameters"] == numbers(i, 4, 0)[3]
        matrix, operations = matrix_of(cell)
        assert "".join(map(str, fixed["module_adjacency"].ravel())) == matrix
        assert fixed["module_operations"] == operations
        assert sorted(computed) == [4, 108]
        for epochs in (4, 108):
            for run, found in enumerate(computed[epochs]):
                valid, test, seconds, _ = numbers(i, epochs, run)
                assert found == {
                    "halfway_training_time": seconds / 2,
                    "halfway_train_accuracy": 1.0,
                    "halfway_validation_accuracy": valid / 2,
                    "halfway_test_accuracy": test / 2,
                    "final_training_time": seconds,
                    "final_train_accuracy": 1.0,
                    "final_validation_accuracy": valid,
                    "final_test_accuracy": test,
                }


def test_queries_answer_one_of_three_trainings_and_are_counted(benchmark: api.NASBench, tmp_path: Path) -> None:
    benchmark = api.NASBench(written(tmp_path / "few.tfrecord", CELLS), seed=3)
    drawn = random.Random(3)  # as the package draws
    spec = spec_of(CELLS[5])
    for _ in range(10):
        valid, test, seconds, parameters = numbers(5, 108, drawn.randint(0, 2))
        found = benchmark.query(spec)
        assert (found["validation_accuracy"], found["test_accuracy"]) == (valid, test)
        assert (found["training_time"], found["trainable_parameters"]) == (seconds, parameters)
    seconds, epochs = benchmark.get_budget_counters()
    assert (seconds > 10_000, epochs) == (True, 1080)
    benchmark.reset_budget_counters()
    half = benchmark.query(spec, epochs=4, stop_halfway=True)
    assert benchmark.get_budget_counters() == (half["training_time"], 2)
    assert half["training_time"] < 24
    found["module_adjacency"][:] = 9  # the caller's own copy
    assert benchmark.query(spec)["module_adjacency"].max() == 1


def test_a_cell_with_one_training_has_that_one(tmp_path: Path) -> None:
    few = api.NASBench(written(tmp_path / "one.tfrecord", CELLS[:2], runs=1))
    assert {few.query(spec_of(CELLS[1]))["validation_accuracy"] for _ in range(9)} == {numbers(1, 108, 0)[0]}


def test_what_is_not_in_the_benchmark_is_out_of_its_domain(benchmark: api.NASBench) -> None:
    with pytest.raises(api.OutOfDomainError, match=r"invalid number of epochs, must be one of \{.*108"):
        benchmark.query(spec_of(CELLS[0]), epochs=12)
    every = np.triu(np.ones((7, 7), int), 1)
    names = ["input", *OPERATIONS, *OPERATIONS[:2], "output"]
    cases = {
        "too many edges, got 21": api.ModelSpec(every, names),
        "unsupported op conv7": api.ModelSpec([[0, 1, 0], [0, 0, 1], [0, 0, 0]], ["input", "conv7", "output"]),
        "first operation": api.ModelSpec([[0, 1], [0, 0]], ["in", "output"]),
        "last operation": api.ModelSpec([[0, 1], [0, 0]], ["input", "out"]),
        "disconnected": api.ModelSpec([[0, 0], [0, 0]], ["input", "output"]),
        "too many vertices, got 8": api.ModelSpec(
            np.eye(8, k=1, dtype=int), ["input", *OPERATIONS, *OPERATIONS, "output"]
        ),
    }
    for said, spec in cases.items():
        assert not benchmark.is_valid(spec)
        with pytest.raises(api.OutOfDomainError, match=said):
            benchmark.query(spec)
    with pytest.raises(api.OutOfDomainError, match="disconnected"):
        cases["disconnected"].hash_spec()
    rng = random.Random(2)
    other = next(cell for cell in iter(lambda: any_cell(rng), None) if benchmark.is_valid(spec_of(cell)))
    with pytest.raises(api.OutOfDomainError, match="no training of the cell"):
        benchmark.query(spec_of(other))
    with pytest.raises(NotImplementedError, match="TensorFlow 1"):
        benchmark.evaluate(spec_of(CELLS[0]), "here")


def test_a_file_of_another_kind_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(b"")
    with pytest.raises(UsageError, match="has no trainings"):
        api.NASBench(tmp_path / "x.tfrecord")
    with pytest.raises(UsageError, match=r"no file|there is no"):
        api.NASBench(tmp_path / "absent.tfrecord")

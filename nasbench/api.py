"""The interface of NAS-Bench-101's own package (google-research/nasbench), on its file, without TensorFlow.

Scripts that say `from nasbench import api` run as they are: `api.NASBench("nasbench_only108.tfrecord")`. Training a
cell is left out: it needs TensorFlow 1 and a TPU.
"""

from __future__ import annotations

import copy
import random
from array import array
from collections.abc import Iterator, KeysView, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.textfile import check_file
from nasbench.benchmarks.spaces.graphs.paths import on_paths
from nasbench.benchmarks.spaces.nasbench101 import OPERATIONS, VERTICES, hashed
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES
from nasbench.benchmarks.tabular.nasbench101 import trainings

__all__ = ["ModelSpec", "NASBench", "OutOfDomainError"]

_REPEATS = 3
_NAMES = ("training_time", "train_accuracy", "validation_accuracy", "test_accuracy")
"""What is measured, in the order of `Measured`."""

_DISCONNECTED = "invalid spec, provided graph is disconnected."

Statistics = dict[str, Any]
"""Names and values, as the benchmark's own package has them."""


class OutOfDomainError(Exception):
    """A cell, or a number of epochs, is not in the benchmark."""


class ModelSpec:
    """A cell, without the vertices that are on no path from input to output.

    Args:
        matrix: adjacency, upper triangular, shape (vertices, vertices).
        ops: the operations of all vertices; the first is `input`, the last `output`.
        data_format: kept, and not used.

    Raises ValueError for another shape, other entries than 0 and 1, or an edge that does not lead to a later vertex.
    """

    def __init__(self, matrix: Any, ops: Sequence[str], data_format: str = "channels_last") -> None:
        self.original_matrix: NDArray[Any] = np.array(matrix)
        self.original_ops = list(ops)
        self.data_format = data_format
        shape = self.original_matrix.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError("matrix must be square")
        if shape[0] != len(ops):
            raise ValueError("length of ops must match matrix dimensions")
        if np.tril(self.original_matrix).any():
            raise ValueError("matrix must be upper triangular")
        if not np.isin(self.original_matrix, (0, 1)).all():
            raise ValueError("matrix must consist of 0 and 1")
        edges = sorted(zip(*map(np.ndarray.tolist, self.original_matrix.nonzero()), strict=True), key=lambda e: e[::-1])
        alive = sorted(on_paths(edges, shape[0] - 1)) if shape[0] else []
        self.valid_spec = len(alive) >= 2
        """Whether a path leads from input to output."""
        self.matrix = self.original_matrix[np.ix_(alive, alive)] if self.valid_spec else None
        self.ops = [self.original_ops[v] for v in alive] if self.valid_spec else None

    def hash_spec(self, canonical_ops: Sequence[str] = OPERATIONS) -> str:
        """The benchmark's hash, equal for isomorphic cells.

        Raises OutOfDomainError if no path leads from input to output, ValueError for other canonical operations.
        """
        if tuple(canonical_ops) != OPERATIONS:
            raise ValueError(f"canonical_ops are those of the benchmark: {', '.join(OPERATIONS)}")
        if self.matrix is None or self.ops is None:
            raise OutOfDomainError(_DISCONNECTED)
        names = ["input", *self.ops[1:-1], "output"]
        return hashed("".join("1" if bit else "0" for bit in self.matrix.ravel()), names)


class NASBench:
    """The benchmark: a lookup table of cells with three trainings each.

    Args:
        dataset_file: an official `.tfrecord`; reading it takes minutes.
        seed: of the choice among the three trainings; the same seed and queries give the same answers.

    Raises UsageError if the file cannot be read.
    """

    def __init__(self, dataset_file: str | Path, seed: Any = None) -> None:
        self.config: dict[str, Any] = {
            "module_vertices": VERTICES,
            "max_edges": MOST_EDGES,
            "num_repeats": _REPEATS,
            "available_ops": list(OPERATIONS),
        }
        check_file(Path(dataset_file))
        self._random = random.Random(seed)
        self._table = _Table(Path(dataset_file))
        self.valid_epochs = self._table.epochs
        self.fixed_statistics: Mapping[str, Statistics] = _View(self._table, self._table.fixed)
        """Hash → adjacency, operations and parameters."""
        self.computed_statistics: Mapping[str, dict[int, list[Statistics]]] = _View(self._table, self._table.computed)
        """Hash → epochs → what was measured in each training."""
        self.history: dict[Any, Any] = {}
        self.reset_budget_counters()

    def query(self, model_spec: ModelSpec, epochs: int = 108, stop_halfway: bool = False) -> Statistics:
        """One of the trainings of a cell, which counts in the budget.

        Args:
            epochs: the whole training: 108, with the larger file also 4, 12 or 36.
            stop_halfway: whether to stop after half of these.

        Raises OutOfDomainError for a cell or a number of epochs that there is not.
        """
        if epochs not in self.valid_epochs:
            raise OutOfDomainError(f"invalid number of epochs, must be one of {self.valid_epochs}")
        fixed, computed = self.get_metrics_from_spec(model_spec)
        repeats = computed[epochs]  # three, but in a part of a file
        chosen = repeats[self._random.randint(0, len(repeats) - 1)]
        when = "halfway" if stop_halfway else "final"
        data = fixed | {name: chosen[f"{when}_{name}"] for name in _NAMES}
        self.training_time_spent += data["training_time"]
        self.total_epochs_spent += epochs // 2 if stop_halfway else epochs
        return data

    def is_valid(self, model_spec: ModelSpec) -> bool:
        """Whether a cell is in the benchmark; at no cost."""
        try:
            self._check_spec(model_spec)
        except OutOfDomainError:
            return False
        return True

    def get_budget_counters(self) -> tuple[float, int]:
        """Seconds of training and epochs that queries have spent."""
        return self.training_time_spent, self.total_epochs_spent

    def reset_budget_counters(self) -> None:
        """Begins to count anew."""
        self.training_time_spent = 0.0
        self.total_epochs_spent = 0

    def evaluate(self, model_spec: ModelSpec, model_dir: str) -> NoReturn:
        """Raises NotImplementedError: cells are not trained here."""
        raise NotImplementedError("training a cell needs TensorFlow 1; this interface looks trainings up")

    def hash_iterator(self) -> KeysView[str]:
        """The hashes of all cells."""
        return self.fixed_statistics.keys()

    def get_metrics_from_hash(self, module_hash: str) -> tuple[Statistics, dict[int, list[Statistics]]]:
        """What is known of a cell, and every training of it; at no cost. Raises KeyError for an unknown hash."""
        return copy.deepcopy(self.fixed_statistics[module_hash]), self.computed_statistics[module_hash]

    def get_metrics_from_spec(self, model_spec: ModelSpec) -> tuple[Statistics, dict[int, list[Statistics]]]:
        """The same of a cell that may be written in any way. Raises OutOfDomainError for one that there is not."""
        self._check_spec(model_spec)
        module_hash = model_spec.hash_spec(self.config["available_ops"])
        if module_hash not in self.fixed_statistics:
            raise OutOfDomainError(f"this file has no training of the cell {module_hash}")
        return self.get_metrics_from_hash(module_hash)

    def _check_spec(self, model_spec: ModelSpec) -> None:
        if not model_spec.valid_spec or model_spec.ops is None or model_spec.matrix is None:
            raise OutOfDomainError(_DISCONNECTED)
        vertices, edges = len(model_spec.ops), int(np.sum(model_spec.matrix))
        if vertices > VERTICES:
            raise OutOfDomainError(f"too many vertices, got {vertices} (max vertices = {VERTICES})")
        if edges > MOST_EDGES:
            raise OutOfDomainError(f"too many edges, got {edges} (max edges = {MOST_EDGES})")
        if model_spec.ops[0] != "input":
            raise OutOfDomainError("first operation should be 'input'")
        if model_spec.ops[-1] != "output":
            raise OutOfDomainError("last operation should be 'output'")
        for op in model_spec.ops[1:-1]:
            if op not in OPERATIONS:
                raise OutOfDomainError(f"unsupported op {op} (available ops = {list(OPERATIONS)})")


class _Table:
    """Every training of a file, in arrays: as dicts they would take ten times the memory."""

    def __init__(self, path: Path) -> None:
        self.cells: dict[str, tuple[int, str, str, int]] = {}
        """Hash → number, adjacency, operations, parameters."""
        rows, measured = array("q"), array("d")
        for one in trainings(path):
            number, *_ = self.cells.setdefault(one.module, (len(self.cells), *one.cell, one.parameters))
            rows.extend((number, one.epochs))
            measured.extend((*one.halfway, *one.final))
        if not rows:
            raise UsageError(f"{path} has no trainings")
        keys = np.array(rows).reshape(-1, 2)
        order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the trainings of a cell stay in their order
        self._keys, self._measured = keys[order], np.array(measured).reshape(len(keys), -1)[order]
        self.epochs = {int(epochs) for epochs in np.unique(keys[:, 1])}

    def fixed(self, module: str) -> Statistics:
        """Adjacency, operations and parameters of a cell."""
        _, adjacency, operations, parameters = self.cells[module]
        side = len(operations.split(","))
        matrix = np.array([int(bit) for bit in adjacency], np.int8).reshape(side, side)
        return {
            "module_adjacency": matrix,
            "module_operations": operations.split(","),
            "trainable_parameters": parameters,
        }

    def computed(self, module: str) -> dict[int, list[Statistics]]:
        """Epochs → what was measured in each training of a cell."""
        number, *_ = self.cells[module]
        first, last = np.searchsorted(self._keys[:, 0], [number, number + 1])
        found: dict[int, list[Statistics]] = {}
        names = [f"{when}_{name}" for when in ("halfway", "final") for name in _NAMES]
        for (_, epochs), row in zip(self._keys[first:last].tolist(), self._measured[first:last].tolist(), strict=True):
            found.setdefault(epochs, []).append(dict(zip(names, row, strict=True)))
        return found


class _View(Mapping[str, Any]):
    """A mapping from hashes that makes its values when they are asked for."""

    def __init__(self, table: _Table, value: Any) -> None:
        self._table, self._value = table, value

    def __getitem__(self, module: str) -> Any:
        return self._value(module)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.cells)

    def __len__(self) -> int:
        return len(self._table.cells)

    def __contains__(self, module: object) -> bool:
        return module in self._table.cells

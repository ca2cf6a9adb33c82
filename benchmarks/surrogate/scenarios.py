"""Scenarios of YAHPO Gym: files, inputs, outputs and tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.base.errors import UsageError
from nasbench.base.files import beside
from nasbench.base.metrics import Metric
from nasbench.base.numbers import count
from nasbench.base.textfile import parse_json, read
from nasbench.benchmarks.folders import data_folder, made, place_of
from nasbench.benchmarks.sources import Source, read_checked

CONFIG, CODES, MODEL = "config_space.json", "encoding.json", "model.onnx"
"""Names of a scenario's files: the space, the codes of its categories, and the network."""
_TASKS = "tasks.json"  # beside a scenario's files: the tasks that are benchmarks, where they are not the chosen ones
AT = "@{}"
"""End of the name of a metric that is measured at a value of the fidelity."""


class MetricOutput(NamedTuple):
    """A metric, and the output of the network from which it is computed."""

    metric: Metric
    """Its name may end in `AT`."""
    output: str
    top: float | None = None
    """Number from which the output is subtracted; None if the metric is the output."""
    scale: float = 1.0
    """Factor of the difference."""


@dataclass(frozen=True, kw_only=True)
class Scenario(Source):
    """A surrogate for many tasks. Inputs and outputs are in the order of the network, which is not in its files."""

    offers_all = True

    prefix: str
    """Beginning of the names of its benchmarks, before the number of the task."""
    folder: str
    """Place of its files in the data folder."""
    categories: tuple[str, ...]
    """The categorical inputs, the task first."""
    numbers: tuple[str, ...]
    """The continuous inputs."""
    outputs: tuple[str, ...]
    answers: tuple[MetricOutput, ...]
    """The metrics, the objective first."""
    costs: tuple[str, ...]
    """Metrics whose sum is the cost of an evaluation in seconds."""
    fidelity: str
    """The input that is the fidelity."""
    axis: tuple[str, str]
    """Name and unit of the fidelity."""
    levels: tuple[int, ...]
    share: float = 1.0
    """Factor by which a level becomes the input."""
    continuable: bool
    """Whether levels are points of one training."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values of inputs that are neither hyper-parameters nor the fidelity."""
    groups: tuple[str, ...]
    """Groups of tasks that rank configurations similarly."""
    chosen: tuple[str, ...] = ()
    """Tasks that become benchmarks by default; empty if all do."""
    contradictory: str = ""
    """Tasks of which a search finds an error below 0.1 % with a balanced error that is 30 points larger or more."""
    search_space: str
    described: str
    """`Benchmark.source` of its benchmarks."""
    procedure: str

    @cached_property
    def families(self) -> dict[str, str]:
        """The family of each task, in ascending order of the tasks."""
        family_of = {t: f"{self.prefix}group-{k}" for k, group in enumerate(self.groups, 1) for t in group.split()}
        return dict(sorted(family_of.items(), key=lambda item: int(item[0])))

    @property
    def beginning(self) -> str:
        return self.prefix

    @property
    def place(self) -> Path:
        """The folder of its files, where they are or would be."""
        return place_of(Path(self.folder), MODEL)

    def contents(self, folder: Path) -> dict[str, bytes]:
        """Its files in a folder. Raises UsageError if one is missing or not the expected one."""
        return {file: read_checked(folder / file, digest, self.name) for file, digest in self.files.items()}

    def convert(self, folder: Path, every: bool = False) -> Iterator[str]:
        """Copies its files from a folder into the user's data folder, and says so.

        Raises UsageError if a file is missing or not the expected one.
        """
        contents = self.contents(folder)
        place = made(data_folder() / self.folder)
        if self.chosen:
            contents[_TASKS] = json.dumps(list(self.families if every else self.chosen)).encode()
        for name, content in contents.items():
            with beside(place / name) as aside:
                aside.write_bytes(content)
                aside.replace(place / name)
        names = [f"{self.prefix}{task}" for task in self.tasks()]
        yield (
            f"{count(len(names), 'benchmark')}, {names[0]} to {names[-1]}; values come from a surrogate; kept in "
            f"{place} until you delete it; `nasbench show {names[0]}` says more"
        )

    def tasks(self) -> list[str]:
        """The tasks that are benchmarks here; none if it has not been fetched."""
        place = self.place
        if not (place / MODEL).exists():
            return []
        try:
            stated = parse_json(place / _TASKS, read(place / _TASKS)) if self.chosen else list(self.families)
        except (OSError, UsageError):
            stated = None
        return [task for task in self.families if task in (stated if isinstance(stated, list) else self.chosen)]


_REPOSITORY, _COMMIT = "slds-lmu/yahpo_data", "efdab9072f63bd680396cd4b78b927c4a0caaad3"
_GYM = "YAHPO Gym (Pfisterer et al., AutoML 2022)"


def _measured(name: str, unit: str, words: str, split: str) -> Metric:
    return Metric(f"{split}-{name}{AT}", unit, True, words, split)


_BALANCED = "100 x (1 - balanced accuracy)"
_TEST = "on another scale than the validation's"
LCBENCH = Scenario(
    repository=_REPOSITORY,
    commit=_COMMIT,
    name="yahpo-lcbench",
    what="34 tasks, perceptrons with 7 hyper-parameters, 52 epochs (surrogate)",
    path="lcbench",
    licence="Apache-2.0 (data and surrogate)",
    citation=f"LCBench (Zimmer, Lindauer and Hutter, TPAMI 2021); {_GYM}",
    files={
        MODEL: "b45c0d85ae39abf8820c8bea5ac82f415763afcbaf3b725e36af452b09cb6dcd",
        CODES: "d8af928f412bbeb07e58ecd69877fcab35fbc595333d1c1c3f76120d2f2508da",
        CONFIG: "4d1c78a91429b4a37628e13f286cf1abe15f778a09722a4c01714f2d72a8200d",
    },
    origins={name: f"lcbench/{name}" for name in (MODEL, CODES, CONFIG)},
    prefix="lcbench-",
    folder="lcbench",
    categories=("OpenML_task_id",),
    numbers=(
        "epoch",
        "batch_size",
        "learning_rate",
        "momentum",
        "weight_decay",
        "num_layers",
        "max_units",
        "max_dropout",
    ),
    outputs=(
        "time",
        "val_accuracy",
        "val_cross_entropy",
        "val_balanced_accuracy",
        "test_cross_entropy",
        "test_balanced_accuracy",
    ),
    answers=(
        MetricOutput(_measured("balanced-error", "%", _BALANCED, "valid"), "val_balanced_accuracy", 1, 100),
        MetricOutput(_measured("balanced-error", "%", _BALANCED, "test"), "test_balanced_accuracy", 1, 100),
        MetricOutput(_measured("error", "%", "100 - accuracy", "valid"), "val_accuracy", 100),
        MetricOutput(_measured("cross-entropy", "", "cross-entropy", "valid"), "val_cross_entropy"),
        MetricOutput(_measured("cross-entropy", "", _TEST, "test"), "test_cross_entropy"),
        MetricOutput(Metric("time", "s", description="training time of {} epochs"), "time"),
    ),
    costs=("time",),
    fidelity="epoch",
    axis=("epochs", "1 epoch"),
    levels=tuple(range(1, 53)),
    continuable=True,
    # Average linkage at 0.58 of Spearman's coefficient of the validation error. Samples of 4,000 agree on the groups,
    # except for task 168910, which is between the first two; finer groups vary with the sample.
    groups=(
        "126026 167104 167149 167152 167161 167168 167181 167184 167185 167190 168908 168910 189862 189865 189905 "
        "189906",
        "3945 7593 126025 126029 167200 167201 168329 168330 168331 168335 189354 189866 189873 189908 189909",
        "146212",
        "34539",
        "168868",
    ),
    search_space="lcbench",
    described=(
        "LCBench (Zimmer, Lindauer and Hutter, TPAMI 2021), through the surrogate of YAHPO Gym (Pfisterer et al., "
        "AutoML 2022): a fitted network answers, not a table; it has no noise, and five layers lie beyond what it was "
        "fitted to"
    ),
    procedure="asks a network that was fitted to LCBench's learning curves; the seed changes nothing",
)


def _rbv2(learner: str, what: str, files: dict[str, str], memory: str = "", **facts: Any) -> Scenario:
    """A learner of R's mlr, tuned at random on data sets of OpenML.

    Args:
        memory: a remark on the metric `memory`.
    """
    folder = f"rbv2_{learner}"
    return Scenario(
        repository=_REPOSITORY,
        commit=_COMMIT,
        name=f"yahpo-rbv2-{learner}",
        what=what,
        path=folder,
        licence="Apache-2.0",
        citation=f"Binder, Pfisterer and Bischl (AutoML workshop at ICML 2020); {_GYM}",
        files=files,
        origins={name: f"{folder}/{name}" for name in files},
        prefix=f"yahpo-rbv2-{learner}-",
        folder=f"yahpo/{folder}",
        outputs=("acc", "bac", "auc", "brier", "f1", "logloss", "timetrain", "timepredict", "memory"),
        answers=(
            MetricOutput(_measured("error", "%", "100 x (1 - accuracy), by resampling", "only"), "acc", 1, 100),
            MetricOutput(_measured("balanced-error", "%", _BALANCED, "only"), "bac", 1, 100),
            MetricOutput(_measured("auc-loss", "", "1 - area under the ROC curve", "only"), "auc", 1),
            MetricOutput(_measured("brier", "", "Brier score", "only"), "brier"),
            MetricOutput(_measured("log-loss", "", "cross-entropy", "only"), "logloss"),
            MetricOutput(Metric("train_time", "s", description="training time on {} % of the data"), "timetrain"),
            MetricOutput(Metric("predict_time", "s", description="time to predict"), "timepredict"),
            MetricOutput(
                Metric("memory", "MB", description=f"memory of the training, as the source has it{memory}"), "memory"
            ),
        ),
        costs=("train_time", "predict_time"),
        fidelity="trainsize",
        axis=("trainsize", "1 % of the training data"),
        levels=(3, 6, 12, 25, 50, 100),
        share=0.01,
        continuable=False,
        fixed={"repl": 10.0},
        search_space=f"yahpo-rbv2-{learner}",
        described=(
            f"rbv2_{learner} (Binder, Pfisterer and Bischl, AutoML workshop at ICML 2020), through the surrogate of "
            "YAHPO Gym (Pfisterer et al., AutoML 2022): a fitted network answers, not a table; it has no noise"
        ),
        procedure="asks a network that was fitted to random configurations; the seed changes nothing",
        **facts,
    )


# Groups: average linkage of Spearman's coefficient of the accuracy at 0.4, on 4,000 random configurations. Chosen: the
# task with the largest spread of accuracy (from its 10 % to its 90 % quantile, at least 0.1) of each group, then those
# with the largest spread of all; contradictory tasks are left out.
RPART = _rbv2(
    "rpart",
    "117 tasks, decision trees with 5 hyper-parameters, 6 sizes of training data (surrogate)",
    {
        MODEL: "af34bb810107fd809bdd74be227685fb2a1c5cb7b1f3c2dde5629e42ef6819f3",
        CODES: "e978cd3de5b8fbad4f7dbb7a15bed94738d37c24a0bfb3cbdf33509ba91df49c",
        CONFIG: "86de5b9c8f9bc2f82eaafa099b9920445ce6edbe56509c9736af71d53ef4a630",
    },
    categories=("task_id", "num.impute.selected.cpo"),
    numbers=("cp", "maxdepth", "minbucket", "minsplit", "trainsize", "repl"),
    chosen=("40984", "23517", "4541", "40499", "32", "1478", "12", "300"),
    groups=(
        "3 6 11 12 14 15 16 18 22 23 24 28 29 32 37 38 42 44 46 50 54 60 151 181 182 188 300 307 312 375 "
        "377 458 470 554 1040 1049 1053 1063 1067 1111 1457 1461 1462 1464 1468 1475 1476 1478 1480 1485 "
        "1486 1489 1493 1494 1497 1501 1510 1515 1590 4134 4534 4538 23512 40496 40498 40499 40536 40668 "
        "40670 40685 40701 40900 40923 40927 40966 40975 40978 40979 40981 40982 40983 40984 40996 41027 "
        "41138 41142 41143 41146 41150 41156 41157 41159 41161 41162 41163 41164 41165 41166 41168 41169 "
        "41212",
        "1050 1056 1068 1220 1487 4154",
        "1479 4135 4541 23381",
        "31 334 469 23517",
        "40994",
        "6332",
    ),
)
XGBOOST = _rbv2(
    "xgboost",
    "119 tasks, boosted trees with 14 hyper-parameters, 8 of them conditional, 6 sizes of training data (surrogate)",
    {
        MODEL: "85125b6d97f553d10cd50f9e632e1a3f1ad44bcb00300dd2880d70dfd043d9f3",
        CODES: "0bd3cf9a4c9459a3148adf740f20b347fd11a6714f89348f41467a8f1206172a",
        CONFIG: "acf4485d314d86801f61b615d64ffea7859c414c363da9e7f943621468ebbda4",
    },
    memory="; near 0 for a part of the space, where the prediction fails: neither minimise nor constrain it",
    categories=("task_id", "booster", "num.impute.selected.cpo"),
    numbers=(
        "nrounds",
        "eta",
        "gamma",
        "lambda",
        "alpha",
        "subsample",
        "max_depth",
        "min_child_weight",
        "colsample_bytree",
        "colsample_bylevel",
        "rate_drop",
        "skip_drop",
        "trainsize",
        "repl",
    ),
    chosen=("377", "40966", "458", "1468", "1497", "40994", "470", "1479"),
    # By `python -m research.contradictions`.
    contradictory=(
        "6 12 14 16 18 22 28 32 42 60 181 182 300 375 554 1111 1220 1457 1461 1475 1476 1478 1493 "
        "1501 1515 1590 4538 4541 23512 23517 40498 40499 40668 40685 40923 40927 40979 40984 40996 "
        "41027 41138 41150 41162 41163 41164 41165 41166 41168 41169 41212 41216 41278"
    ),
    groups=(
        "3 6 11 12 14 15 16 18 22 23 24 28 29 31 32 37 38 42 44 46 50 54 60 151 181 182 188 300 307 312 "
        "375 377 458 554 1040 1049 1063 1067 1457 1462 1464 1468 1475 1476 1478 1480 1485 1486 1489 1493 "
        "1494 1497 1501 1510 1590 4134 4534 4538 4541 6332 23512 40496 40498 40499 40536 40668 40670 "
        "40685 40701 40900 40923 40927 40966 40975 40978 40979 40981 40982 40984 40996 41027 41142 41143 "
        "41146 41150 41156 41157 41159 41161 41162 41163 41164 41165 41166 41168 41169 41212 41216 41278",
        "1050 1056 1068 1111 1487 4135 4154 40983 40994 41138",
        "334 470 23381",
        "1053 1461",
        "469 1515",
        "1220",
        "1479",
        "23517",
    ),
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (LCBENCH, RPART, XGBOOST)}
"""Scenarios by their names for `nasbench data fetch`."""

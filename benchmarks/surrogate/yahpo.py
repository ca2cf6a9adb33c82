"""Surrogates of YAHPO Gym (Pfisterer et al., AutoML 2022): a fitted network predicts the scores of all configurations.

They are smooth: there is no repetition noise. A scenario is a folder with the network, the codes of its categories and
the space; `scenarios` has all other facts.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric, Values
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.abilities import quantile_rank
from nasbench.benchmarks.contract import Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.protobuf import Malformed
from nasbench.benchmarks.spaces import (
    Categorical,
    Configuration,
    Float,
    Hyperparameter,
    Integer,
    ParameterSpace,
)
from nasbench.benchmarks.surrogate.network import Array, OnnxNetwork
from nasbench.benchmarks.surrogate.scenarios import CODES, CONFIG, MODEL, SCENARIOS, Scenario

SAMPLE = 4096
"""Number of random configurations from which quantiles are computed, the same ones for all tasks of a scenario."""

_ABSENT = "#na#"  # the category of a hyper-parameter that a configuration does not have
_DIGITS = 12  # of the ends of a range: files have 0.10000000000000002
_KEPT = 4096  # curves cached per benchmark
_SECONDS = 0.01  # to predict one curve, roughly


class SurrogateBenchmark(Benchmark):
    """One task: the predictions of the network at the highest fidelity, or at a lower one.

    Args:
        task: number of the task at OpenML.
        level: value of the fidelity at which metrics are reported; None for the highest.
    """

    repeatable = Repeatable.SAME_KERNELS
    kind = "surrogate"

    fidelity: Fidelity

    def __init__(self, scenario: Scenario, task: str, level: int | None = None) -> None:
        highest = scenario.levels[-1]
        self._scenario, self._task, self._level = scenario, task, highest if level is None else level
        self.name = f"{scenario.prefix}{task}" if self._level == highest else f"{scenario.prefix}{task}@{self._level}"
        self.family, self.search_space = scenario.families[task], scenario.search_space
        self.source, self.licence, self.procedure = scenario.described, scenario.licence, scenario.procedure
        self.checksum = f"sha256:{scenario.files[MODEL]}"
        if task in scenario.contradictory.split():
            self.caution = (
                "the surrogate predicts no error and the worst balanced error at once for a part of the space, and a "
                "search that finds this part wins"
            )
        self.metrics = tuple(_metric(answer.metric, self._level) for answer in scenario.answers)
        levels = tuple(value for value in scenario.levels if value <= self._level)
        self.fidelity = Fidelity(*scenario.axis, levels, scenario.continuable)
        self.fidelities = scenario.levels if self._level == highest else ()
        self.curve = lru_cache(maxsize=_KEPT)(self._curve)
        """(configuration, level) → the metrics at each level up to this one, shape (levels, metrics)."""

    @property
    def space(self) -> ParameterSpace:  # type: ignore[override]
        return _opened(self._scenario.name).space

    def seconds_each(self) -> float:
        return _SECONDS

    def make_ready(self) -> None:
        _opened(self._scenario.name)

    def at(self, epochs: int) -> Benchmark:
        """The task at a lower level of its fidelity."""
        return SurrogateBenchmark(self._scenario, self._task, epochs)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        curve = self.curve(configuration, upto.work)
        columns = [self.places[name] for name in self._scenario.costs]
        # The predicted time sometimes falls from one level to the next; the cost must not.
        cost = float(curve[:, columns].sum(axis=1).max())
        values = tuple(curve[:, 0].tolist()) if self._scenario.continuable else None
        return Evaluation(self._by_name(curve[-1]), max(cost, 0.0), curve=values)

    def mean_metrics(self, configuration: Configuration) -> Values:
        return self._by_name(self.curve(configuration, self._level)[-1])

    def _by_name(self, row: Array) -> Values:
        return Values(self.places, tuple(row.tolist()))

    def quantile(self, metric: str, q: float) -> float:
        """The value at 0-based rank ceil(q n) of the sample's values, as on tables."""
        values = self._sampled[:, self.places[metric]]
        return float(values[quantile_rank(q, len(values))])

    @cached_property
    def _sampled(self) -> Array:
        """The metrics of the sample, each column ascending, shape (SAMPLE, metrics)."""
        rng = np.random.default_rng(0)
        points: list[Configuration] = [self.space.sample(rng) for _ in range(SAMPLE)]
        return np.sort(self.predicted(points), axis=0)

    def predicted(self, configurations: list[Configuration]) -> Array:
        """The metrics of many configurations at the highest level, shape (configurations, metrics)."""
        return self._asked(configurations, [self._level] * len(configurations))

    def _curve(self, configuration: Configuration, upto: int) -> Array:
        levels = [level for level in self._scenario.levels if level <= upto]
        return self._asked([configuration] * len(levels), levels)

    def _asked(self, configurations: list[Configuration], levels: list[int]) -> Array:
        """The metrics, rounded to single precision to be the same on all machines."""
        scenario, opened = self._scenario, _opened(self._scenario.name)
        codes, numbers = opened.inputs(self._task, configurations, levels)
        outputs = dict(zip(scenario.outputs, opened.network.outputs(codes, numbers).T, strict=True))
        columns = [
            outputs[answer.output] if answer.top is None else answer.scale * (answer.top - outputs[answer.output])
            for answer in scenario.answers
        ]
        return np.stack(columns, axis=1).astype(np.float32).astype(float)


class Opened(NamedTuple):
    """Contents of a scenario's files."""

    scenario: Scenario
    space: ParameterSpace
    network: OnnxNetwork
    codes: dict[str, dict[str, int]]
    """The codes of the categories of each categorical input."""

    def inputs(
        self, task: str, configurations: list[Configuration], levels: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the network: codes, shape (configurations, categories), and numbers, (configurations, numbers).

        An inactive hyper-parameter is the category #na#, or 0.
        """
        scenario, names = self.scenario, [h.name for h in self.space.hyperparameters]
        columns = dict(zip(names, np.array(configurations, float).T, strict=True))  # None becomes NaN
        categories = [np.full(len(levels), self.codes[scenario.categories[0]][task])]
        for name, h in zip(scenario.categories[1:], self.space.hyperparameters, strict=False):
            assert isinstance(h, Categorical)
            known = np.array([*(self.codes[name][str(value)] for value in h.values), self.codes[name][_ABSENT]])
            categories.append(known[np.nan_to_num(columns[name], nan=-1).astype(int)])
        columns |= {name: np.full(len(levels), value) for name, value in scenario.fixed.items()}
        columns[scenario.fidelity] = np.array(levels) * scenario.share
        numbers = np.stack([np.nan_to_num(columns[name]) for name in scenario.numbers], axis=1)
        return np.stack(categories, axis=1), numbers


@cache
def _opened(name: str) -> Opened:
    """The files of the scenario with this name. Raises UsageError if a file is missing or not the expected one."""
    scenario = SCENARIOS[name]
    place = scenario.place
    contents = scenario.contents(place)
    try:
        network = OnnxNetwork.read(contents[MODEL])
    except Malformed as error:
        raise UsageError(f"{place / MODEL} is not the surrogate of {scenario.name}: {error}") from None
    space = _space(scenario, json.loads(contents[CONFIG]))
    return Opened(scenario, space, network, json.loads(contents[CODES]))


def _space(scenario: Scenario, facts: dict[str, Any]) -> ParameterSpace:
    """The hyper-parameters, in the order of the network's inputs, and their conditions."""
    stated = {h["name"]: h for h in facts["hyperparameters"]}
    fixed = (scenario.categories[0], scenario.fidelity, *scenario.fixed)
    names = [name for name in (*scenario.categories, *scenario.numbers) if name not in fixed]
    conditions = {c["child"]: (c["parent"], c.get("values") or [c["value"]]) for c in facts["conditions"]}
    return ParameterSpace([_hyperparameter(stated[name]) for name in names], conditions)


def _hyperparameter(facts: dict[str, Any]) -> Hyperparameter:
    if facts["type"] == "categorical":
        return Categorical(facts["name"], tuple(facts["choices"]))
    if facts["type"] == "uniform_int":
        return Integer(facts["name"], facts["lower"], facts["upper"], log=facts["log"])
    low, high = (float(f"{facts[end]:.{_DIGITS}g}") for end in ("lower", "upper"))
    return Float(facts["name"], low, high, log=facts["log"])


def _metric(metric: Metric, level: int) -> Metric:
    """A scenario's metric as it is measured at a value of the fidelity."""
    return replace(
        metric,
        name=metric.name.format(level),
        description=metric.description.format(level),
        epoch=None if metric.split is None else level,
    )

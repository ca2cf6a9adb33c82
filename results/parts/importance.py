"""Importance of each hyper-parameter by PED-ANOVA over all evaluations. An optional part."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from nasbench.base.errors import StoreError
from nasbench.base.numbers import fixed
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.subject import Subject, rows_of

_MOST = 1000  # evaluations per setting; more change little and take long
_FEWEST = 50
_PARTS = 10  # bins of a numerical value

Evaluated: TypeAlias = tuple[dict[str, Any], float]
"""Choices by name, and the objective."""


@PARTS.register("importance")
@plain()
def part(subject: Subject) -> Part:
    """Importance of each hyper-parameter among all evaluations (PED-ANOVA; needs Optuna).

    Raises StoreError where another metric or several objectives are compared, no configuration has
    named choices, or without Optuna.
    """
    if not subject.curves.score.is_of_objective:
        raise StoreError(
            "the part importance is about the objective, so --metric and --part importance exclude each other"
        )
    if subject.fragments[0][1].setup.objectives:
        raise StoreError("the part importance is about a single objective, and these runs have several")
    rows = [
        {"benchmark": bench, "constraint": constraint, "parameter": name, "importance": value, "evaluations": count}
        for bench, constraint, count, values in importances(subject)
        for name, value in sorted(values.items(), key=lambda item: -item[1])
    ]
    if not rows:
        raise StoreError("no configuration here has named choices of which there are enough evaluations")
    data = pd.DataFrame(rows)
    # A parameter that did not vary under a constraint has no row there: its importance is 0.
    constraints = data.groupby("benchmark")["constraint"].nunique()
    mean = data.groupby(["benchmark", "parameter"], sort=False)["importance"].sum().reset_index()
    mean["importance"] /= mean["benchmark"].map(constraints)
    mean = mean.sort_values(["benchmark", "importance"], ascending=[True, False], kind="stable", ignore_index=True)
    shown = mean.assign(importance=mean["importance"].map(fixed))
    note = (
        "PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023; Optuna's): how far the distribution of a parameter among "
        "the best tenth of the evaluations differs from that among all of them; the shares of a setting sum to 1; "
        "mean over constraints, of which the CSV has each. Of all methods' feasible evaluations together, evenly "
        f"chosen, {_MOST} at most of a setting; of a number with more than {_PARTS} values {_PARTS} parts of about as "
        "many evaluations each are distinguished. Methods sample where they like, so this says what separated good "
        "from bad among what was tried, not in the whole space."
    )
    title = "Importance of hyper-parameters"
    return Part("importance", title, [Table("importance", title, note, data, shown)])


def importances(subject: Subject) -> Iterator[tuple[str, str, int, dict[str, float]]]:
    """For each benchmark and constraint: the number of evaluations, and the importance of each varied parameter."""
    try:
        import optuna
    except ImportError:
        raise StoreError("the part importance needs Optuna: `pip install optuna`") from None
    for (bench, constraint), evaluations in _evaluations(subject):
        labels = _varied(evaluations)
        if len(evaluations) < _FEWEST or not labels:
            continue
        spaces: dict[str, Any] = {
            name: optuna.distributions.CategoricalDistribution(sorted(x for x in set(row_labels) if x is not None))
            for name, row_labels in labels.items()
        }
        trials = []
        for row, (_, objective) in enumerate(evaluations):
            params = {name: value for name, row_labels in labels.items() if (value := row_labels[row]) is not None}
            there = {name: spaces[name] for name in params}
            trials.append(optuna.create_trial(params=params, distributions=there, value=objective))
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study()
            study.add_trials(trials)
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            values = optuna.importance.get_param_importances(study, evaluator=evaluator)
        finally:
            optuna.logging.set_verbosity(level)
        yield bench, constraint, len(evaluations), {name: float(value) for name, value in values.items()}


def _varied(evaluations: Sequence[Evaluated]) -> dict[str, list[str | None]]:
    """The labels of each parameter that varied, one per evaluation."""
    names = sorted({name for values, _ in evaluations for name in values})
    labels = {name: _labels([values.get(name) for values, _ in evaluations]) for name in names}
    return {name: values_of for name, values_of in labels.items() if len(set(values_of) - {None}) > 1}


def _labels(values: Sequence[Any]) -> list[str | None]:
    """The values of a parameter as categories; None if it is absent.

    A number with many values is divided into bins with about equal numbers of evaluations, because a real number hardly
    ever has the same value twice.
    """
    numbers = sorted(v for v in values if type(v) in (int, float))
    is_number = len(numbers) == sum(v is not None for v in values)
    if not is_number or len(set(numbers)) <= _PARTS:
        return [None if v is None else str(v) for v in values]
    ends = [numbers[len(numbers) * k // _PARTS] for k in range(1, _PARTS)]
    return [None if v is None else f"part {bisect_right(ends, v)}" for v in values]


def _evaluations(subject: Subject) -> Iterator[tuple[tuple[str, str], list[Evaluated]]]:
    """For each benchmark and constraint: choices and objectives of evenly selected, feasible full evaluations."""
    tables: dict[tuple[str, str], list[pa.Table]] = {}
    for _, f in subject.fragments:
        table = rows_of(f, ["configuration", "objective", "feasible"])
        if table is None:
            continue
        table = table.set_column(1, "objective", pc.multiply(table["objective"], f.setup.sign))
        tables.setdefault((f.setup.bench, f.setup.constraint), []).append(table.filter(table["feasible"]))
    for place, parts in tables.items():
        joined = pa.concat_tables(parts)
        if not len(joined):
            continue
        spread = joined.take(np.unique(np.linspace(0, len(joined) - 1, _MOST).round().astype(int)))
        pairs = zip(map(json.loads, spread["configuration"].to_pylist()), spread["objective"].to_pylist(), strict=True)
        if evaluated := [(values, objective) for values, objective in pairs if _is_named(values)]:
            yield place, evaluated


def _is_named(values: object) -> bool:
    return isinstance(values, dict) and all(isinstance(v, str | int | float | bool) for v in values.values())

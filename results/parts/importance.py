"""How much each hyper-parameter mattered for being good: PED-ANOVA of what all runs evaluated. An optional part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nasbench.results.display.numbers import fixed
from nasbench.results.display.table import Table
from nasbench.results.errors import StoreError
from nasbench.results.parts.part import Part, Subject
from nasbench.results.store.fragment import Torn

_MOST = 1000  # evaluations of a setting: more change little and take long
_FEWEST = 50


def part(subject: Subject, options: Sequence[str]) -> Part:
    """Raises StoreError where options are given, no configuration has named choices, or without Optuna."""
    if options:
        raise StoreError("the part importance takes no options: --part importance")
    rows = [
        {"benchmark": bench, "constraint": constraint, "parameter": name, "importance": value, "evaluations": count}
        for bench, constraint, count, found in importances(subject)
        for name, value in sorted(found.items(), key=lambda item: -item[1])
    ]
    if not rows:
        raise StoreError("no configuration here has named choices of which there are enough evaluations")
    data = pd.DataFrame(rows)
    mean = data.groupby(["benchmark", "parameter"], sort=False)["importance"].mean().reset_index()
    mean = mean.sort_values(["benchmark", "importance"], ascending=[True, False], kind="stable", ignore_index=True)
    shown = mean.assign(importance=mean["importance"].map(fixed))
    note = (
        "PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023; Optuna's): how far the distribution of a parameter among "
        "the best tenth of the evaluations differs from that among all of them; the shares of a setting sum to 1; mean "
        "over constraints, of which the CSV has each. Of all methods' feasible evaluations together, evenly chosen, "
        f"{_MOST} at most of a setting. Methods sample where they like, so this says what told good from bad among "
        "what was tried, not in the whole space."
    )
    title = "Importance of hyper-parameters"
    return Part("importance", title, [Table("importance", title, note, data, shown)])


def importances(subject: Subject) -> Iterator[tuple[str, str, int, dict[str, float]]]:
    """Benchmark, constraint, number of evaluations, and the share of each parameter."""
    try:
        import optuna
    except ImportError:
        raise StoreError("the part importance needs Optuna: pip install optuna") from None
    for (bench, constraint), evaluations in _evaluations(subject).items():
        names = set(evaluations[0][0])
        kept = [(values, objective) for values, objective in evaluations if set(values) == names]
        chosen = [kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, _MOST).round().astype(int))]
        choices = {name: sorted({str(values[name]) for values, _ in chosen}) for name in sorted(names)}
        varied = {name: own for name, own in choices.items() if len(own) > 1}
        if len(chosen) < _FEWEST or not varied:
            continue
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study()
            spaces: dict[str, Any] = {
                name: optuna.distributions.CategoricalDistribution(own) for name, own in varied.items()
            }
            study.add_trials(
                [
                    optuna.create_trial(
                        params={name: str(values[name]) for name in varied}, distributions=spaces, value=objective
                    )
                    for values, objective in chosen
                ]
            )
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            found = optuna.importance.get_param_importances(study, evaluator=evaluator)
        finally:
            optuna.logging.set_verbosity(level)
        yield bench, constraint, len(chosen), {name: float(value) for name, value in found.items()}


def _evaluations(subject: Subject) -> dict[tuple[str, str], list[tuple[dict[str, Any], float]]]:
    """Of each benchmark under each constraint: choices by name and objective of every feasible whole evaluation."""
    found: dict[tuple[str, str], list[tuple[dict[str, Any], float]]] = {}
    for _, f in subject.fragments:
        try:
            table = f.whole(["configuration", "objective", "feasible"])
        except Torn:  # the store has said so when the curves were read
            continue
        good = np.flatnonzero(table["feasible"].to_numpy())
        if not len(good):
            continue
        spread = good[np.unique(np.linspace(0, len(good) - 1, _MOST).round().astype(int))]
        texts, objectives = table["configuration"].take(spread).to_pylist(), table["objective"].to_numpy()[spread]
        for text, objective in zip(texts, objectives.tolist(), strict=True):
            values = json.loads(text)
            if isinstance(values, dict) and all(isinstance(v, str | int | float | bool) for v in values.values()):
                found.setdefault((f.cell.bench, f.cell.constraint), []).append((values, objective))
    return found

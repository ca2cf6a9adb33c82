"""A search in JSON, for programs in any language: what is searched, and what came of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nasbench.base.metrics import Metric
from nasbench.base.numbers import count
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.spaces import Configuration, Float, Hyperparameter, Integer
from nasbench.benchmarks.spaces.flat import Condition, Named
from nasbench.methods.problem import Observation, Problem

PROTOCOL = 1
"""Version of the messages."""
EXAMPLES = 3
"""Number of configurations in `hello`."""


def hello(problem: Problem, named: Named, seed: int, examples: Sequence[Configuration]) -> dict[str, Any]:
    """The first message: the problem, its budget, a seed, and some configurations, with all of it in words."""
    budget = problem.budget
    space = stated(named)
    return {
        "protocol": PROTOCOL,
        "task": _in_words(problem, space),
        "space": space,
        "examples": [named.values(configuration) for configuration in examples],
        "objectives": [_metric(metric) | {"direction": metric.direction} for metric in problem.objectives],
        "constraints": [
            {"metric": b.metric.name, "unit": b.metric.unit, "low": _number(b.low), "high": _number(b.high)}
            for b in problem.constraints
        ],
        "metrics": [_metric(metric) for metric in problem.told.values()],
        "levels": [dict(level) for level in problem.fidelity.levels] if problem.fidelity else None,
        "budget": {"evaluations": budget.evals, "seconds": budget.seconds} if budget else None,
        "workers": budget.workers if budget else 1,
        "seed": seed,
    }


def stated(named: Named) -> list[dict[str, Any]]:
    """The hyper-parameters of a space, each with its values or its range, and the condition by which it is there."""
    pairs = zip(named.hyperparameters, named.conditions, strict=True)
    return [_hyperparameter(h) | _condition(condition, named.hyperparameters) for h, condition in pairs]


def told(named: Named, observation: Observation) -> dict[str, Any]:
    """An evaluation: its configuration, and what came of it; what is not known is None."""
    evaluation = observation.evaluation
    return {
        "configuration": named.values(observation.configuration),
        "status": evaluation.status,
        "reason": evaluation.reason,
        "feasible": bool(observation.feasible),
        "value": _number(observation.objective),
        "metrics": {name: _number(value) for name, value in evaluation.metrics.items()},
        "seconds": _number(evaluation.cost),
        "level": dict(observation.level),
        "trial": observation.trial,
    }


def level_of(problem: Problem, values: object) -> Level:
    """The level that a program names by its axes. Raises ValueError for one that there is not."""
    levels = problem.fidelity.levels if problem.fidelity else ()
    for level in levels:
        if dict(level) == values:
            return level
    raise ValueError(
        f"there is no level {values}; allowed: {problem.fidelity or 'none, for this problem has no levels'}"
    )


def _metric(metric: Metric) -> dict[str, Any]:
    return {"name": metric.name, "unit": metric.unit}


def _number(value: float) -> float | None:
    """A number of JSON, which knows neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


def _hyperparameter(h: Hyperparameter) -> dict[str, Any]:
    kind = type(h).__name__.lower()
    if isinstance(h, Float | Integer):
        return {"name": h.name, "kind": kind, "low": h.low, "high": h.high, "log": h.log}
    return {"name": h.name, "kind": kind, "values": list(h.values)}


def _condition(condition: Condition | None, listed: Sequence[Hyperparameter]) -> dict[str, Any]:
    """What must be chosen for a hyper-parameter to be there, if it is not always."""
    if condition is None:
        return {}
    parent = listed[condition.parent]
    assert not isinstance(parent, Float | Integer)
    permitted = [value for value, may in zip(parent.values, condition.permitted, strict=True) if may]
    return {"if": {"name": parent.name, "values": permitted}}


def _in_words(problem: Problem, space: Sequence[Mapping[str, Any]]) -> str:
    """The problem in plain words, as a language model reads it."""
    goals = " and ".join(f"{m.direction} {m.name}{f' ({m.unit})' if m.unit else ''}" for m in problem.objectives)
    bounds = f", subject to {' and '.join(map(str, problem.constraints))}" if problem.constraints else ""
    budget = problem.budget
    limits = [count(budget.evals, "evaluation")] if budget and budget.evals else []
    limits += [f"{budget.seconds:g} seconds"] if budget and budget.seconds else []
    lines = [f"{goals[:1].upper()}{goals[1:]}{bounds}.", "Propose configurations, one at a time."]
    lines += [f"The budget is {' and '.join(limits)}."] if limits else []
    return " ".join(lines) + "\n" + "\n".join(f"- {_one_in_words(one)}" for one in space)


def _one_in_words(one: Mapping[str, Any]) -> str:
    if "values" in one:
        said = f"{one['name']}: one of {', '.join(map(str, one['values']))}"
    else:
        whole = "a whole number" if one["kind"] == "integer" else "a number"
        said = f"{one['name']}: {whole} from {one['low']:g} to {one['high']:g}{', on a log scale' * one['log']}"
    if "if" not in one:
        return said
    return f"{said}; only if {one['if']['name']} is {' or '.join(map(str, one['if']['values']))}"

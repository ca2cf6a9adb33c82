"""Spaces of ConfigSpace (Lindauer et al., 2019), read and written as its JSON; the package is not needed.

Reading makes a program of the language: conditions become substitutions, forbidden clauses remain. Writing takes the
flat view of a space, and the clauses of a program.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError
from itertools import product
from math import prod
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError, unknown, unprintable
from nasbench.base.numbers import listed
from nasbench.benchmarks.spaces._conditions import Facts, all_ancestors, all_owners, parents_of
from nasbench.benchmarks.spaces.base import Space
from nasbench.benchmarks.spaces.comparisons import Domain, about, alternatives, forbids, holds, prepared
from nasbench.benchmarks.spaces.flat import Condition
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Float, Hyperparameter, Integer, shares
from nasbench.benchmarks.spaces.language.choices import forbid
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import Basic, Clause, D, Independent, Part, integer, ordinal, real
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spaces.views import AsFlat

_LOG = logging.getLogger("nasbench")
_MOST_HYPERPARAMETERS = 1_000  # the largest known space has 400
_MOST_FORBIDDEN = 10_000  # combinations of values in one clause that is written
_MOST_WAITING = 100_000  # pairs in all steps of a walk; a sample then takes half a second
_VERSIONS = (0.1, 0.2, 0.3, 0.4)
_ENTRIES = (
    "name", "hyperparameters", "conditions", "forbiddens", "python_module_version", "format_version",
    "json_format_version",
)  # fmt: skip
_PROPERTIES = (
    "name", "type", "meta", "default", "default_value", "choices", "weights", "probabilities", "sequence", "value",
    "values", "lower", "upper", "log", "q", "mu", "sigma", "alpha", "beta",
)  # fmt: skip


def read(text: str) -> Program:
    """The space in a JSON text of ConfigSpace (format 0.1 to 0.4), with the same names.

    Supported are categorical (weights become priors), ordinal, constant, and uniform integer or float ones,
    conditions and forbidden clauses. An ordinal of texts becomes categorical, with a warning. Conditions are evaluated
    as in the package: only NEQ holds for an inactive parent.

    Raises UsageError that names anything else in the text.
    """
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it nests too deeply" if isinstance(error, RecursionError) else f"{error}; to_json writes it"
        raise UsageError(f"this is not ConfigSpace's JSON: {why}") from None
    try:
        hyperparameters = {entry["name"]: entry for entry in facts["hyperparameters"]}
    except (TypeError, KeyError):
        raise UsageError("this is not ConfigSpace's JSON: it has no list of hyperparameters with names") from None
    _check_names([entry["name"] for entry in facts["hyperparameters"]])
    _check_known(facts)
    conditions: dict[str, list[Facts]] = {name: [] for name in hyperparameters}
    try:
        for entry in hyperparameters.values():
            _maker(entry)  # raises now what making would raise later
            _warn(entry)
        domains = {name: Domain(entry) for name, entry in hyperparameters.items()}
        for condition in facts.get("conditions") or ():
            conditions[condition["child"]].append(prepared(condition, domains))
        clauses = alternatives(facts.get("forbiddens") or (), domains)
        return Program(lambda: _written(hyperparameters, conditions, clauses))
    except (KeyError, RecursionError, ValueError, TypeError, AttributeError, OverflowError) as error:
        circle, nested = "conditions run in a circle", "it nests too deeply"
        said = {KeyError: f"{error} is missing", CycleError: circle, RecursionError: nested}
        what = said.get(type(error), str(error))
        raise UsageError(f"this is not ConfigSpace's JSON: {what}") from None


def write(space: Space) -> str:
    """A space as JSON of ConfigSpace (format 0.4).

    A hyper-parameter that depends on several others together is written as always active. ConfigSpace has no log scale
    and no prior for ordinal hyper-parameters: they are written into `meta`.

    Raises UsageError for a space without a list of hyper-parameters, for one that is a list of rows, for a clause about
    real numbers, and if a real number decides on other hyper-parameters.
    """
    if isinstance(space, ListedSpace):
        raise UsageError("this space is a list of rows, which ConfigSpace cannot say: it would write every combination")
    if not isinstance(space, AsFlat):
        raise UsageError("ConfigSpace needs a list of hyper-parameters, which this space does not have")
    flat = space.as_flat()
    names = [h.name for h in flat.hyperparameters]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} has different values in different architectures: use different names")
    default = space.values(space.sample(np.random.default_rng(0)))  # ConfigSpace wants a default that is allowed
    clauses: list[Clause] = space.scope.clauses if isinstance(space, Program) else []
    clauses = [clause for clause in clauses if {root.name for root in clause.roots} <= set(names)]  # may be active
    facts = {
        "name": None,
        "hyperparameters": [_facts(h, default.get(h.name)) for h in flat.hyperparameters],
        "conditions": [
            _condition(h, condition, flat.hyperparameters[condition.parent])
            for h, condition in zip(flat.hyperparameters, flat.conditions, strict=True)
            if condition is not None
        ],
        "forbiddens": list({json.dumps(entry): entry for clause in clauses for entry in _forbidden(clause)}.values()),
        "python_module_version": "1.2.0",
        "format_version": 0.4,
    }
    return json.dumps(facts, indent=1)


# Reading


def _check_names(names: Sequence[object]) -> None:
    """Raises UsageError unless names are distinct lines of text, and no more than there may be."""
    if len(names) > _MOST_HYPERPARAMETERS:
        raise UsageError(
            f"this space has {len(names):,} hyper-parameters, and at most {_MOST_HYPERPARAMETERS:,} are read"
        )
    for name in names:
        if not isinstance(name, str) or not name or unprintable(name):
            raise UsageError(f"a hyper-parameter is called {name!r}: a name is one line of printable text")
        if names.count(name) > 1:
            raise UsageError(f"two hyper-parameters are called {name}")


def _check_known(facts: Facts) -> None:
    """Raises UsageError for an entry of a space or of a hyper-parameter, or a version, that would be lost."""
    if (version := facts.get("format_version", facts.get("json_format_version", 0.4))) not in _VERSIONS:
        raise UsageError(
            f"format {version!r} of ConfigSpace's JSON is not known: read are {listed([*map(str, _VERSIONS)])}"
        )
    for key in facts:
        if key not in _ENTRIES:
            raise unknown("entry of a space", key, _ENTRIES)
    for entry in facts["hyperparameters"]:
        for key in entry:
            if key not in _PROPERTIES:
                raise unknown(f"entry of {entry['name']}", key, _PROPERTIES)


def _written(
    hyperparameters: Mapping[str, Facts], conditions: Mapping[str, list[Facts]], clauses: Iterable[Facts]
) -> Part:
    """The program: all hyper-parameters are made at its beginning, and used where their conditions hold."""
    made = {name: _made(entry) for name, entry in hyperparameters.items()}
    parents = {name: [p for c in conditions[name] for p in parents_of(c)] for name in made}
    owners, ancestors = all_owners(parents, conditions), all_ancestors(parents)
    _check_waiting([ancestors[name] for name in made if owners[name] is None])

    def is_active(name: str, given: Mapping[str, Any]) -> bool:
        return all(holds(condition, given) for condition in conditions[name])

    def placed(name: str) -> Part:
        place = Basic("hyper-parameter", {"value": made[name]}, lambda values, inputs: _same).part
        children = [child for child, owner in owners.items() if owner == name]
        return siso_sequential([place, *map(conditional, children)])

    def conditional(name: str) -> Part:
        needed = {f"parent-{p}": made[p] for p in parents[name]}

        def decided(values: dict[str, Any]) -> Part:
            given = {p: values[f"parent-{p}"] for p in parents[name]}
            return placed(name) if is_active(name, given) else identity()

        return substitution("given", decided, needed)

    def resolved(name: str, ancestors: Sequence[str], given: Mapping[str, Any]) -> Part:
        """A hyper-parameter that may be active without a parent: it waits for each of its active ancestors in turn."""
        if not ancestors:
            return placed(name) if is_active(name, given) else identity()
        first, *others = ancestors
        if not is_active(first, given):
            return resolved(name, others, {**given, first: None})
        return substitution(
            "given", lambda values: resolved(name, others, {**given, first: values["parent"]}), {"parent": made[first]}
        )

    for clause in clauses:
        names = about(clause)
        forbid(_test(clause, names), **{f"h{number}": made[name] for number, name in enumerate(names)})
    tops = [resolved(name, ancestors[name], {}) for name in made if owners[name] is None]
    return siso_sequential(tops or [identity()])


def _check_waiting(ancestors: Sequence[Sequence[str]]) -> None:
    """Raises UsageError if too many hyper-parameters wait for too many others: all are seen in each step."""
    steps, waiting = len({name for names in ancestors for name in names}), sum(map(len, ancestors))
    if steps * waiting > _MOST_WAITING:
        raise UsageError(
            f"{sum(map(bool, ancestors))} hyper-parameters of this space may be active without their parents "
            f"(conditions with NEQ or OR), and depend on {steps} others: too many to be drawn in a reasonable time"
        )


def _made(entry: Facts) -> Independent:
    try:
        return _maker(entry)()
    except (ValueError, TypeError) as error:
        raise UsageError(f"hyper-parameter {entry['name']}: {error}") from None


def _maker(entry: Facts) -> Callable[[], Independent]:
    """A function that makes the hyper-parameter of an entry."""
    name, kind = entry["name"], entry["type"]
    meta = (entry.get("meta") or {}).get("nasbench", {})
    if kind == "categorical":
        weights = entry.get("weights", entry.get("probabilities")) or [1.0] * len(entry["choices"])
        if len(weights) != len(entry["choices"]) or not all(share >= 0 for share in weights):
            raise UsageError(f"each choice of {name} needs a weight of 0 or more, not {weights}")
        kept = [(value, share) for value, share in zip(entry["choices"], weights, strict=True) if share > 0]
        if any(isinstance(value, list | dict) for value in entry["choices"]):
            raise UsageError(f"the choices of {name} are lists: write each as a text")
        if len({value for value, _ in kept}) < len(kept):
            raise UsageError(f"{name} has a choice twice (1, 1.0 and true are one): {entry['choices']}")
        prior = [share for _, share in kept] if len({share for _, share in kept}) > 1 else ()
        return lambda: D([value for value, _ in kept], name, prior)
    if kind == "ordinal":
        levels = entry["sequence"]
        if are_levels(levels):
            return lambda: ordinal(levels, meta.get("log", False), name, meta.get("prior", ()))
        return lambda: D(levels, name)
    if kind == "constant":
        return lambda: D([entry["value"]], name)
    if kind in ("uniform_int", "uniform_float"):
        if entry.get("q") not in (None, 1 if kind == "uniform_int" else None):
            raise UsageError(f"{name} is quantised (q = {entry['q']}): write it as ordinal")
        allowed = (int,) if kind == "uniform_int" else (int, float)
        if not all(type(entry[end]) in allowed for end in ("lower", "upper")):
            what = "an integer" if kind == "uniform_int" else "a number"
            raise UsageError(f"{name} is {what}, and its range is {entry['lower']!r} to {entry['upper']!r}")
        make, log = integer if kind == "uniform_int" else real, entry.get("log") or False
        if not isinstance(log, bool):
            raise UsageError(f"log of {name} is true or false, not {log!r}")
        return lambda: make(entry["lower"], entry["upper"], log, name)
    if str(kind).startswith(("normal_", "beta_")):
        raise UsageError(
            f"{name} is drawn from another distribution than a uniform one ({kind}), which no range here is"
        )
    raise unknown(f"type of {name}", kind, ["categorical", "ordinal", "constant", "uniform_int", "uniform_float"])


def _warn(entry: Facts) -> None:
    """Says what of a hyper-parameter is not read."""
    if entry["type"] == "ordinal" and not are_levels(entry["sequence"]):
        _LOG.warning("the values of %s are not ascending numbers: read without their order", entry["name"])
    if entry["type"] == "categorical":
        weights = entry.get("weights", entry.get("probabilities")) or ()
        if never := [value for value, share in zip(entry["choices"], weights, strict=False) if share == 0]:
            _LOG.warning("choices of %s with a weight of 0 are left out: %s", entry["name"], never)


def are_levels(values: Sequence[Any]) -> bool:
    """Whether the values of an ordinal hyper-parameter are what is ordered here: ascending numbers."""
    return all(type(value) in (int, float) for value in values) and list(values) == sorted(values)


def _test(clause: Facts, names: Sequence[str]) -> Callable[..., bool]:
    return lambda **values: forbids(clause, {name: values[f"h{number}"] for number, name in enumerate(names)})


def _same(value: Any) -> Any:
    return value


# Writing


def _facts(h: Hyperparameter, default: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": h.name, "meta": None}
    if isinstance(h, Float | Integer):
        kind = "uniform_float" if isinstance(h, Float) else "uniform_int"
        entry |= {"type": kind, "lower": h.low, "upper": h.high, "log": h.log}
        return entry | {"default_value": h.low if default is None else default}
    entry["default_value"] = h.values[0] if default is None else default
    if isinstance(h, Categorical):
        return entry | {"type": "categorical", "choices": h.values, "weights": shares(h) if h.prior else None}
    extra = {"log": h.log, "prior": h.prior} if h.log or h.prior else None
    return entry | {"type": "ordinal", "sequence": h.values, "meta": extra and {"nasbench": extra}}


def _condition(h: Hyperparameter, condition: Condition, parent: Hyperparameter) -> dict[str, Any]:
    assert not isinstance(parent, Float | Integer)  # see `Condition`
    permitted = [value for value, flag in zip(parent.values, condition.permitted, strict=True) if flag]
    entry: dict[str, Any] = {"child": h.name, "parent": parent.name}
    return entry | (
        {"type": "EQ", "value": permitted[0]} if len(permitted) == 1 else {"type": "IN", "values": permitted}
    )


def _forbidden(clause: Clause) -> list[dict[str, Any]]:
    """All combinations of values that a clause forbids."""
    if any(isinstance(root.domain, Float) for root in clause.roots):
        raise UsageError("a clause about real numbers cannot be written for ConfigSpace")
    domains = [root.values for root in clause.roots]
    if prod(map(len, domains)) > _MOST_FORBIDDEN:
        raise UsageError(f"a clause is about more than {_MOST_FORBIDDEN:,} combinations: too many for ConfigSpace")
    entries = []
    for values in product(*domains):
        if clause.forbids(dict(zip(clause.roots, values, strict=True))):
            equal = [
                {"type": "EQUALS", "name": root.name, "value": value}
                for root, value in zip(clause.roots, values, strict=True)
            ]
            entries.append(equal[0] if len(equal) == 1 else {"type": "AND", "clauses": equal})
    return entries

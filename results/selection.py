"""The selection of stored runs for a report, and the labels of their methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import mode
from typing import Any, TypeAlias

from nasbench.base.errors import StoreError, suggestion
from nasbench.base.numbers import count
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.trajectory import Setup

Stored: TypeAlias = tuple[Store, Fragment]
"""A fragment with its store."""

_KINDS: dict[str, tuple[str, Callable[[Fragment], str]]] = {
    "methods": ("method", lambda f: f.setup.method),
    "without": ("method", lambda f: f.setup.method),
    "benches": ("benchmark", lambda f: f.setup.bench),
    "families": ("family", lambda f: f.setup.setting.family),
    "constraints": ("constraint", lambda f: f.setup.constraint),
}
"""Field of a selection → (what it names, the name of a fragment)."""


@dataclass(frozen=True)
class Selection:
    """Names of the selected methods, benchmarks, families and constraints; an empty field selects all."""

    methods: tuple[str, ...] = ()
    """Names with options; a name without options is the method with its defaults or, if that has no runs, every method
    of that name."""
    without: tuple[str, ...] = ()
    """Methods to leave out, in the same notation."""
    benches: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def of(self, fragments: Sequence[tuple[Store, Fragment]]) -> list[tuple[Store, Fragment]]:
        """The selected fragments. Raises StoreError for a name that no fragment has, or if no fragment is left."""
        selected = list(fragments)
        for field in fields(self):
            kind, name_of = _KINDS[field.name]
            wanted = self._meant(getattr(self, field.name), kind, {name_of(f) for _, f in fragments})
            if field.name == "without":
                selected = [(store, f) for store, f in selected if name_of(f) not in wanted]
            elif wanted:
                selected = [(store, f) for store, f in selected if name_of(f) in wanted]
        if fragments and not selected:
            raise StoreError("nothing is left of the runs: no stored run has all that was selected")
        return selected

    def summary(self, fragments: Sequence[tuple[Store, Fragment]]) -> str:
        """How much of some fragments is selected: `3 of 8 methods, 2 of 24 benchmarks`; empty if all."""
        kept = self.of(fragments)
        left_out = []
        for name, (kind, name_of) in _KINDS.items():
            before, after = ({name_of(f) for _, f in some} for some in (fragments, kept))
            if name != "without" and len(after) < len(before):
                plural = {"benchmark": "benchmarks", "family": "families"}.get(kind, f"{kind}s")
                left_out.append(f"{len(after)} of {len(before)} {plural}")
        return ", ".join(left_out)

    @staticmethod
    def _meant(names: Sequence[str], kind: str, known: set[str]) -> set[str]:
        meant: set[str] = set()
        for name in names:
            matches = {name} & known or {k for k in known if kind == "method" and k.partition(":")[0] == name}
            if not matches:
                near = suggestion(name, sorted(known))
                raise StoreError(f"there are no runs of the {kind} {name!r}{near}; allowed: {'; '.join(sorted(known))}")
            meant |= matches
        return meant


EVERYTHING = Selection()


def without_failed(chosen: Sequence[Stored]) -> tuple[list[Stored], list[str]]:
    """The fragments of methods of which at most half of the runs failed, and a sentence on each other method.

    All fragments, if every method would be left out.
    """
    failures: dict[str, list[str]] = {}
    for _, fragment in chosen:
        failures.setdefault(fragment.setup.method, []).extend(run.failure for run in fragment.runs)
    reasons = {method: list(filter(None, own)) for method, own in failures.items()}
    failed = [method for method, own in reasons.items() if 2 * len(own) > len(failures[method])]
    if len(failed) == len(failures):
        return list(chosen), []
    told = [
        f"{len(reasons[m]):,} of {count(len(failures[m]), 'run')} of {m} failed ({mode(reasons[m])}): it is left out."
        for m in failed
    ]
    return [(store, fragment) for store, fragment in chosen if fragment.setup.method not in failed], told


def check_label(text: str) -> str:
    """The label of a method. Raises StoreError unless it is one line of text that can be printed."""
    if not text.strip() or not text.isprintable():
        raise StoreError(f"a method cannot be labelled {text!r}: a label is one line of printable text")
    return text


def labelled(methods: Sequence[str], suites: Iterable[Mapping[str, str]], asked: Mapping[str, str]) -> tuple[str, ...]:
    """The labels of some methods, in their order: the user's, else those of suites, else the methods' names.

    Raises StoreError if the user labels a method without runs, if a label is not one line of text, or if two methods
    would have the same one.
    """
    for spec in asked:
        if spec not in methods:
            raise StoreError(
                f"there are no runs of the method {spec!r} to label{suggestion(spec, methods)}; "
                f"allowed: {'; '.join(methods)}"
            )
    known: dict[str, str] = {}
    for labels in (*suites, asked):
        known |= labels
    names = tuple(known.get(method, method) for method in methods)
    for name in names:
        check_label(name)
    doubles = sorted({label for label in names if names.count(label) > 1})
    if doubles:
        raise StoreError(f"two methods would be called {doubles[0]!r}: give one of them another --label")
    return names


def check_versions(setups: Iterable[Setup], is_observed: bool = False) -> None:
    """Raises StoreError if runs on two versions of data or of a method, or for other objectives, would be compared.

    Args:
        is_observed: whether what is compared is what runs have observed: then runs from outside may stand beside ours.
    """
    setups = list(setups)
    _check_those_from_outside(setups, is_observed)
    seen: dict[tuple[Any, ...], str] = {}
    data: dict[str, str] = {}
    objectives: dict[str, tuple[str, ...]] = {}
    for setup in setups:
        if objectives.setdefault(setup.bench, setup.objectives) != setup.objectives:
            raise StoreError(
                f"there are runs on {setup.bench} with the objectives {', '.join(objectives[setup.bench])} and with "
                f"{', '.join(setup.objectives)}, which must not be compared: keep them in stores of their own"
            )
        if setup.is_elsewhere:
            continue
        before = data.setdefault(setup.bench, setup.data)
        if before != setup.data:
            raise StoreError(
                f"there are runs on two versions of the data of {setup.bench}, which must not be compared: give their "
                "`nasbench run` again, which sets the stale runs aside (`nasbench status` names them)"
            )
        if seen.setdefault(setup.key, setup.id) != setup.id:
            raise StoreError(
                f"there are runs of {setup.method} on {setup.bench} under {setup.constraint} from two versions of its "
                "code: give their `nasbench run` again, which sets the stale runs aside"
            )


def _check_those_from_outside(setups: Sequence[Setup], is_observed: bool) -> None:
    """Raises StoreError where runs from outside stand beside ours, unless they agree in all that can be held together.

    That is the benchmark, the objective by its name, the budget, and what is compared: what runs have observed.
    """
    ours = {setup.bench: setup for setup in setups if not setup.is_elsewhere}
    names = {(setup.method, setup.bench) for setup in setups if not setup.is_elsewhere}
    for setup in setups:
        beside = ours.get(setup.bench)
        if not setup.is_elsewhere or beside is None:
            continue
        both = f"there are runs on {setup.bench} that were made here and elsewhere"
        if not is_observed:
            raise StoreError(f"{both}, of which only the observed values may be compared: --score observed")
        if setup.setting.objective != beside.setting.objective or beside.objectives:
            raise StoreError(
                f"{both}: those state {setup.setting.objective}, and ours {beside.setting.objective}: where it is the "
                "same quantity, call the column so"
            )
        if (setup.method, setup.bench) in names:
            raise StoreError(f"{both}, of a method called {setup.method} each: import the others under another name")

"""Which of the stored runs a report is about, and what it calls their methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from nasbench.results.errors import StoreError, nearest
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.trajectory import Setup

_KINDS: dict[str, tuple[str, Callable[[Fragment], str]]] = {
    "methods": ("method", lambda f: f.setup.method),
    "without": ("method", lambda f: f.setup.method),
    "benches": ("benchmark", lambda f: f.setup.bench),
    "families": ("family", lambda f: f.setup.setting.family),
    "constraints": ("constraint", lambda f: f.setup.constraint),
}
"""Field of a selection → what it names, and where a fragment has it."""


@dataclass(frozen=True)
class Selection:
    """Names that runs must have; an empty field allows all."""

    methods: tuple[str, ...] = ()
    """With options, or without them: then the one with its defaults, or, where that has no runs, all of that name."""
    without: tuple[str, ...] = ()
    """Methods to leave out, written in the same way."""
    benches: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def of(self, fragments: Sequence[tuple[Store, Fragment]]) -> list[tuple[Store, Fragment]]:
        """Those of some fragments that are meant. Raises StoreError for a name that none has, or if none is left."""
        found = list(fragments)
        for field in fields(self):
            kind, of = _KINDS[field.name]
            wanted = self._meant(getattr(self, field.name), kind, {of(f) for _, f in fragments})
            if field.name == "without":
                found = [(store, f) for store, f in found if of(f) not in wanted]
            elif wanted:
                found = [(store, f) for store, f in found if of(f) in wanted]
        if fragments and not found:
            raise StoreError("nothing is left of the runs: no stored run has all that was selected")
        return found

    def told(self, fragments: Sequence[tuple[Store, Fragment]]) -> str:
        """What is left out of some fragments, in words; empty if nothing is."""
        kept = self.of(fragments)
        left_out = []
        for name, (kind, of) in _KINDS.items():
            before, after = ({of(f) for _, f in some} for some in (fragments, kept))
            if name != "without" and len(after) < len(before):
                plural = {"benchmark": "benchmarks", "family": "families"}.get(kind, f"{kind}s")
                left_out.append(f"{len(after)} of {len(before)} {plural}")
        if not left_out:
            return ""
        return f"a selection by hand: {', '.join(left_out)}; whoever chooses after the runs can choose the verdict"

    @staticmethod
    def _meant(names: Sequence[str], kind: str, known: set[str]) -> set[str]:
        found: set[str] = set()
        for name in names:
            own = {name} & known or {k for k in known if kind == "method" and k.partition(":")[0] == name}
            if not own:
                suggestion = nearest(name, sorted(known))
                raise StoreError(
                    f"there are no runs of the {kind} {name!r}{suggestion}; allowed: {'; '.join(sorted(known))}"
                )
            found |= own
        return found


EVERYTHING = Selection()


def labelled(methods: Sequence[str], suites: Iterable[Mapping[str, str]], asked: Mapping[str, str]) -> tuple[str, ...]:
    """What people call some methods, in their order: what was asked for, or else what suites say, or else their names.

    Raises StoreError where a label was asked for a method that is not there, or two methods would have one name.
    """
    for spec in asked:
        if spec not in methods:
            raise StoreError(
                f"there are no runs of the method {spec!r} to label{nearest(spec, methods)}; "
                f"allowed: {'; '.join(methods)}"
            )
    known: dict[str, str] = {}
    for labels in (*suites, asked):
        known |= labels
    found = tuple(known.get(method, method) for method in methods)
    doubles = sorted({label for label in found if found.count(label) > 1})
    if doubles:
        raise StoreError(f"two methods would be called {doubles[0]!r}: give one of them another --label")
    return found


def check_versions(setups: Iterable[Setup]) -> None:
    """Raises StoreError where runs on two versions of data, or of a method, would be compared."""
    seen: dict[tuple[Any, ...], str] = {}
    data: dict[str, str] = {}
    for setup in setups:
        if data.setdefault(setup.bench, setup.data) != setup.data:
            raise StoreError(
                f"there are runs on two versions of the data of {setup.bench}, which must not be compared: give their "
                "`nasbench run` again, which sets the stale runs aside (`nasbench status` names them)"
            )
        if seen.setdefault(setup.key, setup.id) != setup.id:
            raise StoreError(
                f"there are runs of {setup.method} on {setup.bench} under {setup.constraint} from two versions of its "
                "code: give their `nasbench run` again, which sets the stale runs aside"
            )

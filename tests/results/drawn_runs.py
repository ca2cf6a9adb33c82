"""Comparisons of runs with given final values."""

from __future__ import annotations

import dataclasses

import numpy as np

from nasbench.results import Setup
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store.trajectory import Trajectory
from tests.results.conftest import SETTING, Fill, load_all, make_run, make_setup

Values = dict[str, dict[tuple[str, str, str], list[float]]]


def setups(values: Values) -> dict[Setup, list[Trajectory]]:
    """Method → (family, benchmark, constraint) → final values of its seeds."""
    return {
        make_setup(method, bench=bench, constraint=constraint, setting=dataclasses.replace(SETTING, family=family)): [
            make_run(seed, [value]) for seed, value in enumerate(own)
        ]
        for method, settings in values.items()
        for (family, bench, constraint), own in settings.items()
    }


def compared(filled: Fill, values: Values, baseline: int = 0) -> Comparison:
    """The comparison of such runs."""
    curves = load_all(filled(setups(values)))
    return Comparison(curves, baseline, (curves.end,))


def drawn(methods: str = "abc", seeds: int = 8, constraints: tuple[str, ...] = ("none", "size@0.1")) -> Values:
    """Three benchmarks of two families; later methods are a little worse."""
    rng = np.random.default_rng(3)
    places = [(f, b, c) for f, b in (("x", "x1"), ("x", "x2"), ("y", "y1")) for c in constraints]
    return {
        m: {place: (5 + i * 0.7 + rng.normal(size=seeds)).tolist() for place in places} for i, m in enumerate(methods)
    }


def one_family_of_four() -> Values:
    """One method wins every run on one family, and does as the other on three."""
    places = [(f"f{i}", f"f{i}b", "none") for i in range(4)]
    values = {m: {place: [9 + s / 10 for s in range(20)] for place in places} for m in "ab"}
    values["a"][places[0]] = [0.1 + s / 100 for s in range(20)]
    return values


PLACE = ("x", "b", "none")


def clear(methods: str = "abc", seeds: int = 20, place: tuple[str, str, str] = PLACE) -> Values:
    """Each method beats the next in every run, on one benchmark."""
    return {m: {place: [i + s / 100 for s in range(seeds)]} for i, m in enumerate(methods, 1)}


# Against each other b wins three benchmarks of five from a; but where it loses, it loses to all.
CONTRADICTING: Values = {
    method: {("f", f"bench{i}", "none"): [place + s / 100 for s in range(20)] for i, place in enumerate(places)}
    for method, places in {"a": [2, 2, 2, 1, 1], "b": [1, 1, 1, 3, 3], "c": [3, 3, 3, 2, 2]}.items()
}

"""Searches that cannot end within their budget, and the options with which they can."""

from __future__ import annotations

import bisect
from dataclasses import replace

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.foreign import Broken, foreign
from nasbench.base.layout import span
from nasbench.methods import MethodSpec, Problem, beginning_of


def beginning(spec: MethodSpec, problem: Problem) -> float:
    """The expected seconds of a method's first ask; 0 if it is broken, which its run will record.

    Raises UsageError for an option out of range, which the user can correct now.
    """
    try:
        with foreign():
            return beginning_of(spec.build(problem, np.random.default_rng(0)))
    except Broken:
        return 0.0


def too_long(spec: MethodSpec, problem: Problem, takes: float, seconds: float) -> str:
    """Why a search that takes some seconds is not begun within a budget, as a clause, and what can be done."""
    fits = _shortened(spec, problem, seconds)
    instead = f"{fits.label} searches for about {span(beginning(fits, problem))}, " if fits else ""
    return (
        f"it searches for about {span(takes)} before its first evaluation, without interruption, and the budget is "
        f"{seconds:g} s: {instead}a budget above {span(takes)} leaves time for evaluations, and --force searches "
        "all the same"
    )


def _shortened(spec: MethodSpec, problem: Problem, seconds: float) -> MethodSpec | None:
    """The method with the largest options by which its search takes half of a budget, or all; None if there are none.

    All of `About.shortened_by` fall in proportion to the first.
    """
    names, values = spec.method.about.shortened_by, spec.values()
    sizes = [int(values[name]) for name in names]
    if not names:
        return None

    def scaled(size: int) -> MethodSpec:
        smaller = {name: size * own // sizes[0] for name, own in zip(names, sizes, strict=True)}
        return replace(spec, options=tuple(sorted((dict(spec.options) | smaller).items())))

    for share in (0.5, 1.0):
        try:
            most = bisect.bisect_right(
                range(1, sizes[0]), share * seconds, key=lambda size: beginning(scaled(size), problem)
            )
        except UsageError:  # another option does not go with smaller ones
            return None
        if most:
            return scaled(most)
    return None

"""What an expert or a user believes before a search: values of hyper-parameters, and a distribution around them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.constraints import JOIN
from nasbench.benchmarks.knowledge import EXPERTS
from nasbench.benchmarks.spaces import AsFlat, Configuration, Coordinate, Flat, Float, Hyperparameter, Integer
from nasbench.benchmarks.spaces.hyperparameters import belongs, values_text
from nasbench.methods.about import Options
from nasbench.methods.mixed import Mixed, truncated_normal
from nasbench.methods.problem import Problem

SPREAD = 0.25
"""Standard deviation around a believed value of an ordered hyper-parameter, as a share of its range (PriorBand)."""
CERTAIN = 0.5
"""Probability of a believed category in addition to its share of a uniform distribution."""


class Belief:
    """A product of distributions around believed values; a hyper-parameter without such a value is uniform.

    An ordered hyper-parameter is normal on its scale, truncated to its range, with the standard deviation `SPREAD`. A
    believed category has the probability `CERTAIN`, and its share of the rest, which is uniform.

    Args:
        mode: the believed coordinate of each hyper-parameter; None for no belief.
    """

    def __init__(self, flat: Flat, mode: Sequence[Coordinate]) -> None:
        self.mode = tuple(mode)
        """The believed coordinate of each hyper-parameter; None for no belief."""
        self._mixed = Mixed(flat)
        self._known = np.array([x is not None for x in mode])
        self._centre = self._mixed.at(mode)

    @classmethod
    def of(cls, text: str, problem: Problem, rng: Generator) -> Belief:
        """Reads the name of a simulated expert (`Experts.belief`), or NAME=VALUE+NAME=VALUE; "" believes nothing.

        Raises UsageError for a hyper-parameter or a value that the space lacks.
        """
        flat = problem.flat
        if text in EXPERTS:
            assert problem.experts is not None  # see `misfit`
            assert isinstance(problem.space, AsFlat)  # it has a flat view
            # Read through a view of its own: that of the search would take the row for one that was proposed already.
            return cls(flat, problem.space.as_flat().coordinates(problem.experts.belief(text, rng)))
        names = [h.name for h in flat.hyperparameters]
        mode: list[Coordinate] = [None] * len(names)
        for item in filter(None, JOIN.split(text)):
            name, equals, value = item.partition("=")
            if not equals:
                raise UsageError(f"prior must be {', '.join(EXPERTS)}, or NAME=VALUE+NAME=VALUE, not {text!r}")
            check_choice("hyper-parameter", name, dict.fromkeys(names))
            if names.count(name) > 1:
                raise UsageError(f"a prior cannot name {name}: this space has {names.count(name)} of that name")
            place = names.index(name)
            if mode[place] is not None:
                raise UsageError(f"the prior has two values for {name}")
            mode[place] = _coordinate(flat.hyperparameters[place], value)
        return cls(flat, tuple(mode))

    def draw(self, rng: Generator, kept: float = 0.0) -> Configuration:
        """A configuration drawn from the distribution.

        Args:
            kept: probability of each hyper-parameter to have the believed value itself.
        """
        centre, categorical = self._centre, self._mixed.categorical
        u, sure = rng.random(len(centre)), rng.random(len(centre)) < CERTAIN
        normal = truncated_normal(centre, SPREAD, u)
        anything = np.where(categorical, np.floor(u * self._mixed.levels), u)
        near = np.where(categorical, np.where(sure, centre, anything), normal)
        near = np.where(rng.random(len(centre)) < kept, centre, near)
        row = np.where(self._known, near, anything)
        return self._mixed.configuration(self._mixed.snapped(row[None])[0])

    def log_density(self, configuration: Configuration) -> float:
        """The logarithm of the density, with ordered hyper-parameters on [0, 1]; absent ones do not count."""
        from scipy.special import ndtr

        centre, categorical = self._centre, self._mixed.categorical
        coordinates = self._mixed.flat.coordinates(configuration)
        row = self._mixed.at(coordinates)
        whole = ndtr((1 - centre) / SPREAD) - ndtr(-centre / SPREAD)
        normal = np.exp(-0.5 * ((row - centre) / SPREAD) ** 2) / (math.sqrt(2 * math.pi) * SPREAD * whole)
        share = 1 / np.maximum(self._mixed.levels, 1)
        mass = (1 - CERTAIN) * share + CERTAIN * (row == centre)
        density = np.where(self._known, np.where(categorical, mass, normal), np.where(categorical, share, 1.0))
        return float(np.log(density[[x is not None for x in coordinates]]).sum())


def _coordinate(h: Hyperparameter, text: str) -> Coordinate:
    """The coordinate of a value that the user wrote. Raises UsageError, with the allowed values, for another one."""
    if isinstance(h, Float | Integer):
        number = _number(text)
        whole = int(number) if isinstance(h, Integer) and number.is_integer() else number
        if belongs(h, whole):
            return whole
    else:
        for place, value in enumerate(h.values):
            if text == str(value) or (not isinstance(value, str | bool) and _number(text) == value):
                return place
    raise UsageError(f"{h.name} cannot be {text}; allowed: {values_text(h)}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def lacks_expert(problem: Problem, options: Options) -> str:
    """The reason why a problem has no expert for the option `prior` (`Needs.unless`); empty if it has one."""
    prior = str(options.get("prior", ""))
    lacks = prior in EXPERTS and problem.experts is None
    return f"simulates an expert from a table for prior={prior}, and that benchmark is none" if lacks else ""

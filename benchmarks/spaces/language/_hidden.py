"""Hyper-parameters that the layer graph of a program does not show (dropout, stride, activation), as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.flat import Coordinate, Flat
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, has_many
from nasbench.benchmarks.spaces.language._steps import Graphed

_SAMPLES = 32  # random architectures
_PROBES = 6  # architectures in which one hyper-parameter is varied
_TRIED = 5  # values of a range
_ABSENT = 0.5  # the scalar of a hyper-parameter that an architecture does not have


class Hidden:
    """The hyper-parameters with values that the layer graph does not distinguish, as scalars.

    They are found by trial: one hyper-parameter takes all its values in random architectures, while the others stay.
    Values that always give equal graphs form a group; a scalar says which value of the group an architecture has.
    """

    def __init__(self, program: Graphed, flat: Flat) -> None:
        self._flat = flat
        rng = np.random.default_rng(0)
        samples = [list(flat.coordinates(program.sample(rng))) for _ in range(_SAMPLES)]
        self._groups: dict[int, list[list[Coordinate]]] = {}
        for k, h in enumerate(flat.hyperparameters):
            if has_many(h) and (groups := self._groups_of(program, samples, k, h)):
                self._groups[k] = groups

    @property
    def count(self) -> int:
        """The number of scalars."""
        return len(self._groups)

    def scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """The position of each hyper-parameter's value within its group, scaled to [0, 1].

        0 for a value that the graph shows, 0.5 for a hyper-parameter that the architecture does not have.
        """
        coordinates = self._flat.coordinates(configuration)
        return tuple(
            [_place(self._flat.hyperparameters[k], coordinates[k], groups) for k, groups in self._groups.items()]
        )

    def _groups_of(
        self, program: Graphed, samples: Sequence[list[Coordinate]], position: int, h: Hyperparameter
    ) -> list[list[Coordinate]]:
        """Groups of two or more values of a hyper-parameter that always give equal graphs."""
        groups = [_values(h)]
        for sample in [candidate for candidate in samples if candidate[position] is not None][:_PROBES]:
            split: list[list[Coordinate]] = []
            for values in groups:
                by_graph: dict[LayerGraph, list[Coordinate]] = {}
                for value in values:
                    coordinates = [*sample[:position], value, *sample[position + 1 :]]
                    by_graph.setdefault(program.as_graph(self._flat.at(coordinates)), []).append(value)
                split += by_graph.values()
            groups = [values for values in split if len(values) > 1]
            if not groups:
                break
        return groups


def _values(h: Hyperparameter) -> list[Coordinate]:
    """All values of a list, or five values of a range."""
    if isinstance(h, Float):
        return [float(x) for x in np.linspace(h.low, h.high, _TRIED)]
    if isinstance(h, Integer):
        return sorted({round(x) for x in np.linspace(h.low, h.high, _TRIED).tolist()})
    return list(range(len(h.values)))


def _place(h: Hyperparameter, x: Coordinate, groups: Sequence[list[Coordinate]]) -> float:
    if x is None:
        return _ABSENT
    if isinstance(h, Float | Integer):
        low, high, value = (math.log(v) if h.log else float(v) for v in (h.low, h.high, x))
        return (value - low) / (high - low)
    return next((group.index(x) / (len(group) - 1) for group in groups if x in group), 0.0)

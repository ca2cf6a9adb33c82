"""What the layer graph of a program's networks does not show (dropout, stride, activation), as numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.flat import Coordinate, Flat
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, has_many
from nasbench.benchmarks.spaces.language.steps import Graphed

_SAMPLES = 32  # architectures that are looked at
_PROBES = 6  # of them, for one hyper-parameter
_TRIED = 5  # values of a range
_ABSENT = 0.5  # the place of what an architecture does not have


class Hidden:
    """The hyper-parameters some of whose values the layer graph does not tell apart.

    Found by trial: in random architectures every value of one hyper-parameter is tried, the others left as they are.
    Values that never led to different graphs are alike in the graph; only among such does a scalar tell the place.
    """

    def __init__(self, program: Graphed, flat: Flat) -> None:
        self._flat = flat
        rng = np.random.default_rng(0)
        samples = [list(flat.coordinates(program.sample(rng))) for _ in range(_SAMPLES)]
        self._alike: dict[int, list[list[Coordinate]]] = {}
        for k, h in enumerate(flat.hyperparameters):
            if has_many(h) and (groups := self._alike_in(program, samples, k, h)):
                self._alike[k] = groups

    def scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """Of each such hyper-parameter the place of its value among those that look alike, in [0, 1].

        0 where the graph tells the value, the middle where the architecture does not have the hyper-parameter.
        """
        coordinates = self._flat.coordinates(configuration)
        return tuple(
            [_place(self._flat.hyperparameters[k], coordinates[k], groups) for k, groups in self._alike.items()]
        )

    def _alike_in(
        self, program: Graphed, samples: Sequence[list[Coordinate]], position: int, h: Hyperparameter
    ) -> list[list[Coordinate]]:
        """Groups of two values or more of a hyper-parameter that never led to different graphs."""
        together = [_values(h)]
        for sample in [candidate for candidate in samples if candidate[position] is not None][:_PROBES]:
            split: list[list[Coordinate]] = []
            for values in together:
                by_graph: dict[LayerGraph, list[Coordinate]] = {}
                for value in values:
                    coordinates = [*sample[:position], value, *sample[position + 1 :]]
                    by_graph.setdefault(program.as_graph(self._flat.at(coordinates)), []).append(value)
                split += by_graph.values()
            together = [values for values in split if len(values) > 1]
            if not together:
                break
        return together


def _values(h: Hyperparameter) -> list[Coordinate]:
    """All values of a hyper-parameter, some of a range."""
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

"""A flat space as TPE sees it: discrete hyper-parameters with their kernels, continuous ones with their ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Categorical, Condition, Coordinate, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.hyperparameters import shares
from nasbench.methods.belief import CERTAIN, SPREAD
from nasbench.methods.tpe.compiled import (
    EXACT,
    LISTED,
    LOG_WHOLE,
    MOST_COMBINATIONS,
    WHOLE,
    Packed,
    gaussian_masses,
)

Array: TypeAlias = NDArray[np.float64]

_TOP = 0.8  # mass of the Aitchison-Aitken kernel on the observed choice (authors' scripts)
NARROWEST = 0.08
"""Smallest bandwidth of a real or integer hyper-parameter as a share of its range: with the 1 % of the c-TPE authors'
scripts a search ends in a box of a hundredth of each range (docs/notebook/ctpe.md)."""
NARROWEST_OF_SCRIPTS = 0.01
_MOST_LEVELS = 32  # an ordinal or integer with more is treated as continuous: tables grow with the square


class Dimensions:
    """Packs a space into arrays for the compiled code, and translates coordinates to levels and points and back.

    Categorical: Aitchison-Aitken kernel, 0.8 on the observed choice. Ordinal or integer with up to 32 values, or on
    which others depend: the masses of a truncated Gaussian on the cells around the levels, on a log scale if the
    hyper-parameter has one. Borders are half-way between neighbours; the outer cells are symmetric about their level,
    so the range is padded.
    Float, and ordinal or integer with more values: a truncated Gaussian density, likewise; a proposal is rounded to a
    value. If an observation lacks a hyper-parameter that the candidate has, its kernel there is the prior; if the
    candidate lacks it, it does not count. So a density integrates to one over conditional spaces too.

    Args:
        continuous_log: whether ordinals and integers on a log scale have densities between their levels, and a
            candidate is moved to the nearest level only after it has been scored (the c-TPE authors' scripts).
        vanishing: whether the smoothing of a categorical kernel vanishes as its group grows (Optuna): with n
            observations and K choices, (1 + 1/(n+1)) / (1 + K/(n+1)) on the observed choice instead of 0.8.
        narrowest: the smallest bandwidth of a real or integer hyper-parameter, as a share of its range; an ordinal's is
            1 / levels.
        belief: the place around which the prior of each hyper-parameter lies (`methods.belief`), None for the middle
            of its range; empty if there is no belief.
    """

    def __init__(
        self,
        hyperparameters: Sequence[Hyperparameter],
        conditions: Sequence[Condition | None],
        continuous_log: bool = False,
        vanishing: bool = False,
        narrowest: float = NARROWEST,
        belief: Sequence[Coordinate] = (),
    ) -> None:
        self._hyperparameters = tuple(hyperparameters)
        parents = {condition.parent for condition in conditions if condition}
        self._levels = [_levels(h, continuous_log, d in parents) for d, h in enumerate(hyperparameters)]
        sizes = np.array([len(z) if z is not None else 0 for z in self._levels], np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes * (sizes + 1))])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        scaled = np.array(
            [not isinstance(h, Categorical) and k > 0 for h, k in zip(hyperparameters, sizes, strict=True)]
        )
        borders = [_borders(z) for z in self._levels]
        ranges = [_range(h, e) for h, e in zip(hyperparameters, borders, strict=True)]
        self._ranges = ranges
        # Continuous places are scaled to [0, 1], so that densities have no unit and are of comparable size.
        lower, upper = (
            np.array([side if k else unit for side, k in zip(sides, sizes, strict=True)], dtype=float)
            for sides, unit in zip(zip(*ranges, strict=True), (0.0, 1.0), strict=True)
        )
        middle, spread = 0.5 * (lower + upper), upper - lower  # of the prior of a numerical hyper-parameter
        if belief:
            believed, points = self.pack(belief)
            for d in (d for d, x in enumerate(belief) if x is not None):
                z = self._levels[d]
                middle[d], spread[d] = points[d] if z is None else z[believed[d]], SPREAD * spread[d]
        tables, prior = np.ones(offsets[-1]), np.ones(offsets[-1])
        for d, (k, edges) in enumerate(zip(sizes.tolist(), borders, strict=True)):
            part = slice(offsets[d], offsets[d] + k * (k + 1))
            if k and not scaled[d]:
                masses = np.full(k, 1.0 / k)
                tables[part] = _aitchison_aitken(k).ravel()
            elif k:
                masses = np.empty(k)
                gaussian_masses(middle[d], spread[d], edges, masses)
            else:
                continue
            h = hyperparameters[d]
            if isinstance(h, Categorical) and belief and belief[d] is not None:
                masses = (1 - CERTAIN) * masses + CERTAIN * (np.arange(k) == believed[d])
            elif isinstance(h, Categorical | Ordinal) and h.prior and not (belief and belief[d] is not None):
                masses = np.array(shares(h))
            prior[offsets[d] : offsets[d] + k] = masses
            tables[part].reshape(k, k + 1)[:, k] = masses
        middles = [_middles(h, z) for h, z in zip(hyperparameters, self._levels, strict=True)]
        self.packed = Packed(
            sizes=sizes,
            offsets=offsets,
            scaled=scaled,
            starts=starts,
            places=np.concatenate([np.zeros(0), *(z for z in self._levels if z is not None)]),
            borders=np.concatenate([np.zeros(0), *(_padded(e) for e in borders)]),
            narrowest=np.array([1 / len(h.values) if isinstance(h, Ordinal) else narrowest for h in hyperparameters]),
            lower=lower,
            upper=upper,
            tables=tables,
            prior=prior,
            conditions=_pack_conditions(conditions),
            blocks=_blocks(sizes.tolist()),
            vanishing=vanishing,
            middle=middle,
            spread=spread,
            grain=np.array([_grain(h, z) for h, z in zip(hyperparameters, self._levels, strict=True)]),
            ends=np.array(ranges, dtype=float),
            middles=np.concatenate([np.zeros(0), *middles]),
            middles_at=np.concatenate([[0], np.cumsum([len(part) for part in middles])]).astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self._hyperparameters)

    def pack(self, coordinates: Sequence[Coordinate]) -> tuple[NDArray[np.int32], Array]:
        """Packs coordinates into levels and points, each of shape (D,).

        The level of an absent hyper-parameter is one beyond the last, that of a continuous one 0. The point of an
        absent or discrete one is NaN.
        """
        levels, points = np.zeros(len(self), np.int32), np.full(len(self), np.nan)
        for d, (h, z, x) in enumerate(zip(self._hyperparameters, self._levels, coordinates, strict=True)):
            if z is not None:
                levels[d] = len(z) if x is None else int(x) - (h.low if isinstance(h, Integer) else 0)
            elif x is not None:
                low, high = self._ranges[d]
                points[d] = (_scale(h, h.values[int(x)] if isinstance(h, Ordinal) else x) - low) / (high - low)
        return levels, points

    def unpack(self, levels: NDArray[np.int32], points: Array) -> list[Coordinate]:
        """Inverts `pack`; a point between levels moves to the nearest level, in a tie to the lower one."""
        coordinates: list[Coordinate] = []
        places = zip(self._hyperparameters, self._levels, self._ranges, levels.tolist(), points.tolist(), strict=True)
        for h, z, (low, high), level, point in places:
            place = low + point * (high - low)
            if z is not None:
                absent = level == len(z)
                coordinates.append(None if absent else level + (h.low if isinstance(h, Integer) else 0))
            elif math.isnan(point):
                coordinates.append(None)
            elif isinstance(h, Ordinal):
                coordinates.append(int(np.argmin([abs(_scale(h, value) - place) for value in h.values])))
            else:
                value = math.exp(place) if getattr(h, "log", False) else place
                value = min(max(value, h.low), h.high) if isinstance(h, Float | Integer) else value
                coordinates.append(round(value) if isinstance(h, Integer) else value)
        return coordinates


def _blocks(sizes: list[int]) -> NDArray[np.int64]:
    """First hyper-parameter of each block with few combinations of levels, and the end: shape (blocks + 1,)."""
    starts, combinations = [0], 1
    for d, size in enumerate(sizes):
        if combinations * (size + 1) > MOST_COMBINATIONS and d > starts[-1]:
            starts.append(d)
            combinations = 1
        combinations *= size + 1
    return np.array([*starts, len(sizes)], np.int64)


def _levels(h: Hyperparameter, continuous_log: bool, is_parent: bool) -> Array | None:
    """Places of the levels of a hyper-parameter; None if it is treated as continuous.

    A parent stays discrete, however many levels it has: they determine which children are present.
    """
    if isinstance(h, Categorical):
        return np.arange(len(h.values), dtype=float)
    if isinstance(h, Float):
        return None
    values = h.values if isinstance(h, Ordinal) else range(h.low, h.high + 1)
    if not is_parent and len(values) > 1 and (len(values) > _MOST_LEVELS or (h.log and continuous_log)):
        return None
    return np.array([_scale(h, value) for value in values])


def _scale(h: Hyperparameter, value: float) -> float:
    """A value on the scale where distances are measured."""
    return math.log(value) if getattr(h, "log", False) else float(value)


def _borders(z: Array | None) -> Array:
    """Borders of the cells around the levels, shape (levels + 1,)."""
    if z is None:
        return np.zeros(0)
    if len(z) == 1:
        return np.array([z[0] - 0.5, z[0] + 0.5])
    half = np.diff(z) / 2
    return np.concatenate([[z[0] - half[0]], z[:-1] + half, [z[-1] + half[-1]]])


def _range(h: Hyperparameter, borders: Array) -> tuple[float, float]:
    if len(borders):
        return borders[0], borders[-1]
    if isinstance(h, Ordinal):
        return _scale(h, h.values[0]), _scale(h, h.values[-1])
    half = 0.5 if isinstance(h, Integer) else 0.0  # an integer's cell holds the reals that round to it
    assert isinstance(h, Float | Integer)
    return _scale(h, h.low - half), _scale(h, h.high + half)


def _grain(h: Hyperparameter, z: Array | None) -> int:
    """What a point is rounded to, see `Packed.grain`."""
    if z is not None or isinstance(h, Float):
        return EXACT
    if isinstance(h, Integer):
        return LOG_WHOLE if h.log else WHOLE
    return LISTED


def _middles(h: Hyperparameter, z: Array | None) -> Array:
    """Places half-way between the neighbours of an ordinal that is treated as continuous; none of others."""
    if z is not None or not isinstance(h, Ordinal):
        return np.zeros(0)
    return _borders(np.array([_scale(h, value) for value in h.values]))[1:-1]


def _aitchison_aitken(k: int) -> Array:
    """Masses [c, x] of choice c around the observed x, shape (k, k + 1); column k is the prior's, for an absent x."""
    masses = np.full((k, k + 1), (1 - _TOP) / (k - 1) if k > 1 else 1.0)
    np.fill_diagonal(masses, _TOP if k > 1 else 1.0)
    masses[:, k] = 1.0 / k
    return masses


def _padded(borders: Array) -> Array:
    """Pads missing borders to one place, so that the borders of hyper-parameter d begin at start_d + d."""
    return borders if len(borders) else np.zeros(1)


def _pack_conditions(
    conditions: Sequence[Condition | None],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Packs conditions: each hyper-parameter's parent (-1: none), all permissions, and the offset of each in them."""
    parents = np.array([condition.parent if condition else -1 for condition in conditions], np.int64)
    # A parent that is itself absent has one level beyond its last: never permitted.
    permissions = [np.array([*c.permitted, False]) if c else np.zeros(0, np.bool_) for c in conditions]
    at = np.concatenate([[0], np.cumsum([len(p) for p in permissions])])[:-1].astype(np.int64)
    return parents, np.concatenate([np.zeros(0, np.bool_), *permissions]), at

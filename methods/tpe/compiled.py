"""The compiled heart of TPE: densities over groups of observations, candidates drawn from them, and their scores.

A density is a mixture of product kernels, one per member of the group and one prior, all of the same weight:
p(x) = 1/(n+1) · (Σ_j Π_d k_d(x_d | x_jd) + Π_d prior_d(x_d)). Hyper-parameters are discrete (a kernel is a table of
masses over K levels) or continuous (a Gaussian truncated to the range). Works on packed arrays, see
`methods.tpe.dimensions`. Shapes: N observations, D hyper-parameters, S candidates. Importing this module loads numba.

It is one file because numba's cache of a function only notices changes in the file of that function.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit

Array: TypeAlias = Any  # mypy cannot check the types of numba's functions

_SQRT2 = math.sqrt(2.0)
_TIE = 1e-9  # of scores, which are logarithms
_SQRT2PI = math.sqrt(2.0 * math.pi)
_TINY = 1e-300
MOST_COMBINATIONS = 64
"""Largest number of combinations of levels in a block of hyper-parameters; absence counts as a level."""
EXACT, WHOLE, LOG_WHOLE, LISTED = range(4)
_UNWEIGHTED = np.zeros(0)
_CHUNK = 512  # observations per pass of the hot loop: their factors fit into a core's cache


class Packed(NamedTuple):
    """A space as arrays; those of single hyper-parameters have the shape (D,)."""

    sizes: Array
    """Number of levels; 0 for a continuous hyper-parameter."""
    offsets: Array
    """Where the table of masses of each discrete hyper-parameter begins in `tables` and `prior`."""
    scaled: Array
    """Whether the levels lie on a scale."""
    starts: Array
    """Where the places of the levels of each hyper-parameter begin in `places`; d later, their borders in `borders`."""
    places: Array
    """Places of all levels, on the scale where distances are measured."""
    borders: Array
    """Borders of the cells around all levels."""
    narrowest: Array
    """The smallest bandwidth, as a share of the range."""
    lower: Array
    """Lower end of the range."""
    upper: Array
    """Upper end of the range."""
    tables: Array
    """Masses of the kernels that do not depend on observations, and of the prior's in their last columns."""
    prior: Array
    """Masses of the prior."""
    conditions: Array
    """(parents, allowed, allowed_at): each hyper-parameter's parent or -1, all permissions, and where its own begin."""
    blocks: Array
    """First hyper-parameter of each block with few combinations of levels, and the end; shape (blocks + 1,)."""
    vanishing: bool
    """Whether the smoothing of categorical kernels vanishes as observations arrive."""
    middle: Array
    """Centre of the prior of a numerical hyper-parameter."""
    spread: Array
    """Width of the prior of a numerical hyper-parameter."""
    grain: Array
    """What a point is rounded to: nothing (`EXACT`), `WHOLE` numbers, on a log scale `LOG_WHOLE`, values `LISTED`."""
    ends: Array
    """Both ends of the range of a continuous hyper-parameter, on the scale where distances are measured; (D, 2)."""
    middles: Array
    """Places half-way between the neighbouring values of lists."""
    middles_at: Array
    """Where those of each hyper-parameter begin in `middles`, and the end; shape (D + 1,)."""


@njit(cache=True)
def normal_cdf(x: float) -> float:
    """Cumulative distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x / _SQRT2)


@njit(cache=True)
def log_relative_ratio(log_good: float, log_bad: float, quantile: float) -> float:
    """log r^rel = -log(γ + (1 - γ) / r) with r = p^l / p^g (c-TPE, section 3.2.1).

    Args:
        log_good: log p(x | D^l).
        log_bad: log p(x | D^g).
        quantile: γ̂ = |D^l| / |D|, in [0, 1]; at 1 the metric is satisfied everywhere, and the ratio is 1.
    """
    if quantile >= 1.0:
        return 0.0
    a, b = math.log(quantile + _TINY), math.log(1.0 - quantile) + log_bad - log_good
    return -(max(a, b) + math.log1p(math.exp(-abs(a - b))))


@njit(cache=True)
def bandwidth(count: Array, z: Array, lower: float, upper: float, narrowest: float) -> float:
    """Bandwidth of a numerical hyper-parameter in one group of observations: Scott's rule, guarded.

    1.059 · min(IQR / 1.34, std) · n^(-1/5) over the group's values and the middle of the range (where the prior
    lies by default), clipped to [narrowest, 1/2] of the range.

    Args:
        count: number of observations at each value.
        z: the values, ascending, on the scale where distances are measured; same shape.
        lower: lower end of the range.
        upper: upper end of the range.
        narrowest: the smallest bandwidth, as a share of the range.
    """
    middle = 0.5 * (lower + upper)
    n, total = 1, middle
    for i in range(len(z)):
        n += count[i]
        total += count[i] * z[i]
    mean = total / n
    squares = (middle - mean) ** 2
    for i in range(len(z)):
        squares += count[i] * (z[i] - mean) ** 2
    width = 0.0
    if n > 1:
        iqr = _quantile(count, z, middle, n, 0.75) - _quantile(count, z, middle, n, 0.25)
        width = 1.059 * min(iqr / 1.34, math.sqrt(squares / (n - 1))) * n ** (-0.2)
    span = upper - lower
    return min(max(width, narrowest * span), 0.5 * span)


@njit(cache=True)
def _quantile(count: Array, z: Array, middle: float, n: int, q: float) -> float:
    """Linearly interpolated quantile of n values: z, each `count` times, and `middle` once."""
    position = q * (n - 1)
    low = int(position)
    a = _order_statistic(count, z, middle, low)
    if low + 1 >= n:
        return a
    return a + (position - low) * (_order_statistic(count, z, middle, low + 1) - a)


@njit(cache=True)
def _order_statistic(count: Array, z: Array, middle: float, rank: int) -> float:
    waiting = True
    for i in range(len(z)):
        if waiting and z[i] > middle:
            if rank == 0:
                return middle
            rank -= 1
            waiting = False
        if rank < count[i]:
            value: float = z[i]
            return value
        rank -= count[i]
    return middle


@njit(cache=True)
def gaussian_masses(centre: float, width: float, edges: Array, masses: Array) -> None:
    """Writes the masses of a truncated Gaussian on K cells into `masses`.

    The K + 1 `edges` bound the cells; the outer two bound the truncation.
    """
    first = before = normal_cdf((edges[0] - centre) / width)
    for c in range(len(edges) - 1):
        after = normal_cdf((edges[c + 1] - centre) / width)
        masses[c] = after - before
        before = after
    for c in range(len(masses)):
        masses[c] = max(masses[c] / (before - first), _TINY)


@njit(cache=True)
def truncated_gaussian(x: float, centre: float, width: float, lower: float, upper: float) -> float:
    """Density at x of a Gaussian truncated to [lower, upper]."""
    whole = normal_cdf((upper - centre) / width) - normal_cdf((lower - centre) / width)
    return math.exp(-0.5 * ((x - centre) / width) ** 2) / (_SQRT2PI * width * whole)


@njit(cache=True)
def fit(dims: Packed, levels: Array, points: Array, rows: Array) -> Array:
    """Fits the kernels of one group of observations.

    Args:
        levels: levels of all observations, shape (D, N); K (one beyond the last) where a hyper-parameter is absent.
        points: places of all observations in continuous hyper-parameters, shape (D, N); NaN where absent.
        rows: the observations of the group, as indices.

    Returns:
        (tables, widths): for a discrete hyper-parameter d, tables[offset_d + c (K+1) + x] is the mass at level c of
        the kernel around level x, and the prior's for the absent x = K; for a continuous one its bandwidth.
    """
    sizes, offsets, lower, upper, narrowest = dims.sizes, dims.offsets, dims.lower, dims.upper, dims.narrowest
    tables = dims.tables.copy()
    widths = np.zeros(len(sizes))
    for d in range(len(sizes)):
        k = sizes[d]
        if k == 0:
            places = points[d][rows]
            places = np.sort(places[~np.isnan(places)])
            widths[d] = bandwidth(np.ones(len(places), np.int64), places, lower[d], upper[d], narrowest[d])
        elif dims.scaled[d]:
            count = np.zeros(k + 1, np.int64)
            for j in rows:
                count[levels[d, j]] += 1
            s = dims.starts[d]
            z, borders, masses = dims.places[s : s + k], dims.borders[s + d : s + d + k + 1], np.empty(k)
            width = bandwidth(count[:k], z, lower[d], upper[d], narrowest[d])
            for x in range(k):
                gaussian_masses(z[x], width, borders, masses)
                for c in range(k):
                    tables[offsets[d] + c * (k + 1) + x] = masses[c]
        elif dims.vanishing:
            share = 1.0 / (len(rows) + 1)
            for x in range(k):
                for c in range(k):
                    tables[offsets[d] + c * (k + 1) + x] = (share + (c == x)) / (1.0 + k * share)
    return tables, widths


@njit(cache=True)
def _member(weights: Array, n: int, rng: Array) -> int:
    """Draws a member of a group by its weight; n is the prior, whose weight is 1. Without weights all have weight 1."""
    if len(weights) == 0:
        return int(rng.random() * (n + 1))
    left, member = rng.random() * (weights.sum() + 1.0), 0
    while member < n and left >= weights[member]:
        left -= weights[member]
        member += 1
    return member


@njit(cache=True)
def draw(
    dims: Packed,
    levels: Array,
    points: Array,
    rows: Array,
    kernels: Array,
    joint: bool,
    rng: Array,
    to: Array,
    weights: Array = _UNWEIGHTED,
) -> None:
    """Draws candidates from a group's density into to = (levels (D, S), points (D, S)).

    Args:
        weights: weight of each member, shape (n,); the prior weighs 1. Empty if all members weigh as much as the prior.
        joint: whether to draw from the mixture of product kernels (the paper), or each hyper-parameter separately from
            its one-dimensional mixture (the authors' scripts).
    """
    sizes, offsets, lower, upper, prior = dims.sizes, dims.offsets, dims.lower, dims.upper, dims.prior
    tables, widths = kernels
    parents, allowed, allowed_at = dims.conditions
    to_levels, to_points = to
    n = len(rows)
    for s in range(to_levels.shape[1]):
        member = _member(weights, n, rng)
        for d in range(len(sizes)):
            if not joint:
                member = _member(weights, n, rng)
            k, parent = sizes[d], parents[d]
            if parent >= 0 and not allowed[allowed_at[d] + to_levels[parent, s]]:
                to_levels[d, s], to_points[d, s] = k, np.nan
                continue
            j = rows[member] if member < n else -1
            if k > 0:
                centre = levels[d, j] if j >= 0 else k
                u, c = rng.random(), 0
                step = k + 1
                at = offsets[d] + centre
                table = tables
                if centre == k:  # the prior's kernel, or a member without this hyper-parameter
                    step, at, table = 1, offsets[d], prior
                u -= table[at]
                while u >= 0.0 and c + 1 < k:
                    c += 1
                    u -= table[at + c * step]
                to_levels[d, s] = c
            else:
                centre_at, width = dims.middle[d], dims.spread[d]
                if j >= 0 and not np.isnan(points[d, j]):
                    centre_at, width = points[d, j], widths[d]
                place = centre_at + width * rng.standard_normal()
                while place < lower[d] or place > upper[d]:  # a third of the draws or more fall inside
                    place = centre_at + width * rng.standard_normal()
                to_points[d, s] = place


@njit(cache=True)
def log_density(
    dims: Packed, codes: Array, points: Array, rows: Array, kernels: Array, candidates: Array, weights: Array
) -> Array:
    """Log density of candidates under a group's mixture, shape (S,).

    The hot loop: S · n products of D factors. Discrete hyper-parameters are grouped into blocks with few combinations.
    The factors of a combination for all observations are looked up once for all candidates with that combination, so
    that each pair of candidate and observation costs one multiplication of neighbours in memory per block.

    Args:
        codes: see `block_codes`, of all observations.
        candidates: see `describe`.
    """
    sizes, lower, upper, middle, spread = dims.sizes, dims.lower, dims.upper, dims.middle, dims.spread
    slots, _, at_points, priors = candidates
    widths = kernels[1]
    masses = block_masses(dims, kernels[0], candidates)
    heights = kernel_heights(sizes, points, rows, widths, lower, upper)
    sums = np.zeros(len(priors))
    factors, products = np.empty((len(masses), masses.shape[1], min(_CHUNK, len(rows)))), np.empty(_CHUNK)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        product = products[: len(chunk)]
        for b in range(len(masses)):
            code = codes[b][chunk]
            for u in range(1 + slots[b].max()):
                row, factor = masses[b, u], factors[b, u]
                for i in range(len(code)):
                    factor[i] = row[code[i]]
        for s in range(len(sums)):
            first = factors[0, slots[0, s]]
            for i in range(len(product)):
                product[i] = first[i]
            for b in range(1, len(masses)):
                factor = factors[b, slots[b, s]]
                for i in range(len(product)):
                    product[i] *= factor[i]
            for d in range(len(sizes)):
                x = at_points[d, s]
                if sizes[d] == 0 and not np.isnan(x):
                    alone = truncated_gaussian(x, middle[d], spread[d], lower[d], upper[d])
                    for i in range(len(product)):
                        place = points[d, chunk[i]]
                        if np.isnan(place):
                            product[i] *= alone  # an observation without it contributes the prior
                        else:
                            product[i] *= heights[d, start + i] * math.exp(-0.5 * ((x - place) / widths[d]) ** 2)
            for i in range(len(product) if len(weights) else 0):
                product[i] *= weights[start + i]
            sums[s] += _sum(product)
    total = weights.sum() if len(weights) else float(len(rows))
    return np.log((sums + priors) / (total + 1.0) + _TINY)


@njit(cache=True)
def describe(dims: Packed, at_levels: Array, at_points: Array) -> Array:
    """Computes what candidates (levels (D, S), points (D, S)) need under every density.

    Returns:
        (slots, at_levels, at_points, priors): slots[b, s] numbers candidate s's combination of levels in block b among
        the distinct ones, shape (blocks, S); priors is the density under the prior's kernel alone, shape (S,).
    """
    sizes, offsets, lower, upper = dims.sizes, dims.offsets, dims.lower, dims.upper
    codes = block_codes(sizes, dims.blocks, at_levels)
    slots = np.zeros(codes.shape, np.int64)
    for b in range(len(codes)):
        known = np.full(1 + codes[b].max(), -1)
        used = 0
        for s in range(codes.shape[1]):
            if known[codes[b, s]] < 0:
                known[codes[b, s]] = used
                used += 1
            slots[b, s] = known[codes[b, s]]
    priors = np.ones(codes.shape[1])
    for d in range(len(sizes)):
        k = sizes[d]
        for s in range(len(priors)):
            c, x = at_levels[d, s], at_points[d, s]
            if c < k:
                priors[s] *= dims.prior[offsets[d] + c]
            elif k == 0 and not np.isnan(x):
                priors[s] *= truncated_gaussian(x, dims.middle[d], dims.spread[d], lower[d], upper[d])
    return slots, at_levels, at_points, priors


@njit(cache=True)
def kernel_heights(sizes: Array, points: Array, rows: Array, widths: Array, lower: Array, upper: Array) -> Array:
    """Densities of a group's continuous kernels at their centres, shape (D, n); 1 where there is no kernel."""
    heights = np.ones((len(sizes), len(rows)))
    for d in range(len(sizes)):
        if sizes[d] == 0:
            for i in range(len(rows)):
                x = points[d, rows[i]]
                if not np.isnan(x):
                    heights[d, i] = truncated_gaussian(x, x, widths[d], lower[d], upper[d])
    return heights


@njit(cache=True)
def block_codes(sizes: Array, blocks: Array, levels: Array) -> Array:
    """Numbers each column's combination of levels within each block, shape (blocks, columns)."""
    codes = np.zeros((len(blocks) - 1, levels.shape[1]), np.uint32)  # unsigned indexing needs no check for negatives
    for b in range(len(blocks) - 1):
        for d in range(blocks[b], blocks[b + 1]):
            for i in range(levels.shape[1]):
                codes[b, i] = codes[b, i] * (sizes[d] + 1) + levels[d, i]
    return codes


@njit(cache=True)
def block_masses(dims: Packed, tables: Array, candidates: Array) -> Array:
    """Kernel masses of the candidates' distinct combinations of levels.

    Entry [b, slot, code] is the mass of the combination in `slot` of block b under the kernel around `code`.
    """
    sizes, offsets, blocks = dims.sizes, dims.offsets, dims.blocks
    slots, at_levels, _, _ = candidates
    combinations = 1
    for b in range(len(slots)):
        combinations = max(combinations, np.prod(sizes[blocks[b] : blocks[b + 1]] + 1))
    masses = np.empty((len(slots), 1 + slots.max(), combinations))
    for b in range(len(slots)):
        made = 0
        for s in range(slots.shape[1]):
            if slots[b, s] == made:
                _multiply_out(masses[b, made], sizes, offsets, tables, blocks[b], blocks[b + 1], at_levels[:, s])
                made += 1
    return masses


@njit(cache=True)
def _multiply_out(
    row: Array, sizes: Array, offsets: Array, tables: Array, first: int, end: int, candidate: Array
) -> None:
    """Writes into `row` a candidate's kernel masses under every combination of levels in the block first … end-1."""
    row[0] = 1.0
    length = 1
    for d in range(first, end):
        k, c = sizes[d], candidate[d]
        for i in range(length - 1, -1, -1):
            factor, at = row[i], i * (k + 1)
            if c < k:
                masses = tables[offsets[d] + c * (k + 1) : offsets[d] + (c + 1) * (k + 1)]
                for x in range(k + 1):
                    row[at + x] = factor * masses[x]
            else:  # absent from the candidate, or continuous: the factor is 1
                row[at : at + k + 1] = factor
        length *= k + 1


@njit(cache=True)
def _sum(values: Array) -> float:
    """The sum by four independent accumulators; always in the same order, so always the same value."""
    a = b = c = d = 0.0
    whole = len(values) // 4 * 4
    for i in range(0, whole, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(whole, len(values)):
        a += values[i]
    return (a + b) + (c + d)


@njit(cache=True)
def suggest(
    dims: Packed,
    levels: Array,
    points: Array,
    evaluated: Array,
    groups: Array,
    options: Array,
    rng: Array,
    weights: Array = _UNWEIGHTED,
) -> Array:
    """Draws candidates for every metric and returns the best, the first of a tie: (levels (D,), points (D,)).

    Args:
        evaluated: whether each observation is an evaluation (not only a known constraint value), shape (N,).
        groups: groups of each metric (the objective first), shape (M, N): 1 good, 0 bad, -1 not an observation of it.
        options: (candidates per metric, whether to draw jointly, whether to score by relative density ratios instead
            of plain ones, number of evaluations that bar a candidate: see `contenders`).
        weights: weights of the good observations of the objective, in their order; empty for equal ones.
    """
    candidates, joint, relative, barred_at = options
    at_levels = np.zeros((levels.shape[0], len(groups) * candidates), np.int32)
    at_points = np.full(at_levels.shape, np.nan)
    fitted = [fit(dims, levels, points, np.flatnonzero(group == 1)) for group in groups]
    for m in range(len(groups)):
        part = slice(m * candidates, (m + 1) * candidates)
        good = np.flatnonzero(groups[m] == 1)
        to = at_levels[:, part], at_points[:, part]
        draw(dims, levels, points, good, fitted[m], joint, rng, to, weights if m == 0 else _UNWEIGHTED)
    kept = contenders(dims, levels, points, evaluated, barred_at, at_levels, at_points)
    at_levels, at_points = at_levels[:, kept], at_points[:, kept]
    scores = _scores(dims, levels, points, groups, relative, fitted, at_levels, at_points, weights)
    best = first_of_best(scores)
    return at_levels[:, best].copy(), at_points[:, best].copy()


@njit(cache=True)
def first_of_best(scores: Array) -> int:
    """Index of the highest score; the first of those within `_TIE` of it.

    The last bits of exp and log depend on the C library. They would decide differently on different machines between
    candidates that are equal in exact arithmetic.
    """
    return int(np.argmax(scores >= scores.max() - _TIE))


@njit(cache=True)
def contenders(
    dims: Packed,
    levels: Array,
    points: Array,
    evaluated: Array,
    barred_at: int,
    at_levels: Array,
    at_points: Array,
) -> Array:
    """Indices of the candidates worth scoring, ascending: no duplicates, and none evaluated `barred_at` times or more.

    If all candidates are barred, all are kept. Dropping duplicates changes no result: the first of equal scores wins.
    Points that are rounded to one value are no duplicates (their scores differ), but evaluations of one configuration.

    Args:
        evaluated: whether each observation is an evaluation, shape (N,).
        barred_at: number of evaluations that bar a candidate; 0 bars none.
    """
    known = fingerprints(levels[:, : len(evaluated)], rounded(dims, points[:, : len(evaluated)]))[evaluated]
    drawn, meant = fingerprints(at_levels, at_points), fingerprints(at_levels, rounded(dims, at_points))
    first, allowed = np.zeros(len(drawn), np.bool_), np.zeros(len(drawn), np.bool_)
    for s in range(len(drawn)):
        duplicate, times = False, 0
        for t in range(s):
            duplicate |= drawn[t] == drawn[s]
        if duplicate:
            continue
        for j in range(len(known)):
            times += known[j] == meant[s]
        first[s], allowed[s] = True, barred_at == 0 or times < barred_at
    return np.flatnonzero(allowed if allowed.any() else first)


@njit(cache=True)
def rounded(dims: Packed, points: Array) -> Array:
    """Points, with the value's number in place of each that is rounded to a value: itself if whole, or its place."""
    if not dims.grain.any():  # all are EXACT
        return points
    numbers = points.copy()
    for d in np.flatnonzero(dims.grain):
        middles = dims.middles[dims.middles_at[d] : dims.middles_at[d + 1]]
        low, high = dims.ends[d]
        for j in range(points.shape[1]):
            place = low + points[d, j] * (high - low)
            if math.isnan(place):
                continue
            if dims.grain[d] == LISTED:
                numbers[d, j] = np.searchsorted(middles, place)
            else:
                numbers[d, j] = np.rint(math.exp(place) if dims.grain[d] == LOG_WHOLE else place)
    return numbers


@njit(cache=True)
def fingerprints(levels: Array, points: Array) -> Array:
    """64-bit hashes of the columns of coordinates: equal for equal columns, almost surely different for others."""
    marks = np.full(levels.shape[1], np.uint64(14695981039346656037))
    for d in range(len(levels)):
        bits = points[d].copy().view(np.uint64)
        for j in range(len(marks)):
            mixed = (marks[j] ^ np.uint64(levels[d, j])) * np.uint64(1099511628211)
            mixed = (mixed ^ bits[j]) * np.uint64(0xFF51AFD7ED558CCD)
            marks[j] = mixed ^ (mixed >> np.uint64(33))
    return marks


@njit(cache=True)
def acquisition(
    dims: Packed,
    levels: Array,
    points: Array,
    groups: Array,
    relative: bool,
    at_levels: Array,
    at_points: Array,
    weights: Array = _UNWEIGHTED,
) -> Array:
    """Logarithm of the acquisition at candidates (levels (D, S), points (D, S)), shape (S,)."""
    fitted = [fit(dims, levels, points, np.flatnonzero(group == 1)) for group in groups]
    return _scores(dims, levels, points, groups, relative, fitted, at_levels, at_points, weights)


@njit(cache=True)
def _scores(
    dims: Packed,
    levels: Array,
    points: Array,
    groups: Array,
    relative: bool,
    fitted: Array,
    at_levels: Array,
    at_points: Array,
    weights: Array,
) -> Array:
    """Sums the log density ratios over metrics, relative ones or plain, shape (S,)."""
    scores = np.zeros(at_levels.shape[1])
    codes, candidates = block_codes(dims.sizes, dims.blocks, levels), describe(dims, at_levels, at_points)
    for m in range(len(groups)):
        good, bad = np.flatnonzero(groups[m] == 1), np.flatnonzero(groups[m] == 0)
        if len(good) + len(bad) == 0 or (relative and len(bad) == 0):
            continue  # without observations, or if all satisfy the constraint, the ratio is 1 (corollary 2)
        of_good = weights if m == 0 else _UNWEIGHTED
        log_good = log_density(dims, codes, points, good, fitted[m], candidates, of_good)
        log_bad = log_density(dims, codes, points, bad, fit(dims, levels, points, bad), candidates, _UNWEIGHTED)
        quantile = len(good) / (len(good) + len(bad))
        for s in range(len(scores)):
            if relative:
                scores[s] += log_relative_ratio(log_good[s], log_bad[s], quantile)
            else:
                scores[s] += log_good[s] - log_bad[s]
    return scores

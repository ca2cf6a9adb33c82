"""TPE's kernels, densities and candidates, against scipy, quadrature and enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from nasbench.benchmarks import Metric
from nasbench.benchmarks.spaces import (
    Categorical,
    Choice,
    Condition,
    Coordinate,
    Float,
    Integer,
    Ordinal,
    ParameterSpace,
)
from nasbench.benchmarks.spaces.hyperparameters import Hyperparameter
from nasbench.methods import Problem
from nasbench.methods.tpe import CTPE, TPE, NaiveCTPE, compiled
from nasbench.methods.tpe.dimensions import NARROWEST, Dimensions

# Densities

SPACE: list[Hyperparameter] = [
    Categorical("op", ("a", "b", "c")),
    Ordinal("dropout", (0.0, 0.3, 0.6)),
    Ordinal("lr", (5e-4, 1e-3, 5e-3, 1e-2), log=True),
    Integer("layers", 1, 5),
    Integer("units", 1, 9, log=True),
    Float("momentum", -1.0, 2.0),
    Float("decay", 1e-5, 1e-1, log=True),
    Integer("steps", 1, 5000, log=True),
    Ordinal("many", tuple(range(1, 100)), log=True),
    Ordinal("single", (8,), log=True),
]


def one(h: Hyperparameter, **options: Any) -> Dimensions:
    return Dimensions([h], [None], **options)


def log_density(
    dims: compiled.Packed,
    levels: np.ndarray,
    points: np.ndarray,
    rows: np.ndarray,
    kernels: tuple[np.ndarray, np.ndarray],
    at_levels: np.ndarray,
    at_points: np.ndarray,
) -> np.ndarray:
    """Log density of places under a group's mixture, all members of the same weight."""
    codes = compiled.block_codes(dims.sizes, dims.blocks, levels)
    described = compiled.describe(dims, at_levels, at_points)
    found: np.ndarray = compiled.log_density(dims, codes, points, rows, kernels, described, np.zeros(0))
    return found


def density_of(
    dims: Dimensions, observed: list[Coordinate], at_levels: np.ndarray, at_points: np.ndarray
) -> np.ndarray:
    """p of places in a space of one hyper-parameter, given the coordinates observed in it."""
    packed = [dims.pack([x]) for x in observed]
    levels = np.array([p[0] for p in packed], np.int32).reshape(-1, 1).T.copy()
    points = np.array([p[1] for p in packed], float).reshape(-1, 1).T.copy()
    rows = np.arange(len(observed))
    kernels = compiled.fit(dims.packed, levels, points, rows)
    return np.exp(log_density(dims.packed, levels, points, rows, kernels, at_levels, at_points))


def coordinates(h: Hyperparameter) -> list[float | int]:
    if isinstance(h, Float):
        return [h.low, h.high, 0.5 * (h.low + h.high), h.low + 0.01 * (h.high - h.low)]
    if isinstance(h, Integer):
        return [h.low, h.high, 3]
    return [0, len(h.values) - 1, min(1, len(h.values) - 1)]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("h", SPACE, ids=lambda h: h.name)
@pytest.mark.parametrize("observed", [[], [0], [0, 1, 1, 2], [2, 2, 2, 2, 2, 2]])
def test_every_density_integrates_to_one(h: Hyperparameter, observed: list[int], late: bool) -> None:
    dims = one(h, continuous_log=late)
    seen = [coordinates(h)[i] for i in observed]
    size = int(dims.packed.sizes[0])
    if size:
        at = np.arange(size, dtype=np.int32)[None, :]
        total = density_of(dims, seen, at, np.full((1, size), np.nan)).sum()
    else:
        lower, upper = dims.packed.lower[0], dims.packed.upper[0]

        def density(x: float) -> float:
            return float(density_of(dims, seen, np.zeros((1, 1), np.int32), np.array([[x]]))[0])

        places = sorted({float(dims.pack([x])[1][0]) for x in seen} - {lower, upper})
        total, _ = integrate.quad(density, lower, upper, points=places or None, limit=400)
    assert total == pytest.approx(1.0, abs=1e-6)


def test_a_float_kernel_is_scipys_truncated_normal() -> None:
    h = Float("x", 0.0, 1.0)
    dims = one(h)
    seen = [0.5, 0.9]
    width = compiled.bandwidth(np.array([1, 1]), np.array(seen), 0.0, 1.0, 0.01)
    x = np.linspace(0, 1, 31)
    expected = np.zeros(31)
    for centre, w in [(0.5, width), (0.9, width), (0.5, 1.0)]:  # the last is the prior: in the middle, and wide
        expected += stats.truncnorm.pdf(x, -centre / w, (1 - centre) / w, centre, w) / 3
    found = density_of(dims, seen, np.zeros((1, 31), np.int32), x[None, :])
    assert found == pytest.approx(expected, rel=1e-9)


def test_an_ordinal_kernel_is_the_mass_of_its_cell() -> None:
    h = Ordinal("dropout", (0.0, 0.3, 0.6))
    width = compiled.bandwidth(np.array([0, 0, 1]), np.array([0.0, 0.3, 0.6]), -0.15, 0.75, 1 / 3)
    edges = np.array([-0.15, 0.15, 0.45, 0.75])
    expected = np.zeros(3)
    for centre, w in [(0.6, width), (0.3, 0.9)]:
        cdf = stats.truncnorm.cdf(edges, (-0.15 - centre) / w, (0.75 - centre) / w, centre, w)
        expected += np.diff(cdf) / 2
    found = density_of(one(h), [2], np.arange(3, dtype=np.int32)[None, :], np.full((1, 3), np.nan))
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_categorical_kernel_is_aitchison_aitken() -> None:
    found = density_of(one(SPACE[0]), [1], np.arange(3, dtype=np.int32)[None, :], np.full((1, 3), np.nan))
    assert found.tolist() == pytest.approx([(0.1 + 1 / 3) / 2, (0.8 + 1 / 3) / 2, (0.1 + 1 / 3) / 2])


grid: list[Choice] = [
    Categorical("a", ("x", "y")),
    Ordinal("b", (1, 2, 4, 8), log=True),
    Ordinal("c", (0.0, 0.5, 1.0)),
    Categorical("d", tuple("pqrst")),
    Ordinal("e", tuple(range(8))),
    Categorical("f", tuple("uvwxyz")),
]


def test_the_joint_density_is_the_mixture_of_products_and_sums_to_one() -> None:
    """Against a plain product of one-dimensional masses; over the whole space of 11,520 points."""
    dims = Dimensions(grid, [None] * len(grid))
    rng = np.random.default_rng(0)
    sizes = [len(h.values) for h in grid]
    levels = np.array([rng.integers(size, size=7) for size in sizes], np.int32)
    points = np.full(levels.shape, np.nan)
    rows = np.array([0, 2, 3, 5, 6])
    kernels = compiled.fit(dims.packed, levels, points, rows)
    everything = np.array(np.meshgrid(*map(np.arange, sizes), indexing="ij"), np.int32).reshape(len(sizes), -1)
    found = np.exp(
        log_density(dims.packed, levels, points, rows, kernels, everything, np.full(everything.shape, np.nan))
    )
    assert found.sum() == pytest.approx(1.0)
    offsets, prior = dims.packed.offsets, dims.packed.prior
    for s in rng.integers(everything.shape[1], size=50):
        total = math.prod(prior[offsets[d] + everything[d, s]] for d in range(len(sizes)))
        for j in rows:
            places = (offsets[d] + everything[d, s] * (k + 1) + levels[d, j] for d, k in enumerate(sizes))
            total += math.prod(kernels[0][place] for place in places)
        assert found[s] == pytest.approx(total / (len(rows) + 1))


def test_who_lacks_a_hyperparameter_knows_no_more_of_it_than_the_prior() -> None:
    child = Float("child", 0.0, 1.0)
    dims = Dimensions([SPACE[0], child], [None, Condition(0, (True, False, True))])
    packed = [dims.pack(c) for c in ([0, 0.3], [1, None], [0, 0.9])]
    levels, points = (np.array([p[i] for p in packed]).T.copy() for i in (0, 1))
    rows = np.arange(3)
    kernels = compiled.fit(dims.packed, levels, points, rows)

    def density(at: list[Coordinate]) -> float:
        place = dims.pack(at)
        log = log_density(dims.packed, levels, points, rows, kernels, place[0][:, None], place[1][:, None])
        return float(np.exp(log[0]))

    width = kernels[1][1]
    assert width == pytest.approx(compiled.bandwidth(np.array([1, 1]), np.array([0.3, 0.9]), 0.0, 1.0, 0.01))

    def bell(x: float, centre: float, w: float) -> float:
        return float(stats.truncnorm.pdf(x, -centre / w, (1 - centre) / w, centre, w))

    alone = bell(0.4, 0.5, 1.0)
    with_child = 0.8 * bell(0.4, 0.3, width) + 0.1 * alone + 0.8 * bell(0.4, 0.9, width) + alone / 3
    assert density([0, 0.4]) == pytest.approx(with_child / 4)
    assert density([1, None]) == pytest.approx((0.1 + 0.8 + 0.1 + 1 / 3) / 4)


def test_a_density_over_a_conditional_space_sums_to_one() -> None:
    hyperparameters: list[Hyperparameter] = [
        Categorical("a", (0, 1)),
        Ordinal("b", (1, 2, 3)),
        Categorical("c", (0, 1)),
    ]
    dims = Dimensions(hyperparameters, [None, Condition(0, (False, True)), Condition(1, (True, False, True))])
    observed: list[list[Coordinate]] = [[0, None, None], [1, 0, 1], [1, 1, None], [0, None, None]]
    packed = [dims.pack(c) for c in observed]
    levels, points = (np.array([p[i] for p in packed]).T.copy() for i in (0, 1))
    kernels = compiled.fit(dims.packed, levels, points, np.arange(4))
    everything = [[0, None, None], *([1, b, c] for b in (0, 2) for c in (0, 1)), [1, 1, None]]
    at = [dims.pack(c) for c in everything]
    at_levels, at_points = (np.array([p[i] for p in at]).T.copy() for i in (0, 1))
    p = np.exp(log_density(dims.packed, levels, points, np.arange(4), kernels, at_levels, at_points))
    assert p.sum() == pytest.approx(1.0)


def reference_at_unit_range() -> float:
    """log p of a = 1, x = 0.35 in the test below, with scipy's truncated normals on [0, 1]."""
    width = compiled.bandwidth(np.array([1, 1]), np.array([0.3, 0.4]), 0.0, 1.0, NARROWEST)

    def bell(centre: float, w: float) -> float:
        return float(stats.truncnorm.pdf(0.35, -centre / w, (1 - centre) / w, centre, w))

    alone = bell(0.5, 1.0)
    return math.log((0.2 * alone + 0.8 * bell(0.3, width) + 0.8 * bell(0.4, width) + 0.5 * alone) / 4)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_a_float_does_not_matter(unit: float) -> None:
    dims = Dimensions([Categorical("a", (0, 1)), Float("x", 0.0, unit)], [None, Condition(0, (False, True))])
    packed = [dims.pack(c) for c in ([0, None], [1, 0.3 * unit], [1, 0.4 * unit])]
    levels, points = (np.array([p[i] for p in packed]).T.copy() for i in (0, 1))
    kernels = compiled.fit(dims.packed, levels, points, np.arange(3))
    at = [dims.pack(c) for c in ([0, None], [1, 0.35 * unit])]
    at_levels, at_points = (np.array([p[i] for p in at]).T.copy() for i in (0, 1))
    found = log_density(dims.packed, levels, points, np.arange(3), kernels, at_levels, at_points)
    assert found[1] == pytest.approx(reference_at_unit_range(), rel=1e-6)
    assert found[0] == pytest.approx(math.log((0.8 + 0.2 + 0.2 + 0.5) / 4), abs=1e-9)


# Candidates


def drawn(dims: Dimensions, observed: list[list[Coordinate]], joint: bool, n: int) -> tuple[np.ndarray, np.ndarray]:
    packed = [dims.pack(c) for c in observed]
    levels, points = (np.array([p[i] for p in packed]).T.copy() for i in (0, 1))
    rows = np.arange(len(observed))
    to = np.zeros((len(dims), n), np.int32), np.full((len(dims), n), np.nan)
    kernels = compiled.fit(dims.packed, levels, points, rows)
    compiled.draw(dims.packed, levels, points, rows, kernels, joint, np.random.default_rng(0), to)
    return to


def test_candidates_follow_the_joint_density() -> None:
    dims = Dimensions(grid[:3], [None] * 3)
    observed: list[list[Coordinate]] = [[0, 3, 0], [0, 3, 0], [1, 0, 2]]
    to_levels, _ = drawn(dims, observed, joint=True, n=20_000)
    packed = [dims.pack(c) for c in observed]
    levels, points = (np.array([p[i] for p in packed]).T.copy() for i in (0, 1))
    everything = np.array(np.meshgrid(*map(np.arange, (2, 4, 3)), indexing="ij"), np.int32).reshape(3, -1)
    kernels = compiled.fit(dims.packed, levels, points, np.arange(3))
    at = np.full(everything.shape, np.nan)
    p = np.exp(log_density(dims.packed, levels, points, np.arange(3), kernels, everything, at))
    codes = np.ravel_multi_index(tuple(to_levels), (2, 4, 3))
    assert stats.chisquare(np.bincount(codes, minlength=24), 20_000 * p).pvalue > 0.001


def test_the_scripts_draw_each_hyperparameter_on_its_own() -> None:
    dims = Dimensions([Categorical("a", (0, 1)), Categorical("b", (0, 1))], [None] * 2)
    observed: list[list[Coordinate]] = [[0, 0]] * 10 + [[1, 1]] * 10
    agree = {joint: np.mean(np.equal(*drawn(dims, observed, joint, 20_000)[0])) for joint in (True, False)}
    assert agree[False] == pytest.approx(0.5, abs=0.02)
    assert agree[True] == pytest.approx((20 * (0.8**2 + 0.2**2) + 0.5) / 21, abs=0.02)


@pytest.mark.parametrize(
    ("barred_at", "kept"),
    [
        (0, [0, 1, 2, 4]),  # no such rule: duplicates alone go
        (1, [2, 4]),  # b has been evaluated, and a twice; c is merely known
        (2, [0, 2, 4]),
        (3, [0, 1, 2, 4]),
    ],
)
def test_candidates_evaluated_often_enough_and_duplicates_are_not_scored(barred_at: int, kept: list[int]) -> None:
    a, b, c, d = [0, 0.25], [1, 0.25], [1, 0.5], [0, 0.5]
    dims = Dimensions([Categorical("x", (0, 1)), Float("y", 0.0, 1.0)], [None] * 2)
    observed, drawn = (
        [np.array(part).T.copy() for part in zip(*map(dims.pack, places), strict=True)]
        for places in ([a, b, a, c], [b, a, c, a, d])
    )
    evaluated = np.array([True, True, True, False])
    assert compiled.contenders(dims.packed, *observed, evaluated, barred_at, *drawn).tolist() == kept


@pytest.mark.parametrize(
    ("number", "evaluated", "same", "other"),
    [
        (Integer("n", 0, 99), 50, 50.4, 50.6),
        (Integer("n", 1, 1000, log=True), 2, 2.4, 2.6),
        (Ordinal("n", tuple(range(0, 200, 2))), 25, 50.9, 51.1),  # the value 50 is the 25th
        (Ordinal("n", tuple(2**i for i in range(40)), log=True), 3, 11.2, 11.4),  # half-way from 8 to 16 lies 11.31
    ],
)
def test_a_candidate_between_values_is_barred_with_the_value_that_it_is_rounded_to(
    number: Hyperparameter, evaluated: int, same: float, other: float
) -> None:
    dims = Dimensions([number, Categorical("x", (0, 1))], [None] * 2)
    low, high = dims.packed.ends[0]
    places = [((math.log(x) if number.log else x) - low) / (high - low) for x in (same, other)]  # type: ignore[union-attr]
    levels, points = (np.array(part)[:, None] for part in dims.pack([evaluated, 1]))
    drawn = np.array([[0, 0, 0], [1, 0, 1]], np.int32), np.array([[places[0], *places], [math.nan] * 3])
    for point, n in zip(places, (evaluated, evaluated + 1), strict=True):
        assert dims.unpack(np.array([0, 1]), np.array([point, math.nan])) == [n, 1]
    assert compiled.contenders(dims.packed, levels, points, np.array([True]), 1, *drawn).tolist() == [1, 2]
    two = drawn[0][:, [0, 0]], np.array([[places[0], points[0, 0]], [math.nan] * 2])  # two points of one value
    assert compiled.contenders(dims.packed, levels, points, np.array([True]), 2, *two).tolist() == [0, 1]


def test_where_all_candidates_are_barred_none_is() -> None:
    dims = Dimensions([Categorical("x", (0, 1))], [None])
    levels, points = (np.array(part).T.copy() for part in zip(*map(dims.pack, ([0], [1])), strict=True))
    both = np.array([True, True])
    assert compiled.contenders(dims.packed, levels, points, both, 1, levels, points).tolist() == [0, 1]


def test_continuous_candidates_follow_their_density() -> None:
    dims = one(Float("x", 0.0, 1.0))
    _, to = drawn(dims, [[0.5], [0.9]], joint=True, n=5000)
    width = compiled.bandwidth(np.array([1, 1]), np.array([0.5, 0.9]), 0.0, 1.0, 0.01)

    def cdf(x: np.ndarray) -> np.ndarray:
        parts = [(0.5, width), (0.9, width), (0.5, 1.0)]
        return sum(stats.truncnorm.cdf(x, -c / w, (1 - c) / w, c, w) for c, w in parts) / 3

    assert stats.kstest(to[0], cdf).pvalue > 0.001


def test_children_are_drawn_exactly_where_their_parents_permit_them() -> None:
    dims = Dimensions([SPACE[0], Float("child", 0.0, 1.0)], [None, Condition(0, (True, False, True))])
    to_levels, to_points = drawn(dims, [[0, 0.3], [1, None]], joint=True, n=500)
    assert (np.isnan(to_points[1]) == (to_levels[0] == 1)).all()
    assert 0 < np.isnan(to_points[1]).sum() < 500
    for s in range(500):
        unpacked = dims.unpack(to_levels[:, s], to_points[:, s])
        assert (unpacked[1] is None) == (unpacked[0] == 1)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("h", SPACE, ids=lambda h: h.name)
def test_coordinates_survive_packing(h: Hyperparameter, late: bool) -> None:
    dims = one(h, continuous_log=late)
    for x in [*coordinates(h), None]:
        (found,) = dims.unpack(*dims.pack([x]))
        assert found == (pytest.approx(x) if x is not None else None)


def test_the_range_of_an_integer_holds_the_reals_that_round_to_it() -> None:
    dims = one(Integer("many", 1, 100))
    assert [float(dims.pack([x])[1][0]) for x in (1, 50, 100)] == pytest.approx([0.005, 0.495, 0.995])


def test_a_candidate_between_levels_moves_to_the_nearest_in_the_logarithm_and_the_lower_of_two() -> None:
    dims = one(Ordinal("lr", (1.0, 10.0, 100.0), log=True), continuous_log=True)
    for place, level in [(0.0, 0), (0.5, 0), (0.51, 1), (1.49, 1), (2.0, 2)]:
        point = np.array([place / 2])  # of the range of two decades
        assert dims.unpack(np.zeros(1, np.int32), point) == [level]


@pytest.mark.parametrize("h", [Categorical("op", ("a", "b", "c"), (5, 3, 2)), Ordinal("k", (1, 3, 5), prior=(5, 3, 2))])
def test_the_prior_of_a_choice_is_the_priors_kernel(h: Choice) -> None:
    dims = one(h)
    places = np.arange(3, dtype=np.int32)[None]
    nothing = density_of(dims, [], places, np.full((1, 3), np.nan))
    assert nothing == pytest.approx([0.5, 0.3, 0.2])
    plain = one(type(h)(h.name, h.values))
    flat, seen = (density_of(d, [0, 2], places, np.full((1, 3), np.nan)) for d in (plain, dims))
    before = density_of(plain, [], places, np.full((1, 3), np.nan))
    assert seen - flat == pytest.approx((np.array([0.5, 0.3, 0.2]) - before) / 3)  # one kernel of three
    absent = density_of(dims, [None], places, np.full((1, 3), np.nan))
    assert absent == pytest.approx([0.5, 0.3, 0.2])


def test_a_category_has_the_kernel_of_its_observations_with_a_share_that_vanishes() -> None:
    dims, places = one(Categorical("op", ("a", "b", "c")), vanishing=True), np.arange(3, dtype=np.int32)
    found = density_of(dims, [1, 1, 0], places[None], np.full((1, 3), np.nan))
    kernels = [(0.25 + (places == seen)) / 1.75 for seen in (1, 1, 0)]
    assert found == pytest.approx((sum(kernels) + 1 / 3) / 4)


def test_the_density_of_more_members_than_fit_a_chunk_is_scipys() -> None:
    seen = np.random.default_rng(0).random(1300)
    width = compiled.bandwidth(np.ones(1300, int), np.sort(seen), 0.0, 1.0, NARROWEST)
    kernels = [*((centre, width) for centre in seen), (0.5, 1.0)]
    expected = np.mean([stats.truncnorm.pdf(0.3, -c / w, (1 - c) / w, c, w) for c, w in kernels])
    found = density_of(one(Float("x", 0.0, 1.0)), seen.tolist(), np.zeros((1, 1), np.int32), np.array([[0.3]]))
    assert found == pytest.approx([expected])


def test_no_kernel_of_a_real_or_integer_is_narrower_than_a_twelfth_of_its_range() -> None:
    for h in (Float("x", 0.0, 1.0), Integer("x", 1, 9), Integer("x", 1, 999, log=True)):
        assert one(h).packed.narrowest.tolist() == [0.08]
        assert one(h, narrowest=0.01).packed.narrowest.tolist() == [0.01]
    assert one(Ordinal("x", (1, 2, 3, 4))).packed.narrowest.tolist() == [0.25]


@pytest.mark.parametrize(("variant", "share"), [("amended", 0.08), ("paper", 0.01), ("scripts", 0.01)])
@pytest.mark.parametrize("method", [TPE, NaiveCTPE, CTPE])
def test_the_amended_variant_alone_has_the_wide_floor(method: type[TPE], variant: str, share: float) -> None:
    space = ParameterSpace([Float("x", 0.0, 1.0)])
    tpe = method(Problem(space, (Metric("loss", ""),)), np.random.default_rng(0), variant=variant)
    assert tpe._estimators()._dimensions.packed.narrowest.tolist() == [share]


def test_up_to_thirty_two_values_are_levels() -> None:
    for count, levels in ((32, 32), (33, 0)):
        for h in (Ordinal("x", tuple(range(count))), Integer("x", 1, count)):
            assert one(h).packed.sizes.tolist() == [levels]


@pytest.mark.parametrize("seed", range(5))
def test_the_bandwidth_is_scotts_of_the_values_and_the_middle_of_the_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, count = np.sort(rng.uniform(0, 2, 6)), rng.integers(0, 4, 6)
    values = np.sort([*np.repeat(z, count), 3.0])  # the range is [-1, 7]: its middle lies beyond the values
    quarters = np.quantile(values, [0.25, 0.75])
    width = 1.059 * min((quarters[1] - quarters[0]) / 1.34, values.std(ddof=1)) * len(values) ** -0.2
    assert compiled.bandwidth(count, z, -1.0, 7.0, 1e-9) == pytest.approx(width)

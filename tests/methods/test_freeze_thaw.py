"""Freeze-thaw search: its predictions against scipy, and what goes on against exhaustive choice."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import t

from nasbench.benchmarks import Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.fidelity import Axis
from nasbench.benchmarks.spaces import Configuration, Float, ParameterSpace
from nasbench.methods import Observation, Problem
from nasbench.methods.fidelity.freeze_thaw import (
    FreezeThaw,
    Spread,
    chance_below,
    extrapolated,
    power_law,
    worth_of_new,
)
from tests.methods.levels import named, trajectory
from tests.nasbench_cli import toys

Array = np.ndarray[tuple[int], np.dtype[np.float64]]


def law(x: Array, asymptote: float, height: float, exponent: float) -> Array:
    found: Array = asymptote + height * x**-exponent
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_power_law_fits_as_well_as_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.arange(rng.integers(1, 10), rng.integers(15, 60), dtype=float)
    true = rng.uniform(0, 10), rng.uniform(1, 30), rng.uniform(0.3, 2)
    y = law(x, *true) + rng.normal(0, 0.05, len(x))
    ours = power_law(x, y)
    theirs, _ = curve_fit(law, x, y, p0=true, bounds=([-np.inf, 0, 0.1], [np.inf, np.inf, 3]))
    error, least = (float(((law(x, *found) - y) ** 2).sum()) for found in (ours, theirs))
    assert error <= least * (1 + 1e-4)
    assert law(np.array([100.0]), *ours) == pytest.approx(law(np.array([100.0]), *theirs), abs=0.05)


def test_a_power_law_without_noise_is_found() -> None:
    x = np.arange(5.0, 30.0)
    assert power_law(x, law(x, 3.0, 7.0, 0.8)) == pytest.approx((3.0, 7.0, 0.8), rel=1e-2)


def test_a_rising_curve_is_flat_at_its_mean() -> None:
    x = np.arange(1.0, 9.0)
    asymptote, height, _ = power_law(x, x)
    assert (asymptote, height) == (4.5, 0.0)


def test_an_end_is_half_the_last_value_and_half_the_power_law_of_the_later_half() -> None:
    x = np.arange(1, 21)
    curve = [50.0] * 10 + law(x[10:].astype(float), 3.0, 7.0, 0.8).tolist()
    expected = 0.5 * (curve[-1] + 3.0 + 7.0 * 100**-0.8)
    assert extrapolated(x.tolist(), curve, 100) == pytest.approx(expected, abs=1e-3)
    curve[12] = math.nan
    assert extrapolated(x.tolist(), curve, 100) == pytest.approx(expected, abs=1e-3)
    assert extrapolated([1, 2, 3, 4, 5, 6], [9, 8, 7, 6, 5, 4], 100) == 4  # its half has too few points


def test_chances_are_students() -> None:
    errors = [-3.0, -1.0, 0.0, 1.0, 2.0]  # median 0, median absolute deviation 1
    predicted = np.array([-2.0, 0.0, 5.0])
    expected = t(4).cdf((1 - predicted) / (1.4826 * math.sqrt(1.2)))
    assert chance_below(1.0, predicted, Spread.of(errors)) == pytest.approx(expected)
    assert chance_below(1.0, predicted, Spread.of([7.0, 7.0, 7.0])).tolist() == [0.0, 0.0, 0.0]
    assert chance_below(1.0, predicted, Spread.of([0.0, 0.0, 0.0])).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("seed", range(10))
def test_the_worth_of_a_new_one_is_that_of_the_best_choice_of_those_that_go_on(seed: int) -> None:
    chances = np.random.default_rng(seed).uniform(0, 1, 7) ** 3
    first, highest = 2, 30
    choices = itertools.chain.from_iterable(itertools.combinations(chances, k) for k in range(1, 8))
    best = max(sum(chosen) / (7 * first + len(chosen) * (highest - first)) for chosen in choices)
    assert worth_of_new(chances, first, highest) == pytest.approx(best)


SPACE = ParameterSpace([Float("x", 0.0, 1.0)])
LEVELS = Fidelity("epochs", "1 epoch", (1, 2, 4, 8))
EPOCHS = Fidelity("epochs", "1 epoch", tuple(range(1, 53)))


def searched(
    objective: object, n: int, constraints: tuple[Bound, ...] = (), size: object = None
) -> list[tuple[int, int, float]]:
    """(trial, epochs, x) of a search; `objective` and `size` are functions of x and the epochs."""
    metrics = (Metric("loss", ""), Metric("size", ""))
    problem = Problem(SPACE, (metrics[0],), constraints=constraints, fidelity=LEVELS)
    method, asked = FreezeThaw(problem, np.random.default_rng(0)), []
    for number in range(n):
        configuration, level, continues = method.ask()
        trial = number if continues is None else continues
        (x,), epochs = configuration, level["epochs"]
        curve = tuple(objective(x, early) for early in LEVELS.axes[0].values if early <= epochs)  # type: ignore[operator]
        values = {"loss": curve[-1], "size": size(x, epochs) if size else 0.0}  # type: ignore[operator]
        feasible = all(bound.holds(values[bound.metric.name]) for bound in constraints)
        evaluation = Evaluation(values, 1.0, curve=curve)
        method.tell(Observation(configuration, evaluation, feasible, level, trial))
        asked.append((trial, epochs, x))
    return asked


def test_trainings_pause_from_an_eighth_of_the_whole_on_or_from_where_the_option_says() -> None:
    problem = Problem(SPACE, (Metric("loss", ""),), fidelity=EPOCHS)
    assert FreezeThaw(problem, np.random.default_rng(0))._levels == named([6, 13, 26, 52])
    assert FreezeThaw(problem, np.random.default_rng(0), lowest=1, eta=3)._levels == named([1, 5, 17, 52])
    assert FreezeThaw(problem, np.random.default_rng(0), eta=9)._levels == named([5, 52])  # not without a pause


def test_beside_another_axis_trainings_pause_along_the_first_one() -> None:
    fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, 53)), beside=(Axis("images", "1 image", (50, 100)),))
    method = FreezeThaw(Problem(SPACE, (Metric("loss", ""),), fidelity=fidelity), np.random.default_rng(0))
    assert method._levels == [Level(epochs=value, images=100) for value in (6, 13, 26, 52)]


def test_all_go_on_until_three_have_ended() -> None:
    asked = searched(lambda x, level: x, 12)
    assert [level for _, level, _ in asked] == [1, 2, 4, 8] * 3


def test_where_curves_tell_all_only_what_will_be_better_goes_on() -> None:
    asked = searched(lambda x, level: x + 1 / level, 200)
    best = min(x for _, level, x in asked[:12] if level == 8)
    for _, level, x in asked[12:]:
        if level > 1:
            assert x < best
        if level == 8:
            best = x


def test_where_the_first_level_tells_nothing_trainings_go_on_from_it() -> None:
    asked = searched(lambda x, level: 1.0 if level == 1 else x, 400)
    counts = [sum(level == one for _, level, _ in asked) for one in (1, 2, 8)]
    assert counts[1] >= counts[0] - 1  # each begun one goes on once
    assert counts[2] < counts[1] / 4


def test_a_paused_training_is_taken_up_again_when_it_is_the_best_there_is() -> None:
    asked = [trial for trial, _, _ in searched(lambda x, level: x + 0.3 * math.sin(40 * x * level), 400)]
    newest = itertools.accumulate(asked, max)
    assert any(trial < last for trial, last in zip(asked, newest, strict=True))


@pytest.mark.parametrize(
    "before", [lambda x, level: 10 * x + 8 - level, lambda x, level: 0.0 if level == 8 else math.nan]
)
def test_a_constraint_that_is_met_only_later_stops_no_training(before: object) -> None:
    bound = (Bound(Metric("size", ""), high=5.0),)
    asked = searched(lambda x, level: -x, 400, bound, before)
    ended = [x for _, level, x in asked if level == 8]
    assert len(ended) > 5
    assert max(x for x in ended if not before(x, 8) > 5.0) > 0.45  # type: ignore[operator]


def test_a_violation_that_never_falls_is_not_paid_for_after_three() -> None:
    bound = (Bound(Metric("size", ""), high=0.5),)
    asked = searched(lambda x, level: x, 400, bound, lambda x, level: x)
    feasible = next(i for i, (_, level, x) in enumerate(asked) if level == 8 and x <= 0.5)
    assert sum(x > 0.5 for _, level, x in asked[feasible:] if level == 8) <= 3


def test_of_equal_chances_the_training_with_less_to_pay_goes_on() -> None:
    problem = Problem(SPACE, (Metric("loss", ""),), fidelity=LEVELS)
    method = FreezeThaw(problem, np.random.default_rng(0))
    for number, epochs in ((0, 4), (1, 1), (2, 2)):
        method.tell(Observation((0.5,), Evaluation({"loss": 1.0}, 1.0), True, Level(epochs=epochs), number))
    assert [method.ask()[1:] for _ in range(3)] == [(Level(epochs=8), 0), (Level(epochs=4), 2), (Level(epochs=2), 1)]


def test_a_chance_is_worth_less_the_more_is_to_be_paid_for_it() -> None:
    problem = Problem(SPACE, (Metric("loss", ""),), fidelity=LEVELS)
    method = FreezeThaw(problem, np.random.default_rng(0))
    method._best, method._errors = (0.0, 0.0), {level: [-1.0, 0.0, 1.0] for level in named([1, 2, 4])}
    for number, epochs, value in ((0, 4, -0.3), (1, 1, -2.0)):  # chances of 0.56 and 0.82; 4 and 7 levels are left
        method.tell(Observation((0.5,), Evaluation({"loss": value}, 1.0), True, Level(epochs=epochs), number))
    assert method.ask()[1:] == (Level(epochs=8), 0)


def test_a_smaller_violation_goes_on_whatever_the_objective() -> None:
    bound = (Bound(Metric("size", ""), high=0.5),)
    asked = searched(lambda x, level: -x, 300, bound, lambda x, level: x)
    ended = [x for _, level, x in asked if level == 8]
    feasible = next(i for i, x in enumerate(ended) if x <= 0.5)
    assert sum(x > 0.5 for x in ended[feasible + 1 :]) < 12  # to learn from where on it does not fall
    assert max(ended[feasible:]) > 0.45  # of the feasible ones the best
    method = FreezeThaw(
        Problem(SPACE, (Metric("loss", ""),), constraints=bound, fidelity=LEVELS), np.random.default_rng(0)
    )
    method._best = (0.25, 0.0)
    first = Level(epochs=1)
    chances = [(0.0, 9.0), (0.5, -9.0), (0.25, 9.0), (0.35, 9.0)]
    assert method._chances(chances, first).tolist() == [1.0, 1.0, 1.0, 1.0]  # it may fall
    method._violations[first] = [(0.4, 0.4), (0.5, 0.5)]
    assert method._chances(chances, first).tolist() == [1.0, 1.0, 1.0, 1.0]  # three have to say so
    method._violations[first].append((0.6, 0.6))
    assert method._chances(chances, first).tolist() == [1.0, 0.0, 1.0, 1.0]
    method._violations[first].append((0.5, 0.1))
    assert method._chances(chances, first).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_where_nothing_can_be_continued_all_are_trained_to_the_end() -> None:
    assert set(trajectory("freeze-thaw", toys.Separate(), evals=5).columns["level"]) == {27}


def test_freeze_thaw_is_better_than_random_and_survives_without_curves() -> None:
    class Hidden(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            return super().measure(configuration, seed, upto, state)._replace(curve=None)

    def mean(method: str, benchmark: toys.Watched) -> float:
        ends = [trajectory(method, benchmark, seed, evals=40).columns["incumbent"][-1] for seed in range(8)]
        return float(np.mean(ends))

    random = mean("random", toys.Watched())
    assert mean("freeze-thaw", toys.Watched()) < random
    assert mean("freeze-thaw", Hidden()) < random


def test_what_a_new_training_is_worth_the_last_200_beginnings_say() -> None:
    """One that fails later has begun well, and counts as it began."""
    method = FreezeThaw(Problem(SPACE, (Metric("loss", ""),), fidelity=LEVELS), np.random.default_rng(0))
    for status in ("ok", "failed"):
        configuration, level, continues = method.ask()
        method.tell(Observation(configuration, Evaluation({"loss": 1.0}, 1.0, status), status == "ok", level, 0))  # type: ignore[arg-type]
    assert (level, continues) == (Level(epochs=2), 0)
    assert list(method._newest) == [(0.0, 1.0)]
    for trial in range(2, 300):
        begun = Evaluation({"loss": float(trial)}, 1.0)
        method.tell(Observation(method.ask().configuration, begun, True, LEVELS.levels[0], trial))
    assert [end for _, end in method._newest] == list(range(100, 300))


def test_a_training_that_fails_at_its_first_pause_has_no_chance() -> None:
    method = FreezeThaw(Problem(SPACE, (Metric("loss", ""),), fidelity=LEVELS), np.random.default_rng(0))
    asked = method.ask()
    failed = Evaluation({"loss": math.nan}, 1.0, "failed", "boom")
    method.tell(Observation(asked.configuration, failed, False, asked.level, 0))
    assert list(method._newest) == [(math.inf, math.inf)]

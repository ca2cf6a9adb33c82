"""DEHB: its bookkeeping against the authors' code, its operators by their definitions, and the way out of the cube."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from nasbench.benchmarks import Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.spaces import Categorical, Float, Integer, Ordinal, ParameterSpace
from nasbench.benchmarks.spaces.hyperparameters import Hyperparameter, at_share, draw, share_of
from nasbench.benchmarks.spaces.listed import listed
from nasbench.methods import Observation, Problem
from nasbench.methods.fidelity import dehb
from nasbench.methods.fidelity.dehb import DEHB, crossed, decoded, mutant
from tests.methods.levels import trajectory
from tests.nasbench_cli import toys

EPOCHS = Fidelity("epochs", "1 epoch", tuple(range(1, 28)))
SQUARE = ParameterSpace([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)])
STEP = np.array([0.6180339887498949, 0.41421356237309515])

Vector = dehb.Vector


def started(constraints: tuple[Bound, ...] = ()) -> DEHB:
    """A search of the unit square that starts from the populations of the recorded rows."""
    method = DEHB(
        Problem(SQUARE, (Metric("loss", ""),), constraints=constraints, fidelity=EPOCHS), np.random.default_rng(0)
    )
    for level, population in method._populations.items():
        for i, member in enumerate(population.members):
            member.vector = (i + 1) * STEP * (1 + level["epochs"] / 100) % 1
    return method


def told(method: DEHB, number: int, value: float, status: str = "ok", feasible: bool = True) -> tuple[int, Vector]:
    """Asks once, and tells the value; the epochs and the point that were asked for."""
    proposal = method.ask()
    trial = number if proposal.continues is None else proposal.continues
    evaluation = Evaluation({"loss": value if status == "ok" else float("nan")}, 1.0, status)  # type: ignore[arg-type]
    method.tell(Observation(proposal.configuration, evaluation, feasible, proposal.level, trial))
    return proposal.level["epochs"], np.array(proposal.configuration)


def test_levels_parents_promotions_and_selection_are_those_of_the_authors_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are of DEHB 0.1.2 (PyPI), its mutation and crossover replaced by `combined`, which draws nothing.

    Minimal fidelity 1, maximal 27, eta 3, one worker; the populations of `started`. Almost two rounds of brackets.
    """

    def combined(parent: Vector, pool: list[Vector], rng: object) -> Vector:
        found: Vector = (0.5 * parent + 0.37 * pool[0] + 0.61 * pool[-1] + 0.11 * len(pool)) % 1
        return found

    monkeypatch.setattr(dehb, "mutant", combined)
    monkeypatch.setattr(dehb, "crossed", lambda parent, mutant, rng: mutant)
    method, went_on = started(), 0
    with (Path(__file__).parent / "dehb_rows.csv").open() as file:
        rows = [(int(row["level"]), float(row["fitness"])) for row in csv.DictReader(file)]
    for number, (epochs, fitness) in enumerate(rows):
        proposal = method.ask()
        x = np.array(proposal.configuration)
        loss = float(((x - 0.3) ** 2).sum() + np.sin(12 * x[0] * x[1]) / (3 + epochs) + 1 / epochs)
        assert (proposal.level["epochs"], loss) == (epochs, pytest.approx(fitness, abs=1e-9))
        trial = number if proposal.continues is None else proposal.continues
        went_on += proposal.continues is not None
        evaluation = Evaluation({"loss": loss}, 1.0)
        method.tell(Observation(proposal.configuration, evaluation, True, proposal.level, trial))
    assert len(rows) == 195
    assert went_on == 19  # the first round's promotions: 9 + 3 + 1, 3 + 1, 2


def test_a_mutant_combines_three_others_of_the_pool_and_never_the_parent() -> None:
    rng = np.random.default_rng(0)
    pool = list(rng.random((4, 3)))
    possible = [
        (i, j, k) for i in range(1, 4) for j in range(1, 4) for k in range(1, 4) if len({i, j, k}) == 3
    ]  # the parent is number 0
    seen = set()
    for _ in range(200):
        found = mutant(pool[0], pool, rng)
        matches = [t for t in possible if np.allclose(found, pool[t[0]] + 0.5 * (pool[t[1]] - pool[t[2]]))]
        assert len(matches) == 1
        seen.add(matches[0])
    assert len(seen) == 6


def test_a_mutant_of_too_few_is_filled_up_at_random() -> None:
    parent = np.zeros(2)
    one, other = (mutant(parent, [parent, np.ones(2)], np.random.default_rng(seed)) for seed in (0, 1))
    assert np.isfinite([one, other]).all()
    assert not np.allclose(one, other)


def test_a_child_has_half_of_its_coordinates_from_the_mutant_at_least_one_and_none_outside() -> None:
    rng, parent = np.random.default_rng(0), np.full(2, 0.25)
    children = np.array([crossed(parent, np.full(2, 0.75), rng) for _ in range(4000)])
    assert set(np.unique(children)) == {0.25, 0.75}
    counts = np.bincount((children == 0.75).sum(axis=1), minlength=3)
    assert counts[0] == 0
    assert chisquare(counts[1:], [3000, 1000]).pvalue > 0.001  # one of two, also where neither was drawn; both
    outside = np.array([crossed(parent, np.array([1.5, -0.5]), rng) for _ in range(2000)])
    new = outside[outside != 0.25]
    assert kstest(new, "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    "h",
    [
        Categorical("c", ("a", "b", "c"), prior=(1.0, 2.0, 5.0)),
        Categorical("c", ("a", "b", "c")),
        Ordinal("o", (1, 2, 4, 8), log=True),
        Integer("i", 0, 4),
        Integer("i", 1, 40, log=True),
        Float("f", -1.0, 3.0),
        Float("f", 1e-4, 10.0, log=True),
    ],
    ids=str,
)
def test_the_unit_interval_holds_what_is_drawn_at_random(h: Hyperparameter) -> None:
    rng, n = np.random.default_rng(0), 20_000
    placed = np.array([at_share(h, u) for u in (np.arange(n) + 0.5) / n])
    drawn = np.array([draw(h, rng) for _ in range(n)])
    assert (np.diff(placed) >= 0).all()
    if isinstance(h, Float):
        assert kstest(drawn, placed).pvalue > 0.001
    else:
        expected = np.bincount(placed.astype(int), minlength=drawn.max() + 1)
        kept = expected > 0
        assert chisquare(np.bincount(drawn, minlength=len(expected))[kept], expected[kept]).pvalue > 0.001
    ends = {at_share(h, 0.0), at_share(h, 1.0)}
    assert ends == {min(placed.tolist()), max(placed.tolist())} or isinstance(h, Float)
    assert [at_share(h, share_of(h, x)) for x in drawn[:200].tolist()] == pytest.approx(drawn[:200].tolist())


def test_of_a_list_that_lacks_a_child_the_row_that_is_evaluated_becomes_the_member() -> None:
    rows = np.array([[0.001, 3], [0.01, 30], [0.5, 12]])
    space = listed([Float("x", 1e-4, 1.0, log=True), Integer("k", 1, 40)], rows)
    member = decoded(np.array([0.25, 0.75]), space.as_flat())
    coordinates = space.as_flat().coordinates(member.configuration)
    pairs = zip(space.hyperparameters, member.vector.tolist(), strict=True)
    assert [at_share(h, u) for h, u in pairs] == pytest.approx(coordinates)


def test_what_a_parent_does_not_call_for_is_left_out() -> None:
    space = ParameterSpace(
        [Categorical("kind", ("svm", "knn")), Integer("k", 1, 9), Float("c", 0.0, 1.0)],
        {"k": ("kind", ["knn"]), "c": ("kind", ["svm"])},
    )
    assert decoded(np.array([0.2, 0.5, 0.75]), space.as_flat()).configuration == (0, None, 0.75)
    assert decoded(np.array([0.9, 0.5, 0.75]), space.as_flat()).configuration == (1, 5, None)


def test_a_failed_child_replaces_nobody_and_one_that_is_no_worse_its_parent() -> None:
    method = started()
    members = method._populations[Level(epochs=1)].members
    before = [member.vector for member in members]
    told(method, 0, 0.0, status="failed")
    _, point = told(method, 1, 5.0)
    told(method, 2, 7.0)
    assert np.array_equal(members[0].vector, before[0])
    assert np.array_equal(members[1].vector, point)
    for number in range(3, 27):
        told(method, number, 9.0)
    assert [told(method, 27 + i, 1.0)[0] for i in range(9)] == [3] * 9
    ends = [told(method, 36 + i, 1.0)[0] for i in range(4)]
    assert ends == [9, 9, 9, 27]
    for number in range(40, 49):  # the second bracket goes once through all parents of level 3: none is better
        _, point = told(method, number, 1.0)
        assert np.array_equal(method._populations[Level(epochs=3)].members[number - 40].vector, point)
    assert members[1].trial is None  # it went up first, and its training cannot go on twice


def test_a_refused_child_may_replace_its_parent() -> None:
    """It is compared by its violation; a failed one has none."""
    metrics = (Metric("loss", ""), Metric("size", "", cheap=True))
    method = started((Bound(metrics[1], high=1.0),))
    members = method._populations[Level(epochs=1)].members
    before = [member.vector for member in members]
    for number, status in enumerate(("infeasible", "failed")):
        proposal = method.ask()
        told = {"loss": float("nan"), "size": 3.0}
        evaluation = Evaluation(told, 0.0, status)  # type: ignore[arg-type]
        method.tell(Observation(proposal.configuration, evaluation, False, proposal.level, number))
        is_replaced = not np.array_equal(members[number].vector, before[number])
        assert is_replaced == (status == "infeasible")


def test_members_are_compared_by_violation_first() -> None:
    metrics = (Metric("loss", ""), Metric("size", "", cheap=True))
    bound = Bound(metrics[1], high=1.0)
    method = DEHB(Problem(SQUARE, (metrics[0],), constraints=(bound,), fidelity=EPOCHS), np.random.default_rng(0))
    points = []
    for number in range(27):  # the smaller the loss, the larger the violation
        proposal = method.ask()
        points.append(proposal.configuration)
        evaluation = Evaluation({"loss": float(-number), "size": 1.0 + number}, 1.0)
        method.tell(Observation(proposal.configuration, evaluation, number == 0, proposal.level, number))
    assert [method.ask().configuration for _ in range(9)] == points[:9]


def test_dehb_is_better_than_hyperband_where_low_levels_tell_much() -> None:
    def mean(method: str) -> float:
        return float(np.mean([trajectory(method, seed=s, evals=60).columns["incumbent"][-1] for s in range(8)]))

    assert mean("dehb") < mean("hyperband")


def test_where_nothing_can_be_continued_dehb_trains_all_anew() -> None:
    found = trajectory("dehb", toys.Separate(), evals=20)
    assert len(set(found.columns["trial"].tolist())) == len(found)
    assert not found.failure


def test_where_all_of_the_level_below_failed_nothing_goes_up() -> None:
    method = started()
    for number in range(27):
        told(method, number, 1.0, status="failed")
    proposal = method.ask()
    assert (proposal.level, proposal.continues) == (Level(epochs=3), None)
    SQUARE.check(proposal.configuration)


def test_where_all_good_ones_of_the_level_below_are_at_this_level_too_the_best_goes_up_again() -> None:
    method = started()
    for number in range(27):
        told(method, number, float(9 - number), status="ok" if number < 7 else "failed")
    best, *others = (member for member in method._populations[Level(epochs=1)].ranked() if member.is_ok)
    for member, same in zip(method._populations[Level(epochs=3)].members, [best, *others], strict=False):
        member.vector = same.vector
    proposal = method.ask()
    assert (proposal.level, proposal.continues, proposal.configuration) == (Level(epochs=3), 6, best.configuration)

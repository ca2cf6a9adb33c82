"""CatCMA with Margin: its authors' package, driven through our spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation, Metric
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Integer, Ordinal, ParameterSpace, Space
from nasbench.methods import Method, MethodSpec, Observation, Problem

cmaes = pytest.importorskip("cmaes", reason="cmaes is not installed (make test EXTRAS=dev,optuna installs it)")

LOSS = Metric("loss", "")
BOUND = Bound(Metric("size", ""), high=0.2)
SPACE = ParameterSpace(
    [
        Float("rate", 1e-4, 1.0, log=True),
        Float("share", -2.0, 2.0),
        Integer("units", 1, 1000, log=True),
        Integer("layers", 2, 9),
        Ordinal("batch", (16, 32, 64)),
        Categorical("kind", ("a", "b", "c")),
        Categorical("flag", (True, False)),
        Ordinal("constant", (5,)),
        Float("momentum", 0.0, 1.0),
    ],
    {"momentum": ("kind", ["b"])},
)


def built(space: Space, seed: int = 0, options: str = "", bounds: tuple[Bound, ...] = ()) -> Method:
    return MethodSpec.parse(f"catcma{options}").build(Problem(space, (LOSS,), bounds), np.random.default_rng(seed))


def told(method: Method, configuration: Any, loss: float, feasible: bool = True, **metrics: float) -> None:
    method.tell(Observation(configuration, Evaluation({"loss": loss} | metrics, 1.0), feasible))


def test_proposals_are_those_of_the_package() -> None:
    space = ParameterSpace([Float("x", 0.0, 10.0), Float("y", 1e-3, 1.0, log=True), Categorical("c", ("a", "b", "c"))])
    method = built(space, seed=4)
    seed = int(np.random.default_rng(4).integers(2**31 - 1))
    theirs = cmaes.CatCMAwM(x_space=[[0.0, 1.0]] * 2, c_space=[3], seed=seed)
    for _ in range(5):
        generation = []
        for _ in range(theirs.population_size):
            configuration: Any = method.ask()
            solution = theirs.ask()
            x, y, c = configuration
            assert (x / 10, 1 + np.log10(y) / 3) == pytest.approx(tuple(solution.x), abs=1e-12)
            assert c == solution.c[0].argmax()
            loss = float((solution.x**2).sum() + c)
            told(method, configuration, loss)
            generation.append((solution, loss))
        theirs.tell(generation)


def test_every_kind_of_hyperparameter_takes_all_its_values() -> None:
    method, seen = built(SPACE), []
    for _ in range(600):  # told nothing, it stays where it begins, with a sixth to a fifth of each range as its spread
        configuration: Any = method.ask()
        SPACE.check(configuration)
        seen.append(SPACE.values(configuration))
    assert {values["layers"] for values in seen} >= {4, 5, 6, 7}
    assert all(2 <= values["layers"] <= 9 for values in seen)
    assert {values["batch"] for values in seen} == {16, 32, 64}
    assert {values["kind"] for values in seen} == {"a", "b", "c"}
    assert {values["flag"] for values in seen} == {True, False}
    assert all(("momentum" in values) == (values["kind"] == "b") for values in seen)
    for name, middle in (("rate", 1e-2), ("units", 22), ("share", 0.0)):  # of their scales
        below = np.mean([values[name] <= middle for values in seen])
        assert 0.35 < below < 0.65, name


def test_it_moves_to_what_is_better_under_a_constraint() -> None:
    method = built(SPACE, bounds=(BOUND,))
    asked = []
    for _ in range(400):
        configuration: Any = method.ask()
        values = SPACE.values(configuration)
        asked.append(values)
        loss = abs(np.log10(values["rate"]) + 3) + abs(values["layers"] - 8) + 2 * (values["kind"] != "c")
        size = abs(values["share"] - 1.0)
        told(method, configuration, loss, size <= 0.2, size=size)
    late = asked[-60:]
    assert np.mean([values["kind"] == "c" for values in late]) > 0.6  # a third by chance
    assert np.mean([abs(values["share"] - 1.0) <= 0.2 for values in late]) > 0.5  # a tenth
    assert abs(np.median([values["layers"] for values in late]) - 8) <= 1


def test_a_generation_is_told_when_it_is_whole_in_any_order() -> None:
    method = built(SPACE, options=":population=6")
    asked = [method.ask() for _ in range(6)]
    for place in (3, 0, 5, 1, 4):
        told(method, asked[place], float(place))
    assert method._search.generation == 0  # type: ignore[attr-defined]
    told(method, asked[2], 2.0)
    assert method._search.generation == 1  # type: ignore[attr-defined]


def test_a_search_that_has_converged_is_followed_by_another() -> None:
    method = built(ParameterSpace([Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)]))
    late: Any = method.ask()
    first = method._search  # type: ignore[attr-defined]
    for _ in range(3000):
        configuration = method.ask()
        told(method, configuration, 1.0)  # nothing is better
        if method._search is not first:  # type: ignore[attr-defined]
            break
    told(method, late, 1.0)  # of the search before: it tells the new one nothing
    assert method._search is not first  # type: ignore[attr-defined]
    assert not method._generation  # type: ignore[attr-defined]
    method.ask()


def test_a_space_of_one_configuration_and_one_of_categories() -> None:
    assert built(GridSpace([Ordinal("a", (1,))])).ask() == (0,)
    grid = GridSpace([Categorical("a", tuple("abcd")), Categorical("b", tuple("xyz"))])
    method = built(grid)
    for _ in range(200):
        configuration: Any = method.ask()
        told(method, configuration, float((configuration[0] != 2) + (configuration[1] != 0)))
    assert np.mean([method.ask() == (2, 0) for _ in range(40)]) > 0.5

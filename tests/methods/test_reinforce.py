"""REINFORCE against PyTorch's softmax, autograd and Adam, and on spaces of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nasbench.benchmarks import Bound, Bounds, Evaluation, Metric, UsageError
from nasbench.benchmarks.spaces import Categorical, Configuration, Float, Integer, Ordinal, ParameterSpace
from nasbench.methods import Observation, Problem
from nasbench.methods.reinforce import Reinforce

LOSS, SIZE = Metric("loss", ""), Metric("size", "")
GRID = ParameterSpace([Categorical("a", ("x", "y", "z")), Ordinal("b", (1, 2, 4, 8))])
NESTED = ParameterSpace(
    [Categorical("opt", ("sgd", "adam")), Float("momentum", 0.1, 0.9), Integer("depth", 1, 100, log=True)],
    {"momentum": ("opt", ["sgd"])},
)


def build(space: ParameterSpace, seed: int = 0, bounds: Bounds | None = None, **options: float) -> Reinforce:
    return Reinforce(Problem(space, (LOSS,), bounds or Bounds()), np.random.default_rng(seed), **options)


def told(configuration: Configuration, loss: float, size: float = 0.0, feasible: bool = True) -> Observation:
    return Observation(configuration, Evaluation({"loss": loss, "size": size}, 1.0), feasible)


def test_a_search_is_that_of_pytorch() -> None:
    """The loop of the scripts of NATS-Bench: loss = -log p (reward - moving average), Adam."""
    torch = pytest.importorskip("torch")
    method = build(GRID, rate=0.05)
    logits = [torch.zeros(n, dtype=torch.float64, requires_grad=True) for n in (3, 4)]
    adam, upper, lower = torch.optim.Adam(logits, lr=0.05), 0.0, 0.0
    for step in range(40):
        configuration = method.ask()
        reward = -float((step * 7) % 11)
        upper, lower = 0.9 * upper + 0.1 * reward, 0.9 * lower + 0.1
        log_p = sum(torch.log_softmax(own, 0)[choice] for own, choice in zip(logits, configuration, strict=True))
        adam.zero_grad()
        (-log_p * (reward - upper / lower)).backward()
        adam.step()
        method.tell(told(configuration, -reward))
        wanted = torch.cat([torch.softmax(own, 0) for own in logits]).detach().numpy()
        np.testing.assert_allclose(method._policy, wanted, rtol=1e-9)


def test_it_begins_as_random_search_and_a_prior_is_kept() -> None:
    space = ParameterSpace([Categorical("a", ("x", "y"), prior=(3.0, 1.0)), Integer("n", 1, 1000, log=True)])
    method = build(space)
    drawn = [method.ask() for _ in range(4000)]
    assert np.mean([c[0] == 0 for c in drawn]) == pytest.approx(0.75, abs=0.03)
    rng = np.random.default_rng(1)
    others = [space.sample(rng)[1] for _ in range(4000)]
    for share in (0.1, 0.5, 0.9):
        assert math.log(np.quantile([c[1] for c in drawn], share)) == pytest.approx(
            math.log(np.quantile(others, share)), abs=0.3
        )


def test_it_learns_a_choice_and_a_part_of_a_range() -> None:
    method = build(NESTED, rate=0.1)
    for _ in range(600):
        configuration = method.ask()
        values = NESTED.values(configuration)
        loss = (values["opt"] == "adam") + abs(values.get("momentum", 0.9) - 0.3) + abs(math.log(values["depth"] / 10))
        method.tell(told(configuration, loss))
    last = [NESTED.values(method.ask()) for _ in range(50)]
    assert np.mean([v["opt"] == "sgd" for v in last]) > 0.9
    assert np.median([abs(math.log(v["depth"] / 10)) for v in last]) < 0.5


def test_what_is_absent_learns_nothing() -> None:
    method = build(NESTED, rate=0.1)
    before = method._logits.copy()
    while True:
        configuration = method.ask()
        if configuration[1] is None:
            break
    method.tell(told(configuration, 1.0))  # no advantage yet: the first reward is the average
    method.tell(told(next(c for c in iter(method.ask, ()) if c[1] is None), 0.0))
    changed = method._logits != before
    assert changed[:2].all() and changed[18:].all()
    assert not changed[2:18].any()  # the parts of momentum


def test_an_infeasible_reward_is_the_worst_feasible_one() -> None:
    method = build(GRID, bounds=Bounds([Bound(SIZE, high=1.0)]))
    assert method._reward(told((0, 0), 5.0, size=3.0, feasible=False)) == -2.0  # its violation, (3 - 1) / 1
    failed = Observation((0, 0), Evaluation({"loss": math.nan, "size": math.nan}, 0.0, "failed", "boom"), False)
    assert method._reward(failed) == 0.0  # neither good nor bad
    assert method._reward(told((0, 0), 5.0, size=0.0)) == -5.0
    assert method._reward(told((0, 0), 2.0, size=0.0)) == -2.0
    assert method._reward(told((0, 0), 1.0, size=3.0, feasible=False)) == -5.0
    assert method._reward(failed) == -5.0


@pytest.mark.parametrize("options", [{"rate": 0.0}, {"rate": math.inf}, {"momentum": 1.0}, {"momentum": -0.1}])
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        build(GRID, **options)

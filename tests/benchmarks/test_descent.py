"""The descent of trainings: PyTorch's own, and what it does not load."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from nasbench.benchmarks.training.descent import Adam, Descent  # noqa: E402 (imports torch)

SETTINGS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 3e-4},
    {"weight_decay": 0.1},
]


def parameters() -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in ((3, 4), (4,), (2, 3, 3))]


def loss(of: list[Any], number: int) -> Any:
    """Of all parameters, but of the second in every other step only."""
    return sum((p * torch.sin(p + number)).sum() for p in (of if number % 2 else [of[0], of[2]]))


@pytest.mark.parametrize("settings", SETTINGS)
def test_steps_are_those_of_pytorchs_optimiser_to_the_bit(settings: dict[str, Any]) -> None:
    own, theirs = parameters(), parameters()
    descent, optimizer = Descent(own, 0.1, **settings), torch.optim.SGD(theirs, 0.1, foreach=True, **settings)
    for number in range(6):
        descent.rate = optimizer.param_groups[0]["lr"] = 0.1 / (1 + number)
        for of, step in ((own, descent.step), (theirs, optimizer.step)):
            loss(of, number).backward()
            step()
        assert all(p.grad is None for p in own)
        optimizer.zero_grad()
        assert all(torch.equal(p, q) for p, q in zip(own, theirs, strict=True))


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_of_adam_are_those_of_pytorchs_optimiser_to_the_bit(weight_decay: float) -> None:
    own, theirs = parameters(), parameters()
    one = Adam(own, 0.1, weight_decay)
    optimizer = torch.optim.Adam(theirs, 0.1, weight_decay=weight_decay, foreach=True)
    for number in range(6):
        one.rate = optimizer.param_groups[0]["lr"] = 0.1 / (1 + number)
        for of, step in ((own, one.step), (theirs, optimizer.step)):
            loss(of, number).backward()
            step()
        assert all(p.grad is None for p in own)
        optimizer.zero_grad()
        assert all(torch.equal(p, q) for p, q in zip(own, theirs, strict=True))


def test_adam_goes_on_from_a_state_and_refuses_that_of_another_network() -> None:
    whole, parted = parameters(), parameters()
    one, other = (Adam(of, 0.1) for of in (whole, parted))
    for number in range(2):
        for of, step in ((whole, one), (parted, other)):
            loss(of, number).backward()
            step.step()
    again = Adam(parted, 0.1)
    again.resume(other.state())
    wrong = torch.zeros(9)
    for moments in ([], [(wrong, wrong, torch.tensor(0.0))] * 3):
        with pytest.raises(ValueError, match="of another network"):
            again.resume({"moments": moments})
    with pytest.raises(KeyError):
        again.resume({"buffers": []})
    for number in (3, 4):
        for of, step in ((whole, one), (parted, again)):
            loss(of, number).backward()
            step.step()
    assert all(torch.equal(p, q) for p, q in zip(whole, parted, strict=True))


def test_it_goes_on_from_a_state_and_refuses_that_of_another_network() -> None:
    whole, parted = parameters(), parameters()
    one, other = (Descent(of, 0.1, momentum=0.9) for of in (whole, parted))
    for number in range(2):
        for of, descent in ((whole, one), (parted, other)):
            loss(of, number).backward()
            descent.step()
    again = Descent(parted, 0.1, momentum=0.9)
    again.resume(other.state())
    for wrong in ({"buffers": [None]}, {"buffers": [torch.zeros(9)] * 3}):
        with pytest.raises(ValueError, match="of another network"):
            again.resume(wrong)
    with pytest.raises(KeyError):
        again.resume({})
    for of, descent in ((whole, one), (parted, again)):
        loss(of, 3).backward()
        descent.step()
    assert all(torch.equal(p, q) for p, q in zip(whole, parted, strict=True))


TRAINED = """
import sys
import numpy as np
from nasbench.benchmarks import open_benchmark
from nasbench.methods import METHODS
live = open_benchmark("digits/nasbench201@1")
live.make_ready()
if live.evaluate(live.space.sample(np.random.default_rng(3)), 0).status != "ok":
    raise SystemExit("not trained")
print("torch._dynamo" in sys.modules)
METHODS.get("zo-darts").make_ready()
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.slow
def test_a_training_does_not_load_the_compiler_and_a_search_has_loaded_it_before_its_clock() -> None:
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, "-c", TRAINED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
